/*
 * stdconv.c - BiT's ResNets: standardised convolutions, GroupNorm, stages.
 *
 * Easy to get wrong:
 *   - every convolution is standardised (zero mean, unit variance per filter);
 *     timm adds 1e-8 to the variance, Flax 1e-5 to the standard deviation
 *   - GroupNorm: 32 groups, eps 1e-5 in timm (Flax 1e-6)
 *   - stage 0 keeps the size, each later stage halves it in its first 3x3
 */
#include "models/stdconv.h"

#include "models/config.h"

#include <stdio.h>

static const float gn_eps = 1e-5f;

int vt_stdconv_same(int n, int kernel, int stride)
{
    const int pad = ((n + stride - 1) / stride - 1) * stride + kernel - n;

    return pad > 0 ? pad : 0;
}

vt_val vt_stdconv(vt_plan *p, vt_val x, int out, int kernel, int stride,
                  bool same, const char *prefix)
{
    const vt_plan_options *o = vt_plan_settings(p);
    const bool train = o->train || o->backward;
    const int sym = kernel / 2 * 2;
    const int y = same ? vt_stdconv_same(vt_dim(p, x, 2), kernel, stride) : sym;
    const int z = same ? vt_stdconv_same(vt_dim(p, x, 3), kernel, stride) : sym;
    char name[96];
    vt_val w;

    /* Standardised once on loading, except in training, which changes it. */
    snprintf(name, sizeof name, "%s.weight%s", prefix, train ? "" : "@std");
    w = vt_param(p, name, 4, (int[]){out, vt_dim(p, x, 1), kernel, kernel});
    if (train)
        w = vt_weight_standardise(p, w, 1e-8f);
    return vt_conv(p, x, w, stride, y / 2, z / 2, y - y / 2, z - z / 2);
}

vt_val vt_stdconv_norm(vt_plan *p, vt_val x, vt_val residual, bool relu,
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

/* ---- sizes ---- */

/* The number of filters, from a convolution or from its norm: if one is
 * missing, it is named later. */
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

static bool has_unit(const vt_weights *w, const char *root, int stage,
                     int block)
{
    return vt_weight_has(w, "%sstages.%d.blocks.%d.conv1.weight", root, stage,
                         block) ||
           vt_weight_has(w, "%sstages.%d.blocks.%d.conv2.weight", root, stage,
                         block);
}

vitcl_status vt_stdconv_read(vt_config *c, const vt_weights *w,
                             const char *root, const char *stem,
                             const char *path)
{
    char name[96];
    int unit;

    snprintf(name, sizeof name, "%s%s", root, stem);
    c->stem_width[0] = either(w, name, "conv", "norm");
    while (c->stem_stages < 4 && has_unit(w, root, c->stem_stages, 0)) {
        const int s = c->stem_stages++;

        while (c->stem_layers[s] < 100 &&
               has_unit(w, root, s, c->stem_layers[s]))
            c->stem_layers[s]++;
        snprintf(name, sizeof name, "%sstages.%d.blocks.0.", root, s);
        c->stem_width[s + 1] = either(w, name, "conv3", "downsample.conv");
    }
    snprintf(name, sizeof name, "%sstages.0.blocks.0.conv1.weight", root);
    c->stem_basic = vt_weight_dim(w, name, 2) == 3;
    unit = c->stem_basic ? 32 : 128;
    if (c->stem_width[0] < 32 || c->stem_width[0] % 32)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: the ResNet's first convolution is %d wide, not a "
                       "multiple of 32, which its groups need",
                       path, c->stem_width[0]);
    for (int s = 0; s < c->stem_stages; s++)
        if (c->stem_width[s + 1] < unit || c->stem_width[s + 1] % unit)
            return vt_fail(VITCL_EUNSUPPORTED,
                           "%s: stage %d of the ResNet is %d wide, not a "
                           "multiple of %d, which its 32 groups need",
                           path, s, c->stem_width[s + 1], unit);
    return VITCL_OK;
}

int vt_stdconv_stride(const vt_config *c)
{
    return c->stem_stages > 1 ? 4 << (c->stem_stages - 1) : 4;
}
