/*
 * dropout.c - dropout and stochastic depth.
 *
 * The salt makes each op of a plan drop different elements. The limit is the
 * rate in units of 2^-32, an unsigned number whose bits are stored in an int.
 */
#include "ops/common.h"

#include <string.h>

enum { IN_X, IN_STEP };
enum { OUT_Y };
/* I_TOGETHER: number of elements that are dropped together */
enum { I_TOGETHER, I_SALT, I_LIMIT, INTS };
enum { F_FACTOR };

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    VT_RET(vt_op_need(s->in[IN_STEP] != VT_NONE &&
                          vt_value_of(p, s->in[IN_STEP])->dtype == VT_I32,
                      "dropout needs the training step as an i32"));
    return vt_op_like(p, s, OUT_Y, s->in[IN_X]);
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    int n = vt_op_count(p, s->in[IN_X]);

    return vt_op_launch_blocks(p, s, "dropout", "dropout", n, 1, "vvviiiif",
                               s->out[OUT_Y], s->in[IN_X], s->in[IN_STEP], n,
                               s->i[I_TOGETHER], s->i[I_SALT], s->i[I_LIMIT],
                               (double)s->f[F_FACTOR]);
}

static vt_val append(vt_plan *p, vt_val x, vt_val step, const int *i, float f)
{
    vt_step *s = vt_step_new(p, &vt_op_dropout);

    if (!s)
        return VT_NONE;
    s->in[IN_X] = x, s->in[IN_STEP] = step;
    for (int k = 0; k < INTS; k++)
        s->i[k] = i[k];
    s->f[F_FACTOR] = f;
    return vt_step_add(p, s);
}

/* The mask is the same, so the same elements are dropped. */
static void grad(vt_plan *p, const vt_step *s)
{
    vt_op_give(p, s->in[IN_X],
               append(p, vt_grad(p, s->out[OUT_Y]), s->in[IN_STEP], s->i,
                      s->f[F_FACTOR]));
}

const vt_op vt_op_dropout = {
    .name = "dropout", .shape = shape, .prepare = prepare, .grad = grad};

static vt_val drop(vt_plan *p, vt_val x, vt_val step, unsigned random_state,
                   float rate, int per)
{
    unsigned salt =
        random_state * 0x9e3779b9u + (unsigned)vt_plan_steps(p) + 1u;
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
    return append(p, x, step,
                  (int[]){[I_TOGETHER] = per,
                          [I_SALT] = (int)(salt & 0x7fffffffu),
                          [I_LIMIT] = bits},
                  1.0f / (1.0f - rate));
}

vt_val vt_dropout(vt_plan *p, vt_val x, vt_val step, unsigned random_state,
                  float rate)
{
    return drop(p, x, step, random_state, rate, 1);
}

vt_val vt_drop_path(vt_plan *p, vt_val x, vt_val step, unsigned random_state,
                    float rate)
{
    return drop(p, x, step, random_state, rate,
                vt_op_count(p, x) / vt_dim(p, x, 0));
}
