/*
 * optimizer.c - the optimisers' update steps and the average of weights.
 *
 * They write to their inputs, parameters and states or slabs of them, which are
 * not in the arena.
 */
#include "ops/common.h"

#include <stdlib.h>

enum { IN_W, IN_GRAD, OWN }; /* adam and sgd; OWN: the first of their own */
enum { ADAM_M = OWN, ADAM_V, ADAM_HYPER, ADAM_NORM };
enum { I_DECOUPLED };
enum {
    F_ADAM_MAX_NORM,
    F_ADAM_BETA1,
    F_ADAM_BETA2,
    F_ADAM_EPS,
    F_ADAM_DECAY,
    F_ADAM_SHARE
};
enum { SGD_V = OWN, SGD_HYPER, SGD_NORM };
enum { F_SGD_MAX_NORM, F_SGD_MOMENTUM, F_SGD_DECAY, F_SGD_SHARE };
/* ema */
enum { EMA_AVERAGE, EMA_W };
enum { F_RATE };

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    return vt_op_need(s->in[IN_W] != VT_NONE && s->in[IN_GRAD] != VT_NONE &&
                          vt_op_same(p, s->in[IN_W], s->in[IN_GRAD]),
                      "a gradient does not fit its parameter");
}

/* ---- adam ---- */

static vitcl_status adam_prepare(vt_plan *p, vt_step *s)
{
    int n = vt_op_count(p, s->in[IN_W]);

    return vt_op_launch_blocks(
        p, s, "optimizer", "adam", n, 1, "vvvvvvifffffif", s->in[IN_W],
        s->in[IN_GRAD], s->in[ADAM_M], s->in[ADAM_V], s->in[ADAM_HYPER],
        s->in[ADAM_NORM], n, (double)s->f[F_ADAM_MAX_NORM],
        (double)s->f[F_ADAM_BETA1], (double)s->f[F_ADAM_BETA2],
        (double)s->f[F_ADAM_EPS], (double)s->f[F_ADAM_DECAY], s->i[I_DECOUPLED],
        (double)s->f[F_ADAM_SHARE]);
}

/* No grad, here and below: updates are not differentiated. */
const vt_op vt_op_optimizer = {
    .name = "adam", .shape = shape, .prepare = adam_prepare};

void vt_adam(vt_plan *p, vt_val w, vt_val grad, vt_val hyper, vt_val norm,
             float max_norm, float beta1, float beta2, float eps, float decay,
             bool decoupled, float share)
{
    vt_val m = vt_state_like(p, w, "adam.m"), v = vt_state_like(p, w, "adam.v");
    vt_step *s = vt_step_new(p, &vt_op_optimizer);

    if (!s)
        return;
    s->in[IN_W] = w, s->in[IN_GRAD] = grad, s->in[ADAM_M] = m,
    s->in[ADAM_V] = v;
    s->in[ADAM_HYPER] = hyper, s->in[ADAM_NORM] = norm;
    s->i[I_DECOUPLED] = decoupled;
    s->f[F_ADAM_MAX_NORM] = max_norm, s->f[F_ADAM_BETA1] = beta1,
    s->f[F_ADAM_BETA2] = beta2, s->f[F_ADAM_EPS] = eps;
    s->f[F_ADAM_DECAY] = decay, s->f[F_ADAM_SHARE] = share;
    vt_step_add(p, s);
}

/* ---- sgd ---- */

static vitcl_status sgd_prepare(vt_plan *p, vt_step *s)
{
    int n = vt_op_count(p, s->in[IN_W]);

    return vt_op_launch_blocks(
        p, s, "optimizer", "sgd", n, 1, "vvvvviffff", s->in[IN_W],
        s->in[IN_GRAD], s->in[SGD_V], s->in[SGD_HYPER], s->in[SGD_NORM], n,
        (double)s->f[F_SGD_MAX_NORM], (double)s->f[F_SGD_MOMENTUM],
        (double)s->f[F_SGD_DECAY], (double)s->f[F_SGD_SHARE]);
}

static const vt_op sgd = {
    .name = "sgd", .shape = shape, .prepare = sgd_prepare};

void vt_sgd(vt_plan *p, vt_val w, vt_val grad, vt_val hyper, vt_val norm,
            float max_norm, float momentum, float decay, float share)
{
    vt_val v = vt_state_like(p, w, "sgd.v");
    vt_step *s = vt_step_new(p, &sgd);

    if (!s)
        return;
    s->in[IN_W] = w, s->in[IN_GRAD] = grad, s->in[SGD_V] = v;
    s->in[SGD_HYPER] = hyper, s->in[SGD_NORM] = norm;
    s->f[F_SGD_MAX_NORM] = max_norm, s->f[F_SGD_MOMENTUM] = momentum,
    s->f[F_SGD_DECAY] = decay, s->f[F_SGD_SHARE] = share;
    vt_step_add(p, s);
}

/* ---- ema ---- */

static vitcl_status ema_shape(vt_plan *p, vt_step *s)
{
    return vt_op_need(vt_op_same(p, s->in[EMA_AVERAGE], s->in[EMA_W]),
                      "an average does not fit its parameter");
}

/* The average begins as a copy of the weights, made in pieces because these may
 * be all of a model's. */
static vitcl_status copy(vt_plan *p, vt_val to, vt_val from)
{
    vitcl_status st = VITCL_OK;
    const size_t bytes = (size_t)vt_elements(p, from) * sizeof(float);
    const size_t most = VT_MIN(bytes, (size_t)4 << 20);
    vt_buf *a, *b;
    uint8_t *host = NULL;

    VT_TRY(vt_bind(&a, p, to));
    VT_TRY(vt_bind(&b, p, from));
    VT_TRY(VT_NEW(&host, most));
    for (size_t at = 0; at < bytes; at += most) {
        const size_t n = VT_MIN(most, bytes - at);

        VT_TRY(vt_buf_read(vt_plan_queue(p), b, at, host, n));
        VT_TRY(vt_buf_write(vt_plan_queue(p), a, at, host, n));
    }
done:
    free(host);
    return st;
}

static vitcl_status ema_prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;
    int n = vt_op_count(p, s->in[EMA_AVERAGE]);

    VT_RET(vt_op_kernel(&k, p, s, "optimizer", "ema"));
    VT_RET(vt_args(p, k, "vvif", s->in[EMA_AVERAGE], s->in[EMA_W], n,
                   (double)s->f[F_RATE]));
    vt_op_blocks(k, p, n, 1);
    return copy(p, s->in[EMA_AVERAGE], s->in[EMA_W]);
}

static const vt_op ema = {
    .name = "ema", .shape = ema_shape, .prepare = ema_prepare};

void vt_ema(vt_plan *p, vt_val w, float rate)
{
    vt_val average = vt_state_like(p, w, "ema");
    vt_step *s = vt_step_new(p, &ema);

    if (!s)
        return;
    s->in[EMA_AVERAGE] = average, s->in[EMA_W] = w;
    s->f[F_RATE] = rate;
    vt_step_add(p, s);
}
