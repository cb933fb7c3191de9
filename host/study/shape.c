/*
 * shape.c - appendix D.2: depth, width, MLP and patch size, scaled one by one
 * from a middle: accuracy over compute. The learning rate is chosen for the
 * middle, and is that of all.
 */
#include "study/study.h"

#include <math.h>
#include <stdio.h>

static const double rates[] = {5e-4, 1.5e-3, 5e-3};
enum { RATES = sizeof rates / sizeof *rates };

/* The first of each way is smaller than the middle, the second larger. */
enum { WAYS = 4 };
typedef struct shape {
    const char *way, *arm;
    vt_vit size; /* patch: a share of the side */
} shape;
static const shape middle = {"", "middle", {48, 4, 4, 96, 8}};
static const shape shapes[] = {
    {"depth", "depth-2", {48, 2, 4, 96, 8}},
    {"depth", "depth-8", {48, 8, 4, 96, 8}},
    {"width", "width-24", {24, 4, 4, 96, 8}},
    {"width", "width-96", {96, 4, 4, 96, 8}},
    {"MLP", "mlp-48", {48, 4, 4, 48, 8}},
    {"MLP", "mlp-384", {48, 4, 4, 384, 8}},
    {"patch size", "patch-large", {48, 4, 4, 96, 4}},
    {"patch size", "patch-small", {48, 4, 4, 96, 16}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static vt_run like(const vt_experiment *e, const shape *s)
{
    vt_run r = {.score = VT_SCORE_TEST};
    vt_vit v = s->size;

    /* 8, 4 or 2 pixels at 32; a side is a multiple of 4 */
    v.patch = vt_study_side(e) % 8 == 0 || v.patch != 4
                  ? vt_study_side(e) / v.patch
                  : vt_study_side(e) / 2;
    while (vt_study_side(e) % v.patch)
        v.patch--;
    vt_run_vit_sized(&r, e, &v, "");
    vt_run_arm(&r, s->arm);
    return r;
}

static void list(vt_experiment *e)
{
    const vt_run r = like(e, &middle);
    const double rate = vt_study_sweep(e, &r, rates, RATES);

    vt_study_repeat(e, &r, rate);
    for (int i = 0; i < SHAPES; i++) {
        const vt_run other = like(e, &shapes[i]);

        vt_study_repeat(e, &other, rate);
    }
}

/* The arm's line; x: log10 of a run's TFLOP. */
static vt_study_result result(const vt_experiment *e, const shape *s)
{
    vt_study_result r = vt_study_arm(e, s->arm);
    char name[VT_RUN_NAME + 4];
    const vt_run *run;

    snprintf(name, sizeof name, "%s-1", s->arm);
    run = vt_run_named(e, name);
    r.x = run ? log10(vt_run_costs(e, run).flop / 1e12) : (double)NAN;
    return r;
}

static void add(vt_experiment *e, const vt_study_result *r, const char *way)
{
    vt_study_result line = *r;

    snprintf(line.arm, sizeof line.arm, "%s", way);
    vt_study_add_result(e, &line);
}

/* Points of accuracy for ten times the compute, and the variance of that. */
typedef struct slope {
    double points, variance;
} slope;

static double doubt(const vt_study_result *r)
{
    return r->tries > 1 ? r->sd * r->sd / r->tries : (double)INFINITY;
}

static slope slope_of(const vt_study_result *less, const vt_study_result *more)
{
    const double scale = 100 / (more->x - less->x);

    return (slope){scale * (more->mean - less->mean),
                   scale * scale * (doubt(less) + doubt(more))};
}

static void say_depth(vt_experiment *e, const slope *depth, const slope *width)
{
    const double apart = depth->points - width->points;

    if (fabs(apart) <= 2 * sqrt(depth->variance + width->variance))
        vt_study_say(
            e, "Not reproduced at this size: depth and width do not differ "
               "by more than chance. ");
    else
        vt_study_say(e, apart > 0
                            ? "Reproduced: depth gains more than width. "
                            : "Not reproduced at this size: width gains more "
                              "than depth. ");
}

static void read(vt_experiment *e)
{
    const vt_study_result m = result(e, &middle);
    slope gain[WAYS];

    for (int w = 0; w < WAYS; w++) {
        const shape *s = &shapes[2 * w];
        const vt_study_result less = result(e, &s[0]), more = result(e, &s[1]);

        add(e, &less, s->way);
        add(e, &m, s->way);
        add(e, &more, s->way);
        gain[w] = slope_of(&less, &more);
    }
    say_depth(e, &gain[0], &gain[1]);
    vt_study_say(
        e, "Points of accuracy for ten times the compute, from the smallest "
           "to the largest:");
    for (int w = 0; w < WAYS; w++)
        vt_study_say(e, "%s %s %.1f +- %.1f", w ? "," : "", shapes[2 * w].way,
                     gain[w].points, sqrt(gain[w].variance));
    vt_study_say(e, ".");
}

const vt_study vt_study_shape = {
    .name = "shape",
    .paper = "appendix D.2, Figure 8",
    .what = "depth, width, MLP and patch size scaled one by one: accuracy over "
            "compute",
    .list = list,
    .read = read,
    .x = "log10 of a training's TFLOP",
    .y = "test accuracy",
    .note = "In the paper depth gains most up to 64 layers, with less after "
            "16, width least, and smaller patches gain without parameters.",
};
