/*
 * fresh.c - a model that nobody has trained: its tensors from a preset or a
 * config in timm's form, drawn as timm draws them.
 *
 *   dense layers          normal, deviation 0.02; biases 0
 *   patch embedding       uniform, 1 / sqrt(inputs), its bias too (PyTorch's)
 *   stem's convolutions   normal, sqrt(2 / outputs); the last norm of each
 *                         bottleneck 0, so that it starts as its shortcut
 *   positions             normal, 0.02; class token and registers 1e-6
 *   norms                 1 and 0
 *
 * A parameter's numbers are a function of the random state and its name.
 *
 * A hybrid's config may say "stem_layers" and "stem_widths" beside timm's
 * words ([2], [128]: one stage of two bottlenecks behind a stem of 64), which
 * timm has no word for; without them timm can load what was trained.
 */
#include "base/memory.h"
#include "train/parcel.h"
#include "train/random.h"

#include <math.h>
#include <string.h>

typedef struct plan_of {
    char architecture[96];
    int height, width_px, patch_h, patch_w;
    int width, depth, heads, registers;
    double mlp_ratio, init_values;
    bool class_token, qkv_bias, qk_norm, positions, no_embed_class;
    bool mean, fc_norm, hybrid;
    int stem_width, stages, layers[4], widths[4];
} plan_of;

typedef struct maker {
    const plan_of *c;
    vt_parcel *p;
    uint64_t random_state;
    uint32_t classes;
    vitcl_status st;
} maker;

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

static void name_defaults(plan_of *c)
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
static bool take(plan_of *c, const char *key, const vt_json *v)
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

static bool read_stem(plan_of *c, const vt_json *json)
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

/* Pixels a side that become one token. */
static int stride(const plan_of *c)
{
    int n = c->hybrid ? 4 : 1;

    for (int i = 1; i < c->stages; i++)
        n *= 2;
    return n;
}

static vitcl_status check(const plan_of *c, const char *path)
{
    const int h = c->patch_h * stride(c), w = c->patch_w * stride(c);

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

static vitcl_status read_config(plan_of *c, const vt_json *json,
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

static vitcl_status read_preset(plan_of *c, const char *preset)
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

/* ---- tensors ---- */

typedef enum { ZEROS, ONES, NORMAL, UNIFORM, TINY, VALUE } draw;

static void fill(float *x, size_t n, draw how, double scale, vt_random *r)
{
    for (size_t i = 0; i < n; i++)
        switch (how) {
        case ZEROS:
            return;
        case ONES:
            x[i] = 1;
            break;
        case NORMAL:
        case TINY:
            x[i] = (float)(scale * vt_random_normal(r));
            break;
        case UNIFORM:
            x[i] = (float)(scale * (2 * vt_random_uniform(r) - 1));
            break;
        case VALUE:
            x[i] = (float)scale;
        }
}

static void add(maker *m, const char *name, draw how, double scale, int rank,
                const int *dim)
{
    uint64_t shape[4], key = 0xcbf29ce484222325u;
    float *data;
    vt_random r;

    if (m->st != VITCL_OK)
        return;
    for (int i = 0; i < rank; i++)
        shape[i] = (uint64_t)dim[i];
    for (const char *s = name; *s; s++)
        key = (key ^ (unsigned char)*s) * 0x100000001b3u;
    r = vt_random_new(m->random_state, key, 0);
    m->st = vt_parcel_add(&data, m->p, name, (uint32_t)rank, shape);
    if (m->st == VITCL_OK)
        fill(data, m->p->tensor[m->p->count - 1].count, how, scale, &r);
}

static void add_norm(maker *m, const char *prefix, int width, bool zero)
{
    char name[112];

    snprintf(name, sizeof name, "%s.weight", prefix);
    add(m, name, zero ? ZEROS : ONES, 0, 1, &width);
    snprintf(name, sizeof name, "%s.bias", prefix);
    add(m, name, ZEROS, 0, 1, &width);
}

static void add_dense(maker *m, const char *prefix, int out, int in, bool bias)
{
    char name[112];

    snprintf(name, sizeof name, "%s.weight", prefix);
    add(m, name, NORMAL, 0.02, 2, (int[]){out, in});
    snprintf(name, sizeof name, "%s.bias", prefix);
    if (bias)
        add(m, name, ZEROS, 0, 1, &out);
}

static void add_conv(maker *m, const char *prefix, int out, int in, int side)
{
    char name[112];

    snprintf(name, sizeof name, "%s.weight", prefix);
    add(m, name, NORMAL, sqrt(2.0 / (out * side * side)), 4,
        (int[]){out, in, side, side});
}

static void add_stem(maker *m)
{
    const plan_of *c = m->c;
    static const char root[] = "patch_embed.backbone.";
    char part[80], name[96];
    int in = c->stem_width;

#define NAME(tail) (snprintf(name, sizeof name, "%s%s", part, tail), name)
    snprintf(part, sizeof part, "%s%s", root, c->stages ? "stem." : "");
    add_conv(m, NAME("conv"), c->stem_width, 3, 7);
    add_norm(m, NAME("norm"), c->stem_width, false);
    for (int s = 0; s < c->stages; s++)
        for (int b = 0; b < c->layers[s]; b++, in = c->widths[s]) {
            const int out = c->widths[s], middle = out / 4;

            snprintf(part, sizeof part, "%sstages.%d.blocks.%d.", root, s, b);
            if (b == 0) {
                add_conv(m, NAME("downsample.conv"), out, in, 1);
                add_norm(m, NAME("downsample.norm"), out, false);
            }
            add_conv(m, NAME("conv1"), middle, in, 1);
            add_norm(m, NAME("norm1"), middle, false);
            add_conv(m, NAME("conv2"), middle, middle, 3);
            add_norm(m, NAME("norm2"), middle, false);
            add_conv(m, NAME("conv3"), out, middle, 1);
            add_norm(m, NAME("norm3"), out, true);
        }
#undef NAME
}

static void add_embedding(maker *m)
{
    const plan_of *c = m->c;
    const int step = stride(c), prefix = c->class_token + c->registers;
    const int patches =
        c->height / (c->patch_h * step) * (c->width_px / (c->patch_w * step));
    const int rows = patches + (c->no_embed_class ? 0 : prefix);
    int in = c->hybrid ? c->stem_width : 3;
    double bound;

    if (c->class_token)
        add(m, "cls_token", TINY, 1e-6, 3, (int[]){1, 1, c->width});
    if (c->registers)
        add(m, "reg_token", TINY, 1e-6, 3, (int[]){1, c->registers, c->width});
    if (c->positions)
        add(m, "pos_embed", NORMAL, 0.02, 3, (int[]){1, rows, c->width});
    if (c->hybrid)
        add_stem(m);
    if (c->hybrid && c->stages)
        in = c->widths[c->stages - 1];
    bound = 1 / sqrt((double)in * c->patch_h * c->patch_w);
    add(m, "patch_embed.proj.weight", UNIFORM, bound, 4,
        (int[]){c->width, in, c->patch_h, c->patch_w});
    add(m, "patch_embed.proj.bias", UNIFORM, bound, 1, &c->width);
}

static void add_block(maker *m, int i)
{
    const plan_of *c = m->c;
    const int D = c->width, mlp = (int)(D * c->mlp_ratio);
    char name[96];

#define NAME(tail) (snprintf(name, sizeof name, "blocks.%d.%s", i, tail), name)
    add_norm(m, NAME("norm1"), D, false);
    add_dense(m, NAME("attn.qkv"), 3 * D, D, c->qkv_bias);
    if (c->qk_norm) {
        add_norm(m, NAME("attn.q_norm"), D / c->heads, false);
        add_norm(m, NAME("attn.k_norm"), D / c->heads, false);
    }
    add_dense(m, NAME("attn.proj"), D, D, true);
    if (c->init_values > 0)
        add(m, NAME("ls1.gamma"), VALUE, c->init_values, 1, &D);
    add_norm(m, NAME("norm2"), D, false);
    add_dense(m, NAME("mlp.fc1"), mlp, D, true);
    add_dense(m, NAME("mlp.fc2"), D, mlp, true);
    if (c->init_values > 0)
        add(m, NAME("ls2.gamma"), VALUE, c->init_values, 1, &D);
#undef NAME
}

static vitcl_status add_all(vt_parcel *p, const plan_of *c, uint32_t classes,
                            uint64_t random_state)
{
    maker m = {c, p, random_state, classes, VITCL_OK};

    add_embedding(&m);
    for (int i = 0; i < c->depth; i++)
        add_block(&m, i);
    add_norm(&m, c->fc_norm ? "fc_norm" : "norm", c->width, false);
    add_dense(&m, "head", (int)classes, c->width, true);
    return m.st;
}

/* ---- config.json ---- */

static void put_args(char *text, size_t size, const plan_of *c)
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

static void put_stem(char *text, size_t size, const plan_of *c)
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

static vitcl_status describe(char **out, const plan_of *c, const vt_json *json,
                             const vt_dataset *d, const char *path)
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

vitcl_status vt_parcel_fresh(vt_parcel *out, const char *preset,
                             const vt_json *json, const char *path,
                             uint32_t height, uint32_t width,
                             const vt_dataset *d, uint64_t random_state)
{
    vitcl_status st = VITCL_OK;
    plan_of c = {.architecture = ""};
    vt_parcel p = {0};

    VT_TRY(json ? read_config(&c, json, path) : read_preset(&c, preset));
    if (height && width && height <= 4096 && width <= 4096)
        c.height = (int)height, c.width_px = (int)width;
    VT_TRY(check(&c, json ? path : preset));
    VT_TRY(describe(&p.config, &c, json, d, path));
    VT_TRY(add_all(&p, &c, vt_dataset_classes(d), random_state));
    *out = p, p = (vt_parcel){0};
done:
    vt_parcel_free(&p);
    return st;
}
