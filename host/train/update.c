/*
 * update.c - add norm, optimiser and average to a training's plan.
 */
#include "train/update.h"

#include "base/memory.h"
#include "ops/ops.h"

#include <string.h>

static double decay_of(const vt_plan *p, const vt_optimizer_config *config,
                       vt_val w)
{
    const vt_value *v = vt_value_of(p, w);
    const size_t n = strlen(v->name);

    if (config->decay_matrices &&
        (v->rank < 2 || n < 7 || strcmp(v->name + n - 7, ".weight") != 0))
        return 0;
    return config->weight_decay;
}

/* Puts the parameters that decay, or those that do not, into as few slabs as
 * possible, and their gradients into others. */
static vitcl_status make_slabs(vt_plan *p, const vt_optimizer_config *config,
                               const vt_val *param, size_t n, bool decay)
{
    vitcl_status st = VITCL_OK;
    vt_val *w = NULL, *grad = NULL, slab;
    size_t count = 0, taken;

    VT_TRY(vt_new(&w, n, sizeof *w));
    VT_TRY(vt_new(&grad, n, sizeof *grad));
    for (size_t i = 0; i < n; i++)
        if ((decay_of(p, config, param[i]) > 0) == decay) {
            w[count] = param[i];
            grad[count++] = vt_grad(p, param[i]);
        }
    for (size_t at = 0; at < count; at += taken) {
        taken = vt_slab(&slab, p, w + at, count - at);
        (void)vt_slab(&slab, p, grad + at, taken);
    }
done:
    free(w);
    free(grad);
    return st;
}

static vitcl_status add_norm(vt_val *out, vt_plan *p, const vt_val *param,
                             size_t n)
{
    vitcl_status st = VITCL_OK;
    vt_val *grad = NULL;

    VT_TRY(vt_new(&grad, n, sizeof *grad));
    for (size_t i = 0; i < n; i++)
        grad[i] = vt_grad(p, param[i]);
    *out = vt_grad_norm(p, grad, (int)n);
    vt_name(p, *out, "grad_norm");
    vt_keep(p, *out);
done:
    free(grad);
    return st;
}

/* The steps for the slab that begins with the parameter w. */
static void update_slab(vt_plan *p, const vt_optimizer_config *config, vt_val w,
                        vt_val hyper, vt_val norm)
{
    const float limit = (float)config->clip_norm;
    const float decay = (float)decay_of(p, config, w);
    const vt_val slab = vt_value_of(p, w)->slab;
    const vt_val grad = vt_value_of(p, vt_grad(p, w))->slab;

    if (config->optimizer == VT_SGD)
        vt_sgd(p, slab, grad, hyper, norm, limit, (float)config->momentum,
               decay);
    else
        vt_adam(p, slab, grad, hyper, norm, limit, (float)config->beta1,
                (float)config->beta2, (float)config->eps, decay,
                config->optimizer == VT_ADAMW);
    if (config->ema > 0)
        vt_ema(p, slab, (float)config->ema);
}

vitcl_status vt_update_add(vt_plan *p, const vt_optimizer_config *config,
                           const vt_val *param, size_t n, vt_val hyper)
{
    vt_val norm = VT_NONE;

    VT_RET(make_slabs(p, config, param, n, true));
    VT_RET(make_slabs(p, config, param, n, false));
    if (config->clip_norm > 0)
        VT_RET(add_norm(&norm, p, param, n));
    for (size_t i = 0; i < n; i++)
        if (vt_value_of(p, param[i])->offset == 0)
            update_slab(p, config, param[i], hyper, norm);
    return VITCL_OK;
}
