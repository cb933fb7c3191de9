/*
 * arch_spec.c - read an architecture from a preset's name or a config.
 *
 * Config words that timm does not have:
 *   stem_layers, stem_widths   a hybrid's stages, for instance [2], [128]: one
 *                              stage of two bottlenecks after a stem of 64.
 *                              Without them timm can load the trained model
 *   stem_block: "basic"        blocks of two 3x3 convolutions
 *   model_args: pos_embed other than "learn" and "none", pos_injection,
 *   representation_size, attention: "axial", block
 *                              the paper's variants; timm refuses them
 *
 * The ResNet baseline uses timm's words ("layers", "channels", "stem_chs").
 */
#include "train/arch_spec.h"

#include "base/memory.h"
#include "models/config.h"
#include "models/family.h"
#include "models/model.h"

#include <stdio.h>
#include <string.h>

/* ---- defaults from the architecture's name ---- */

/* What the name says, and for the rest timm's defaults. */
static void name_defaults(vt_arch_spec *c, const vt_shape *s)
{
    c->height = c->width_px = s->size;
    c->patch_h = c->patch_w = s->patch;
    c->hybrid = s->hybrid, c->resnet = c->mean = s->resnet;
    c->stem_width = s->stem_width, c->stages = s->stages;
    memcpy(c->layers, s->layers, sizeof c->layers);
    memcpy(c->widths, s->widths, sizeof c->widths);
    if (s->resnet)
        return;
    c->width = s->width, c->depth = s->depth, c->heads = s->heads;
    c->mlp_ratio = 4;
    c->qkv_bias = true;
    c->axial = c->mean = c->fc_norm = s->axial;
    c->class_token = !s->axial;
}

bool vt_arch_spec_resnet(vt_arch_spec *c)
{
    vt_shape s;

    if (!vt_shape_resnet(&s, c->architecture))
        return false;
    name_defaults(c, &s);
    return true;
}

/* ---- the config ---- */

static bool integer(int *out, const vt_json *v, int low, int high)
{
    uint64_t n = 0;

    if (!v || vt_json_is_null(v))
        return true;
    if (!vt_json_uint(&n, v) || n < (uint64_t)low || n > (uint64_t)high)
        return false;
    *out = (int)n;
    return true;
}

static bool pair(int *a, int *b, const vt_json *v, int high)
{
    if (vt_json_is_array(v))
        return vt_json_count(v) == 2 && integer(a, vt_json_at(v, 0), 1, high) &&
               integer(b, vt_json_at(v, 1), 1, high);
    if (!v)
        return true;
    if (!integer(a, v, 1, high))
        return false;
    *b = *a;
    return true;
}

static bool real(double *out, const vt_json *v, double low, double high)
{
    double d;

    if (!v || vt_json_is_null(v))
        return true;
    if (!vt_json_number(&d, v) || !(d >= low && d <= high))
        return false;
    *out = d;
    return true;
}

static bool flag(bool *out, const vt_json *v)
{
    return !v || vt_json_is_null(v) || vt_json_bool(out, v);
}

/* Reads one member of model_args; false: unknown, or its value is invalid. */
static bool take(vt_arch_spec *c, const char *key, const vt_json *v)
{
    const char *word = "";

    vt_json_string(&word, v);
    if (strcmp(key, "img_size") == 0)
        return pair(&c->height, &c->width_px, v, 4096);
    if (strcmp(key, "patch_size") == 0)
        return pair(&c->patch_h, &c->patch_w, v, 64);
    if (strcmp(key, "embed_dim") == 0)
        return integer(&c->width, v, 1, 8192);
    if (strcmp(key, "depth") == 0)
        return integer(&c->depth, v, 1, 256);
    if (strcmp(key, "num_heads") == 0)
        return integer(&c->heads, v, 1, 256);
    if (strcmp(key, "mlp_ratio") == 0)
        return real(&c->mlp_ratio, v, 0.1, 16);
    if (strcmp(key, "init_values") == 0)
        return real(&c->init_values, v, 0, 10);
    if (strcmp(key, "reg_tokens") == 0)
        return integer(&c->registers, v, 0, 64);
    if (strcmp(key, "class_token") == 0)
        return flag(&c->class_token, v);
    if (strcmp(key, "no_embed_class") == 0)
        return flag(&c->no_embed_class, v);
    if (strcmp(key, "qkv_bias") == 0)
        return flag(&c->qkv_bias, v);
    if (strcmp(key, "qk_norm") == 0)
        return flag(&c->qk_norm, v);
    if (strcmp(key, "fc_norm") == 0)
        return flag(&c->fc_norm, v);
    if (strcmp(key, "global_pool") == 0)
        return strcmp(word, "avg") == 0 || strcmp(word, "token") == 0;
    if (strcmp(key, "attention") == 0)
        return c->axial = strcmp(word, "axial") == 0;
    if (strcmp(key, "block") == 0)
        return vt_config_block(&(vt_config){.width = 1}, word) &&
               snprintf(c->block, sizeof c->block, "%s", word) > 0;
    if (strcmp(key, "representation_size") == 0)
        return integer(&c->representation, v, 1, 65536);
    /* vt_config_pos() reads these together */
    return strcmp(key, "pos_embed") == 0 || strcmp(key, "pos_injection") == 0;
}

/* A list of multiples of `of`, one a stage. */
static bool list(int out[4], int *n, const vt_json *v, int high, int of)
{
    const size_t count = vt_json_count(v);

    if (count < 1 || count > 4)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!integer(&out[i], vt_json_at(v, i), of, high) || out[i] % of)
            return false;
    *n = (int)count;
    return true;
}

/* timm's words for a ResNet; its channels are given before the width factor. */
static vitcl_status read_resnet(vt_arch_spec *c, const vt_json *args,
                                const char *path)
{
    const int wide = c->widths[0] / VT_STAGE_WIDTH;
    int stages = 4, stem = 64, n;

    for (const vt_json *m = vt_json_first(args); m; m = vt_json_next(m)) {
        const char *key = vt_json_key(m), *word = "";
        bool good = false;

        vt_json_string(&word, m);
        if (strcmp(key, "img_size") == 0)
            good = pair(&c->height, &c->width_px, m, 4096);
        else if (strcmp(key, "global_pool") == 0)
            good = strcmp(word, "avg") == 0;
        else if (strcmp(key, "layers") == 0)
            good = list(c->layers, &c->stages, m, 100, 1);
        else if (strcmp(key, "channels") == 0)
            good = list(c->widths, &stages, m, 4096, 128);
        else if (strcmp(key, "stem_chs") == 0)
            good = integer(&stem, m, 32, 512) && stem % 32 == 0;
        if (!good)
            return vt_fail(VITCL_EUNSUPPORTED,
                           "%s: model_args: \"%s\" is unknown for a ResNet "
                           "or its value is invalid",
                           path, key);
    }
    for (n = 0; vt_json_get(args, "channels") && n < stages; n++)
        c->widths[n] *= wide;
    c->stem_width = stem * wide;
    if (stages < c->stages)
        return vt_fail(VITCL_EINVAL,
                       "%s: \"layers\" has %d stages, but \"channels\" has %d",
                       path, c->stages, stages);
    return VITCL_OK;
}

static bool read_stem(vt_arch_spec *c, const vt_json *json)
{
    const vt_json *l = vt_json_get(json, "stem_layers");
    const vt_json *w = vt_json_get(json, "stem_widths");
    const vt_json *kind = vt_json_get(json, "stem_block");
    const char *block = "bottleneck";

    if (!integer(&c->stem_width, vt_json_get(json, "stem_width"), 32, 512) ||
        c->stem_width % 32)
        return false;
    if (kind && !vt_json_string(&block, kind))
        return false;
    c->basic = strcmp(block, "basic") == 0;
    if (!c->basic && strcmp(block, "bottleneck") != 0)
        return false;
    if (!l && !w)
        return true;
    c->stages = (int)vt_json_count(l);
    if (c->stages > 4 || vt_json_count(w) != (size_t)c->stages)
        return false;
    for (int i = 0; i < c->stages; i++)
        if (!integer(&c->layers[i], vt_json_at(l, (size_t)i), 1, 32) ||
            !integer(&c->widths[i], vt_json_at(w, (size_t)i), 32, 4096) ||
            c->widths[i] % (c->basic ? 32 : 128))
            return false;
    return true;
}

int vt_arch_spec_stride(const vt_arch_spec *c)
{
    int n = c->hybrid || c->resnet ? 4 : 1;

    for (int i = 1; i < c->stages; i++)
        n *= 2;
    return n;
}

static vitcl_status check(const vt_arch_spec *c, const char *path)
{
    const int h = c->patch_h * vt_arch_spec_stride(c),
              w = c->patch_w * vt_arch_spec_stride(c);

    if (h < 1 || w < 1 || c->height < 1 || c->width_px < 1 ||
        c->height > 4096 || c->width_px > 4096)
        return vt_fail(
            VITCL_EINVAL,
            "%s: patches of %dx%d pixels or pictures of %dx%d are out of range",
            path, h, w, c->height, c->width_px);
    if (c->height % h || c->width_px % w)
        return vt_fail(VITCL_EINVAL,
                       "%s: pictures of %dx%d pixels cannot be cut into whole "
                       "%dx%d patches",
                       path, c->height, c->width_px, h, w);
    if (c->resnet)
        return VITCL_OK;
    if (c->width % c->heads)
        return vt_fail(VITCL_EINVAL,
                       "%s: width %d is not divisible by %d heads", path,
                       c->width, c->heads);
    if (!c->mean && !c->class_token)
        return vt_fail(VITCL_EINVAL,
                       "%s: without a class token, global_pool must be \"avg\"",
                       path);
    if (c->positions == VT_POS_2D && c->width % 2)
        return vt_fail(VITCL_EINVAL,
                       "%s: 2-D positions need an even width, not %d", path,
                       c->width);
    if (c->axial &&
        (c->class_token || c->block[0] || c->registers || c->hybrid ||
         c->depth % 2 || c->positions == VT_POS_RELATIVE))
        return vt_fail(VITCL_EINVAL,
                       "%s: axial attention is for a grid of patches and pairs "
                       "of blocks: \"class_token\": false, an even depth, no "
                       "registers, no block, no stem and no relative positions",
                       path);
    if (c->no_embed_class && c->positions_at != VT_AT_STEM)
        return vt_fail(VITCL_EINVAL,
                       "%s: with pos_injection every token has a position; "
                       "remove no_embed_class",
                       path);
    return VITCL_OK;
}

/* Names that say nothing but sizes. timm builds more of others, such as
 * vit_base_patch14_dinov2, which has a layer scale. */
static bool plain(const char *name, const vt_shape *s)
{
    char size[12];
    int patch, side, n = 0;

    return s->hybrid || (sscanf(name, "vit_%11[a-z]_patch%4d_%4d%n", size,
                                &patch, &side, &n) == 3 &&
                         (name[n] == '\0' || name[n] == '.'));
}

static vitcl_status read_config(vt_arch_spec *c, const vt_json *json,
                                const char *path)
{
    /* timm's hybrids with a ResNet-D or MobileCLIP stem */
    static const char *const normed[] = {"_resnet", "_mci_", NULL};
    const vt_json *args = vt_json_get(json, "model_args");
    const char *name = "", *pool = "", *how = NULL, *where = NULL;
    vt_shape shape;

    vt_json_string(&name, vt_json_get(json, "architecture"));
    snprintf(c->architecture, sizeof c->architecture, "%.90s", name);
    if (vt_arch_spec_resnet(c))
        return read_resnet(c, args, path);
    if (strncmp(name, "vit_", 4) != 0 || strlen(name) > 90)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: \"architecture\" must be one of timm's vit_ models "
                       "or resnetv2_50x1_bit to be trained from scratch, not "
                       "\"%s\"",
                       path, name);
    if (vt_name_has(name, normed))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: the stem of \"%s\" uses BatchNorm, "
                       "which vitcl cannot train",
                       path, name);
    vt_shape_vit(&shape, name);
    if (!plain(name, &shape))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: \"%s\" has parts that training from scratch does "
                       "not build; name a plain one, such as "
                       "vit_base_patch16_224, and give the rest in model_args",
                       path, name);
    name_defaults(c, &shape);
    vt_json_string(&pool, vt_json_get(json, "global_pool"));
    vt_json_string(&pool, vt_json_get(args, "global_pool"));
    c->mean = c->fc_norm = strcmp(pool, "avg") == 0;
    for (const vt_json *m = vt_json_first(args); m; m = vt_json_next(m))
        if (!take(c, vt_json_key(m), m))
            return vt_fail(VITCL_EUNSUPPORTED,
                           "%s: model_args: \"%s\" is unknown or its value "
                           "is invalid",
                           path, vt_json_key(m));
    vt_json_string(&how, vt_json_get(args, "pos_embed"));
    vt_json_string(&where, vt_json_get(args, "pos_injection"));
    if (!vt_config_pos(&c->positions, &c->positions_at, &c->no_positions, how,
                       where))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: pos_embed must be none, learn, 2d or relative, and "
                       "pos_injection stem, layer or shared (with relative: "
                       "layer or shared only)",
                       path);
    if (c->hybrid && !read_stem(c, json))
        return vt_fail(VITCL_EINVAL,
                       "%s: the stem needs \"stem_layers\" and equally many "
                       "\"stem_widths\", multiples of 128 (of 32 with "
                       "\"stem_block\": \"basic\"), at most four",
                       path);
    return VITCL_OK;
}

vitcl_status vt_arch_spec_preset(vt_arch_spec *out, const char *preset)
{
    vt_arch_spec c = {.architecture = ""};
    vt_shape shape;

    VT_RET(vt_preset_read(&shape, c.architecture, preset));
    name_defaults(&c, &shape);
    *out = c;
    return VITCL_OK;
}

vitcl_status vt_arch_spec_read(vt_arch_spec *out, const char *preset,
                               const vt_json *json, const char *path,
                               uint32_t height, uint32_t width)
{
    vt_arch_spec c = {.architecture = ""};

    VT_RET(vt_config_types(&vt_family_vit, json, path));
    VT_RET(json ? read_config(&c, json, path)
                : vt_arch_spec_preset(&c, preset));
    if (height && width && height <= 4096 && width <= 4096)
        c.height = (int)height, c.width_px = (int)width;
    VT_RET(check(&c, json ? path : preset));
    *out = c;
    return VITCL_OK;
}
