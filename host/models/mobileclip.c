/*
 * mobileclip.c - the ViT of MobileCLIP-B (Vasu et al. 2023, arXiv:2311.17049),
 * with timm's names.
 *
 *   4x4 stride 4 -> GELU -> 2x2 stride 2 -> GELU -> 2x2 stride 2: the patches
 *
 * Easy to get wrong: the first two convolutions are followed by a BatchNorm,
 * which is folded into them (batchnorm.c), and none pads; the last one is the
 * patch embedding; the class token has no position.
 */
#include "models/config.h"
#include "models/family.h"
#include "models/fields.h"
#include "models/vit.h"

#include <stdio.h>
#include <string.h>

#define STEM "patch_embed.backbone."

static vitcl_status configure(vt_config *c, const vt_json *config,
                              const vt_weights *w, const char *path)
{
    for (int i = 0; i < 2; i++) {
        char name[64];

        snprintf(name, sizeof name, STEM "%d.conv.weight", i);
        c->conv_stem[i] = vt_weight_dim(w, name, 0);
        if (c->conv_stem[i] < 1 || c->conv_stem[i] > VT_MOST_WIDTH)
            VT_RET(vt_fail(VITCL_ECORRUPT,
                           "%s: %s is missing or misshapen (the file looks "
                           "like a MobileCLIP vision tower)",
                           path, name));
    }
    c->patch_h = c->patch_w = 16;
    c->folded = true;
    return vt_configure_timm(c, config, w, path);
}

/* A convolution of separate windows, its norm folded in, and GELU. */
static vt_val conv(vt_plan *p, const vt_config *c, vt_val x, int i, int size)
{
    const int n = c->conv_stem[i];
    char name[64];
    vt_val w, b;

    snprintf(name, sizeof name, STEM "%d.conv.weight@bn", i);
    w = vt_param(p, name, 4, (int[]){n, vt_dim(p, x, 1), size, size});
    snprintf(name, sizeof name, STEM "%d.conv.bias@bn", i);
    b = vt_param(p, name, 1, &n);
    x = vt_conv(p, x, w, size, 0, 0, 0, 0);
    x = vt_add_channels(p, x, b, VT_NONE, false);
    return vt_activation(p, x, VT_ACT_GELU);
}

static void build(vt_plan *p, const vt_model *m, vt_val pixels,
                  const vt_build_options *o, vt_outputs *out)
{
    const vt_config *c = vt_model_config(m);
    vt_val x = conv(p, c, pixels, 0, 4);

    x = conv(p, c, x, 1, 2);
    vt_vit_behind(p, m, x, 2, pixels, o, out);
}

const vt_family vt_family_mobileclip = {
    .name = "mobileclip",
    .looks = "MobileCLIP vision tower",
    .args = &vt_timm_vit,
    .timm = "vit_*_mci_*",
    .configure = configure,
    .build = build,
};
