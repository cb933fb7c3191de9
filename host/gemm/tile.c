/*
 * tile.c - the native provider's multiplication on a GPU: cl/gemm_tile.cl,
 * which reads any layout, in f32 or 16 bits; packing only rounds weights and
 * transposes them to [K,N]. int8 is read from the panels of a CPU.
 *
 * Where a picture gives a device with many processors too few tiles, K is
 * divided into parts (parts.h), which have work-groups of their own in a small
 * batch, and launches one after the other in a large one.
 */
#include "base/memory.h"
#include "gemm/common.h"
#include "gemm/panels.h"
#include "gemm/parts.h"

#include <stdio.h>

enum { GROUP = 256 }; /* WI of the kernel */

static bool could(vt_dev *dev, const vt_gemm_desc *d)
{
    const bool full = d->a == VT_F32 && d->out == VT_F32 && d->res == VT_F32;

    return (full || d->type != VT_I8) && vt_dev_group_max(dev) >= GROUP;
}

static const char *layout(vt_dev *dev, const vt_told *t)
{
    return t->d.type == VT_I8     ? vt_panels_layout(dev, t)
           : t->d.type == VT_F16  ? "kn.f16"
           : t->d.type == VT_BF16 ? "kn.bf16"
                                  : "kn.f32";
}

static size_t packed_bytes(vt_dev *dev, const vt_told *t)
{
    const vt_gemm_desc *d = &t->d;

    return d->type == VT_I8
               ? vt_panels_bytes(dev, t)
               : (size_t)d->N * (size_t)d->K * vt_dtype_size(d->type);
}

static vitcl_status pack(vt_queue *q, const vt_told *t, vt_buf *packed,
                         vt_buf *b)
{
    return t->d.type == VT_I8 ? vt_panels_pack(q, t, packed, b)
                              : vt_gemm_reorder(q, &t->d, packed, b, true);
}

/* ---- parts of K ---- */

enum { SIDE = 128 }; /* of a tile */

static int part_terms(const vt_dev *dev, const vt_told *t)
{
    const vt_gemm_desc *d = &t->d;

    return d->type != VT_I8 ? vt_part_terms(t,
                                            vt_processors(dev, t, 1) /
                                                vt_tile_count(VT_PART_ROWS,
                                                              d->N, SIDE, SIDE),
                                            VT_PARTS)
                            : d->K;
}

/* Do the parts have their own work-groups? */
static bool split(const vt_dev *dev, const vt_told *t)
{
    const vt_gemm_desc *d = &t->d;

    return part_terms(dev, t) < d->K &&
           vt_tile_count(d->batch * d->M, d->N, SIDE, SIDE) <
               vt_processors(dev, t, 1);
}

static size_t temp_bytes(vt_dev *dev, const vt_told *t)
{
    const vt_gemm_desc *d = &t->d;
    const int terms = part_terms(dev, t);
    const size_t sums =
        (size_t)d->batch * (size_t)d->M * (size_t)d->N * sizeof(float);

    if (d->type == VT_I8)
        return vt_panels_temp_bytes(dev, t);
    if (terms == d->K)
        return 0;
    return split(dev, t) ? sums * (size_t)vt_divide_up(d->K, terms) : sums;
}

/* The side of the tiles: smaller ones where there would be too few for the
 * device. The bits do not depend on it. */
static int side(const vt_dev *dev, int most, int rows, int columns, int parts)
{
    const long want = 2L * (long)vt_dev_info(dev)->compute_units;
    int t = most;

    while (t > 32 && vt_tile_count(rows, columns, t, t) * parts < want)
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

/* How bind() divides a product. */
typedef struct cut {
    int side, tk, terms, parts; /* parts: with their own work-groups */
} cut;

static cut divide(const vt_gemm *g)
{
    const vt_gemm_desc *d = &g->t.d;
    const int terms = part_terms(g->dev, &g->t);
    cut c = {.terms = terms < d->K ? terms : 0, .parts = 1};

    if (split(g->dev, &g->t))
        c.parts = vt_divide_up(d->K, terms);
    c.side = side(g->dev, g->t.number[0].value, d->batch * d->M, d->N, c.parts);
    for (c.tk = g->t.number[1].value; c.terms % c.tk != 0;)
        c.tk -= 4;
    return c;
}

/* The kernel for the parts from term `first` on. */
static vitcl_status bind_part(vt_kernel **k, vt_gemm *g, vt_buf *b,
                              const cut *c, int first, const char *defines)
{
    const vt_gemm_desc *d = &g->t.d;
    const int rows = d->batch * d->M, ldb = d->b_packed ? d->N : d->ldb;
    const int v[] = {rows, d->N, d->K, d->lda, ldb, d->ldc};

    VT_RET(vt_kernel_new(k, g->dev, "gemm_tile", "gemm_tile", defines));
    VT_RET(vt_gemm_operands(*k, g, g->bufs.a, b, v, VT_COUNT(v)));
    if (c->terms) {
        VT_RET(vt_kernel_buf(*k, 12, g->bufs.temp));
        VT_RET(vt_kernel_int(*k, 13, first));
    }
    vt_kernel_size(*k, 3,
                   (size_t[3]){(size_t)vt_divide_up(rows, c->side) * GROUP,
                               (size_t)vt_divide_up(d->N, c->side),
                               (size_t)c->parts},
                   (size_t[3]){GROUP, 1, 1});
    vt_kernel_work(*k, (double)rows * d->N *
                           (c->terms && c->parts == 1
                                ? VT_MIN(c->terms, d->K - first)
                                : d->K));
    return VITCL_OK;
}

static void describe(vt_gemm *g, const cut *c)
{
    const size_t size = sizeof g->note;
    int n = snprintf(g->note, size, "native tile %dx%d %s", c->side, c->side,
                     vt_dtype_name(g->t.d.type));

    if (c->terms)
        n += snprintf(g->note + n, size - (size_t)n, ", %d parts%s",
                      vt_divide_up(g->t.d.K, c->terms),
                      c->parts > 1 ? " at once" : "");
    if (g->t.tuned)
        snprintf(g->note + n, size - (size_t)n, ", tuned");
}

static vitcl_status bind(vt_gemm *g)
{
    const vt_gemm_desc *d = &g->t.d;
    const int rows = d->batch * d->M;
    const vt_rows_shape panel = g->t.rows;
    const bool int8 = d->type == VT_I8, kn = d->trans_b || d->b_packed;
    const int ldb = d->b_packed ? d->N : d->ldb;
    const cut c = divide(g);
    vt_buf *b = g->bufs.b;
    unsigned n = 0;
    int first = 0;
    char epilogue[96], types[48] = "", parts[72] = "", defines[352];

    if (int8)
        VT_RET(vt_panels_bind(&b, g, &n));
    if (c.terms)
        snprintf(parts, sizeof parts, " -DTERMS=%d%s", c.terms,
                 c.parts > 1 ? " -DSPLIT" : "");
    if (!int8)
        snprintf(types, sizeof types, " -DXT=%s -DBT=%s -DYT=%s",
                 vt_dtype_name(d->a),
                 vt_dtype_name(d->b_packed ? d->type : VT_F32),
                 vt_dtype_name(d->out));
    snprintf(defines, sizeof defines,
             "-DTM=%d -DTN=%d -DTK=%d -DPANEL=%d%s%s%s%s%s%s %s", c.side,
             c.side, c.tk, int8 ? panel.lanes * panel.vectors : 0,
             d->trans_a ? " -DTRANS_A" : "", kn ? " -DTRANS_B" : "",
             wide(g->bufs.a, d->lda, d->trans_a ? rows : 4) ? " -DWIDE_A" : "",
             !int8 && wide(b, ldb, kn ? d->N : 4) ? " -DWIDE_B" : "", parts,
             types, vt_gemm_defines(epilogue, d));
    do {
        VT_RET(bind_part(&g->kernel[n], g, b, &c, first, defines));
        first += c.terms, n++;
    } while (c.terms && c.parts == 1 && first < d->K);
    if (c.parts > 1)
        VT_RET(vt_gemm_bind_sum(&g->kernel[n], g, g->bufs.temp, 0, g->bufs.a, b,
                                c.parts, 0, 0, ""));
    describe(g, &c);
    return VITCL_OK;
}

const vt_form vt_form_tile = {.provider = "native",
                              .name = "tile",
                              .class = VT_CLASS_GPU,
                              .could = could,
                              .layout = layout,
                              .packed_bytes = packed_bytes,
                              .pack = pack,
                              .temp_bytes = temp_bytes,
                              .bind = bind,
                              .free = vt_panels_free};
