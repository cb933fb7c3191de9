/*
 * add.c - sums: residuals, positions; and the accumulation of gradients.
 */
#include "ops/common.h"

/* ---- add: in a, b ---- */

static vitcl_status add_shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;

    VT_TRY(vt_op_need(s->in[0] != VT_NONE &&
                          vt_op_count(p, s->in[0]) == vt_op_count(p, s->in[1]),
                      "the two tensors differ in size"));
    VT_TRY(vt_op_like(p, s, 0, s->in[0]));
done:
    return st;
}

static vitcl_status add_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int n = vt_op_count(p, s->in[0]);

    VT_TRY(vt_op_kernel(&k, p, s, "add", "add"));
    VT_TRY(vt_args(p, k, "vvvi", s->out[0], s->in[0], s->in[1], n));
    vt_op_blocks(k, p, n, 1);
done:
    return st;
}

static void add_grad(vt_plan *p, const vt_step *s)
{
    vt_val g = vt_grad(p, s->out[0]);

    vt_op_give(p, s->in[0], g);
    vt_op_give(p, s->in[1], g);
}

const vt_op vt_op_add = {.name = "add",
                         .shape = add_shape,
                         .prepare = add_prepare,
                         .grad = add_grad};

vt_val vt_add(vt_plan *p, vt_val a, vt_val b)
{
    return vt_op_append(p, &vt_op_add, 2, (vt_val[]){a, b}, 0, NULL);
}

/* ---- add_rows: in x, y ---- */

static vitcl_status rows_shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    int x = vt_op_count(p, s->in[0]), y = vt_op_count(p, s->in[1]);

    VT_TRY(vt_op_need(x > 0 && y > 0 && x % y == 0 &&
                          vt_dim(p, s->in[0], -1) == vt_dim(p, s->in[1], -1),
                      "the rows do not fit the tensor they are added to"));
    VT_TRY(vt_op_like(p, s, 0, s->in[0]));
done:
    return st;
}

static vitcl_status rows_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int r = vt_op_count(p, s->in[1]);

    VT_TRY(vt_op_kernel(&k, p, s, "add", "add_rows"));
    VT_TRY(vt_args(p, k, "vvvi", s->out[0], s->in[0], s->in[1], r));
    vt_op_blocks(k, p, r, vt_op_count(p, s->in[0]) / r);
done:
    return st;
}

static void rows_grad(vt_plan *p, const vt_step *s)
{
    vt_val g = vt_grad(p, s->out[0]);

    vt_op_give(p, s->in[0], g);
    vt_add_rows_grad(p, vt_grad_param(p, s->in[1]), g);
}

const vt_op vt_op_add_rows = {.name = "add_rows",
                              .shape = rows_shape,
                              .prepare = rows_prepare,
                              .grad = rows_grad};

vt_val vt_add_rows(vt_plan *p, vt_val x, vt_val y)
{
    return vt_op_append(p, &vt_op_add_rows, 2, (vt_val[]){x, y}, 0, NULL);
}

/* ---- add_grid: in x, across, down ---- */

static int grid_prefix(const vt_plan *p, const vt_step *s)
{
    return vt_dim(p, s->in[0], 1) -
           vt_dim(p, s->in[1], 0) * vt_dim(p, s->in[2], 0);
}

static vitcl_status grid_shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    const vt_value *x = vt_value_of(p, s->in[0]),
                   *across = vt_value_of(p, s->in[1]),
                   *down = vt_value_of(p, s->in[2]);

    VT_TRY(
        vt_op_need(x && across && down && x->rank == 3 && across->rank == 2 &&
                       down->rank == 2 && x->dim[2] == 2 * across->dim[1] &&
                       x->dim[2] == 2 * down->dim[1] && grid_prefix(p, s) >= 0,
                   "tables of columns and rows do not fit the tokens"));
    VT_TRY(vt_op_like(p, s, 0, s->in[0]));
done:
    return st;
}

static vitcl_status grid_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->in[0];
    const int t = vt_dim(p, x, 1), c = vt_dim(p, x, 2);

    VT_TRY(vt_op_kernel(&k, p, s, "add", "add_grid"));
    VT_TRY(vt_args(p, k, "vvvviiii", s->out[0], x, s->in[1], s->in[2], t, c,
                   grid_prefix(p, s), vt_dim(p, s->in[1], 0)));
    vt_op_blocks(k, p, c, vt_dim(p, x, 0) * t);
done:
    return st;
}

/* in dtable (a state), dout; i: first channel, first token, tokens from one
 * row of the table to the next, tokens and their number in a row */
static vitcl_status grid_grad_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val g = s->in[1];

    VT_TRY(vt_op_kernel(&k, p, s, "add", "add_grid_grad"));
    VT_TRY(vt_args(p, k, "vviiiiiiii", s->in[0], g, vt_dim(p, g, 0),
                   vt_dim(p, g, 1), vt_dim(p, g, 2), s->i[0], s->i[1], s->i[2],
                   s->i[3], s->i[4]));
    vt_op_items(k, p, vt_dim(p, s->in[0], 1), vt_dim(p, s->in[0], 0));
done:
    return st;
}

/* No grad: only steps of a backward pass. */
static const vt_op add_grid_grad = {.name = "add_grid_grad",
                                    .shape = vt_op_no_out,
                                    .prepare = grid_grad_prepare};

static void grid_grad(vt_plan *p, const vt_step *s)
{
    const vt_val g = vt_grad(p, s->out[0]);
    const int half = vt_dim(p, s->in[0], 2) / 2, first = grid_prefix(p, s);
    const int gw = vt_dim(p, s->in[1], 0), gh = vt_dim(p, s->in[2], 0);
    const vt_val across = vt_grad_param(p, s->in[1]),
                 down = vt_grad_param(p, s->in[2]);

    if (across != VT_NONE)
        vt_op_append(p, &add_grid_grad, 2, (vt_val[]){across, g}, 5,
                     (int[]){0, first, 1, gw, gh});
    if (down != VT_NONE)
        vt_op_append(p, &add_grid_grad, 2, (vt_val[]){down, g}, 5,
                     (int[]){half, first, gw, 1, gw});
    vt_op_give(p, s->in[0], g);
}

const vt_op vt_op_add_grid = {.name = "add_grid",
                              .shape = grid_shape,
                              .prepare = grid_prepare,
                              .grad = grid_grad};

vt_val vt_add_grid(vt_plan *p, vt_val x, vt_val across, vt_val down)
{
    return vt_op_append(p, &vt_op_add_grid, 3, (vt_val[]){x, across, down}, 0,
                        NULL);
}

/* ---- add_channels: in x, b, residual or none; i: relu ---- */

static vitcl_status channels_shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    const vt_value *x = vt_value_of(p, s->in[0]);

    VT_TRY(vt_op_need(x && x->rank == 4 && s->in[1] != VT_NONE &&
                          vt_op_count(p, s->in[1]) == x->dim[1],
                      "a bias of planes must have one number a channel"));
    VT_TRY(vt_op_need(s->in[2] == VT_NONE || vt_op_same(p, s->in[0], s->in[2]),
                      "the residual differs in size"));
    VT_TRY(vt_op_like(p, s, 0, s->in[0]));
done:
    return st;
}

static vitcl_status channels_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->in[0];
    const int c = vt_dim(p, x, 1), plane = vt_dim(p, x, 2) * vt_dim(p, x, 3);

    VT_TRY(vt_op_kernel(&k, p, s, "add", "add_channels"));
    VT_TRY(vt_args(p, k, "vvvviii", s->out[0], x, s->in[1], s->in[2], c, plane,
                   s->i[0]));
    vt_op_blocks(k, p, plane, vt_dim(p, x, 0) * c);
done:
    return st;
}

/* No grad: nets that have it (models/resnetd.c) are not trained. */
const vt_op vt_op_add_channels = {.name = "add_channels",
                                  .shape = channels_shape,
                                  .prepare = channels_prepare};

vt_val vt_add_channels(vt_plan *p, vt_val x, vt_val b, vt_val residual,
                       bool relu)
{
    return vt_op_append(p, &vt_op_add_channels, 3, (vt_val[]){x, b, residual},
                        1, (int[]){relu});
}

/* ---- accumulation: in sum (a state), x; no output ---- */

static vitcl_status to_shape(vt_plan *p, vt_step *s)
{
    int sum = vt_op_count(p, s->in[0]), x = vt_op_count(p, s->in[1]);

    return vt_op_need(sum > 0 && x > 0 && x % sum == 0,
                      "a gradient does not fit its parameter");
}

static vitcl_status to_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int n = vt_op_count(p, s->in[0]), rows = vt_op_count(p, s->in[1]) / n;

    if (rows == 1) {
        VT_TRY(vt_op_kernel(&k, p, s, "add", "add_to"));
        VT_TRY(vt_args(p, k, "vvi", s->in[0], s->in[1], n));
        vt_op_blocks(k, p, n, 1);
    } else {
        VT_TRY(vt_op_columns(&k, p, s, "add", "add_rows_grad", n));
        VT_TRY(vt_args(p, k, "vvii", s->in[0], s->in[1], rows, n));
    }
done:
    return st;
}

/* No grad: only steps of a backward pass. */
static const vt_op add_to = {
    .name = "add_to", .shape = to_shape, .prepare = to_prepare};

void vt_add_to(vt_plan *p, vt_val g, vt_val x)
{
    if (g != VT_NONE && x != VT_NONE)
        vt_op_append(p, &add_to, 2, (vt_val[]){g, x}, 0, NULL);
}

void vt_add_rows_grad(vt_plan *p, vt_val dy, vt_val dx)
{
    vt_add_to(p, dy, dx);
}
