/*
 * inductive_bias.c - section 3.1: a convolutional network looks at
 * neighbourhoods and takes a shifted thing for the same thing; a ViT does
 * neither by itself. Two drawn tasks (marks.h): on one a network that looks no
 * farther than 19 pixels can only guess, on the other it must hold.
 */
#include "base/memory.h"
#include "study/marks.h"
#include "study/study.h"

#include <math.h>
#include <stdio.h>

static const double rates[] = {1e-3, 3e-3};

#define VIT(more)                                                              \
    "vit_tiny_patch16_224\", \"model_args\": {\"img_size\": 96, "              \
    "\"patch_size\": 16, \"embed_dim\": 64, \"depth\": 2, \"num_heads\": 4, "  \
    "\"mlp_ratio\": 2" more "}"
/* A 7x7 of stride 2, a 3x3 pool of stride 2 and a 3x3: 19 pixels. */
#define RESNET                                                                 \
    "resnetv2_50x1_bit\", \"model_args\": {\"img_size\": 96, \"layers\": "     \
    "[1], \"channels\": [128], \"stem_chs\": 32}"
enum { RESNET_ARM, NONE, ONE, ARMS };
static const struct {
    const char *name, *model;
} arms[ARMS] = {
    {"resnet", RESNET},
    {"vit-none", VIT(", \"pos_embed\": \"none\"")},
    {"vit-1d", VIT("")},
};

enum { APART, SHIFT, TASKS };
static const struct {
    const char *name;
    const vt_made *made;
    uint32_t classes;
} tasks[TASKS] = {{"apart", &vt_made_apart, VT_APART_CLASSES},
                  {"shift", &vt_made_shift, VT_SHIFT_CLASSES}};

static void arm_name(char out[VT_RUN_NAME], int task, int arm)
{
    snprintf(out, VT_RUN_NAME, "%s-%s", tasks[task].name, arms[arm].name);
}

/* Pictures are as they are: resized, moved or mirrored they would be others. */
static void list(vt_experiment *e)
{
    for (int t = 0; t < TASKS; t++)
        for (int a = 0; a < ARMS; a++) {
            vt_run r = {.score = VT_SCORE_TEST,
                        .augment = "none",
                        .made = tasks[t].made,
                        .batch = 32,
                        .settings = "{\"warmup_steps\": 100}\n",
                        .size = VT_MARKS_SIDE};

            snprintf(r.config, sizeof r.config,
                     "{\"architecture\": \"%s, \"pretrained_cfg\": "
                     "{\"input_size\": [3, 96, 96], \"crop_pct\": 1.0, "
                     "\"interpolation\": \"bilinear\", \"mean\": [0.5, 0.5, "
                     "0.5], \"std\": [0.5, 0.5, 0.5]}}\n",
                     arms[a].model);
            arm_name(r.arm, t, a);
            vt_study_repeat(e, &r,
                            vt_study_sweep(e, &r, rates, VT_COUNT(rates)));
        }
}

/* Nothing but chance? */
static bool guesses(const vt_experiment *e, const vt_study_result *r,
                    uint32_t classes)
{
    const double chance = 1.0 / classes;

    return fabs(r->mean - chance) <=
           2 * sqrt(chance * (1 - chance) / vt_study_tests(e));
}

enum { LEARNED = 90 }; /* percent */
static bool learned(double accuracy)
{
    return 100 * accuracy >= (int)LEARNED;
}

/* known: NULL, or the accuracies where the training pictures are. */
static void say_task(vt_experiment *e, const vt_study_result *r,
                     const double *known)
{
    for (int a = 0; a < ARMS; a++) {
        vt_study_say(e, "%s %s %.1f %%", a ? "," : "", arms[a].name,
                     100 * r[a].mean);
        if (known)
            vt_study_say(e, " (%.1f)", 100 * known[a]);
    }
    vt_study_say(e, ".");
}

static void read(vt_experiment *e)
{
    vt_study_result r[TASKS][ARMS];
    double known[ARMS]; /* of the last task */
    bool far, held;

    for (int t = 0; t < TASKS; t++)
        for (int a = 0; a < ARMS; a++) {
            char name[VT_RUN_NAME];

            arm_name(name, t, a);
            r[t][a] = vt_study_add_arm(e, name, (double)NAN, (double)NAN);
            vt_study_add_sweep(e, name);
            known[a] = vt_study_swept(e, name, vt_study_best_rate(e, name));
        }
    far = guesses(e, &r[APART][RESNET_ARM], VT_APART_CLASSES) &&
          guesses(e, &r[APART][NONE], VT_APART_CLASSES) &&
          learned(r[APART][ONE].mean);
    held = guesses(e, &r[SHIFT][NONE], VT_SHIFT_CLASSES) &&
           learned(r[SHIFT][RESNET_ARM].mean) &&
           r[SHIFT][ONE].mean < r[SHIFT][RESNET_ARM].mean;
    vt_study_say(e,
                 "%s: two marks that are farther apart than the ResNet "
                 "looks:",
                 far ? "Reproduced" : "Not reproduced at this size");
    say_task(e, r[APART], NULL);
    vt_study_say(e,
                 " %s: a square in a place where no training picture had "
                 "it (in brackets: in those places):",
                 held ? "Reproduced" : "Not reproduced at this size");
    say_task(e, r[SHIFT], known);
}

const vt_study vt_study_inductive_bias = {
    .name = "inductive-bias",
    .paper = "Section 3.1",
    .what = "two drawn tasks: one on which a convolutional network must fail, "
            "one on which it must hold; needs no data",
    .list = list,
    .read = read,
    .x = "-",
    .y = "test accuracy",
    .note = "The paper has no numbers for it: a ViT has much less "
            "image-specific inductive bias than a CNN, where locality and "
            "translation equivariance are baked into each layer.",
    .drawn = true,
};
