/*
 * attention_grad.c - gradients of attention from its inputs alone: nothing of
 * T x T is kept between forward and backward.
 *
 * in dout, q, kv, bias, out; out dq (or dqkv, where q and kv are one), dkv,
 * dbias (where wanted), stat (GPU class); i: heads, self, dbias wanted;
 * f: scale.
 */
#include "ops/attention.h"

#include <stdio.h>
#include <string.h>

/* Above so many keys a CPU's work-item has no stack for their sums. */
#define BIG 3000
/* Of a head's keys at most so many numbers are copied to the stack. */
#define HELD 65536

/* What the arrays of attention_grad__heads take of the stack. */
static size_t stack_bytes(const vt_plan *p, const vt_attention_sizes *z,
                          bool held)
{
    const vt_dev *dev = vt_plan_settings(p)->dev;
    const size_t v = dev ? (size_t)vt_dev_vector(dev) : 16, t = (size_t)z->T,
                 d = (size_t)z->D, queries = z->Tq > (int)v ? 2 * v : v;

    return (2 * t * queries + 2 * d * queries + queries +
            (held ? 4 * t * d : 0)) *
           sizeof(float);
}

/* A head's gradients are a work-item's. */
static bool by_heads(const vt_plan *p, const vt_attention_sizes *z)
{
    const vt_dev *dev = vt_plan_settings(p)->dev;

    return vt_op_cpu(p) && z->T <= BIG && (!dev || vt_dev_long_items(dev)) &&
           stack_bytes(p, z, false) <= vt_item_stack();
}

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    const vt_attention_sizes z =
        vt_attention_measure(p, s->in[1], s->in[2], s->i[0], s->i[1]);

    if (z.B > 1 && z.qb == 0)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "queries that pictures share cannot be trained");
    VT_TRY(vt_op_like(p, s, 0, s->in[1]));
    if (!s->i[1])
        VT_TRY(vt_op_like(p, s, 1, s->in[2]));
    if (s->i[2])
        VT_TRY(vt_op_like(p, s, 2, s->in[3]));
    if (!by_heads(p, &z))
        VT_TRY(vt_op_out(p, s, 3, 4, (int[]){z.B, z.H, z.Tq, 2}));
done:
    return st;
}

/* Where the sizes go, after the buffers. */
static vitcl_status sizes(vt_plan *p, vt_kernel *k, unsigned at,
                          const vt_step *s, const vt_attention_sizes *z)
{
    const int n[] = {z->B,   z->H,   z->Tq,   z->T,   z->qb,
                     z->ldq, z->ldk, z->koff, z->voff};
    vitcl_status st = VITCL_OK;
    vt_buf *b;

    for (int i = 1; i <= 3; i++) {
        VT_TRY(vt_bind(&b, p, s->in[i]));
        VT_TRY(vt_kernel_buf(k, at++, b));
    }
    for (size_t i = 0; i < VT_COUNT(n); i++)
        VT_TRY(vt_kernel_int(k, at++, n[i]));
    VT_TRY(vt_kernel_float(k, at++, s->f[0]));
done:
    return st;
}

static vitcl_status heads(vt_plan *p, vt_step *s, const vt_attention_sizes *z)
{
    vitcl_status st = VITCL_OK;
    const int v = vt_dev_vector(vt_plan_settings(p)->dev);
    const char *bias = vt_attention_bias(p, s->in[3], z);
    /* a bias of all pictures is their sum: one behind the other */
    const int pictures = s->i[2] && !strchr(bias, '2') ? z->B : 1;
    const bool held =
        z->T * z->D <= HELD && stack_bytes(p, z, true) <= vt_item_stack();
    char defines[96];
    vt_kernel *k;

    snprintf(defines, sizeof defines, "-DV=%d -DNV=%d -DD=%d -DTMAX=%d%s%s", v,
             z->Tq > v ? 2 : 1, z->D, z->T, held ? " -DHELD" : "", bias);
    VT_TRY(vt_step_kernel(&k, p, s, "attention_grad", "attention_grad__heads",
                          defines));
    VT_TRY(vt_args(p, k, "vvvv", s->out[0], s->out[s->i[1] ? 0 : 1], s->out[2],
                   s->in[0]));
    VT_TRY(sizes(p, k, 4, s, z));
    VT_TRY(vt_kernel_int(k, 17, pictures));
    VT_TRY(vt_kernel_tiles(k, 18, z->H * (z->B / pictures)));
done:
    return st;
}

static vitcl_status many(vt_plan *p, vt_step *s, const vt_attention_sizes *z)
{
    vitcl_status st = VITCL_OK;
    const size_t most = vt_dev_group_max(vt_plan_settings(p)->dev);
    const size_t wg = VT_MIN(most, (size_t)64), h = (size_t)z->H,
                 b = (size_t)z->B, local[3] = {wg, 1, 1};
    const char *bias = vt_attention_bias(p, s->in[3], z);
    const size_t biases = strchr(bias, '2') ? h * b : h;
    char defines[64];
    vt_kernel *k;

    snprintf(defines, sizeof defines, "-DWG=%zu -DD=%d%s", wg, z->D, bias);
    VT_TRY(vt_step_kernel(&k, p, s, "attention_grad", "attention_grad__q",
                          defines));
    VT_TRY(vt_args(p, k, "vvvv", s->out[0], s->out[3], s->in[0], s->in[4]));
    VT_TRY(sizes(p, k, 4, s, z));
    vt_kernel_size(k, 3, (size_t[3]){((size_t)z->Tq + wg - 1) / wg * wg, h, b},
                   local);
    VT_TRY(vt_step_kernel(&k, p, s, "attention_grad", "attention_grad__kv",
                          defines));
    VT_TRY(vt_args(p, k, "vvv", s->out[s->i[1] ? 0 : 1], s->in[0], s->out[3]));
    VT_TRY(sizes(p, k, 3, s, z));
    vt_kernel_size(k, 3, (size_t[3]){((size_t)z->T + wg - 1) / wg * wg, h, b},
                   local);
    if (s->i[2]) {
        VT_TRY(vt_step_kernel(&k, p, s, "attention_grad",
                              "attention_grad__bias", defines));
        VT_TRY(vt_args(p, k, "vvv", s->out[2], s->in[0], s->out[3]));
        VT_TRY(sizes(p, k, 3, s, z));
        vt_kernel_size(k, 3, (size_t[3]){(size_t)z->T, (size_t)z->Tq, biases},
                       NULL);
    }
done:
    return st;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    const vt_attention_sizes z =
        vt_attention_measure(p, s->in[1], s->in[2], s->i[0], s->i[1]);

    return by_heads(p, &z) ? heads(p, s, &z) : many(p, s, &z);
}

static double macs(const vt_plan *p, const vt_step *s)
{
    const vt_attention_sizes z =
        vt_attention_measure(p, s->in[1], s->in[2], s->i[0], s->i[1]);

    return 5.0 * z.B * z.H * z.Tq * z.T * z.D;
}

static const vt_op attention_grad = {
    .name = "attention_grad", .shape = shape, .prepare = prepare, .macs = macs};

void vt_attention_grad(vt_plan *p, const vt_step *s)
{
    vt_step *g = vt_step_new(p, &attention_grad);

    if (!g)
        return;
    g->in[0] = vt_grad(p, s->out[0]);
    g->in[1] = s->in[0], g->in[2] = s->in[1], g->in[3] = s->in[2];
    g->in[4] = s->out[0];
    g->i[0] = s->i[0], g->i[1] = s->i[1];
    g->i[2] = vt_grad_wanted(p, s->in[2]);
    g->f[0] = s->f[0];
    vt_step_add(p, g);
    if (vt_plan_status(p) != VITCL_OK)
        return;
    vt_op_give(p, s->in[0], g->out[0]);
    vt_op_give(p, s->in[1], g->out[1]);
    vt_op_give(p, s->in[2], g->out[2]);
}
