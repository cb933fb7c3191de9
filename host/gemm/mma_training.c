/*
 * mma_training.c - the operands of a training's products on matrix units, in
 * bf16: y = x w^T, dx = dy w and dw = dy^T x.
 *
 * Weights change in each step, so that B is packed into temp at each launch;
 * where its terms are outermost, and for a transposed A, by
 * cl/gemm_mma_turn.cl. An A in rows is rounded as it is read. Not in f16: small
 * gradients would be lost.
 */
#include "gemm/mma_training.h"

#include "base/memory.h"
#include "gemm/common.h"

#include <stdio.h>

enum { TERMS = 32, STRIP = 64 }; /* of a strip, and its bytes */
enum { ROWS = 32, GROUP = 128 }; /* of cl/gemm_mma_turn.cl */

bool vt_mma_packs(const vt_gemm_desc *d)
{
    return !d->b_packed && d->type == VT_BF16 &&
           (!d->trans_a || d->a == VT_F32);
}

/* ---- temp ---- */

/* Of so many packed rows. */
static size_t bytes(const vt_gemm_desc *d, int rows)
{
    return (size_t)rows * (size_t)vt_divide_up(d->K, TERMS) * STRIP;
}

size_t vt_mma_operands_bytes(const vt_dev *dev, const vt_gemm_desc *d,
                             int columns)
{
    return vt_dev_aligned(dev, bytes(d, columns)) +
           (d->trans_a ? vt_dev_aligned(dev, bytes(d, d->M)) : 0);
}

/* ---- kernels ---- */

/* rows: of `to`, of which `real` are of x[K,real]. */
static vitcl_status turn(vt_kernel **k, vt_gemm *g, vt_buf *to, vt_buf *x,
                         int real, int ld, int rows, bool a)
{
    const int v[] = {real, g->t.d.K, ld, rows};
    char defines[32];

    snprintf(defines, sizeof defines, "-DDPAS=%d%s",
             a ? 0 : vt_mma_together(g->t.unit), a ? " -DROWS" : "");
    VT_RET(vt_kernel_new(k, g->dev, "gemm_mma_turn", "gemm_mma_turn", defines));
    VT_RET(vt_gemm_arguments(*k, (vt_buf *[]){to, x}, 2, v, VT_COUNT(v)));
    vt_kernel_size(
        *k, 2,
        (size_t[3]){(size_t)vt_divide_up(g->t.d.K, 2 * TERMS) * GROUP,
                    (size_t)vt_divide_up(rows, ROWS)},
        (size_t[3]){GROUP, 1});
    return VITCL_OK;
}

static vitcl_status pack(vt_kernel **k, vt_gemm *g, vt_buf *to, int columns)
{
    const vt_gemm_desc *d = &g->t.d;
    const int v[] = {d->N, d->K, d->ldb, columns};
    char defines[32];

    snprintf(defines, sizeof defines, "-DTYPE=1 -DDPAS=%d",
             vt_mma_together(g->t.unit));
    VT_RET(vt_kernel_new(k, g->dev, "gemm_mma_pack", "gemm_mma_pack", defines));
    VT_RET(
        vt_gemm_arguments(*k, (vt_buf *[]){to, g->bufs.b}, 2, v, VT_COUNT(v)));
    vt_kernel_size(
        *k, 2,
        (size_t[3]){4 * (size_t)vt_divide_up(d->K, TERMS), (size_t)columns},
        NULL);
    return VITCL_OK;
}

vitcl_status vt_mma_bind_operands(vt_gemm *g, int columns, size_t sums,
                                  unsigned *n)
{
    const vt_gemm_desc *d = &g->t.d;
    const size_t b = bytes(d, columns);
    vt_mma_packed *p = NULL;

    VT_RET(VT_NEW(&p, 1));
    g->state = p;
    VT_RET(vt_buf_view(&p->b, g->bufs.temp, 0, b));
    if (d->trans_b)
        VT_RET(turn(&g->kernel[(*n)++], g, p->b, g->bufs.b, d->N, d->ldb,
                    columns, false));
    else
        VT_RET(pack(&g->kernel[(*n)++], g, p->b, columns));
    if (d->trans_a) {
        VT_RET(vt_buf_view(&p->a, g->bufs.temp, vt_dev_aligned(g->dev, b),
                           bytes(d, d->M)));
        VT_RET(turn(&g->kernel[(*n)++], g, p->a, g->bufs.a, d->M, d->lda, d->M,
                    true));
    }
    if (sums)
        VT_RET(vt_buf_view(&p->sums, g->bufs.temp,
                           vt_mma_operands_bytes(g->dev, d, columns), sums));
    return VITCL_OK;
}

void vt_mma_free_operands(vt_gemm *g)
{
    vt_mma_packed *p = g->state;

    if (p) {
        vt_buf_free(p->b);
        vt_buf_free(p->a);
        vt_buf_free(p->sums);
        free(p);
    }
}
