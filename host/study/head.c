/*
 * head.c - appendix D.3: class token against the mean of the patch tokens.
 *
 * The paper found the mean far worse at first. It only needed another learning
 * rate, so each arm has its own.
 */
#include "study/study.h"

#include <math.h>

static const double rates[] = {3e-4, 1e-3, 3e-3, 1e-2};
enum { RATES = sizeof rates / sizeof *rates };
static const char *const arms[] = {"class-token", "mean"};

static vt_run like(const vt_experiment *e, int arm)
{
    vt_run r = {.score = VT_SCORE_TEST};

    vt_run_vit(&r, e,
               arm ? ", \"class_token\": false, \"global_pool\": \"avg\"" : "");
    vt_run_arm(&r, arms[arm]);
    return r;
}

static void list(vt_experiment *e)
{
    for (int arm = 0; arm < 2; arm++) {
        const vt_run r = like(e, arm);

        vt_study_repeat(e, &r, vt_study_sweep(e, &r, rates, RATES));
    }
}

static void read(vt_experiment *e)
{
    vt_study_result a[2];
    double best[2], apart = 0;

    for (int arm = 0; arm < 2; arm++) {
        best[arm] = vt_study_best_rate(e, arms[arm]);
        a[arm] = vt_study_add_arm(e, arms[arm], best[arm], (double)NAN);
        vt_study_add_sweep(e, arms[arm]);
        for (int k = 0; k < RATES; k++)
            apart = fmax(apart, 100 * (vt_study_swept(e, arms[arm], best[arm]) -
                                       vt_study_swept(e, arms[arm], rates[k])));
    }
    if (vt_study_tries(e) == 1)
        vt_study_say(e, "Not decided: each head has its own learning rate");
    else if (vt_study_above(&a[0], &a[1]) || vt_study_above(&a[1], &a[0]))
        vt_study_say(e,
                     "Not reproduced at this size: each with its own learning "
                     "rate, %s is better",
                     a[0].mean > a[1].mean ? "the class token" : "the mean");
    else
        vt_study_say(
            e, "Reproduced: each with its own learning rate, the two heads "
               "are alike");
    vt_study_say(
        e,
        " (class token %.1f %% at %.3g, mean of the patches %.1f %% at "
        "%.3g). The learning rate alone makes a difference of up to %.1f "
        "points.",
        100 * a[0].mean, best[0], 100 * a[1].mean, best[1], apart);
}

const vt_study vt_study_head = {
    .name = "head",
    .paper = "appendix D.3, Figure 9",
    .what = "class token against mean pooling, each with its own learning rate",
    .list = list,
    .read = read,
    .x = "learning rate",
    .y = "test accuracy",
    .note = "B/16 on ImageNet: with its own learning rate mean pooling works "
            "as well as a class token; with the other's it is far worse.",
};
