/*
 * layernorm.c - layer norm of rows, or of the first rows of each picture, and
 * root mean square norm, whose mean is 0.
 */
#include "ops/common.h"

#include <stdio.h>

enum { IN_X, IN_GAMMA, IN_BETA };
enum { OUT_Y, OUT_STAT }; /* stat: for the gradients */
/* take rows of each `of`; 1, 1: all. flat: the first row, as [B,C] */
enum { I_TAKE, I_OF, I_RMS, I_FLAT };
enum { F_EPS };

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    const vt_value *x = vt_value_of(p, s->in[IN_X]);
    int c = vt_dim(p, s->in[IN_X], -1), dim[4];

    VT_RET(vt_op_need(x != NULL, "an input is missing"));
    for (int k = IN_GAMMA; k <= IN_BETA; k++)
        VT_RET(vt_op_need(s->in[k] == VT_NONE || vt_op_count(p, s->in[k]) == c,
                          "gamma and beta must have a row's width"));
    for (int i = 0; i < x->rank; i++)
        dim[i] = x->dim[i];
    if (s->i[I_OF] > 1) {
        VT_RET(vt_op_need(x->rank == 3 && s->i[I_TAKE] >= 1 &&
                              s->i[I_TAKE] <= s->i[I_OF],
                          "more rows asked for than a picture has"));
        dim[1] = s->i[I_TAKE];
    }
    if (s->i[I_FLAT])
        dim[1] = c;
    VT_RET(vt_op_out(p, s, OUT_Y, s->i[I_FLAT] ? 2 : x->rank, dim));
    if (vt_plan_settings(p)->backward)
        VT_RET(vt_op_out(p, s, OUT_STAT, 2,
                         (int[]){vt_op_rows(p, s->out[OUT_Y]), 2}));
    return VITCL_OK;
}

static const char *rms(const vt_step *s)
{
    return s->i[I_RMS] ? " -DRMS" : "";
}

/* Do the vectors of a GPU begin at multiples of their size? */
static bool whole(const vt_plan *p, const vt_step *s)
{
    return !vt_op_cpu(p) && vt_dim(p, s->in[IN_X], -1) % VT_OP_LANES == 0;
}

static bool words(vt_int_rows *out, const vt_plan *p, const vt_step *s)
{
    return vt_op_cpu(p) &&
           vt_product_int_rows(out, vt_plan_settings(p)->dev, vt_plan_gemm(p),
                               vt_op_rows(p, s->out[OUT_Y]),
                               vt_dim(p, s->out[OUT_Y], -1));
}

/* Normalises rows and rounds them to integers. */
static vitcl_status round_rows(vt_plan *p, vt_step *s)
{
    const int c = vt_dim(p, s->in[IN_X], -1);
    vt_int_rows w;
    vt_kernel *k;
    char defines[sizeof w.defines + 8];

    VT_RET(vt_op_need(words(&w, p, s), "no product reads its integers"));
    snprintf(defines, sizeof defines, "%s%s", w.defines, rms(s));
    VT_RET(vt_step_kernel(&k, p, s, "gemm_dot_rows", "gemm_dot_rows", defines));
    VT_RET(vt_args(p, k, "vvvviiiiiif", s->out[OUT_Y], s->in[IN_X],
                   s->in[IN_GAMMA], s->in[IN_BETA],
                   vt_op_rows(p, s->out[OUT_Y]), c, c, w.ld, s->i[I_TAKE],
                   s->i[I_OF], (double)s->f[F_EPS]));
    vt_op_items(k, p, w.items, 1);
    snprintf(s->note, sizeof s->note, "gemm_dot_rows int8");
    return VITCL_OK;
}

vitcl_status vt_op_norm_behind(vt_gemm_norm *out, vt_plan *p, vt_val x)
{
    const vt_step *s = vt_plan_step(p, vt_value_of(p, x)->first + 1);

    if (!s || !s->early || vt_value_of(p, s->out[OUT_Y])->dtype != VT_BF16)
        return VITCL_OK;
    out->eps = s->f[F_EPS];
    out->rms = s->i[I_RMS];
    for (int i = IN_GAMMA; i <= IN_BETA; i++)
        VT_RET(vt_bind(&out->buf[i], p, s->in[i]));
    return vt_bind(&out->buf[0], p, s->out[OUT_Y]);
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;
    char defines[24];

    if (vt_value_of(p, s->out[OUT_Y])->dtype == VT_I8)
        return round_rows(p, s);
    snprintf(defines, sizeof defines, "%s%s", whole(p, s) ? " -DWHOLE" : "",
             rms(s));
    VT_RET(vt_op_kernel_with(&k, p, s, "layernorm", "layernorm", defines));
    VT_RET(vt_args(p, k, "vvvvviiif", s->out[OUT_Y], s->out[OUT_STAT],
                   s->in[IN_X], s->in[IN_GAMMA], s->in[IN_BETA],
                   vt_dim(p, s->in[IN_X], -1), s->i[I_TAKE], s->i[I_OF],
                   (double)s->f[F_EPS]));
    vt_op_groups(k, p, vt_op_rows(p, s->out[OUT_Y]));
    s->passed = s->early &&
                vt_gemm_norms(
                    vt_plan_step(p, vt_value_of(p, s->in[IN_X])->first)->gemm);
    if (s->passed)
        snprintf(s->note, sizeof s->note, "in the step before");
    return VITCL_OK;
}

static vitcl_status x_prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;

    VT_RET(
        vt_op_kernel_with(&k, p, s, "layernorm", "layernorm_grad_x", rms(s)));
    VT_RET(vt_args(p, k, "vvvvviii", s->out[VT_DX], s->in[VT_DY], s->in[IN_X],
                   s->in[VT_SAVED], s->in[IN_GAMMA], vt_dim(p, s->in[IN_X], -1),
                   s->i[I_TAKE], s->i[I_OF]));
    vt_op_groups(k, p, vt_op_rows(p, s->in[VT_DY]));
    return VITCL_OK;
}

static const vt_op grad_x = {.name = "layernorm_grad_x",
                             .prepare = x_prepare,
                             .reads =
                                 1u << IN_X | 1u << IN_GAMMA | 1u << VT_SAVED};

static vitcl_status w_prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;
    int c = vt_dim(p, s->in[IN_X], -1);

    VT_RET(vt_op_columns(&k, p, s, "layernorm", "layernorm_grad_w", c));
    return vt_args(p, k, "vvvvviiii", s->in[IN_GAMMA], s->in[IN_BETA],
                   s->in[VT_DY], s->in[IN_X], s->in[VT_SAVED],
                   vt_op_rows(p, s->in[VT_DY]), c, s->i[I_TAKE], s->i[I_OF]);
}

static const vt_op grad_w = {.name = "layernorm_grad_w",
                             .prepare = w_prepare,
                             .reads = 1u << IN_X | 1u << VT_SAVED,
                             .adds = 1u << IN_GAMMA | 1u << IN_BETA};

/* Not the input, which is the residual stream. In int8 plans not in bf16, too:
 * that would round twice. */
static void cpu_stored(const vt_plan *p, const vt_step *s, vt_dtype t,
                       unsigned *in, unsigned *out)
{
    vt_int_rows w;

    (void)in;
    if (t == VT_I8 ? words(&w, p, s) : vt_plan_type(p) == t)
        *out = 1u << OUT_Y;
}

const vt_op vt_op_layernorm = {.name = "layernorm",
                               .shape = shape,
                               .prepare = prepare,
                               .grad = vt_op_grad,
                               .grads = {&grad_w, &grad_x},
                               .half_in = 1u << IN_X,
                               .half_out = 1u << OUT_Y,
                               .cpu_stored = cpu_stored};

/* Is x of the step before, whose product may write this, too? */
static bool early(const vt_plan *p, vt_val x, int of)
{
    const vt_step *before = vt_plan_step(p, vt_plan_steps(p) - 2);

    return before && before->out[0] == x && of == 1 &&
           !vt_plan_settings(p)->backward && vt_plan_type(p) == VT_BF16 &&
           vt_op_dots(p) == VT_DOT_BF16_TILES;
}

static vt_val append(vt_plan *p, vt_val x, vt_val gamma, vt_val beta, float eps,
                     int take, int of, bool is_rms, bool flat)
{
    vt_step *s = vt_step_new(p, &vt_op_layernorm);

    if (!s)
        return VT_NONE;
    s->in[IN_X] = x, s->in[IN_GAMMA] = gamma, s->in[IN_BETA] = beta;
    s->i[I_TAKE] = take, s->i[I_OF] = of, s->i[I_RMS] = is_rms;
    s->i[I_FLAT] = flat;
    s->f[F_EPS] = eps;
    s->early = early(p, x, of);
    return vt_step_add(p, s);
}

vt_val vt_layernorm(vt_plan *p, vt_val x, vt_val gamma, vt_val beta, float eps)
{
    return append(p, x, gamma, beta, eps, 1, 1, false, false);
}

vt_val vt_layernorm_rows(vt_plan *p, vt_val x, vt_val gamma, vt_val beta,
                         float eps, int count)
{
    return append(p, x, gamma, beta, eps, count, vt_dim(p, x, 1), false, false);
}

vt_val vt_rmsnorm(vt_plan *p, vt_val x, vt_val gamma, float eps, int count)
{
    return append(p, x, gamma, VT_NONE, eps, count ? count : 1,
                  count ? vt_dim(p, x, 1) : 1, true, false);
}

vt_val vt_norm_token(vt_plan *p, vt_val x, vt_val gamma, vt_val beta, float eps,
                     bool is_rms)
{
    return append(p, x, gamma, beta, eps, 1, vt_dim(p, x, 1), is_rms, true);
}
