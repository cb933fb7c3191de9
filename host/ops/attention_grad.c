/*
 * attention_grad.c - gradients of attention, which recompute the probabilities:
 * nothing of T x T is kept between forward and backward.
 */
#include "ops/attention.h"

#include "ops/attention_tiles.h"

#include <stdio.h>
#include <string.h>

/* DQKV if q and kv are one value, else DQ and DKV; STAT unless by_heads() */
enum { OUT_DQKV, OUT_DQ, OUT_DKV, OUT_DBIAS, OUT_STAT, OUT_PRODUCT };
enum { I_DBIAS = I_ROWS + 1 }; /* is it wanted? */

/* With more keys, their sums do not fit on the stack of a CPU's work-item. */
#define BIG 3000

/* Stack space of the arrays in attention_grad__heads, with v lanes; words: with
 * WORDS. */
static size_t stack_bytes(const vt_attention_sizes *z, size_t v, bool words)
{
    const size_t keys = ((size_t)z->T + 32) / 32 * 32, queries = 2 * v,
                 d = (size_t)z->D, wide = (d + v - 1) / v * v,
                 row = words ? (d + 31) / 32 * 16 : wide, more = words;

    return (2 * keys * queries + queries + (2 * keys + queries) * wide +
            ((2 + more) * keys + (4 + more) * queries) * row) *
           sizeof(float);
}

/* Does one work-item compute the gradients of a whole head? */
static bool by_heads(const vt_plan *p, const vt_attention_sizes *z)
{
    const vt_dev *dev = vt_plan_settings(p)->dev;
    const size_t v = dev ? (size_t)vt_dev_vector(dev) : 16;

    return vt_op_cpu(p) && z->T <= BIG && (!dev || vt_dev_long_items(dev)) &&
           stack_bytes(z, v, false) <= vt_item_stack();
}

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    const vt_attention_sizes z = vt_attention_measure(p, s);

    if (z.B > 1 && z.qb == 0)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "queries that pictures share cannot be trained");
    if (s->i[I_SELF]) {
        VT_RET(vt_op_like(p, s, OUT_DQKV, s->in[IN_Q]));
    } else {
        VT_RET(vt_op_like(p, s, OUT_DQ, s->in[IN_Q]));
        VT_RET(vt_op_like(p, s, OUT_DKV, s->in[IN_KV]));
    }
    if (s->i[I_DBIAS])
        VT_RET(vt_op_like(p, s, OUT_DBIAS, s->in[IN_BIAS]));
    if (!by_heads(p, &z))
        VT_RET(vt_op_out(p, s, OUT_STAT, 4, (int[]){z.B, z.H, z.Tq, 2}));
    if (s->i[I_LAYER])
        VT_RET(vt_op_out(p, s, OUT_PRODUCT, 4, (int[]){z.B, z.H, z.Tq, z.T}));
    return VITCL_OK;
}

static vt_val dq(const vt_step *s)
{
    return s->out[s->i[I_SELF] ? OUT_DQKV : OUT_DQ];
}

static vt_val dkv(const vt_step *s)
{
    return s->out[s->i[I_SELF] ? OUT_DQKV : OUT_DKV];
}

/* By dot products of bf16, as the output? Tiles of a small head are mostly the
 * zeros that fill them. */
static bool by_words(const vt_plan *p, const vt_attention_sizes *z)
{
    const int kind = vt_op_dots(p);

    return (kind == VT_DOT_BF16 ||
            (kind == VT_DOT_BF16_TILES && z->T * z->D >= 1500)) &&
           z->D % 2 == 0 && stack_bytes(z, 16, true) <= vt_item_stack();
}

static vitcl_status heads(vt_plan *p, vt_step *s, const vt_attention_sizes *z)
{
    const int v = vt_dev_vector(vt_plan_settings(p)->dev);
    const char *bias = vt_attention_bias(p, s, z);
    /* dbias of a shared bias is a sum over pictures, one after the other */
    const int pictures = s->i[I_DBIAS] && !strchr(bias, '2') ? z->B : 1;
    const bool words = by_words(p, z);
    char defines[192];
    vt_attention_defines more;
    vt_op_define gt, ot;
    vt_kernel *k;

    vt_attention_define(more, p, s, z);
    snprintf(defines, sizeof defines, "-DV=%d -DNV=%d -DD=%d -DTMAX=%d%s%s%s%s",
             v, words || z->Tq > v ? 2 : 1, z->D, z->T,
             !words                               ? ""
             : vt_op_dots(p) == VT_DOT_BF16_TILES ? " -DWORDS -DTILES"
                                                  : " -DWORDS",
             more, vt_op_stored(gt, p, "GT", dq(s)),
             vt_op_stored(ot, p, "OT", s->in[VT_DY]));
    VT_RET(vt_step_kernel(&k, p, s, "attention_grad_heads",
                          "attention_grad__heads", defines));
    VT_RET(
        vt_args(p, k, "vvvv", dq(s), dkv(s), s->out[OUT_DBIAS], s->in[VT_DY]));
    VT_RET(vt_attention_arguments(p, k, 4, s, z));
    VT_RET(vt_kernel_int(k, 17, pictures));
    VT_RET(vt_kernel_tiles(k, 18, z->H * (z->B / pictures)));
    if (words)
        snprintf(s->note, sizeof s->note, "attention heads bf16");
    return VITCL_OK;
}

/* May vectors of four be read and written at once? */
static bool wide(vt_plan *p, const vt_step *s, const vt_attention_sizes *z)
{
    const vt_val all[] = {s->in[IN_Q], s->in[IN_KV], s->in[VT_DY],
                          s->in[VT_Y], dq(s),        dkv(s)};

    for (size_t i = 0; i < VT_COUNT(all); i++)
        if (!vt_op_aligned(p, all[i]))
            return false;
    return z->D % 4 == 0;
}

static vitcl_status in_floats(vt_attention_tiles *t, vt_plan *p, vt_step *s,
                              const vt_attention_sizes *z)
{
    const vt_gradient_tiles f =
        vt_gradient_tiles_of(vt_plan_settings(p)->dev, z->D, wide(p, s, z));

    if (f.items == 0)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "the device's work-groups are too small to train");
    *t = (vt_attention_tiles){.file = "attention_grad_tiles",
                              .q = "attention_grad_tiles__q",
                              .kv = "attention_grad_tiles__kv",
                              .rows = f.rows,
                              .items = f.items,
                              .each = 1};
    snprintf(t->defines, sizeof t->defines, "%s", f.defines);
    snprintf(s->note, sizeof s->note, "attention tiles %zux%zu", f.rows,
             f.others);
    return VITCL_OK;
}

static size_t blocks(int n, const vt_attention_tiles *t)
{
    return ((size_t)n + t->rows - 1) / t->rows;
}

static vitcl_status tiles(vt_plan *p, vt_step *s, const vt_attention_sizes *z)
{
    const size_t heads = (size_t)(z->H * z->B);
    char defines[256];
    vt_attention_defines more;
    vt_attention_tiles t;
    vt_kernel *k;

    if (wide(p, s, z) && vt_attention_grad_mma_takes(p, s, z))
        vt_attention_grad_mma(&t, p, s, z);
    else
        VT_RET(in_floats(&t, p, s, z));
    vt_attention_define(more, p, s, z);
    snprintf(defines, sizeof defines, "%s%s", t.defines, more);
    VT_RET(vt_step_kernel(&k, p, s, t.file, t.q, defines));
    VT_RET(vt_args(p, k, "vvvv", dq(s), s->out[OUT_STAT], s->in[VT_DY],
                   s->in[VT_Y]));
    VT_RET(vt_attention_arguments(p, k, 4, s, z));
    vt_kernel_size(k, 1, (size_t[3]){blocks(z->Tq, &t) * heads * t.items},
                   (size_t[3]){t.items});
    vt_kernel_work(k, s->op->macs(p, s)); /* of both, at most */
    VT_RET(vt_step_kernel(&k, p, s, t.file, t.kv, defines));
    VT_RET(vt_args(p, k, "vvv", dkv(s), s->in[VT_DY], s->out[OUT_STAT]));
    VT_RET(vt_attention_arguments(p, k, 3, s, z));
    vt_kernel_size(k, 2,
                   (size_t[3]){blocks(z->T, &t) * heads * t.items, t.each},
                   (size_t[3]){t.items, 1});
    vt_kernel_work(k, s->op->macs(p, s));
    return VITCL_OK;
}

/* A kernel of attention_grad.cl; `format`: of out, dy and the statistics. */
static vitcl_status simple(vt_plan *p, vt_step *s, const vt_attention_sizes *z,
                           const char *name, const char *format, vt_val out,
                           const size_t global[3])
{
    char defines[48];
    vt_kernel *k;

    snprintf(defines, sizeof defines, "-DD=%d%s", z->D,
             vt_attention_bias(p, s, z));
    VT_RET(vt_step_kernel(&k, p, s, "attention_grad", name, defines));
    VT_RET(vt_args(p, k, format, out, s->in[VT_DY], s->out[OUT_STAT]));
    VT_RET(vt_attention_arguments(p, k, (unsigned)strlen(format), s, z));
    vt_kernel_size(k, 3, global, NULL);
    return VITCL_OK;
}

static vitcl_status bias_grad(vt_plan *p, vt_step *s,
                              const vt_attention_sizes *z)
{
    const bool each = strchr(vt_attention_bias(p, s, z), '2');
    const size_t heads = (size_t)(each ? z->H * z->B : z->H);

    return simple(p, s, z, "attention_grad__bias", "vvv", s->out[OUT_DBIAS],
                  (size_t[3]){(size_t)z->T, (size_t)z->Tq, heads});
}

/* The probabilities times their gradient, for inspection. */
static vitcl_status product(vt_plan *p, vt_step *s, const vt_attention_sizes *z)
{
    return simple(p, s, z, "attention_grad__product", "vv", s->out[OUT_PRODUCT],
                  (size_t[3]){(size_t)z->Tq, (size_t)z->H, (size_t)z->B});
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    const vt_attention_sizes z = vt_attention_measure(p, s);

    if (by_heads(p, &z)) {
        VT_RET(heads(p, s, &z));
    } else {
        VT_RET(tiles(p, s, &z));
        if (s->i[I_DBIAS])
            VT_RET(bias_grad(p, s, &z));
    }
    if (s->i[I_LAYER])
        VT_RET(product(p, s, &z));
    return VITCL_OK;
}

static double macs(const vt_plan *p, const vt_step *s)
{
    const vt_attention_sizes z = vt_attention_measure(p, s);

    return 5.0 * z.B * z.H * z.Tq * z.T * z.D;
}

static void cpu_stored(const vt_plan *p, const vt_step *s, vt_dtype t,
                       unsigned *in, unsigned *out)
{
    const vt_attention_sizes z = vt_attention_measure(p, s);

    (void)t;
    if (!by_heads(p, &z) || !by_words(p, &z))
        return;
    *in = 1u << IN_Q | 1u << IN_KV | (s->i[I_LAYER] ? 0 : 1u << VT_DY);
    *out = s->i[I_SELF] ? 1u << OUT_DQKV : 0;
}

static const vt_op attention_grad = {.name = "attention_grad",
                                     .shape = shape,
                                     .prepare = prepare,
                                     .cpu_stored = cpu_stored,
                                     .reads = 1u << IN_Q | 1u << IN_KV |
                                              1u << IN_BIAS | 1u << VT_Y,
                                     .macs = macs};

void vt_attention_grad(vt_plan *p, const vt_step *s)
{
    vt_step *g = vt_op_grad_step(p, &attention_grad, s);
    vt_attention_sizes z;

    if (!g)
        return;
    z = vt_attention_measure(p, g);
    if (by_heads(p, &z)) /* only tiles() reads the output */
        g->in[VT_Y] = VT_NONE;
    g->i[I_DBIAS] = vt_grad_wanted(p, s->in[IN_BIAS]);
    if (g->i[I_DBIAS])
        vt_plan_fail(p, vt_op_need(vt_value_of(p, s->in[IN_BIAS])->rank > 2,
                                   "a bias of all heads has no gradient"));
    vt_step_add(p, g);
    if (vt_plan_status(p) != VITCL_OK)
        return;
    if (g->i[I_LAYER])
        vt_name(p, g->out[OUT_PRODUCT], "relevance.%d", g->i[I_LAYER] - 1);
    vt_op_give(p, s->in[IN_Q], dq(g));
    if (!s->i[I_SELF])
        vt_op_give(p, s->in[IN_KV], dkv(g));
    vt_op_give(p, s->in[IN_BIAS], g->out[OUT_DBIAS]);
}
