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

#include <stdio.h>
#include <string.h>

/* Does the name say this? */
static bool says(const vt_config *c, vt_says what)
{
    return vt_family_says(c, what) != NULL;
}

static vitcl_status timm_refuse(const vt_config *c, const vt_json *args,
                                const vt_weights *w, const char *path)
{
    static const char *const keys[] = {"block_fn", "mlp_layer",
                                       "embed_norm_layer"};
    const char *attn = vt_config_text(args, "attn_layer");
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
    if (vt_config_text(args, "attention")[0] && !c->axial)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: attention \"%s\" is not supported here", path,
                       vt_config_text(args, "attention"));
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

static vitcl_status timm_pool(vt_config *c, const vt_json *args,
                              const char *path)
{
    /* timm does not read the config's own global_pool */
    const char *pool = vt_family_says(c, VT_SAYS_POOL)->text;

    if (vt_json_string(&pool, vt_json_get(args, "global_pool")) && !pool[0])
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
    c->pool_all = says(c, VT_SAYS_POOL_ALL);
    vt_json_bool(&c->pool_all, vt_json_get(args, "pool_include_prefix"));
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

static void timm_picture(vt_config *c, const vt_json *config,
                         const vt_json *args, const char **bad)
{
    const vt_json *cfg = vt_json_get(config, "pretrained_cfg");

    if (!vt_config_pair(&c->height, &c->width_px, args, "img_size", bad) &&
        !vt_config_pair(&c->height, &c->width_px, cfg, "input_size", bad))
        c->height = c->width_px = 224;
}

bool vt_config_pos(vt_pos_kind *kind, vt_pos_injection *at, bool *none,
                   const vt_json *args)
{
    static const char *const kinds[] = {"learn", "2d", "relative"};
    static const char *const injections[] = {"stem", "layer", "shared"};
    const char *how = kinds[0], *where = NULL;
    size_t k = 0, i = 0;

    vt_json_string(&how, vt_json_get(args, "pos_embed"));
    vt_json_string(&where, vt_json_get(args, "pos_injection"));
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
static vitcl_status timm_positions(vt_config *c, const vt_json *args,
                                   const char *path)
{
    bool none;

    if (!vt_config_pos(&c->pos_kind, &c->pos_injection, &none, args) &&
        vt_json_get(args, "pos_injection"))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: model_args' pos_embed and pos_injection do not go "
                       "together",
                       path);
    return VITCL_OK;
}

/* Which parts are optional, by the architecture's name and model_args. */
static void timm_parts(vt_config *c, const vt_json *args)
{
    const vt_json *pos = vt_json_get(args, "pos_embed");
    const char *how = "learn";
    bool norm = true;

    vt_json_string(&how, pos);
    c->pos_optional |= strcmp(how, "learn") != 0;
    vt_json_bool(&norm, vt_json_get(args, "final_norm"));
    c->norm_optional = !norm || says(c, VT_SAYS_BARE);
}

static void timm_tokens(vt_config *c, const vt_json *args, const char **bad)
{
    const char *reg = strstr(c->name, "_reg");
    const vt_mark *mark = vt_family_says(c, VT_SAYS_REGISTERS);
    int n = mark && !vt_json_get(args, "reg_tokens") ? (int)mark->number : 0;

    c->dist_token |= strstr(c->name, "distilled") != NULL;
    if (!vt_config_count(&n, args, "reg_tokens", VT_MOST_WIDTH, bad) && reg &&
        !vt_json_get(args, "reg_tokens"))
        n = (int)strtol(reg + 4, NULL, 10);
    if (!c->registers && n > 0 && n <= VT_MOST_WIDTH)
        c->registers = n; /* named as missing later */
}

/* RMS norm: the tensors have no bias then, but do not show the mean. */
static vitcl_status timm_norm(vt_config *c, const vt_json *args,
                              const char *path)
{
    const char *layer = "";
    const bool named = vt_json_string(&layer, vt_json_get(args, "norm_layer"));

    c->rms = named ? strcmp(layer, "rmsnorm") == 0 : says(c, VT_SAYS_RMS);
    /* then it is named if it is missing */
    c->embed_norm |= says(c, VT_SAYS_PATCH_NORM);
    c->qk_rms = c->rms && c->qk_norm;
    if (!named ||
        ((c->rms || strcmp(layer, "layernorm") == 0) && !c->family->fixed_norm))
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

vitcl_status vt_configure_timm(vt_config *c, const vt_json *config,
                               const vt_weights *w, const char *path)
{
    vitcl_status st = VITCL_OK;
    const vt_json *args = vt_json_get(config, "model_args");
    const char *name = vt_config_timm(config), *bad = NULL, *none = NULL;

    c->source = VT_SOURCE_TIMM;
    snprintf(c->name, sizeof c->name, "%s", name);
    vt_config_number(&c->width, args, "embed_dim", VT_MOST_WIDTH, &bad);
    vt_config_number(&c->depth, args, "depth", VT_MOST_DEPTH, &bad);
    /* timm writes 0 classes for a model without a head */
    vt_config_number(&c->classes, config, "num_classes", INT32_MAX, &none);
    if (!c->patch_h) /* a hybrid has set it already */
        vt_config_pair(&c->patch_h, &c->patch_w, args, "patch_size", &bad);
    timm_picture(c, config, args, &bad);
    timm_parts(c, args);
    VT_TRY(timm_positions(c, args, path));
    VT_TRY(vt_read_patch(c, w, path));
    VT_TRY(timm_patch(c, config, path));
    vt_read_flags(c, w);
    c->pos_embed &= c->pos_kind == VT_POS_1D;
    vt_config_number(&c->pre_logits, args, "representation_size", VT_MOST_WIDTH,
                     &bad);
    vt_config_number(&c->pool_heads, args, "attn_pool_num_heads", VT_MOST_WIDTH,
                     &bad);
    timm_tokens(c, args, &bad);
    c->diff = vt_weight_has(w, "blocks.0.attn.lambda_q1");
    VT_TRY(timm_norm(c, args, path));
    if (!vt_config_number(&c->heads, args, "num_heads", VT_MOST_WIDTH, &bad)) {
        const bool other = has(args, "embed_dim");

        const int n = (int)vt_family_says(c, VT_SAYS_HEADS)->number;

        c->heads = n > 0 ? n : other ? 0 : c->width / -n;
        if (other && !c->heads)
            VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                           "%s: model_args has embed_dim without num_heads; "
                           "add the number that timm's %.60s has",
                           path, name));
    }
    if (bad) {
        st = vt_bad_number(path, bad);
        goto done;
    }
    VT_TRY(timm_refuse(c, args, w, path));
    c->eps = has(args, "norm_layer")
                 ? 1e-6f
                 : (float)vt_family_says(c, VT_SAYS_EPS)->number;
    c->act = (vt_act)vt_family_says(c, VT_SAYS_ACT)->number;
    if (vt_config_text(args, "act_layer")[0] &&
        !vt_act_parse(&c->act, vt_config_text(args, "act_layer")))
        VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                       "%s: act_layer \"%s\" is not supported", path,
                       vt_config_text(args, "act_layer")));
    c->pos_rule = VT_POS_TIMM;
    c->post_norm = says(c, VT_SAYS_POST_NORM);
    if (c->swiglu && vt_config_text(args, "act_layer")[0] &&
        c->act != VT_ACT_SILU)
        VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                       "%s: act_layer \"%s\" in place of SwiGLU's silu is not "
                       "supported",
                       path, vt_config_text(args, "act_layer")));
    VT_TRY(timm_pool(c, args, path));
    VT_TRY(vt_check_sizes(c, path));
    VT_TRY(vt_read_positions(c, w, path));
done:
    return st;
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
