/*
 * naflex.c - ViTs for pictures of any aspect ratio: SigLIP 2 NaFlex (Tschannen
 * et al. 2025, arXiv:2502.14786; Hugging Face's siglip2) and timm's naflexvit,
 * C-RADIO among them (Heinrich et al. 2024, arXiv:2412.07679).
 *
 * A picture is resized to a grid of patches, at most `budget` of them, that has
 * nearly its own aspect ratio. Here the pictures of a run have one grid, and a
 * batch with several grids is several runs: the libraries pad and mask, which
 * gives the same features with more work.
 *
 * Easy to get wrong:
 *   - the table of positions has a grid of its own; each picture's is made of
 *     it. timm's "ar_preserving" takes the top left part of a square; C-RADIO
 *     does so without antialiasing, version 3 of B and H with aligned corners
 *   - the patch embedding is a linear layer on patches whose colours come last
 *   - GELU has the tanh form in SigLIP 2 only
 */
#include "models/config.h"
#include "models/family.h"
#include "models/vit.h"

#include <math.h>
#include <string.h>

/* How timm's architectures resize their positions. */
typedef struct resizing {
    bool bilinear, antialias, corners, square;
} resizing;

static resizing resizing_of(const char *name)
{
    static const char *const corners[] = {"base_patch16_radio_v3",
                                          "huge_patch16_radio_v3", NULL};

    if (strstr(name, "_radio_"))
        return (resizing){true, false, vt_name_has(name, corners), true};
    return (resizing){strstr(name, "_siglip") != NULL, true, false,
                      strstr(name, "_par") != NULL &&
                          !strstr(name, "_patch16_map")};
}

static vitcl_status read_rule(vt_config *c, const char *name,
                              const vt_json *args, const char *path)
{
    resizing r = resizing_of(name);
    const char *mode = r.bilinear ? "bilinear" : "bicubic";

    vt_json_string(&mode, vt_json_get(args, "pos_embed_interp_mode"));
    vt_json_bool(&r.antialias, vt_json_get(args, "pos_embed_antialias"));
    vt_json_bool(&r.corners, vt_json_get(args, "pos_embed_align_corners"));
    vt_json_bool(&r.square, vt_json_get(args, "pos_embed_ar_preserving"));
    r.bilinear = strcmp(mode, "bilinear") == 0;
    if ((!r.bilinear && strcmp(mode, "bicubic") != 0) ||
        (r.corners && (r.antialias || !r.bilinear)))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: positions resized \"%.40s\"%s%s are not supported",
                       path, mode, r.antialias ? ", antialiased" : "",
                       r.corners ? ", with aligned corners" : "");
    c->pos_square = r.square;
    c->pos_rule = !r.bilinear   ? r.antialias ? VT_POS_TIMM : VT_POS_HF
                  : r.corners   ? VT_POS_GOOGLE
                  : r.antialias ? VT_POS_SMOOTH
                                : VT_POS_LINEAR;
    return VITCL_OK;
}

/* The grid of the table: [1,h,w,D], or [1,h,D] and [1,w,D]. */
static vitcl_status read_grid(vt_config *c, const vt_weights *w,
                              const char *path)
{
    const vt_weight *t = vt_weights_get(w, "pos_embed");

    c->pos_axes = !t && (vt_weight_has(w, "pos_embed.y") ||
                         vt_weight_has(w, "pos_embed.x"));
    if (c->pos_axes) {
        c->pos_h = vt_weight_dim(w, "pos_embed.y", -2);
        c->pos_w = vt_weight_dim(w, "pos_embed.x", -2);
    } else if (t && t->rank == 4) {
        c->pos_h = vt_weight_dim(w, "pos_embed", 1);
        c->pos_w = vt_weight_dim(w, "pos_embed", 2);
    }
    if ((t || c->pos_axes) &&
        (c->pos_h < 1 || c->pos_w < 1 || c->pos_h > VT_MOST_PIXELS ||
         c->pos_w > VT_MOST_PIXELS))
        return vt_fail(VITCL_ECORRUPT, "%s: pos_embed has an unusable shape",
                       path);
    return VITCL_OK;
}

static vitcl_status of_timm(vt_config *c, const vt_json *config,
                            const vt_weights *w, const char *path)
{
    const vt_json *args = vt_json_get(config, "model_args");
    const char *how = "learned";
    vitcl_status st;

    VT_TRY(read_grid(c, w, path));
    vt_json_string(&how, vt_json_get(args, "pos_embed"));
    c->pos_optional = c->pos_axes || !how[0] || strcmp(how, "none") == 0;
    VT_TRY(vt_configure_timm(c, config, w, path));
    c->pos_embed |= c->pos_axes;
    VT_TRY(read_rule(c, c->name, args, path));
    c->budget = c->height / c->patch_h * (c->width_px / c->patch_w);
done:
    return st;
}

static vitcl_status of_hf(vt_config *c, const vt_json *config,
                          const vt_weights *w, const char *path)
{
    const char *bad = NULL;
    vitcl_status st = VITCL_OK;

    c->budget = 256;
    vt_config_number(&c->budget, vt_config_vision(c->family, config),
                     "num_patches", VT_MOST_TOKENS, &bad);
    c->pos_h = c->pos_w = (int)sqrt((double)c->budget);
    if (bad || c->pos_h * c->pos_w != c->budget)
        VT_TRY(vt_bad_number(path, "num_patches"));
    VT_TRY(vt_siglip_configure(c, config, w, path));
    c->pos_rule = VT_POS_SMOOTH;
    c->height = c->pos_h * c->patch_h;
    c->width_px = c->pos_w * c->patch_w;
done:
    return st;
}

static vitcl_status configure(vt_config *c, const vt_json *config,
                              const vt_weights *w, const char *path)
{
    vitcl_status st;

    VT_TRY(vt_config_timm(config)[0] ? of_timm(c, config, w, path)
                                     : of_hf(c, config, w, path));
    if (c->patch_h != c->patch_w || c->patch_h < 2)
        st = vt_fail(VITCL_EUNSUPPORTED,
                     "%s: patches of %dx%d pixels are not supported in NaFlex "
                     "models; square ones from 2 on are",
                     path, c->patch_h, c->patch_w);
done:
    return st;
}

static const vt_mark marks[] = {
    {"_gap", VT_SAYS_POOL, 0, "avg"},
    {"_radio_", VT_SAYS_POOL, 0, "token"},
    {"", VT_SAYS_POOL, 0, "map"},
    {"_siglip", VT_SAYS_ACT, VT_ACT_GELU_TANH, NULL},
    {"giant_patch16_radio", VT_SAYS_HEADS, -64, NULL},
    {"_radio_v3", VT_SAYS_REGISTERS, 7, NULL},
    {"_radio_v4", VT_SAYS_REGISTERS, 9, NULL},
    {"_map", VT_SAYS_REGISTERS, 1, NULL},
    {"_gap", VT_SAYS_REGISTERS, 4, NULL},
    {"_radio_", VT_SAYS_BARE, 0, NULL},
    {NULL, 0, 0, NULL},
};

static const vt_hf_class classes[] = {
    {.types = "siglip2",
     .towers = true,
     .text = &vt_siglip_text,
     .eps = 1e-6f,
     .act = VT_ACT_GELU_TANH,
     .no_class_token = true},
    {.types = NULL},
};

const vt_family vt_family_naflex = {
    .name = "naflex",
    .looks = "NaFlex ViT",
    .hf = classes,
    .timm = "naflexvit_*",
    .marks = marks,
    .configure = configure,
    .build = vt_siglip_build,
    .idle_head = true,
};
