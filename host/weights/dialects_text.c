/*
 * dialects_text.c - tables of the names of the tensors of text towers.
 *
 * Canonical names are those of pictures (dialects.c) and of the parts that only
 * texts have:
 *
 *   token_embed.weight [V,D]    a row for each kind of token
 *   pos_embed [1,T,D]
 *   blocks.i.*  norm.%  head.%  as of pictures; head: the projection
 *   logit_scale  logit_bias     one number each
 */
#include "weights/dialect_rows.h"

#define PART(number) .parts = 3, .part = (number)
#define ATTN "blocks.#.attn."
/* Beside the towers. */
#define LOGITS                                                                 \
    WITH("logit_scale", "logit_scale", .whole = true),                         \
        WITH("logit_bias", "logit_bias", .whole = true)

/* HF transformers: models/{clip,siglip}, class *TextTransformer. */
#define LAYER "encoder.layers.#."
static const vt_row hf_rows[] = {
    AS("embeddings.token_embedding.weight", "token_embed.weight"),
    WITH("embeddings.position_embedding.weight", "pos_embed",
         .layout = VT_TABLE),
    AS(LAYER "layer_norm1.%", "blocks.#.norm1.%"),
    AS(LAYER "layer_norm2.%", "blocks.#.norm2.%"),
    WITH(LAYER "self_attn.q_proj.%", ATTN "qkv.%", PART(0)),
    WITH(LAYER "self_attn.k_proj.%", ATTN "qkv.%", PART(1)),
    WITH(LAYER "self_attn.v_proj.%", ATTN "qkv.%", PART(2)),
    AS(LAYER "self_attn.out_proj.%", ATTN "proj.%"),
    AS(LAYER "mlp.fc1.%", "blocks.#.mlp.fc1.%"),
    AS(LAYER "mlp.fc2.%", "blocks.#.mlp.fc2.%"),
    AS("final_layer_norm.%", "norm.%"),
    AS("head.%", "head.%"),
    WITH("text_projection.weight", "head.weight", .whole = true),
    LOGITS,
    DROP("embeddings.position_ids"),
    {.from = NULL},
};

/* OpenAI's CLIP and open_clip: transformer.py, class TextTransformer. In a
 * CustomTextCLIP all of it is behind "text."; in a CLIP it is beside the
 * picture tower. text_projection is a matrix, or a linear layer. */
#define RES "transformer.resblocks.#."
#define OPEN_CLIP                                                              \
    AS("token_embedding.weight", "token_embed.weight"),                        \
        WITH("positional_embedding", "pos_embed", .layout = VT_TABLE),         \
        AS(RES "ln_1.%", "blocks.#.norm1.%"),                                  \
        AS(RES "ln_2.%", "blocks.#.norm2.%"),                                  \
        AS(RES "attn.in_proj_%", ATTN "qkv.%"),                                \
        AS(RES "attn.out_proj.%", ATTN "proj.%"),                              \
        AS(RES "mlp.c_fc.%", "blocks.#.mlp.fc1.%"),                            \
        AS(RES "mlp.c_proj.%", "blocks.#.mlp.fc2.%"),                          \
        AS(RES "ls_1.gamma", "blocks.#.ls1.gamma"),                            \
        AS(RES "ls_2.gamma", "blocks.#.ls2.gamma"),                            \
        AS("ln_final.%", "norm.%"),                                            \
        WITH("text_projection", "head.weight", .layout = VT_LINEAR),           \
        AS("text_projection.%", "head.%"), DROP("attn_mask")
static const vt_row custom_rows[] = {
    OPEN_CLIP,
    LOGITS,
    {.from = NULL},
};
static const vt_row clip_rows[] = {
    OPEN_CLIP,
    LOGITS,
    DROP("visual.*"), /* OpenAI's own files */
    DROP("input_resolution"),
    DROP("context_length"),
    DROP("vocab_size"),
    {.from = NULL},
};

static const char *const hf_marks[] = {"embeddings.token_embedding.weight",
                                       NULL};
static const char *const hf_prefixes[] = {"text_model.", "", NULL};
static const char *const clip_marks[] = {"token_embedding.weight", NULL};
static const char *const custom_prefixes[] = {"text.", NULL};
static const char *const clip_prefixes[] = {"", NULL};

const vt_dialect vt_text_dialects[] = {
    {"hf text", hf_marks, hf_prefixes, true, hf_rows},
    {"open_clip text", clip_marks, custom_prefixes, true, custom_rows},
    {"clip text", clip_marks, clip_prefixes, true, clip_rows},
    {NULL, NULL, NULL, false, NULL},
};
