/*
 * relpos.c - relative position bias from a table.
 */
#include "ops/common.h"

#include <stdlib.h>

/* START[L+1] and ORDER, for gradients: the pairs of each row of the table */
enum { IN_TABLE, IN_INDEX, IN_START, IN_ORDER, INS };
enum { OUT_BIAS };
enum { I_HEADS, I_TQ, I_TK, INTS };

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    return vt_op_out(p, s, OUT_BIAS, 3,
                     (int[]){s->i[I_HEADS], s->i[I_TQ], s->i[I_TK]});
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    int pairs = s->i[I_TQ] * s->i[I_TK];

    return vt_op_launch_blocks(p, s, "relpos", "relpos", pairs, s->i[I_HEADS],
                               "vvvii", s->out[OUT_BIAS], s->in[IN_TABLE],
                               s->in[IN_INDEX], pairs, s->i[I_HEADS]);
}

static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    return vt_op_launch_items(p, s, "relpos", "relpos_grad", s->i[I_HEADS],
                              vt_dim(p, s->in[IN_TABLE], 0), "vvvvii",
                              s->in[IN_TABLE], s->in[VT_DY], s->in[IN_START],
                              s->in[IN_ORDER], s->i[I_TQ] * s->i[I_TK],
                              s->i[I_HEADS]);
}

static const vt_op relpos_grad = {.name = "relpos_grad",
                                  .prepare = grad_prepare,
                                  .reads = 1u << IN_START | 1u << IN_ORDER,
                                  .adds = 1u << IN_TABLE};

const vt_op vt_op_relpos = {.name = "relpos",
                            .shape = shape,
                            .prepare = prepare,
                            .grad = vt_op_grad,
                            .grads = {&relpos_grad}};

/* The pairs of each row in ascending order, by counting sort. */
static vitcl_status sort(vt_plan *p, vt_val in[INS], const int *index,
                         int pairs, int rows)
{
    vitcl_status st = VITCL_OK;
    int *start = NULL, *order = NULL, *at = NULL;

    VT_TRY(VT_NEW(&start, (size_t)rows + 1));
    VT_TRY(VT_NEW(&order, (size_t)pairs));
    VT_TRY(VT_NEW(&at, (size_t)rows + 1));
    for (int i = 0; i < pairs; i++)
        at[index[i] + 1]++;
    for (int l = 0; l < rows; l++)
        at[l + 1] += at[l];
    for (int l = 0; l <= rows; l++)
        start[l] = at[l];
    for (int i = 0; i < pairs; i++)
        order[at[index[i]]++] = i;
    in[IN_START] = vt_const_int(p, "", 1, (int[]){rows + 1}, start);
    in[IN_ORDER] = vt_const_int(p, "", 1, &pairs, order);
done:
    free(start);
    free(order);
    free(at);
    return st;
}

vt_val vt_relpos_bias(vt_plan *p, vt_val table, int heads, int tq, int tk,
                      const int *index)
{
    vitcl_status st = VITCL_OK;
    vt_val in[INS] = {[IN_TABLE] = table,
                      [IN_INDEX] = VT_NONE,
                      [IN_START] = VT_NONE,
                      [IN_ORDER] = VT_NONE},
           out = VT_NONE;
    int rows = vt_dim(p, table, 0), pairs;

    VT_TRY(vt_plan_status(p));
    VT_TRY(vt_op_need(table != VT_NONE && vt_dim(p, table, 1) == heads &&
                          tq >= 1 && tk >= 1,
                      "relative positions need a table [L,heads]"));
    VT_TRY(vt_op_need(tq <= INT32_MAX / tk,
                      "more pairs of tokens than kernels can index; use a "
                      "smaller picture"));
    pairs = tq * tk;
    for (int i = 0; i < pairs; i++)
        VT_TRY(vt_op_need(index[i] >= 0 && index[i] < rows,
                          "a relative position is outside the table"));
    in[IN_INDEX] = vt_const_int(p, "", 1, &pairs, index);
    if (vt_plan_settings(p)->backward)
        VT_TRY(sort(p, in, index, pairs, rows));
    out = vt_op_append(p, &vt_op_relpos, INS, in, INTS,
                       (int[]){[I_HEADS] = heads, [I_TQ] = tq, [I_TK] = tk});
done:
    return st == VITCL_OK ? out : vt_plan_fail(p, st);
}
