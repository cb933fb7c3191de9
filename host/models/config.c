/*
 * config.c - sizes and choices from config.json and from the tensors.
 *
 * Easy to get wrong: timm's files say neither the number of heads nor the
 * epsilon nor the activation. They follow from the architecture's name, and
 * model_args overrides them. HF's epsilon differs by family (1e-12 for ViT)
 * and may be missing from the file. A .npz file has no config at all: its
 * heads are an axis of query/kernel, its picture is as large as its positions
 * say.
 */
#include "models/config.h"

#include "base/memory.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_PIXELS = 16384, MOST_WIDTH = 65536, MOST_DEPTH = 1024 };

/* ---- small readers ---- */

static const char *text(const vt_json *o, const char *key)
{
    const char *s = "";

    return vt_json_string(&s, vt_json_get(o, key)) ? s : "";
}

/* An integer 1..most; false: not there or null; `bad` names a wrong one. */
static bool number(int *out, const vt_json *o, const char *key, int most,
                   const char **bad)
{
    const vt_json *v = vt_json_get(o, key);
    uint64_t n = 0;

    if (!v || vt_json_is_null(v))
        return false;
    if (!vt_json_uint(&n, v) || n < 1 || n > (uint64_t)most) {
        *bad = key;
        return false;
    }
    *out = (int)n;
    return true;
}

/* 224 or [224, 224] (or [3, 224, 224]: the last two). */
static bool pair(int *h, int *w, const vt_json *o, const char *key,
                 const char **bad)
{
    const vt_json *v = vt_json_get(o, key);
    size_t n = vt_json_count(v);
    uint64_t a = 0, b = 0;

    if (!v || vt_json_is_null(v))
        return false;
    if (!vt_json_is_array(v)) {
        if (!number(h, o, key, MOST_PIXELS, bad))
            return false;
        *w = *h;
        return true;
    }
    if (n < 2 || n > 3 || !vt_json_uint(&a, vt_json_at(v, n - 2)) ||
        !vt_json_uint(&b, vt_json_at(v, n - 1)) || a < 1 || b < 1 ||
        a > MOST_PIXELS || b > MOST_PIXELS) {
        *bad = key;
        return false;
    }
    *h = (int)a;
    *w = (int)b;
    return true;
}

bool vt_act_parse(vt_act *out, const char *word)
{
    static const struct {
        const char *word;
        vt_act act;
    } words[] = {
        {"gelu", VT_ACT_GELU},
        {"gelu_python", VT_ACT_GELU},
        {"gelu_tanh", VT_ACT_GELU_TANH},
        {"gelu_new", VT_ACT_GELU_TANH},
        {"gelu_pytorch_tanh", VT_ACT_GELU_TANH},
        {"quick_gelu", VT_ACT_GELU_QUICK},
        {"quickgelu", VT_ACT_GELU_QUICK},
        {"relu", VT_ACT_RELU},
        {"silu", VT_ACT_SILU},
        {"swish", VT_ACT_SILU},
        {"tanh", VT_ACT_TANH},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].word, word) == 0) {
            *out = words[i].act;
            return true;
        }
    return false;
}

bool vt_name_has(const char *name, const char *const *any)
{
    for (; *any; any++)
        if (strstr(name, *any))
            return true;
    return false;
}

const char *vt_config_timm(const vt_json *config)
{
    return text(config, "architecture");
}

const char *vt_config_hf(const vt_json *config)
{
    return vt_config_timm(config)[0] ? "" : text(config, "model_type");
}

const vt_json *vt_config_vision(const vt_json *config)
{
    const vt_json *v = vt_json_get(config, "vision_config");

    return vt_json_is_object(v) ? v : config;
}

bool vt_weight_has(const vt_weights *w, const char *format, ...)
{
    char name[160];
    va_list args;

    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    return vt_weights_get(w, name) != NULL;
}

int vt_weight_dim(const vt_weights *w, const char *name, int axis)
{
    const vt_weight *t = vt_weights_get(w, name);

    if (!t)
        return 0;
    if (axis < 0)
        axis += (int)t->rank;
    if (axis < 0 || axis >= (int)t->rank || t->shape[axis] > INT32_MAX)
        return 0;
    return (int)t->shape[axis];
}

/* ---- what all three kinds take from the tensors ---- */

/* One more than the highest i of "blocks.i.": a block that is missing in the
 * middle is then named. */
static int count_blocks(const vt_weights *w)
{
    int depth = 0;

    for (size_t i = 0; i < vt_weights_count(w); i++) {
        int block = -1, used = 0;
        if (sscanf(vt_weights_at(w, i)->name, "blocks.%6d.%n", &block, &used) ==
                1 &&
            used > 0 && block >= depth && block < MOST_DEPTH)
            depth = block + 1;
    }
    return depth;
}

/* The patch: a convolution [D,3,P,P], or old files' linear layer [D,3*P*P]. */
static vitcl_status read_patch(vt_config *c, const vt_weights *w,
                               const char *path)
{
    const vt_weight *t = vt_weights_get(w, "patch_embed.proj.weight");

    if (!t || t->rank < 2)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: patch_embed.proj.weight is missing (the file looks "
                       "like no Vision Transformer)",
                       path);
    if (!c->width)
        c->width = vt_weight_dim(w, "patch_embed.proj.weight", 0);
    if (t->rank == 4 && t->shape[1] != 3 &&
        !vt_weight_has(w, "patch_embed.backbone.conv.weight") &&
        !vt_weight_has(w, "patch_embed.backbone.stem.conv.weight"))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: the model takes pictures of %llu channels; only "
                       "RGB is supported",
                       path, (unsigned long long)t->shape[1]);
    if (t->rank == 4 && !c->patch_h) {
        c->patch_h = vt_weight_dim(w, "patch_embed.proj.weight", 2);
        c->patch_w = vt_weight_dim(w, "patch_embed.proj.weight", 3);
    } else if (t->rank == 2 && !c->patch_h) {
        c->patch_h = c->patch_w = (int)lround(sqrt((double)t->shape[1] / 3.0));
    }
    if (c->width < 1 || c->width > MOST_WIDTH || c->patch_h < 1 ||
        c->patch_w < 1 || c->patch_h > MOST_PIXELS || c->patch_w > MOST_PIXELS)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: patch_embed.proj.weight has no useful shape", path);
    return VITCL_OK;
}

static void read_flags(vt_config *c, const vt_weights *w)
{
    c->class_token = vt_weight_has(w, "cls_token");
    c->dist_token = vt_weight_has(w, "dist_token");
    c->registers = vt_weight_dim(w, "reg_token", -2);
    c->pos_embed = vt_weight_has(w, "pos_embed");
    c->patch_bias = vt_weight_has(w, "patch_embed.proj.bias");
    c->qkv_bias = vt_weight_has(w, "blocks.0.attn.qkv.bias");
    c->qk_norm = vt_weight_has(w, "blocks.0.attn.q_norm.weight");
    c->layer_scale = vt_weight_has(w, "blocks.0.ls1.gamma");
    c->pre_norm = vt_weight_has(w, "norm_pre.weight");
    c->final_norm = vt_weight_has(w, "norm.weight");
    c->fc_norm = vt_weight_has(w, "fc_norm.weight");
    c->attn_norm = vt_weight_has(w, "blocks.0.attn.norm.weight");
    c->mlp_norm = vt_weight_has(w, "blocks.0.mlp.norm.weight");
    c->attn_pool = vt_weight_has(w, "attn_pool.latent");
    c->head_bias = vt_weight_has(w, "head.bias");
    if (!c->classes)
        c->classes = vt_weight_dim(w, "head.weight", 0);
    if (!vt_weight_has(w, "head.weight"))
        c->classes = 0;
    if (!c->depth)
        c->depth = count_blocks(w);
    if (!c->mlp)
        c->mlp = vt_weight_dim(w, "blocks.0.mlp.fc2.weight", -1);
    c->swiglu = c->mlp > 0 &&
                vt_weight_dim(w, "blocks.0.mlp.fc1.weight", 0) == 2 * c->mlp;
}

/* After the picture and the patch are known: what the positions cover. */
static vitcl_status read_positions(vt_config *c, const vt_weights *w,
                                   const char *path)
{
    const int prefix = c->class_token + c->dist_token + c->registers;
    const int rows = vt_weight_dim(w, "pos_embed", -2);
    int patches;

    if (c->height < 1 || c->width_px < 1 || c->height % c->patch_h ||
        c->width_px % c->patch_w)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: a picture of %dx%d pixels is no whole number of "
                       "%dx%d patches",
                       path, c->height, c->width_px, c->patch_h, c->patch_w);
    if (!c->pos_embed)
        return VITCL_OK;
    patches = (c->height / c->patch_h) * (c->width_px / c->patch_w);
    c->pos_prefix = rows - patches;
    if (c->pos_prefix != 0 && c->pos_prefix != prefix &&
        !(c->pos_prefix == c->class_token))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: pos_embed has %d rows, but a picture of %dx%d "
                       "pixels has %d patches of %dx%d and %d other tokens",
                       path, rows, c->height, c->width_px, patches, c->patch_h,
                       c->patch_w, prefix);
    return VITCL_OK;
}

static vitcl_status check_sizes(const vt_config *c, const char *path)
{
    if (c->depth < 1 || c->depth > MOST_DEPTH || c->mlp < 1)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: no blocks.0.mlp.fc2.weight: the file holds no "
                       "transformer blocks",
                       path);
    if (c->heads < 1 || c->width % c->heads)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: width %d does not divide into %d heads; the config "
                       "should say the number of heads",
                       path, c->width, c->heads);
    return VITCL_OK;
}

static vitcl_status bad_number(const char *path, const char *key)
{
    return vt_fail(VITCL_ECORRUPT, "%s: the config's %s is no useful number",
                   path, key);
}

/* ---- timm ---- */

/* Heads are 64 wide but for these (timm/models/vision_transformer.py, deit.py,
 * eva.py, beit.py). */
static int timm_heads(const char *name, int width)
{
    static const char *const sixteen[] = {"huge",
                                          "gigantic",
                                          "giantopt",
                                          "so400m",
                                          "enormous",
                                          "beit3_giant",
                                          "vit_base_patch16_gap_224",
                                          "eva_giant",
                                          NULL};
    static const char *const giants[] = {"dinov2", "tipsv2", "radio", NULL};

    if (vt_name_has(name, sixteen) ||
        (strstr(name, "giant") && !vt_name_has(name, giants)))
        return 16;
    return strncmp(name, "test_vit", 8) == 0 ? width / 32 : width / 64;
}

/* GELU is exact but for OpenAI's CLIP and those SigLIP-2 towers that have no
 * SigLIP-1 twin. */
static vt_act timm_act(const char *name)
{
    static const char *const tanh_ones[] = {"patch32_siglip",
                                            "giantopt_patch16_siglip",
                                            "so400m_patch16_siglip",
                                            "large_patch16_siglip_512",
                                            "large_patch16_siglip_gap_512",
                                            NULL};

    if (strstr(name, "quickgelu"))
        return VT_ACT_GELU_QUICK;
    return vt_name_has(name, tanh_ones) ? VT_ACT_GELU_TANH : VT_ACT_GELU;
}

static vitcl_status timm_refuse(const vt_json *args, const vt_weights *w,
                                const char *path, const char *name)
{
    static const char *const keys[] = {"attn_layer", "block_fn", "norm_layer",
                                       "mlp_layer", "embed_norm_layer"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const vt_json *v = vt_json_get(args, keys[i]);
        if (v && !vt_json_is_null(v))
            return vt_fail(VITCL_EUNSUPPORTED,
                           "%s: model_args sets %s, which is not supported",
                           path, keys[i]);
    }
    if (vt_weight_has(w, "blocks.0.norm1.weight") &&
        !vt_weight_has(w, "blocks.0.norm1.bias"))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: %s normalises without a bias (RMS norm), which is "
                       "not supported",
                       path, name);
    return VITCL_OK;
}

static vitcl_status timm_pool(vt_config *c, const vt_json *config,
                              const vt_json *args, const char *path)
{
    const char *pool = text(config, "global_pool");
    bool all = false;

    if (text(args, "global_pool")[0])
        pool = text(args, "global_pool");
    if (!pool[0])
        pool = c->attn_pool ? "map" : c->class_token ? "token" : "avg";
    c->pool_first = c->class_token + c->dist_token + c->registers;
    vt_json_bool(&all, vt_json_get(args, "pool_include_prefix"));
    c->pool_all = all || strcmp(c->name, "test_vit3") == 0;
    if (c->pool_all && !c->attn_pool)
        c->pool_first = 0;
    if (strcmp(pool, "avg") == 0) {
        c->pool = VT_POOL_MEAN;
    } else if (strcmp(pool, "max") == 0) {
        c->pool = VT_POOL_MAX;
    } else if (strcmp(pool, "token") == 0 && c->class_token) {
        c->pool = VT_POOL_TOKEN;
        c->pool_first = 0;
    } else if (strcmp(pool, "map") != 0 || !c->attn_pool) {
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

    if (!pair(&c->height, &c->width_px, args, "img_size", bad) &&
        !pair(&c->height, &c->width_px, cfg, "input_size", bad))
        c->height = c->width_px = 224;
}

vitcl_status vt_configure_timm(vt_config *c, const vt_json *config,
                               const vt_weights *w, const char *path)
{
    vitcl_status st = VITCL_OK;
    const vt_json *args = vt_json_get(config, "model_args");
    const char *name = vt_config_timm(config), *bad = NULL;

    c->source = VT_SOURCE_TIMM;
    snprintf(c->name, sizeof c->name, "%s", name);
    number(&c->width, args, "embed_dim", MOST_WIDTH, &bad);
    number(&c->depth, args, "depth", MOST_DEPTH, &bad);
    number(&c->classes, config, "num_classes", INT32_MAX, &bad);
    if (!c->patch_h) /* a hybrid has worked it out already */
        pair(&c->patch_h, &c->patch_w, args, "patch_size", &bad);
    timm_picture(c, config, args, &bad);
    VT_TRY(read_patch(c, w, path));
    read_flags(c, w);
    VT_TRY(timm_refuse(args, w, path, name));
    if (!number(&c->heads, args, "num_heads", MOST_WIDTH, &bad))
        c->heads = timm_heads(name, c->width);
    /* "0 classes" is how timm writes a model without head */
    if (bad && strcmp(bad, "num_classes") != 0) {
        st = bad_number(path, bad);
        goto done;
    }
    c->eps = strstr(name, "clip") || strstr(name, "beit3") ? 1e-5f : 1e-6f;
    c->act = timm_act(name);
    if (text(args, "act_layer")[0] &&
        !vt_act_parse(&c->act, text(args, "act_layer")))
        VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                       "%s: act_layer \"%s\" is not supported", path,
                       text(args, "act_layer")));
    c->pos_rule = VT_POS_TIMM;
    c->post_norm = strstr(name, "_rpn_") != NULL;
    VT_TRY(timm_pool(c, config, args, path));
    VT_TRY(check_sizes(c, path));
    VT_TRY(read_positions(c, w, path));
done:
    return st;
}

/* ---- Hugging Face ---- */

vitcl_status vt_configure_hf(vt_config *c, const vt_json *config,
                             const vt_weights *w, const char *path, float eps,
                             vt_act act)
{
    vitcl_status st = VITCL_OK;
    const vt_json *v = vt_config_vision(config);
    const char *bad = NULL, *word = text(v, "hidden_act");
    const char *arch = vt_config_hf(config);
    const vt_json *written = vt_json_get(v, "layer_norm_eps");
    double number_eps = eps;

    c->source = VT_SOURCE_HF;
    vt_json_string(&arch, vt_json_at(vt_json_get(config, "architectures"), 0));
    snprintf(c->name, sizeof c->name, "%s", arch);
    number(&c->width, v, "hidden_size", MOST_WIDTH, &bad);
    number(&c->depth, v, "num_hidden_layers", MOST_DEPTH, &bad);
    if (!number(&c->heads, v, "num_attention_heads", MOST_WIDTH, &bad))
        c->heads = -1;
    number(&c->mlp, v, "intermediate_size", MOST_WIDTH * 16, &bad);
    if (!pair(&c->height, &c->width_px, v, "image_size", &bad))
        c->height = c->width_px = 224;
    pair(&c->patch_h, &c->patch_w, v, "patch_size", &bad);
    if (written && !vt_json_is_null(written) &&
        (!vt_json_number(&number_eps, written) || !(number_eps > 0) ||
         number_eps > 1))
        bad = "layer_norm_eps";
    if (bad) {
        st = bad_number(path, bad);
        goto done;
    }
    VT_TRY(read_patch(c, w, path));
    read_flags(c, w);
    if (c->heads < 0)
        c->heads = c->width / 64;
    c->eps = (float)number_eps;
    c->act = act;
    if (word[0] && !vt_act_parse(&c->act, word))
        VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                       "%s: hidden_act \"%s\" is not supported", path, word));
    c->pos_rule = VT_POS_HF;
    c->pool = VT_POOL_TOKEN;
    c->pooler = c->classes ? 0 : vt_weight_dim(w, "pooler.dense.weight", 0);
    c->pooler_act = VT_ACT_TANH;
    if (text(v, "pooler_act")[0] && c->pooler &&
        !vt_act_parse(&c->pooler_act, text(v, "pooler_act")))
        VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                       "%s: pooler_act \"%s\" is not supported", path,
                       text(v, "pooler_act")));
    VT_TRY(check_sizes(c, path));
    VT_TRY(read_positions(c, w, path));
done:
    return st;
}

/* ---- Google's .npz ---- */

/* [D,H,hd], or stacked [L,D,H,hd] */
static int npz_heads(const vt_weights *w)
{
    static const char tail[] = "/query/kernel";
    const vt_tensors *raw = vt_weights_raw(w);

    for (size_t i = 0; i < vt_tensors_count(raw); i++) {
        const vt_tensor *t = vt_tensors_at(raw, i);
        size_t n = strlen(t->name);
        if (n > sizeof tail && strstr(t->name, "MAPHead") == NULL &&
            strcmp(t->name + n - (sizeof tail - 1), tail) == 0 && t->rank >= 3)
            return (int)VT_MIN(t->shape[t->rank - 2], (uint64_t)MOST_WIDTH);
    }
    return 0;
}

vitcl_status vt_configure_npz(vt_config *c, const vt_weights *w,
                              const char *path)
{
    vitcl_status st = VITCL_OK;
    int rows, side;

    c->source = VT_SOURCE_NPZ;
    snprintf(c->name, sizeof c->name, "npz");
    VT_TRY(read_patch(c, w, path));
    read_flags(c, w);
    c->heads = npz_heads(w);
    c->eps = 1e-6f;
    /* Flax trained with the tanh form; timm and HF run the same files with
     * the exact one, and so do we: the two differ by less than 5e-4. */
    c->act = VT_ACT_GELU;
    c->pos_rule = VT_POS_GOOGLE;
    c->pool = c->class_token ? VT_POOL_TOKEN : VT_POOL_MEAN;
    c->pre_logits = vt_weight_dim(w, "pre_logits.fc.weight", 0);
    /* The class token has a row of its own where the rest makes a square. */
    rows = vt_weight_dim(w, "pos_embed", -2);
    side = (int)lround(sqrt((double)VT_MAX(rows, 0)));
    if (side * side != rows || rows == 0)
        side = (int)lround(sqrt((double)VT_MAX(rows - c->class_token, 0)));
    c->height = side * c->patch_h;
    c->width_px = side * c->patch_w;
    VT_TRY(check_sizes(c, path));
    if (!c->pos_embed)
        VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                       "%s: no position embedding in the file, so the size of "
                       "its pictures is unknown",
                       path));
    VT_TRY(read_positions(c, w, path));
done:
    return st;
}

vitcl_status vt_configure(vt_config *c, const vt_json *config,
                          const vt_weights *w, const char *path, float eps,
                          vt_act act)
{
    if (!config)
        return vt_configure_npz(c, w, path);
    if (vt_config_timm(config)[0])
        return vt_configure_timm(c, config, w, path);
    return vt_configure_hf(c, config, w, path, eps, act);
}
