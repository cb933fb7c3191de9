/*
 * open_clip.c - open_clip_config.json: a model of two towers, the picture's of
 * timm or open_clip's own.
 *
 * The picture tower is one of the families that exist: its part of the config
 * becomes timm's config of the same model.
 *
 * Easy to get wrong:
 *   - timm_proj: "none" is no projection, null or "" the trunk's own head,
 *     "linear" a layer behind the trunk
 *   - quick_gelu is of both towers, but not of timm's
 *   - the model was trained with a sigmoid if it has a logit_bias
 *   - a key that open_clip's class does not take is an error there
 */
#include "models/open_clip.h"

#include "models/config.h"
#include "models/tower.h"

#include "base/json_print.h"
#include "base/json_types.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* Keys of a part: those that are read, or without an effect here, with "|"
 * between; and those with only these values, as JSON texts. */
typedef struct part_keys {
    const char *any;
    struct {
        const char *key, *values;
    } only[16];
} part_keys;

#define BLOCKS                                                                 \
    {"block_type", "null|\"default\""}, {"qk_norm", "false"},                  \
        {"scaled_cosine_attn", "false"}, {"scale_heads", "false"},             \
        {"scale_attn_inner", "false"}, {"scale_attn", "false"},                \
    {                                                                          \
        "scale_fc", "false"                                                    \
    }

static const part_keys text_keys = {
    "context_length|vocab_size|hf_tokenizer_name|tokenizer_mode|"
    "tokenizer_kwargs|width|heads|layers|mlp_ratio|ls_init_value|pad_id|eos_id|"
    "final_ln_after_pool|" /* not read by the class */
    "pool_type|proj_bias|proj_type|act_kwargs|norm_kwargs|"
    "output_tokens|" /* beside the vector */
    "hf_model_pretrained|hf_proj_type|hf_pooler_type",
    {BLOCKS,
     {"embed_cls", "false"},
     {"no_causal_mask", "true|false|null"},
     {"hf_model_name", "null"}},
};

static const part_keys picture_keys = {
    "layers|width|head_width|mlp_ratio|patch_size|image_size|ls_init_value|"
    "patch_dropout|attn_pooler_queries|attn_pooler_heads|output_tokens|"
    "timm_model_name|timm_model_pretrained|timm_pool|timm_proj_bias|"
    "timm_drop|timm_drop_path",
    {BLOCKS,
     {"attentional_pool", "false"},
     {"no_ln_pre", "true|false"},
     {"pos_embed_type", "\"learnable\"|\"sin_cos_2d\""},
     {"final_ln_after_pool", "true|false"},
     {"pool_type", "\"tok\"|\"avg\""},
     {"act_kwargs", "null|{}"},
     {"norm_kwargs", "null|{}"},
     {"timm_proj", "null|\"\"|\"none\"|\"linear\""}},
};

static vitcl_status check_keys(const vt_json *part, const char *what,
                               const part_keys *keys, const char *path)
{
    vitcl_status st = VITCL_OK;
    char *value = NULL;
    vt_text text;

    for (const vt_json *v = vt_json_first(part); v; v = vt_json_next(v)) {
        const char *name = vt_json_key(v), *only;
        size_t i = 0;

        while (keys->only[i].key && strcmp(keys->only[i].key, name) != 0)
            i++;
        only = keys->only[i].values;
        if (!only && vt_one_of(keys->any, name))
            continue;
        if (!only)
            VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                           "%s: %s has %.60s, which is not a key of "
                           "open_clip's class",
                           path, what, name));
        VT_TRY(vt_text_open(&text));
        vt_json_print(text.f, v);
        VT_TRY(vt_text_take(&value, &text));
        if (!vt_one_of(only, value))
            VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                           "%s: %s of %s is %.60s; only %s is supported", path,
                           name, what, value, only));
        free(value), value = NULL;
    }
done:
    free(value);
    return st;
}

/* ---- types; numbers are checked where they are read ---- */

static const vt_json_row root_types[] = {{"preprocess_cfg", VT_JSON_OBJECT}},
                         model_types[] = {{"quick_gelu", VT_JSON_FLAG}},
                         act_types[] = {{"approximate", VT_JSON_TEXT}},
                         text_types[] = {{"pool_type", VT_JSON_TEXT},
                                         {"act_kwargs|norm_kwargs",
                                          VT_JSON_OBJECT}},
                         picture_types[] = {{"timm_model_name|timm_pool",
                                             VT_JSON_TEXT}},
                         pixel_types[] = {
                             {"mode|resize_mode|interpolation", VT_JSON_TEXT},
                             {"fill_color", VT_JSON_COUNT}};

static vitcl_status check_types(const vt_json *o, const vt_json_row *rows,
                                size_t n, const char *path)
{
    return vt_json_types(o, rows, n, "open_clip_config.json's", path);
}

/* ---- the text tower ---- */

static vitcl_status read_act(vt_config *c, const vt_json *t, const char *path)
{
    const vt_json *kwargs = vt_json_get(t, "act_kwargs");
    const char *how = vt_config_text(kwargs, "approximate");

    if (vt_json_count(kwargs) == 0)
        return VITCL_OK;
    VT_RET(check_types(kwargs, act_types, VT_COUNT(act_types), path));
    if (vt_json_count(kwargs) != 1 || !vt_json_get(kwargs, "approximate") ||
        c->act != VT_ACT_GELU || !vt_one_of("none|tanh", how))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: act_kwargs of text_cfg are supported only as "
                       "{\"approximate\": \"tanh\"}, without quick_gelu",
                       path);
    if (strcmp(how, "tanh") == 0)
        c->act = VT_ACT_GELU_TANH;
    return VITCL_OK;
}

static vitcl_status read_eps(vt_config *c, const vt_json *t, const char *path)
{
    const vt_json *kwargs = vt_json_get(t, "norm_kwargs");
    double eps = 1e-5;
    vitcl_status st = VITCL_OK;

    VT_TRY(vt_json_within(&eps, vt_json_get(kwargs, "eps"), "eps", 1e-12, 1,
                          path));
    if (vt_json_count(kwargs) > (vt_json_get(kwargs, "eps") != NULL))
        st = vt_fail(VITCL_EUNSUPPORTED,
                     "%s: norm_kwargs of text_cfg other than eps are not "
                     "supported",
                     path);
    c->eps = (float)eps;
done:
    return st;
}

static vitcl_status read_end(vt_config *c, const vt_json *t, const char **bad,
                             const char *path)
{
    const char *pool =
        vt_json_get(t, "pool_type") ? vt_config_text(t, "pool_type") : "argmax";

    c->end = 2;
    vt_config_count(&c->end, t, "eos_id", INT32_MAX, bad);
    if (strcmp(pool, "argmax") == 0)
        c->end_kind = VT_END_HIGHEST;
    else if (strcmp(pool, "eos") == 0)
        c->end_kind = VT_END_TOKEN;
    else if (strcmp(pool, "last") == 0)
        c->end_kind = VT_END_LAST;
    else if (strcmp(pool, "first") == 0)
        c->end_kind = VT_END_FIRST;
    else
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: pool_type \"%.60s\" of text_cfg is not supported",
                       path, pool);
    return VITCL_OK;
}

static const vt_json *model_of(const vt_json *config)
{
    const vt_json *m = vt_json_get(config, "model_cfg");

    return m ? m : config; /* open_clip's own configs have no more */
}

vitcl_status vt_tower_open_clip(vt_config *c, const vt_json *config,
                                const vt_weights *w, const char *path)
{
    const vt_json *m = model_of(config), *t = vt_json_get(m, "text_cfg");
    const char *bad = NULL, *name = vt_config_text(t, "hf_model_name");
    bool quick = false, all = false;

    if (!vt_json_is_object(t))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: open_clip_config.json has no text_cfg", path);
    if (name[0])
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: its text tower is %.100s, which is not supported",
                       path, name);
    VT_RET(check_keys(t, "text_cfg", &text_keys, path));
    VT_RET(check_types(m, model_types, VT_COUNT(model_types), path));
    VT_RET(check_types(t, text_types, VT_COUNT(text_types), path));
    snprintf(c->name, sizeof c->name, "open_clip");
    c->source = VT_SOURCE_TIMM;
    c->width = 512, c->heads = 8, c->depth = 12;
    c->context = 77, c->vocabulary = 49408;
    c->logit_scale = 100;
    vt_config_number(&c->width, t, "width", VT_MOST_WIDTH, &bad);
    vt_config_number(&c->heads, t, "heads", VT_MOST_WIDTH, &bad);
    vt_config_number(&c->depth, t, "layers", VT_MOST_DEPTH, &bad);
    vt_config_number(&c->context, t, "context_length", VT_MOST_TOKENS, &bad);
    vt_config_number(&c->vocabulary, t, "vocab_size", VT_MOST_WORDS, &bad);
    if (!vt_config_number(&c->projection, m, "embed_dim", VT_MOST_WIDTH, &bad))
        bad = "embed_dim";
    VT_RET(read_end(c, t, &bad, path));
    if (bad)
        return vt_bad_number(path, bad);
    c->mlp = vt_weight_dim(w, "blocks.0.mlp.fc1.weight", 0);
    vt_json_bool(&quick, vt_json_get(m, "quick_gelu"));
    vt_json_bool(&all, vt_json_get(t, "no_causal_mask"));
    c->causal = !all;
    c->act = quick ? VT_ACT_GELU_QUICK : VT_ACT_GELU;
    c->sigmoid = vt_weight_has(w, "logit_bias");
    if (c->mlp > VT_MOST_MLP)
        return vt_fail(VITCL_ECORRUPT, "%s: an MLP of %d", path, c->mlp);
    VT_RET(read_act(c, t, path));
    return read_eps(c, t, path);
}

/* ---- the picture tower ---- */

typedef struct picture {
    int height, width, patch_h, patch_w, layers, dim, heads, classes;
    bool norm_last, no_pre_norm;
    const char *trunk, *pool, *mode, *filter;
    uint64_t fill; /* of the border */
} picture;

static vitcl_status read_picture(picture *x, const vt_json *m, const vt_json *v,
                                 const char *path)
{
    const char *bad = NULL, *proj = "linear";
    int head = 64;

    *x = (picture){.height = 224,
                   .width = 224,
                   .patch_h = 16,
                   .patch_w = 16,
                   .layers = 12,
                   .dim = 768,
                   .trunk = vt_config_text(v, "timm_model_name"),
                   .pool = "avg"};
    if (vt_json_get(v, "timm_pool"))
        x->pool = vt_config_text(v, "timm_pool");
    if (vt_json_get(v, "timm_proj"))
        proj = vt_config_text(v, "timm_proj");
    vt_config_pair(&x->height, &x->width, v, "image_size", &bad);
    if (!vt_config_number(&x->classes, m, "embed_dim", VT_MOST_WIDTH, &bad))
        bad = "embed_dim";
    if (x->trunk[0] && strcmp(proj, "none") == 0)
        x->classes = 0;
    if (vt_json_is_array(vt_json_get(v, "layers")) && !x->trunk[0])
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: its picture tower is CLIP's ResNet, which is not "
                       "supported",
                       path);
    if (!x->trunk[0]) {
        vt_config_pair(&x->patch_h, &x->patch_w, v, "patch_size", &bad);
        vt_config_number(&x->layers, v, "layers", VT_MOST_DEPTH, &bad);
        vt_config_number(&x->dim, v, "width", VT_MOST_WIDTH, &bad);
        vt_config_number(&head, v, "head_width", VT_MOST_WIDTH, &bad);
        vt_json_bool(&x->no_pre_norm, vt_json_get(v, "no_ln_pre"));
        x->pool =
            strcmp(vt_config_text(v, "pool_type"), "avg") ? "token" : "avg";
        if (x->pool[0] == 'a') /* of one token there is no difference */
            vt_json_bool(&x->norm_last, vt_json_get(v, "final_ln_after_pool"));
        x->heads = x->dim / head;
        if (x->heads < 1)
            bad = "head_width";
    }
    return bad ? vt_bad_number(path, bad) : VITCL_OK;
}

/* usual: where it is missing or null */
static void put_numbers(vt_json_writer *w, const char *key, const vt_json *p,
                        const char *usual)
{
    const vt_json *v = vt_json_get(p, key);

    vt_json_put(w, "%s:", key);
    if (!v || vt_json_is_null(v))
        fputs(usual, vt_json_raw(w));
    else
        vt_json_print(vt_json_raw(w), v);
}

/* open_clip's image_transform(): "shortest" cuts the middle, "squash" changes
 * the shape, "longest" pads. "random" is bicubic, and so is "shortest" with a
 * size that is not square. */
static vitcl_status read_pixels(picture *x, const vt_json *p, const char *path)
{
    vitcl_status st = VITCL_OK;

    VT_TRY(check_types(p, pixel_types, VT_COUNT(pixel_types), path));
    x->mode = vt_config_text(p, "resize_mode");
    x->filter = vt_config_text(p, "interpolation");
    if (!x->mode[0])
        x->mode = "shortest";
    if (!x->filter[0])
        x->filter = "bicubic";
    if (!vt_one_of("shortest|squash|longest", x->mode) ||
        !vt_one_of("bicubic|bilinear|random", x->filter))
        VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                       "%s: preprocess_cfg resizes by \"%.40s\", \"%.40s\", "
                       "which open_clip does not have",
                       path, x->mode, x->filter));
    if (vt_config_text(p, "mode")[0] &&
        strcmp(vt_config_text(p, "mode"), "RGB") != 0)
        VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                       "%s: mode of preprocess_cfg is \"%.40s\"; open_clip has "
                       "only RGB",
                       path, vt_config_text(p, "mode")));
    vt_json_uint(&x->fill, vt_json_get(p, "fill_color"));
    if (x->fill > 255)
        st = vt_fail(VITCL_ECORRUPT,
                     "%s: fill_color of preprocess_cfg is not 0 to 255", path);
    if (strcmp(x->filter, "random") == 0 ||
        (strcmp(x->mode, "shortest") == 0 && x->height != x->width))
        x->filter = "bicubic";
done:
    return st;
}

static void put_pixels(vt_json_writer *w, const vt_json *p, const picture *x)
{
    vt_json_put(w,
                "pretrained_cfg:{input_size:[3 %d %d] crop_pct:1.0 crop_mode:%s"
                " interpolation:%s",
                x->height, x->width,
                strcmp(x->mode, "squash") == 0    ? "squash"
                : strcmp(x->mode, "longest") == 0 ? "border"
                                                  : "center",
                x->filter);
    put_numbers(w, "mean", p, "[0.48145466,0.4578275,0.40821073]");
    put_numbers(w, "std", p, "[0.26862954,0.26130258,0.27577711]");
    vt_json_put(w, "}}");
}

vitcl_status vt_open_clip_picture(vt_json **out, const vt_json *config,
                                  const char *path)
{
    const vt_json *m = model_of(config), *v = vt_json_get(m, "vision_cfg");
    const vt_json *pixels = vt_json_get(config, "preprocess_cfg");
    vitcl_status st = VITCL_OK;
    bool quick = false;
    char *json = NULL, *name = NULL;
    vt_json_writer w = {.f = NULL};
    vt_text text;
    picture x;

    if (!vt_json_is_object(v))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: open_clip_config.json has no vision_cfg", path);
    VT_TRY(check_keys(v, "vision_cfg", &picture_keys, path));
    VT_TRY(check_types(m, model_types, VT_COUNT(model_types), path));
    VT_TRY(check_types(v, picture_types, VT_COUNT(picture_types), path));
    VT_TRY(check_types(config, root_types, VT_COUNT(root_types), path));
    VT_TRY(read_picture(&x, m, v, path));
    VT_TRY(read_pixels(&x, pixels, path));
    vt_json_bool(&quick, vt_json_get(m, "quick_gelu"));
    VT_TRY(vt_format(&name, "%s: open_clip_config.json", path));
    VT_TRY(vt_text_open(&text));
    w.f = text.f;
    if (x.trunk[0])
        vt_json_put(&w, "{architecture:%s model_args:{img_size:[%d %d]",
                    x.trunk, x.height, x.width);
    else
        vt_json_put(&w,
                    "{architecture:'vit_open_clip_%d' model_args:{"
                    "img_size:[%d %d] patch_size:[%d %d] embed_dim:%d depth:%d "
                    "num_heads:%d act_layer:%s",
                    x.height, x.height, x.width, x.patch_h, x.patch_w, x.dim,
                    x.layers, x.heads, quick ? "quick_gelu" : "gelu");
    if (x.pool[0])
        vt_json_put(&w, "global_pool:%s", x.pool);
    if (!x.trunk[0]) /* in this order: indexes have a hash of the text */
        vt_json_put(&w, "pre_norm:%i", !x.no_pre_norm);
    vt_json_put(&w,
                "} num_classes:%d open_clip:true fill_color:%d norm_last:%i",
                x.classes, (int)x.fill, x.norm_last);
    put_pixels(&w, pixels, &x);
    VT_TRY(vt_text_take(&json, &text));
    VT_TRY(vt_json_parse(out, json, strlen(json), 32, name));
done:
    free(json);
    free(name);
    return st;
}
