/*
 * transfer.c - the paper's main claim, section 4: pre-trained on much, a ViT
 * transfers to little. A model is fine-tuned with 1, 10 and 100 % of the
 * pictures; the same model stays as it is below a linear head, and is tested by
 * few shots; and the same architecture is trained from scratch.
 *
 * The model is the checkpoint that the user names. Without one it is trained on
 * three fifths of the classes, and the others are what it is transferred to.
 */
#include "base/memory.h"
#include "study/study.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    FEW,
    TUNED,
    FROZEN,
    SCRATCH,
    ARMS,
    PERCENTS = 3,
    RATES = 2,
    BATCH = 32,
    LEAST = 5,   /* pictures: CIFAR-10 has five files */
    ENOUGH = 500 /* pictures, of which 100 are held out, to choose a rate by */
};
static const char *const arms[ARMS] = {"few-shot", "fine-tuned", "frozen",
                                       "scratch"};
static const uint32_t percents[PERCENTS] = {1, 10, 100};
/* Few pictures are repeated more often. */
static const uint32_t repeats[PERCENTS] = {10, 3, 1};
/* Fine-tuning has SGD with momentum, training from scratch AdamW. */
static const double rates[ARMS][RATES] = {
    {0, 0}, {0.01, 0.03}, {0.1, 0.3}, {5e-4, 2e-3}};
static const double first_rate = 1.5e-3;
static const char first[] = "before"; /* the run, where no model is named */

static vt_class_part part_of(vt_experiment *e)
{
    return vt_study_model_of(e) ? VT_CLASSES_ALL : VT_CLASSES_REST;
}

/* This share of the pictures that there are of the part. */
static uint32_t share_of(const vt_experiment *e, vt_class_part part,
                         uint32_t percent)
{
    const uint32_t classes = vt_study_part_classes(e, part);
    const uint64_t all = vt_study_part_pictures(e, part);

    return VT_MAX((uint32_t)(all * percent / 100),
                  VT_MAX(classes, (uint32_t)LEAST));
}

static void set_model(vt_run *r, vt_experiment *e, bool begins)
{
    const vt_study_model *m = vt_study_model_of(e);

    r->part = part_of(e);
    if (m) {
        snprintf(r->config, sizeof r->config, "%s", m->config);
        r->size = m->side;
        r->model = begins;
        return;
    }
    vt_run_vit(r, e, "");
    if (begins)
        snprintf(r->from, sizeof r->from, "%s", first);
}

static void arm_name(char out[VT_RUN_NAME], int arm, int i)
{
    snprintf(out, VT_RUN_NAME, "%s-%u", arms[arm], percents[i]);
}

static vt_run like(vt_experiment *e, int arm, int i)
{
    const uint32_t pictures = share_of(e, part_of(e), percents[i]);
    vt_run r = {.score = VT_SCORE_TEST,
                .batch = VT_MIN((uint32_t)BATCH, pictures / 2),
                .pictures = pictures,
                .epochs = repeats[i] * vt_study_epochs(e),
                .freeze = arm == FROZEN ? "[!h]*" : NULL};

    set_model(&r, e, arm != SCRATCH);
    arm_name(r.arm, arm, i);
    return r;
}

static void add_before(vt_experiment *e)
{
    vt_run r = {.score = VT_SCORE_NONE,
                .epochs = 2 * vt_study_epochs(e),
                .pictures = share_of(e, VT_CLASSES_FIRST, 100),
                .lr = first_rate};

    vt_run_vit(&r, e, "");
    r.part = VT_CLASSES_FIRST;
    snprintf(r.arm, sizeof r.arm, "%s", first);
    snprintf(r.name, sizeof r.name, "%s", first);
    vt_run_add(e, &r);
}

/* Every try draws other pictures of all. */
static void add_shots(vt_experiment *e, int i)
{
    const vt_class_part part = part_of(e);
    vt_run r = {.score = VT_SCORE_NONE,
                .batch = BATCH,
                .untrained = true,
                .pictures = share_of(e, part, 100)};

    set_model(&r, e, true);
    arm_name(r.arm, FEW, i);
    snprintf(r.name, sizeof r.name, "%s", r.arm);
    r.shots[0] =
        share_of(e, part, percents[i]) / vt_study_part_classes(e, part);
    vt_run_add(e, &r);
}

/* A tenth of the pictures is enough to choose by, if there are many. */
static double chosen(vt_experiment *e, int arm)
{
    const bool many = share_of(e, part_of(e), percents[1]) >= ENOUGH;
    const vt_run r = like(e, arm, many ? 1 : 2);

    return vt_study_sweep(e, &r, rates[arm], RATES);
}

static void list(vt_experiment *e)
{
    double rate[ARMS] = {0};

    if (!vt_study_model_of(e))
        add_before(e);
    for (int arm = FEW + 1; arm < ARMS; arm++)
        rate[arm] = chosen(e, arm);
    for (int i = 0; i < PERCENTS; i++) {
        add_shots(e, i);
        /* what is compared runs at about the same time, under the same load */
        for (uint32_t k = 1; k <= vt_study_tries(e); k++)
            for (int arm = FEW + 1; arm < ARMS; arm++) {
                const vt_run r = like(e, arm, i);

                vt_study_try(e, &r, rate[arm], k);
            }
    }
}

/* ---- results ---- */

typedef struct point {
    vt_study_result result;
    double minutes; /* of a try; of few shots, of all tries */
    uint32_t pictures;
} point;

static point point_of(vt_experiment *e, int arm, int i)
{
    char name[VT_RUN_NAME];
    const vt_run *r;
    point p = {.pictures = share_of(e, part_of(e), percents[i])};
    uint32_t runs = 0;

    arm_name(name, arm, i);
    p.result = vt_study_arm(e, name);
    for (size_t k = 0; (r = vt_run_at(e, k)); k++) {
        if (strcmp(r->arm, name) != 0 || r->score == VT_SCORE_HELD_OUT)
            continue;
        p.minutes += r->seconds / 60;
        runs++;
        if (r->untrained) {
            p.result.mean = r->shot_mean[0], p.result.sd = r->shot_sd[0];
            p.result.tries = vt_study_tries(e);
        }
    }
    p.minutes /= VT_MAX(runs, 1u);
    if (p.result.tries < 2)
        p.result.sd = (double)NAN;
    /* ViT-L/16, pre-trained on ImageNet-21k; all pictures, 384 pixels */
    if (arm == TUNED && i == PERCENTS - 1 && vt_study_model_of(e) &&
        strcmp(vt_study_kind(e), "cifar10") == 0)
        p.result.paper = 0.9915;
    return p;
}

static void add(vt_experiment *e, vt_sheet *s, const point *p, int arm)
{
    const vt_study_result *r = &p->result;

    vt_sheet_put(s, 0, "%s", arms[arm]);
    vt_sheet_put(s, 1, "%u", p->pictures);
    vt_sheet_put(s, 2, "%.4f", r->mean);
    vt_sheet_put(s, 3, isnan(r->sd) ? "-" : "%.4f", r->sd);
    vt_sheet_put(s, 4, "%u", r->tries);
    vt_sheet_put(s, 5, "%.2f", p->minutes);
    vt_sheet_put(s, 6, isnan(r->paper) ? "-" : "%.4f", r->paper);
    vt_sheet_put_row(s);
    vt_study_add_point(e, arms[arm], log10(p->pictures), r->mean);
}

static void say(vt_experiment *e, point p[ARMS][PERCENTS])
{
    int above = 0;

    for (int i = 0; i < PERCENTS; i++)
        above += vt_study_above(&p[TUNED][i].result, &p[SCRATCH][i].result);
    vt_study_say(
        e,
        vt_study_tries(e) == 1 ? "Not decided: fine-tuned against scratch"
        : above == PERCENTS ? "Reproduced: what was learned before transfers, "
                              "with all shares of the pictures"
        : above ? "Partly reproduced: fine-tuning is better than training from "
                  "scratch by more than chance with %d of %d shares of the "
                  "pictures"
                : "Not reproduced at this size: fine-tuning is not better than "
                  "training from scratch by more than chance",
        above, (int)PERCENTS);
    for (int i = 0; i < PERCENTS; i++)
        vt_study_say(
            e,
            "%s %u pictures: fine-tuned %.1f %%, %.1f points above "
            "scratch (%.1f %%); frozen, with a new head, %.1f %%, or %.1f %% "
            "by least squares",
            i ? "." : ". With", p[TUNED][i].pictures,
            100 * p[TUNED][i].result.mean,
            100 * (p[TUNED][i].result.mean - p[SCRATCH][i].result.mean),
            100 * p[SCRATCH][i].result.mean, 100 * p[FROZEN][i].result.mean,
            100 * p[FEW][i].result.mean);
    vt_study_say(e, ".");
}

static void read(vt_experiment *e)
{
    const vt_sheet head = {
        .file = "results.tsv",
        .caption = "Test accuracy: the mean of the tries and its deviation. "
                   "minutes: of one try, with its score; few-shot: of all "
                   "tries. few-shot is the paper's least squares on frozen "
                   "features, and each of its tries draws other pictures.",
        .head = {"arm", "pictures", "accuracy", "deviation", "tries", "minutes",
                 "paper"},
        .columns = 7};
    vt_sheet *s = vt_study_add_sheet(e, &head);
    point p[ARMS][PERCENTS];

    for (int i = 0; i < PERCENTS; i++)
        for (int arm = 0; arm < ARMS; arm++) {
            p[arm][i] = point_of(e, arm, i);
            add(e, s, &p[arm][i], arm);
        }
    say(e, p);
}

const vt_study vt_study_transfer = {
    .name = "transfer",
    .paper = "section 4, Table 2",
    .what = "a pre-trained model (-m) fine-tuned, frozen and by few shots, "
            "beside training from scratch, with 1, 10 and 100 % of the "
            "pictures",
    .list = list,
    .read = read,
    .x = "log10 of the pictures",
    .y = "test accuracy",
    .note = "The paper fine-tunes with all 50,000 pictures of CIFAR-10 at 384 "
            "pixels: 99.15 % with L/16 after ImageNet-21k, 99.50 % with H/14 "
            "after JFT-300M.",
    .model = true,
};
