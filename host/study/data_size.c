/*
 * data_size.c - figures 3 and 4: how much data a ViT needs beside a ResNet.
 *
 * All runs see the same number of pictures: a sixteenth of the data is repeated
 * sixteen times as often.
 */
#include "base/memory.h"
#include "study/families.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double rates[] = {1e-3, 4e-3};
static const uint32_t parts[] = {16, 4, 1};
enum {
    RATES = sizeof rates / sizeof *rates,
    PARTS = sizeof parts / sizeof *parts,
    SHOTS = 5,
    LEAST = 5,
    VIT = 0,
    RESNET = 1
};

static bool few_shot(const vt_experiment *e)
{
    return vt_study_pictures(e) / parts[0] >= SHOTS * vt_study_classes(e);
}

static void arm_name(char out[VT_RUN_NAME], int family, int part)
{
    snprintf(out, VT_RUN_NAME, "%s-1of%u", vt_family_names[family],
             parts[part]);
}

/* At least a picture a class, and CIFAR-10 has five files. */
static uint32_t pictures_of(const vt_experiment *e, int part)
{
    const uint32_t least = VT_MAX(vt_study_classes(e), (uint32_t)LEAST);

    return VT_MAX(vt_study_pictures(e) / parts[part], least);
}

static vt_run like(const vt_experiment *e, int family, int part)
{
    vt_run r = {.score = VT_SCORE_TEST,
                .pictures = pictures_of(e, part),
                .epochs = vt_study_epochs(e) * parts[part]};

    vt_run_family(&r, e, family, 2);
    arm_name(r.arm, family, part);
    if (few_shot(e))
        r.shots[0] = SHOTS;
    return r;
}

static void list(vt_experiment *e)
{
    for (int f = 0; f < VT_FAMILIES; f++) {
        const vt_run whole = like(e, f, PARTS - 1);
        const double rate = vt_study_sweep(e, &whole, rates, RATES);

        for (int p = 0; p < PARTS; p++) {
            const vt_run r = like(e, f, p);

            vt_study_repeat(e, &r, rate);
        }
    }
}

/* The mean of the runs' few-shot tests, in the table only. */
static void add_shots(vt_experiment *e, int family, const char *arm, double x)
{
    vt_study_result r = {.x = x, .paper = (double)NAN, .plain = true};
    double v[64];
    size_t n = 0;
    const vt_run *run;

    for (size_t i = 0; (run = vt_run_at(e, i)); i++)
        if (run->done && run->shots[0] && strcmp(run->arm, arm) == 0 && n < 64)
            v[n++] = run->shot_mean[0];
    vt_study_mean(&r.mean, &r.sd, v, n);
    r.tries = (uint32_t)n;
    snprintf(r.arm, sizeof r.arm, "%s-%d-shot", vt_family_names[family], SHOTS);
    vt_study_add_result(e, &r);
}

/* The arm's runs as a point of its family's line. */
static vt_study_result add(vt_experiment *e, int family, int part)
{
    char arm[VT_RUN_NAME];
    vt_study_result r;

    arm_name(arm, family, part);
    r = vt_study_arm(e, arm);
    r.x = log10(pictures_of(e, part));
    snprintf(r.arm, sizeof r.arm, "%s", vt_family_names[family]);
    vt_study_add_result(e, &r);
    if (few_shot(e))
        add_shots(e, family, arm, r.x);
    return r;
}

/* Pictures at which the two lines cross; 0: they do not. */
static double crossing(const vt_study_result vit[PARTS],
                       const vt_study_result net[PARTS])
{
    for (int p = 0; p + 1 < PARTS; p++) {
        const double a = vit[p].mean - net[p].mean,
                     b = vit[p + 1].mean - net[p + 1].mean;

        if (a < 0 && b >= 0)
            return pow(10, vit[p].x + a / (a - b) * (vit[p + 1].x - vit[p].x));
    }
    return 0;
}

static void read(vt_experiment *e)
{
    vt_study_result r[VT_FAMILIES][PARTS];
    const vt_study_result *vit = r[VIT], *net = r[RESNET];
    bool early, late; /* the ResNet leads with the least data; then the ViT */
    double at;
    int last = PARTS - 1;

    for (int f = 0; f < VT_FAMILIES; f++)
        for (int p = 0; p < PARTS; p++)
            r[f][p] = add(e, f, p);
    at = crossing(vit, net);
    early = vt_study_above(&net[0], &vit[0]);
    late = vt_study_above(&vit[last], &net[last]);
    if (early && late)
        vt_study_say(e, "Reproduced: ");
    else if (early)
        vt_study_say(e, "Half reproduced at this size: with the least data the "
                        "ResNet is better, but the ViT does not surpass it by "
                        "more than chance: ");
    else
        vt_study_say(
            e, "Not reproduced at this size: with the least data the ResNet "
               "is not better than the ViT by more than chance: ");
    vt_study_say(e,
                 "ViT %.1f %% against ResNet %.1f %% with %u pictures, %.1f %% "
                 "against %.1f %% with %u. ",
                 100 * vit[0].mean, 100 * net[0].mean, pictures_of(e, 0),
                 100 * vit[last].mean, 100 * net[last].mean,
                 vt_study_pictures(e));
    if (at > 0 && early && late)
        vt_study_say(e, "The ViT passes the ResNet at about %.0f pictures.",
                     at);
    else
        vt_study_say(
            e,
            "They do not cross by more than chance: the ViT's lead goes "
            "from %+.1f to %+.1f points.",
            100 * (vit[0].mean - net[0].mean),
            100 * (vit[last].mean - net[last].mean));
}

const vt_study vt_study_data_size = {
    .name = "data-size",
    .paper = "Figures 3 and 4",
    .what = "ViT, ResNet and hybrid on a sixteenth, a quarter and all of the "
            "data, the same number of steps",
    .list = list,
    .read = read,
    .x = "log10 of training pictures",
    .y = "test accuracy",
    .note = "Pre-trained on 9 million pictures of JFT a ViT is below a ResNet, "
            "on 90 million or more above it.",
};
