/*
 * test_verdicts.c - a verdict does not deny a difference that is within chance.
 */
#include "study/private.h"

#include <criterion/criterion.h>
#include <string.h>

static vt_run *add(vt_experiment *e, const char *arm, double accuracy)
{
    vt_run *r = &e->run[e->runs++];

    *r = (vt_run){
        .score = VT_SCORE_TEST, .accuracy = accuracy, .state = 1, .done = true};
    snprintf(r->arm, sizeof r->arm, "%s", arm);
    return r;
}

static void wants(const vt_experiment *e, const char *words)
{
    cr_expect(strstr(e->verdict, words), "%s\nlacks: %s", e->verdict, words);
}

/* Two tries of each, 8 points apart. */
static void add_sizes(vt_experiment *e, const double vit[3],
                      const double net[3])
{
    static const char *const part[] = {"16", "4", "1"};

    e->study = vt_study_find("data-size");
    e->pictures = 160, e->classes = 10;
    for (int i = 0; i < 6; i++) {
        const double off = i % 2 ? 0.04 : -0.04;
        char arm[VT_RUN_NAME];

        snprintf(arm, sizeof arm, "vit-1of%s", part[i / 2]);
        add(e, arm, vit[i / 2] + off);
        snprintf(arm, sizeof arm, "resnet-1of%s", part[i / 2]);
        add(e, arm, net[i / 2] + off);
    }
    e->study->read(e);
}

Test(verdicts, resnet_is_ahead_within_chance)
{
    static vt_experiment e;

    add_sizes(&e, (double[]){0.3, 0.4, 0.5}, (double[]){0.31, 0.41, 0.51});
    wants(&e, "the ResNet is not better than the ViT by more than chance: ");
    wants(&e, "They do not cross by more than chance");
}

Test(verdicts, vit_passes_within_chance)
{
    static vt_experiment e;

    add_sizes(&e, (double[]){0.3, 0.4, 0.51}, (double[]){0.6, 0.5, 0.5});
    wants(&e, "the ViT does not surpass it by more than chance: ");
    wants(&e, "They do not cross by more than chance");
}

Test(verdicts, shots_rise_within_chance)
{
    static vt_experiment e = {.pictures = 100, .classes = 10};

    e.study = vt_study_find("few-shot");
    for (int i = 0; i < 2; i++) {
        vt_run *r = add(&e, "trained", i ? 0.5 : 0.4);

        r->shots[0] = 1, r->shots[1] = 5, r->shots[2] = 10;
        for (int k = 0; k < 3; k++)
            r->shot_mean[k] = (i ? 0.42 : 0.38) + 0.01 * k;
    }
    e.study->read(&e);
    wants(&e, "Not decided: accuracy rises with every number of shots, but not "
              "by more than chance, from ");
    wants(&e, ": within chance of what its features give");
}
