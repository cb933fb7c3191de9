/*
 * resnet.c - the paper's baseline: a ResNet with GroupNorm and standardised
 * convolutions (BiT, Kolesnikov et al. 2020, arXiv:1912.11370); timm's
 * resnetv2_50x1_bit and similar models.
 *
 *   7x7 stride 2 -> 3x3 max pool stride 2
 *   -> stages of blocks:
 *        h = relu(GN(x)); x = shortcut + 1x1(GNr(3x3(GNr(1x1(h)))))
 *   -> relu(GN(x)) -> mean over the picture -> linear head
 *
 * Easy to get wrong:
 *   - the norm comes before each convolution, unlike in the hybrids' stems:
 *     there is none after the 7x7 or after the sum
 *   - the shortcut of a stage's first block is a 1x1 of h, not of x
 *   - padding is PyTorch's; the pool is padded with zeros, which are greater
 *     than negative values
 *   - the head is a 1x1 convolution, head.fc.weight[K,C,1,1]
 *   - see also stdconv.c
 */
#include "models/config.h"
#include "models/family.h"
#include "models/fields.h"
#include "models/stdconv.h"
#include "models/vit.h"

#include <stdio.h>
#include <string.h>

static vitcl_status configure(vt_config *c, const vt_json *config,
                              const vt_weights *w, const char *path)
{
    const vt_json *cfg = vt_json_get(config, "pretrained_cfg");
    const char *bad = NULL;

    if (!vt_config_pair(&c->height, &c->width_px, cfg, "input_size", &bad))
        c->height = c->width_px = 224;
    if (bad)
        return vt_bad_number(path, bad);
    /* timm writes 0 classes for a model without a head */
    vt_config_number(&c->classes, config, "num_classes", INT32_MAX, &bad);
    if (!c->classes)
        c->classes = vt_weight_dim(w, "head.fc.weight", 0);
    VT_RET(vt_stdconv_read(c, w, "", "stem.", path));
    if (!c->stem_stages)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: stages.0.blocks.0.conv1.weight is missing (the "
                       "file looks like a BiT ResNet)",
                       path);
    c->width = c->stem_width[c->stem_stages];
    for (int s = 0; s < c->stem_stages; s++)
        c->depth += c->stem_layers[s];
    c->patch_h = c->patch_w = vt_stdconv_stride(c);
    c->head_bias = true;
    c->pool = VT_POOL_MEAN;
    return VITCL_OK;
}

/* Without dropout, which comes only before the head, as in timm: the paper has
 * none in its ResNets. */
static vt_val block(vt_plan *p, const vt_config *c, vt_val x, int s, int b,
                    int number, const vt_build_options *o)
{
    const int out = c->stem_width[s + 1], middle = out / 4;
    const int stride = s && !b ? 2 : 1;
    char name[96];
    vt_val h;

#define NAME(tail)                                                             \
    (snprintf(name, sizeof name, "stages.%d.blocks.%d." tail, s, b), name)
    h = vt_stdconv_norm(p, x, VT_NONE, true, NAME("norm1"));
    if (b == 0)
        x = vt_stdconv(p, h, out, 1, stride, false, NAME("downsample.conv"));
    h = vt_stdconv(p, h, middle, 1, 1, false, NAME("conv1"));
    h = vt_stdconv_norm(p, h, VT_NONE, true, NAME("norm2"));
    h = vt_stdconv(p, h, middle, 3, stride, false, NAME("conv2"));
    h = vt_stdconv_norm(p, h, VT_NONE, true, NAME("norm3"));
    h = vt_stdconv(p, h, out, 1, 1, false, NAME("conv3"));
#undef NAME
    return vt_add(p, vt_vit_drop_path(p, c, number, h, o), x);
}

static void build(vt_plan *p, const vt_model *m, vt_val pixels,
                  const vt_build_options *o, vt_outputs *out)
{
    const vt_config *c = vt_model_config(m);
    int number = 0;
    vt_val x;

    x = vt_stdconv(p, pixels, c->stem_width[0], 7, 2, false, "stem.conv");
    x = vt_maxpool(p, vt_pad(p, x, 1, 1, 1, 1), 3, 2, 0, 0, 0, 0);
    for (int s = 0; s < c->stem_stages; s++) {
        for (int b = 0; b < c->stem_layers[s]; b++)
            x = block(p, c, x, s, b, number++, o);
        vt_name(p, x, "stage.%d", s);
    }
    x = vt_stdconv_norm(p, x, VT_NONE, true, "norm");
    vt_name(p, x, "norm");
    x = vt_pool(p, vt_to_tokens(p, x), VT_POOL_MEAN, 0);
    vt_name(p, x, "features");
    out->features = x;
    if (!c->classes)
        return;
    x = vt_vit_dropout(p, x, o);
    out->logits = vt_dense(p, x, "head.fc", c->classes, true, VT_ACT_NONE,
                           VT_NONE, VT_NONE);
    vt_name(p, out->logits, "logits");
}

static const vt_field fields[] = {
    SEEN("layers", stem_layers),
    SEEN("channels", stem_width),
    SEEN("stem_chs", stem_width),
    SEEN("num_classes", classes),
    ONLY("global_pool", "\"avg\"|\"\""),
    ONLY("in_chans", "3"),
    END,
};
static const vt_keys args = {
    fields, "drop_rate|drop_path_rate|zero_init_last",
    "output_stride|width_factor|stem_type|avg_down|preact|"
    "basic|bottle_ratio|act_layer|norm_layer|conv_layer"};

const vt_family vt_family_resnet = {
    .name = "resnet",
    .looks = "BiT ResNet",
    .args = &args,
    .timm = "resnetv2_*_bit*",
    .configure = configure,
    .build = build,
    .conv_head = true,
};
