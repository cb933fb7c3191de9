/*
 * hybrid.c - a ResNetV2 stem (BiT, Kolesnikov et al. 2020, arXiv:1912.11370)
 * before a ViT: the paper's R50+ViT-B/16 and the R+Ti/16, R26, R50 variants of
 * timm and Google's .npz files.
 *
 *   7x7 stride 2 -> GroupNorm, relu -> 3x3 max pool stride 2
 *   -> stages of bottlenecks: relu(shortcut + GN(1x1(GNr(3x3(GNr(1x1(x)))))))
 *      or basic blocks:       relu(shortcut + GN(3x3(GNr(3x3(x)))))
 *   -> 1x1 patches (8x8 on a stem without stages)
 *
 * Basic blocks (He et al. 2015, arXiv:1512.03385) are for small models; timm
 * has only bottlenecks.
 *
 * Easy to get wrong:
 *   - "SAME" padding depends on the size and has the odd pixel at the end; the
 *     pool is padded with -inf
 *   - the activation comes after the sum, although the network is called V2
 *   - see also stdconv.c
 */
#include "models/config.h"
#include "models/family.h"
#include "models/fields.h"
#include "models/stdconv.h"
#include "models/vit.h"
#include "weights/dialect_rows.h"

#include <stdio.h>

#define STEM "patch_embed.backbone."

static bool match(const vt_json *config, const vt_weights *w)
{
    return (!config || vt_config_timm(config)[0]) &&
           (vt_weight_has(w, STEM "norm.weight") ||
            vt_weight_has(w, STEM "stem.norm.weight") ||
            vt_weight_has(w, STEM "conv.weight") ||
            vt_weight_has(w, STEM "stem.conv.weight"));
}

static vitcl_status configure(vt_config *c, const vt_json *config,
                              const vt_weights *w, const char *path)
{
    const bool npz = !config;
    const int kernel = vt_weight_dim(w, "patch_embed.proj.weight", -1);

    c->stem_only = vt_weight_has(w, STEM "conv.weight") ||
                   vt_weight_has(w, STEM "norm.weight");
    VT_RET(vt_stdconv_read(c, w, STEM, c->stem_only ? "" : "stem.", path));
    if (kernel < 1 || kernel > 64)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: the ResNet stem has an unusable size", path);
    c->patch_h = c->patch_w = kernel * vt_stdconv_stride(c);
    /* in a .npz file a stem without stages has the same names as others */
    if (npz)
        VT_RET(vt_configure_npz(c, w, path));
    else
        VT_RET(vt_configure_timm(c, config, w, path));
    return VITCL_OK;
}

static vt_val block(vt_plan *p, const vt_config *c, vt_val x, int s, int b)
{
    const int out = c->stem_width[s + 1], middle = out / 4;
    const int stride = s && !b ? 2 : 1;
    vt_val h = x, shortcut = x;
    char name[96], part[80];

    snprintf(part, sizeof part, STEM "stages.%d.blocks.%d", s, b);
#define NAME(tail) (snprintf(name, sizeof name, "%s." tail, part), name)
    if (b == 0) {
        shortcut =
            vt_stdconv(p, x, out, 1, stride, true, NAME("downsample.conv"));
        shortcut = vt_stdconv_norm(p, shortcut, VT_NONE, false,
                                   NAME("downsample.norm"));
    }
    if (c->stem_basic) {
        h = vt_stdconv(p, h, out, 3, stride, true, NAME("conv1"));
        h = vt_stdconv_norm(p, h, VT_NONE, true, NAME("norm1"));
        h = vt_stdconv(p, h, out, 3, 1, true, NAME("conv2"));
        return vt_stdconv_norm(p, h, shortcut, true, NAME("norm2"));
    }
    h = vt_stdconv(p, h, middle, 1, 1, true, NAME("conv1"));
    h = vt_stdconv_norm(p, h, VT_NONE, true, NAME("norm1"));
    h = vt_stdconv(p, h, middle, 3, stride, true, NAME("conv2"));
    h = vt_stdconv_norm(p, h, VT_NONE, true, NAME("norm2"));
    h = vt_stdconv(p, h, out, 1, 1, true, NAME("conv3"));
    return vt_stdconv_norm(p, h, shortcut, true, NAME("norm3"));
#undef NAME
}

static vt_val stem(vt_plan *p, const vt_config *c, vt_val x)
{
    const char *root = c->stem_only ? STEM "conv" : STEM "stem.conv";
    int y, z;

    x = vt_stdconv(p, x, c->stem_width[0], 7, 2, true, root);
    x = vt_stdconv_norm(p, x, VT_NONE, true,
                        c->stem_only ? STEM "norm" : STEM "stem.norm");
    y = vt_stdconv_same(vt_dim(p, x, 2), 3, 2);
    z = vt_stdconv_same(vt_dim(p, x, 3), 3, 2);
    x = vt_maxpool(p, x, 3, 2, y / 2, z / 2, y - y / 2, z - z / 2);
    for (int s = 0; s < c->stem_stages; s++)
        for (int b = 0; b < c->stem_layers[s]; b++)
            x = block(p, c, x, s, b);
    return x;
}

static void build(vt_plan *p, const vt_model *m, vt_val pixels,
                  const vt_build_options *o, vt_outputs *out)
{
    const vt_config *c = vt_model_config(m);

    vt_vit_behind(p, m, stem(p, c, pixels), c->patch_h / vt_stdconv_stride(c),
                  pixels, o, out);
}

/* vit_hybrid */
#define BIT "embeddings.patch_embeddings.backbone.bit."
#define STAGE BIT "encoder.stages.#.layers.#."
#define BLOCK BACKBONE "stages.#.blocks.#."
static const vt_row names[] = {
    AS(BIT "embedder.convolution.weight", BACKBONE "stem.conv.weight"),
    AS(BIT "embedder.norm.%", BACKBONE "stem.norm.%"),
    AS(STAGE "conv1.weight", BLOCK "conv1.weight"),
    AS(STAGE "conv2.weight", BLOCK "conv2.weight"),
    AS(STAGE "conv3.weight", BLOCK "conv3.weight"),
    AS(STAGE "norm1.%", BLOCK "norm1.%"),
    AS(STAGE "norm2.%", BLOCK "norm2.%"),
    AS(STAGE "norm3.%", BLOCK "norm3.%"),
    AS(STAGE "downsample.conv.weight", BLOCK "downsample.conv.weight"),
    AS(STAGE "downsample.norm.%", BLOCK "downsample.norm.%"),
    END_ROWS,
};

static const vt_writing *writing(const vt_config *c)
{
    static const vt_writing tiny = {.timm = "vit_tiny_r_s16_p8_224"},
                            small = {.timm = "vit_small_r26_s32_224"},
                            base = {.timm = "vit_base_r50_s16_224"},
                            large = {.timm = "vit_large_r50_s32_224"};

    return !c->stem_width[0]                               ? NULL
           : c->stem_only                                  ? &tiny
           : c->stem_stages == 3                           ? &base
           : c->stem_stages == 4 && c->stem_layers[2] == 6 ? &large
                                                           : &small;
}

const vt_family vt_family_hybrid = {
    .processors = {{"ViTHybrid", VT_CLIP_PIXELS}},
    .names.rows = {[VT_NAMES_HF] = ROWS(names)},
    .writing = writing,
    .name = "hybrid",
    .looks = "ResNet hybrid",
    .args = &vt_timm_vit,
    .match = match,
    .configure = configure,
    .build = build,
};
