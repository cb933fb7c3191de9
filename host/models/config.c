/*
 * config.c - sizes and choices from config.json and from the tensors.
 *
 * Easy to get wrong: HF's epsilon differs by family (1e-12 for ViT) and may be
 * missing from the file. A .npz file has no config at all: its heads are an
 * axis of query/kernel, its picture is as large as its positions say. (timm's
 * configs: config_timm.c)
 */
#include "models/config.h"

#include "base/memory.h"
#include "models/stdconv.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- small readers ---- */

const char *vt_config_text(const vt_json *o, const char *key)
{
    const char *s = "";

    return vt_json_string(&s, vt_json_get(o, key)) ? s : "";
}

static bool integer(int *out, const vt_json *o, const char *key, int least,
                    int most, const char **bad)
{
    const vt_json *v = vt_json_get(o, key);
    uint64_t n = 0;

    if (!v || vt_json_is_null(v))
        return false;
    if (!vt_json_uint(&n, v) || n < (uint64_t)least || n > (uint64_t)most) {
        *bad = key;
        return false;
    }
    *out = (int)n;
    return true;
}

bool vt_config_number(int *out, const vt_json *o, const char *key, int most,
                      const char **bad)
{
    return integer(out, o, key, 1, most, bad);
}

bool vt_config_count(int *out, const vt_json *o, const char *key, int most,
                     const char **bad)
{
    return integer(out, o, key, 0, most, bad);
}

bool vt_config_pair(int *h, int *w, const vt_json *o, const char *key,
                    const char **bad)
{
    const vt_json *v = vt_json_get(o, key);
    size_t n = vt_json_count(v);
    uint64_t a = 0, b = 0;

    if (!v || vt_json_is_null(v))
        return false;
    if (!vt_json_is_array(v)) {
        if (!vt_config_number(h, o, key, VT_MOST_PIXELS, bad))
            return false;
        *w = *h;
        return true;
    }
    if (n < 2 || n > 3 || !vt_json_uint(&a, vt_json_at(v, n - 2)) ||
        !vt_json_uint(&b, vt_json_at(v, n - 1)) || a < 1 || b < 1 ||
        a > VT_MOST_PIXELS || b > VT_MOST_PIXELS) {
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
    return vt_config_text(config, "architecture");
}

const char *vt_config_hf(const vt_json *config)
{
    return vt_config_timm(config)[0] ? ""
                                     : vt_config_text(config, "model_type");
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
    return w && vt_weights_get(w, name) != NULL;
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
            used > 0 && block >= depth && block < VT_MOST_DEPTH)
            depth = block + 1;
    }
    return depth;
}

/* Timm's hybrids have all kinds of nets before their patches. */
static bool has_stem(const vt_weights *w)
{
    for (size_t i = 0; i < vt_weights_count(w); i++)
        if (strncmp(vt_weights_at(w, i)->name, "patch_embed.backbone.", 21) ==
            0)
            return true;
    return false;
}

/* The patch: a convolution [D,3,P,P], or old files' linear layer [D,3*P*P]. */
vitcl_status vt_read_patch(vt_config *c, const vt_weights *w, const char *path)
{
    const vt_weight *t = vt_weights_get(w, "patch_embed.proj.weight");

    if (!t || t->rank < 2)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: patch_embed.proj.weight is missing (the file looks "
                       "like no Vision Transformer)",
                       path);
    if (!c->width)
        c->width = vt_weight_dim(w, "patch_embed.proj.weight", 0);
    if (has_stem(w) && !c->stem_width[0])
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: %s has a stem before its patches that is not "
                       "supported; BiT's ResNets and ResNet-D are",
                       path, c->name);
    if (t->rank == 4 && t->shape[1] != 3 && !c->stem_width[0])
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
    if (c->width < 1 || c->width > VT_MOST_WIDTH || c->patch_h < 1 ||
        c->patch_w < 1 || c->patch_h > VT_MOST_PIXELS ||
        c->patch_w > VT_MOST_PIXELS)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: patch_embed.proj.weight has no useful shape", path);
    return VITCL_OK;
}

/* Has any block this part? So that one which lacks it is told by its name. */
static bool any_block(const vt_weights *w, int depth, const char *part)
{
    for (int i = 0; i < depth; i++)
        if (vt_weight_has(w, "blocks.%d.%s", i, part))
            return true;
    return false;
}

static void read_mlp(vt_config *c, const vt_weights *w)
{
    char name[64];
    int in = 0, out = 0;

    for (int i = 0; i < c->depth && !(in && out); i++) {
        snprintf(name, sizeof name, "blocks.%d.mlp.fc1.weight", i);
        in = vt_weight_dim(w, name, 0);
        snprintf(name, sizeof name, "blocks.%d.mlp.fc2.weight", i);
        out = vt_weight_dim(w, name, -1);
    }
    if (!c->mlp)
        c->mlp = out <= VT_MOST_MLP ? out : 0;
    c->swiglu = out > 0 && out <= VT_MOST_MLP && in == 2 * out;
}

/* What every model of its kind has is taken as there, so that it is missed by
 * name if it is not; the rest is there if the file has it anywhere. */
void vt_read_flags(vt_config *c, const vt_weights *w)
{
    c->class_token = vt_weight_has(w, "cls_token");
    c->dist_token = vt_weight_has(w, "dist_token");
    c->registers = vt_weight_dim(w, "reg_token", -2);
    c->pos_embed = !c->pos_optional || vt_weight_has(w, "pos_embed");
    c->pre_norm = vt_weight_has(w, "norm_pre.weight") ||
                  vt_weight_has(w, "norm_pre.bias");
    c->patch_bias = !c->pre_norm || vt_weight_has(w, "patch_embed.proj.bias");
    c->final_norm =
        vt_weight_has(w, "norm.weight") || vt_weight_has(w, "norm.bias");
    c->fc_norm =
        vt_weight_has(w, "fc_norm.weight") || vt_weight_has(w, "fc_norm.bias");
    if (!c->fc_norm && !c->norm_optional)
        c->final_norm = true;
    if (!c->depth)
        c->depth = count_blocks(w);
    c->qkv_bias = any_block(w, c->depth, "attn.qkv.bias");
    c->proj_bias = any_block(w, c->depth, "attn.proj.bias");
    c->fc_bias = any_block(w, c->depth, "mlp.fc1.bias") ||
                 any_block(w, c->depth, "mlp.fc2.bias");
    c->qk_norm = any_block(w, c->depth, "attn.q_norm.weight");
    c->layer_scale = any_block(w, c->depth, "ls1.gamma");
    c->attn_norm = any_block(w, c->depth, "attn.norm.weight");
    c->mlp_norm = any_block(w, c->depth, "mlp.norm.weight");
    c->attn_pool = vt_weight_has(w, "attn_pool.latent");
    c->head_bias = true;
    if (!c->classes)
        c->classes = vt_weight_dim(w, "head.weight", 0);
    read_mlp(c, w);
}

static int grid_of(const vt_config *c, int pixels, int patch)
{
    /* a stem halves with ceilings, one stride after the other */
    const int stem = c->stem_width[0] ? vt_stdconv_stride(c) : 1;

    return (pixels + stem - 1) / stem / (patch / stem);
}

bool vt_config_grid(int *h, int *w, const vt_config *c, int height, int width)
{
    if (height < 1 || width < 1 || height > VT_MOST_PIXELS ||
        width > VT_MOST_PIXELS)
        return false;
    *h = grid_of(c, height, c->patch_h);
    *w = grid_of(c, width, c->patch_w);
    return *h > 0 && *w > 0;
}

bool vt_config_native(const vt_config *c, int gh, int gw)
{
    int h = 0, w = 0;

    return vt_config_grid(&h, &w, c, c->height, c->width_px) && h == gh &&
           w == gw;
}

/* After the picture and the patch are known: what the positions cover. */
vitcl_status vt_read_positions(vt_config *c, const vt_weights *w,
                               const char *path)
{
    int prefix;
    const char *table =
        c->places_at == VT_AT_LAYERS ? "blocks.0.pos_embed" : "pos_embed";
    const int rows = vt_weight_dim(w, table, -2);
    int gh = 0, gw = 0, patches;

    if (c->registers > VT_MOST_WIDTH)
        return vt_fail(VITCL_ECORRUPT, "%s: %d register tokens", path,
                       c->registers);
    prefix = c->class_token + c->dist_token + c->registers;
    if (!vt_config_grid(&gh, &gw, c, c->height, c->width_px))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: a picture of %dx%d pixels is smaller than a patch "
                       "of %dx%d",
                       path, c->height, c->width_px, c->patch_h, c->patch_w);
    if (c->places == VT_POS_2D && c->width % 2)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: 2-D positions need an even width, not %d", path,
                       c->width);
    if (!c->pos_embed)
        return VITCL_OK;
    patches = gh * gw;
    c->pos_prefix = rows - patches;
    if (c->pos_prefix != prefix &&
        (c->places_at != VT_AT_STEM ||
         (c->pos_prefix != 0 && c->pos_prefix != c->class_token)))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: %s has %d rows, but a picture of %dx%d "
                       "pixels has %d patches of %dx%d and %d other tokens",
                       path, table, rows, c->height, c->width_px, patches,
                       c->patch_h, c->patch_w, prefix);
    return VITCL_OK;
}

vitcl_status vt_check_sizes(const vt_config *c, const char *path)
{
    if (c->depth < 1 || c->depth > VT_MOST_DEPTH || c->mlp < 1)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: no blocks.0.mlp.fc2.weight: %s has no transformer "
                       "blocks, or blocks of a kind that is not supported",
                       path, c->name);
    if (c->heads < 1 || c->width % c->heads)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: width %d does not divide into %d heads; the config "
                       "should say the number of heads",
                       path, c->width, c->heads);
    return VITCL_OK;
}

vitcl_status vt_bad_number(const char *path, const char *key)
{
    return vt_fail(VITCL_ECORRUPT, "%s: the config's %s is no useful number",
                   path, key);
}

/* ---- Hugging Face ---- */

vitcl_status vt_configure_hf(vt_config *c, const vt_json *config,
                             const vt_weights *w, const char *path, float eps,
                             vt_act act)
{
    vitcl_status st = VITCL_OK;
    const vt_json *v = vt_config_vision(config);
    const char *bad = NULL, *word = vt_config_text(v, "hidden_act");
    const char *arch = vt_config_hf(config);
    const vt_json *written = vt_json_get(v, "layer_norm_eps");
    double number_eps = eps;
    int registers = 0;

    c->source = VT_SOURCE_HF;
    vt_json_string(&arch, vt_json_at(vt_json_get(config, "architectures"), 0));
    snprintf(c->name, sizeof c->name, "%s", arch);
    vt_config_number(&c->width, v, "hidden_size", VT_MOST_WIDTH, &bad);
    vt_config_number(&c->depth, v, "num_hidden_layers", VT_MOST_DEPTH, &bad);
    if (!vt_config_number(&c->heads, v, "num_attention_heads", VT_MOST_WIDTH,
                          &bad))
        c->heads = -1;
    vt_config_number(&c->mlp, v, "intermediate_size", VT_MOST_MLP, &bad);
    if (!vt_config_pair(&c->height, &c->width_px, v, "image_size", &bad))
        c->height = c->width_px = 224;
    vt_config_pair(&c->patch_h, &c->patch_w, v, "patch_size", &bad);
    vt_config_count(&registers, v, "num_register_tokens", VT_MOST_WIDTH, &bad);
    if (written && !vt_json_is_null(written) &&
        (!vt_json_number(&number_eps, written) || !(number_eps > 0) ||
         number_eps > 1))
        bad = "layer_norm_eps";
    if (bad) {
        st = vt_bad_number(path, bad);
        goto done;
    }
    VT_TRY(vt_read_patch(c, w, path));
    vt_read_flags(c, w);
    c->class_token = strncmp(vt_config_hf(config), "siglip", 6) != 0;
    c->dist_token = strcmp(vt_config_hf(config), "deit") == 0;
    if (registers)
        c->registers = registers;
    if (!c->classes && strstr(c->name, "ForImageClassification"))
        c->classes = VT_MAX((int)vt_json_count(vt_json_get(config, "id2label")),
                            1); /* the head is missing then */
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
    if (vt_config_text(v, "pooler_act")[0] && c->pooler &&
        !vt_act_parse(&c->pooler_act, vt_config_text(v, "pooler_act")))
        VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                       "%s: pooler_act \"%s\" is not supported", path,
                       vt_config_text(v, "pooler_act")));
    VT_TRY(vt_check_sizes(c, path));
    VT_TRY(vt_read_positions(c, w, path));
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
            return (int)VT_MIN(t->shape[t->rank - 2], (uint64_t)VT_MOST_WIDTH);
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
    VT_TRY(vt_read_patch(c, w, path));
    vt_read_flags(c, w);
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
    VT_TRY(vt_check_sizes(c, path));
    if (!c->pos_embed)
        VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                       "%s: no position embedding in the file, so the size of "
                       "its pictures is unknown",
                       path));
    VT_TRY(vt_read_positions(c, w, path));
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
