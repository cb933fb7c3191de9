/*
 * optimizer.c - the optimisers' update steps and the average of weights.
 *
 * They write their inputs: parameters and states, which no arena moves.
 */
#include "ops/common.h"

#include <stdio.h>
#include <stdlib.h>

/* A state of w's shape called "prefix.<w>". */
static vt_val companion(vt_plan *p, vt_val w, const char *prefix)
{
    char name[128];
    const vt_value *v = vt_value_of(p, w);
    int dim[4], rank;

    if (!v)
        return VT_NONE;
    rank = v->rank;
    for (int i = 0; i < rank; i++)
        dim[i] = v->dim[i];
    snprintf(name, sizeof name, "%s.%s", prefix, v->name);
    return vt_state(p, name, VT_F32, rank, dim);
}

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    return vt_op_need(s->in[0] != VT_NONE && s->in[1] != VT_NONE &&
                          vt_op_same(p, s->in[0], s->in[1]),
                      "a gradient does not fit its parameter");
}

/* ---- adam: in w, grad, m, v, hyper, norm; i: decoupled;
 * f: max_norm, beta1, beta2, eps, decay ---- */

static vitcl_status adam_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int n = vt_op_count(p, s->in[0]);

    VT_TRY(vt_op_kernel(&k, p, s, "optimizer", "adam"));
    VT_TRY(vt_args(p, k, "vvvvvvifffffi", s->in[0], s->in[1], s->in[2],
                   s->in[3], s->in[4], s->in[5], n, (double)s->f[0],
                   (double)s->f[1], (double)s->f[2], (double)s->f[3],
                   (double)s->f[4], s->i[0]));
    vt_op_blocks(k, p, n, 1);
done:
    return st;
}

/* No grad: nothing is differentiated through an update; nor below. */
const vt_op vt_op_optimizer = {
    .name = "adam", .shape = shape, .prepare = adam_prepare};

void vt_adam(vt_plan *p, vt_val w, vt_val grad, vt_val hyper, vt_val norm,
             float max_norm, float beta1, float beta2, float eps, float decay,
             bool decoupled)
{
    vt_val m = companion(p, w, "adam.m"), v = companion(p, w, "adam.v");
    vt_step *s = vt_step_new(p, &vt_op_optimizer);

    if (!s)
        return;
    s->in[0] = w, s->in[1] = grad, s->in[2] = m, s->in[3] = v;
    s->in[4] = hyper, s->in[5] = norm;
    s->i[0] = decoupled;
    s->f[0] = max_norm, s->f[1] = beta1, s->f[2] = beta2, s->f[3] = eps;
    s->f[4] = decay;
    vt_step_add(p, s);
}

/* ---- sgd: in w, grad, v, hyper, norm; f: max_norm, momentum, decay ---- */

static vitcl_status sgd_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int n = vt_op_count(p, s->in[0]);

    VT_TRY(vt_op_kernel(&k, p, s, "optimizer", "sgd"));
    VT_TRY(vt_args(p, k, "vvvvvifff", s->in[0], s->in[1], s->in[2], s->in[3],
                   s->in[4], n, (double)s->f[0], (double)s->f[1],
                   (double)s->f[2]));
    vt_op_blocks(k, p, n, 1);
done:
    return st;
}

static const vt_op sgd = {
    .name = "sgd", .shape = shape, .prepare = sgd_prepare};

void vt_sgd(vt_plan *p, vt_val w, vt_val grad, vt_val hyper, vt_val norm,
            float max_norm, float momentum, float decay)
{
    vt_val v = companion(p, w, "sgd.v");
    vt_step *s = vt_step_new(p, &sgd);

    if (!s)
        return;
    s->in[0] = w, s->in[1] = grad, s->in[2] = v;
    s->in[3] = hyper, s->in[4] = norm;
    s->f[0] = max_norm, s->f[1] = momentum, s->f[2] = decay;
    vt_step_add(p, s);
}

/* ---- ema: in average, w; f: rate ---- */

/* The average begins as a copy of the weights. */
static vitcl_status copy(vt_plan *p, vt_val to, vt_val from)
{
    vitcl_status st = VITCL_OK;
    size_t n = (size_t)vt_elements(p, from);
    vt_buf *a, *b;
    float *host = NULL;

    VT_TRY(vt_bind(&a, p, to));
    VT_TRY(vt_bind(&b, p, from));
    VT_TRY(VT_NEW(&host, n));
    VT_TRY(vt_buf_read(vt_plan_queue(p), b, 0, host, n * sizeof *host));
    VT_TRY(vt_buf_write(vt_plan_queue(p), a, 0, host, n * sizeof *host));
done:
    free(host);
    return st;
}

static vitcl_status ema_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int n = vt_op_count(p, s->in[0]);

    VT_TRY(vt_op_kernel(&k, p, s, "optimizer", "ema"));
    VT_TRY(vt_args(p, k, "vvif", s->in[0], s->in[1], n, (double)s->f[0]));
    vt_op_blocks(k, p, n, 1);
    VT_TRY(copy(p, s->in[0], s->in[1]));
done:
    return st;
}

static const vt_op ema = {
    .name = "ema", .shape = shape, .prepare = ema_prepare};

void vt_ema(vt_plan *p, vt_val w, float rate)
{
    vt_val average = companion(p, w, "ema");
    vt_step *s = vt_step_new(p, &ema);

    if (!s)
        return;
    s->in[0] = average, s->in[1] = w;
    s->f[0] = rate;
    vt_step_add(p, s);
}
