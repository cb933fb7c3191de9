/*
 * head.c - from the tokens behind the blocks to features and logits, for the
 * families that share these parts.
 */
#include "models/vit.h"

/* A copy under the name "norm", if that is wanted. */
static void alias_norm(vt_plan *p, vt_val x)
{
    if (vt_wanted(p, "norm"))
        vt_name(p, vt_scale(p, x, 1.0f), "norm");
}

vt_val vt_vit_norm(vt_plan *p, const vt_config *c, vt_val x)
{
    const int rows = vt_vit_rows(p, c);
    const bool some = c->final_norm && rows && vt_dim(p, x, 1) > rows;

    if (some && c->rms)
        return vt_rmsnorm(p, x, vt_param(p, "norm.weight", 1, &c->width),
                          c->eps, rows);
    if (some)
        return vt_layernorm_rows(p, x, vt_param(p, "norm.weight", 1, &c->width),
                                 vt_param(p, "norm.bias", 1, &c->width), c->eps,
                                 rows);
    if (c->final_norm)
        x = vt_vit_layernorm(p, x, c, "norm");
    else if (vt_vit_returns_tokens(c))
        x = vt_scale(p, x, 1.0f); /* a value has one name: block.i's copy */
    if (vt_vit_returns_tokens(c)) {
        vt_name(p, x, "last_hidden_state");
        vt_keep(p, x);
        alias_norm(p, x);
    } else if (c->final_norm) {
        vt_name(p, x, "norm");
    } else {
        alias_norm(p, x);
    }
    return x;
}

/* timm's AttentionPoolLatent, SigLIP's and big_vision's MAP head: one learnt
 * query attends to all patches, then x += mlp(ln(x)). */
static vt_val attention_pool(vt_plan *p, const vt_model *m, vt_val x)
{
    const vt_config *c = vt_model_config(m);
    const int T = vt_dim(p, x, 1), first = c->pool_all ? 0 : c->pool_first;
    const int D = c->width;
    vt_val q = vt_param(p, "attn_pool.latent", 3, (int[]){1, 1, D}), h;

    if (vt_plan_settings(p)->backward) /* each picture needs its own gradient */
        q = vt_slice(p, vt_embed(p, x, &q, 1, VT_NONE, 0), 0, 1);
    if (first)
        x = vt_slice(p, x, first, T - first);
    q = vt_dense(p, q, "attn_pool.q", D, true, VT_ACT_NONE, VT_NONE, VT_NONE);
    x = vt_dense(p, x, "attn_pool.kv", 2 * D, true, VT_ACT_NONE, VT_NONE,
                 VT_NONE);
    x = vt_attention_cross(
        p, q, x,
        (vt_attention_args){.heads = c->pool_heads ? c->pool_heads : c->heads,
                            .bias = VT_NONE});
    x = vt_dense(p, x, "attn_pool.proj", D, true, VT_ACT_NONE, VT_NONE,
                 VT_NONE);
    h = vt_vit_layernorm(p, x, c, "attn_pool.norm");
    h = vt_dense(p, h, "attn_pool.mlp.fc1", c->pool_mlp, true, c->act, VT_NONE,
                 VT_NONE);
    x = vt_dense(p, h, "attn_pool.mlp.fc2", D, true, VT_ACT_NONE, VT_NONE, x);
    return vt_pool(p, x, VT_POOL_TOKEN, 0);
}

/* [B,T,D] -> [B,F], including fc_norm and the attention pool. */
static vt_val pool(vt_plan *p, const vt_model *m, vt_val x)
{
    const vt_config *c = vt_model_config(m);
    const char *norm = c->norm_last ? "norm" : "fc_norm";

    if (c->attn_pool)
        x = attention_pool(p, m, x);
    else if (c->pool_max_mean)
        x = vt_scale(p,
                     vt_add(p, vt_pool(p, x, VT_POOL_MAX, c->pool_first),
                            vt_pool(p, x, VT_POOL_MEAN, c->pool_first)),
                     0.5f);
    else
        x = vt_pool(p, x, c->pool, c->pool_first);
    return c->fc_norm ? vt_vit_layernorm(p, x, c, "%s", norm) : x;
}

/* The final norm and the pool in one step, where a picture's first token is
 * read and nothing else. */
static vt_val norm_token(vt_plan *p, const vt_config *c, vt_val x)
{
    return vt_norm_token(p, x, vt_param(p, "norm.weight", 1, &c->width),
                         c->rms ? VT_NONE
                                : vt_param(p, "norm.bias", 1, &c->width),
                         c->eps, c->rms);
}

/* The input of masked patch prediction. There is no pool, so fc_norm is applied
 * to the patches directly. */
static vt_val last_patches(vt_plan *p, const vt_config *c, vt_val x)
{
    const int prefix = c->class_token + c->dist_token + c->registers;

    if (c->fc_norm && !c->final_norm)
        x = vt_vit_layernorm(p, x, c, "fc_norm");
    return prefix ? vt_slice(p, x, prefix, vt_dim(p, x, 1) - prefix) : x;
}

void vt_vit_head(vt_plan *p, const vt_model *m, vt_val x,
                 const vt_build_options *o, vt_outputs *out)
{
    const vt_config *c = vt_model_config(m);

    if (o->patch_source != VT_NONE) {
        out->patches = last_patches(p, c, vt_vit_norm(p, c, x));
        return;
    }
    if (c->final_norm && !c->fc_norm && vt_vit_rows(p, c) == 1)
        x = norm_token(p, c, x);
    else
        x = pool(p, m, vt_vit_norm(p, c, x));
    if (c->pre_logits)
        x = vt_dense(p, x, "pre_logits.fc", c->pre_logits, true, VT_ACT_TANH,
                     VT_NONE, VT_NONE);
    if (!c->projection)
        vt_name(p, x, "features");
    out->features = x;
    if (c->pooler) {
        x = vt_dense(p, x, "pooler.dense", c->pooler, true, c->pooler_act,
                     VT_NONE, VT_NONE);
        vt_name(p, x, "pooler_output");
        vt_keep(p, x);
    }
    if (!c->classes)
        return;
    out->logits = vt_dense(p, x, "head", c->classes, c->head_bias, VT_ACT_NONE,
                           VT_NONE, VT_NONE);
    vt_name(p, out->logits, "logits");
}
