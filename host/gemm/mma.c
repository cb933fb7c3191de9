/*
 * mma.c - the native provider's multiplication on the matrix units of a GPU, in
 * f16, bf16 and int8: cl/gemm_mma_*.cl.
 *
 * Weights are packed in the order of the kernel's strips, padded, so that only
 * A has an end that needs checks. In int8 another kernel rounds A before, to
 * steps of each row's largest magnitude.
 *
 * K may be in parts (parts.h). In a small batch they have their own
 * work-groups, and another kernel adds them up. In a large one a work-group
 * computes all, and has registers for the sum of the earlier ones; so a part
 * costs no launch.
 *
 * In a training, in bf16, the operands are packed at each launch
 * (mma_training.c). A gradient of weights has few tiles and many terms: their
 * parts always have their own work-groups.
 */
#include "base/memory.h"
#include "gemm/common.h"
#include "gemm/mma_training.h"
#include "gemm/parts.h"
#include "ocl/precision.h"

#include <stdio.h>

/* The weights are padded to whole tiles. */
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

/* Rows and columns of a work-group's tile. */
static int high(const vt_mma_kind *k, vt_mma_shape s)
{
    return s.wm * s.fm * k->rows;
}

static int wide(const vt_mma_kind *k, vt_mma_shape s)
{
    return s.wn * s.fn * k->columns;
}

static long tiles(const vt_mma_kind *k, vt_mma_shape s, int rows, int n)
{
    return vt_tile_count(rows, n, high(k, s), wide(k, s));
}

static bool intel(const vt_mma_kind *k)
{
    return vt_mma_intel((int)(k - vt_mma_kinds));
}

/* Processors with a local memory. Intel's drivers report engines; 16 of 8 lanes
 * or 8 of 16 have one. */
static long processors(const vt_dev *dev, const vt_told *t)
{
    const vt_mma_kind *k = &vt_mma_kinds[t->unit.kind];

    return vt_processors(dev, t, intel(k) ? 128 / k->lanes : 1);
}

/* So many large tiles at least, or small ones are better: one of Intel's
 * processors has few of its sub-groups in one work-group. */
static long enough(long units, const vt_mma_kind *k)
{
    return intel(k) ? 2 * units : units;
}

static size_t local_bytes(const vt_mma_kind *k, vt_mma_shape s,
                          const vt_gemm_desc *d)
{
    const size_t m = (size_t)high(k, s), n = (size_t)wide(k, s);

    if (intel(k))
        return STRIP * 2 * m;
    /* three stages instead of two */
    return STRIP * (k == &vt_mma_kinds[VT_MMA_16]
                        ? (d->type == VT_I8 ? 3 : 2) * m + 3 * n
                        : 2 * (m + n));
}

/* Has the device room for this shape? */
static bool fits(const vt_dev *dev, const vt_told *t, vt_mma_shape s)
{
    const vt_mma_kind *k = &vt_mma_kinds[t->unit.kind];

    return vt_dev_group_max(dev) >= (size_t)items(k, s) &&
           vt_dev_info(dev)->local_bytes >= local_bytes(k, s, &t->d);
}

/* Have large tiles room? Else small ones do all; the bits are the same. */
static bool large_fit(const vt_dev *dev, const vt_told *t)
{
    return !t->small &&
           (t->unit.emulated || fits(dev, t, vt_mma_kinds[t->unit.kind].large));
}

/* How bind() divides a product. Only `terms` has an influence on the bits. */
typedef struct cut {
    const vt_mma_kind *kind;
    vt_mma_shape shape;
    int terms;   /* of a part of K; K: all of it */
    int parts;   /* with their own work-groups */
    bool groups; /* by wgmma */
} cut;

/* A gradient of weights: work-groups for two to four rounds of all processors,
 * two groups on each, so that the last round leaves few of them idle. */
static void divide_terms(cut *c, const vt_dev *dev, const vt_told *t)
{
    enum { MOST = 16 };
    const vt_gemm_desc *d = &t->d;
    const vt_mma_kind *k = c->kind;
    const long units = processors(dev, t);
    long n;

    c->shape = t->unit.emulated ? k->tiny : k->large;
    n = tiles(k, c->shape, d->M, d->N);
    c->terms = vt_part_terms(t, 4 * units / n, MOST);
    c->parts = vt_divide_up(d->K, c->terms);
    if (!t->unit.emulated &&
        (n * c->parts < enough(units, k) || !large_fit(dev, t)))
        c->shape = k->small;
}

static cut divide(const vt_dev *dev, const vt_told *t)
{
    const vt_gemm_desc *d = &t->d;
    const vt_mma_kind *k = &vt_mma_kinds[t->unit.kind];
    cut c = {.kind = k, .parts = 1};
    const vt_mma_shape least = t->unit.emulated ? k->tiny : k->small;
    const long units = processors(dev, t);
    const long one = tiles(k, least, VT_PART_ROWS, d->N);
    const int rows = d->batch * d->M;

    if (d->trans_a) {
        divide_terms(&c, dev, t);
        return c;
    }
    /* two work-groups of small tiles for a processor */
    c.terms = vt_part_terms(t, one < units ? 2 * units / one : 1, VT_PARTS);
    c.shape = t->unit.groups ? vt_mma_groups
              : c.terms < d->K && d->type != VT_I8 && k->parts.wm ? k->parts
                                                                  : k->large;
    if ((t->unit.emulated && !t->unit.groups) ||
        tiles(k, c.shape, rows, d->N) < enough(units, k) || !large_fit(dev, t))
        c.shape = least;
    if (tiles(k, least, rows, d->N) < units)
        c.parts = vt_divide_up(d->K, c.terms);
    c.groups = t->unit.groups && c.shape.fn == vt_mma_groups.fn;
    if (c.groups && c.parts == 1)
        c.terms = d->K;
    return c;
}

static bool could(vt_dev *dev, const vt_gemm_desc *d)
{
    (void)dev;
    return (d->type == VT_F16 || d->type == VT_BF16 || d->type == VT_I8) &&
           (d->b_packed ? !d->trans_a : vt_mma_packs(d));
}

static bool takes(vt_dev *dev, const vt_told *t)
{
    const vt_mma_kind *k = &vt_mma_kinds[t->unit.kind];

    if (t->unit.kind == VT_MMA_NONE || t->unit.emulated)
        return t->unit.emulated;
    return fits(dev, t, k->small);
}

static const char *layout(vt_dev *dev, const vt_told *t)
{
    static const char *const name[][3] = {
        {"strips-bf16", "strips-f16", "strips-i8"},
        {"strips8-bf16", "strips8-f16", "strips8-i8"},
        {"strips16-bf16", "strips16-f16", "strips16-i8"}};

    (void)dev;
    return name[vt_mma_together(t->unit) / 8][vt_type_number(t->d.type) - 1];
}

static size_t packed_bytes(vt_dev *dev, const vt_told *t)
{
    (void)dev;
    return bytes(&t->d, columns(&t->d));
}

/* A in int8, in temp; the sums of parts are behind it, or behind the operands
 * that are packed there. */
static size_t rounded_bytes(const vt_gemm_desc *d)
{
    return d->type == VT_I8 ? bytes(d, d->batch * d->M) : 0;
}

static size_t sums_bytes(const vt_gemm_desc *d, int parts)
{
    return parts > 1 ? (size_t)parts * (size_t)d->batch * (size_t)d->M *
                           (size_t)d->N * sizeof(float)
                     : 0;
}

static size_t temp_bytes(vt_dev *dev, const vt_told *t)
{
    const vt_gemm_desc *d = &t->d;

    return (d->b_packed ? rounded_bytes(d)
                        : vt_mma_operands_bytes(dev, d, columns(d))) +
           sums_bytes(d, divide(dev, t).parts);
}

static vitcl_status pack(vt_queue *q, const vt_told *t, vt_buf *packed,
                         vt_buf *b)
{
    const vt_gemm_desc *d = &t->d;
    const size_t across = (size_t)columns(d);
    vt_kernel *k = NULL;
    char defines[64];
    vitcl_status st = VITCL_OK;

    snprintf(defines, sizeof defines, "-DTYPE=%d -DDPAS=%d%s",
             vt_type_number(d->type), vt_mma_together(t->unit),
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
    const vt_gemm_desc *d = &g->t.d;
    const int rows = d->batch * d->M;
    char defines[64];

    snprintf(defines, sizeof defines, "-DTYPE=3 -DAT=%s", vt_dtype_name(d->a));
    VT_RET(vt_kernel_new(&g->kernel[0], g->dev, "gemm_mma_pack",
                         "gemm_mma_rows", defines));
    VT_RET(vt_gemm_arguments(g->kernel[0],
                             (vt_buf *[]){g->bufs.temp, g->bufs.a}, 2,
                             (int[]){rows, d->K, d->lda}, 3));
    vt_kernel_size(g->kernel[0], 1, (size_t[3]){64 * (size_t)rows},
                   (size_t[3]){64});
    return VITCL_OK;
}

/* What the product reads, and where it leaves the sums of parts. */
typedef struct operands {
    vt_buf *a, *b, *sums;
    vt_dtype stored; /* A */
    int K, lda;
} operands;

static operands operands_of(const vt_gemm *g)
{
    const vt_gemm_desc *d = &g->t.d;
    const vt_mma_packed *p = g->state;
    operands o = {.a = d->type == VT_I8 ? g->bufs.temp : g->bufs.a,
                  .b = p ? p->b : g->bufs.b,
                  .sums = p ? p->sums : g->bufs.temp,
                  .stored = d->a,
                  .K = d->K,
                  .lda = d->lda};

    if (p && p->a) { /* whole strips */
        o.a = p->a, o.stored = d->type;
        o.K = o.lda = strips(d) * STRIP / (int)vt_dtype_size(d->type);
    }
    return o;
}

static vitcl_status bind_sum(vt_kernel **k, vt_gemm *g, const cut *c)
{
    const vt_gemm_desc *d = &g->t.d;
    const operands o = operands_of(g);

    return vt_gemm_bind_sum(k, g, o.sums, rounded_bytes(d), o.a, o.b, c->parts,
                            strips(d), columns(d),
                            g->t.unit.emulated ? "" : " -DQUICK");
}

/* May 16 bytes of a row of A be read at once? */
static bool wide_rows(const vt_gemm *g, const operands *o)
{
    const vt_dtype type = g->t.d.type;
    const bool same = o->stored == type;

    return type != VT_I8 && (same || o->stored == VT_F32) &&
           o->lda % (same ? 8 : 4) == 0 && vt_buf_aligned(o->a, 16);
}

/* May 16 bytes of a row of C, and what is added to it, be stored at once? */
static bool wide_result(const vt_gemm *g, const cut *c)
{
    const vt_gemm_desc *d = &g->t.d;
    const vt_buf *const all[] = {g->bufs.c, g->bufs.bias, g->bufs.scale,
                                 g->bufs.residual};
    bool aligned = vt_mma_nvidia(g->t.unit.kind) && c->shape.fn % 4 == 0 &&
                   c->parts == 1 && d->N % 8 == 0 && d->ldc % 8 == 0;

    for (size_t i = 0; i < VT_COUNT(all); i++)
        aligned = aligned && (!all[i] || vt_buf_aligned(all[i], 16));
    return aligned;
}

static vitcl_status bind_product(vt_kernel **k, vt_gemm *g, const cut *c,
                                 const operands *o)
{
    const vt_gemm_desc *d = &g->t.d;
    const int rows = d->batch * d->M;
    const vt_mma_shape s = c->shape;
    const size_t wi = (size_t)items(c->kind, s);
    const int v[] = {rows, d->N, o->K, o->lda, d->ldc, columns(d)};
    const char *const way = vt_mma_way(g->t.unit.kind);
    char parts[64] = "", common[160], defines[416];

    vt_gemm_end_defines(common, d);
    if (c->parts > 1 || (c->terms < d->K && d->type != VT_I8))
        snprintf(parts, sizeof parts, " -DPART=%d%s",
                 c->terms / (STRIP / (int)vt_dtype_size(d->type)),
                 c->parts > 1 ? " -DSPLIT" : "");
    snprintf(defines, sizeof defines,
             "-DKIND=%d%s%s -DWM=%d -DWN=%d -DFM=%d -DFN=%d -DAT=%s%s%s%s%s%s",
             g->t.unit.kind, vt_mma_flags(g->t.unit),
             c->groups ? " -DWGMMA" : "", s.wm, s.wn, s.fm, s.fn,
             vt_dtype_name(o->stored), o->stored == d->type ? " -DSAME_A" : "",
             wide_rows(g, o) ? " -DWIDE_A" : "",
             wide_result(g, c) ? " -DWIDE_C" : "", parts, common);
    VT_RET(vt_kernel_new(k, g->dev, way, way, defines));
    VT_RET(vt_gemm_operands(*k, g, o->a, o->b, v, VT_COUNT(v)));
    if (c->parts > 1) {
        VT_RET(vt_kernel_buf(*k, 12, o->sums));
        VT_RET(vt_kernel_int(*k, 13, (int)(rounded_bytes(d) / sizeof(float))));
    }
    vt_kernel_size(
        *k, 3,
        (size_t[3]){(size_t)vt_divide_up(rows, high(c->kind, s)) * wi,
                    (size_t)vt_divide_up(d->N, wide(c->kind, s)),
                    (size_t)c->parts},
        (size_t[3]){wi, 1, 1});
    vt_kernel_work(*k, (double)rows * d->N * d->K);
    return VITCL_OK;
}

static vitcl_status bind(vt_gemm *g)
{
    const vt_gemm_desc *d = &g->t.d;
    const cut c = divide(g->dev, &g->t);
    const int parts = vt_divide_up(d->K, c.terms);
    operands o;
    char text[24] = "";
    unsigned n = 0;

    if (d->type == VT_I8) {
        VT_RET(round_rows(g));
        n++;
    }
    if (!d->b_packed)
        VT_RET(vt_mma_bind_operands(g, columns(d), sums_bytes(d, c.parts), &n));
    o = operands_of(g);
    VT_RET(bind_product(&g->kernel[n++], g, &c, &o));
    if (c.parts > 1)
        VT_RET(bind_sum(&g->kernel[n], g, &c));
    if (parts > 1)
        snprintf(text, sizeof text, ", %d parts%s", parts,
                 c.parts > 1 ? " at once" : "");
    snprintf(g->note, sizeof g->note, "native %s %dx%d %s%s%s",
             c.groups ? "wgmma" : c.kind->name, high(c.kind, c.shape),
             wide(c.kind, c.shape), vt_dtype_name(d->type),
             g->t.unit.emulated ? ", emulated" : "", text);
    return VITCL_OK;
}

const vt_form vt_form_mma = {.provider = "native",
                             .name = "mma",
                             .class = VT_CLASS_GPU,
                             .asks = VT_ASKS_UNIT,
                             .shrinks = true,
                             .could = could,
                             .takes = takes,
                             .layout = layout,
                             .packed_bytes = packed_bytes,
                             .pack = pack,
                             .temp_bytes = temp_bytes,
                             .bind = bind,
                             .free = vt_mma_free_operands,
                             .peak = vt_mma_peak};
