/*
 * plain.c - the simple multiplication, for every device and size.
 *
 * Half types are stored as such, but multiplied and added in f32: this saves
 * memory, not time. There is no int8.
 */
#include "gemm/common.h"

#include "base/memory.h"

#include <stdio.h>

static bool could(vt_dev *dev, const vt_gemm_desc *d)
{
    (void)dev;
    return d->type != VT_I8;
}

static const char *layout(vt_dev *dev, const vt_told *t)
{
    (void)dev;
    return t->d.type == VT_F16    ? "nk.f16"
           : t->d.type == VT_BF16 ? "nk.bf16"
                                  : "nk.f32";
}

static size_t packed_bytes(vt_dev *dev, const vt_told *t)
{
    (void)dev;
    return (size_t)t->d.K * (size_t)t->d.N * vt_dtype_size(t->d.type);
}

/* dot needs B's rows along k, axpy along n. A transposed with B not transposed,
 * which no layer uses, is left to the generic kernel. */
static const char *kernel_for(const vt_gemm_desc *d)
{
    if (d->device_class == VT_CLASS_CPU && d->trans_b && !d->b_packed)
        return "gemm__axpy";
    if (d->device_class == VT_CLASS_CPU && !d->trans_a)
        return "gemm__dot";
    return "gemm__tile";
}

static size_t blocks(int n, int size)
{
    return ((size_t)n + (size_t)size - 1) / (size_t)size;
}

static vitcl_status bind(vt_gemm *g)
{
    const vt_gemm_desc *d = &g->t.d;
    const bool trans_b = d->trans_b && !d->b_packed;
    const char *name = kernel_for(d);
    const int lanes = vt_dev_vector(g->dev), rows = d->batch * d->M;
    const int v[] = {rows,  d->N, d->K, d->lda, d->b_packed ? d->K : d->ldb,
                     d->ldc};
    const int t = vt_dev_group_max(g->dev) >= 256  ? 16
                  : vt_dev_group_max(g->dev) >= 64 ? 8
                                                   : 1;
    char epilogue[96], defines[256];

    snprintf(defines, sizeof defines,
             "-DV=%d -DT=%d -DTRANS_A=%d -DTRANS_B=%d -DAT=%s -DBT=%s -DCT=%s "
             "%s",
             lanes, t, d->trans_a, trans_b, vt_dtype_name(d->a),
             vt_dtype_name(d->b_packed ? d->type : VT_F32),
             vt_dtype_name(d->out), vt_gemm_defines(epilogue, d));
    VT_RET(vt_kernel_new(&g->kernel[0], g->dev, "gemm_plain", name, defines));
    VT_RET(vt_gemm_operands(g->kernel[0], g, g->bufs.a, g->bufs.b, v, 6));
    if (name[6] == 't') {
        const size_t tiles = (size_t)t;
        vt_kernel_size(g->kernel[0], 2,
                       (size_t[3]){tiles * blocks(rows, 4 * t),
                                   tiles * blocks(d->N, 4 * t)},
                       (size_t[3]){tiles, tiles});
        vt_kernel_work(g->kernel[0], (double)rows * d->N * d->K);
    } else {
        const bool dot = name[6] == 'd';
        vt_kernel_size(g->kernel[0], 2,
                       (size_t[3]){blocks(rows, dot ? 3 : 6),
                                   blocks(d->N, dot ? 4 : 2 * lanes)},
                       (size_t[3]){1, 1});
    }
    snprintf(g->note, sizeof g->note, "plain %s", name + 6);
    return VITCL_OK;
}

static vitcl_status pack(vt_queue *q, const vt_told *t, vt_buf *packed,
                         vt_buf *b)
{
    return vt_gemm_reorder(q, &t->d, packed, b, false);
}

const vt_form vt_form_plain = {.provider = "plain",
                               .name = "plain",
                               .plain = true,
                               .could = could,
                               .layout = layout,
                               .packed_bytes = packed_bytes,
                               .pack = pack,
                               .bind = bind};
