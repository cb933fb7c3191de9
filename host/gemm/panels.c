/*
 * panels.c - B in panels: the columns of some vectors, with k outermost, so
 * that cl/gemm_rows.cl reads them in order. int8 has each column's scale
 * behind.
 */
#include "gemm/panels.h"

#include "base/memory.h"
#include "gemm/common.h"
#include "ocl/precision.h"

#include <stdio.h>

#define PANEL(n)                                                               \
    {                                                                          \
        "panel" #n, "panel" #n "-bf16", "panel" #n "-f16", "panel" #n "-i8"    \
    }
static const struct {
    int columns;
    const char *word[4];
} panels[] = {{4, PANEL(4)},   {8, PANEL(8)},   {12, PANEL(12)},
              {16, PANEL(16)}, {24, PANEL(24)}, {32, PANEL(32)},
              {48, PANEL(48)}, {64, PANEL(64)}};

/* Columns of a panel. */
static int wide(const vt_told *t)
{
    return t->rows.lanes * t->rows.vectors;
}

const char *vt_panels_layout(vt_dev *dev, const vt_told *t)
{
    size_t i = 0;

    (void)dev;
    while (panels[i].columns != wide(t))
        i++;
    return panels[i].word[vt_type_number(t->d.type)];
}

size_t vt_panels_bytes(vt_dev *dev, const vt_told *t)
{
    const vt_gemm_desc *d = &t->d;
    const int nw = wide(t);
    const size_t columns = (size_t)((d->N + nw - 1) / nw) * (size_t)nw;

    (void)dev;
    return columns * (size_t)d->K * vt_dtype_size(d->type) +
           (d->type == VT_I8 ? columns * sizeof(float) : 0); /* plus scales */
}

size_t vt_panels_temp_bytes(vt_dev *dev, const vt_told *t)
{
    return t->d.b_packed ? 0 : vt_dev_aligned(dev, vt_panels_bytes(dev, t));
}

/* Makes the kernels that pack b into `packed`: k[*n] and following. */
static vitcl_status kernels(vt_kernel **k, unsigned *n, vt_dev *dev,
                            const vt_told *t, vt_buf *packed, vt_buf *b)
{
    const vt_gemm_desc *d = &t->d;
    const int nw = wide(t);
    const size_t across = (size_t)vt_divide_up(d->N, nw);
    const size_t global[3] = {(size_t)vt_divide_up(d->K, 64), across, 1},
                 columns[3] = {across * (size_t)nw, 1, 1}, one[3] = {1, 1, 1};
    const bool scales = d->type == VT_I8;
    char defines[96];

    snprintf(defines, sizeof defines,
             "-DV=%d -DPER=%d -DWG=1 -DNV=%d -DTYPE=%d%s", t->rows.lanes,
             VT_CPU_BLOCK / t->rows.lanes, t->rows.vectors,
             vt_type_number(d->type), d->trans_b ? " -DTRANS_B" : "");
    for (int pass = scales ? 0 : 1; pass < 2; pass++, (*n)++) {
        VT_RET(vt_kernel_new(&k[*n], dev, "gemm_rows",
                             pass ? "gemm_rows_pack" : "gemm_rows_scale",
                             defines));
        VT_RET(vt_gemm_arguments(k[*n], (vt_buf *[]){packed, b}, 2,
                                 (int[]){d->N, d->K, d->ldb}, 3));
        vt_kernel_size(k[*n], pass ? 2 : 1, pass ? global : columns, one);
    }
    return VITCL_OK;
}

vitcl_status vt_panels_pack(vt_queue *q, const vt_told *t, vt_buf *packed,
                            vt_buf *b)
{
    vt_kernel *k[2] = {NULL, NULL};
    unsigned n = 0;
    vitcl_status st;

    VT_TRY(kernels(k, &n, vt_queue_dev(q), t, packed, b));
    for (unsigned i = 0; i < n; i++)
        VT_TRY(vt_kernel_launch(q, k[i]));
done:
    vt_kernel_free(k[0]);
    vt_kernel_free(k[1]);
    return st;
}

vitcl_status vt_panels_bind(vt_buf **out, vt_gemm *g, unsigned *n)
{
    vt_buf *b = g->bufs.b;
    vt_panels *p = NULL;

    VT_RET(VT_NEW(&p, 1));
    g->state = p;
    if (!g->t.d.b_packed) {
        VT_RET(vt_buf_view(&p->b, g->bufs.temp, 0,
                           vt_panels_bytes(g->dev, &g->t)));
        VT_RET(kernels(g->kernel, n, g->dev, &g->t, p->b, b));
        b = p->b;
    }
    *out = b;
    return VITCL_OK;
}

void vt_panels_free(vt_gemm *g)
{
    vt_panels *p = g->state;

    if (p) {
        vt_buf_free(p->a);
        vt_buf_free(p->b);
        free(p);
    }
}
