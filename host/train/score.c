/*
 * score.c - count right answers and losses.
 */
#include "train/score.h"

#include "base/memory.h"
#include "data/classes.h"
#include "data/mask.h"

#include <assert.h>
#include <math.h>

vitcl_status vt_answers_new(vt_answers *out, vt_trainer *trainer,
                            uint32_t micro, bool masked, double smoothing)
{
    vitcl_status st = VITCL_OK;
    const size_t rows = (size_t)vt_trainer_rows(trainer);
    const size_t n = micro * rows * (size_t)vt_trainer_classes(trainer);
    vt_answers a = {.trainer = trainer,
                    .micro = micro,
                    .rows = rows,
                    .asked = masked ? (size_t)vt_mask_count((int)rows) : 1,
                    .masked = masked,
                    .smoothing = smoothing};

    VT_TRY(vt_new(&a.logits, n, sizeof *a.logits));
    if (masked)
        VT_TRY(vt_new(&a.targets, n, sizeof *a.targets));
    *out = a, a = (vt_answers){0};
done:
    vt_answers_free(&a);
    return st;
}

void vt_answers_free(vt_answers *a)
{
    for (size_t i = 0; a->raw && i < vt_trainer_parameters(a->trainer); i++)
        free(a->raw[i]);
    free(a->raw);
    free(a->logits);
    free(a->targets);
    *a = (vt_answers){0};
}

vitcl_status vt_answers_begin(const float **targets, vt_answers *a,
                              const vt_batch *b, uint32_t at)
{
    vitcl_status st = VITCL_OK;
    const size_t first = at * a->rows;

    if (!a->masked) {
        *targets = b->targets + at * (size_t)vt_trainer_classes(a->trainer);
        return VITCL_OK;
    }
    VT_TRY(vt_trainer_corrupt(a->trainer, b->source + first));
    vt_mask_targets(a->targets, b->colour + first, a->micro * a->rows,
                    a->smoothing);
    *targets = a->targets;
done:
    return st;
}

/* ---- counting ---- */

static uint32_t largest(const float *x, uint32_t n)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

/* Classes that are answered before this one; of equal ones, the first. */
static uint32_t before(const float *logits, uint32_t k, uint32_t label)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < k; i++)
        n += logits[i] > logits[label] ||
             (i < label && !(logits[i] < logits[label]));
    return n;
}

/* -log softmax at the label. */
static double loss_of(const float *logits, uint32_t k, uint32_t label)
{
    double top = logits[largest(logits, k)], sum = 0;

    assert(k > 0);
    for (uint32_t i = 0; i < k; i++)
        sum += exp((double)logits[i] - top);
    return log(sum) + top - (double)logits[label];
}

/* h: NULL while training; else also counts losses and the best five, and keeps
 * logits. */
static vitcl_status count(vt_tally *out, vt_answers *a, const float *targets,
                          uint32_t n, const vt_held_out *h)
{
    vitcl_status st;
    const uint32_t k = (uint32_t)vt_trainer_classes(a->trainer);

    VT_TRY(vt_trainer_logits(a->logits, a->trainer));
    for (size_t i = 0; i < n * a->rows; i++) {
        const float *target = targets + i * k, *logits = a->logits + i * k;
        const uint32_t marked = largest(target, k);
        const uint32_t want = h && h->label ? h->label[marked] : marked;

        if (target[marked] <= 0) /* not a patch to predict */
            continue;
        out->right += largest(logits, k) == want;
        if (!h)
            continue;
        out->right5 += before(logits, k, want) < 5;
        out->loss += loss_of(logits, k, want);
        if (h->evidence)
            vt_evidence_add(h->evidence, logits, want);
    }
done:
    return st;
}

vitcl_status vt_answers_count(vt_tally *out, vt_answers *a,
                              const float *targets, uint32_t n)
{
    return count(out, a, targets, n, NULL);
}

/* ---- held-out pictures ---- */

/* Swaps parameters and averages; a second call restores every bit. */
static vitcl_status swap_averages(vt_answers *a, bool in)
{
    vitcl_status st = VITCL_OK;
    const size_t n = vt_trainer_parameters(a->trainer);
    float *data = NULL;

    if (!a->raw)
        VT_TRY(VT_NEW(&a->raw, n));
    for (size_t i = 0; i < n; i++) {
        const size_t elements = vt_trainer_elements(a->trainer, i);

        if (!in) {
            VT_TRY(vt_trainer_write(a->trainer, i, "", a->raw[i]));
            continue;
        }
        if (!a->raw[i])
            VT_TRY(vt_new(&a->raw[i], elements, sizeof(float)));
        VT_TRY(vt_trainer_read(a->raw[i], a->trainer, i, ""));
        free(data), data = NULL;
        VT_TRY(vt_new(&data, elements, sizeof *data));
        VT_TRY(vt_trainer_read(data, a->trainer, i, "ema"));
        VT_TRY(vt_trainer_write(a->trainer, i, "", data));
    }
done:
    free(data);
    return st;
}

vitcl_status vt_score_held_out(vt_tally *out, vt_answers *a,
                               const vt_held_out *h)
{
    vitcl_status st = VITCL_OK;
    vt_batches *batches = NULL;
    vt_batches_options o = *h->feed;
    const float *targets;
    vt_tally sum = {0};
    double ignored;
    bool stop = false;
    vt_batch b;

    o.d = h->d;
    o.chosen = h->chosen;
    o.count = h->count;
    o.batch = a->micro;
    o.augmented = false;
    o.from = o.to = 0;
    o.first = 0;
    o.end = vt_batches_steps(o.count, o.batch, false);
    if (h->averages)
        VT_TRY(swap_averages(a, true));
    VT_TRY(vt_batches_new(&batches, &o));
    for (long step = 0; step < o.end && !stop; step++) {
        const size_t left = h->count - (size_t)step * o.batch;
        const uint32_t n = (uint32_t)VT_MIN(left, (size_t)o.batch);

        VT_TRY(vt_batches_next(&b, batches));
        VT_TRY(vt_answers_begin(&targets, a, &b, 0));
        VT_TRY(vt_trainer_evaluate(&ignored, a->trainer, b.pixels, targets));
        VT_TRY(count(&sum, a, targets, n, h));
        stop = h->progress &&
               h->progress(h->context, h->count - left + n, h->count);
    }
    if (h->averages)
        VT_TRY(swap_averages(a, false));
    if (stop)
        st = vt_fail(VITCL_ESTOPPED, "stopped by the caller");
    *out = sum;
done:
    vt_batches_free(batches);
    return st;
}

vitcl_status vt_score_colours(int32_t *colour, vt_answers *a, const vt_batch *b,
                              bool averages)
{
    const uint32_t k = (uint32_t)vt_trainer_classes(a->trainer);
    vitcl_status st;
    const float *targets;
    double ignored;

    if (averages)
        VT_TRY(swap_averages(a, true));
    VT_TRY(vt_answers_begin(&targets, a, b, 0));
    VT_TRY(vt_trainer_evaluate(&ignored, a->trainer, b->pixels, targets));
    VT_TRY(vt_trainer_logits(a->logits, a->trainer));
    for (size_t i = 0; i < a->micro * a->rows; i++)
        colour[i] = (int32_t)largest(a->logits + i * k, k);
    if (averages)
        VT_TRY(swap_averages(a, false));
done:
    return st;
}

/* Of its own, so that no message advises to match by number: a training has no
 * such option. */
static const char *class_of(const void *dataset, uint32_t index)
{
    return vt_dataset_class(dataset, index);
}

vitcl_status vt_score_match(uint32_t **out, const vt_dataset *val,
                            const vt_dataset *data)
{
    vitcl_status st = VITCL_OK;
    const vt_classes these = {.count = vt_dataset_classes(val),
                              .whose = "the validation pictures",
                              .of = val,
                              .label = class_of};
    const vt_classes those = {.count = vt_dataset_classes(data),
                              .whose = "the training pictures",
                              .of = data,
                              .label = class_of};
    uint32_t *label = NULL, *ignored = NULL;

    VT_TRY(vt_new(&label, (size_t)these.count + 1, sizeof *label));
    VT_TRY(vt_new(&ignored, (size_t)those.count + 1, sizeof *ignored));
    VT_TRY(vt_classes_match(label, &these, &those, false));
    VT_TRY(vt_classes_match(ignored, &those, &these, false));
    *out = label, label = NULL;
done:
    free(label);
    free(ignored);
    return st;
}
