/*
 * conv_direct.c - convolution on CPUs, from planes to planes (for conv.c).
 */
#include "ops/conv.h"

enum { IN_X, IN_W, INS };
enum { OUT_Y, OUT_TRANSPOSED };
/* The distance of x's pixels (cl/conv_direct.cl); whether w's channels are
 * transposed first: dx is the convolution of dy with the transposed w. */
enum { APART = SHAPE_INTS, TRANSPOSED, INTS };
/* grad_w, with the inputs of vt_op_grad_w() */
enum { OUT_DW, OUT_PART };

/* as in cl/conv_direct.cl */
#define TILE 64
#define KC 288
#define OUTS 192
#define LINES 2048
#define MOST_RA 14

/* About this many work-groups for a gradient of weights, on every device,
 * because the order of the sum changes the bits. */
#define GROUPS 16

typedef struct cut {
    int high, wide, tiles; /* lines and columns of a tile */
    int groups, outs;      /* of output channels */
} cut;

static cut cut_for(int lines, int outputs, const int *i)
{
    const int wide = VT_MIN(i[WO], TILE);
    const int span =
        VT_MAX(i[KH], i[STRIDE]) * ((wide - 1) * i[STRIDE] + i[KW]);
    cut c = {.wide = wide};

    c.high = VT_MAX(1, VT_MIN(TILE / wide, LINES / span));
    c.tiles = (lines + c.high - 1) / c.high * ((i[WO] + wide - 1) / wide);
    c.groups = VT_MAX((outputs + OUTS - 1) / OUTS,
                      VT_MIN(outputs / 32, (4 + c.tiles - 1) / c.tiles));
    c.outs = (outputs + c.groups - 1) / c.groups;
    return c;
}

/* Independent of the batch: a picture has the same bits in each. Lines of 7 or
 * 14 pixels (no multiple of 4) take longer to gather than to multiply. A
 * work-item's memory is private, but llvmpipe, whose local memory is small, has
 * no room for so much of either. */
bool vt_conv_direct_for(const vt_plan *p, const int *i)
{
    const vt_plan_options *o = vt_plan_settings(p);
    const size_t words =
        (KC + MOST_RA) * (TILE + OUTS) + OUTS * TILE + 2 * (LINES + TILE);

    return vt_op_cpu(p) && !o->exact && o->precision == VITCL_F32 &&
           i[WO] % 4 == 0 && (long long)i[KH] * i[KW] <= KC &&
           i[STRIDE] <= LINES &&
           VT_MAX(i[KH], i[STRIDE]) *
                   ((long long)(TILE - 1) * i[STRIDE] + i[KW]) <=
               LINES &&
           (!o->dev || words * 4 + 256 <= vt_dev_info(o->dev)->local_bytes);
}

/* Output channels: w's first dimension, or its second if it is transposed. */
static int outputs(const vt_plan *p, const vt_step *s)
{
    return vt_dim(p, s->in[IN_W], s->i[TRANSPOSED]);
}

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vt_val x = s->in[IN_X], w = s->in[IN_W];

    VT_RET(
        vt_op_out(p, s, OUT_Y, 4,
                  (int[]){vt_dim(p, x, 0), outputs(p, s), s->i[HO], s->i[WO]}));
    if (s->i[TRANSPOSED])
        VT_RET(vt_op_like(p, s, OUT_TRANSPOSED, w));
    return VITCL_OK;
}

/* The last arguments of each kernel, SHAPE in the kernel file. */
#define SHAPE_ARGS(p, x, i, c)                                                 \
    vt_dim(p, x, 1), vt_dim(p, x, 2), vt_dim(p, x, 3), (i)[HO], (i)[WO],       \
        (i)[KH], (i)[KW], (i)[STRIDE], (i)[TOP], (i)[LEFT], (i)[APART],        \
        vt_dim(p, x, 0) * (i)[HO], (c).high, (c).wide

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vt_val x = s->in[IN_X], w = s->in[IN_W];
    const int o = outputs(p, s);
    const cut c = cut_for(vt_dim(p, x, 0) * s->i[HO], o, s->i);
    vt_kernel *k;

    if (s->i[TRANSPOSED]) {
        VT_RET(vt_op_kernel(&k, p, s, "conv_direct", "conv_direct_transpose"));
        VT_RET(vt_args(p, k, "vvii", s->out[OUT_TRANSPOSED], w, vt_dim(p, w, 0),
                       s->i[KH] * s->i[KW]));
        vt_op_items(k, p, o, 1);
        w = s->out[OUT_TRANSPOSED];
    }
    VT_RET(vt_op_kernel(&k, p, s, "conv_direct", "conv_direct"));
    VT_RET(vt_args(p, k, "vvviiiiiiiiiiiiiiii", s->out[OUT_Y], x, w, o, c.outs,
                   SHAPE_ARGS(p, x, s->i, c)));
    vt_op_items(k, p, c.tiles, c.groups);
    return VITCL_OK;
}

static double macs(const vt_plan *p, const vt_step *s)
{
    return (double)vt_op_count(p, s->out[OUT_Y]) * vt_dim(p, s->in[IN_X], 1) *
           s->i[KH] * s->i[KW];
}

/* ---- dw ---- */

static int w_chunks(const vt_plan *p, const vt_step *s)
{
    const int each = KC / (s->i[KH] * s->i[KW]);

    return (vt_dim(p, s->in[VT_DW_X], 1) + each - 1) / each;
}

static int w_slices(const vt_plan *p, const vt_step *s, const cut *c)
{
    const int groups = w_chunks(p, s) * c->groups;

    return VT_MIN((GROUPS + groups - 1) / groups, c->tiles);
}

static cut w_cut(const vt_plan *p, const vt_step *s)
{
    return cut_for(vt_dim(p, s->in[VT_DW_X], 0) * s->i[HO],
                   vt_dim(p, s->in[VT_DW_W], 0), s->i);
}

static vitcl_status w_shape(vt_plan *p, vt_step *s)
{
    const cut c = w_cut(p, s);
    const int o = vt_dim(p, s->in[VT_DW_W], 0);

    if (s->in[VT_DW_SUM] == VT_NONE)
        VT_RET(vt_op_like(p, s, OUT_DW, s->in[VT_DW_W]));
    return vt_op_out(
        p, s, OUT_PART, 3,
        (int[]){w_slices(p, s, &c), vt_op_count(p, s->in[VT_DW_W]) / o, o});
}

static vitcl_status w_prepare(vt_plan *p, vt_step *s)
{
    vt_val dy = s->in[VT_DW_DY], x = s->in[VT_DW_X], part = s->out[OUT_PART];
    const int o = vt_dim(p, s->in[VT_DW_W], 0), n = vt_dim(p, part, 1);
    const int slices = vt_dim(p, part, 0);
    const cut c = w_cut(p, s);
    vt_kernel *k;

    VT_RET(vt_op_kernel(&k, p, s, "conv_direct", "conv_direct_grad_w"));
    VT_RET(vt_args(p, k, "vvviiiiiiiiiiiiiiiii", part, dy, x, o, c.outs,
                   c.tiles, SHAPE_ARGS(p, x, s->i, c)));
    vt_kernel_size(
        k, 3,
        (size_t[3]){(size_t)w_chunks(p, s), (size_t)c.groups, (size_t)slices},
        (size_t[3]){1, 1, 1});
    VT_RET(vt_op_kernel(&k, p, s, "conv_direct", "conv_direct_sum"));
    VT_RET(
        vt_args(p, k, "vviiii",
                s->in[VT_DW_SUM] == VT_NONE ? s->out[OUT_DW] : s->in[VT_DW_SUM],
                part, o, n, slices, s->in[VT_DW_SUM] != VT_NONE));
    vt_op_items(k, p, (n + 15) / 16, 1);
    return VITCL_OK;
}

static double w_macs(const vt_plan *p, const vt_step *s)
{
    return (double)vt_op_count(p, s->in[VT_DW_DY]) *
           vt_dim(p, s->in[VT_DW_X], 1) * s->i[KH] * s->i[KW];
}

static const vt_op grad_w = {.name = "conv_direct_grad_w",
                             .shape = w_shape,
                             .prepare = w_prepare,
                             .macs = w_macs};

static const vt_op grad_x = {.name = "conv_direct_grad_x",
                             .shape = shape,
                             .prepare = prepare,
                             .macs = macs};

static void grad(vt_plan *p, const vt_step *s)
{
    vt_val g = vt_grad(p, s->out[OUT_Y]), x = s->in[IN_X], w = s->in[IN_W];

    vt_op_grad_w(p, &grad_w, g, x, w, INTS, s->i);
    if (vt_grad_wanted(p, x))
        vt_op_give(p, x,
                   vt_op_append(p, &grad_x, INS,
                                (vt_val[]){[IN_X] = g, [IN_W] = w}, INTS,
                                (int[]){[HO] = vt_dim(p, x, 2),
                                        [WO] = vt_dim(p, x, 3),
                                        [KH] = s->i[KH],
                                        [KW] = s->i[KW],
                                        [STRIDE] = 1,
                                        [TOP] = s->i[KH] - 1 - s->i[TOP],
                                        [LEFT] = s->i[KW] - 1 - s->i[LEFT],
                                        [APART] = s->i[STRIDE],
                                        [TRANSPOSED] = true}));
}

const vt_op vt_op_conv_direct = {.name = "conv_direct",
                                 .shape = shape,
                                 .prepare = prepare,
                                 .grad = grad,
                                 .macs = macs};

vt_val vt_conv_direct(vt_plan *p, vt_val x, vt_val w, const int *i)
{
    return vt_op_append(p, &vt_op_conv_direct, INS,
                        (vt_val[]){[IN_X] = x, [IN_W] = w}, INTS,
                        (int[]){[HO] = i[HO],
                                [WO] = i[WO],
                                [KH] = i[KH],
                                [KW] = i[KW],
                                [STRIDE] = i[STRIDE],
                                [TOP] = i[TOP],
                                [LEFT] = i[LEFT],
                                [APART] = 1,
                                [TRANSPOSED] = false});
}
