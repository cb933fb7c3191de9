/*
 * slices.c - add up the gradients of a batch's slices.
 */
#include "train/slices.h"

#include "base/memory.h"

#include <string.h>

#define LEVELS 17 /* of a tree with 2^16 leaves, the largest batch */

struct vt_slices {
    vt_trainer *trainer;
    const vt_ranks *ranks;
    uint32_t added;       /* slices so far in this batch */
    size_t parameters, n; /* n: elements of all */
    /* Complete subtrees, each smaller than the one before. */
    float *sum[LEVELS];
    int depth;
    float *zeros; /* as long as the longest parameter */
};

vitcl_status vt_slices_new(vt_slices **out, vt_trainer *trainer,
                           const vt_ranks *ranks)
{
    vitcl_status st = VITCL_OK;
    vt_slices *s = NULL;
    size_t longest = 0;

    VT_TRY(VT_NEW(&s, 1));
    s->trainer = trainer;
    s->ranks = ranks;
    s->parameters = vt_trainer_parameters(trainer);
    for (size_t i = 0; i < s->parameters; i++) {
        const size_t n = vt_trainer_elements(trainer, i);

        s->n += n;
        longest = VT_MAX(longest, n);
    }
    VT_TRY(VT_NEW(&s->zeros, longest));
    *out = s, s = NULL;
done:
    vt_slices_free(s);
    return st;
}

void vt_slices_free(vt_slices *s)
{
    if (!s)
        return;
    for (int i = 0; i < LEVELS; i++)
        free(s->sum[i]);
    free(s->zeros);
    free(s);
}

vitcl_status vt_slices_add(vt_slices *s)
{
    vitcl_status st = VITCL_OK;
    float *to;

    if (!s->sum[s->depth])
        VT_TRY(VT_NEW(&s->sum[s->depth], s->n));
    to = s->sum[s->depth];
    for (size_t i = 0; i < s->parameters; i++) {
        VT_TRY(vt_trainer_read(to, s->trainer, i, "grad"));
        VT_TRY(vt_trainer_write(s->trainer, i, "grad", s->zeros));
        to += vt_trainer_elements(s->trainer, i);
    }
    s->depth++;
    /* Two subtrees of one size become one, as bits carry in a counter. */
    for (uint32_t k = s->added++; k & 1; k >>= 1) {
        float *const a = s->sum[s->depth - 2];
        const float *const b = s->sum[--s->depth];

        for (size_t i = 0; i < s->n; i++)
            a[i] += b[i];
    }
done:
    return st;
}

vitcl_status vt_slices_total(vt_slices *s)
{
    vitcl_status st = VITCL_OK;
    const float *from = s->sum[0];

    VT_TRY(vt_ranks_sum(s->ranks, s->sum[0], s->n));
    for (size_t i = 0; i < s->parameters; i++) {
        VT_TRY(vt_trainer_write(s->trainer, i, "grad", from));
        from += vt_trainer_elements(s->trainer, i);
    }
    s->depth = 0;
    s->added = 0;
done:
    return st;
}
