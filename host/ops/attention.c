/*
 * attention.c - softmax(scale q k^T + bias) v of each head; T x T is stored
 * only if a keep pattern asks for the probabilities.
 *
 * Probabilities are computed by a separate kernel, so that keeping them does
 * not change y's bits.
 *
 * Surprising: the CPU kernel's block sizes are chosen here from Tq, T and D.
 * They are defines of the kernel, so each shape is a program of its own.
 */
#include "ops/attention.h"

#include "ops/attention_tiles.h"

#include <math.h>
#include <stdio.h>

enum { I_PROBS = I_ROWS + 1 }; /* are they stored? */
enum { OUT_PROBS = OUT_Y + 1 };

#define KEYS 256             /* in a block: 16 KiB of scores for 16 queries */
#define HELD_MOST (1u << 20) /* bytes of keys and values: a cache's */

typedef vt_attention_sizes sizes;

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    const vt_value *q = vt_value_of(p, s->in[IN_Q]),
                   *kv = vt_value_of(p, s->in[IN_KV]);
    const int parts = s->i[I_SELF] ? 3 : 2, heads = s->i[I_HEADS];
    sizes z;

    VT_RET(vt_op_need(q && kv && q->rank == 3 && kv->rank == 3,
                      "needs [B,T,C] tensors"));
    VT_RET(vt_op_need(heads >= 1 && kv->dim[2] % parts == 0 &&
                          kv->dim[2] / parts % heads == 0,
                      "the width does not divide into heads"));
    VT_RET(vt_op_need(s->i[I_SELF] ||
                          (q->dim[2] == kv->dim[2] / 2 &&
                           (q->dim[0] == 1 || q->dim[0] == kv->dim[0])),
                      "queries and keys differ in width or batch"));
    if (s->i[I_TO] != VT_TO_ALL)
        VT_RET(vt_op_need(s->i[I_SELF] && s->i[I_WIDE] >= 1 &&
                              kv->dim[1] % s->i[I_WIDE] == 0 &&
                              s->in[IN_BIAS] == VT_NONE && !s->i[I_LAYER],
                          "axial attention needs whole rows of tokens, and no "
                          "bias"));
    if (s->i[I_ROWS])
        VT_RET(vt_op_need(
            s->i[I_SELF] && s->i[I_ROWS] >= 1 && s->i[I_ROWS] <= kv->dim[1] &&
                s->i[I_TO] == VT_TO_ALL && s->in[IN_BIAS] == VT_NONE &&
                !vt_plan_settings(p)->backward,
            "the first queries alone have no bias and no gradient"));
    z = vt_attention_measure(p, s);
    VT_RET(vt_op_need(z.D <= 256, "heads are wider than 256"));
    VT_RET(vt_op_need(vt_attention_bias(p, s, &z) != NULL,
                      "the bias is not [heads, queries, keys]"));
    VT_RET(
        vt_op_out(p, s, OUT_Y, 3,
                  (int[]){kv->dim[0], s->i[I_ROWS] ? s->i[I_ROWS] : q->dim[1],
                          z.H * z.D}));
    if (s->i[I_PROBS])
        VT_RET(
            vt_op_out(p, s, OUT_PROBS, 4,
                      (int[]){kv->dim[0], z.B / kv->dim[0] * z.H, z.Tq, z.T}));
    return VITCL_OK;
}

/* The layer of the probabilities' name, from 1, if its relevance is wanted. */
static int relevant_layer(const vt_plan *p, const char *probs)
{
    int layer = 0;

    if (!vt_plan_settings(p)->backward || !probs ||
        sscanf(probs, "attention.%6d", &layer) != 1 ||
        !vt_wanted(p, "relevance.%d", layer))
        return 0;
    return layer + 1;
}

/* n rows in blocks of at most `most` and of about equal size: `big` blocks of
 * `rows` rows, then blocks of `rows1`. */
typedef struct cut {
    int blocks, big, rows, rows1;
} cut;

static cut even(int n, int most)
{
    cut c = {.blocks = (n + most - 1) / most};

    c.rows = (n + c.blocks - 1) / c.blocks;
    c.big = c.rows > 1 ? n - c.blocks * (c.rows - 1) : c.blocks;
    c.rows1 = c.big < c.blocks ? c.rows - 1 : c.rows;
    return c;
}

static vitcl_status arguments(vt_plan *p, vt_kernel *k, const vt_step *s,
                              vt_val out, const sizes *z)
{
    VT_RET(vt_args(p, k, "v", out));
    return vt_attention_arguments(p, k, 1, s, z);
}

/* Heads of an odd width would begin between two words. */
static void cpu_stored(const vt_plan *p, const vt_step *s, vt_dtype t,
                       unsigned *in, unsigned *out)
{
    if (t != VT_BF16 || !vt_op_dots(p) || vt_attention_measure(p, s).D % 2 != 0)
        return;
    *in = 1u << IN_Q | 1u << IN_KV;
    *out = 1u << OUT_Y;
}

/* Work-groups of one work-item; vectors run over queries. */
static vitcl_status rows(vt_plan *p, vt_step *s, const sizes *z)
{
    const int v = vt_dev_vector(vt_plan_settings(p)->dev);
    const int nv = z->Tq > v ? 2 : 1;
    const int most = v == 16 ? 28 / nv : 12 / nv;
    const cut t = even(z->T, most), d = even(z->D, most);
    const int blocks = (z->Tq + nv * v - 1) / (nv * v);
    char defines[280];
    vt_attention_defines more;
    vt_kernel *k;

    vt_attention_define(more, p, s, z);
    snprintf(defines, sizeof defines,
             " -DNV=%d -DD=%d -DRT=%d -DRT1=%d -DJB=%d -DRD=%d -DRD1=%d "
             "-DDBIG=%d%s",
             nv, z->D, t.rows, t.rows1, KEYS / t.rows, d.rows, d.rows1, d.big,
             more);
    VT_RET(vt_op_kernel_with(&k, p, s, "attention_rows", "attention__rows",
                             defines));
    VT_RET(arguments(p, k, s, s->out[OUT_Y], z));
    VT_RET(vt_kernel_int(k, 14, t.blocks));
    VT_RET(vt_kernel_int(k, 15, t.big));
    VT_RET(vt_kernel_tiles(k, 16, blocks * z->H * z->B));
    snprintf(s->note, sizeof s->note, "attention rows %dx%d", t.rows, nv * v);
    return VITCL_OK;
}

/* The same by dot products; vectors run over keys. */
static vitcl_status words(vt_plan *p, vt_step *s, const sizes *z)
{
    const int v = vt_dev_vector(vt_plan_settings(p)->dev);
    const int vectors = (z->T + v - 1) / v;
    const bool tiles = vt_op_dots(p) == VT_DOT_BF16_TILES;
    const cut r = even(z->Tq, tiles ? 16 : 14), t = even(vectors, KEYS / v);
    const int kv = t.blocks > 1 || tiles ? t.rows + t.rows % 2 : t.rows;
    const int blocks = (vectors + kv - 1) / kv;
    const size_t words =
        (size_t)(2 * blocks * kv * v * ((z->D + 31) / 32 * 16));
    const bool held = words * 4 <= VT_MIN(vt_item_stack() / 2, HELD_MOST);
    char defines[160];
    vt_attention_defines more;
    vt_kernel *k;

    vt_attention_define(more, p, s, z);
    snprintf(defines, sizeof defines,
             " -DD=%d -DR=%d -DR1=%d -DKV=%d -DHELD=%d%s%s", z->D, r.rows,
             r.rows1, kv, held ? blocks : 1, tiles ? " -DTILES" : "", more);
    VT_RET(vt_op_kernel_with(&k, p, s, "attention_words", "attention__words",
                             defines));
    VT_RET(arguments(p, k, s, s->out[OUT_Y], z));
    VT_RET(vt_kernel_int(k, 14, r.blocks));
    VT_RET(vt_kernel_int(k, 15, r.big));
    VT_RET(vt_kernel_tiles(k, 16, r.blocks * z->H * z->B));
    snprintf(s->note, sizeof s->note, "attention words %dx%d bf16", r.rows,
             kv * v);
    return VITCL_OK;
}

/* One query a work-item; keys and values are in local memory. */
static vitcl_status tiled(vt_plan *p, vt_step *s, const sizes *z)
{
    const vt_query_tiles t = vt_query_tiles_of(vt_plan_settings(p)->dev, z->D);
    const size_t local[3] = {t.items, 1, 1},
                 global[3] = {((size_t)z->Tq + t.items - 1) / t.items * t.items,
                              (size_t)z->H, (size_t)z->B};
    char defines[176];
    vt_attention_defines more;
    vt_op_define y;
    vt_kernel *k;

    vt_attention_define(more, p, s, z);
    snprintf(defines, sizeof defines, "%s%s%s", t.defines, more,
             vt_op_stored(y, p, "YT", s->out[OUT_Y]));
    VT_RET(vt_step_kernel(&k, p, s, "attention", "attention__tiled", defines));
    VT_RET(arguments(p, k, s, s->out[OUT_Y], z));
    vt_kernel_size(k, 3, global, local);
    vt_kernel_work(k, s->op->macs(p, s));
    snprintf(s->note, sizeof s->note, "attention tiled %zux%d", t.items,
             t.keys);
    return VITCL_OK;
}

static vitcl_status probs(vt_plan *p, vt_step *s, const sizes *z)
{
    const size_t global[3] = {(size_t)z->Tq, (size_t)z->H, (size_t)z->B};
    char defines[120];
    vt_attention_defines more;
    vt_kernel *k;

    vt_attention_define(more, p, s, z);
    snprintf(defines, sizeof defines, "-DD=%d%s", z->D, more);
    VT_RET(vt_step_kernel(&k, p, s, "attention", "attention__probs", defines));
    VT_RET(arguments(p, k, s, s->out[OUT_PROBS], z));
    vt_kernel_size(k, 3, global, NULL);
    return VITCL_OK;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    const sizes z = vt_attention_measure(p, s);

    VT_RET(vt_op_dots(p)                      ? words(p, s, &z)
           : vt_op_cpu(p)                     ? rows(p, s, &z)
           : vt_attention_mma_takes(p, s, &z) ? vt_attention_mma(p, s, &z)
                                              : tiled(p, s, &z));
    if (s->i[I_PROBS])
        VT_RET(probs(p, s, &z));
    return VITCL_OK;
}

static double macs(const vt_plan *p, const vt_step *s)
{
    const sizes z = vt_attention_measure(p, s);

    return 2.0 * z.B * z.H * z.Tq * z.T * z.D;
}

const vt_op vt_op_attention = {.name = "attention",
                               .shape = shape,
                               .prepare = prepare,
                               .grad = vt_attention_grad,
                               .macs = macs,
                               .half_in = 1u << IN_Q | 1u << IN_KV,
                               .half_out = 1u << OUT_Y,
                               .cpu_stored = cpu_stored};

static vt_val append(vt_plan *p, vt_val q, vt_val kv, bool self,
                     const vt_attention_args *a)
{
    vt_step *s = vt_step_new(p, &vt_op_attention);
    vt_val y;

    if (!s)
        return VT_NONE;
    s->in[IN_Q] = q, s->in[IN_KV] = kv, s->in[IN_BIAS] = a->bias;
    s->i[I_HEADS] = a->heads, s->i[I_SELF] = self;
    s->i[I_PROBS] = a->probs && vt_wanted(p, "%s", a->probs);
    s->i[I_LAYER] = a->to == VT_TO_ALL ? relevant_layer(p, a->probs) : 0;
    s->i[I_TO] = (int)a->to, s->i[I_WIDE] = a->wide;
    s->i[I_ROWS] = a->rows;
    s->f[F_SCALE] = a->scale;
    if (s->f[F_SCALE] == 0.0f && a->heads > 0)
        s->f[F_SCALE] = (float)(1.0 / sqrt((double)vt_dim(p, kv, 2) /
                                           ((self ? 3 : 2) * a->heads)));
    y = vt_step_add(p, s);
    if (y != VT_NONE && s->i[I_PROBS])
        vt_name(p, s->out[OUT_PROBS], "%s", a->probs);
    return y;
}

vt_val vt_attention(vt_plan *p, vt_val qkv, vt_attention_args a)
{
    return append(p, qkv, qkv, true, &a);
}

vt_val vt_attention_cross(vt_plan *p, vt_val q, vt_val kv, vt_attention_args a)
{
    return append(p, q, kv, false, &a);
}
