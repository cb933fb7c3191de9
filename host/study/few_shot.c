/*
 * few_shot.c - section 4.1: accuracy of a linear classifier on frozen features
 * of a few pictures a class, beside the fine-tuned model's.
 *
 * There is no second data set here: the features are of a model that was
 * trained on the same classes.
 */
#include "study/study.h"

#include <math.h>
#include <stdio.h>

static const double rates[] = {3e-4, 1e-3, 3e-3};
enum { RATES = sizeof rates / sizeof *rates };
static const uint32_t shots[VT_SHOTS] = {1, 5, 10, 25};

static vt_run like(const vt_experiment *e)
{
    vt_run r = {.score = VT_SCORE_TEST};

    vt_run_vit(&r, e, "");
    vt_run_arm(&r, "trained");
    for (int i = 0; i < VT_SHOTS; i++)
        if (shots[i] <= vt_study_pictures(e) / vt_study_classes(e))
            r.shots[i] = shots[i];
    return r;
}

static void list(vt_experiment *e)
{
    const vt_run r = like(e);

    vt_study_repeat(e, &r, vt_study_sweep(e, &r, rates, RATES));
}

/* The mean over the trained models, each the mean of its draws. */
static vt_study_result add_shots(vt_experiment *e, int i)
{
    vt_study_result out = {.x = log10(shots[i]), .paper = (double)NAN};
    double v[64];
    size_t n = 0;
    const vt_run *r;

    for (size_t k = 0; (r = vt_run_at(e, k)); k++)
        if (r->done && r->shots[i] && n < 64)
            v[n++] = r->shot_mean[i];
    vt_study_mean(&out.mean, &out.sd, v, n);
    out.tries = (uint32_t)n;
    snprintf(out.arm, sizeof out.arm, "%s", "few-shot");
    vt_study_add_result(e, &out);
    return out;
}

static void read(vt_experiment *e)
{
    vt_study_result few[VT_SHOTS] = {{.tries = 0}}, trained;
    int n = 0, rises = 0;

    for (int i = 0; i < VT_SHOTS; i++)
        if (shots[i] <= vt_study_pictures(e) / vt_study_classes(e))
            few[n++] = add_shots(e, i);
    trained = vt_study_add_arm(e, "trained", (double)NAN, (double)NAN);
    for (int i = 1; i < n; i++)
        rises += few[i].mean > few[i - 1].mean;
    if (n < 2) {
        vt_study_say(e, "Too few pictures a class to compare shots.");
        return;
    }
    vt_study_say(
        e, rises < n - 1
               ? "Not reproduced at this size: accuracy does not rise with "
                 "every number of shots"
           : vt_study_above(&few[n - 1], &few[0])
               ? "Reproduced: accuracy rises with every number of shots"
               : "Not decided: accuracy rises with every number of shots, but "
                 "not by more than chance");
    vt_study_say(e, ", from %.1f %% with 1 to %.1f %% with %u. ",
                 100 * few[0].mean, 100 * few[n - 1].mean, shots[n - 1]);
    vt_study_say(
        e, "The model's own head, trained on all pictures, has %.1f %%: %s.",
        100 * trained.mean,
        vt_study_above(&trained, &few[n - 1])
            ? "more than its features give with so few"
        : vt_study_above(&few[n - 1], &trained)
            ? "less than its features give with so few"
            : "within chance of what its features give with so few");
}

const vt_study vt_study_few_shot = {
    .name = "few-shot",
    .paper = "section 4.1",
    .what = "1, 5, 10 and 25 shots on frozen features, beside the trained head",
    .list = list,
    .read = read,
    .x = "log10 of shots",
    .y = "test accuracy",
    .note = "The paper uses few-shot accuracy as a quick stand-in where "
            "fine-tuning would cost too much.",
};
