/*
 * linear.c - out = residual + scale * act(x w^T + b), by a GEMM provider.
 *
 * in x, w, b, scale, residual; out y, scratch memory of the provider; i: act,
 * sums in double.
 *
 * A constant weight is packed once in the store. One that training changes,
 * that a step made or that is for a single run is taken as it is. Where a
 * backward follows, activation and scale are steps of their own, because their
 * gradients need what goes in.
 */
#include "ops/common.h"

#include <stdio.h>

static bool constant(const vt_plan *p, vt_val w)
{
    const vt_plan_options *o = vt_plan_settings(p);

    return vt_value_of(p, w)->kind == VT_PARAM && !o->train && !o->once;
}

/* What all multiplications here have in common. */
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

/* In int8: layers with little work and much to lose, that stay in f32. */
static bool delicate(const vt_plan *p, vt_val x)
{
    const vt_value *v = vt_value_of(p, x);
    const vt_step *from = v->first < 0 ? NULL : vt_plan_step(p, v->first);

    /* The classifier, and the patches: pixels have the widest range of all. */
    return v->rank < 3 || (from && from->op == &vt_op_patch);
}

static vt_gemm_desc forward(const vt_plan *p, const vt_step *s)
{
    vt_val x = s->in[0], w = s->in[1];
    vt_gemm_desc d =
        base(p, vt_op_rows(p, x), vt_dim(p, w, 0), vt_dim(p, x, -1));

    if (vt_value_of(p, x)->rank == 3) {
        d.batch = vt_dim(p, x, 0);
        d.M = vt_dim(p, x, 1);
    }
    if (d.type == VT_I8 && delicate(p, x))
        d.type = VT_F32;
    d.lda = vt_value_of(p, x)->ld;
    if (s->out[0] != VT_NONE)
        d.ldc = vt_value_of(p, s->out[0])->ld;
    d.bias = s->in[2] != VT_NONE;
    d.scale = s->in[3] != VT_NONE;
    d.residual = s->in[4] != VT_NONE;
    d.act = (vt_act)s->i[0];
    d.b_packed = constant(p, w);
    return d;
}

/* s->out[slot] = the memory that the provider works in, if it wants any. */
static vitcl_status scratch(vt_plan *p, vt_step *s, int slot,
                            const vt_gemm_desc *d)
{
    vt_dev *dev = vt_plan_settings(p)->dev;
    size_t bytes = dev ? vt_gemm_temp_bytes(dev, vt_plan_gemm(p), d) : 0;

    if (bytes == 0)
        return VITCL_OK;
    if (bytes / 4 >= INT32_MAX)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "a multiplication needs %.0f MB beside its data",
                       (double)bytes / 1e6);
    return vt_op_out(p, s, slot, 1, (int[]){(int)((bytes + 3) / 4)});
}

static vitcl_status bind(vt_plan *p, vt_step *s, const vt_gemm_desc *d,
                         vt_gemm_bufs *b, vt_val temp)
{
    vitcl_status st = VITCL_OK;

    VT_TRY(vt_bind(&b->temp, p, temp));
    VT_TRY(
        vt_gemm_new(&s->gemm, vt_plan_settings(p)->dev, vt_plan_gemm(p), d, b));
done:
    return st;
}

static vitcl_status check(const vt_plan *p, const vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_val x = s->in[0], w = s->in[1];
    int n = vt_dim(p, w, 0), k = vt_dim(p, x, -1);

    VT_TRY(vt_op_need(x != VT_NONE && w != VT_NONE, "an input is missing"));
    if (vt_op_count(p, w) != n * (long long)k)
        return vt_fail(VITCL_EINVAL,
                       "%s has %d columns, the tensor before it %d",
                       vt_value_of(p, w)->name, vt_op_count(p, w) / n, k);
    for (int i = 2; i < 4; i++)
        VT_TRY(vt_op_need(s->in[i] == VT_NONE || vt_op_count(p, s->in[i]) == n,
                          "bias and scale must have one number an output"));
    VT_TRY(
        vt_op_need(s->in[4] == VT_NONE || vt_op_count(p, s->in[4]) ==
                                              (long long)vt_op_rows(p, x) * n,
                   "the residual differs in size"));
done:
    return st;
}

/* The writer's scratch memory is sized by now. CLBlast needs more of it for
 * padded rows than for others. */
static bool same_scratch(const vt_plan *p, const vt_step *writer, int ld)
{
    vt_dev *dev = vt_plan_settings(p)->dev;
    vt_gemm_desc d = forward(p, writer);
    const size_t before =
        dev ? vt_gemm_temp_bytes(dev, vt_plan_gemm(p), &d) : 0;

    d.ldc = ld;
    return !dev || vt_gemm_temp_bytes(dev, vt_plan_gemm(p), &d) == before;
}

/* Rows a multiple of 4096 bytes apart share their places in the first cache: a
 * CPU's product of 14 rows at a time runs at two thirds of its speed. So such a
 * value is padded when a linear layer reads what another one wrote. */
static void pad_input(vt_plan *p, const vt_step *s)
{
    const vt_value *x = vt_value_of(p, s->in[0]);
    const vt_step *from = x->first < 0 ? NULL : vt_plan_step(p, x->first);
    const int k = x->dim[x->rank - 1];

    if (vt_op_cpu(p) && !vt_plan_settings(p)->backward && k % 1024 == 0 &&
        from && from->op == &vt_op_linear && from->in[4] == VT_NONE &&
        same_scratch(p, from, k + 16))
        vt_pad_rows(p, s->in[0], k + 16);
}

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    const vt_value *x = vt_value_of(p, s->in[0]);
    vt_gemm_desc d;
    int dim[4], rank;

    VT_TRY(check(p, s));
    pad_input(p, s);
    rank = x->rank;
    for (int i = 0; i < rank; i++)
        dim[i] = x->dim[i];
    dim[rank - 1] = vt_dim(p, s->in[1], 0);
    VT_TRY(vt_op_out(p, s, 0, rank, dim));
    d = forward(p, s);
    VT_TRY(scratch(p, s, 1, &d));
done:
    return st;
}

static vitcl_status exact(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int n = vt_dim(p, s->in[1], 0);

    VT_TRY(vt_op_kernel(&k, p, s, "linear", "linear_exact"));
    VT_TRY(vt_args(p, k, "vvvii", s->out[0], s->in[0], s->in[1], n,
                   vt_dim(p, s->in[0], -1)));
    vt_op_items(k, p, (n + 3) / 4, vt_op_rows(p, s->in[0]));
done:
    return st;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_gemm_desc d = forward(p, s);
    vt_gemm_bufs b = {0};
    vt_buf *packed = NULL;

    if (s->i[1])
        return exact(p, s);
    if (d.b_packed) {
        VT_TRY(vt_store_packed(&packed, vt_plan_settings(p)->store,
                               vt_value_of(p, s->in[1])->name, vt_plan_gemm(p),
                               &d));
        b.b = packed;
    } else {
        VT_TRY(vt_bind_weight(&b.b, p, s));
    }
    VT_TRY(vt_bind(&b.c, p, s->out[0]));
    VT_TRY(vt_bind(&b.a, p, s->in[0]));
    VT_TRY(vt_bind(&b.bias, p, s->in[2]));
    VT_TRY(vt_bind(&b.scale, p, s->in[3]));
    VT_TRY(vt_bind(&b.residual, p, s->in[4]));
    VT_TRY(bind(p, s, &d, &b, s->out[1]));
done:
    vt_buf_free(packed); /* the multiplication holds its own reference */
    return st;
}

static double macs(const vt_plan *p, const vt_step *s)
{
    return (double)vt_op_rows(p, s->in[0]) * vt_op_count(p, s->in[1]);
}

/* ---- dx[M,K] = dy[M,N] w[N,K]: in dy, w, x (for its shape), slope ----
 * With a slope x is act(z), and out is dz: the product, times act's slope at z.
 */

static vt_gemm_desc x_desc(const vt_plan *p, const vt_step *s)
{
    vt_val dy = s->in[0];
    vt_gemm_desc d =
        base(p, vt_op_rows(p, dy), vt_dim(p, s->in[2], -1), vt_dim(p, dy, -1));

    d.trans_b = true;
    d.residual = d.times = s->in[3] != VT_NONE;
    return d;
}

static vitcl_status x_shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_gemm_desc d = x_desc(p, s);

    VT_TRY(vt_op_like(p, s, 0, s->in[2]));
    VT_TRY(scratch(p, s, 1, &d));
done:
    return st;
}

static vitcl_status x_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_gemm_desc d = x_desc(p, s);
    vt_gemm_bufs b = {0};

    VT_TRY(vt_bind(&b.c, p, s->out[0]));
    VT_TRY(vt_bind(&b.a, p, s->in[0]));
    VT_TRY(vt_bind(&b.b, p, s->in[1]));
    VT_TRY(vt_bind(&b.residual, p, s->in[3]));
    VT_TRY(bind(p, s, &d, &b, s->out[1]));
done:
    return st;
}

static double x_macs(const vt_plan *p, const vt_step *s)
{
    return (double)vt_op_rows(p, s->in[0]) * vt_op_count(p, s->in[1]);
}

static const vt_op grad_x = {.name = "linear_grad_x",
                             .shape = x_shape,
                             .prepare = x_prepare,
                             .macs = x_macs};

/* ---- dw[N,K] (+)= dy^T x: in dy, x, w (for its shape), sum, db ----
 * A parameter's gradient adds into `sum`, a VT_STATE; where there is none out
 * is written. To db, a bias's gradient, dy's rows are added on the way. */

static vt_gemm_desc w_desc(const vt_plan *p, vt_val dy, vt_val x)
{
    vt_gemm_desc d =
        base(p, vt_dim(p, dy, -1), vt_dim(p, x, -1), vt_op_rows(p, x));

    d.trans_a = d.trans_b = true;
    return d;
}

static vt_gemm_desc w_desc_of(const vt_plan *p, const vt_step *s)
{
    vt_gemm_desc d = w_desc(p, s->in[0], s->in[1]);

    d.accumulate = s->in[3] != VT_NONE;
    d.sums = s->in[4] != VT_NONE;
    return d;
}

static vitcl_status w_shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_gemm_desc d = w_desc_of(p, s);

    if (s->in[3] == VT_NONE)
        VT_TRY(vt_op_like(p, s, 0, s->in[2]));
    VT_TRY(scratch(p, s, 1, &d));
done:
    return st;
}

static vitcl_status w_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_gemm_desc d = w_desc_of(p, s);
    vt_gemm_bufs b = {0};

    VT_TRY(vt_bind(&b.bias, p, s->in[4]));
    VT_TRY(vt_bind(&b.c, p, d.accumulate ? s->in[3] : s->out[0]));
    VT_TRY(vt_bind(&b.a, p, s->in[0]));
    VT_TRY(vt_bind(&b.b, p, s->in[1]));
    VT_TRY(bind(p, s, &d, &b, s->out[1]));
done:
    return st;
}

static double w_macs(const vt_plan *p, const vt_step *s)
{
    return (double)vt_op_count(p, s->in[0]) * vt_dim(p, s->in[1], -1);
}

static const vt_op grad_w = {.name = "linear_grad_w",
                             .shape = w_shape,
                             .prepare = w_prepare,
                             .macs = w_macs};

/* Both gradients in one step, where the provider can. */
static void grad_parameters(vt_plan *p, vt_val g, vt_val x, vt_val w, vt_val b)
{
    vt_dev *dev = vt_plan_settings(p)->dev;
    vt_val db = vt_grad_param(p, b), sum;
    vt_gemm_desc d = w_desc(p, g, x);

    d.accumulate = d.sums = true;
    if (db == VT_NONE || !dev || !vt_grad_wanted(p, w) ||
        vt_value_of(p, w)->kind != VT_PARAM ||
        !vt_gemm_sums(dev, vt_plan_gemm(p), &d)) {
        vt_add_rows_grad(p, db, g);
        vt_op_grad_w(p, &grad_w, g, x, w, 0, NULL);
        return;
    }
    sum = vt_grad_param(p, w);
    vt_op_append(p, &grad_w, 5, (vt_val[]){g, x, w, sum, db}, 0, NULL);
}

static void grad(vt_plan *p, const vt_step *s)
{
    vt_val g = vt_grad(p, s->out[0]), x = s->in[0], w = s->in[1];
    vt_val slope, to;

    vt_op_give(p, s->in[4], g);
    grad_parameters(p, g, x, w, s->in[2]);
    if (!vt_grad_wanted(p, x))
        return;
    to = vt_activated(p, x, &slope);
    vt_op_give(
        p, to,
        vt_op_append(p, &grad_x, 4, (vt_val[]){g, w, x, slope}, 0, NULL));
}

const vt_op vt_op_linear = {.name = "linear",
                            .shape = shape,
                            .prepare = prepare,
                            .grad = grad,
                            .macs = macs,
                            .padded = true};

static vt_val append(vt_plan *p, vt_val x, vt_linear_args a)
{
    return vt_op_append(p, &vt_op_linear, 5,
                        (vt_val[]){x, a.w, a.b, a.scale, a.residual}, 1,
                        (int[]){(int)a.act});
}

vt_val vt_linear(vt_plan *p, vt_val x, vt_linear_args a)
{
    vt_val y;

    if (!vt_plan_settings(p)->backward ||
        (a.act == VT_ACT_NONE && a.scale == VT_NONE))
        return append(p, x, a);
    y = append(p, x,
               (vt_linear_args){.w = a.w,
                                .b = a.b,
                                .scale = VT_NONE,
                                .residual = VT_NONE,
                                .act = VT_ACT_NONE});
    if (a.act != VT_ACT_NONE)
        y = vt_activation(p, y, a.act);
    if (a.scale != VT_NONE)
        y = vt_mul_rows(p, y, a.scale);
    return a.residual == VT_NONE ? y : vt_add(p, a.residual, y);
}

vt_val vt_linear_exact(vt_plan *p, vt_val x, vt_val w)
{
    const vt_dev *dev = vt_plan_settings(p)->dev;

    if (!vt_plan_settings(p)->exact || vt_plan_type(p) != VT_F32 || !dev ||
        !vt_dev_info(dev)->fp64)
        return vt_linear(
            p, x,
            (vt_linear_args){
                .w = w, .b = VT_NONE, .scale = VT_NONE, .residual = VT_NONE});
    return vt_op_append(p, &vt_op_linear, 5,
                        (vt_val[]){x, w, VT_NONE, VT_NONE, VT_NONE}, 2,
                        (int[]){VT_ACT_NONE, true});
}

vt_val vt_dense(vt_plan *p, vt_val x, const char *prefix, int n, bool bias,
                vt_act act, vt_val scale, vt_val residual)
{
    char name[96];
    vt_linear_args a = {
        .b = VT_NONE, .scale = scale, .residual = residual, .act = act};

    snprintf(name, sizeof name, "%s.weight", prefix);
    a.w = vt_param(p, name, 2, (int[]){n, vt_dim(p, x, -1)});
    if (bias) {
        snprintf(name, sizeof name, "%s.bias", prefix);
        a.b = vt_param(p, name, 1, (int[]){n});
    }
    return vt_linear(p, x, a);
}
