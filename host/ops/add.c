/*
 * add.c - sums: residuals, positions, biases of planes.
 */
#include "ops/common.h"

/* add_grid */
enum { GRID_X, GRID_ACROSS, GRID_DOWN, GRID_INS };
enum { GRID_OUT };
/* add_grid_grad: channels from I_CHANNEL on; a row of the table is the sum of
 * I_ROW tokens I_TOKENS apart. The first row's begin at token I_FIRST, the next
 * row's I_NEXT tokens further. DTABLE is a state. */
enum { GRID_DW_DTABLE, GRID_DW_DY, GRID_DW_INS };
enum { I_CHANNEL, I_FIRST, I_NEXT, I_TOKENS, I_ROW, INTS };
/* add_channels */
enum { CHANNELS_X, CHANNELS_BIAS, CHANNELS_RESIDUAL, CHANNELS_INS };
enum { CHANNELS_OUT };
enum { I_RELU };

/* ---- add ---- */

static vitcl_status add_prepare(vt_plan *p, vt_step *s)
{
    return vt_op_pair(p, s, "add", "add");
}

static void add_grad(vt_plan *p, const vt_step *s)
{
    vt_val g = vt_grad(p, s->out[VT_PAIR_OUT]);

    vt_op_give(p, s->in[VT_PAIR_A], g);
    vt_op_give(p, s->in[VT_PAIR_B], g);
}

const vt_op vt_op_add = {.name = "add",
                         .shape = vt_op_pair_shape,
                         .prepare = add_prepare,
                         .grad = add_grad,
                         .half_in = 1u << VT_PAIR_A | 1u << VT_PAIR_B,
                         .half_out = 1u << VT_PAIR_OUT};

vt_val vt_add(vt_plan *p, vt_val a, vt_val b)
{
    return vt_op_append_pair(p, &vt_op_add, a, b);
}

/* ---- add_rows ---- */

static vitcl_status rows_prepare(vt_plan *p, vt_step *s)
{
    return vt_op_rows_pair(p, s, "add", "add_rows");
}

static void rows_grad(vt_plan *p, const vt_step *s)
{
    vt_val g = vt_grad(p, s->out[VT_PAIR_OUT]);

    vt_op_give(p, s->in[VT_PAIR_A], g);
    vt_add_to(p, vt_grad_param(p, s->in[VT_PAIR_B]), g);
}

const vt_op vt_op_add_rows = {.name = "add_rows",
                              .shape = vt_op_rows_pair_shape,
                              .prepare = rows_prepare,
                              .grad = rows_grad,
                              .half_in = 1u << VT_PAIR_A,
                              .half_out = 1u << VT_PAIR_OUT};

vt_val vt_add_rows(vt_plan *p, vt_val x, vt_val y)
{
    return vt_op_append_pair(p, &vt_op_add_rows, x, y);
}

/* ---- add_grid ---- */

static int grid_prefix(const vt_plan *p, const vt_step *s)
{
    return vt_dim(p, s->in[GRID_X], 1) -
           vt_dim(p, s->in[GRID_ACROSS], 0) * vt_dim(p, s->in[GRID_DOWN], 0);
}

static vitcl_status grid_shape(vt_plan *p, vt_step *s)
{
    const vt_value *x = vt_value_of(p, s->in[GRID_X]),
                   *across = vt_value_of(p, s->in[GRID_ACROSS]),
                   *down = vt_value_of(p, s->in[GRID_DOWN]);

    VT_RET(
        vt_op_need(x && across && down && x->rank == 3 && across->rank == 2 &&
                       down->rank == 2 && x->dim[2] == 2 * across->dim[1] &&
                       x->dim[2] == 2 * down->dim[1] && grid_prefix(p, s) >= 0,
                   "tables of columns and rows do not fit the tokens"));
    return vt_op_like(p, s, GRID_OUT, s->in[GRID_X]);
}

static vitcl_status grid_prepare(vt_plan *p, vt_step *s)
{
    vt_val x = s->in[GRID_X];
    const int t = vt_dim(p, x, 1), c = vt_dim(p, x, 2);

    return vt_op_launch_blocks(
        p, s, "add", "add_grid", c, vt_dim(p, x, 0) * t, "vvvviiii",
        s->out[GRID_OUT], x, s->in[GRID_ACROSS], s->in[GRID_DOWN], t, c,
        grid_prefix(p, s), vt_dim(p, s->in[GRID_ACROSS], 0));
}

static vitcl_status grid_grad_prepare(vt_plan *p, vt_step *s)
{
    vt_val g = s->in[GRID_DW_DY];

    return vt_op_launch_items(
        p, s, "add", "add_grid_grad", vt_dim(p, s->in[GRID_DW_DTABLE], 1),
        vt_dim(p, s->in[GRID_DW_DTABLE], 0), "vviiiiiiii",
        s->in[GRID_DW_DTABLE], g, vt_dim(p, g, 0), vt_dim(p, g, 1),
        vt_dim(p, g, 2), s->i[I_CHANNEL], s->i[I_FIRST], s->i[I_NEXT],
        s->i[I_TOKENS], s->i[I_ROW]);
}

/* No grad: only steps of a backward pass. */
static const vt_op add_grid_grad = {.name = "add_grid_grad",
                                    .prepare = grid_grad_prepare};

static void grid_grad(vt_plan *p, const vt_step *s)
{
    const vt_val g = vt_grad(p, s->out[GRID_OUT]);
    const int half = vt_dim(p, s->in[GRID_X], 2) / 2, first = grid_prefix(p, s);
    const int gw = vt_dim(p, s->in[GRID_ACROSS], 0),
              gh = vt_dim(p, s->in[GRID_DOWN], 0);
    const vt_val across = vt_grad_param(p, s->in[GRID_ACROSS]),
                 down = vt_grad_param(p, s->in[GRID_DOWN]);

    if (across != VT_NONE)
        vt_op_append(p, &add_grid_grad, GRID_DW_INS,
                     (vt_val[]){[GRID_DW_DTABLE] = across, [GRID_DW_DY] = g},
                     INTS,
                     (int[]){[I_CHANNEL] = 0,
                             [I_FIRST] = first,
                             [I_NEXT] = 1,
                             [I_TOKENS] = gw,
                             [I_ROW] = gh});
    if (down != VT_NONE)
        vt_op_append(p, &add_grid_grad, GRID_DW_INS,
                     (vt_val[]){[GRID_DW_DTABLE] = down, [GRID_DW_DY] = g},
                     INTS,
                     (int[]){[I_CHANNEL] = half,
                             [I_FIRST] = first,
                             [I_NEXT] = gw,
                             [I_TOKENS] = 1,
                             [I_ROW] = gw});
    vt_op_give(p, s->in[GRID_X], g);
}

const vt_op vt_op_add_grid = {.name = "add_grid",
                              .shape = grid_shape,
                              .prepare = grid_prepare,
                              .grad = grid_grad,
                              .half_in = 1u << GRID_X,
                              .half_out = 1u << GRID_OUT};

vt_val vt_add_grid(vt_plan *p, vt_val x, vt_val across, vt_val down)
{
    return vt_op_append(
        p, &vt_op_add_grid, GRID_INS,
        (vt_val[]){[GRID_X] = x, [GRID_ACROSS] = across, [GRID_DOWN] = down}, 0,
        NULL);
}

/* ---- add_channels ---- */

static vitcl_status channels_shape(vt_plan *p, vt_step *s)
{
    const vt_value *x = vt_value_of(p, s->in[CHANNELS_X]);

    VT_RET(vt_op_need(x && x->rank == 4 && s->in[CHANNELS_BIAS] != VT_NONE &&
                          vt_op_count(p, s->in[CHANNELS_BIAS]) == x->dim[1],
                      "a bias of planes must have one number a channel"));
    VT_RET(vt_op_need(
        s->in[CHANNELS_RESIDUAL] == VT_NONE ||
            vt_op_same(p, s->in[CHANNELS_X], s->in[CHANNELS_RESIDUAL]),
        "the residual differs in size"));
    return vt_op_like(p, s, CHANNELS_OUT, s->in[CHANNELS_X]);
}

static vitcl_status channels_prepare(vt_plan *p, vt_step *s)
{
    vt_val x = s->in[CHANNELS_X];
    const int c = vt_dim(p, x, 1), plane = vt_dim(p, x, 2) * vt_dim(p, x, 3);

    return vt_op_launch_blocks(
        p, s, "add", "add_channels", plane, vt_dim(p, x, 0) * c, "vvvviii",
        s->out[CHANNELS_OUT], x, s->in[CHANNELS_BIAS], s->in[CHANNELS_RESIDUAL],
        c, plane, s->i[I_RELU]);
}

/* No grad: models that use it (models/resnetd.c) are not trained. */
const vt_op vt_op_add_channels = {.name = "add_channels",
                                  .shape = channels_shape,
                                  .prepare = channels_prepare,
                                  .half_in = 1u << CHANNELS_X |
                                             1u << CHANNELS_RESIDUAL,
                                  .half_out = 1u << CHANNELS_OUT};

vt_val vt_add_channels(vt_plan *p, vt_val x, vt_val b, vt_val residual,
                       bool relu)
{
    return vt_op_append(p, &vt_op_add_channels, CHANNELS_INS,
                        (vt_val[]){[CHANNELS_X] = x,
                                   [CHANNELS_BIAS] = b,
                                   [CHANNELS_RESIDUAL] = residual},
                        1, (int[]){[I_RELU] = relu});
}
