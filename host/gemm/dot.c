/*
 * dot.c - the native provider's multiplication with a CPU's dot-product
 * instructions, where it has them and they are faster: cl/gemm_dot.cl,
 * gemm_dot_pack.cl, gemm_dot_rows.cl.
 *
 * A B that is not packed, as in training, is packed into `temp` at each launch,
 * behind A's words: in bf16 only. Sums in 16 bits would not do for gradients.
 *
 * Surprising: the kernels are inline assembly. host/units decides, once per
 * device, driver and version, whether one is used.
 */
#include "base/memory.h"
#include "gemm/common.h"
#include "units/dots.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TILE = 16 }; /* AMX: rows, columns, and words of K */
enum { PART = 32 }; /* words that are added in f16: cl/common_halves.cl */
enum { ROWS = 4 };  /* that a work-item rounds: cl/gemm_dot_rows.cl */

static const struct {
    const char *layout;
    int dot, step; /* DOT in cl/common_dot.cl; words of K: multiples of step */
    int vectors;   /* of a panel; 0: VT_ROWS_VECTORS */
} kinds[VT_DOT_KINDS] = {
    [VT_DOT_S8] = {"dot8-s8", 5, 1, 0},
    [VT_DOT_S8_PAIR] = {"dot8-s8-step2", 6, 2, 0},
    [VT_DOT_BF16_ARM] = {"dot8-bf16", 3, 1, 0},
    [VT_DOT_BF16_PAIR] = {"dot8-bf16-step2", 7, 2, 0},
    [VT_DOT_S16] = {"dot16-s16", 1, 1, 0},
    [VT_DOT_U8] = {"dot32-u8", 2, 1, 0},
    [VT_DOT_BF16] = {"dot32-bf16", 3, 1, 0},
    [VT_DOT_F16] = {"dot64-f16", 8, PART, 4},
    [VT_DOT_U8_PAIRS] = {"dot16-u8-pairs", 4, 1, 0},
    [VT_DOT_U8_VEX] = {"dot16-u8", 2, 1, 0},
    [VT_DOT_U8_TILES] = {"dot32-u8-tiles", 2, TILE, 0},
    [VT_DOT_BF16_TILES] = {"dot32-bf16-tiles", 3, TILE, 0},
};

static bool bf16_words(const vt_gemm_desc *d)
{
    return d->type == VT_BF16 && d->a == VT_BF16;
}

/* Is A in memory as the words that the instruction multiplies? */
static bool as_words(const vt_gemm_desc *d)
{
    return d->a == VT_I8 || bf16_words(d);
}

/* Rows so many words apart map to at most four sets of the L1 cache, from which
 * a panel then evicts them. */
static bool few_sets(int stride)
{
    return stride % 256 == 0;
}

static bool stored(vt_dtype t)
{
    return t == VT_F32 || t == VT_BF16;
}

static bool readable(const vt_gemm_desc *d)
{
    return stored(d->a) || (d->a == VT_I8 && d->type == VT_I8);
}

static bool multiplied(const vt_gemm_desc *d)
{
    return d->type == VT_BF16 ||
           ((d->type == VT_F16 || d->type == VT_I8) && d->b_packed);
}

static bool could(vt_dev *dev, const vt_gemm_desc *d)
{
    return multiplied(d) && !d->trans_a && !d->accumulate && readable(d) &&
           stored(d->out) && d->res == VT_F32 &&
           vt_dev_class(dev) == VT_CLASS_CPU && d->K <= 65536;
}

static bool by_tiles(int kind)
{
    return kinds[kind].step == TILE;
}

/* Others read past a row's end, or past the last row; without tiles, rows that
 * share few sets are better copied. */
static bool takes(vt_dev *dev, const vt_told *t)
{
    const vt_gemm_desc *d = &t->d;

    (void)dev;
    return t->dot != VT_DOT_NONE &&
           (!bf16_words(d) ||
            ((t->dot == VT_DOT_BF16 || by_tiles(t->dot)) &&
             d->K % (2 * kinds[t->dot].step) == 0 && d->lda % 2 == 0 &&
             (by_tiles(t->dot) || !few_sets(d->lda / 2))));
}

static const char *layout(vt_dev *dev, const vt_told *t)
{
    (void)dev;
    return kinds[t->dot].layout;
}

/* ---- sizes ---- */

static int columns(int kind)
{
    const int vectors = kinds[kind].vectors;

    return (vectors ? vectors : VT_ROWS_VECTORS) * vt_dot_kinds[kind].lanes;
}

static int whole_steps(int words, int kind)
{
    const int step = VT_MAX(1, kinds[kind].step);

    return vt_divide_up(words, step) * step;
}

static int words(const vt_gemm_desc *d, int kind)
{
    return whole_steps(vt_divide_up(d->K, vt_dot_kinds[kind].terms), kind);
}

static int stride(const vt_gemm_desc *d, int kind)
{
    const int w = words(d, kind);

    if (bf16_words(d))
        return d->lda / 2;
    return few_sets(w) ? w + 16 : w;
}

static size_t packed_bytes(vt_dev *dev, const vt_told *t)
{
    const int nw = columns(t->dot), all = vt_divide_up(t->d.N, nw) * nw;

    (void)dev;
    return (size_t)all * ((size_t)words(&t->d, t->dot) + 2) * sizeof(int32_t);
}

static size_t rows_bytes(const vt_told *t)
{
    const size_t rows = (size_t)t->d.batch * (size_t)t->d.M,
                 ldw = (size_t)stride(&t->d, t->dot);

    return rows * (ldw + 2) * sizeof(int32_t);
}

/* Where B is packed in temp. */
static size_t packed_at(vt_dev *dev, const vt_told *t)
{
    return as_words(&t->d) ? 0 : vt_dev_aligned(dev, rows_bytes(t));
}

static size_t temp_bytes(vt_dev *dev, const vt_told *t)
{
    if (!t->d.b_packed)
        return packed_at(dev, t) + packed_bytes(dev, t);
    return as_words(&t->d) ? 0 : rows_bytes(t);
}

/* The largest integer whose sum of squares over K cannot overflow. s16 has room
 * for more than int8's 127, at no cost in time: the logits of a Ti/16 are ten
 * times closer to those of f32. */
static int top(const vt_gemm_desc *d, int kind)
{
    const int most = (int)sqrt((double)INT32_MAX / d->K);

    return VT_MIN(most, kind == VT_DOT_S16 ? 4095 : 127);
}

/* ---- kernels ---- */

/* Those of every kernel. Returns `out`. */
static const char *common(char out[64], int kind)
{
    snprintf(out, 64, "-DV=%d -DNV=%d -DDOT=%d%s", vt_dot_kinds[kind].lanes,
             columns(kind) / vt_dot_kinds[kind].lanes, kinds[kind].dot,
             by_tiles(kind) ? " -DTILES" : "");
    return out;
}

static vitcl_status pack_kernel(vt_kernel **out, vt_dev *dev, int kind,
                                const vt_gemm_desc *d, vt_buf *packed,
                                vt_buf *b, bool scales)
{
    const int nw = columns(kind);
    const size_t panels = (size_t)vt_divide_up(d->N, nw);
    /* of a group: B's lines run along columns or along words */
    const size_t wide = d->trans_b ? 8 : 1, high = d->trans_b ? 32 : 128;
    const size_t global[3] = {scales ? panels * (size_t)nw
                                     : (panels + wide - 1) / wide,
                              ((size_t)words(d, kind) + high - 1) / high, 1};
    char shape[64], defines[128];

    snprintf(defines, sizeof defines, "%s -DTOP=%d -DPANELS=%zu -DWORDS=%zu%s",
             common(shape, kind), top(d, kind), wide, high,
             d->trans_b ? " -DTRANS_B" : "");
    VT_RET(vt_kernel_new(out, dev, "gemm_dot_pack",
                         scales ? "gemm_dot_scale" : "gemm_dot_pack", defines));
    VT_RET(vt_gemm_arguments(*out, (vt_buf *[]){packed, b}, 2,
                             (int[]){d->N, d->K, d->ldb}, 3));
    vt_kernel_size(*out, scales ? 1 : 2, global, (size_t[3]){1, 1, 1});
    return VITCL_OK;
}

static vitcl_status pack(vt_queue *q, const vt_told *t, vt_buf *packed,
                         vt_buf *b)
{
    const vt_gemm_desc *d = &t->d;
    vt_kernel *k[2] = {NULL, NULL};
    vitcl_status st = VITCL_OK;

    for (int i = d->type == VT_BF16 ? 1 : 0; i < 2; i++) {
        VT_TRY(
            pack_kernel(&k[i], vt_queue_dev(q), t->dot, d, packed, b, i == 0));
        VT_TRY(vt_kernel_launch(q, k[i]));
    }
done:
    vt_kernel_free(k[0]);
    vt_kernel_free(k[1]);
    return st;
}

/* The vectors are those of layer norm, whose sums depend on them; one program
 * does for both. Returns `out`. */
static const char *rows_defines(char out[96], const vt_dev *dev, int kind,
                                const vt_gemm_desc *d)
{
    const int lanes = vt_dev_vector(dev);

    snprintf(out, 96, "-DV=%d -DPER=%d -DWG=1 -DDOT=%d -DTOP=%d%s%s", lanes,
             VT_CPU_BLOCK / lanes, kinds[kind].dot, top(d, kind),
             by_tiles(kind) ? " -DTILES" : "",
             d->a == VT_BF16 ? " -DXT=bf16" : "");
    return out;
}

static void int_rows(vt_int_rows *out, vt_dev *dev, const vt_told *t)
{
    out->bytes = rows_bytes(t);
    out->ld = stride(&t->d, t->dot);
    out->items = vt_divide_up(t->d.batch * t->d.M, ROWS);
    rows_defines(out->defines, dev, t->dot, &t->d);
}

static vitcl_status rows_kernel(vt_kernel **out, const vt_gemm *g, int kind)
{
    const vt_gemm_desc *d = &g->t.d;
    const int rows = d->batch * d->M;
    const int v[] = {rows, d->K, d->lda, stride(d, kind), 0, 0};
    char defines[96];

    VT_RET(vt_kernel_new(out, g->dev, "gemm_dot_rows", "gemm_dot_rows",
                         rows_defines(defines, g->dev, kind, d)));
    VT_RET(vt_gemm_arguments(*out,
                             (vt_buf *[]){g->bufs.temp, g->bufs.a, NULL, NULL},
                             4, v, VT_COUNT(v)));
    VT_RET(vt_kernel_float(*out, 4 + (unsigned)VT_COUNT(v), 0));
    vt_kernel_size(*out, 1, (size_t[3]){(size_t)vt_divide_up(rows, ROWS), 1, 1},
                   (size_t[3]){1, 1, 1});
    return VITCL_OK;
}

/* Work-groups with layer norm, at least. */
static int norm_groups(const vt_dev *dev)
{
    return 2 * (int)vt_dev_info(dev)->compute_units;
}

/* Such a work-group has whole rows and reads all of B: much for a few rows,
 * unless B stays in the L2 cache. The vectors must be those of layernorm.cl,
 * for the same bits. */
static bool norms(vt_dev *dev, const vt_told *t)
{
    const vt_gemm_desc *d = &t->d;
    const int rows = d->batch * d->M / norm_groups(dev);

    return by_tiles(t->dot) && bf16_words(d) && d->b_packed &&
           d->out == VT_F32 && d->ldc == d->N && d->N <= 1024 &&
           rows >= (d->N <= 384 ? TILE : 128) &&
           vt_dev_vector(dev) == vt_dot_kinds[t->dot].lanes;
}

/* A tile has 16 rows, whatever was tuned: two of them are a block. */
static vt_rows divide(const vt_dev *dev, const vt_told *t, bool norm)
{
    const int rows = t->d.batch * t->d.M;
    vt_rows_shape shape = t->rows;
    vt_rows s;

    shape.vectors = columns(t->dot) / shape.lanes;
    if (by_tiles(t->dot)) {
        shape.block = 2 * TILE;
        shape.rows = VT_MAX(shape.rows, 256);
        shape.groups = VT_MIN(shape.groups, 4);
        shape.terms = 128;
        shape.any = true;
    }
    if (norm) { /* of all panels and so many equal blocks */
        const int least = norm_groups(dev),
                  groups = least * vt_divide_up(rows, least * shape.rows),
                  blocks = vt_divide_up(rows, groups * shape.block);

        shape.block = vt_divide_up(rows, groups * blocks);
        shape.rows = blocks * shape.block;
        shape.panels = vt_divide_up(t->d.N, columns(t->dot));
        shape.groups = 0;
    }
    s = vt_rows_divide(dev, shape, &t->d, words(&t->d, t->dot));
    s.most = whole_steps(s.most, t->dot);
    return s;
}

/* *out: the packed B. If it is packed at each launch: a view of temp, which is
 * g->state, filled by g->kernel[*n]. */
static vitcl_status packed(vt_buf **out, vt_gemm *g, int kind, int *n)
{
    vt_buf *b = NULL;

    if (!g->t.d.b_packed) {
        VT_RET(vt_buf_view(&b, g->bufs.temp, packed_at(g->dev, &g->t),
                           packed_bytes(g->dev, &g->t)));
        g->state = b;
        VT_RET(pack_kernel(&g->kernel[(*n)++], g->dev, kind, &g->t.d, b,
                           g->bufs.b, false));
    }
    *out = b ? b : g->bufs.b;
    return VITCL_OK;
}

static void drop(vt_gemm *g)
{
    vt_buf_free(g->state);
}

static vitcl_status bind(vt_gemm *g)
{
    const vt_gemm_desc *d = &g->t.d;
    const int kind = g->t.dot;
    const vt_gemm_norm *norm = &g->bufs.norm;
    const vt_rows s = divide(g->dev, &g->t, norm->buf[0]);
    const int v[] = {s.rows, d->N,     words(d, kind), stride(d, kind),
                     d->ldc, s.blocks, s.big,          s.tall,
                     s.low,  s.chunks, s.group,        s.most};
    vt_buf *a = as_words(d) ? g->bufs.a : g->bufs.temp, *b = NULL;
    int n = 0;
    char shape[64], epilogue[96], defines[256];

    if (!as_words(d))
        VT_RET(rows_kernel(&g->kernel[n++], g, kind));
    VT_RET(packed(&b, g, kind, &n));
    snprintf(defines, sizeof defines,
             "%s -DRA=%d -DRB=%d -DSAVED=%d -DRMS=%d%s %s", common(shape, kind),
             s.ra, s.rb, s.saved, norm->rms,
             norm->buf[0]               ? " -DNORM -DWG=1 -DYT=bf16"
             : d->out != VT_BF16        ? ""
             : vt_dot_here(VT_DOT_BF16) ? " -DCT=bf16 -DPUT_WORDS"
                                        : " -DCT=bf16",
             vt_gemm_defines(epilogue, d));
    VT_RET(
        vt_kernel_new(&g->kernel[n], g->dev, "gemm_dot", "gemm_dot", defines));
    VT_RET(vt_gemm_operands(g->kernel[n], g, a, b, v, VT_COUNT(v)));
    for (unsigned i = 0; i < 3; i++)
        VT_RET(vt_kernel_buf(g->kernel[n], 6 + (unsigned)VT_COUNT(v) + i,
                             norm->buf[i]));
    VT_RET(vt_kernel_float(g->kernel[n], 9 + (unsigned)VT_COUNT(v), norm->eps));
    VT_RET(vt_kernel_tiles(g->kernel[n], 10 + (unsigned)VT_COUNT(v),
                           vt_divide_up(s.panels, s.group) * s.chunks));
    snprintf(g->note, sizeof g->note, "native %s %dx%d%s%s",
             vt_dot_kinds[kind].name, s.tall, s.nw, g->t.tuned ? ", tuned" : "",
             norm->buf[0] ? ", layer norm" : "");
    return VITCL_OK;
}

#define CHAINS 12 /* at most two units with six cycles each */

static vitcl_status peak(vt_kernel **out, double *flops, vt_dev *dev,
                         const vt_told *t)
{
    const int kind = t->dot;
    /* tiles: four of them, of as many rows as words */
    const double chains = by_tiles(kind)       ? 4 * TILE * TILE
                          : kind == VT_DOT_F16 ? CHAINS
                                               : CHAINS * kinds[kind].step;
    char shape[64], defines[96];

    *flops = 2 * chains * vt_dot_kinds[kind].lanes * vt_dot_kinds[kind].terms;
    snprintf(defines, sizeof defines, "%s -DCHAINS=%d", common(shape, kind),
             CHAINS);
    return vt_kernel_new(out, dev, "gemm_dot", "gemm_dot_peak", defines);
}

const vt_form vt_form_dot = {.provider = "native",
                             .name = "dot",
                             .class = VT_CLASS_CPU,
                             .asks = VT_ASKS_DOT,
                             .stored = true,
                             .could = could,
                             .takes = takes,
                             .layout = layout,
                             .packed_bytes = packed_bytes,
                             .pack = pack,
                             .temp_bytes = temp_bytes,
                             .int_rows = int_rows,
                             .norms = norms,
                             .bind = bind,
                             .free = drop,
                             .peak = peak};
