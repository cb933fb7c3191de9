/*
 * arch_spec_config.c - write an architecture as a config.json, in timm's words
 * and, where timm has none, vitcl's own (arch_spec.c).
 */
#include "base/json_print.h"
#include "base/memory.h"
#include "base/text.h"
#include "train/arch_spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_list(vt_json_writer *w, const char *key, int n, const int *of,
                     int divisor)
{
    vt_json_put(w, "%s:[", key);
    for (int i = 0; i < n; i++)
        vt_json_put(w, "%d", of[i] / divisor);
    vt_json_put(w, "]");
}

/* Only what the name does not imply: timm's constructors do not accept
 * "layers". */
static void put_resnet(vt_json_writer *w, const vt_arch_spec *c)
{
    vt_arch_spec plain = {.architecture = ""};
    int wide;

    memcpy(plain.architecture, c->architecture, sizeof plain.architecture);
    vt_arch_spec_resnet(&plain);
    wide = plain.widths[0] / VT_STAGE_WIDTH;
    if (c->stages != plain.stages ||
        memcmp(c->layers, plain.layers, sizeof c->layers) != 0)
        put_list(w, "layers", c->stages, c->layers, 1);
    if (memcmp(c->widths, plain.widths,
               sizeof *c->widths * (size_t)c->stages) != 0)
        put_list(w, "channels", c->stages, c->widths, wide);
    if (c->stem_width != plain.stem_width)
        vt_json_put(w, "stem_chs:%d", c->stem_width / wide);
}

static void put_args(vt_json_writer *w, const vt_arch_spec *c)
{
    static const char *const kinds[] = {"learn", "2d", "relative"};
    static const char *const places[] = {"stem", "layer", "shared"};

    vt_json_put(w, "img_size:[%d %d]", c->height, c->width_px);
    if (c->patch_h == c->patch_w)
        vt_json_put(w, "patch_size:%d", c->patch_h);
    else
        vt_json_put(w, "patch_size:[%d %d]", c->patch_h, c->patch_w);
    vt_json_put(w, "embed_dim:%d depth:%d num_heads:%d mlp_ratio:%.17g",
                c->width, c->depth, c->heads, c->mlp_ratio);
    if (!c->class_token)
        vt_json_put(w, "class_token:false");
    if (c->registers)
        vt_json_put(w, "reg_tokens:%d", c->registers);
    if (c->no_embed_class)
        vt_json_put(w, "no_embed_class:true");
    if (!c->qkv_bias)
        vt_json_put(w, "qkv_bias:false");
    if (c->qk_norm)
        vt_json_put(w, "qk_norm:true");
    if (c->no_positions || c->positions != VT_POS_1D)
        vt_json_put(w, "pos_embed:%s",
                    c->no_positions ? "none" : kinds[c->positions]);
    if (c->positions_at != VT_AT_STEM)
        vt_json_put(w, "pos_injection:%s", places[c->positions_at]);
    if (c->axial)
        vt_json_put(w, "attention:'axial'");
    if (c->block[0])
        vt_json_put(w, "block:%s", c->block);
    if (c->representation)
        vt_json_put(w, "representation_size:%d", c->representation);
    if (c->init_values > 0)
        vt_json_put(w, "init_values:%.9g", c->init_values);
    if (c->mean)
        vt_json_put(w, "global_pool:'avg'");
    if (c->fc_norm != c->mean)
        vt_json_put(w, "fc_norm:%i", c->fc_norm);
}

static void put_stem(vt_json_writer *w, const vt_arch_spec *c)
{
    vt_json_put(w, "\n  ");
    put_list(w, "stem_layers", c->stages, c->layers, 1);
    if (c->basic)
        vt_json_put(w, "\n  stem_block:'basic'");
    vt_json_put(w, "\n  ");
    put_list(w, "stem_widths", c->stages, c->widths, 1);
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

static vitcl_status text_of(char **out,
                            void (*put)(vt_json_writer *, const vt_arch_spec *),
                            const vt_arch_spec *c)
{
    vt_json_writer w = {.spaced = true, .depth = 1};
    vt_text text;

    VT_RET(vt_text_open(&text));
    w.f = text.f;
    put(&w, c);
    return vt_text_take(out, &text);
}

vitcl_status vt_arch_spec_config(char **out, const vt_arch_spec *c,
                                 const vt_json *json, const vt_dataset *d,
                                 const char *path)
{
    vitcl_status st = VITCL_OK;
    char *args = NULL, *stem = NULL, name[96];
    uint32_t h = (uint32_t)c->height, w = (uint32_t)c->width_px;
    vt_timm_config words = {.architecture = timm_name(name, c),
                            .pool = c->mean ? "avg" : "token",
                            .height = c->height,
                            .width = c->width_px};

    VT_TRY(text_of(&args, c->resnet ? put_resnet : put_args, c));
    if (c->resnet)
        words.first_conv = "stem.conv", words.classifier = "\"head.fc\"";
    if (c->hybrid && vt_json_get(json, "stem_layers"))
        VT_TRY(text_of(&stem, put_stem, c));
    words.args = args, words.more = stem;
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
    free(args);
    free(stem);
    return st;
}
