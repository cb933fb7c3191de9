/*
 * linear.c - out = residual + scale * act(x w^T + b), by a GEMM provider.
 *
 * A constant weight is packed once, in the store. A weight that training
 * changes, that a step computes or that is for a single run is not packed. In a
 * plan with a backward pass, activation and scale are separate steps, because
 * their gradients need their inputs.
 */
#include "ops/common.h"

#include <stdio.h>

enum { IN_X, IN_W, IN_BIAS, IN_SCALE, IN_RESIDUAL, INS };
enum { OUT_Y };
enum { I_ACT, I_EXACT, INTS }; /* exact: sums in double */
/* grad_x; X only for its shape */
enum { DX_W = IN_W, DX_DERIVATIVE, DX_DY = VT_DY };
/* grad_w: the inputs of vt_op_grad_w() and the bias's gradient */
enum { DW_DB = VT_DW_INS, DW_INS };
enum { OUT_DW };

static bool constant(const vt_plan *p, vt_val w)
{
    const vt_plan_options *o = vt_plan_settings(p);

    return vt_value_of(p, w)->kind == VT_PARAM && !o->train && !o->once;
}

/* The fields that all products here share. */
static vt_gemm_desc base(const vt_plan *p, int m, int n, int k)
{
    return (vt_gemm_desc){.batch = 1,
                          .M = m,
                          .N = n,
                          .K = k,
                          .type = vt_plan_type(p),
                          .out = VT_F32,
                          .device_class = vt_plan_class(p)};
}

/* Layers of int8 plans that are little work but would have a large error. */
static vt_dtype type_in_int8(const vt_plan *p, vt_val x)
{
    const vt_value *v = vt_value_of(p, x);
    const vt_step *from = v->first < 0 ? NULL : vt_plan_step(p, v->first);

    /* The classifier, and the patches: pixels have the widest range. */
    if (v->rank < 3 || !from || from->op != &vt_op_patch)
        return v->rank < 3 ? VT_F32 : VT_I8;
    return vt_op_dots(p) ? VT_BF16 : VT_F32;
}

static vt_gemm_desc forward(const vt_plan *p, const vt_step *s)
{
    vt_val x = s->in[IN_X], w = s->in[IN_W];
    vt_gemm_desc d =
        base(p, vt_op_rows(p, x), vt_dim(p, w, 0), vt_dim(p, x, -1));

    /* rows a picture: kernels are chosen by these, not by the batch */
    d.batch = vt_dim(p, x, 0);
    d.M /= d.batch;
    if (d.type == VT_I8)
        d.type = type_in_int8(p, x);
    d.lda = vt_value_of(p, x)->ld;
    d.a = vt_value_of(p, x)->dtype;
    if (s->out[OUT_Y] != VT_NONE) {
        d.ldc = vt_value_of(p, s->out[OUT_Y])->ld;
        d.out = vt_value_of(p, s->out[OUT_Y])->dtype;
    }
    d.bias = s->in[IN_BIAS] != VT_NONE;
    d.scale = s->in[IN_SCALE] != VT_NONE;
    d.residual = s->in[IN_RESIDUAL] != VT_NONE;
    if (d.residual)
        d.res = vt_value_of(p, s->in[IN_RESIDUAL])->dtype;
    d.act = (vt_act)s->i[I_ACT];
    d.b_packed = constant(p, w);
    d.any_batch = vt_plan_settings(p)->any_batch;
    return d;
}

/* What is known without timing; false: nothing. */
static bool look(vt_product *out, const vt_plan *p, vt_gemm_desc d)
{
    vt_dev *dev = vt_plan_settings(p)->dev;

    return dev && vt_product_look(out, dev, vt_plan_gemm(p), &d) == VITCL_OK;
}

/* The product's scratch memory. */
static size_t scratch(const vt_plan *p, vt_gemm_desc d)
{
    vt_product x;

    return look(&x, p, d) ? x.temp_bytes : 0;
}

static size_t temp_bytes(const vt_plan *p, const vt_step *s)
{
    return s->i[I_EXACT] ? 0 : scratch(p, forward(p, s));
}

static vitcl_status bind(vt_plan *p, vt_step *s, const vt_gemm_desc *d,
                         vt_gemm_bufs *b)
{
    vt_dev *dev = vt_plan_settings(p)->dev;
    vt_product x;

    VT_RET(vt_product_of(&x, dev, vt_plan_gemm(p), d));
    VT_RET(vt_bind(&b->temp, p, s->out[VT_TEMP]));
    return vt_product_bind(&s->gemm, dev, &x, b);
}

static vitcl_status check(const vt_plan *p, const vt_step *s)
{
    vt_val x = s->in[IN_X], w = s->in[IN_W];
    int n = vt_dim(p, w, 0), k = vt_dim(p, x, -1);

    VT_RET(vt_op_need(x != VT_NONE && w != VT_NONE, "an input is missing"));
    if (vt_op_count(p, w) != n * (long long)k)
        return vt_fail(VITCL_EINVAL,
                       "%s has %d columns, the tensor before it %d",
                       vt_value_of(p, w)->name, vt_op_count(p, w) / n, k);
    for (int i = IN_BIAS; i <= IN_SCALE; i++)
        VT_RET(vt_op_need(s->in[i] == VT_NONE || vt_op_count(p, s->in[i]) == n,
                          "bias and scale must have one number an output"));
    return vt_op_need(s->in[IN_RESIDUAL] == VT_NONE ||
                          vt_op_count(p, s->in[IN_RESIDUAL]) ==
                              (long long)vt_op_rows(p, x) * n,
                      "the residual differs in size");
}

/* Rows a multiple of 4096 bytes apart map to the same sets of the L1 cache: a
 * CPU's product of 14 rows at a time runs at two thirds of its speed. So such a
 * value is padded if one linear layer writes it and another reads it. */
static void pad_input(vt_plan *p, const vt_step *s)
{
    const vt_value *x = vt_value_of(p, s->in[IN_X]);
    const vt_step *from = x->first < 0 ? NULL : vt_plan_step(p, x->first);
    const int k = x->dim[x->rank - 1];

    if (vt_op_cpu(p) && !vt_plan_settings(p)->backward && k % 1024 == 0 &&
        from && from->op == &vt_op_linear && from->in[IN_RESIDUAL] == VT_NONE)
        vt_pad_rows(p, s->in[IN_X], k + 16);
}

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    const vt_value *x = vt_value_of(p, s->in[IN_X]);
    int dim[4], rank;

    VT_RET(check(p, s));
    pad_input(p, s);
    rank = x->rank;
    for (int i = 0; i < rank; i++)
        dim[i] = x->dim[i];
    dim[rank - 1] = vt_dim(p, s->in[IN_W], 0);
    return vt_op_out(p, s, OUT_Y, rank, dim);
}

static vitcl_status exact(vt_plan *p, vt_step *s)
{
    int n = vt_dim(p, s->in[IN_W], 0);

    return vt_op_launch_items(p, s, "linear", "linear_exact", (n + 3) / 4,
                              vt_op_rows(p, s->in[IN_X]), "vvvii",
                              s->out[OUT_Y], s->in[IN_X], s->in[IN_W], n,
                              vt_dim(p, s->in[IN_X], -1));
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    const vt_gemm_desc d = forward(p, s);
    vt_dev *dev = vt_plan_settings(p)->dev;
    vt_gemm_bufs b = {0};
    vt_buf *packed = NULL;
    vt_product x;

    if (s->i[I_EXACT])
        return exact(p, s);
    VT_TRY(vt_product_of(&x, dev, vt_plan_gemm(p), &d));
    if (d.b_packed) {
        VT_TRY(vt_store_packed(&packed, vt_plan_settings(p)->store,
                               vt_value_of(p, s->in[IN_W])->name, &x));
        b.b = packed;
    } else {
        VT_TRY(vt_bind_weight(&b.b, p, s, s->in[IN_W]));
    }
    VT_TRY(vt_bind(&b.c, p, s->out[OUT_Y]));
    VT_TRY(vt_bind(&b.a, p, s->in[IN_X]));
    VT_TRY(vt_bind(&b.bias, p, s->in[IN_BIAS]));
    VT_TRY(vt_bind(&b.scale, p, s->in[IN_SCALE]));
    VT_TRY(vt_bind(&b.residual, p, s->in[IN_RESIDUAL]));
    if (x.form->norms && x.form->norms(dev, &x.told))
        VT_TRY(vt_op_norm_behind(&b.norm, p, s->out[OUT_Y]));
    VT_TRY(vt_bind(&b.temp, p, s->out[VT_TEMP]));
    VT_TRY(vt_product_bind(&s->gemm, dev, &x, &b));
done:
    vt_buf_free(packed); /* s->gemm holds its own reference */
    return st;
}

/* Is this product by a form of the provider that gains from such types? */
static bool stored(const vt_plan *p, vt_gemm_desc d, vt_dtype a, vt_dtype out)
{
    vt_product x;

    d.a = a, d.out = out;
    return look(&x, p, d) && x.form &&
           (a == VT_I8 ? x.form->int_rows != NULL : x.own && x.form->stored);
}

/* The gradient of w has x and w in the same slots. */
static double macs(const vt_plan *p, const vt_step *s)
{
    return (double)vt_op_rows(p, s->in[IN_X]) * vt_op_count(p, s->in[IN_W]);
}

/* ---- dx[M,K] = dy[M,N] w[N,K] ----
 * With a derivative, x is act(z) and out is dz: the product times act'(z). */

static vt_gemm_desc x_desc(const vt_plan *p, const vt_step *s)
{
    vt_val dy = s->in[DX_DY];
    vt_gemm_desc d = base(p, vt_op_rows(p, dy), vt_dim(p, s->out[VT_DX], -1),
                          vt_dim(p, dy, -1));

    d.trans_b = true;
    d.a = vt_value_of(p, dy)->dtype;
    d.out = vt_value_of(p, s->out[VT_DX])->dtype;
    d.residual = d.times = s->in[DX_DERIVATIVE] != VT_NONE;
    return d;
}

static size_t x_temp_bytes(const vt_plan *p, const vt_step *s)
{
    return scratch(p, x_desc(p, s));
}

static vitcl_status x_prepare(vt_plan *p, vt_step *s)
{
    const vt_gemm_desc d = x_desc(p, s);
    vt_gemm_bufs b = {0};

    VT_RET(vt_bind(&b.c, p, s->out[VT_DX]));
    VT_RET(vt_bind(&b.a, p, s->in[DX_DY]));
    VT_RET(vt_bind(&b.b, p, s->in[DX_W]));
    VT_RET(vt_bind(&b.residual, p, s->in[DX_DERIVATIVE]));
    return bind(p, s, &d, &b);
}

static double x_macs(const vt_plan *p, const vt_step *s)
{
    return (double)vt_op_rows(p, s->in[DX_DY]) * vt_op_count(p, s->in[DX_W]);
}

static void x_cpu_stored(const vt_plan *p, const vt_step *s, vt_dtype t,
                         unsigned *in, unsigned *out)
{
    const vt_gemm_desc d = x_desc(p, s);

    *in = stored(p, d, t, VT_F32) ? 1u << DX_DY : 0;
    *out = stored(p, d, VT_F32, t) ? 1u << VT_DX : 0;
}

static const vt_op grad_x = {.name = "linear_grad_x",
                             .prepare = x_prepare,
                             .cpu_stored = x_cpu_stored,
                             .reads = 1u << DX_W,
                             .macs = x_macs,
                             .temp_bytes = x_temp_bytes};

/* ---- dw[N,K] (+)= dy^T x ----
 * A parameter's gradient is added to `sum`, a VT_STATE; without it out is
 * written. The same pass adds dy's rows to db, the bias's gradient. */

static vt_gemm_desc w_desc(const vt_plan *p, vt_val dy, vt_val x)
{
    vt_gemm_desc d =
        base(p, vt_dim(p, dy, -1), vt_dim(p, x, -1), vt_op_rows(p, x));

    d.trans_a = d.trans_b = true;
    return d;
}

static vt_gemm_desc w_desc_of(const vt_plan *p, const vt_step *s)
{
    vt_gemm_desc d = w_desc(p, s->in[VT_DW_DY], s->in[VT_DW_X]);

    d.accumulate = s->in[VT_DW_SUM] != VT_NONE;
    d.sums = s->in[DW_DB] != VT_NONE;
    d.a = vt_value_of(p, s->in[VT_DW_DY])->dtype;
    d.b = vt_value_of(p, s->in[VT_DW_X])->dtype;
    return d;
}

static void w_cpu_stored(const vt_plan *p, const vt_step *s, vt_dtype t,
                         unsigned *in, unsigned *out)
{
    vt_gemm_desc d = w_desc_of(p, s);
    vt_product x;

    (void)out;
    d.a = d.b = t;
    if (look(&x, p, d) && x.form)
        *in = 1u << VT_DW_DY | 1u << VT_DW_X;
}

static vitcl_status w_shape(vt_plan *p, vt_step *s)
{
    return s->in[VT_DW_SUM] == VT_NONE
               ? vt_op_like(p, s, OUT_DW, s->in[VT_DW_W])
               : VITCL_OK;
}

static size_t w_temp_bytes(const vt_plan *p, const vt_step *s)
{
    return scratch(p, w_desc_of(p, s));
}

static vitcl_status w_prepare(vt_plan *p, vt_step *s)
{
    const vt_gemm_desc d = w_desc_of(p, s);
    vt_gemm_bufs b = {0};

    VT_RET(vt_bind(&b.bias, p, s->in[DW_DB]));
    VT_RET(vt_bind(&b.c, p, d.accumulate ? s->in[VT_DW_SUM] : s->out[OUT_DW]));
    VT_RET(vt_bind(&b.a, p, s->in[VT_DW_DY]));
    VT_RET(vt_bind(&b.b, p, s->in[VT_DW_X]));
    return bind(p, s, &d, &b);
}

static const vt_op grad_w = {.name = "linear_grad_w",
                             .shape = w_shape,
                             .prepare = w_prepare,
                             .macs = macs,
                             .cpu_stored = w_cpu_stored,
                             .temp_bytes = w_temp_bytes};

/* Gradients of w and b, in one step if the provider can do this. */
static void grad_parameters(vt_plan *p, vt_val g, vt_val x, vt_val w, vt_val b)
{
    vt_val db = vt_grad_param(p, b), sum;
    vt_gemm_desc d = w_desc(p, g, x);
    vt_product both;

    d.accumulate = d.sums = true;
    if (db == VT_NONE || !vt_grad_wanted(p, w) ||
        vt_value_of(p, w)->kind != VT_PARAM || !look(&both, p, d) ||
        !both.sums) {
        vt_add_to(p, db, g);
        vt_op_grad_w(p, &grad_w, g, x, w, 0, NULL);
        return;
    }
    sum = vt_grad_param(p, w);
    vt_op_append(p, &grad_w, DW_INS,
                 (vt_val[]){[VT_DW_DY] = g,
                            [VT_DW_X] = x,
                            [VT_DW_W] = w,
                            [VT_DW_SUM] = sum,
                            [DW_DB] = db},
                 0, NULL);
}

static void grad(vt_plan *p, const vt_step *s)
{
    vt_val g = vt_grad(p, s->out[OUT_Y]), x = s->in[IN_X], w = s->in[IN_W];
    vt_val to;
    vt_step *step;

    vt_op_give(p, s->in[IN_RESIDUAL], g);
    grad_parameters(p, g, x, w, s->in[IN_BIAS]);
    step = vt_grad_wanted(p, x) ? vt_op_grad_step(p, &grad_x, s) : NULL;
    if (!step)
        return;
    to = vt_activated(p, x, &step->in[DX_DERIVATIVE]);
    vt_op_like(p, step, VT_DX, x);
    vt_op_give(p, to, vt_step_add(p, step));
}

/* Residuals stay in f32. */
static void cpu_stored(const vt_plan *p, const vt_step *s, vt_dtype t,
                       unsigned *in, unsigned *out)
{
    const vt_gemm_desc d = forward(p, s);
    const bool half = t == VT_BF16;

    if (half && !vt_op_dots(p))
        return;
    *in = stored(p, d, t, VT_F32) ? 1u << IN_X : 0;
    if (half && !d.residual && stored(p, d, VT_F32, t))
        *out = 1u << OUT_Y;
}

/* In an int8 plan: a layer that multiplies in f32, or a product by a form that
 * reads and writes f32 alone. */
static bool stays_f32(const vt_plan *p, const vt_step *s, vt_dtype t)
{
    vt_gemm_desc d = forward(p, s);
    vt_product x;

    if (vt_plan_type(p) != VT_I8)
        return false;
    d.a = d.out = t;
    if (d.residual)
        d.res = t;
    return d.type != VT_I8 || !look(&x, p, d) || !x.form;
}

const vt_op vt_op_linear = {.name = "linear",
                            .shape = shape,
                            .prepare = prepare,
                            .grad = grad,
                            .macs = macs,
                            .padded = 1u << IN_X,
                            .half_in = 1u << IN_X | 1u << IN_RESIDUAL,
                            .half_out = 1u << OUT_Y,
                            .stays_f32 = stays_f32,
                            .cpu_stored = cpu_stored,
                            .temp_bytes = temp_bytes};

static vt_val append(vt_plan *p, vt_val x, vt_linear_args a, bool exact)
{
    return vt_op_append(p, &vt_op_linear, INS,
                        (vt_val[]){[IN_X] = x,
                                   [IN_W] = a.w,
                                   [IN_BIAS] = a.b,
                                   [IN_SCALE] = a.scale,
                                   [IN_RESIDUAL] = a.residual},
                        INTS, (int[]){[I_ACT] = (int)a.act, [I_EXACT] = exact});
}

vt_val vt_linear(vt_plan *p, vt_val x, vt_linear_args a)
{
    vt_val y;

    if (!vt_plan_settings(p)->backward ||
        (a.act == VT_ACT_NONE && a.scale == VT_NONE))
        return append(p, x, a, false);
    y = append(p, x,
               (vt_linear_args){
                   .w = a.w, .b = a.b, .scale = VT_NONE, .residual = VT_NONE},
               false);
    if (a.act != VT_ACT_NONE)
        y = vt_activation(p, y, a.act);
    if (a.scale != VT_NONE)
        y = vt_mul_rows(p, y, a.scale);
    return a.residual == VT_NONE ? y : vt_add(p, a.residual, y);
}

bool vt_linear_product(int *rows, int *n, int *k, const vt_plan *p,
                       const vt_step *s)
{
    if (s->op != &vt_op_linear || vt_value_of(p, s->in[IN_X])->rank < 3)
        return false;
    *rows = vt_op_rows(p, s->in[IN_X]);
    *n = vt_dim(p, s->in[IN_W], 0);
    *k = vt_dim(p, s->in[IN_X], -1);
    return true;
}

vt_val vt_linear_exact(vt_plan *p, vt_val x, vt_val w)
{
    const vt_plan_options *o = vt_plan_settings(p);
    const vt_linear_args a = {
        .w = w, .b = VT_NONE, .scale = VT_NONE, .residual = VT_NONE};

    return append(p, x, a,
                  o->exact && vt_plan_type(p) == VT_F32 && o->dev &&
                      vt_dev_info(o->dev)->fp64);
}
