/*
 * arch_spec_config.c - write an architecture as a config.json, in timm's words
 * and, where timm has none, vitcl's own (arch_spec.c).
 */
#include "base/memory.h"
#include "base/number.h"
#include "train/arch_spec.h"

#include <stdio.h>
#include <string.h>

static size_t put_list(char *text, size_t size, const char *key, int n,
                       const int *of, int divisor)
{
    size_t at = (size_t)snprintf(text, size, "\"%s\": [", key);

    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%d", i ? ", " : "",
                               of[i] / divisor);
    return at + (size_t)snprintf(text + at, size - at, "]");
}

/* Only what the name does not imply: timm's constructors do not accept
 * "layers". */
static void put_resnet(char *text, size_t size, const vt_arch_spec *c)
{
    vt_arch_spec plain = {.architecture = ""};
    size_t n = 0;
    int wide;

    memcpy(plain.architecture, c->architecture, sizeof plain.architecture);
    vt_arch_spec_resnet(&plain);
    wide = plain.widths[0] / VT_STAGE_WIDTH;
    text[0] = 0;
    if (c->stages != plain.stages ||
        memcmp(c->layers, plain.layers, sizeof c->layers) != 0)
        n += put_list(text, size, "layers", c->stages, c->layers, 1);
    if (memcmp(c->widths, plain.widths,
               sizeof *c->widths * (size_t)c->stages) != 0) {
        n += (size_t)snprintf(text + n, size - n, "%s", n ? ", " : "");
        n += put_list(text + n, size - n, "channels", c->stages, c->widths,
                      wide);
    }
    if (c->stem_width != plain.stem_width)
        snprintf(text + n, size - n, "%s\"stem_chs\": %d", n ? ", " : "",
                 c->stem_width / wide);
}

static void put_positions(char *text, size_t size, const vt_arch_spec *c)
{
    static const char *const kinds[] = {"learn", "2d", "relative"};
    static const char *const positions[] = {"stem", "layer", "shared"};
    size_t n = 0;

    if (c->no_positions || c->positions != VT_POS_1D)
        n = (size_t)snprintf(text, size, ", \"pos_embed\": \"%s\"",
                             c->no_positions ? "none" : kinds[c->positions]);
    if (c->positions_at != VT_AT_STEM)
        snprintf(text + n, size - n, ", \"pos_injection\": \"%s\"",
                 positions[c->positions_at]);
}

static void put_args(char *text, size_t size, const vt_arch_spec *c)
{
    char positions[96] = "";
    size_t n = 0;

#define PUT(...) n += (size_t)vt_snprint(text + n, size - n, __VA_ARGS__)
    PUT("\"img_size\": [%d, %d], \"patch_size\": ", c->height, c->width_px);
    if (c->patch_h == c->patch_w)
        PUT("%d", c->patch_h);
    else
        PUT("[%d, %d]", c->patch_h, c->patch_w);
    PUT(", \"embed_dim\": %d, \"depth\": %d, \"num_heads\": %d, "
        "\"mlp_ratio\": %.17g",
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
    put_positions(positions, sizeof positions, c);
    PUT("%s", positions);
    if (c->axial)
        PUT(", \"attention\": \"axial\"");
    if (c->representation)
        PUT(", \"representation_size\": %d", c->representation);
    if (c->init_values > 0)
        PUT(", \"init_values\": %.9g", c->init_values);
    if (c->mean)
        PUT(", \"global_pool\": \"avg\"");
    if (c->fc_norm != c->mean)
        PUT(", \"fc_norm\": %s", c->fc_norm ? "true" : "false");
#undef PUT
}

static void put_stem(char *text, size_t size, const vt_arch_spec *c)
{
    size_t n = (size_t)snprintf(text, size, "  ");

    n += put_list(text + n, size - n, "stem_layers", c->stages, c->layers, 1);
    if (c->basic)
        n += (size_t)snprintf(text + n, size - n,
                              ",\n  \"stem_block\": \"basic\"");
    n += (size_t)snprintf(text + n, size - n, ",\n  ");
    n += put_list(text + n, size - n, "stem_widths", c->stages, c->widths, 1);
    snprintf(text + n, size - n, ",\n");
}

/* timm has names for few sizes of patches. For another one this is the name of
 * a model that it has, because the size is among model_args. */
static const char *timm_name(char out[96], const vt_arch_spec *c)
{
    static const struct {
        const char *size, *patches;
        int other;
    } known[] = {{"tiny", " 16 ", 16},
                 {"small", " 8 16 32 ", 16},
                 {"base", " 8 16 32 ", 16},
                 {"large", " 14 16 32 ", 16},
                 {"huge", " 14 ", 14}};
    char size[8], rest[8], word[16];
    int patch;

    if (sscanf(c->architecture, "vit_%7[a-z]_patch%3d%7s", size, &patch,
               rest) != 3 ||
        strcmp(rest, "_224") != 0)
        return c->architecture;
    snprintf(word, sizeof word, " %d ", patch);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(size, known[i].size) == 0 &&
            !strstr(known[i].patches, word)) {
            snprintf(out, 96, "vit_%s_patch%d_224", size, known[i].other);
            return out;
        }
    return c->architecture;
}

vitcl_status vt_arch_spec_config(char **out, const vt_arch_spec *c,
                                 const vt_json *json, const vt_dataset *d,
                                 const char *path)
{
    vitcl_status st = VITCL_OK;
    char args[512], stem[192] = "", name[96];
    uint32_t h = (uint32_t)c->height, w = (uint32_t)c->width_px;
    vt_timm_config words = {.architecture = timm_name(name, c),
                            .pool = c->mean ? "avg" : "token",
                            .args = args,
                            .height = c->height,
                            .width = c->width_px,
                            .more = stem};

    if (c->resnet) {
        put_resnet(args, sizeof args, c);
        words.first_conv = "stem.conv", words.classifier = "\"head.fc\"";
    } else {
        put_args(args, sizeof args, c);
    }
    if (c->hybrid && vt_json_get(json, "stem_layers"))
        put_stem(stem, sizeof stem, c);
    if (vt_json_is_object(vt_json_get(json, "pretrained_cfg"))) {
        VT_TRY(vt_preprocess_timm(&words.how, json, h, w, path));
    } else {
        vt_preprocess_default(&words.how, h, w);
        words.how.fit = VT_FIT_SHORTEST;
        words.how.filter = VT_BICUBIC;
        /* small pictures are used whole; others are cropped */
        words.crop_pct = VT_MIN(h, w) > 64 ? 0.9 : 1;
    }
    VT_TRY(vt_model_files_config(out, &words, d));
done:
    return st;
}
