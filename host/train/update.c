/*
 * update.c - add norm, optimiser and average to a training's plan.
 */
#include "train/update.h"

#include "base/memory.h"
#include "ops/ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

/* ---- layers ---- */

/* The length of what names the block, as blocks.3. or stages.0.blocks.1. do;
 * 0: it is in none. */
static int block_of(const char *name)
{
    int n = 0;

    if (sscanf(name, "blocks.%*u.%n", &n) == 0 && n > 0)
        return n;
    (void)sscanf(name, "stages.%*u.blocks.%*u.%n", &n);
    return n;
}

static bool in_stem(const char *name)
{
    static const char *const stem[] = {"cls_token", "dist_token",   "reg_token",
                                       "pos_embed", "patch_embed",  "norm_pre",
                                       "mpp_mask",  "rel_pos_bias", "stem"};

    for (size_t i = 0; i < VT_COUNT(stem); i++)
        if (strncmp(name, stem[i], strlen(stem[i])) == 0)
            return true;
    return false;
}

void vt_layer_scales(double *scale, const vt_plan *p, double decay)
{
    const char *last = "";
    int blocks = 0, same = 0;

    /* first the layer, with 0 for the stem; -1: the norm, of the last block */
    for (vt_val v = 0; v < vt_plan_values(p); v++) {
        const char *name = vt_value_of(p, v)->name;
        const int n = block_of(name);

        scale[v] = in_stem(name) ? 0 : strncmp(name, "norm", 4) == 0 ? -1 : -2;
        if (vt_value_of(p, v)->kind != VT_PARAM || !n)
            continue;
        blocks += n != same || strncmp(name, last, (size_t)n) != 0;
        last = name, same = n;
        scale[v] = blocks;
    }
    for (vt_val v = 0; v < vt_plan_values(p); v++)
        scale[v] = pow(decay, scale[v] >= 0    ? blocks + 1 - scale[v]
                              : scale[v] == -1 ? 1
                                               : 0);
}

/* ---- steps ---- */

/* Puts the parameters of one weight decay and one learning rate into as few
 * slabs as possible, and their gradients into others. */
static vitcl_status make_slabs(vt_plan *p, const vt_optimizer_config *config,
                               const vt_val *param, size_t n,
                               const double *scale)
{
    vitcl_status st = VITCL_OK;
    vt_val *w = NULL, *grad = NULL, slab;

    VT_TRY(vt_new(&w, n, sizeof *w));
    VT_TRY(vt_new(&grad, n, sizeof *grad));
    for (size_t i = 0; i < n; i++) {
        const double decay = decay_of(p, config, param[i]);
        size_t count = 0;

        for (size_t k = i; k < n; k++)
            if (vt_value_of(p, param[k])->slab == VT_NONE &&
                decay_of(p, config, param[k]) == decay &&
                scale[param[k]] == scale[param[i]]) {
                w[count] = param[k];
                grad[count++] = vt_grad(p, param[k]);
            }
        for (size_t at = 0, taken; at < count; at += taken) {
            taken = vt_slab(&slab, p, w + at, count - at);
            (void)vt_slab(&slab, p, grad + at, taken);
        }
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
                        vt_val hyper, vt_val norm, double share)
{
    const float limit = (float)config->clip_norm;
    const float decay = (float)decay_of(p, config, w);
    const vt_val slab = vt_value_of(p, w)->slab;
    const vt_val grad = vt_value_of(p, vt_grad(p, w))->slab;

    if (config->optimizer == VT_SGD)
        vt_sgd(p, slab, grad, hyper, norm, limit, (float)config->momentum,
               decay, (float)share);
    else
        vt_adam(p, slab, grad, hyper, norm, limit, (float)config->beta1,
                (float)config->beta2, (float)config->eps, decay,
                config->optimizer == VT_ADAMW, (float)share);
    if (config->ema > 0)
        vt_ema(p, slab, (float)config->ema);
}

vitcl_status vt_update_add(vt_val *norm, vt_plan *p,
                           const vt_optimizer_config *config,
                           const vt_val *param, size_t n, vt_val hyper)
{
    vitcl_status st = VITCL_OK;
    double *scale = NULL;

    VT_TRY(vt_new(&scale, (size_t)vt_plan_values(p), sizeof *scale));
    vt_layer_scales(scale, p,
                    config->layer_decay > 0 ? config->layer_decay : 1);
    VT_TRY(make_slabs(p, config, param, n, scale));
    VT_TRY(add_norm(norm, p, param, n));
    for (size_t i = 0; i < n; i++)
        if (vt_value_of(p, param[i])->offset == 0)
            update_slab(p, config, param[i], hyper,
                        config->clip_norm > 0 ? *norm : VT_NONE,
                        scale[param[i]]);
done:
    free(scale);
    return st;
}
