/*
 * rope.c - rotary position embedding.
 */
#include "ops/common.h"

enum { IN_QKV, IN_TABLE, INS };
enum { OUT_QKV };
enum { I_HEADS, I_SKIP, I_HALVES, INTS };

/* Has each head a table of its own? */
static bool is_each(const vt_plan *p, const vt_step *s)
{
    return vt_value_of(p, s->in[IN_TABLE])->rank == 4;
}

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vt_val x = s->in[IN_QKV];
    int heads = s->i[I_HEADS], skip = s->i[I_SKIP], t = vt_dim(p, x, 1), d;

    VT_RET(vt_op_need(x != VT_NONE && vt_value_of(p, x)->rank == 3 &&
                          heads >= 1 && vt_dim(p, x, 2) % (3 * heads) == 0 &&
                          skip >= 0 && skip <= t,
                      "qkv must be [B,T,3*heads*D]"));
    d = vt_dim(p, x, 2) / 3 / heads;
    VT_RET(vt_op_need(d % 2 == 0 && vt_op_count(p, s->in[IN_TABLE]) ==
                                        (long long)(is_each(p, s) ? heads : 1) *
                                            (t - skip) * 2 * d,
                      "the table must be [T-skip,2,D] or [H,T-skip,2,D], D "
                      "even"));
    return vt_op_like(p, s, OUT_QKV, x);
}

/* rope_grad: IN_QKV is the gradient of OUT_QKV. */
static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vt_val x = s->in[IN_QKV];
    int c = vt_dim(p, x, 2) / 3, d = c / s->i[I_HEADS];
    int each = is_each(p, s) ? (vt_dim(p, x, 1) - s->i[I_SKIP]) * 2 * d : 0;

    return vt_op_launch_blocks(p, s, "rope", s->op->name, 3 * c / 2,
                               vt_op_rows(p, x), "vvviiiiii", s->out[OUT_QKV],
                               x, s->in[IN_TABLE], vt_dim(p, x, 1), c, d,
                               s->i[I_SKIP], s->i[I_HALVES], each);
}

static const vt_op rope_grad = {
    .name = "rope_grad", .shape = shape, .prepare = prepare};

static void grad(vt_plan *p, const vt_step *s)
{
    vt_op_give(p, s->in[IN_QKV],
               vt_op_append(p, &rope_grad, INS,
                            (vt_val[]){[IN_QKV] = vt_grad(p, s->out[OUT_QKV]),
                                       [IN_TABLE] = s->in[IN_TABLE]},
                            INTS, s->i));
}

const vt_op vt_op_rope = {.name = "rope",
                          .shape = shape,
                          .prepare = prepare,
                          .grad = grad,
                          .half_in = 1u << IN_QKV,
                          .half_out = 1u << OUT_QKV};

vt_val vt_rope(vt_plan *p, vt_val qkv, int heads, vt_val table, int skip,
               bool halves)
{
    return vt_op_append(
        p, &vt_op_rope, INS, (vt_val[]){[IN_QKV] = qkv, [IN_TABLE] = table},
        INTS, (int[]){[I_HEADS] = heads, [I_SKIP] = skip, [I_HALVES] = halves});
}
