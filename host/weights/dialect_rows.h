/*
 * dialect_rows.h - how the tables of names are written; for files with tables
 * only.
 */
#ifndef VT_WEIGHTS_DIALECT_ROWS_H
#define VT_WEIGHTS_DIALECT_ROWS_H
#include "weights/dialects.h"

#define AS(name, canonical)                                                    \
    {                                                                          \
        .from = (name), .to = (canonical)                                      \
    }
#define WITH(name, canonical, ...)                                             \
    {                                                                          \
        .from = (name), .to = (canonical), __VA_ARGS__                         \
    }
#define DROP(name)                                                             \
    {                                                                          \
        .from = (name)                                                         \
    }
#define END_ROWS                                                               \
    {                                                                          \
        .from = NULL                                                           \
    }
#define LIST(...)                                                              \
    (const char *const[])                                                      \
    {                                                                          \
        __VA_ARGS__, NULL                                                      \
    }
#define ROWS(...)                                                              \
    (const vt_row *const[])                                                    \
    {                                                                          \
        __VA_ARGS__, NULL                                                      \
    }

/* which part of qkv, and of a gated fc1 */
#define Q .parts = 3, .part = 0
#define K .parts = 3, .part = 1
#define V .parts = 3, .part = 2
#define GATE .parts = 2, .part = 0
#define UP .parts = 2, .part = 1
/* beginnings of names: canonical ones, and HF's */
#define ATTN "blocks.#.attn."
#define BACKBONE "patch_embed.backbone."
#define LAYER "encoder.layer.#."
#define LAYERS "encoder.layers.#."
#define NEW "layers.#."
/* of a tower of CLIP or SigLIP */
#define TOWER_ROWS                                                             \
    WITH("embeddings.position_embedding.weight", "pos_embed",                  \
         .layout = VT_TABLE),                                                  \
        AS(LAYERS "layer_norm1.%", "blocks.#.norm1.%"),                        \
        AS(LAYERS "layer_norm2.%", "blocks.#.norm2.%"),                        \
        WITH(LAYERS "self_attn.q_proj.%", ATTN "qkv.%", Q),                    \
        WITH(LAYERS "self_attn.k_proj.%", ATTN "qkv.%", K),                    \
        WITH(LAYERS "self_attn.v_proj.%", ATTN "qkv.%", V),                    \
        AS(LAYERS "self_attn.out_proj.%", ATTN "proj.%"),                      \
        AS(LAYERS "mlp.fc1.%", "blocks.#.mlp.fc1.%"),                          \
        AS(LAYERS "mlp.fc2.%", "blocks.#.mlp.fc2.%")

#endif
