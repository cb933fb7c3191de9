/*
 * hybrid.c - a ResNetV2 stem (BiT, Kolesnikov et al. 2020, arXiv:1912.11370)
 * before a ViT: the paper's R50+ViT-B/16 and the R+Ti/16, R26, R50 forms of
 * timm and of Google's .npz files.
 *
 *   7x7 stride 2 -> GroupNorm, relu -> 3x3 max pool stride 2
 *   -> stages of bottlenecks: relu(shortcut + GN(1x1(GNr(3x3(GNr(1x1(x)))))))
 *   -> 1x1 patches (8x8 on the bare stem)
 *
 * Easy to get wrong:
 *   - every convolution is standardised (zero mean, unit variance a filter);
 *     timm adds 1e-8 to the variance, Flax 1e-5 to the deviation
 *   - "SAME" padding depends on the size and has the odd pixel at the end; the
 *     pool's padding never wins (-inf)
 *   - activation comes after the sum, though the net is called V2
 *   - stage 0 keeps its size, each later one halves it in its first 3x3
 *   - GroupNorm: 32 groups, eps 1e-5 in timm (Flax 1e-6)
 */
#include "models/config.h"
#include "models/vit.h"

#include <stdio.h>
#include <string.h>

#define STEM "patch_embed.backbone."
static const float gn_eps = 1e-5f;

bool vt_hybrid_match(const vt_json *config, const vt_weights *w)
{
    return (!config || vt_config_timm(config)[0]) &&
           (vt_weight_has(w, STEM "norm.weight") ||
            vt_weight_has(w, STEM "stem.norm.weight") ||
            vt_weight_has(w, STEM "conv.weight") ||
            vt_weight_has(w, STEM "stem.conv.weight"));
}

/* The filters of a convolution, from it or from the norm behind it: the one
 * that is missing is told by its name later. */
static int either(const vt_weights *w, const char *prefix, const char *conv,
                  const char *norm)
{
    char name[160];
    int n;

    snprintf(name, sizeof name, "%.100s%.20s.weight", prefix, conv);
    n = vt_weight_dim(w, name, 0);
    snprintf(name, sizeof name, "%.100s%.20s.weight", prefix, norm);
    return n ? n : vt_weight_dim(w, name, 0);
}

static bool has_unit(const vt_weights *w, int stage, int block)
{
    return vt_weight_has(w, STEM "stages.%d.blocks.%d.conv1.weight", stage,
                         block) ||
           vt_weight_has(w, STEM "stages.%d.blocks.%d.conv2.weight", stage,
                         block);
}

vitcl_status vt_hybrid_configure(vt_config *c, const vt_json *config,
                                 const vt_weights *w, const char *path)
{
    vitcl_status st = VITCL_OK;
    const bool npz = !config;
    const int kernel = vt_weight_dim(w, "patch_embed.proj.weight", -1);
    char name[96];
    int stride = 4;

    c->stem_only = vt_weight_has(w, STEM "conv.weight") ||
                   vt_weight_has(w, STEM "norm.weight");
    c->stem_width[0] =
        either(w, c->stem_only ? STEM : STEM "stem.", "conv", "norm");
    while (c->stem_stages < 4 && has_unit(w, c->stem_stages, 0)) {
        const int s = c->stem_stages++;
        if (s)
            stride *= 2;
        while (c->stem_layers[s] < 100 && has_unit(w, s, c->stem_layers[s]))
            c->stem_layers[s]++;
        snprintf(name, sizeof name, STEM "stages.%d.blocks.0.", s);
        c->stem_width[s + 1] = either(w, name, "conv3", "norm3");
    }
    if (kernel < 1 || kernel > 64 || c->stem_width[0] < 32 ||
        c->stem_width[0] % 32)
        VT_TRY(vt_fail(VITCL_ECORRUPT, "%s: the ResNet stem has no useful size",
                       path));
    for (int s = 0; s < c->stem_stages; s++)
        if (c->stem_width[s + 1] < 128 || c->stem_width[s + 1] % 128)
            VT_TRY(vt_fail(VITCL_ECORRUPT,
                           "%s: stage %d of the ResNet stem is %d wide, no "
                           "multiple of 128",
                           path, s, c->stem_width[s + 1]));
    c->patch_h = c->patch_w = kernel * stride;
    /* a .npz stem without stages looks like the others */
    if (npz)
        VT_TRY(vt_configure_npz(c, w, path));
    else
        VT_TRY(vt_configure_timm(c, config, w, path));
done:
    return st;
}

/* TensorFlow's SAME: as many outputs as n / stride, rounded up. */
static int same(int n, int kernel, int stride)
{
    const int pad = ((n + stride - 1) / stride - 1) * stride + kernel - n;

    return pad > 0 ? pad : 0;
}

static vt_val conv(vt_plan *p, vt_val x, int out, int kernel, int stride,
                   const char *prefix)
{
    const vt_plan_options *o = vt_plan_settings(p);
    const bool train = o->train || o->backward;
    const int y = same(vt_dim(p, x, 2), kernel, stride),
              z = same(vt_dim(p, x, 3), kernel, stride);
    char name[96];
    vt_val w;

    /* Standardised once at load, unless training changes it. */
    snprintf(name, sizeof name, "%s.weight%s", prefix, train ? "" : "@std");
    w = vt_param(p, name, 4, (int[]){out, vt_dim(p, x, 1), kernel, kernel});
    if (train)
        w = vt_standardise(p, w, 1e-8f, false);
    return vt_conv(p, x, w, VT_NONE, stride, y / 2, z / 2, y - y / 2,
                   z - z / 2);
}

static vt_val groupnorm(vt_plan *p, vt_val x, vt_val residual, bool relu,
                        const char *prefix)
{
    const int width = vt_dim(p, x, 1);
    char name[2][96];

    snprintf(name[0], sizeof name[0], "%s.weight", prefix);
    snprintf(name[1], sizeof name[1], "%s.bias", prefix);
    return vt_groupnorm(p, x, vt_param(p, name[0], 1, &width),
                        vt_param(p, name[1], 1, &width), 32, gn_eps, residual,
                        relu);
}

static vt_val bottleneck(vt_plan *p, vt_val x, int out, int stride, bool first,
                         int s, int b)
{
    const int middle = out / 4;
    vt_val h = x, shortcut = x;
    char name[96], part[80];

    snprintf(part, sizeof part, STEM "stages.%d.blocks.%d", s, b);
#define NAME(tail) (snprintf(name, sizeof name, "%s." tail, part), name)
    if (first) {
        shortcut = conv(p, x, out, 1, stride, NAME("downsample.conv"));
        shortcut =
            groupnorm(p, shortcut, VT_NONE, false, NAME("downsample.norm"));
    }
    h = conv(p, h, middle, 1, 1, NAME("conv1"));
    h = groupnorm(p, h, VT_NONE, true, NAME("norm1"));
    h = conv(p, h, middle, 3, stride, NAME("conv2"));
    h = groupnorm(p, h, VT_NONE, true, NAME("norm2"));
    h = conv(p, h, out, 1, 1, NAME("conv3"));
    return groupnorm(p, h, shortcut, true, NAME("norm3"));
#undef NAME
}

static vt_val stem(vt_plan *p, const vt_config *c, vt_val x)
{
    const char *root = c->stem_only ? STEM "conv" : STEM "stem.conv";
    int y, z;

    x = conv(p, x, c->stem_width[0], 7, 2, root);
    x = groupnorm(p, x, VT_NONE, true,
                  c->stem_only ? STEM "norm" : STEM "stem.norm");
    y = same(vt_dim(p, x, 2), 3, 2);
    z = same(vt_dim(p, x, 3), 3, 2);
    x = vt_maxpool(p, x, 3, 2, y / 2, z / 2, y - y / 2, z - z / 2);
    for (int s = 0; s < c->stem_stages; s++)
        for (int b = 0; b < c->stem_layers[s]; b++)
            x = bottleneck(p, x, c->stem_width[s + 1], s && !b ? 2 : 1, b == 0,
                           s, b);
    return x;
}

void vt_hybrid_build(vt_plan *p, vt_model *m, vt_val pixels, vt_outputs *out)
{
    const vt_config *c = vt_model_config(m);
    vt_val x = stem(p, c, pixels);
    int kernel = c->patch_h / 4;

    for (int s = 1; s < c->stem_stages; s++)
        kernel /= 2;
    x = kernel == 1 ? vt_to_tokens(p, x) : vt_patch(p, x, kernel, kernel);
    x = vt_dense(p, x, "patch_embed.proj", c->width, c->patch_bias, VT_ACT_NONE,
                 VT_NONE, VT_NONE);
    x = vt_vit_embed(p, m, x, vt_dim(p, pixels, 2) / c->patch_h,
                     vt_dim(p, pixels, 3) / c->patch_w);
    x = vt_vit_blocks(p, c, x, VT_NO_EXTRA);
    vt_vit_head(p, m, x, out);
}
