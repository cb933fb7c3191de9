/*
 * steps.c - what the embedding, the blocks and the head of a ViT share.
 */
#include "models/vit.h"

#include <stdarg.h>
#include <stdio.h>

vt_val vt_vit_layernorm(vt_plan *p, vt_val x, const vt_config *c,
                        const char *format, ...)
{
    char prefix[80], name[96];
    const int width = vt_dim(p, x, -1);
    vt_val gamma, beta;
    va_list args;

    va_start(args, format);
    vsnprintf(prefix, sizeof prefix, format, args);
    va_end(args);
    snprintf(name, sizeof name, "%s.weight", prefix);
    gamma = vt_param(p, name, 1, &width);
    if (c->rms)
        return vt_rmsnorm(p, x, gamma, c->eps, 0);
    snprintf(name, sizeof name, "%s.bias", prefix);
    beta = vt_param(p, name, 1, &width);
    return vt_layernorm(p, x, gamma, beta, c->eps);
}

void vt_vit_return(vt_plan *p, vt_val x, const char *name)
{
    x = vt_scale(p, x, 1.0f);
    vt_name(p, x, "%s", name);
    vt_keep(p, x);
}

bool vt_vit_returns_tokens(const vt_config *c)
{
    return c->source == VT_SOURCE_HF && c->classes == 0;
}

int vt_vit_rows(const vt_plan *p, const vt_config *c)
{
    const vt_plan_options *o = vt_plan_settings(p);

    if (o->backward || o->train || c->attn_pool || c->pool != VT_POOL_TOKEN ||
        vt_vit_returns_tokens(c) || vt_wanted(p, "norm"))
        return 0;
    return 1 + c->dist_token;
}
