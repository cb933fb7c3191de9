/*
 * verify.c - compares the description of a model that was written with that of
 * its source.
 *
 * Not compared is what the two libraries hold in different ways: the names, the
 * rows of positions for other tokens than patches, how positions are resized to
 * another grid, biases of zeros, how odd margins of a crop are rounded, and
 * whether transparent pictures lie on white, which timm cannot say.
 */
#include "convert/verify.h"

#include "convert/timm.h"
#include "models/preprocess.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* DINOv2's head in HF also reads the mean of the patches, with zeros where it
 * comes from timm; the export sees to that. */
static bool same_pool(const vt_config *a, const vt_config *b)
{
    const bool token_a =
        a->pool == VT_POOL_TOKEN || a->pool == VT_POOL_CLS_MEAN;
    const bool token_b =
        b->pool == VT_POOL_TOKEN || b->pool == VT_POOL_CLS_MEAN;

    if (a->attn_pool || (token_a && token_b))
        return true;
    return a->pool == b->pool && a->pool_first == b->pool_first &&
           a->pool_max_mean == b->pool_max_mean;
}

#define SAME(field, word)                                                      \
    if (a->field != b->field)                                                  \
    return word

/* The first part in which they differ; NULL: none. */
static const char *different(const vt_config *a, const vt_config *b)
{
    const bool one_act = !a->swiglu || a->attn_pool;

    SAME(height, "picture size");
    SAME(width_px, "picture size");
    SAME(patch_h, "patch size");
    SAME(patch_w, "patch size");
    SAME(width, "width");
    SAME(depth, "number of blocks");
    SAME(heads, "number of heads");
    SAME(mlp, "width of the MLP");
    SAME(swiglu, "kind of MLP");
    if (one_act)
        SAME(act, "activation");
    if (!vt_same_eps(a->eps, b->eps))
        return "layer_norm_eps";
    if (a->classes + a->projection != b->classes + b->projection)
        return "number of classes";
    SAME(class_token, "class token");
    SAME(dist_token, "distillation token");
    SAME(dist_head, "heads of two tokens");
    SAME(registers, "register tokens");
    SAME(pos_kind, "kind of positions");
    SAME(pos_injection, "place of positions");
    SAME(pos_embed, "position embeddings");
    SAME(rope.kind, "rotary positions");
    SAME(rope.halves, "rotary positions");
    SAME(rope.xy, "rotary positions");
    SAME(rope.ref_h, "rotary positions");
    SAME(rope.ref_w, "rotary positions");
    SAME(rel_pos, "relative positions");
    SAME(rel_pos_shared, "relative positions");
    SAME(rel_pos_both, "relative positions");
    SAME(rel_pos_swin, "relative positions");
    SAME(qk_norm, "norm of queries and keys");
    SAME(attn_norm, "norm inside attention");
    SAME(mlp_norm, "norm inside the MLP");
    SAME(layer_scale, "layer scale");
    SAME(pre_norm, "norm before the blocks");
    SAME(post_norm, "norm behind attention");
    SAME(post_add, "norm behind the sum");
    SAME(no_skip, "skip connections");
    SAME(final_norm, "norm behind the blocks");
    SAME(fc_norm, "norm of the pooled features");
    SAME(axial, "axial attention");
    SAME(attn_pool, "attention pooling");
    SAME(pool_all, "attention pooling");
    if (!same_pool(a, b))
        return "pooling";
    SAME(pre_logits, "pre-logits layer");
    SAME(pooler, "pooler");
    if (a->pooler)
        SAME(pooler_act, "pooler");
    SAME(stem_stages, "stem");
    SAME(stem_only, "stem");
    SAME(stem_basic, "stem");
    if (memcmp(a->stem_layers, b->stem_layers, sizeof a->stem_layers) != 0 ||
        memcmp(a->stem_width, b->stem_width, sizeof a->stem_width) != 0)
        return "stem";
    return NULL;
}

static bool near(const float *a, const float *b, int n)
{
    for (int i = 0; i < n; i++)
        if (!(fabsf(a[i] - b[i]) <= 1e-6f * fabsf(a[i])))
            return false;
    return true;
}

static const char *different_pictures(const vt_preprocess *a,
                                      const vt_preprocess *b)
{
    SAME(fit, "resize of pictures");
    if (a->fit != VT_FIT_NONE) {
        SAME(resize_height, "resize of pictures");
        SAME(resize_width, "resize of pictures");
        SAME(filter, "filter of the resize");
        SAME(pixels, "library that resizes pictures");
    }
    if (a->fit == VT_FIT_SHORTEST &&
        (a->crop == VT_CROP_NONE) != (b->crop == VT_CROP_NONE))
        return "crop of pictures";
    if (a->fit == VT_FIT_BORDER && memcmp(a->fill, b->fill, sizeof a->fill))
        return "border of pictures";
    SAME(height, "picture size");
    SAME(width, "picture size");
    if (!near(&a->scale, &b->scale, 1))
        return "scale of pixels";
    if (!near(a->mean, b->mean, 3) || !near(a->std, b->std, 3))
        return "mean or standard deviation of pixels";
    return NULL;
}

/* A longer name of timm is HF's label. */
static bool same_label(const vt_model *a, const vt_model *b, uint32_t i)
{
    const char *label = vt_model_label(a, i), *name = vt_model_longname(a, i);
    const char *is = vt_model_label(b, i);

    return !label || !is || strcmp(label, is) == 0 ||
           (name && strcmp(name, is) == 0);
}

static bool same_certainty(const vt_model *a, const vt_model *b)
{
    const vt_certainty x = vt_model_certainty(a), y = vt_model_certainty(b);

    return x.temperature == y.temperature && x.threshold == y.threshold &&
           x.detail[0] == y.detail[0] && x.detail[1] == y.detail[1];
}

vitcl_status vt_convert_verify(const vt_model *m, const char *path,
                               const char *folder, const char *library)
{
    vitcl_status st;
    const vt_config *a = vt_model_config(m);
    vt_model *again = NULL;
    vt_preprocess how, is;
    const char *part;

    st = vt_model_open(&again, folder);
    if (st == VITCL_EIO || st == VITCL_ENOMEM)
        return st;
    if (st != VITCL_OK)
        return vt_fail_in(VITCL_EUNSUPPORTED,
                          "%s: %s cannot express this model", path, library);
    part = different(a, vt_model_config(again));
    /* one that is unknown is kept with its configs */
    st = vt_model_preprocess(&how, m, (uint32_t)a->height,
                             (uint32_t)a->width_px);
    if (!part && st == VITCL_OK) {
        VT_TRY(vt_model_preprocess(&is, again, (uint32_t)a->height,
                                   (uint32_t)a->width_px));
        part = different_pictures(&how, &is);
    }
    st = VITCL_OK;
    for (uint32_t i = 0; !part && a->classes > 0 && i < (uint32_t)a->classes;
         i++)
        part = same_label(m, again, i) ? NULL : "labels";
    if (!part && a->classes && vt_model_answer(m) != vt_model_answer(again))
        part = "problem_type";
    if (!part && !same_certainty(m, again))
        part = "vitcl_certainty";
    if (part)
        st =
            vt_fail(VITCL_EUNSUPPORTED, "%s: %s cannot express this model's %s",
                    path, library, part);
done:
    vt_model_close(again);
    return st;
}
