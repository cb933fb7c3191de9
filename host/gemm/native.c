/*
 * native.c - our own matrix multiplication, for gemm.c's providers[].
 *
 * CPU class: cl/gemm_rows.cl. Constant weights are packed once into panels. A B
 * that is not packed is packed into `temp` at each launch, and a transposed A
 * is copied there with its axes swapped, so that one kernel does all products;
 * if both are transposed, outer.c has a kernel that reads them directly. GPU
 * class: cl/gemm_tile.cl, which reads any layout; packing only transposes
 * weights to [K,N].
 *
 * Surprising: the division of rows into blocks and chunks depends on M and on
 * the number of cores, but the bits of the result do not: each element is one
 * chain of fma over k, wherever it is computed (outer.c: one chain per slice of
 * k).
 */
#include "base/memory.h"
#include "gemm/provider.h"
#include "gemm/rows.h"

#include <stdio.h>

typedef struct parts { /* g->state: views of temp */
    vt_buf *b, *a;
} parts;

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

vt_rows vt_rows_divide(const vt_dev *dev, vt_rows_shape t, int rows, int n,
                       int terms)
{
    vt_rows s = {.rows = rows, .nw = t.vectors * t.lanes};

    s.panels = vt_divide_up(n, s.nw);
    s.blocks = vt_divide_up(rows, t.block);
    s.ra = vt_divide_up(rows, s.blocks);
    s.rb = s.ra > 1 ? s.ra - 1 : 1;
    s.big = s.ra > 1 ? rows - s.blocks * s.rb : s.blocks;
    if (s.big == s.blocks)
        s.rb = s.ra;
    divide_work(&s, t, t.groups * (int)vt_dev_info(dev)->compute_units);
    s.most = vt_divide_up(terms, vt_divide_up(terms, t.terms));
    s.saved = terms > s.most ? t.panels * vt_divide_up(t.rows, s.ra) : 1;
    return s;
}

static vt_rows_shape shape_for(const vt_dev *dev, const vt_gemm_desc *d)
{
    return vt_params_rows(dev, VT_PARAMS_ROWS, d->type, vt_dev_vector(dev));
}

/* GPUs read f32 unpacked, and int8 in the CPU's panels. */
static bool panels_for(const vt_gemm_desc *d)
{
    return d->device_class == VT_CLASS_CPU || d->type == VT_I8;
}

static bool takes(vt_dev *dev, const vt_gemm_desc *d)
{
    (void)dev;
    if (d->a != VT_F32 || d->out != VT_F32)
        return false;
    if (d->device_class == VT_CLASS_GPU)
        return d->type == VT_F32 || d->type == VT_I8;
    return true;
}

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

static const char *layout(vt_dev *dev, const vt_gemm_desc *d)
{
    const vt_rows_shape t = shape_for(dev, d);
    size_t i = 0;

    if (vt_dot_for(dev, d))
        return vt_dot_layout(dev, d);
    if (!panels_for(d))
        return "kn.f32";
    while (panels[i].columns != t.lanes * t.vectors)
        i++;
    return panels[i].word[vt_type_number(d->type)];
}

static size_t packed_bytes(vt_dev *dev, const vt_gemm_desc *d)
{
    const vt_rows_shape t = shape_for(dev, d);
    const int nw = t.lanes * t.vectors;
    const size_t columns = (size_t)((d->N + nw - 1) / nw) * (size_t)nw;

    if (vt_dot_for(dev, d))
        return vt_dot_packed_bytes(dev, d);
    if (!panels_for(d))
        return (size_t)d->N * (size_t)d->K * sizeof(float);
    return columns * (size_t)d->K * vt_dtype_size(d->type) +
           (d->type == VT_I8 ? columns * sizeof(float) : 0); /* plus scales */
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

static size_t part_bytes(vt_dev *dev, const vt_gemm_desc *d)
{
    const size_t align = vt_dev_align(dev);

    return d->b_packed ? 0 : (packed_bytes(dev, d) + align - 1) / align * align;
}

static size_t temp_bytes(vt_dev *dev, const vt_gemm_desc *d)
{
    if (vt_dot_for(dev, d))
        return vt_dot_temp_bytes(dev, d);
    if (vt_outer_for(dev, d))
        return vt_outer_temp_bytes(dev, d);
    if (d->device_class == VT_CLASS_GPU)
        return panels_for(d) ? part_bytes(dev, d) : 0;
    return part_bytes(dev, d) + transposed_bytes(d);
}

/* Makes the kernels that pack b into `packed`: k[*n] and following. */
vitcl_status vt_rows_pack(vt_kernel **k, unsigned *n, vt_dev *dev,
                          const vt_gemm_desc *d, vt_buf *packed, vt_buf *b)
{
    const vt_rows_shape t = shape_for(dev, d);
    const int nw = t.lanes * t.vectors;
    const size_t across = (size_t)vt_divide_up(d->N, nw);
    const size_t global[3] = {(size_t)vt_divide_up(d->K, 64), across, 1},
                 columns[3] = {across * (size_t)nw, 1, 1}, one[3] = {1, 1, 1};
    const bool scales = d->type == VT_I8;
    char defines[96];
    vitcl_status st = VITCL_OK;

    snprintf(defines, sizeof defines, "-DV=%d -DNV=%d -DTYPE=%d%s", t.lanes,
             t.vectors, vt_type_number(d->type),
             d->trans_b ? " -DTRANS_B" : "");
    for (int pass = scales ? 0 : 1; pass < 2; pass++, (*n)++) {
        VT_TRY(vt_kernel_new(&k[*n], dev, "gemm_rows",
                             pass ? "gemm_rows_pack" : "gemm_rows_scale",
                             defines));
        VT_TRY(vt_kernel_buf(k[*n], 0, packed));
        VT_TRY(vt_kernel_buf(k[*n], 1, b));
        VT_TRY(vt_kernel_int(k[*n], 2, d->N));
        VT_TRY(vt_kernel_int(k[*n], 3, d->K));
        VT_TRY(vt_kernel_int(k[*n], 4, d->ldb));
        vt_kernel_size(k[*n], pass ? 2 : 1, pass ? global : columns, one);
    }
done:
    return st;
}

static vitcl_status pack(vt_queue *q, const vt_gemm_desc *d, vt_buf *packed,
                         vt_buf *b)
{
    vt_kernel *k[2] = {NULL, NULL};
    unsigned n = 0;
    vitcl_status st;

    if (vt_dot_for(vt_queue_dev(q), d))
        return vt_dot_pack(q, d, packed, b);
    if (!panels_for(d))
        return vt_gemm_reorder(q, d, packed, b, true);
    VT_TRY(vt_rows_pack(k, &n, vt_queue_dev(q), d, packed, b));
    for (unsigned i = 0; i < n; i++)
        VT_TRY(vt_kernel_launch(q, k[i]));
done:
    vt_kernel_free(k[0]);
    vt_kernel_free(k[1]);
    return st;
}

static vitcl_status transpose_kernel(vt_kernel **out, vt_gemm *g,
                                     vt_buf *transposed)
{
    const vt_gemm_desc *d = &g->d;
    const int rows = d->batch * d->M;
    const size_t global[3] = {(size_t)(rows + 15) / 16,
                              (size_t)(d->K + 63) / 64, 1};
    const size_t one[3] = {1, 1, 1};
    char defines[96];
    vitcl_status st;

    snprintf(defines, sizeof defines, "-DV=%d -DNV=1 -DTYPE=0",
             vt_dev_vector(g->dev));
    VT_TRY(vt_kernel_new(out, g->dev, "gemm_rows", "gemm_rows_transpose",
                         defines));
    VT_TRY(vt_kernel_buf(*out, 0, transposed));
    VT_TRY(vt_kernel_buf(*out, 1, g->bufs.a));
    VT_TRY(vt_kernel_int(*out, 2, rows));
    VT_TRY(vt_kernel_int(*out, 3, d->K));
    VT_TRY(vt_kernel_int(*out, 4, d->lda));
    VT_TRY(vt_kernel_int(*out, 5, transposed_stride(d)));
    vt_kernel_size(*out, 2, global, one);
done:
    return st;
}

/* sets the arguments that start the kernels of both classes */
static vitcl_status set_buffers(vt_kernel *k, const vt_gemm_bufs *bufs,
                                vt_buf *a, vt_buf *b)
{
    vt_buf *const all[] = {bufs->c,    a,           b,
                           bufs->bias, bufs->scale, bufs->residual};
    vitcl_status st = VITCL_OK;

    for (unsigned i = 0; i < VT_COUNT(all); i++)
        VT_TRY(vt_kernel_buf(k, i, all[i]));
done:
    return st;
}

static vitcl_status set_ints(vt_kernel *k, const int *v, unsigned n)
{
    vitcl_status st = VITCL_OK;

    for (unsigned i = 0; i < n; i++)
        VT_TRY(vt_kernel_int(k, 6 + i, v[i]));
done:
    return st;
}

/* If B is not packed: packs it into temp at each launch. */
static vitcl_status pack_first(vt_gemm *g, unsigned *n, vt_buf **b)
{
    const vt_gemm_desc *d = &g->d;
    parts *p = NULL;
    vitcl_status st;

    VT_TRY(VT_NEW(&p, 1));
    g->state = p;
    if (!d->b_packed) {
        VT_TRY(vt_buf_view(&p->b, g->bufs.temp, 0, packed_bytes(g->dev, d)));
        VT_TRY(vt_rows_pack(g->kernel, n, g->dev, d, p->b, *b));
        *b = p->b;
    }
done:
    return st;
}

vitcl_status vt_rows_bind(vt_gemm *g)
{
    const vt_gemm_desc *d = &g->d;
    const vt_rows_shape t = shape_for(g->dev, d);
    const vt_rows s = vt_rows_divide(g->dev, t, d->batch * d->M, d->N, d->K);
    const int groups = vt_divide_up(s.panels, s.group);
    /* the larger of A and B is read once */
    const int across = s.rows > d->N ? groups : 0;
    const int v[] = {
        d->N,     d->K,     d->trans_a ? transposed_stride(d) : d->lda,
        d->ldc,   s.blocks, s.big,
        s.chunks, s.group,  s.most,
        across};
    vt_buf *a = g->bufs.a, *b = g->bufs.b;
    parts *p = NULL;
    unsigned n = 0;
    char epilogue[96], defines[256];
    vitcl_status st;

    VT_TRY(pack_first(g, &n, &b));
    p = g->state;
    if (d->trans_a) {
        VT_TRY(vt_buf_view(&p->a, g->bufs.temp, part_bytes(g->dev, d),
                           transposed_bytes(d)));
        VT_TRY(transpose_kernel(&g->kernel[n++], g, p->a));
        a = p->a;
    }
    snprintf(defines, sizeof defines,
             "-DV=%d -DNV=%d -DRA=%d -DRB=%d -DSAVED=%d -DTYPE=%d %s", t.lanes,
             t.vectors, s.ra, s.rb, s.saved, vt_type_number(d->type),
             vt_gemm_defines(epilogue, d));
    VT_TRY(vt_kernel_new(&g->kernel[n], g->dev, "gemm_rows", "gemm_rows",
                         defines));
    VT_TRY(set_buffers(g->kernel[n], &g->bufs, a, b));
    VT_TRY(set_ints(g->kernel[n], v, VT_COUNT(v)));
    VT_TRY(vt_kernel_tiles(g->kernel[n], 16, groups * s.chunks));
    snprintf(g->note, sizeof g->note, "native rows %dx%d %s%s", s.ra, s.nw,
             vt_dtype_name(d->type),
             vt_params_for(g->dev, VT_PARAMS_ROWS, d->type) ? ", tuned" : "");
done:
    return st;
}

static vitcl_status bind_tile(vt_gemm *g)
{
    const vt_gemm_desc *d = &g->d;
    const int rows = d->batch * d->M;
    const vt_rows_shape panel = shape_for(g->dev, d);
    unsigned short size[VT_PARAMS_NUMBERS];
    int t;
    const bool int8 = panels_for(d), kn = d->trans_b || d->b_packed;
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
        VT_TRY(pack_first(g, &n, &b));
    snprintf(defines, sizeof defines,
             "-DTM=%d -DTN=%d -DTK=%d -DPANEL=%d%s%s %s", t, t, size[1],
             int8 ? panel.lanes * panel.vectors : 0,
             d->trans_a ? " -DTRANS_A" : "", kn ? " -DTRANS_B" : "",
             vt_gemm_defines(epilogue, d));
    VT_TRY(vt_kernel_new(&g->kernel[n], g->dev, "gemm_tile", "gemm_tile",
                         defines));
    VT_TRY(set_buffers(g->kernel[n], &g->bufs, g->bufs.a, b));
    VT_TRY(set_ints(g->kernel[n], v, VT_COUNT(v)));
    vt_kernel_size(g->kernel[n], 2, global, local);
    snprintf(g->note, sizeof g->note, "native tile %dx%d %s%s", t, t,
             vt_dtype_name(d->type),
             vt_params_for(g->dev, VT_PARAMS_TILE, VT_F32) ? ", tuned" : "");
done:
    return st;
}

static bool sums(vt_dev *dev, const vt_gemm_desc *d)
{
    return d->accumulate && !vt_dot_for(dev, d) && vt_outer_for(dev, d);
}

static vitcl_status bind(vt_gemm *g)
{
    if (vt_dot_for(g->dev, &g->d))
        return vt_dot_bind(g);
    if (vt_outer_for(g->dev, &g->d))
        return vt_outer_bind(g);
    return g->d.device_class == VT_CLASS_CPU ? vt_rows_bind(g) : bind_tile(g);
}

void vt_rows_free(vt_gemm *g)
{
    parts *p = g->state;

    if (p) {
        vt_buf_free(p->a);
        vt_buf_free(p->b);
        free(p);
    }
}

const vt_provider vt_gemm_native = {.name = "native",
                                    .takes = takes,
                                    .layout = layout,
                                    .packed_bytes = packed_bytes,
                                    .pack = pack,
                                    .sums = sums,
                                    .temp_bytes = temp_bytes,
                                    .bind = bind,
                                    .free = vt_rows_free};
