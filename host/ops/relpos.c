/*
 * relpos.c - relative position bias from a table.
 *
 * in table[L,H], index (a constant), and for a backward start[L+1] and order
 * (constants: the pairs of each row of the table); i: heads, Tq, Tk.
 */
#include "ops/common.h"

#include <stdlib.h>

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    return vt_op_out(p, s, 0, 3, s->i);
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int pairs = s->i[1] * s->i[2];

    VT_TRY(vt_op_kernel(&k, p, s, "relpos", "relpos"));
    VT_TRY(
        vt_args(p, k, "vvvii", s->out[0], s->in[0], s->in[1], pairs, s->i[0]));
    vt_op_blocks(k, p, pairs, s->i[0]);
done:
    return st;
}

/* in dtable (a state), dbias, start, order; i as above */
static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;

    VT_TRY(vt_op_kernel(&k, p, s, "relpos", "relpos_grad"));
    VT_TRY(vt_args(p, k, "vvvvii", s->in[0], s->in[1], s->in[2], s->in[3],
                   s->i[1] * s->i[2], s->i[0]));
    vt_op_items(k, p, s->i[0], vt_dim(p, s->in[0], 0));
done:
    return st;
}

static const vt_op relpos_grad = {
    .name = "relpos_grad", .shape = vt_op_no_out, .prepare = grad_prepare};

static void grad(vt_plan *p, const vt_step *s)
{
    vt_val g = vt_grad(p, s->out[0]), sum = vt_grad_param(p, s->in[0]);

    if (sum != VT_NONE)
        vt_op_append(p, &relpos_grad, 4, (vt_val[]){sum, g, s->in[2], s->in[3]},
                     3, s->i);
}

const vt_op vt_op_relpos = {
    .name = "relpos", .shape = shape, .prepare = prepare, .grad = grad};

/* The pairs of each row, in rising order: a counting sort. */
static vitcl_status sort(vt_plan *p, vt_val in[4], const int *index, int pairs,
                         int rows)
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
    in[2] = vt_const_int(p, "", 1, (int[]){rows + 1}, start);
    in[3] = vt_const_int(p, "", 1, &pairs, order);
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
    vt_val in[4] = {table, VT_NONE, VT_NONE, VT_NONE}, out = VT_NONE;
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
    in[1] = vt_const_int(p, "", 1, &pairs, index);
    if (vt_plan_settings(p)->backward)
        VT_TRY(sort(p, in, index, pairs, rows));
    out = vt_op_append(p, &vt_op_relpos, 4, in, 3, (int[]){heads, tq, tk});
done:
    return st == VITCL_OK ? out : vt_plan_fail(p, st);
}
