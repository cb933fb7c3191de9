/*
 * blueprint.c - what a preset's name or a config says of an architecture, and
 * the config.json that says all of it.
 *
 * A hybrid's config may say "stem_layers" and "stem_widths" beside timm's
 * words ([2], [128]: one stage of two bottlenecks behind a stem of 64), which
 * timm has no word for; without them timm can load what was trained.
 */
#include "train/blueprint.h"

#include "base/memory.h"

#include <string.h>

/* ---- what the architecture's name says ---- */

static const struct {
    const char *word, *preset;
    int width, depth, heads;
} sizes[] = {
    {"_tiny_", "vit-ti/", 192, 12, 3},  {"_small_", "vit-s/", 384, 12, 6},
    {"_base_", "vit-b/", 768, 12, 12},  {"_large_", "vit-l/", 1024, 24, 16},
    {"_huge_", "vit-h/", 1280, 32, 16},
};

/* The stems of timm's hybrids: stride, stages' layers. */
static const struct {
    const char *word;
    int layers[4], stages, patch;
} stems[] = {
    {"_r_s16_", {0}, 0, 8},
    {"_r26_s32_", {2, 2, 2, 2}, 4, 1},
    {"_r50_s16_", {3, 4, 9}, 3, 1},
    {"_r50_s32_", {3, 4, 6, 3}, 4, 1},
};

static void name_defaults(vt_blueprint *c)
{
    const char *name = c->architecture, *at = strstr(name, "_patch");
    static const int stage_widths[] = {256, 512, 1024, 2048};

    c->width = 768, c->depth = 12, c->heads = 12;
    for (size_t i = 0; i < VT_COUNT(sizes); i++)
        if (strstr(name, sizes[i].word))
            c->width = sizes[i].width, c->depth = sizes[i].depth,
            c->heads = sizes[i].heads;
    c->patch_h = 16;
    if (at)
        sscanf(at, "_patch%4d", &c->patch_h);
    for (size_t i = 0; i < VT_COUNT(stems); i++)
        if (strstr(name, stems[i].word)) {
            c->hybrid = true;
            c->stem_width = 64;
            c->stages = stems[i].stages;
            memcpy(c->layers, stems[i].layers, sizeof c->layers);
            memcpy(c->widths, stage_widths, sizeof c->widths);
            c->patch_h = stems[i].patch;
        }
    c->patch_w = c->patch_h;
    c->height = c->width_px = 224;
    at = strrchr(name, '_');
    if (at && sscanf(at, "_%4d", &c->height) == 1)
        c->width_px = c->height;
    c->mlp_ratio = 4;
    c->class_token = c->qkv_bias = c->positions = true;
}

/* ---- what the config says ---- */

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

/* One member of model_args; false: not known, or of no use. */
static bool take(vt_blueprint *c, const char *key, const vt_json *v)
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
    if (strcmp(key, "pos_embed") == 0) {
        c->positions = strcmp(word, "none") != 0;
        return !c->positions || strcmp(word, "learn") == 0;
    }
    return false;
}

static bool read_stem(vt_blueprint *c, const vt_json *json)
{
    const vt_json *l = vt_json_get(json, "stem_layers");
    const vt_json *w = vt_json_get(json, "stem_widths");

    if (!integer(&c->stem_width, vt_json_get(json, "stem_width"), 32, 512) ||
        c->stem_width % 32)
        return false;
    if (!l && !w)
        return true;
    c->stages = (int)vt_json_count(l);
    if (c->stages > 4 || vt_json_count(w) != (size_t)c->stages)
        return false;
    for (int i = 0; i < c->stages; i++)
        if (!integer(&c->layers[i], vt_json_at(l, (size_t)i), 1, 32) ||
            !integer(&c->widths[i], vt_json_at(w, (size_t)i), 128, 4096) ||
            c->widths[i] % 128)
            return false;
    return true;
}

int vt_blueprint_stride(const vt_blueprint *c)
{
    int n = c->hybrid ? 4 : 1;

    for (int i = 1; i < c->stages; i++)
        n *= 2;
    return n;
}

static vitcl_status check(const vt_blueprint *c, const char *path)
{
    const int h = c->patch_h * vt_blueprint_stride(c),
              w = c->patch_w * vt_blueprint_stride(c);

    if (h < 1 || w < 1 || c->height < 1 || c->width_px < 1 ||
        c->height > 4096 || c->width_px > 4096)
        return vt_fail(VITCL_EINVAL,
                       "%s: patches of %dx%d pixels, pictures of %dx%d", path,
                       h, w, c->height, c->width_px);
    if (c->width % c->heads)
        return vt_fail(VITCL_EINVAL,
                       "%s: width %d does not divide into %d heads", path,
                       c->width, c->heads);
    if (!c->mean && !c->class_token)
        return vt_fail(VITCL_EINVAL,
                       "%s: without a class token global_pool must be \"avg\"",
                       path);
    if (c->height % h || c->width_px % w)
        return vt_fail(VITCL_EINVAL,
                       "%s: pictures of %dx%d pixels are no whole number of "
                       "%dx%d patches",
                       path, c->height, c->width_px, h, w);
    return VITCL_OK;
}

static vitcl_status read_config(vt_blueprint *c, const vt_json *json,
                                const char *path)
{
    const vt_json *args = vt_json_get(json, "model_args");
    const char *name = "", *pool = "";

    vt_json_string(&name, vt_json_get(json, "architecture"));
    if (strncmp(name, "vit_", 4) != 0 || strlen(name) > 90)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: \"architecture\" must be one of timm's vit_ models "
                       "to be trained from scratch, not \"%s\"",
                       path, name);
    snprintf(c->architecture, sizeof c->architecture, "%s", name);
    name_defaults(c);
    vt_json_string(&pool, vt_json_get(json, "global_pool"));
    vt_json_string(&pool, vt_json_get(args, "global_pool"));
    c->mean = c->fc_norm = strcmp(pool, "avg") == 0;
    for (const vt_json *m = vt_json_first(args); m; m = vt_json_next(m))
        if (!take(c, vt_json_key(m), m))
            return vt_fail(VITCL_EUNSUPPORTED,
                           "%s: model_args' \"%s\" is not known here or has "
                           "no useful value",
                           path, vt_json_key(m));
    if (c->hybrid && !read_stem(c, json))
        return vt_fail(VITCL_EINVAL,
                       "%s: the stem needs \"stem_layers\" and as many "
                       "\"stem_widths\", multiples of 128, at most four",
                       path);
    return VITCL_OK;
}

static vitcl_status read_preset(vt_blueprint *c, const char *preset)
{
    int patch = 0;

    for (size_t i = 0; i < VT_COUNT(sizes); i++) {
        const size_t n = strlen(sizes[i].preset);

        if (strncmp(preset, sizes[i].preset, n) == 0 &&
            sscanf(preset + n, "%4d", &patch) == 1 && patch > 0 && patch < 65) {
            snprintf(c->architecture, sizeof c->architecture,
                     "vit%spatch%d_224", sizes[i].word, patch);
            name_defaults(c);
            return VITCL_OK;
        }
    }
    return vt_fail(VITCL_EINVAL,
                   "no preset \"%s\" to be trained; there are vit-ti/16, "
                   "vit-s/16, vit-b/16, vit-b/32, vit-l/16, vit-l/32, "
                   "vit-h/14, and any other patch",
                   preset);
}

vitcl_status vt_blueprint_read(vt_blueprint *out, const char *preset,
                               const vt_json *json, const char *path,
                               uint32_t height, uint32_t width)
{
    vitcl_status st = VITCL_OK;
    vt_blueprint c = {.architecture = ""};

    VT_TRY(json ? read_config(&c, json, path) : read_preset(&c, preset));
    if (height && width && height <= 4096 && width <= 4096)
        c.height = (int)height, c.width_px = (int)width;
    VT_TRY(check(&c, json ? path : preset));
    *out = c;
done:
    return st;
}

/* ---- config.json ---- */

static void put_args(char *text, size_t size, const vt_blueprint *c)
{
    size_t n = 0;

#define PUT(...) n += (size_t)snprintf(text + n, size - n, __VA_ARGS__)
    PUT("\"img_size\": [%d, %d], \"patch_size\": ", c->height, c->width_px);
    if (c->patch_h == c->patch_w)
        PUT("%d", c->patch_h);
    else
        PUT("[%d, %d]", c->patch_h, c->patch_w);
    PUT(", \"embed_dim\": %d, \"depth\": %d, \"num_heads\": %d, "
        "\"mlp_ratio\": %.9g",
        c->width, c->depth, c->heads, c->mlp_ratio);
    if (!c->class_token)
        PUT(", \"class_token\": false");
    if (c->registers)
        PUT(", \"reg_tokens\": %d", c->registers);
    if (c->no_embed_class)
        PUT(", \"no_embed_class\": true");
    if (!c->qkv_bias)
        PUT(", \"qkv_bias\": false");
    if (c->qk_norm)
        PUT(", \"qk_norm\": true");
    if (!c->positions)
        PUT(", \"pos_embed\": \"none\"");
    if (c->init_values > 0)
        PUT(", \"init_values\": %.9g", c->init_values);
    if (c->mean)
        PUT(", \"global_pool\": \"avg\"");
    if (c->fc_norm != c->mean)
        PUT(", \"fc_norm\": %s", c->fc_norm ? "true" : "false");
#undef PUT
}

static void put_stem(char *text, size_t size, const vt_blueprint *c)
{
    size_t n = 0;

    for (int k = 0; k < 2; k++) {
        n += (size_t)snprintf(text + n, size - n, "  \"%s\": [",
                              k ? "stem_widths" : "stem_layers");
        for (int i = 0; i < c->stages; i++)
            n += (size_t)snprintf(text + n, size - n, "%s%d", i ? ", " : "",
                                  k ? c->widths[i] : c->layers[i]);
        n += (size_t)snprintf(text + n, size - n, "],\n");
    }
}

vitcl_status vt_blueprint_config(char **out, const vt_blueprint *c,
                                 const vt_json *json, const vt_dataset *d,
                                 const char *path)
{
    vitcl_status st = VITCL_OK;
    char args[512], stem[160] = "";
    uint32_t h = (uint32_t)c->height, w = (uint32_t)c->width_px;
    vt_words words = {.architecture = c->architecture,
                      .pool = c->mean ? "avg" : "token",
                      .args = args,
                      .height = c->height,
                      .width = c->width_px,
                      .d = d,
                      .more = stem};

    put_args(args, sizeof args, c);
    if (vt_json_get(json, "stem_layers"))
        put_stem(stem, sizeof stem, c);
    if (vt_json_is_object(vt_json_get(json, "pretrained_cfg"))) {
        VT_TRY(vt_preprocess_timm(&words.how, json, h, w, path));
    } else {
        vt_preprocess_default(&words.how, h, w);
        words.how.fit = VT_FIT_SHORTEST;
        words.how.filter = VT_BICUBIC;
        /* small pictures are as they are; others lose their margin */
        words.crop_pct = VT_MIN(h, w) > 64 ? 0.9 : 1;
    }
    VT_TRY(vt_config_text_new(out, &words));
done:
    return st;
}
