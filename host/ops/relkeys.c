/*
 * relkeys.c - logits against learnt keys of relative positions.
 */
#include "ops/common.h"

#include <math.h>

enum { IN_QKV, IN_KEYS };
enum { OUT_BIAS };
enum { I_HEADS, I_PREFIX };
enum { F_SCALE };

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    const vt_value *x = vt_value_of(p, s->in[IN_QKV]),
                   *k = vt_value_of(p, s->in[IN_KEYS]);
    const int heads = s->i[I_HEADS], prefix = s->i[I_PREFIX];
    int patches, rows;

    VT_RET(vt_op_need(x && k && x->rank == 3 && k->rank == 2 && heads >= 1 &&
                          x->dim[2] == 3 * k->dim[1] && k->dim[1] % heads == 0,
                      "relative keys need qkv [B,T,3C] and keys [L,C]"));
    patches = x->dim[1] - prefix;
    rows = 2 * patches - 1 + (prefix ? 3 : 0);
    VT_RET(vt_op_need(prefix >= 0 && patches > 0 && k->dim[0] == rows,
                      "there is not one key for each relative place"));
    return vt_op_out(p, s, OUT_BIAS, 4,
                     (int[]){x->dim[0], heads, x->dim[1], x->dim[1]});
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vt_val x = s->in[IN_QKV];
    const int t = vt_dim(p, x, 1), h = s->i[I_HEADS];

    return vt_op_launch_items(p, s, "relkeys", "relkeys", t,
                              vt_dim(p, x, 0) * h, "vvviiiif", s->out[OUT_BIAS],
                              x, s->in[IN_KEYS], h, vt_dim(p, x, 2) / 3 / h, t,
                              s->i[I_PREFIX], (double)s->f[F_SCALE]);
}

static double macs(const vt_plan *p, const vt_step *s)
{
    const double t = vt_dim(p, s->in[IN_QKV], 1);

    return t * t * vt_dim(p, s->in[IN_QKV], 0) * vt_dim(p, s->in[IN_KEYS], 1);
}

static vitcl_status q_prepare(vt_plan *p, vt_step *s)
{
    vt_val x = s->in[IN_QKV];
    const int t = vt_dim(p, x, 1), h = s->i[I_HEADS];

    return vt_op_launch_items(
        p, s, "relkeys", "relkeys_grad_q", t, vt_dim(p, x, 0) * h, "vvviiiif",
        s->out[VT_DX], s->in[VT_DY], s->in[IN_KEYS], h, vt_dim(p, x, 2) / 3 / h,
        t, s->i[I_PREFIX], (double)s->f[F_SCALE]);
}

static const vt_op grad_q = {.name = "relkeys_grad_q",
                             .prepare = q_prepare,
                             .reads = 1u << IN_QKV | 1u << IN_KEYS};

static vitcl_status w_prepare(vt_plan *p, vt_step *s)
{
    vt_val x = s->in[IN_QKV];
    const int h = s->i[I_HEADS];

    return vt_op_launch_items(p, s, "relkeys", "relkeys_grad_w",
                              vt_dim(p, s->in[IN_KEYS], 0), h, "vvviiiiif",
                              s->in[IN_KEYS], s->in[VT_DY], x, vt_dim(p, x, 0),
                              h, vt_dim(p, x, 2) / 3 / h, vt_dim(p, x, 1),
                              s->i[I_PREFIX], (double)s->f[F_SCALE]);
}

static const vt_op grad_w = {.name = "relkeys_grad_w",
                             .prepare = w_prepare,
                             .reads = 1u << IN_QKV,
                             .adds = 1u << IN_KEYS};

const vt_op vt_op_relkeys = {.name = "relkeys",
                             .shape = shape,
                             .prepare = prepare,
                             .grad = vt_op_grad,
                             .grads = {&grad_w, &grad_q},
                             .macs = macs,
                             .half_in = 1u << IN_QKV};

vt_val vt_relkeys(vt_plan *p, vt_val qkv, vt_val keys, int heads, int prefix)
{
    const double head = heads > 0 ? (double)vt_dim(p, qkv, 2) / (3 * heads) : 1;
    vt_step *s = vt_step_new(p, &vt_op_relkeys);

    if (!s)
        return VT_NONE;
    s->in[IN_QKV] = qkv, s->in[IN_KEYS] = keys;
    s->i[I_HEADS] = heads, s->i[I_PREFIX] = prefix;
    s->f[F_SCALE] = (float)(1 / sqrt(head));
    return vt_step_add(p, s);
}
