/*
 * dropout.c - dropout and stochastic depth.
 *
 * in x, step[1] (i32); i: elements that fall together, salt, limit; f: factor.
 * Salt makes each op of a plan drop other elements; limit is the rate in
 * 2^-32, kept in an int bit by bit.
 */
#include "ops/common.h"

#include <string.h>

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;

    VT_TRY(vt_op_need(s->in[1] != VT_NONE &&
                          vt_value_of(p, s->in[1])->dtype == VT_I32,
                      "dropout needs the training step as an i32"));
    VT_TRY(vt_op_like(p, s, 0, s->in[0]));
done:
    return st;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int n = vt_op_count(p, s->in[0]);

    VT_TRY(vt_op_kernel(&k, p, s, "dropout", "dropout"));
    VT_TRY(vt_args(p, k, "vvviiiif", s->out[0], s->in[0], s->in[1], n, s->i[0],
                   s->i[1], s->i[2], (double)s->f[0]));
    vt_op_blocks(k, p, n, 1);
done:
    return st;
}

static vt_val append(vt_plan *p, vt_val x, vt_val step, const int *i, float f)
{
    vt_step *s = vt_step_new(p, &vt_op_dropout);

    if (!s)
        return VT_NONE;
    s->in[0] = x, s->in[1] = step;
    for (int k = 0; k < 3; k++)
        s->i[k] = i[k];
    s->f[0] = f;
    return vt_step_add(p, s);
}

/* The same elements fall. */
static void grad(vt_plan *p, const vt_step *s)
{
    vt_op_give(p, s->in[0],
               append(p, vt_grad(p, s->out[0]), s->in[1], s->i, s->f[0]));
}

const vt_op vt_op_dropout = {
    .name = "dropout", .shape = shape, .prepare = prepare, .grad = grad};

static vt_val drop(vt_plan *p, vt_val x, vt_val step, float rate, int per)
{
    unsigned state = vt_plan_settings(p)->random_state;
    unsigned salt = state * 0x9e3779b9u + (unsigned)vt_plan_steps(p) + 1u;
    uint32_t limit;
    int bits;

    if (vt_plan_status(p) != VITCL_OK)
        return VT_NONE;
    if (!(rate >= 0 && rate < 1))
        return vt_plan_fail(p, vt_fail(VITCL_EINVAL,
                                       "a dropout rate of %g is not in [0, 1)",
                                       (double)rate));
    if (rate <= 0)
        return x;
    limit = (uint32_t)((double)rate * 4294967296.0);
    memcpy(&bits, &limit, sizeof bits);
    return append(p, x, step, (int[]){per, (int)(salt & 0x7fffffffu), bits},
                  1.0f / (1.0f - rate));
}

vt_val vt_dropout(vt_plan *p, vt_val x, vt_val step, float rate)
{
    return drop(p, x, step, rate, 1);
}

vt_val vt_drop_path(vt_plan *p, vt_val x, vt_val step, float rate)
{
    return drop(p, x, step, rate, vt_op_count(p, x) / vt_dim(p, x, 0));
}
