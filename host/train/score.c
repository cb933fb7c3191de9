/*
 * score.c - count right answers and losses.
 */
#include "train/score.h"

#include "base/log.h"
#include "base/memory.h"
#include "data/classes.h"
#include "data/mask.h"

#include <assert.h>
#include <math.h>
#include <string.h>

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
                              const vt_batch *b)
{
    if (!a->masked) {
        *targets = b->targets;
        return VITCL_OK;
    }
    VT_RET(vt_trainer_corrupt(a->trainer, b->source));
    vt_mask_targets(a->targets, b->colour, a->micro * a->rows, a->smoothing);
    *targets = a->targets;
    return VITCL_OK;
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

/* A picture of the last micro-batch. h: NULL while training; else also counts
 * losses and the best five. */
static void count(vt_score_sums *out, const vt_answers *a, const float *targets,
                  size_t picture, const vt_held_out *h)
{
    const uint32_t k = (uint32_t)vt_trainer_classes(a->trainer);

    for (size_t i = picture * a->rows; i < (picture + 1) * a->rows; i++) {
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
    }
}

vitcl_status vt_answers_count(vt_score_sums *out, vt_answers *a,
                              const float *targets, uint32_t n)
{
    VT_RET(vt_trainer_logits(a->logits, a->trainer));
    for (uint32_t i = 0; i < n; i++)
        count(out, a, targets, i, NULL);
    return VITCL_OK;
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

/* In every round each rank scores one micro-batch: together they are the next
 * ones in the order of the pictures. */
typedef struct score_rounds {
    vt_answers *a;
    const vt_held_out *h;
    size_t *chosen;      /* this rank's pictures */
    vt_batches *batches; /* NULL: it has none */
    vt_score_sums *mine, *all;
    float *logits; /* all ranks' of a round; NULL: they are not kept */
    uint8_t *rgb;  /* a picture, if they are */
} score_rounds;

static void close_scoring(score_rounds *s)
{
    vt_batches_free(s->batches);
    free(s->chosen);
    free(s->mine);
    free(s->all);
    free(s->logits);
    free(s->rgb);
}

static vitcl_status open_scoring(score_rounds *s, vt_answers *a,
                                 const vt_held_out *h)
{
    const vt_ranks *r = h->ranks;
    vt_batches_options o = *h->feed;

    *s = (score_rounds){.a = a, .h = h};
    VT_RET(VT_NEW(&s->chosen, h->count));
    o.d = h->d;
    o.chosen = s->chosen;
    o.count = 0;
    for (size_t i = 0; i < h->count; i++)
        if (i / a->micro % r->count == r->rank)
            s->chosen[o.count++] = h->chosen[i];
    o.batch = a->micro;
    o.augmented = false;
    o.from = o.to = 0;
    o.first = 0;
    o.end = vt_batches_steps(o.count, o.batch, false);
    vt_log("scores %zu of %zu pictures", o.count, h->count);
    VT_RET(VT_NEW(&s->mine, a->micro));
    VT_RET(VT_NEW(&s->all, (size_t)r->count * a->micro));
    if (h->evidence && h->evidence->room) {
        VT_RET(vt_new(&s->logits, (uint64_t)r->count * a->micro * o.classes,
                      sizeof *s->logits));
        VT_RET(VT_NEW(&s->rgb, (size_t)o.how.height * o.how.width * 3));
    }
    if (o.count)
        VT_RET(vt_batches_new(&s->batches, &o));
    return VITCL_OK;
}

static double detail_of(const score_rounds *s, const float *pixels, size_t i)
{
    const vt_preprocess *how = &s->h->feed->how;
    const size_t picture = (size_t)how->height * how->width * 3;

    vt_unnormalise(s->rgb, pixels + i * picture, how);
    return vt_detail(s->rgb, how->height, how->width);
}

/* This rank's micro-batch of a round; first: the first picture of it. */
static vitcl_status score_mine(score_rounds *s, size_t first)
{
    const uint32_t micro = s->a->micro;
    const float *targets;
    double ignored;
    vt_batch b;

    memset(s->mine, 0, micro * sizeof *s->mine);
    if (first >= s->h->count)
        return VITCL_OK;
    VT_RET(vt_batches_next(&b, s->batches));
    VT_RET(vt_answers_begin(&targets, s->a, &b));
    VT_RET(vt_trainer_evaluate(&ignored, s->a->trainer, b.pixels, targets));
    VT_RET(vt_trainer_logits(s->a->logits, s->a->trainer));
    for (uint32_t i = 0; i < micro && first + i < s->h->count; i++) {
        count(&s->mine[i], s->a, targets, i, s->h);
        if (s->rgb)
            s->mine[i].detail = detail_of(s, b.pixels, i);
    }
    return VITCL_OK;
}

/* Adds up a round, picture by picture: the same bits for any count of ranks. */
static vitcl_status add_round(vt_score_sums *sum, score_rounds *s, size_t first)
{
    const vt_held_out *h = s->h;
    const size_t micro = s->a->micro, n = micro * h->ranks->count;
    const size_t k = (size_t)vt_trainer_classes(s->a->trainer);
    const bool keeps = s->logits && h->evidence->n < h->evidence->room;

    VT_RET(vt_ranks_gather(h->ranks, s->all, s->mine, micro * sizeof *s->mine));
    if (keeps)
        VT_RET(vt_ranks_gather(h->ranks, s->logits, s->a->logits,
                               micro * k * sizeof *s->logits));
    for (size_t i = 0; i < n && first + i < h->count; i++) {
        const uint32_t label =
            vt_dataset_label(h->d, (uint32_t)h->chosen[first + i]);

        sum->right += s->all[i].right;
        sum->right5 += s->all[i].right5;
        sum->loss += s->all[i].loss;
        if (keeps)
            vt_evidence_add(h->evidence, s->logits + i * k,
                            h->label ? h->label[label] : label,
                            s->all[i].detail);
    }
    return VITCL_OK;
}

vitcl_status vt_score_held_out(vt_score_sums *out, vt_answers *a,
                               const vt_held_out *h)
{
    vitcl_status st = VITCL_OK;
    const size_t a_round = (size_t)a->micro * h->ranks->count;
    score_rounds s = {0};
    vt_score_sums sum = {0};
    bool stop = false;

    if (h->averages)
        VT_TRY(swap_averages(a, true));
    VT_TRY(open_scoring(&s, a, h));
    for (size_t at = 0; at < h->count && !stop; at += a_round) {
        VT_TRY(score_mine(&s, at + (size_t)h->ranks->rank * a->micro));
        VT_TRY(add_round(&sum, &s, at));
        stop =
            h->progress &&
            h->progress(h->context, VT_MIN(at + a_round, h->count), h->count);
        VT_TRY(vt_ranks_agree(h->ranks, &stop));
    }
    if (h->averages)
        VT_TRY(swap_averages(a, false));
    if (stop)
        st = vt_fail(VITCL_ESTOPPED, "stopped by the caller");
    *out = sum;
done:
    close_scoring(&s);
    return st;
}

vitcl_status vt_score_colours(int32_t *colour, vt_answers *a, const vt_batch *b,
                              bool averages)
{
    const uint32_t k = (uint32_t)vt_trainer_classes(a->trainer);
    const float *targets;
    double ignored;

    if (averages)
        VT_RET(swap_averages(a, true));
    VT_RET(vt_answers_begin(&targets, a, b));
    VT_RET(vt_trainer_evaluate(&ignored, a->trainer, b->pixels, targets));
    VT_RET(vt_trainer_logits(a->logits, a->trainer));
    for (size_t i = 0; i < a->micro * a->rows; i++)
        colour[i] = (int32_t)largest(a->logits + i * k, k);
    if (averages)
        VT_RET(swap_averages(a, false));
    return VITCL_OK;
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
