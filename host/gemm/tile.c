/*
 * tile.c - the native provider's multiplication on a GPU: cl/gemm_tile.cl,
 * which reads any layout in f32; packing only transposes weights to [K,N].
 * int8 is read from the panels of a CPU.
 */
#include "base/memory.h"
#include "gemm/common.h"
#include "gemm/panels.h"

#include <stdio.h>

enum { GROUP = 256 }; /* WI of the kernel */

static bool takes(vt_dev *dev, const vt_gemm_desc *d)
{
    return d->a == VT_F32 && d->out == VT_F32 && d->res == VT_F32 &&
           (d->type == VT_F32 || d->type == VT_I8) &&
           vt_dev_group_max(dev) >= GROUP;
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

/* The side of the tiles: smaller ones where there would be too few for the
 * device. The bits do not depend on it. */
static int side(const vt_dev *dev, int most, int rows, int columns)
{
    const long want = 2L * (long)vt_dev_info(dev)->compute_units;
    int t = most;

    while (t > 32 &&
           (long)vt_divide_up(rows, t) * vt_divide_up(columns, t) < want)
        t = t / 2 / 16 * 16;
    if (t > 16 && (rows <= 16 || columns <= 16))
        t = 16;
    return t;
}

/* May four neighbours be read at once? */
static bool wide(const vt_buf *b, int ld, int across)
{
    return ld % 4 == 0 && across % 4 == 0 && vt_buf_aligned(b, 16);
}

static vitcl_status bind(vt_gemm *g)
{
    const vt_gemm_desc *d = &g->d;
    const int rows = d->batch * d->M;
    const vt_rows_shape panel = vt_panels_shape(g->dev, d);
    unsigned short size[VT_PARAMS_NUMBERS];
    const bool int8 = d->type == VT_I8, kn = d->trans_b || d->b_packed;
    const int ldb = d->b_packed ? d->N : d->ldb;
    const int v[] = {rows, d->N, d->K, d->lda, ldb, d->ldc};
    vt_buf *b = g->bufs.b;
    unsigned n = 0;
    int t;
    char epilogue[96], defines[256];
    vitcl_status st;

    vt_params_values(size, g->dev, VT_PARAMS_TILE, VT_F32);
    t = side(g->dev, size[0], rows, d->N);
    if (int8)
        VT_TRY(vt_panels_bind(&b, g, &n));
    snprintf(defines, sizeof defines,
             "-DTM=%d -DTN=%d -DTK=%d -DPANEL=%d%s%s%s%s %s", t, t, size[1],
             int8 ? panel.lanes * panel.vectors : 0,
             d->trans_a ? " -DTRANS_A" : "", kn ? " -DTRANS_B" : "",
             wide(g->bufs.a, d->lda, d->trans_a ? rows : 4) ? " -DWIDE_A" : "",
             !int8 && wide(b, ldb, kn ? d->N : 4) ? " -DWIDE_B" : "",
             vt_gemm_defines(epilogue, d));
    VT_TRY(vt_kernel_new(&g->kernel[n], g->dev, "gemm_tile", "gemm_tile",
                         defines));
    VT_TRY(vt_gemm_operands(g->kernel[n], g, g->bufs.a, b, v, VT_COUNT(v)));
    vt_kernel_size(g->kernel[n], 2,
                   (size_t[3]){(size_t)vt_divide_up(rows, t) * GROUP,
                               (size_t)vt_divide_up(d->N, t)},
                   (size_t[3]){GROUP, 1});
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
