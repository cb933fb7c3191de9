/*
 * mma.c - the native provider's multiplication on the matrix units of a GPU, in
 * f16, bf16 and int8: cl/gemm_mma.cl.
 *
 * Weights are packed in the order of the kernel's strips, padded, so that only
 * A has an end that needs checks. In int8 another kernel rounds A before, to
 * steps of each row's largest magnitude.
 */
#include "gemm/mma.h"
#include "base/memory.h"
#include "gemm/common.h"

#include <stdio.h>

enum { COLUMNS = 128, STRIP = 64 /* bytes of k */ };

static int columns(const vt_gemm_desc *d)
{
    return vt_divide_up(d->N, COLUMNS) * COLUMNS;
}

static int strips(const vt_gemm_desc *d)
{
    return vt_divide_up(d->K, STRIP / (int)vt_dtype_size(d->type));
}

/* The bytes of so many rows in strips, with their steps behind. */
static size_t bytes(const vt_gemm_desc *d, int rows)
{
    return (size_t)rows *
           ((size_t)strips(d) * STRIP + (d->type == VT_I8 ? sizeof(float) : 0));
}

static int items(const vt_mma_kind *k, vt_mma_shape s)
{
    return s.wm * s.wn * k->lanes;
}

/* The largest tiles of which the device's processors get one each. The bits do
 * not depend on it. */
static vt_mma_shape shape(const vt_dev *dev, vt_mma_choice c,
                          const vt_gemm_desc *d)
{
    const vt_mma_kind *k = &vt_mma_kinds[c.kind];
    const int tm = k->large.wm * k->large.fm * k->rows,
              tn = k->large.wn * k->large.fn * k->columns;
    const long tiles =
        (long)vt_divide_up(d->batch * d->M, tm) * vt_divide_up(d->N, tn);

    return c.emulated                                      ? k->tiny
           : tiles < (long)vt_dev_info(dev)->compute_units ? k->small
                                                           : k->large;
}

static size_t local_bytes(const vt_mma_kind *k, const vt_gemm_desc *d)
{
    const size_t m = (size_t)(k->large.wm * k->large.fm * k->rows),
                 n = (size_t)(k->large.wn * k->large.fn * k->columns);

    /* three stages instead of two */
    return STRIP * (k == &vt_mma_kinds[1]
                        ? (d->type == VT_I8 ? 3 : 2) * m + 3 * n
                        : 2 * (m + n));
}

static bool takes(vt_dev *dev, const vt_gemm_desc *d)
{
    vt_mma_choice c;
    const vt_mma_kind *k;

    if ((d->type != VT_F16 && d->type != VT_BF16 && d->type != VT_I8) ||
        !d->b_packed || d->trans_a)
        return false;
    c = vt_mma_ask(dev, d->type);
    k = &vt_mma_kinds[c.kind];
    if (c.kind == VT_MMA_NONE || c.emulated)
        return c.emulated;
    return vt_dev_group_max(dev) >= (size_t)items(k, k->large) &&
           vt_dev_info(dev)->local_bytes >= local_bytes(k, d);
}

static const char *layout(vt_dev *dev, const vt_gemm_desc *d)
{
    (void)dev;
    return d->type == VT_I8    ? "strips-i8"
           : d->type == VT_F16 ? "strips-f16"
                               : "strips-bf16";
}

static size_t packed_bytes(vt_dev *dev, const vt_gemm_desc *d)
{
    (void)dev;
    return bytes(d, columns(d));
}

static size_t temp_bytes(vt_dev *dev, const vt_gemm_desc *d)
{
    (void)dev;
    return d->type == VT_I8 ? bytes(d, d->batch * d->M) : 0;
}

static vitcl_status pack(vt_queue *q, const vt_gemm_desc *d, vt_buf *packed,
                         vt_buf *b)
{
    const size_t across = (size_t)columns(d);
    vt_kernel *k = NULL;
    char defines[64];
    vitcl_status st = VITCL_OK;

    snprintf(defines, sizeof defines, "-DTYPE=%d%s", vt_type_number(d->type),
             d->trans_b ? " -DTRANS_B" : "");
    for (int pass = d->type == VT_I8 ? 0 : 1; pass < 2; pass++) {
        VT_TRY(vt_kernel_new(&k, vt_queue_dev(q), "gemm_mma_pack",
                             pass ? "gemm_mma_pack" : "gemm_mma_scale",
                             defines));
        VT_TRY(vt_gemm_arguments(k, (vt_buf *[]){packed, b}, 2,
                                 (int[]){d->N, d->K, d->ldb, columns(d)}, 4));
        if (pass)
            vt_kernel_size(k, 2, (size_t[3]){4 * (size_t)strips(d), across},
                           (size_t[3]){0});
        else
            vt_kernel_size(k, 1, (size_t[3]){across}, (size_t[3]){0});
        VT_TRY(vt_kernel_launch(q, k));
        vt_kernel_free(k);
        k = NULL;
    }
done:
    vt_kernel_free(k);
    return st;
}

/* The kernel that rounds A to int8, in temp. */
static vitcl_status round_rows(vt_gemm *g)
{
    const vt_gemm_desc *d = &g->d;
    const int rows = d->batch * d->M;
    char defines[64];
    vitcl_status st;

    snprintf(defines, sizeof defines, "-DTYPE=3 -DAT=%s", vt_dtype_name(d->a));
    VT_TRY(vt_kernel_new(&g->kernel[0], g->dev, "gemm_mma_pack",
                         "gemm_mma_rows", defines));
    VT_TRY(vt_gemm_arguments(g->kernel[0],
                             (vt_buf *[]){g->bufs.temp, g->bufs.a}, 2,
                             (int[]){rows, d->K, d->lda}, 3));
    vt_kernel_size(g->kernel[0], 1, (size_t[3]){64 * (size_t)rows},
                   (size_t[3]){64});
done:
    return st;
}

static vitcl_status bind(vt_gemm *g)
{
    const vt_gemm_desc *d = &g->d;
    const int rows = d->batch * d->M;
    const bool int8 = d->type == VT_I8;
    const vt_mma_choice c = vt_mma_ask(g->dev, d->type);
    const vt_mma_kind *k = &vt_mma_kinds[c.kind];
    const vt_mma_shape s = shape(g->dev, c, d);
    const int tm = s.wm * s.fm * k->rows, tn = s.wn * s.fn * k->columns;
    const size_t wi = (size_t)items(k, s);
    const int v[] = {rows, d->N, d->K, d->lda, d->ldc, columns(d)};
    const bool same = d->a == d->type;
    const bool wide = !int8 && (same || d->a == VT_F32) &&
                      d->lda % (same ? 8 : 4) == 0 &&
                      vt_buf_aligned(g->bufs.a, 16);
    vt_kernel **kernel = &g->kernel[int8];
    char epilogue[96], defines[256];
    vitcl_status st;

    if (int8)
        VT_TRY(round_rows(g));
    snprintf(defines, sizeof defines,
             "-DKIND=%d%s -DTYPE=%d -DWM=%d -DWN=%d -DFM=%d -DFN=%d -DAT=%s "
             "-DCT=%s%s%s %s",
             c.kind, c.emulated ? " -DEMULATE" : "", vt_type_number(d->type),
             s.wm, s.wn, s.fm, s.fn, vt_dtype_name(d->a), vt_dtype_name(d->out),
             same ? " -DSAME_A" : "", wide ? " -DWIDE_A" : "",
             vt_gemm_defines(epilogue, d));
    VT_TRY(vt_kernel_new(kernel, g->dev, "gemm_mma", "gemm_mma", defines));
    VT_TRY(vt_gemm_operands(*kernel, g, int8 ? g->bufs.temp : g->bufs.a,
                            g->bufs.b, v, VT_COUNT(v)));
    vt_kernel_size(*kernel, 2,
                   (size_t[3]){(size_t)vt_divide_up(rows, tm) * wi,
                               (size_t)vt_divide_up(d->N, tn)},
                   (size_t[3]){wi, 1});
    snprintf(g->note, sizeof g->note, "native %s %dx%d %s%s", k->name, tm, tn,
             vt_dtype_name(d->type), c.emulated ? ", emulated" : "");
done:
    return st;
}

const vt_provider vt_gemm_mma = {.name = "native",
                                 .form = "mma",
                                 .class = VT_CLASS_GPU,
                                 .takes = takes,
                                 .layout = layout,
                                 .packed_bytes = packed_bytes,
                                 .pack = pack,
                                 .temp_bytes = temp_bytes,
                                 .bind = bind};
