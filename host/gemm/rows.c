/*
 * rows.c - the native provider's multiplication on a CPU: cl/gemm_rows.cl.
 *
 * Constant weights are packed once into panels. A B that is not packed is
 * packed into `temp` at each launch, and a transposed A is copied there with
 * its axes swapped, so that one kernel does all products; if both are
 * transposed, outer.c has a kernel that reads them directly.
 */
#include "base/memory.h"
#include "gemm/common.h"
#include "gemm/panels.h"
#include "ocl/precision.h"

#include <stdio.h>

static bool could(vt_dev *dev, const vt_gemm_desc *d)
{
    (void)dev;
    return d->a == VT_F32 && d->out == VT_F32 && d->res == VT_F32;
}

/* Stride of a transposed A: not a multiple of 4096 bytes, else the rows of a
 * block would map to the same sets of the L1 cache. */
static int transposed_stride(const vt_gemm_desc *d)
{
    return d->K % 1024 == 0 ? d->K + 16 : d->K;
}

static size_t transposed_bytes(const vt_gemm_desc *d)
{
    if (!d->trans_a)
        return 0;
    return (size_t)d->batch * (size_t)d->M * (size_t)transposed_stride(d) *
           sizeof(float);
}

static size_t temp_bytes(vt_dev *dev, const vt_told *t)
{
    return vt_panels_temp_bytes(dev, t) + transposed_bytes(&t->d);
}

static vitcl_status transpose_kernel(vt_kernel **out, vt_gemm *g,
                                     vt_buf *transposed)
{
    const vt_gemm_desc *d = &g->t.d;
    const int rows = d->batch * d->M;
    const size_t global[3] = {(size_t)(rows + 15) / 16,
                              (size_t)(d->K + 63) / 64, 1};
    char defines[96];

    snprintf(defines, sizeof defines, "-DV=%d -DNV=1 -DTYPE=0",
             vt_dev_vector(g->dev));
    VT_RET(vt_kernel_new(out, g->dev, "gemm_rows", "gemm_rows_transpose",
                         defines));
    VT_RET(vt_gemm_arguments(*out, (vt_buf *[]){transposed, g->bufs.a}, 2,
                             (int[]){rows, d->K, d->lda, transposed_stride(d)},
                             4));
    vt_kernel_size(*out, 2, global, (size_t[3]){1, 1, 1});
    return VITCL_OK;
}

/* Rows of A that map to the same sets of the L1 cache are copied by each tile,
 * so many terms at a time, and so many rows at most. Where the sets have room
 * for a block's rows and all terms are multiplied in one go, a copy would cost
 * more than it saves. */
#define HELD_TERMS 512
#define MOST_HELD 120
#define L1_WAYS 8

static bool held(const vt_told *t)
{
    const vt_gemm_desc *d = &t->d;

    return !d->trans_a && d->lda % 1024 == 0 &&
           (t->rows.block > L1_WAYS || d->K > t->rows.terms) &&
           vt_item_stack() >= MOST_HELD * (HELD_TERMS + 16) * sizeof(float);
}

static vt_rows_shape shape_of(const vt_told *t)
{
    vt_rows_shape s = t->rows;

    if (held(t)) {
        s.terms = VT_MIN(s.terms, HELD_TERMS);
        s.rows = VT_MIN(s.rows, MOST_HELD);
    }
    return s;
}

/* The epilogue, where one program has all of these forms; -1: another one,
 * which has a program of its own. */
static int form_of(const vt_gemm_desc *d)
{
    if (d->accumulate || d->scale || d->times)
        return -1;
    if (!d->bias)
        return d->act != VT_ACT_NONE || d->residual ? -1 : 3;
    if (d->act == VT_ACT_GELU)
        return d->residual ? -1 : 2;
    return d->act != VT_ACT_NONE ? -1 : d->residual ? 1 : 0;
}

static vitcl_status bind(vt_gemm *g)
{
    const vt_gemm_desc *d = &g->t.d;
    const vt_rows_shape t = shape_of(&g->t);
    const vt_rows s = vt_rows_divide(g->dev, t, d, d->K);
    const int groups = vt_divide_up(s.panels, s.group);
    /* the larger of A and B is read once */
    const int across = s.rows > d->N ? groups : 0;
    const int form = form_of(d);
    const int v[] = {
        d->N,    d->K,     d->trans_a ? transposed_stride(d) : d->lda,
        d->ldc,  s.blocks, s.big,
        s.tall,  s.low,    s.chunks,
        s.group, s.most,   across,
        form};
    vt_buf *a = g->bufs.a, *b = NULL;
    vt_panels *p = NULL;
    unsigned n = 0;
    char epilogue[96], copies[24] = "", defines[288];

    if (held(&g->t))
        snprintf(copies, sizeof copies, " -DHELD=%d",
                 vt_divide_up(t.rows, s.ra) * s.ra);
    VT_RET(vt_panels_bind(&b, g, &n));
    p = g->state;
    if (d->trans_a) {
        VT_RET(vt_buf_view(&p->a, g->bufs.temp,
                           vt_panels_temp_bytes(g->dev, &g->t),
                           transposed_bytes(d)));
        VT_RET(transpose_kernel(&g->kernel[n++], g, p->a));
        a = p->a;
    }
    snprintf(defines, sizeof defines,
             "-DV=%d -DPER=%d -DWG=1 -DNV=%d -DRA=%d -DRB=%d -DSAVED=%d "
             "-DTYPE=%d%s %s",
             t.lanes, VT_CPU_BLOCK / t.lanes, t.vectors, s.ra, s.rb, s.saved,
             vt_type_number(d->type), copies,
             form < 0 ? vt_gemm_defines(epilogue, d) : "-DCHOICE");
    VT_RET(vt_kernel_new(&g->kernel[n], g->dev, "gemm_rows", "gemm_rows",
                         defines));
    VT_RET(vt_gemm_operands(g->kernel[n], g, a, b, v, VT_COUNT(v)));
    VT_RET(vt_kernel_tiles(g->kernel[n], 6 + (unsigned)VT_COUNT(v),
                           groups * s.chunks));
    snprintf(g->note, sizeof g->note, "native rows %dx%d %s%s", s.tall, s.nw,
             vt_dtype_name(d->type), g->t.tuned ? ", tuned" : "");
    return VITCL_OK;
}

const vt_form vt_form_rows = {.provider = "native",
                              .name = "rows",
                              .class = VT_CLASS_CPU,
                              .streams = true,
                              .could = could,
                              .layout = vt_panels_layout,
                              .packed_bytes = vt_panels_bytes,
                              .pack = vt_panels_pack,
                              .temp_bytes = temp_bytes,
                              .bind = bind,
                              .free = vt_panels_free};
