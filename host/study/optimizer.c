/*
 * optimizer.c - appendix D.1: Adam against SGD with momentum, each with its own
 * learning rate, for a ViT and, as in the paper, a ResNet.
 */
#include "study/study.h"

#include <math.h>
#include <stdio.h>

enum { RATES = 3 };
typedef struct arm {
    const char *name, *settings;
    bool resnet;
    double rate[RATES];
    double paper; /* mean over its data sets: ResNet-50 */
} arm;
#define ADAM "{\"optimizer\": \"adam\"}\n"
#define SGD "{\"optimizer\": \"sgd\", \"momentum\": 0.9}\n"
static const arm arms[] = {
    {"vit-adam", ADAM, false, {5e-4, 1.5e-3, 5e-3}, (double)NAN},
    {"vit-sgd", SGD, false, {0.02, 0.06, 0.2}, (double)NAN},
    {"resnet-adam", ADAM, true, {5e-4, 1.5e-3, 5e-3}, 0.8933},
    {"resnet-sgd", SGD, true, {0.02, 0.06, 0.2}, 0.8879},
};
enum { ARMS = sizeof arms / sizeof *arms };

static vt_run like(const vt_experiment *e, const arm *a)
{
    vt_run r = {.score = VT_SCORE_TEST};

    if (a->resnet)
        snprintf(r.config, sizeof r.config,
                 "{\"architecture\": \"resnetv2_50x1_bit\", \"model_args\": "
                 "{\"img_size\": %u, \"layers\": [1, 1, 1], \"channels\": "
                 "[128, 256, 512], \"stem_chs\": 32}}\n",
                 (vt_study_side(e) + 15) / 16 * 16);
    else
        vt_run_vit(&r, e, "");
    snprintf(r.settings, sizeof r.settings, "%s", a->settings);
    vt_run_arm(&r, a->name);
    return r;
}

static void list(vt_experiment *e)
{
    for (int i = 0; i < ARMS; i++) {
        const vt_run r = like(e, &arms[i]);

        vt_study_repeat(e, &r, vt_study_sweep(e, &r, arms[i].rate, RATES));
    }
}

static void compare(vt_experiment *e, const char *what,
                    const vt_study_result *adam, const vt_study_result *sgd)
{
    const char *how = vt_study_above(adam, sgd) ? "Adam is better"
                      : vt_study_above(sgd, adam)
                          ? "SGD is better"
                          : "the two do not differ by more "
                            "than chance";

    vt_study_say(e, "%s: %s (Adam %.1f %% at %.3g, SGD %.1f %% at %.3g). ",
                 what, how, 100 * adam->mean, vt_study_best_rate(e, adam->arm),
                 100 * sgd->mean, vt_study_best_rate(e, sgd->arm));
}

static void read(vt_experiment *e)
{
    vt_study_result r[ARMS];

    for (int i = 0; i < ARMS; i++) {
        r[i] = vt_study_add_arm(e, arms[i].name,
                                vt_study_best_rate(e, arms[i].name),
                                arms[i].paper);
        vt_study_add_sweep(e, arms[i].name);
    }
    vt_study_say(
        e, vt_study_above(&r[2], &r[3])
               ? "Reproduced. "
               : "Not reproduced at this size: for a ResNet, the paper has "
                 "Adam slightly better. ");
    compare(e, "ResNet", &r[2], &r[3]);
    compare(e, "ViT", &r[0], &r[1]);
}

const vt_study vt_study_optimizer = {
    .name = "optimizer",
    .paper = "appendix D.1, Table 7",
    .what = "Adam against SGD, each with its own learning rate",
    .list = list,
    .read = read,
    .x = "learning rate",
    .y = "test accuracy",
    .note = "The paper pre-trains ResNets on JFT with both and averages over "
            "its transfer data sets: ResNet-50 has 89.33 % with Adam and "
            "88.79 % with SGD.",
};
