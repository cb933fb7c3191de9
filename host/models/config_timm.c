/*
 * config_timm.c - timm's config.json.
 *
 * Easy to get wrong: the file does not contain the number of heads, the epsilon
 * or the activation. They depend on the architecture's name, as in timm's
 * source, and model_args overrides them. Settings that the tensors do not show
 * (other attention) are refused.
 */
#include "models/config.h"

#include "base/memory.h"
#include "models/family.h"
#include "models/fields.h"

#include <stdio.h>
#include <string.h>

/* vitcl's own are attention, block, pos_injection and representation_size. */
static const vt_field fields[] = {
    VT_TIMM_FIELDS,
    ONLY("dynamic_img_pad", "false"),
    SEEN("qk_norm", qk_norm),
    SEEN("scale_attn_norm", attn_norm),
    SEEN("scale_mlp_norm", mlp_norm),
    SEEN("proj_bias", proj_bias),
    SEEN("class_token", class_token),
    TEXT("pos_embed", said.pos),
    TEXT("pos_injection", said.pos_at),
    TEXT("attention", said.attention),
    TEXT("block", said.block),
    SIZE("representation_size", pre_logits, VT_MOST_WIDTH),
    SEEN("no_embed_class", pos_prefix),
    COUNT("reg_tokens", said.registers, VT_MOST_WIDTH, -1),
    FLAG("pre_norm", said.pre_norm, true),
    FLAG("final_norm", said.final_norm, true),
    SEEN("fc_norm", fc_norm),
    FLAG("pool_include_prefix", pool_all, -1),
    TEXT("attn_layer", said.attn),
    END,
};
const vt_keys vt_timm_vit = {
    fields, VT_TIMM_DROPOUT "dynamic_img_size|weight_init|fix_init",
    "embed_layer|embed_norm_layer|block_fn|mlp_layer"};

/* Does the name say this? */
static bool says(const vt_config *c, vt_says what)
{
    return vt_family_says(c, what) != NULL;
}

bool vt_config_block(vt_config *c, const char *kind)
{
    c->no_skip = strcmp(kind, "no-skip") == 0;
    c->post_add = strcmp(kind, "post-norm") == 0;
    c->post_norm |= c->post_add;
    return (c->no_skip || c->post_add || strcmp(kind, "pre-norm") == 0) &&
           !c->axial;
}

static vitcl_status timm_refuse(vt_config *c, const vt_json *args,
                                const vt_weights *w, const char *path)
{
    static const char *const keys[] = {"block_fn", "mlp_layer",
                                       "embed_norm_layer"};
    const char *attn = c->said.attn ? c->said.attn : "";
    uint64_t channels = 0;
    static const struct {
        const char *tensor, *is, *verb;
    } parts[] = {
        {"blocks.0.lambda_q1", "differential attention", "is"},
        {"blocks.0.sub_norm.weight", "differential attention", "is"},
        {"blocks.0.in_proj.weight", "parallel blocks", "are"},
        {"blocks.0.attns.0.attn.qkv.weight", "parallel blocks", "are"},
    };

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const vt_json *v = vt_json_get(args, keys[i]);
        if (v && !vt_json_is_null(v))
            return vt_fail(VITCL_EUNSUPPORTED,
                           "%s: model_args sets %s, which is not supported",
                           path, keys[i]);
    }
    if (vt_json_uint(&channels, vt_json_get(args, "in_chans")) &&
        channels != (c->grey ? 1 : 3))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: in_chans is %d, but the weights read %d", path,
                       (int)channels, c->grey ? 1 : 3);
    if (c->dist_token && c->registers)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: reg_tokens with a distillation token, which timm "
                       "does not read, are not supported; remove both",
                       path);
    if (attn[0] && !(c->diff && strcmp(attn, "diff") == 0))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: attn_layer \"%.40s\" is not supported here", path,
                       attn);
    if (c->diff && (c->pos_kind == VT_POS_RELATIVE || c->family->own_positions))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: differential attention is supported only where the "
                       "patches' positions are added to them",
                       path);
    if (c->diff && (c->qk_norm || c->width / c->heads % 2))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: differential attention is supported with even "
                       "heads and without a norm of queries and keys",
                       path);
    if (c->said.attention && c->said.attention[0] && !c->axial)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: attention \"%s\" is not supported here", path,
                       c->said.attention);
    if (c->said.block && !vt_config_block(c, c->said.block))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: block \"%s\" is not supported here", path,
                       c->said.block);
    for (size_t i = 0; i < VT_COUNT(parts); i++)
        if (vt_weight_has(w, "%s", parts[i].tensor))
            return vt_fail(VITCL_EUNSUPPORTED,
                           "%s: %s has %s, which %s not supported", path,
                           c->name, parts[i].is, parts[i].verb);
    if (!c->rms && vt_weight_has(w, "blocks.0.norm1.weight") &&
        !vt_weight_has(w, "blocks.0.norm1.bias") &&
        !vt_weight_has(w, "blocks.0.norm2.bias"))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: %s normalises without a bias, which is supported "
                       "where timm has RMS norm",
                       path, c->name);
    return VITCL_OK;
}

static vitcl_status timm_pool(vt_config *c, const char *path)
{
    const char *pool = c->said.pool;

    if (!pool[0])
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: global_pool \"\", which gives logits for each "
                       "token, is not supported",
                       path);
    if (c->family->pools && !vt_one_of(c->family->pools, pool))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: global_pool \"%s\" is not supported here", path,
                       pool);
    /* assume what the pool needs, so that it is named if it is missing */
    c->class_token |= strcmp(pool, "token") == 0;
    c->attn_pool = strcmp(pool, "map") == 0;
    c->pool_first = c->class_token + c->dist_token + c->registers;
    if (c->pool_all && !c->attn_pool)
        c->pool_first = 0;
    if (strcmp(pool, "avg") == 0 || strcmp(pool, "avgmax") == 0) {
        c->pool = VT_POOL_MEAN;
        c->pool_max_mean = pool[3] != 0;
    } else if (strcmp(pool, "max") == 0) {
        c->pool = VT_POOL_MAX;
    } else if (strcmp(pool, "token") == 0) {
        c->pool = VT_POOL_TOKEN;
        c->pool_first = 0;
    } else if (!c->attn_pool) {
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: global_pool \"%s\" is not supported here", path,
                       pool);
    }
    return VITCL_OK;
}

bool vt_config_pos(vt_pos_kind *kind, vt_pos_injection *at, bool *none,
                   const char *how, const char *where)
{
    static const char *const kinds[] = {"learn", "2d", "relative"};
    static const char *const injections[] = {"stem", "layer", "shared"};
    size_t k = 0, i = 0;

    how = how ? how : kinds[0];
    *none = strcmp(how, "none") == 0;
    while (!*none && k < 3 && strcmp(how, kinds[k]) != 0)
        k++;
    while (where && i < 3 && strcmp(where, injections[i]) != 0)
        i++;
    if (k == 3 || i == 3)
        return false;
    *kind = (vt_pos_kind)k;
    *at = (vt_pos_injection)i;
    if (*kind != VT_POS_RELATIVE)
        return !*none || i == 0;
    if (!where)
        *at = VT_AT_LAYERS;
    return *at != VT_AT_STEM; /* attention is in the blocks */
}

/* timm itself has only "learn" and "none". */
static vitcl_status timm_positions(vt_config *c, const char *path)
{
    bool none;

    if (!vt_config_pos(&c->pos_kind, &c->pos_injection, &none, c->said.pos,
                       c->said.pos_at) &&
        c->said.pos_at)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: model_args' pos_embed and pos_injection do not go "
                       "together",
                       path);
    return VITCL_OK;
}

static void timm_tokens(vt_config *c, const vt_json *args)
{
    const char *reg = strstr(c->name, "_reg");
    const vt_mark *mark = vt_family_says(c, VT_SAYS_REGISTERS);
    int n = c->said.registers;

    c->dist_token |= strstr(c->name, "distilled") != NULL;
    if (!vt_json_get(args, "reg_tokens"))
        n = reg ? (int)strtol(reg + 4, NULL, 10) : mark ? (int)mark->number : 0;
    if (!c->registers && n > 0 && n <= VT_MOST_WIDTH)
        c->registers = n; /* named as missing later */
}

/* RMS norm: the tensors have no bias then, but do not show the mean. */
static vitcl_status timm_norm(vt_config *c, const char *path)
{
    const char *layer = c->said.norm;
    const bool named = layer != NULL;

    c->rms = named ? strcmp(layer, "rmsnorm") == 0 : says(c, VT_SAYS_RMS);
    /* then it is named if it is missing */
    c->embed_norm |= says(c, VT_SAYS_PATCH_NORM);
    c->qk_rms = c->rms && c->qk_norm;
    if (!named ||
        (!c->family->fixed_norm && (c->rms || strcmp(layer, "layernorm") == 0)))
        return VITCL_OK;
    return vt_fail(VITCL_EUNSUPPORTED,
                   "%s: norm_layer \"%.40s\" is not supported", path, layer);
}

static bool has(const vt_json *args, const char *key)
{
    const vt_json *v = vt_json_get(args, key);

    return v && !vt_json_is_null(v);
}

/* timm resizes the weights of other patches to those of the name, which
 * open_clip does not. */
static vitcl_status timm_patch(const vt_config *c, const vt_json *config,
                               const char *path)
{
    const vt_json *args = vt_json_get(config, "model_args");
    const char *at = strstr(c->name, "_patch");
    const long named = at ? strtol(at + 6, NULL, 10) : 0;

    if (named < 1 || named == c->patch_h || c->stem_width[0] ||
        has(args, "patch_size") || vt_json_get(config, "open_clip"))
        return VITCL_OK;
    return vt_fail(VITCL_EUNSUPPORTED,
                   "%s: the weights have patches of %d pixels, but %s has %ld, "
                   "to which timm resizes them; add patch_size to model_args",
                   path, c->patch_h, c->name, named);
}

void vt_begin_timm(vt_config *c, const vt_json *config)
{
    c->source = VT_SOURCE_TIMM;
    snprintf(c->name, sizeof c->name, "%s", vt_config_timm(config));
    c->said.registers = -1;
    c->said.final_norm = true;
    /* timm does not read the config's own global_pool */
    c->said.pool = vt_family_says(c, VT_SAYS_POOL)->text;
    c->act = (vt_act)vt_family_says(c, VT_SAYS_ACT)->number;
    c->pool_all = says(c, VT_SAYS_POOL_ALL);
    c->post_norm = says(c, VT_SAYS_POST_NORM);
    if (c->family->begin)
        c->family->begin(c);
}

vitcl_status vt_configure_timm(vt_config *c, const vt_json *config,
                               const vt_weights *w, const char *path)
{
    const vt_json *args = vt_json_get(config, "model_args");
    const char *name = c->name, *bad = NULL, *none = NULL;
    const bool other = c->width != 0; /* not the one that the name has */

    /* timm writes 0 classes for a model without a head */
    vt_config_number(&c->classes, config, "num_classes", INT32_MAX, &none);
    if (!c->height && !vt_config_pair(&c->height, &c->width_px,
                                      vt_json_get(config, "pretrained_cfg"),
                                      "input_size", &bad))
        c->height = c->width_px = 224;
    /* which parts are optional */
    c->pos_optional |= c->said.pos && strcmp(c->said.pos, "learn") != 0;
    c->norm_optional = !c->said.final_norm || says(c, VT_SAYS_BARE);
    VT_RET(timm_positions(c, path));
    VT_RET(vt_read_patch(c, w, path));
    VT_RET(timm_patch(c, config, path));
    vt_read_flags(c, w);
    c->pos_embed &= c->pos_kind == VT_POS_1D;
    timm_tokens(c, args);
    c->diff = vt_weight_has(w, "blocks.0.attn.lambda_q1");
    VT_RET(timm_norm(c, path));
    if (!c->heads) {
        const int n = (int)vt_family_says(c, VT_SAYS_HEADS)->number;

        c->heads = n > 0 ? n : other ? 0 : c->width / -n;
        if (other && !c->heads)
            return vt_fail(VITCL_EUNSUPPORTED,
                           "%s: model_args has embed_dim without num_heads; "
                           "add the number that timm's %.60s has",
                           path, name);
    }
    if (bad)
        return vt_bad_number(path, bad);
    VT_RET(timm_refuse(c, args, w, path));
    c->eps = has(args, "norm_layer")
                 ? 1e-6f
                 : (float)vt_family_says(c, VT_SAYS_EPS)->number;
    c->pos_rule = VT_POS_TIMM;
    if (c->swiglu && vt_config_text(args, "act_layer")[0] &&
        c->act != VT_ACT_SILU)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: act_layer \"%s\" in place of SwiGLU's silu is not "
                       "supported",
                       path, vt_config_text(args, "act_layer"));
    VT_RET(timm_pool(c, path));
    VT_RET(vt_check_sizes(c, path));
    return vt_read_positions(c, w, path);
}

vitcl_status vt_refuse_groups(const vt_json *args, const char *path)
{
    const vt_json *v = vt_json_get(args, "num_kv_heads");

    if (v && !vt_json_is_null(v))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: model_args sets num_kv_heads, but the weights have "
                       "no groups of queries",
                       path);
    return VITCL_OK;
}
