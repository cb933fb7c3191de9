/*
 * outer.c - the native provider's product of two matrices that both have k
 * outermost, on a CPU: cl/gemm_outer.cl.
 *
 * The gradient of a weight is such a product. cl/gemm_rows.cl would transpose
 * one matrix, pack the other as a whole, and have only as many work-groups as C
 * has tiles.
 *
 * bf16 is multiplied by vdpbf16ps or AMX where the form is told so. Arm's
 * instructions for bf16 are not written there: FMAs.
 *
 * Surprising: each element is one chain per slice of k; the number of slices
 * depends on the sizes alone.
 */
#include "base/memory.h"
#include "gemm/common.h"
#include "units/dots.h"

#include <stdio.h>

/* A tile's A takes 97 KiB, a panel of B 16, the sums 96; with the 32 registers
 * of AVX-512 twice as much: L2 is at least 512. A term is a number or, of dot
 * products, a word of two. */
#define TERMS 256
#define MOST_ROWS(lanes) ((lanes) == 16 ? 196 : 96)
#define MOST_COLUMNS 256
/* A product has about this many work-groups, and slices have at least this many
 * terms. The values do not depend on the device, because the order of the sum
 * affects the bits. */
#define GROUPS 32
#define LEAST_TERMS 512
#define DOT_LANES 16 /* of vdpbf16ps, and words of a tile's row */

typedef struct cut {
    int dot; /* VT_DOT_NONE: FMAs */
    int lanes;
    int ra, nw, blocks, panels; /* register block, blocks and panels per tile */
    int row_tiles, column_tiles, slices;
} cut;

static cut cut_for(const vt_gemm_desc *d, int lanes, int dot)
{
    cut c = {.dot = dot,
             .lanes = lanes,
             .ra = dot == VT_DOT_BF16_TILES ? 32 : vt_rows_block(lanes),
             .nw = VT_ROWS_VECTORS * lanes};

    c.blocks = MOST_ROWS(lanes) / c.ra;
    c.panels = MOST_COLUMNS / c.nw;
    c.row_tiles = vt_divide_up(vt_divide_up(d->M, c.ra), c.blocks);
    c.column_tiles = vt_divide_up(vt_divide_up(d->N, c.nw), c.panels);
    c.slices =
        VT_MAX(1, VT_MIN(vt_divide_up(GROUPS, c.row_tiles * c.column_tiles),
                         d->K / LEAST_TERMS));
    return c;
}

static size_t local_bytes(const cut *c)
{
    const int rows = c->blocks * c->ra;

    return sizeof(float) *
           (size_t)(rows * (TERMS + c->panels * c->nw) + 16 * c->blocks);
}

static bool fits(const vt_dev *dev, const cut *c)
{
    return local_bytes(c) <= vt_dev_info(dev)->local_bytes;
}

static bool could(vt_dev *dev, const vt_gemm_desc *d)
{
    const cut c = cut_for(d, vt_dev_vector(dev), VT_DOT_NONE);

    return d->out == VT_F32 && d->trans_a && d->trans_b && !d->b_packed &&
           d->batch == 1 && !d->bias && !d->scale && !d->residual &&
           d->act == VT_ACT_NONE && (d->type == VT_F32 || d->type == VT_BF16) &&
           fits(dev, &c);
}

static cut cut_of(const vt_dev *dev, const vt_told *t)
{
    const cut dot = cut_for(&t->d, DOT_LANES, t->dot);

    return t->d.type == VT_BF16 && fits(dev, &dot) &&
                   (t->dot == VT_DOT_BF16 || t->dot == VT_DOT_BF16_TILES)
               ? dot
               : cut_for(&t->d, vt_dev_vector(dev), VT_DOT_NONE);
}

/* Words of bf16 are for dot products. */
static bool takes(vt_dev *dev, const vt_told *t)
{
    return (t->d.a == VT_F32 && t->d.b == VT_F32) ||
           cut_of(dev, t).dot != VT_DOT_NONE;
}

static bool sums(vt_dev *dev, const vt_told *t)
{
    (void)dev;
    return t->d.accumulate;
}

static size_t temp_bytes(vt_dev *dev, const vt_told *t)
{
    const vt_gemm_desc *d = &t->d;
    const cut c = cut_of(dev, t);
    const size_t each = (size_t)d->M * (size_t)(d->N + d->sums);

    return c.slices > 1 ? (size_t)c.slices * each * sizeof(float) : 0;
}

static vitcl_status bind(vt_gemm *g)
{
    const vt_gemm_desc *d = &g->t.d;
    const cut c = cut_of(g->dev, &g->t);
    const bool sliced = c.slices > 1;
    const size_t rows[3] = {(size_t)d->M, 1, 1}, one[3] = {1, 1, 1};
    char defines[192];

    snprintf(defines, sizeof defines,
             "-DV=%d -DNV=%d -DRA=%d -DKC=%d -DBLOCKS=%d -DPANELS=%d "
             "-DTYPE=%d%s%s%s%s%s%s",
             c.lanes, VT_ROWS_VECTORS, c.ra, TERMS, c.blocks, c.panels,
             d->type == VT_BF16,
             c.dot == VT_DOT_NONE   ? ""
             : c.dot == VT_DOT_BF16 ? " -DDOT=3"
                                    : " -DDOT=3 -DTILES",
             d->a == VT_BF16 ? " -DAT=bf16" : "",
             d->b == VT_BF16 ? " -DBT=bf16" : "", sliced ? " -DSLICED" : "",
             d->accumulate ? " -DACCUMULATE" : "", d->sums ? " -DSUMS" : "");
    VT_RET(vt_kernel_new(&g->kernel[0], g->dev, "gemm_outer", "gemm_outer",
                         defines));
    VT_RET(vt_gemm_arguments(g->kernel[0],
                             (vt_buf *[]){sliced ? g->bufs.temp : g->bufs.c,
                                          g->bufs.a, g->bufs.b, g->bufs.bias},
                             4,
                             (int[]){d->M, d->N, d->K, d->lda, d->ldb,
                                     sliced ? d->N : d->ldc, c.column_tiles,
                                     c.row_tiles, c.slices},
                             9));
    VT_RET(vt_kernel_tiles(g->kernel[0], 13,
                           c.column_tiles * c.row_tiles * c.slices));
    if (sliced) {
        VT_RET(vt_kernel_new(&g->kernel[1], g->dev, "gemm_outer",
                             "gemm_outer_sum", defines));
        VT_RET(vt_gemm_arguments(
            g->kernel[1], (vt_buf *[]){g->bufs.c, g->bufs.temp, g->bufs.bias},
            3, (int[]){d->M, d->N, d->ldc, c.slices}, 4));
        vt_kernel_size(g->kernel[1], 1, rows, one);
    }
    snprintf(g->note, sizeof g->note, "native outer %dx%d %s, %d slice%s", c.ra,
             c.nw, c.dot ? vt_dot_kinds[c.dot].name : vt_dtype_name(d->type),
             c.slices, sliced ? "s" : "");
    return VITCL_OK;
}

const vt_form vt_form_outer = {.provider = "native",
                               .name = "outer",
                               .class = VT_CLASS_CPU,
                               .asks = VT_ASKS_DOT,
                               .stored_b = true,
                               .could = could,
                               .takes = takes,
                               .sums = sums,
                               .temp_bytes = temp_bytes,
                               .bind = bind};
