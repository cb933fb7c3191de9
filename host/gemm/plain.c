/*
 * plain.c - the simple multiplication, for every device and size.
 *
 * Half types are stored as such, but multiplied and added in f32: this saves
 * memory, not time. There is no int8.
 */
#include "gemm/provider.h"

#include "base/memory.h"

#include <stdio.h>

static bool takes(vt_dev *dev, const vt_gemm_desc *d)
{
    (void)dev;
    return d->type != VT_I8;
}

static const char *layout(vt_dev *dev, const vt_gemm_desc *d)
{
    (void)dev;
    return d->type == VT_F16    ? "nk.f16"
           : d->type == VT_BF16 ? "nk.bf16"
                                : "nk.f32";
}

static size_t packed_bytes(vt_dev *dev, const vt_gemm_desc *d)
{
    (void)dev;
    return (size_t)d->K * (size_t)d->N * vt_dtype_size(d->type);
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

static vitcl_status arguments(vt_gemm *g, vt_kernel *k, int ldb)
{
    vt_buf *const bufs[] = {g->bufs.c,    g->bufs.a,     g->bufs.b,
                            g->bufs.bias, g->bufs.scale, g->bufs.residual};
    const int ints[] = {
        g->d.batch * g->d.M, g->d.N, g->d.K, g->d.lda, ldb, g->d.ldc};
    vitcl_status st;

    for (unsigned i = 0; i < VT_COUNT(bufs); i++)
        VT_TRY(vt_kernel_buf(k, i, bufs[i]));
    for (unsigned i = 0; i < VT_COUNT(ints); i++)
        VT_TRY(vt_kernel_int(k, (unsigned)VT_COUNT(bufs) + i, ints[i]));
done:
    return st;
}

static vitcl_status bind(vt_gemm *g)
{
    const vt_gemm_desc *d = &g->d;
    const bool trans_b = d->trans_b && !d->b_packed;
    const char *name = kernel_for(d);
    const int v = vt_dev_vector(g->dev), rows = d->batch * d->M;
    const int t = vt_dev_group_max(g->dev) >= 256  ? 16
                  : vt_dev_group_max(g->dev) >= 64 ? 8
                                                   : 1;
    char epilogue[96], defines[256];
    vitcl_status st;

    snprintf(defines, sizeof defines,
             "-DV=%d -DT=%d -DTRANS_A=%d -DTRANS_B=%d -DAT=%s -DBT=%s -DCT=%s "
             "%s",
             v, t, d->trans_a, trans_b, vt_dtype_name(d->a),
             vt_dtype_name(d->b_packed ? d->type : VT_F32),
             vt_dtype_name(d->out), vt_gemm_defines(epilogue, d));
    VT_TRY(vt_kernel_new(&g->kernel[0], g->dev, "gemm_plain", name, defines));
    VT_TRY(arguments(g, g->kernel[0], d->b_packed ? d->K : d->ldb));
    if (name[6] == 't') {
        const size_t tiles = (size_t)t;
        vt_kernel_size(g->kernel[0], 2,
                       (size_t[3]){tiles * blocks(d->N, 4 * t),
                                   tiles * blocks(rows, 4 * t)},
                       (size_t[3]){tiles, tiles});
    } else {
        const bool dot = name[6] == 'd';
        vt_kernel_size(g->kernel[0], 2,
                       (size_t[3]){blocks(rows, dot ? 3 : 6),
                                   blocks(d->N, dot ? 4 : 2 * v)},
                       (size_t[3]){1, 1});
    }
    snprintf(g->note, sizeof g->note, "plain %s", name + 6);
done:
    return st;
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
    VT_TRY(vt_kernel_buf(pack, 0, packed));
    VT_TRY(vt_kernel_buf(pack, 1, b));
    VT_TRY(vt_kernel_int(pack, 2, d->N));
    VT_TRY(vt_kernel_int(pack, 3, d->K));
    VT_TRY(vt_kernel_int(pack, 4, d->ldb));
    vt_kernel_size(pack, 2, (size_t[3]){kn ? n : k, kn ? k : n}, NULL);
    VT_TRY(vt_kernel_launch(q, pack));
done:
    vt_kernel_free(pack);
    return st;
}

static vitcl_status pack(vt_queue *q, const vt_gemm_desc *d, vt_buf *packed,
                         vt_buf *b)
{
    return vt_gemm_reorder(q, d, packed, b, false);
}

const vt_provider vt_gemm_plain = {.name = "plain",
                                   .takes = takes,
                                   .layout = layout,
                                   .packed_bytes = packed_bytes,
                                   .pack = pack,
                                   .bind = bind};
