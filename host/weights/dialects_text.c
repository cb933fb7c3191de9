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

/* Beside the towers. */
#define LOGITS                                                                 \
    WITH("logit_scale", "logit_scale", .whole = true),                         \
        WITH("logit_bias", "logit_bias", .whole = true)

/* HF transformers: models/{clip,siglip}, class *TextTransformer. */
static const vt_row hf_rows[] = {
    AS("embeddings.token_embedding.weight", "token_embed.weight"),
    TOWER_ROWS,
    AS("final_layer_norm.%", "norm.%"),
    AS("head.%", "head.%"),
    WITH("text_projection.weight", "head.weight", .whole = true),
    LOGITS,
    DROP("embeddings.position_ids"),
    END_ROWS,
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
        WITH("text_projection", "head.weight", .layout = VT_TRANSPOSED),       \
        AS("text_projection.%", "head.%"), DROP("attn_mask")
static const vt_row custom_rows[] = {
    OPEN_CLIP,
    LOGITS,
    END_ROWS,
};
static const vt_row clip_rows[] = {
    OPEN_CLIP,
    LOGITS,
    DROP("visual.*"), /* OpenAI's own files */
    DROP("input_resolution"),
    DROP("context_length"),
    DROP("vocab_size"),
    END_ROWS,
};

const vt_dialect vt_text_dialects[] = {
    {"hf", LIST("embeddings.token_embedding.weight"), LIST("text_model.", ""),
     true, ROWS(hf_rows), 0},
    {"open_clip", LIST("token_embedding.weight"), LIST("text."), true,
     ROWS(custom_rows), 0},
    {"clip", LIST("token_embedding.weight"), LIST(""), true, ROWS(clip_rows),
     0},
    {.name = NULL},
};
