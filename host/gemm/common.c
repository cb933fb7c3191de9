/*
 * common.c - what several forms share: the arguments of their kernels, B in
 * another order, and how CPUs divide a product.
 *
 * Surprising: the division of rows into blocks and chunks depends on M and on
 * the number of cores, but the bits of the result do not: each element is one
 * chain of additions over k, wherever it is computed.
 */
#include "gemm/common.h"

#include "base/memory.h"
#include "ocl/precision.h"

#include <limits.h>
#include <stdio.h>

const char *vt_gemm_defines(char out[96], const vt_gemm_desc *d)
{
    /* C += has C itself as its residual. */
    const bool residual = d->residual || d->accumulate;
    const vt_dtype type = d->accumulate ? d->out : d->res;
    const bool half = residual && type != VT_F32;

    snprintf(out, 96, "-DACT=%d%s%s%s%s%s", (int)d->act,
             d->bias ? " -DBIAS" : "", d->scale ? " -DSCALE" : "",
             !residual  ? ""
             : d->times ? " -DTIMES"
                        : " -DRESIDUAL",
             half ? " -DRST=" : "", half ? vt_dtype_name(type) : "");
    return out;
}

vitcl_status vt_gemm_arguments(vt_kernel *k, vt_buf *const *bufs, unsigned n,
                               const int *ints, unsigned m)
{
    for (unsigned i = 0; i < n; i++)
        VT_RET(vt_kernel_buf(k, i, bufs[i]));
    for (unsigned i = 0; i < m; i++)
        VT_RET(vt_kernel_int(k, n + i, ints[i]));
    return VITCL_OK;
}

vitcl_status vt_gemm_operands(vt_kernel *k, const vt_gemm *g, vt_buf *a,
                              vt_buf *b, const int *ints, unsigned m)
{
    vt_buf *const bufs[] = {g->bufs.c,       a, b, g->bufs.bias, g->bufs.scale,
                            g->bufs.residual};

    return vt_gemm_arguments(k, bufs, VT_COUNT(bufs), ints, m);
}

const char *vt_gemm_end_defines(char out[160], const vt_gemm_desc *d)
{
    char epilogue[96];

    snprintf(out, 160, " -DTYPE=%d -DCT=%s %s", vt_type_number(d->type),
             vt_dtype_name(d->out), vt_gemm_defines(epilogue, d));
    return out;
}

vitcl_status vt_gemm_bind_sum(vt_kernel **k, const vt_gemm *g, vt_buf *sums,
                              size_t at, vt_buf *a, vt_buf *b, int parts,
                              int strips, int columns, const char *quick)
{
    enum { FEW = 64 };
    const vt_gemm_desc *d = &g->t.d;
    const int rows = d->batch * d->M;
    const int v[] = {
        rows, d->N, parts, strips, d->ldc, columns, (int)(at / sizeof(float))};
    const size_t all = (size_t)rows * (size_t)d->N;
    char common[160], defines[176];

    snprintf(defines, sizeof defines, "%s%s", vt_gemm_end_defines(common, d),
             quick);
    VT_RET(vt_kernel_new(k, g->dev, "gemm_sum", "gemm_sum", defines));
    VT_RET(vt_gemm_operands(*k, g, a, b, v, VT_COUNT(v)));
    VT_RET(vt_kernel_buf(*k, 13, sums));
    vt_kernel_size(*k, 1, (size_t[3]){(all + FEW - 1) / FEW * FEW},
                   (size_t[3]){FEW});
    return VITCL_OK;
}

vitcl_status vt_gemm_reorder(vt_queue *q, const vt_gemm_desc *d, vt_buf *packed,
                             vt_buf *b, bool kn)
{
    const size_t n = (size_t)d->N, k = (size_t)d->K;
    vt_kernel *pack = NULL;
    char defines[96];
    vitcl_status st;

    snprintf(defines, sizeof defines, "-DKN=%d -DTRANS_B=%d -DCT=%s", kn,
             d->trans_b, vt_dtype_name(d->type));
    VT_TRY(vt_kernel_new(&pack, vt_queue_dev(q), "gemm_plain", "gemm_pack",
                         defines));
    VT_TRY(vt_gemm_arguments(pack, (vt_buf *[]){packed, b}, 2,
                             (int[]){d->N, d->K, d->ldb}, 3));
    vt_kernel_size(pack, 2, (size_t[3]){kn ? n : k, kn ? k : n}, NULL);
    VT_TRY(vt_kernel_launch(q, pack));
done:
    vt_kernel_free(pack);
    return st;
}

/* ---- division ---- */

/* Large work-groups reuse more data, many work-groups balance better. */
static void divide_work(vt_rows *s, vt_rows_shape t, int units)
{
    s->chunks = vt_divide_up(s->blocks, VT_MAX(1, t.rows / s->ra));
    s->group = VT_MIN(t.panels, s->panels);
    while (s->group > 1 &&
           vt_divide_up(s->panels, s->group) * s->chunks < units)
        s->group--;
    while (s->chunks < s->blocks && s->panels * s->chunks < units)
        s->chunks++;
}

/* Into blocks of the heights that each program has, because another height is
 * another program: full ones and those of one row less, which make up nearly
 * every number of rows, or else fours and ones. A block of fewer than four rows
 * takes as long as one of four: its few sums wait for each other. Of the pairs
 * of heights that take the least time, the first, with as many tall blocks as
 * possible. */
static void divide_rows(vt_rows *s, int block)
{
    const int height[] = {block, VT_MAX(1, block - 1), VT_MIN(4, block), 1};
    int least = INT_MAX;

    s->ra = height[0], s->rb = height[1];
    for (int i = 0; i < 3; i++)
        for (int j = i + 1; j < 4; j++)
            for (int big = s->rows / height[i]; big >= 0 && least > s->rows;
                 big--) {
                const int left = s->rows - big * height[i];
                const int low = left / height[j];
                const int time =
                    big * VT_MAX(4, height[i]) + low * VT_MAX(4, height[j]);

                if (left % height[j] == 0 && time < least) {
                    least = time;
                    s->tall = height[i], s->low = height[j];
                    s->big = big, s->blocks = big + low;
                }
            }
}

/* Where a program has blocks of any height. */
static void divide_evenly(vt_rows *s, int block)
{
    s->ra = block, s->rb = VT_MAX(1, block - 1);
    s->blocks = vt_divide_up(s->rows, block);
    s->tall = vt_divide_up(s->rows, s->blocks);
    s->low = VT_MAX(1, s->tall - 1);
    s->big = s->tall > 1 ? s->rows - s->blocks * s->low : s->blocks;
}

vt_rows vt_rows_divide(const vt_dev *dev, vt_rows_shape t,
                       const vt_gemm_desc *d, int terms)
{
    vt_rows s = {.nw = t.vectors * t.lanes, .rows = d->batch * d->M};

    s.panels = vt_divide_up(d->N, s.nw);
    if (t.any)
        divide_evenly(&s, t.block);
    else
        divide_rows(&s, t.block);
    divide_work(&s, t, t.groups * (int)vt_dev_info(dev)->compute_units);
    s.most = vt_divide_up(terms, vt_divide_up(terms, t.terms));
    s.saved = t.panels * vt_divide_up(t.rows, s.ra);
    return s;
}
