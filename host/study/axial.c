/*
 * axial.c - appendix D.6: Axial-ViT beside ViT, over the compute and over the
 * time of a training.
 *
 * Two axial blocks, one over rows and one over columns, are in place of each of
 * a ViT's, as in the paper. Both have the mean of the patches as their head's
 * input, because an axial model has no class token. The learning rate is chosen
 * for the smaller size of each family.
 */
#include "study/study.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double rates[] = {1e-3, 3e-3};
enum { RATES = sizeof rates / sizeof *rates, FAMILIES = 2, SIZES = 3 };
static const char *const families[FAMILIES] = {"vit", "axial"};
/* depth: of the ViT; the third has smaller patches */
static const vt_vit sizes[SIZES] = {
    {48, 2, 4, 96, 8}, {48, 4, 4, 96, 8}, {48, 2, 4, 96, 4}};
static const char *const names[SIZES] = {"2-blocks", "4-blocks",
                                         "small-patches"};

static vt_run like(const vt_experiment *e, int family, int size)
{
    static const char mean[] =
        ", \"class_token\": false, \"global_pool\": \"avg\"";
    vt_run r = {.score = VT_SCORE_TEST};
    vt_vit v = sizes[size];
    char more[128];

    /* a side is a multiple of 4 */
    if (vt_study_side(e) % v.patch)
        v.patch = vt_study_side(e) % (v.patch / 2) ? 2 : v.patch / 2;
    v.depth *= family ? 2 : 1;
    snprintf(more, sizeof more, "%s%s", mean,
             family ? ", \"attention\": \"axial\"" : "");
    vt_run_vit_sized(&r, e, &v, more);
    snprintf(r.arm, sizeof r.arm, "%s-%s", families[family], names[size]);
    return r;
}

/* What is compared runs one after the other, so that their times are those of
 * the same load. */
static void list(vt_experiment *e)
{
    double rate[FAMILIES];

    for (int f = 0; f < FAMILIES; f++) {
        const vt_run least = like(e, f, 0);

        rate[f] = vt_study_sweep(e, &least, rates, RATES);
    }
    for (int s = 0; s < SIZES; s++)
        for (int f = 0; f < FAMILIES; f++) {
            const vt_run r = like(e, f, s);

            vt_study_repeat(e, &r, rate[f]);
        }
}

typedef struct point {
    vt_study_result result;
    double tflop, seconds; /* of a run; the mean over the tries */
} point;

static point point_of(const vt_experiment *e, int family, int size)
{
    const vt_run r = like(e, family, size);
    point p = {.result = vt_study_arm(e, r.arm)};
    char name[VT_RUN_NAME + 16];
    const vt_run *run;

    for (uint32_t i = 1; i <= vt_study_tries(e); i++) {
        snprintf(name, sizeof name, "%s-%u", r.arm, i);
        run = vt_run_named(e, name);
        if (!run)
            continue;
        p.tflop = vt_run_costs(e, run).flop / 1e12;
        p.seconds += run->seconds / vt_study_tries(e);
    }
    return p;
}

/* One line of the figure: accuracy over the logarithm of what is given. */
static void add(vt_experiment *e, const point *p, const char *what, int family,
                double x)
{
    vt_study_result line = p->result;

    line.x = log10(x);
    snprintf(line.arm, sizeof line.arm, "%s, %s", families[family], what);
    vt_study_add_result(e, &line);
}

static const char *compare(const vt_study_result *axial,
                           const vt_study_result *vit)
{
    return vt_study_above(axial, vit)   ? "above"
           : vt_study_above(vit, axial) ? "below"
                                        : "not apart from";
}

static void read(vt_experiment *e)
{
    point p[FAMILIES][SIZES];
    int above = 0;

    for (int f = 0; f < FAMILIES; f++)
        for (int s = 0; s < SIZES; s++)
            p[f][s] = point_of(e, f, s);
    for (int f = 0; f < FAMILIES; f++) {
        for (int s = 0; s < SIZES; s++)
            add(e, &p[f][s], "over TFLOP", f, p[f][s].tflop);
        for (int s = 0; s < SIZES; s++)
            add(e, &p[f][s], "over seconds", f, p[f][s].seconds);
    }
    for (int s = 0; s < SIZES; s++)
        above += vt_study_above(&p[1][s].result, &p[0][s].result);
    vt_study_say(e,
                 above == SIZES
                     ? "Reproduced: Axial-ViT is better than its ViT at "
                       "all sizes."
                 : above ? "Partly reproduced: Axial-ViT is better than its "
                           "ViT at %d of %d sizes."
                         : "Not reproduced at this size: Axial-ViT is not "
                           "better than its ViT.",
                 above, SIZES);
    for (int s = 0; s < SIZES; s++)
        vt_study_say(
            e,
            " %s: %.1f %% with Axial-ViT, %s the ViT's %.1f %%, for %.2f "
            "times the operations and %.2f times the time.",
            names[s], 100 * p[1][s].result.mean,
            compare(&p[1][s].result, &p[0][s].result),
            100 * p[0][s].result.mean, p[1][s].tflop / p[0][s].tflop,
            p[1][s].seconds / p[0][s].seconds);
    /* a ViT that costs about what an Axial-ViT of half its depth does */
    vt_study_say(
        e, " At about equal compute, Axial-ViT of 2 blocks is %s the ViT of 4.",
        compare(&p[1][0].result, &p[0][1].result));
}

const vt_study vt_study_axial = {
    .name = "axial",
    .paper = "appendix D.6, Figure 13",
    .what = "attention over rows and columns in turn, beside ViT: accuracy "
            "over compute and over time",
    .list = list,
    .read = read,
    .x = "log10 of a training's TFLOP, or of its seconds",
    .y = "test accuracy",
    .note = "In the paper Axial-ViT-B/32 and B/16 are better than their ViT-B, "
            "but cost more compute, because each block is replaced by two, "
            "with an MLP more.",
};
