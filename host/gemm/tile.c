/*
 * tile.c - the native provider's multiplication on a GPU: cl/gemm_tile.cl,
 * which reads any layout in f32; packing only transposes weights to [K,N].
 * int8 is read from the panels of a CPU.
 */
#include "base/memory.h"
#include "gemm/common.h"
#include "gemm/panels.h"

#include <stdio.h>

static bool takes(vt_dev *dev, const vt_gemm_desc *d)
{
    (void)dev;
    return d->a == VT_F32 && d->out == VT_F32 &&
           (d->type == VT_F32 || d->type == VT_I8);
}

static const char *layout(vt_dev *dev, const vt_gemm_desc *d)
{
    return d->type == VT_I8 ? vt_panels_layout(dev, d) : "kn.f32";
}

static size_t packed_bytes(vt_dev *dev, const vt_gemm_desc *d)
{
    return d->type == VT_I8 ? vt_panels_bytes(dev, d)
                            : (size_t)d->N * (size_t)d->K * sizeof(float);
}

static vitcl_status pack(vt_queue *q, const vt_gemm_desc *d, vt_buf *packed,
                         vt_buf *b)
{
    return d->type == VT_I8 ? vt_panels_pack(q, d, packed, b)
                            : vt_gemm_reorder(q, d, packed, b, true);
}

static size_t temp_bytes(vt_dev *dev, const vt_gemm_desc *d)
{
    return d->type == VT_I8 ? vt_panels_temp_bytes(dev, d) : 0;
}

static vitcl_status bind(vt_gemm *g)
{
    const vt_gemm_desc *d = &g->d;
    const int rows = d->batch * d->M;
    const vt_rows_shape panel = vt_panels_shape(g->dev, d);
    unsigned short size[VT_PARAMS_NUMBERS];
    int t;
    const bool int8 = d->type == VT_I8, kn = d->trans_b || d->b_packed;
    const int v[] = {rows,  d->N, d->K, d->lda, d->b_packed ? d->N : d->ldb,
                     d->ldc};
    size_t global[3] = {1, 1, 1};
    const size_t local[3] = {16, 16, 1};
    vt_buf *b = g->bufs.b;
    unsigned n = 0;
    char epilogue[96], defines[256];
    vitcl_status st;

    vt_params_values(size, g->dev, VT_PARAMS_TILE, VT_F32);
    t = size[0];
    /* small products get small tiles, to have enough of them */
    if ((long)rows * d->N < 4L * t * t || vt_dev_group_max(g->dev) < 256)
        t = 16;
    global[0] = (size_t)vt_divide_up(d->N, t) * 16;
    global[1] = (size_t)vt_divide_up(rows, t) * 16;
    if (int8)
        VT_TRY(vt_panels_bind(&b, g, &n));
    snprintf(defines, sizeof defines,
             "-DTM=%d -DTN=%d -DTK=%d -DPANEL=%d%s%s %s", t, t, size[1],
             int8 ? panel.lanes * panel.vectors : 0,
             d->trans_a ? " -DTRANS_A" : "", kn ? " -DTRANS_B" : "",
             vt_gemm_defines(epilogue, d));
    VT_TRY(vt_kernel_new(&g->kernel[n], g->dev, "gemm_tile", "gemm_tile",
                         defines));
    VT_TRY(vt_gemm_operands(g->kernel[n], g, g->bufs.a, b, v, VT_COUNT(v)));
    vt_kernel_size(g->kernel[n], 2, global, local);
    snprintf(g->note, sizeof g->note, "native tile %dx%d %s%s", t, t,
             vt_dtype_name(d->type),
             vt_params_for(g->dev, VT_PARAMS_TILE, VT_F32) ? ", tuned" : "");
done:
    return st;
}

const vt_provider vt_gemm_tile = {.name = "native",
                                  .form = "tile",
                                  .class = VT_CLASS_GPU,
                                  .takes = takes,
                                  .layout = layout,
                                  .packed_bytes = packed_bytes,
                                  .pack = pack,
                                  .temp_bytes = temp_bytes,
                                  .bind = bind,
                                  .free = vt_panels_free};
