/*
 * config.c - the settings that all families read from the tensors.
 */
#include "models/config.h"

#include "models/stdconv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* One more than the highest i of "blocks.i.", so that a block missing in the
 * middle is named. */
static int count_blocks(const vt_weights *w)
{
    int depth = 0;

    for (size_t i = 0; i < vt_weights_count(w); i++) {
        int block = -1, used = 0;
        if (sscanf(vt_weights_at(w, i)->name, "blocks.%6d.%n", &block, &used) ==
                1 &&
            used > 0 && block >= depth && block < VT_MOST_DEPTH)
            depth = block + 1;
    }
    return depth;
}

/* timm's hybrids have various networks before their patches. */
static bool has_stem(const vt_weights *w)
{
    for (size_t i = 0; i < vt_weights_count(w); i++)
        if (strncmp(vt_weights_at(w, i)->name, "patch_embed.backbone.", 21) ==
            0)
            return true;
    return false;
}

/* The patch size: from a convolution [D,3,P,P], or a linear layer [D,3*P*P] in
 * old files. */
vitcl_status vt_read_patch(vt_config *c, const vt_weights *w, const char *path)
{
    const vt_weight *t = vt_weights_get(w, "patch_embed.proj.weight");

    if (!t || t->rank < 2)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: patch_embed.proj.weight is missing (the file does "
                       "not look like a Vision Transformer)",
                       path);
    if (!c->width)
        c->width = vt_weight_dim(w, "patch_embed.proj.weight", 0);
    if (has_stem(w) && !c->stem_width[0] && !c->conv_stem[0])
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: %s has a stem before its patches that is not "
                       "supported; BiT's ResNets and ResNet-D are",
                       path, c->name);
    c->grey = t->rank == 4 && t->shape[1] == 1 && !c->stem_width[0] &&
              !c->conv_stem[0];
    if (t->rank == 4 && t->shape[1] != 3 && !c->grey && !c->stem_width[0] &&
        !c->conv_stem[0])
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: the model takes pictures of %llu channel%s; only "
                       "RGB and grey are supported",
                       path, (unsigned long long)t->shape[1],
                       vt_plural(t->shape[1]));
    if (t->rank == 4 && !c->patch_h) {
        c->patch_h = vt_weight_dim(w, "patch_embed.proj.weight", 2);
        c->patch_w = vt_weight_dim(w, "patch_embed.proj.weight", 3);
    } else if (t->rank == 2 && !c->patch_h) {
        c->patch_h = c->patch_w = (int)lround(sqrt((double)t->shape[1] / 3.0));
    }
    if (c->width < 1 || c->width > VT_MOST_WIDTH || c->patch_h < 1 ||
        c->patch_w < 1 || c->patch_h > VT_MOST_PIXELS ||
        c->patch_w > VT_MOST_PIXELS)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: patch_embed.proj.weight has an unusable shape",
                       path);
    return VITCL_OK;
}

/* Does any block have this part? Then a block without it is named as an
 * error. */
static bool any_block(const vt_weights *w, int depth, const char *part)
{
    for (int i = 0; i < depth; i++)
        if (vt_weight_has(w, "blocks.%d.%s", i, part))
            return true;
    return false;
}

static void read_mlp(vt_config *c, const vt_weights *w)
{
    char name[64];
    int in = 0, out = 0;

    for (int i = 0; i < c->depth && !(in && out); i++) {
        snprintf(name, sizeof name, "blocks.%d.mlp.fc1.weight", i);
        in = vt_weight_dim(w, name, 0);
        snprintf(name, sizeof name, "blocks.%d.mlp.fc2.weight", i);
        out = vt_weight_dim(w, name, -1);
    }
    if (!c->mlp)
        c->mlp = out <= VT_MOST_MLP ? out : 0;
    c->swiglu = out > 0 && out <= VT_MOST_MLP && in == 2 * out;
}

/* A part that every model of the family has is assumed, so that it is named if
 * it is missing. Any other part is used if the file has it anywhere. */
void vt_read_flags(vt_config *c, const vt_weights *w)
{
    c->class_token = vt_weight_has(w, "cls_token");
    c->dist_token = vt_weight_has(w, "dist_token");
    c->registers = vt_weight_dim(w, "reg_token", -2);
    c->pos_embed = !c->pos_optional || vt_weight_has(w, "pos_embed");
    c->pre_norm = vt_weight_has(w, "norm_pre.weight") ||
                  vt_weight_has(w, "norm_pre.bias");
    c->embed_norm = vt_weight_has(w, "patch_embed.norm.weight");
    c->patch_bias = !c->pre_norm || vt_weight_has(w, "patch_embed.proj.bias");
    c->final_norm =
        vt_weight_has(w, "norm.weight") || vt_weight_has(w, "norm.bias");
    c->fc_norm =
        vt_weight_has(w, "fc_norm.weight") || vt_weight_has(w, "fc_norm.bias");
    if (!c->fc_norm && !c->norm_optional)
        c->final_norm = true;
    if (!c->depth)
        c->depth = count_blocks(w);
    c->qkv_bias = any_block(w, c->depth, "attn.qkv.bias");
    c->proj_bias = any_block(w, c->depth, "attn.proj.bias");
    c->fc_bias = any_block(w, c->depth, "mlp.fc1.bias") ||
                 any_block(w, c->depth, "mlp.fc2.bias");
    c->qk_norm = any_block(w, c->depth, "attn.q_norm.weight");
    c->layer_scale = any_block(w, c->depth, "ls1.gamma");
    c->attn_norm = any_block(w, c->depth, "attn.norm.weight");
    c->mlp_norm = any_block(w, c->depth, "mlp.norm.weight");
    c->attn_pool = vt_weight_has(w, "attn_pool.latent");
    c->pool_mlp = vt_weight_dim(w, "attn_pool.mlp.fc1.weight", 0);
    c->head_bias = true;
    if (!c->classes)
        c->classes = vt_weight_dim(w, "head.weight", 0);
    read_mlp(c, w);
    if (c->pool_mlp < 1 || c->pool_mlp > VT_MOST_MLP)
        c->pool_mlp = c->mlp;
}

static int grid_of(const vt_config *c, int pixels, int patch)
{
    /* each stride of a stem rounds up */
    const int stem = c->stem_width[0] ? vt_stdconv_stride(c) : 1;

    return (pixels + stem - 1) / stem / (patch / stem);
}

bool vt_config_grid(int *h, int *w, const vt_config *c, int height, int width)
{
    if (height < 1 || width < 1 || height > VT_MOST_PIXELS ||
        width > VT_MOST_PIXELS)
        return false;
    *h = grid_of(c, height, c->patch_h);
    *w = grid_of(c, width, c->patch_w);
    return *h > 0 && *w > 0;
}

void vt_config_pos_grid(int *h, int *w, const vt_config *c)
{
    *h = c->pos_h, *w = c->pos_w;
    if (!c->pos_h)
        vt_config_grid(h, w, c, c->height, c->width_px);
}

bool vt_config_native(const vt_config *c, int gh, int gw)
{
    int h = 0, w = 0;

    vt_config_pos_grid(&h, &w, c);
    return h == gh && w == gw;
}

/* Reads the positions. The sizes of the picture and the patch must be known. */
vitcl_status vt_read_positions(vt_config *c, const vt_weights *w,
                               const char *path)
{
    int prefix;
    const char *table =
        c->pos_injection == VT_AT_LAYERS ? "blocks.0.pos_embed" : "pos_embed";
    const vt_weight *t = vt_weights_get(w, table);
    const int rows = t && t->rank == 4 /* [1,h,w,D] */
                         ? c->pos_h * c->pos_w
                         : vt_weight_dim(w, table, -2);
    int gh = 0, gw = 0, patches;

    if (c->registers > VT_MOST_WIDTH)
        return vt_fail(VITCL_ECORRUPT, "%s: %d register tokens", path,
                       c->registers);
    prefix = c->class_token + c->dist_token + c->registers;
    if (c->height > VT_MOST_PIXELS || c->width_px > VT_MOST_PIXELS)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: its positions are for pictures of %dx%d pixels; at "
                       "most %dx%d are supported",
                       path, c->height, c->width_px, VT_MOST_PIXELS,
                       VT_MOST_PIXELS);
    if (!vt_config_grid(&gh, &gw, c, c->height, c->width_px))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: a picture of %dx%d pixels is smaller than a patch "
                       "of %dx%d",
                       path, c->height, c->width_px, c->patch_h, c->patch_w);
    if (c->pos_kind == VT_POS_2D && c->width % 2)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: 2-D positions need an even width, not %d", path,
                       c->width);
    if (!c->pos_embed)
        return VITCL_OK;
    if (rows == 0)
        return vt_fail(VITCL_ECORRUPT, "%s: %s is missing", path, table);
    vt_config_pos_grid(&gh, &gw, c);
    patches = gh * gw;
    c->pos_prefix = rows - patches;
    if (c->pos_prefix != prefix &&
        (c->pos_injection != VT_AT_STEM ||
         (c->pos_prefix != 0 && c->pos_prefix != c->class_token)))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: %s has %d rows, but a picture of %dx%d "
                       "pixels has %d patches of %dx%d and %d other tokens",
                       path, table, rows, c->height, c->width_px, patches,
                       c->patch_h, c->patch_w, prefix);
    return VITCL_OK;
}

vitcl_status vt_check_square(const vt_config *c, const char *path)
{
    int h = 0, w = 0;

    if (c->source != VT_SOURCE_HF || !c->pos_embed ||
        c->height == c->width_px ||
        !vt_config_grid(&h, &w, c, c->height, c->width_px) || h == w)
        return VITCL_OK;
    return vt_fail(VITCL_EUNSUPPORTED,
                   "%s: the config's image_size is %dx%d, but transformers "
                   "takes the positions of this model for those of a square",
                   path, c->height, c->width_px);
}

vitcl_status vt_check_sizes(const vt_config *c, const char *path)
{
    if (c->depth < 1 || c->depth > VT_MOST_DEPTH || c->mlp < 1)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: no blocks.0.mlp.fc2.weight: %s has no transformer "
                       "blocks, or blocks of a kind that is not supported",
                       path, c->name);
    if (c->heads < 1 || c->width % c->heads)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: width %d does not divide into %d heads; the config "
                       "should say the number of heads",
                       path, c->width, c->heads);
    return VITCL_OK;
}
