/*
 * evaluate.c - count right answers, and rate features by few-shot tests.
 */
#include "eval/evaluate.h"

#include "base/bins.h"
#include "base/memory.h"
#include "eval/fewshot.h"

#include <math.h>
#include <string.h>

#define L2 1024.0 /* big_vision's l2_reg, 2^10 */

/* ---- evaluation ---- */

typedef struct score_count {
    const vt_dataset *d;
    const size_t *chosen;   /* pictures; NULL: all */
    const uint32_t *wanted; /* dataset's class -> model's class */
    uint32_t classes;       /* model's classes */
    uint32_t *confusion;
    vitcl_class *top;
    uint64_t right1, right5, scored, failed;
    const vt_labels *labels; /* or NULL */
    uint32_t *answers;       /* label entries as the model's classes */
    uint64_t real, real_scored;
    double temperature; /* 0: the rows have no probabilities */
    uint64_t *bins;
} score_count;

/* Whether the answer is one of the picture's classes. */
static void score_real(score_count *s, uint32_t picture, uint32_t answer)
{
    uint32_t n = 0;
    const uint32_t *label = s->answers + vt_labels_of(&n, s->labels, picture);

    s->real_scored += n > 0;
    for (uint32_t i = 0; i < n; i++)
        if (label[i] == answer) {
            s->real++;
            return;
        }
}

static double probability(const float *row, uint32_t classes, float best,
                          double temperature)
{
    double sum = 0;

    for (uint32_t i = 0; i < classes; i++)
        sum += exp(((double)row[i] - (double)best) / temperature);
    return 1 / sum;
}

static void score(void *context, size_t position, const float *row)
{
    score_count *s = context;
    const uint32_t picture =
        (uint32_t)(s->chosen ? s->chosen[position] : position);
    uint32_t label = vt_dataset_label(s->d, picture);
    uint32_t k = VT_MIN(s->classes, 5u), want = s->wanted[label];

    if (!row) {
        s->failed++;
        return;
    }
    vitcl_class_choose(s->top, k, row, s->classes, VITCL_ONE_CLASS);
    s->scored++;
    s->right1 += s->top[0].label == want;
    if (s->temperature > 0)
        vt_bins_add(
            s->bins,
            probability(row, s->classes, row[s->top[0].label], s->temperature),
            s->top[0].label == want);
    if (s->labels)
        score_real(s, picture, s->top[0].label);
    for (uint32_t i = 0; i < k; i++)
        s->right5 += s->top[i].label == want;
    if (s->confusion)
        s->confusion[(size_t)label * s->classes + s->top[0].label]++;
}

/* The pictures of a part; NULL: all. */
static vitcl_status choose_part(size_t **out, size_t *count,
                                const vt_labelled *pictures)
{
    const size_t all = vt_dataset_count(pictures->d);
    size_t *chosen = NULL, n = 0;

    *count = all;
    if (pictures->parts <= 1)
        return VITCL_OK;
    VT_RET(VT_NEW(&chosen, all / pictures->parts + 1));
    for (size_t i = pictures->part - 1; i < all; i += pictures->parts)
        chosen[n++] = i;
    *out = chosen, *count = n;
    return VITCL_OK;
}

vitcl_status vt_evaluate(vitcl_scores *out, uint32_t *confusion,
                         const vt_labelled *pictures, const vt_classes *known,
                         vitcl_answer answer, double temperature,
                         const vt_runner *runner)
{
    vitcl_status st = VITCL_OK;
    const vt_dataset *d = pictures->d;
    const vt_classes data = vt_classes_of_data(d, "the pictures");
    uint32_t *wanted = NULL;
    size_t *chosen = NULL;
    vt_pass pass = {.d = d, .tensor = "logits", .width = known->count};
    score_count s = {.d = d,
                     .classes = known->count,
                     .confusion = confusion,
                     .temperature = temperature,
                     .bins = out->bins,
                     .labels = pictures->labels};

    out->calibration_error = (double)NAN;
    VT_TRY(choose_part(&chosen, &pass.count, pictures));
    pass.chosen = s.chosen = chosen;
    pass.total = pass.count;
    if (answer != VITCL_ONE_CLASS) {
        st = vt_evaluate_map_mse(out, pictures, known, answer, &pass, runner);
        goto done;
    }
    if (s.labels)
        VT_TRY(vt_labels_resolve(&s.answers, s.labels, known));
    VT_TRY(VT_NEW(&wanted, vt_dataset_classes(d)));
    VT_TRY(vt_new(&s.top, s.classes, sizeof *s.top));
    VT_TRY(vt_classes_match(wanted, &data, known, pictures->by_number));
    if (confusion)
        memset(confusion, 0,
               (size_t)data.count * known->count * sizeof *confusion);
    s.wanted = wanted;
    pass.take = score;
    pass.context = &s;
    VT_TRY(runner->run(runner->context, &pass));
    out->pictures = (uint32_t)s.scored;
    out->failed = (uint32_t)s.failed;
    out->real_pictures = (uint32_t)s.real_scored;
    out->right1 = (uint32_t)s.right1;
    out->right5 = (uint32_t)s.right5;
    out->real_right = (uint32_t)s.real;
    out->calibration_error = vt_bins_error(out->bins, s.scored);
    if (s.scored) {
        out->top1 = (double)s.right1 / (double)s.scored;
        out->top5 = (double)s.right5 / (double)s.scored;
    }
    if (s.real_scored)
        out->real = (double)s.real / (double)s.real_scored;
    out->real_by_number = s.labels && vt_labels_numbered(s.labels);
done:
    free(chosen);
    free(wanted);
    free(s.answers);
    free(s.top);
    return st;
}

/* ---- few-shot ---- */

#define UNREADABLE UINT32_MAX /* as a label, until close_gaps() */

static void keep_row(void *context, size_t position, const float *row)
{
    vt_features *f = context;

    if (row)
        memcpy(f->x + position * f->width, row, f->width * sizeof *row);
    else
        f->label[position] = UNREADABLE;
}

/* Removes the rows of pictures that could not be decoded; keeps the order. */
static void close_gaps(vt_features *f)
{
    size_t n = 0;

    for (size_t i = 0; i < f->count; i++) {
        if (f->label[i] == UNREADABLE)
            continue;
        memmove(f->x + n * f->width, f->x + i * f->width,
                f->width * sizeof *f->x);
        f->label[n++] = f->label[i];
    }
    f->count = n;
}

/* Adds the number of pictures that could not be decoded to *failed. */
static vitcl_status features(vt_features *out, vt_pass *s,
                             const vt_runner *runner, uint32_t *failed)
{
    vitcl_status st = VITCL_OK;
    vt_features f = {s->count, s->width, NULL, NULL};
    vt_pass pass = *s;

    VT_TRY(vt_new(&f.x, s->count * s->width, sizeof *f.x));
    VT_TRY(vt_new(&f.label, s->count, sizeof *f.label));
    for (size_t i = 0; i < s->count; i++)
        f.label[i] = vt_dataset_label(s->d, vt_pass_picture(s, i));
    pass.tensor = "features";
    pass.take = keep_row;
    pass.context = &f;
    VT_TRY(runner->run(runner->context, &pass));
    s->before += s->count;
    close_gaps(&f);
    *failed += (uint32_t)(s->count - f.count);
    *out = f, f = (vt_features){0};
done:
    vt_features_free(&f);
    return st;
}

/* The training pictures of one try. */
typedef struct choice {
    size_t *index, count;
} choice;

static vitcl_status choose(choice *plan, const vt_fewshot_score *scores,
                           uint32_t n, uint32_t tries, uint64_t random_state,
                           const vt_dataset *train, uint64_t *total)
{
    vitcl_status st = VITCL_OK;
    uint32_t count = vt_dataset_count(train), *label = NULL;
    uint32_t classes = vt_dataset_classes(train);

    VT_TRY(vt_new(&label, count, sizeof *label));
    for (uint32_t i = 0; i < count; i++)
        label[i] = vt_dataset_label(train, i);
    for (uint32_t i = 0; i < n * tries; i++) {
        uint32_t shots = scores[i / tries].shots;
        size_t most = VT_MIN((size_t)count, (size_t)shots * (size_t)classes);

        VT_TRY(vt_new(&plan[i].index, most, sizeof *plan[i].index));
        VT_TRY(vt_fewshot_choose(plan[i].index, &plan[i].count, label, count,
                                 classes, shots, random_state + i % tries));
        *total += plan[i].count;
    }
done:
    free(label);
    return st;
}

static vitcl_status count_few(vt_fewshot_score *scores, uint32_t n,
                              const vt_dataset *train)
{
    vitcl_status st = VITCL_OK;
    const uint32_t classes = vt_dataset_classes(train);
    uint32_t *have = NULL;

    VT_TRY(VT_NEW(&have, classes));
    for (uint32_t i = 0; i < vt_dataset_count(train); i++)
        if (vt_dataset_label(train, i) < classes)
            have[vt_dataset_label(train, i)]++;
    for (uint32_t i = 0; i < n; i++) {
        scores[i].few = 0;
        for (uint32_t c = 0; c < classes; c++)
            scores[i].few += have[c] < scores[i].shots;
    }
done:
    free(have);
    return st;
}

static void summarise(vt_fewshot_score *s, const double *accuracy,
                      uint32_t tries)
{
    double sum = 0, squares = 0;

    for (uint32_t t = 0; t < tries; t++)
        sum += accuracy[t];
    s->mean = sum / tries;
    for (uint32_t t = 0; t < tries; t++)
        squares += (accuracy[t] - s->mean) * (accuracy[t] - s->mean);
    s->sd = tries > 1 ? sqrt(squares / (tries - 1)) : 0;
}

static vitcl_status score_tries(vt_fewshot_score *scores, const choice *plan,
                                uint32_t n, uint32_t tries, vt_pass *s,
                                const vt_runner *runner,
                                const vt_dataset *train,
                                const vt_features *asked, uint32_t failed)
{
    vitcl_status st = VITCL_OK;
    vt_features known = {0};
    double *accuracy = NULL;

    VT_TRY(VT_NEW(&accuracy, tries));
    for (uint32_t i = 0; i < n * tries; i++) {
        if (i % tries == 0)
            scores[i / tries].failed = failed;
        s->d = train, s->chosen = plan[i].index, s->count = plan[i].count;
        VT_TRY(features(&known, s, runner, &scores[i / tries].failed));
        VT_TRY(vt_ridge_accuracy(&accuracy[i % tries], &known, asked,
                                 vt_dataset_classes(train), L2));
        vt_features_free(&known);
        if (i % tries == tries - 1)
            summarise(&scores[i / tries], accuracy, tries);
    }
done:
    vt_features_free(&known);
    free(accuracy);
    return st;
}

vitcl_status vt_fewshot(vt_fewshot_score *scores, uint32_t n, uint32_t tries,
                        uint64_t random_state, const vt_labelled *train,
                        const vt_labelled *test, size_t width,
                        const vt_runner *runner)
{
    vitcl_status st = VITCL_OK;
    const vt_classes known =
        vt_classes_of_data(train->d, "the training pictures");
    const vt_classes data = vt_classes_of_data(test->d, "the test pictures");
    vt_features asked = {0};
    uint32_t *wanted = NULL, failed = 0;
    choice *plan = NULL;
    vt_pass s = {.d = test->d,
                 .count = vt_dataset_count(test->d),
                 .width = width,
                 .total = vt_dataset_count(test->d)};

    VT_TRY(vt_new(&wanted, (size_t)data.count + 1, sizeof *wanted));
    VT_TRY(vt_classes_match(wanted, &data, &known,
                            train->by_number || test->by_number));
    VT_TRY(count_few(scores, n, train->d));
    VT_TRY(vt_new(&plan, (size_t)n * tries, sizeof *plan));
    VT_TRY(choose(plan, scores, n, tries, random_state, train->d, &s.total));
    VT_TRY(features(&asked, &s, runner, &failed));
    for (size_t i = 0; i < asked.count; i++)
        asked.label[i] = wanted[asked.label[i]];
    VT_TRY(score_tries(scores, plan, n, tries, &s, runner, train->d, &asked,
                       failed));
done:
    vt_features_free(&asked);
    for (uint32_t i = 0; plan && i < n * tries; i++)
        free(plan[i].index);
    free(plan);
    free(wanted);
    return st;
}
