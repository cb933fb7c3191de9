/*
 * resnetd.c - a ResNet-D stem (He et al. 2018, arXiv:1812.01187) before a ViT:
 * timm's vit_*_resnet26d_* and vit_*_resnet50d_*.
 *
 *   3x3 stride 2 -> 3x3 -> 3x3, each with relu -> 3x3 max pool stride 2
 *   -> stages of bottlenecks:
 *        relu(shortcut + 1x1(relu(3x3(relu(1x1(x))))))
 *        shortcut: 1x1(mean of 2x2(x)) in a stage's first block, else x
 *   -> 1x1 patches
 *
 * Every convolution is followed by a BatchNorm, which is folded into it, so a
 * convolution here has a bias (batchnorm.c).
 *
 * Easy to get wrong:
 *   - padding is PyTorch's, one pixel on each side of a 3x3
 *   - stage 0 keeps the size, and its shortcut is not pooled; each later stage
 *     halves it in its first 3x3
 *   - if a side is odd, the last 2x2 is the mean of the pixels inside
 *   - the relu of a block's last convolution comes after the sum
 *   - the first two convolutions are half as wide as the third
 */
#include "models/config.h"
#include "models/family.h"
#include "models/fields.h"
#include "models/stdconv.h"
#include "models/vit.h"

#include <stdio.h>

#define STEM "patch_embed.backbone."

static bool match(const vt_json *config, const vt_weights *w)
{
    return vt_config_timm(config)[0] &&
           (vt_weight_has(w, STEM "conv1.0.weight") ||
            vt_weight_has(w, STEM "conv1.3.weight") ||
            vt_weight_has(w, STEM "conv1.6.weight"));
}

/* ---- sizes ---- */

/* The number of filters, from a convolution or from its norm: if one is
 * missing, it is named later. */
static int filters(const vt_weights *w, const char *conv, const char *norm)
{
    const int n = vt_weight_dim(w, conv, 0);

    return n ? n : vt_weight_dim(w, norm, 0);
}

static bool has_block(const vt_weights *w, int stage, int block)
{
    return vt_weight_has(w, STEM "layer%d.%d.conv1.weight", stage + 1, block) ||
           vt_weight_has(w, STEM "layer%d.%d.conv2.weight", stage + 1, block);
}

static vitcl_status read_stem(vt_config *c, const vt_weights *w,
                              const char *path)
{
    char conv[96], norm[96];

    c->stem_width[0] = filters(w, STEM "conv1.6.weight", STEM "bn1.weight");
    while (c->stem_stages < 4 && has_block(w, c->stem_stages, 0)) {
        const int s = c->stem_stages++;

        while (c->stem_layers[s] < 100 && has_block(w, s, c->stem_layers[s]))
            c->stem_layers[s]++;
        snprintf(conv, sizeof conv, STEM "layer%d.0.conv3.weight", s + 1);
        snprintf(norm, sizeof norm, STEM "layer%d.0.bn3.weight", s + 1);
        c->stem_width[s + 1] = filters(w, conv, norm);
    }
    if (!c->stem_stages)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: " STEM "layer1.0.conv1.weight is missing (the file "
                       "looks like a ResNet-D hybrid)",
                       path);
    for (int s = 0; s <= c->stem_stages; s++) {
        const int n = c->stem_width[s], unit = s ? 4 : 2;

        if (n < unit || n % unit || n > VT_MOST_WIDTH)
            return vt_fail(VITCL_ECORRUPT,
                           "%s: the ResNet-D stem is %d wide %s%d; its width "
                           "must be a multiple of %d",
                           path, n, s ? "in layer" : "in conv1.", s ? s : 6,
                           unit);
    }
    return VITCL_OK;
}

static vitcl_status configure(vt_config *c, const vt_json *config,
                              const vt_weights *w, const char *path)
{
    const int kernel = vt_weight_dim(w, "patch_embed.proj.weight", -1);

    VT_RET(read_stem(c, w, path));
    if (kernel < 1 || kernel > 64)
        VT_RET(vt_fail(VITCL_ECORRUPT,
                       "%s: patch_embed.proj.weight has an unusable shape",
                       path));
    c->patch_h = c->patch_w = kernel * vt_stdconv_stride(c);
    c->folded = true;
    return vt_configure_timm(c, config, w, path);
}

/* ---- the plan ---- */

/* A convolution with its norm folded in: conv(x) + b (+ residual), then relu if
 * asked for. */
static vt_val conv(vt_plan *p, vt_val x, int out, int kernel, int stride,
                   vt_val residual, bool relu, const char *prefix)
{
    const int pad = kernel / 2;
    char name[96];
    vt_val w, b;

    snprintf(name, sizeof name, "%s.weight@bn", prefix);
    w = vt_param(p, name, 4, (int[]){out, vt_dim(p, x, 1), kernel, kernel});
    snprintf(name, sizeof name, "%s.bias@bn", prefix);
    b = vt_param(p, name, 1, &out);
    return vt_add_channels(p, vt_conv(p, x, w, stride, pad, pad, pad, pad), b,
                           residual, relu);
}

static vt_val block(vt_plan *p, const vt_config *c, vt_val x, int s, int b)
{
    const int out = c->stem_width[s + 1], middle = out / 4;
    const int stride = s && !b ? 2 : 1;
    vt_val h, shortcut = x;
    char name[96];

#define NAME(tail)                                                             \
    (snprintf(name, sizeof name, STEM "layer%d.%d." tail, s + 1, b), name)
    if (b == 0) {
        if (stride > 1)
            shortcut = vt_avgpool(p, x, stride);
        shortcut =
            conv(p, shortcut, out, 1, 1, VT_NONE, false, NAME("downsample.1"));
    }
    h = conv(p, x, middle, 1, 1, VT_NONE, true, NAME("conv1"));
    h = conv(p, h, middle, 3, stride, VT_NONE, true, NAME("conv2"));
    return conv(p, h, out, 1, 1, shortcut, true, NAME("conv3"));
#undef NAME
}

static vt_val stem(vt_plan *p, const vt_config *c, vt_val x)
{
    const int width = c->stem_width[0];

    x = conv(p, x, width / 2, 3, 2, VT_NONE, true, STEM "conv1.0");
    x = conv(p, x, width / 2, 3, 1, VT_NONE, true, STEM "conv1.3");
    x = conv(p, x, width, 3, 1, VT_NONE, true, STEM "conv1.6");
    x = vt_maxpool(p, x, 3, 2, 1, 1, 1, 1);
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

static const vt_mark marks[] = {
    {"vit_small_resnet", VT_SAYS_HEADS, 8, NULL},
    {NULL, 0, 0, NULL},
};

const vt_family vt_family_resnetd = {
    .name = "resnetd",
    .looks = "ResNet-D hybrid",
    .args = &vt_timm_vit,
    .marks = marks,
    .match = match,
    .configure = configure,
    .build = build,
};
