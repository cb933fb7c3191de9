/*
 * slices.c - add up the gradients of a batch's slices.
 */
#include "train/slices.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "train/later.h"

#include <string.h>

#define LEVELS 17 /* of a tree with 2^16 leaves, the largest batch */
#define BUCKET ((size_t)2 << 20) /* floats, 8 MB; or a quarter of all */

/* Parameters order[first] up to those of the next bucket. */
typedef struct bucket {
    size_t first, at; /* at: its first element in sum[] */
} bucket;

struct vt_slices {
    vt_trainer *trainer;
    const vt_ranks *ranks;
    uint32_t added;       /* slices so far in this batch */
    size_t parameters, n; /* n: elements of all */
    size_t *order;        /* as the backward pass completes them */
    bucket *bucket;       /* and an end */
    size_t buckets, read; /* read: of the last slice, so far */
    vt_halts halts;       /* after each bucket's last step */
    vt_later *sums;
    /* Complete subtrees, each smaller than the one before. */
    float *sum[LEVELS];
    int depth;
    float *zeros; /* as long as the longest parameter */
    long steps;
    double waited_ms;
};

/* ---- buckets ---- */

/* Sorts the parameters by end[]. */
static void sort(size_t *order, const int *end, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t k = i;

        for (; k && end[order[k - 1]] > end[i]; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
}

static vitcl_status cut(vt_slices *s)
{
    vitcl_status st = VITCL_OK;
    int *end = NULL, *step = NULL;
    const size_t most = VT_MIN(BUCKET, s->n / 4);
    size_t n = 0, at = 0;

    VT_TRY(VT_NEW(&s->order, s->parameters));
    VT_TRY(VT_NEW(&s->bucket, s->parameters + 1));
    VT_TRY(VT_NEW(&end, s->parameters));
    VT_TRY(VT_NEW(&step, s->parameters));
    for (size_t i = 0; i < s->parameters; i++)
        end[i] = vt_trainer_gradient_end(s->trainer, i);
    sort(s->order, end, s->parameters);
    for (size_t i = 0; i < s->parameters; i++) {
        at += vt_trainer_elements(s->trainer, s->order[i]);
        if (at - s->bucket[n].at < most && i + 1 < s->parameters)
            continue;
        step[n++] = end[s->order[i]];
        s->bucket[n] = (bucket){i + 1, at};
    }
    s->buckets = n;
    s->halts.count = n;
    s->halts.step = step, step = NULL;
done:
    free(end);
    free(step);
    return st;
}

/* ---- sums ---- */

/* a[n] += b[n] */
static void add(float *restrict a, const float *restrict b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        a[i] += b[i];
}

/* Room for this rank's next slice. */
static vitcl_status next(vt_slices *s)
{
    return s->sum[s->depth] ? VITCL_OK : VT_NEW(&s->sum[s->depth], s->n);
}

static vitcl_status read_bucket(vt_slices *s, size_t k)
{
    float *to = s->sum[s->depth] + s->bucket[k].at;

    for (size_t i = s->bucket[k].first; i < s->bucket[k + 1].first; i++) {
        VT_RET(vt_trainer_read(to, s->trainer, s->order[i], "grad"));
        to += vt_trainer_elements(s->trainer, s->order[i]);
    }
    return VITCL_OK;
}

/* Of a last slice, which completes all subtrees: sum[0] becomes the batch's. */
static vitcl_status sum_bucket(void *context, size_t k)
{
    const vt_slices *s = context;
    const size_t at = s->bucket[k].at, n = s->bucket[k + 1].at - at;

    for (int i = s->depth; i > 0; i--)
        add(s->sum[i - 1] + at, s->sum[i] + at, n);
    return vt_ranks_sum(s->ranks, s->sum[0] + at, n);
}

static vitcl_status give_bucket(void *context, size_t k)
{
    vt_slices *s = context;

    VT_RET(next(s));
    VT_RET(read_bucket(s, k));
    s->read = k + 1;
    return vt_later_give(s->sums);
}

static vitcl_status take_bucket(vt_slices *s, size_t k)
{
    const float *from = s->sum[0] + s->bucket[k].at;

    VT_RET(vt_later_wait(s->sums, k + 1));
    for (size_t i = s->bucket[k].first; i < s->bucket[k + 1].first; i++) {
        VT_RET(vt_trainer_write(s->trainer, s->order[i], "grad", from));
        from += vt_trainer_elements(s->trainer, s->order[i]);
    }
    return VITCL_OK;
}

/* ---- a batch ---- */

vitcl_status vt_slices_new(vt_slices **out, vt_trainer *trainer,
                           const vt_ranks *ranks)
{
    vitcl_status st = VITCL_OK;
    vt_slices *s = NULL;
    size_t longest = 0;

    VT_TRY(VT_NEW(&s, 1));
    s->trainer = trainer;
    s->ranks = ranks;
    s->halts.reached = give_bucket;
    s->halts.context = s;
    s->parameters = vt_trainer_parameters(trainer);
    for (size_t i = 0; i < s->parameters; i++) {
        const size_t n = vt_trainer_elements(trainer, i);

        s->n += n;
        longest = VT_MAX(longest, n);
    }
    VT_TRY(VT_NEW(&s->zeros, longest));
    VT_TRY(cut(s));
    VT_TRY(vt_later_new(&s->sums, ranks->threads, sum_bucket, s));
    *out = s, s = NULL;
done:
    vt_slices_free(s);
    return st;
}

void vt_slices_free(vt_slices *s)
{
    if (!s)
        return;
    vt_later_free(s->sums);
    if (s->ranks->mpi && s->steps)
        vt_log("%ld steps waited %.3f s for the sums over the ranks, in %zu "
               "buckets",
               s->steps, s->waited_ms / 1e3, s->buckets);
    for (int i = 0; i < LEVELS; i++)
        free(s->sum[i]);
    free(s->order);
    free(s->bucket);
    free((void *)s->halts.step);
    free(s->zeros);
    free(s);
}

vitcl_status vt_slices_add(vt_slices *s)
{
    VT_RET(next(s));
    for (size_t k = 0; k < s->buckets; k++)
        VT_RET(read_bucket(s, k));
    for (size_t i = 0; i < s->parameters; i++)
        VT_RET(vt_trainer_write(s->trainer, i, "grad", s->zeros));
    s->depth++;
    /* Two subtrees of one size become one, as bits carry in a counter. */
    for (uint32_t k = s->added++; k & 1; k >>= 1) {
        s->depth--;
        add(s->sum[s->depth - 1], s->sum[s->depth], s->n);
    }
    return VITCL_OK;
}

const vt_halts *vt_slices_halts(vt_slices *s)
{
    return s->ranks->mpi ? &s->halts : NULL;
}

vitcl_status vt_slices_total(vt_slices *s)
{
    const double begun = vt_now_ms();

    while (s->read < s->buckets)
        VT_RET(give_bucket(s, s->read));
    for (size_t k = 0; k < s->buckets; k++)
        VT_RET(take_bucket(s, k));
    vt_later_again(s->sums);
    s->depth = 0;
    s->added = 0;
    s->read = 0;
    s->steps++;
    s->waited_ms += vt_now_ms() - begun;
    return VITCL_OK;
}
