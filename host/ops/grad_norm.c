/*
 * grad_norm.c - the global norm of all gradients.
 *
 * A step has few inputs and a model has many parameters. So each gradient has a
 * step that writes PARTS sums to a shared state; the last step adds them up.
 */
#include "ops/common.h"

enum { IN_PARTS, INS };
enum { OUT_NORM };
/* norm_part: writes to a state at I_AT */
enum { PART_PARTS, PART_GRAD, PART_INS };
enum { I_AT, PART_INTS };

#define PARTS 64 /* enough work-groups for a GPU, and few to add up */

static vitcl_status part_shape(vt_plan *p, vt_step *s)
{
    return vt_op_need(
        s->in[PART_PARTS] != VT_NONE && s->in[PART_GRAD] != VT_NONE &&
            s->i[I_AT] + PARTS <= vt_op_count(p, s->in[PART_PARTS]),
        "a gradient is missing");
}

static vitcl_status part_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;

    VT_TRY(vt_op_kernel(&k, p, s, "grad_norm", "grad_norm_part"));
    VT_TRY(vt_args(p, k, "vvii", s->in[PART_PARTS], s->in[PART_GRAD],
                   vt_op_count(p, s->in[PART_GRAD]), s->i[I_AT]));
    vt_op_groups(k, p, PARTS);
done:
    return st;
}

static const vt_op norm_part = {
    .name = "grad_norm_part", .shape = part_shape, .prepare = part_prepare};

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    return vt_op_out(p, s, OUT_NORM, 1, (int[]){1});
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;

    VT_TRY(vt_op_kernel(&k, p, s, "grad_norm", "grad_norm"));
    VT_TRY(vt_args(p, k, "vvi", s->out[OUT_NORM], s->in[IN_PARTS],
                   vt_op_count(p, s->in[IN_PARTS])));
    vt_op_groups(k, p, 1);
done:
    return st;
}

/* No grad: only the optimiser reads it. */
const vt_op vt_op_grad_norm = {
    .name = "grad_norm", .shape = shape, .prepare = prepare};

vt_val vt_grad_norm(vt_plan *p, const vt_val *grad, int n)
{
    vt_val part = vt_state(p, "grad_norm.parts", VT_F32, 1,
                           (int[]){VT_MAX(n, 1) * PARTS});

    for (int i = 0; i < n; i++)
        vt_op_append(p, &norm_part, PART_INS,
                     (vt_val[]){[PART_PARTS] = part, [PART_GRAD] = grad[i]},
                     PART_INTS, (int[]){[I_AT] = i * PARTS});
    return vt_op_append(p, &vt_op_grad_norm, INS, (vt_val[]){[IN_PARTS] = part},
                        0, NULL);
}
