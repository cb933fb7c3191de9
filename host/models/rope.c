/*
 * rope.c - rotary positions (Su et al. 2021, arXiv:2104.09864) on a grid, as
 * timm (layers/pos_embed_sincos.py) and Hugging Face have them.
 *
 *   angle = place * frequency, of the row for half of the frequencies and of
 *           the column for the others
 *
 * Easy to get wrong:
 *   - places are 0, 1, .. plus an offset, scaled to the grid of the first
 *     training (EVA-02, Perception Encoder); or the patches' centres from -1 to
 *     1, times 2 pi (DINOv3)
 *   - "xy": columns come first
 *   - a pair is two adjacent elements, or ("halves") two half a head apart
 *   - "mixed": each block and head has learnt frequencies, and an angle is the
 *     sum of both places' (RoPE-ViT, Heo et al. 2024, arXiv:2403.13298)
 */
#include "models/rope.h"

#include "base/memory.h"
#include "models/config.h"
#include "models/derived.h"
#include "models/fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const vt_field fields[] = {
    VT_TIMM_FIELDS,
    ONLY("dynamic_img_pad", "false"),
    SEEN("num_kv_heads", kv_heads),
    SEEN("qkv_fused", qkv_bias),
    SEEN("qk_norm", qk_norm),
    SEEN("swiglu_mlp", swiglu),
    SEEN("swiglu_align_to", mlp),
    SEEN("scale_mlp", mlp_norm),
    SEEN("scale_attn_inner", attn_norm),
    SEEN("attn_type", qk_norm),
    FLAG("attn_only_layer_scale", ls_attn, -1),
    SEEN("class_token", class_token),
    SEEN("num_reg_tokens", registers),
    SEEN("no_embed_class", pos_prefix),
    FLAG("use_abs_pos_emb", said.rows, -1),
    FLAG("use_rot_pos_emb", said.rotary, -1),
    WORD("rope_type", rope.kind, "|cat|dinov3|mixed"),
    REAL("rope_grid_offset", rope.offset, -VT_MOST_PIXELS, VT_MOST_PIXELS),
    WORD("rope_grid_indexing", rope.xy, "ij|xy"),
    REAL("rope_temperature", rope.temperature, 1e-3, 1e9),
    FLAG("rope_rotate_half", rope.halves, -1),
    FLAG("use_post_norm", post_norm, -1),
    SEEN("use_pre_transformer_norm", pre_norm),
    SEEN("use_post_transformer_norm", final_norm),
    SEEN("use_fc_norm", fc_norm),
    SIZE("attn_pool_num_heads", pool_heads, VT_MOST_WIDTH),
    SEEN("attn_pool_mlp_ratio", pool_mlp),
    SIDES("ref_feat_shape", rope.ref_h),
    END,
};
const vt_keys vt_timm_eva = {
    fields,
    VT_TIMM_DROPOUT "dynamic_img_size|rope_shift_coords|rope_jitter_coords|"
                    "rope_rescale_coords|rope_mrope_section|head_init_scale",
    NULL};

vitcl_status vt_rope_check(const vt_config *c, const char *path)
{
    const int head = c->heads ? c->width / c->heads : 0;

    if (!c->rope.kind || head % 4 == 0)
        return VITCL_OK;
    return vt_fail(VITCL_EUNSUPPORTED,
                   "%s: heads of %d are not a multiple of 4, which rotary "
                   "positions need",
                   path, head);
}

/* A patch's places: that whose frequencies come first, then the other. */
static void places(float out[2], const vt_rope_rule *r, int t, int h, int w)
{
    const int at[2] = {t / w, t % w}, size[2] = {h, w};
    const int ref[2] = {r->ref_h, r->ref_w};

    for (int i = 0; i < 2; i++) {
        const int k = r->xy ? 1 - i : i;
        const float s = (float)size[k];

        if (r->kind == VT_ROPE_CENTRES)
            out[i] = 2 * (((float)at[k] + 0.5f + r->offset) / s) - 1;
        else if (r->kind == VT_ROPE_INDEX && ref[k])
            out[i] = ((float)at[k] + r->offset) / s * (float)ref[k];
        else
            out[i] =
                (float)at[k] + (r->kind == VT_ROPE_INDEX ? r->offset : 0.0f);
    }
}

/* Puts the angle of pair j into a row of sines and cosines. */
static void put(float *row, bool halves, int head, int j, float angle)
{
    const int a = halves ? j : 2 * j, b = halves ? j + head / 2 : 2 * j + 1;

    row[a] = row[b] = sinf(angle);
    row[head + a] = row[head + b] = cosf(angle);
}

void vt_rope_table(float *out, const vt_rope_rule *r, int h, int w, int head)
{
    const int bands = head / 4;

    for (int t = 0; t < h * w; t++) {
        float place[2];

        places(place, r, t, h, w);
        for (int j = 0; j < 2 * bands; j++) {
            const float period =
                powf(r->temperature, (float)(j % bands) / (float)bands);
            const float x = place[j / bands];

            put(out + (size_t)t * 2 * (size_t)head, r->halves, head, j,
                r->kind == VT_ROPE_CENTRES ? 2 * (float)M_PI * x / period
                                           : x * (1.0f / period));
        }
    }
}

vitcl_status vt_rope_derive(float *out, const vt_model *m, int i, int h, int w,
                            uint64_t count)
{
    const vt_config *c = vt_model_config(m);
    const size_t H = (size_t)c->heads, head = (size_t)c->width / H;
    const size_t each = H * head / 2, all = (size_t)c->depth * each;
    vitcl_status st = VITCL_OK;
    float *freqs = NULL; /* [2, depth, H, head / 2] */

    if (count != H * (size_t)h * (size_t)w * 2 * head)
        return vt_fail(VITCL_EINVAL,
                       "rope.freqs: another size than the plan's");
    VT_TRY(vt_stored_weight(&freqs, m, "rope.freqs", 2 * all));
    for (size_t k = 0; k < H; k++)
        for (int t = 0; t < h * w; t++) {
            const float *f = freqs + (size_t)i * each + k * head / 2;
            float place[2];

            places(place, &c->rope, t, h, w);
            for (size_t j = 0; j < head / 2; j++)
                put(out, false, (int)head, (int)j,
                    place[0] * f[j] + place[1] * f[all + j]);
            out += 2 * head;
        }
done:
    free(freqs);
    return st;
}

vt_val vt_rope_value(vt_plan *p, const vt_config *c, int i,
                     const vt_block_extra *e)
{
    const int head = c->width / c->heads, n = e->gh * e->gw;
    char name[48];

    if (c->rope.kind != VT_ROPE_MIXED)
        return e->rope;
    snprintf(name, sizeof name, "rope.freqs.%d@%dx%d", i, e->gh, e->gw);
    return vt_param(p, name, 4, (int[]){c->heads, n, 2, head});
}
