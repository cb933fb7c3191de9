/*
 * tower.c - the text towers of CLIP, MetaCLIP 2, OpenCLIP, SigLIP and SigLIP 2
 * (Radford et al. 2021, arXiv:2103.00020; Zhai et al. 2023, arXiv:2303.15343),
 * with the names of HF and open_clip.
 *
 *   z0 = [table[id1]; ... table[idT]] + E_pos
 *   blocks as of pictures, with a mask in CLIP
 *   y  = head(LN(z)[end])
 *
 * Easy to get wrong:
 *   - CLIP's tokens do not attend to those behind them; SigLIP's attend to
 *     all, the padding too unless its tokenizer hides it, and its vector is the
 *     last token's
 *   - CLIP's vector is that of the end token: the first with the highest number
 *     in OpenAI's and open_clip's models, and in HF's whose eos_token_id is 2,
 *     which is not its number; else, also in MetaCLIP 2 with its 2, the first
 *     that is eos_token_id
 *   - the projection has no bias in CLIP, and a bias in SigLIP
 *   - logit_scale is stored as its logarithm, logit_bias as it is
 *
 * The table has a row for each of up to 256,000 kinds of tokens, and a text
 * needs a few of them. So the host reads the rows from the file, checks the
 * numbers and adds the positions; a plan begins behind that.
 */
#include "models/model_private.h"
#include "models/vit.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Of a logit that the mask hides; finite, so that no kernel subtracts two
 * infinities. */
#define HIDDEN (-1e9f)

/* ---- the plan ---- */

/* [T,T] of what is added to all heads' logits. */
static vt_val mask(vt_plan *p, int tokens)
{
    const size_t n = (size_t)tokens;
    vitcl_status st = VITCL_OK;
    vt_val out = VT_NONE;
    float *data = NULL;

    VT_TRY(VT_NEW(&data, n * n));
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            data[i * n + k] = HIDDEN;
    out = vt_const(p, "mask", 2, (int[]){tokens, tokens}, data);
done:
    free(data);
    return st == VITCL_OK ? out : vt_plan_fail(p, st);
}

void vt_tower_mask(float *out, const vt_model *m, int tokens,
                   const bool *hidden)
{
    const vt_config *c = &m->config;
    const size_t n = (size_t)tokens, all = n * n;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            out[i * n + k] = hidden[k] || (c->causal && k > i) ? HIDDEN : 0.0f;
    for (size_t h = 1; h < (size_t)c->heads; h++)
        memcpy(out + h * all, out, all * sizeof *out);
}

void vt_tower_build(vt_plan *p, const vt_model *m, vt_val x, vt_val end,
                    vt_val hidden, vt_outputs *out)
{
    static const vt_build_options inference = {.train_step = VT_NONE,
                                               .patch_source = VT_NONE};
    const vt_config *c = &m->config;
    vt_block_extra e = VT_NO_EXTRA;
    int last = c->depth - 1;

    *out = (vt_outputs){VT_NONE, VT_NONE, VT_NONE};
    if (vt_plan_status(p) != VITCL_OK)
        return;
    e.bias = hidden;
    if (c->causal && hidden == VT_NONE)
        e.bias = mask(p, vt_dim(p, x, 1));
    for (int i = 0; i < c->depth; i++) {
        if (i == last && !vt_wanted(p, "block.%d", i))
            e.end = end;
        x = vt_vit_block(p, c, i, x, e, &inference);
    }
    if (e.end == VT_NONE)
        x = vt_pick(p, x, end);
    x = vt_vit_layernorm(p, x, c, "norm");
    vt_name(p, x, "norm");
    if (c->projection) {
        x = vt_dense(p, x, "head", c->projection, c->head_bias, VT_ACT_NONE,
                     VT_NONE, VT_NONE);
        vt_name(p, x, "text_embeds");
    }
    out->features = x;
    vt_keep(p, x);
}

/* ---- tokens ---- */

static vitcl_status known(const vt_model *m, const int32_t *ids, int tokens)
{
    const vt_config *c = &m->config;

    for (int t = 0; t < tokens; t++)
        if (ids[t] < 0 || ids[t] >= c->vocabulary)
            return vt_fail(VITCL_EINVAL,
                           "%s: token %d of a text is %d; the vocabulary has "
                           "the numbers 0 to %d",
                           m->path, t, ids[t], c->vocabulary - 1);
    return VITCL_OK;
}

vitcl_status vt_tower_known(const vt_model *m, const int32_t *ids)
{
    return known(m, ids, m->config.context);
}

vitcl_status vt_tower_rows(float *out, const vt_model *m, const int32_t *ids,
                           int tokens)
{
    const vt_config *c = &m->config;
    const vt_weight *table = vt_weights_get(m->weights, "token_embed.weight");
    const size_t wide = (size_t)c->width;

    if (!table || !m->positions || tokens < 0 || tokens > c->context)
        return vt_fail(VITCL_EINVAL, "%s: %d tokens; a text has %d", m->path,
                       tokens, c->context);
    VT_RET(known(m, ids, tokens));
    for (int t = 0; t < tokens; t++) {
        float *row = out + (size_t)t * wide;
        const float *at = m->positions + (size_t)t * wide;

        VT_RET(vt_weight_rows(row, table, (uint64_t)ids[t], 1));
        for (size_t i = 0; i < wide; i++)
            row[i] += at[i];
    }
    return VITCL_OK;
}

void vt_tower_shorten(vt_model *m, int context)
{
    m->config.context = VT_MIN(m->config.context, context);
}

static int first_of(const int32_t *ids, int n, int32_t id)
{
    for (int t = 0; t < n; t++)
        if (ids[t] == id)
            return t;
    return 0;
}

int vt_tower_end(const vt_model *m, const int32_t *ids)
{
    const vt_config *c = &m->config;
    int end = 0;

    switch (c->end_kind) {
    case VT_END_LAST:
        return c->context - 1;
    case VT_END_FIRST:
        return 0;
    case VT_END_TOKEN:
        return first_of(ids, c->context, c->end);
    case VT_END_HIGHEST:
        break;
    }
    for (int t = 1; t < c->context; t++)
        if (ids[t] > ids[end])
            end = t;
    return end;
}
