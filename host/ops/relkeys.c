/*
 * relkeys.c - logits against learnt keys of relative places.
 *
 * in qkv[B,T,3C], keys[L,C]; out bias[B,H,T,T]; i: heads, prefix tokens;
 * f: scale.
 */
#include "ops/common.h"

#include <math.h>

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    const vt_value *x = vt_value_of(p, s->in[0]), *k = vt_value_of(p, s->in[1]);
    const int heads = s->i[0], prefix = s->i[1];
    int patches, rows;

    VT_TRY(vt_op_need(x && k && x->rank == 3 && k->rank == 2 && heads >= 1 &&
                          x->dim[2] == 3 * k->dim[1] && k->dim[1] % heads == 0,
                      "relative keys need qkv [B,T,3C] and keys [L,C]"));
    patches = x->dim[1] - prefix;
    rows = 2 * patches - 1 + (prefix ? 3 : 0);
    VT_TRY(vt_op_need(prefix >= 0 && patches > 0 && k->dim[0] == rows,
                      "there is not one key for each relative place"));
    VT_TRY(
        vt_op_out(p, s, 0, 4, (int[]){x->dim[0], heads, x->dim[1], x->dim[1]}));
done:
    return st;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->in[0];
    const int t = vt_dim(p, x, 1), h = s->i[0];

    VT_TRY(vt_op_kernel(&k, p, s, "relkeys", "relkeys"));
    VT_TRY(vt_args(p, k, "vvviiiif", s->out[0], x, s->in[1], h,
                   vt_dim(p, x, 2) / 3 / h, t, s->i[1], (double)s->f[0]));
    vt_op_items(k, p, t, vt_dim(p, x, 0) * h);
done:
    return st;
}

static double macs(const vt_plan *p, const vt_step *s)
{
    const double t = vt_dim(p, s->in[0], 1);

    return t * t * vt_dim(p, s->in[0], 0) * vt_dim(p, s->in[1], 1);
}

/* in dbias, keys, qkv (for its shape); out dqkv; i, f as above */
static vitcl_status q_shape(vt_plan *p, vt_step *s)
{
    return vt_op_like(p, s, 0, s->in[2]);
}

static vitcl_status q_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->in[2];
    const int t = vt_dim(p, x, 1), h = s->i[0];

    VT_TRY(vt_op_kernel(&k, p, s, "relkeys", "relkeys_grad_q"));
    VT_TRY(vt_args(p, k, "vvviiiif", s->out[0], s->in[0], s->in[1], h,
                   vt_dim(p, x, 2) / 3 / h, t, s->i[1], (double)s->f[0]));
    vt_op_items(k, p, t, vt_dim(p, x, 0) * h);
done:
    return st;
}

static const vt_op grad_q = {
    .name = "relkeys_grad_q", .shape = q_shape, .prepare = q_prepare};

/* in dkeys (a state), dbias, qkv; i, f as above */
static vitcl_status w_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->in[2];
    const int h = s->i[0];

    VT_TRY(vt_op_kernel(&k, p, s, "relkeys", "relkeys_grad_w"));
    VT_TRY(vt_args(p, k, "vvviiiiif", s->in[0], s->in[1], x, vt_dim(p, x, 0), h,
                   vt_dim(p, x, 2) / 3 / h, vt_dim(p, x, 1), s->i[1],
                   (double)s->f[0]));
    vt_op_items(k, p, vt_dim(p, s->in[0], 0), h);
done:
    return st;
}

static const vt_op grad_w = {
    .name = "relkeys_grad_w", .shape = vt_op_no_out, .prepare = w_prepare};

static vt_val append(vt_plan *p, const vt_op *op, const vt_val in[3], int heads,
                     int prefix, float scale)
{
    vt_step *s = vt_step_new(p, op);

    if (!s)
        return VT_NONE;
    for (int i = 0; i < 3; i++)
        s->in[i] = in[i];
    s->i[0] = heads, s->i[1] = prefix;
    s->f[0] = scale;
    return vt_step_add(p, s);
}

static void grad(vt_plan *p, const vt_step *s)
{
    const vt_val g = vt_grad(p, s->out[0]), sum = vt_grad_param(p, s->in[1]);
    const vt_val x = s->in[0];

    if (sum != VT_NONE)
        append(p, &grad_w, (vt_val[]){sum, g, x}, s->i[0], s->i[1], s->f[0]);
    if (vt_grad_wanted(p, x))
        vt_op_give(p, x,
                   append(p, &grad_q, (vt_val[]){g, s->in[1], x}, s->i[0],
                          s->i[1], s->f[0]));
}

const vt_op vt_op_relkeys = {.name = "relkeys",
                             .shape = shape,
                             .prepare = prepare,
                             .grad = grad,
                             .macs = macs};

vt_val vt_relkeys(vt_plan *p, vt_val qkv, vt_val keys, int heads, int prefix)
{
    const double head = heads > 0 ? (double)vt_dim(p, qkv, 2) / (3 * heads) : 1;

    return append(p, &vt_op_relkeys, (vt_val[]){qkv, keys, VT_NONE}, heads,
                  prefix, (float)(1 / sqrt(head)));
}
