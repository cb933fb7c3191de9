/*
 * dialects.c - tables of the tensor names of other libraries.
 *
 * Canonical names, which models ask for, are those of timm's
 * VisionTransformer; a family has some of them:
 *
 *   cls_token [1,1,D]  dist_token [1,1,D]  reg_token [1,R,D]
 *   pos_embed [1,N,D]     as published: with or without slots for cls, dist
 *   pos_embed.y [1,R,D]  pos_embed.x [1,C,D]   NaFlex: added
 *   patch_embed.proj.{weight [D,C,P,P], bias}
 *   patch_embed.backbone.{stem.,}{conv.weight [O,I,h,w], norm.{weight,bias}}
 *   patch_embed.backbone.stages.s.blocks.b.{conv1..3.weight, norm1..3.%,
 *                                           downsample.{conv.weight,norm.%}}
 *   patch_embed.backbone.{conv1.{0,1,3,4,6}.*, bn1.*, layerN.b.*}    ResNet-D
 *   norm_pre.%  norm.%  fc_norm.%
 *   blocks.i.norm1.%  blocks.i.norm2.%
 *   blocks.i.attn.qkv.{weight [3D,D], bias [3D]}   rows: q, then k, then v
 *   blocks.i.attn.{q_norm,k_norm,norm,proj}.%
 *   blocks.i.attn.relative_position_bias_table     BEiT: [n,H]
 *   blocks.i.attn.rel_pos.relative_position_bias_table
 *   blocks.i.attn.rel_pos.mlp.{fc1,fc2}.%
 *   rel_pos_bias.relative_position_bias_table      one for all blocks
 *   blocks.i.ls1.gamma [D]  blocks.i.ls2.gamma [D]
 *   blocks.i.mlp.{fc1,norm,fc2}.%   SwiGLU: fc1 [2h,D], rows: gate, then value
 *   attn_pool.{latent [1,1,D], q.%, kv.%, proj.%, norm.%, mlp.fc1.%, mlp.fc2.%}
 *   pre_logits.fc.%  pooler.dense.%
 *   head.%  head_dist.%             CLIP's projection: head.weight alone
 *
 * (% is weight and bias.) Where a family has no key bias, that part of
 * attn.qkv.bias is zeros. A name that no row matches is kept, so that a model
 * can report it as unexpected.
 */
#include "weights/dialect_rows.h"

/* timm's own, with the spellings of older timm and of the original files of
 * DINOv2, DeiT-3, BEiT and EVA-02 (timm: each checkpoint_filter_fn), and HF's
 * of TIPSv2 (c_fc, c_proj). */
static const vt_row timm_rows[] = {
    WITH("patch_embed.proj.weight", "patch_embed.proj.weight",
         .layout = VT_PATCH),
    WITH("embeds.proj.%", "patch_embed.proj.%", .layout = VT_PATCH_LAST),
    AS("embeds.norm.%", "patch_embed.norm.%"),
    AS("embeds.pos_embed", "pos_embed"),
    AS("embeds.pos_embed_y", "pos_embed.y"),
    AS("embeds.pos_embed_x", "pos_embed.x"),
    AS("embeds.cls_token", "cls_token"),
    AS("embeds.reg_token", "reg_token"),
    AS("register_tokens", "reg_token"),
    AS("storage_tokens", "reg_token"),
    WITH(ATTN "k_bias", ATTN "qkv.bias", K),
    WITH(ATTN "q_proj.%", ATTN "qkv.%", Q),
    WITH(ATTN "k_proj.%", ATTN "qkv.%", K),
    WITH(ATTN "v_proj.%", ATTN "qkv.%", V),
    AS(ATTN "inner_attn_ln.%", ATTN "norm.%"),
    AS("blocks.#.mlp.w12.%", "blocks.#.mlp.fc1.%"),
    WITH("blocks.#.mlp.fc1_g.%", "blocks.#.mlp.fc1.%", GATE),
    WITH("blocks.#.mlp.fc1_x.%", "blocks.#.mlp.fc1.%", UP),
    WITH("blocks.#.mlp.w1.%", "blocks.#.mlp.fc1.%", GATE),
    WITH("blocks.#.mlp.w2.%", "blocks.#.mlp.fc1.%", UP),
    AS("blocks.#.mlp.w3.%", "blocks.#.mlp.fc2.%"),
    AS("blocks.#.mlp.c_fc.%", "blocks.#.mlp.fc1.%"),
    AS("blocks.#.mlp.c_proj.%", "blocks.#.mlp.fc2.%"),
    AS("patch_embed.backbone.2.conv.%", "patch_embed.proj.%"),
    AS("blocks.#.mlp.ffn_ln.%", "blocks.#.mlp.norm.%"),
    WITH("visual.head.proj.%", "head.%", .whole = true),
    DROP("mask_token"),
    DROP("lm_head.*"),
    AS("rope.freqs", "rope.freqs"),
    DROP("rope.*"),
    DROP("rope_embed.*"),
    DROP(ATTN "rope.*"),
    DROP(ATTN "relative_position_index"),
    DROP(ATTN "rel_pos.relative_position_index"),
    DROP(ATTN "rel_pos.relative_coords_log"),
    DROP("rel_pos_bias.relative_position_index"),
    END_ROWS,
};

/* HF transformers: models/{vit,deit,dinov2,dinov2_with_registers,beit,vit_msn,
 * chinese_clip,altclip,dpt}, without what one family alone has. Those with a
 * name are written, too: see vt_writing in models/family.h. */
const vt_row vt_names_encoder[] = {
    AS("embeddings.cls_token", "cls_token"),
    AS("embeddings.position_embeddings", "pos_embed"),
    AS("embeddings.patch_embeddings.projection.%", "patch_embed.proj.%"),
    WITH(LAYER "attention.attention.query.%", ATTN "qkv.%", Q),
    WITH(LAYER "attention.attention.key.weight", ATTN "qkv.weight", K),
    WITH(LAYER "attention.attention.value.%", ATTN "qkv.%", V),
    AS(LAYER "attention.output.dense.%", ATTN "proj.%"),
    AS("layernorm.%", "norm.%"),
    END_ROWS,
};
const vt_row vt_names_key_bias[] = {
    WITH(LAYER "attention.attention.key.bias", ATTN "qkv.bias", K),
    END_ROWS,
};
const vt_row vt_names_classifier[] = {
    AS("classifier.%", "head.%"),
    END_ROWS,
};
const vt_row vt_names_layer[] = {
    AS(LAYER "intermediate.dense.%", "blocks.#.mlp.fc1.%"),
    AS(LAYER "output.dense.%", "blocks.#.mlp.fc2.%"),
    AS(LAYER "layernorm_before.%", "blocks.#.norm1.%"),
    AS(LAYER "layernorm_after.%", "blocks.#.norm2.%"),
    END_ROWS,
};
const vt_row vt_names_tower[] = {
    WITH("embeddings.patch_embedding.%", "patch_embed.proj.%",
         .layout = VT_PATCH_LAST),
    TOWER_ROWS,
    AS("post_layernorm.%", "norm.%"),
    END_ROWS,
};
static const vt_row hf_rows[] = {
    AS("pooler.dense.%", "pooler.dense.%"),
    /* altclip's, as transformers 5 saves them */
    AS(LAYER "layer_norm1.%", "blocks.#.norm1.%"),
    AS(LAYER "layer_norm2.%", "blocks.#.norm2.%"),
    WITH(LAYER "self_attn.q_proj.%", ATTN "qkv.%", Q),
    WITH(LAYER "self_attn.k_proj.%", ATTN "qkv.%", K),
    WITH(LAYER "self_attn.v_proj.%", ATTN "qkv.%", V),
    AS(LAYER "self_attn.out_proj.%", ATTN "proj.%"),
    /* vit, deit, beit and dinov2 as transformers 5 names them in memory; it
     * saves them under the names above */
    AS(NEW "attention.o_proj.%", ATTN "proj.%"),
    WITH(NEW "attention.q_proj.%", ATTN "qkv.%", Q),
    WITH(NEW "attention.k_proj.%", ATTN "qkv.%", K),
    WITH(NEW "attention.v_proj.%", ATTN "qkv.%", V),
    AS(NEW "layernorm_before.%", "blocks.#.norm1.%"),
    AS(NEW "layernorm_after.%", "blocks.#.norm2.%"),
    AS(NEW "mlp.fc1.%", "blocks.#.mlp.fc1.%"),
    AS(NEW "mlp.fc2.%", "blocks.#.mlp.fc2.%"),
    AS(LAYER "attention.o_proj.%", ATTN "proj.%"),
    WITH(LAYER "attention.q_proj.%", ATTN "qkv.%", Q),
    WITH(LAYER "attention.k_proj.%", ATTN "qkv.%", K),
    WITH(LAYER "attention.v_proj.%", ATTN "qkv.%", V),
    /* not used */
    DROP("embeddings.mask_token"),
    DROP("embeddings.position_ids"),
    DROP("lm_head.*"),
    DROP("decoder.*"),
    DROP("neck.*"), /* dpt's, for depth and segments */
    DROP("head.head.*"),
    DROP("head.projection.*"),
    DROP("auxiliary_head.*"),
    DROP("text_model.*"),
    DROP("text_projection.*"),
    DROP("logit_scale"),
    DROP("logit_bias"),
    END_ROWS,
};

/* OpenAI's CLIP and open_clip's copies of it: model.py, class
 * VisionTransformer. Names without the prefix belong to the text tower. */
#define RES "transformer.resblocks.#."
static const vt_row clip_rows[] = {
    WITH("class_embedding", "cls_token", .layout = VT_TOKEN),
    WITH("positional_embedding", "pos_embed", .layout = VT_TABLE),
    AS("conv1.weight", "patch_embed.proj.weight"),
    AS("ln_pre.%", "norm_pre.%"),
    AS(RES "ln_1.%", "blocks.#.norm1.%"),
    AS(RES "ln_2.%", "blocks.#.norm2.%"),
    AS(RES "attn.in_proj_%", ATTN "qkv.%"),
    AS(RES "attn.out_proj.%", ATTN "proj.%"),
    AS(RES "mlp.c_fc.%", "blocks.#.mlp.fc1.%"),
    AS(RES "mlp.c_proj.%", "blocks.#.mlp.fc2.%"),
    AS(RES "ls_1.gamma", "blocks.#.ls1.gamma"),
    AS(RES "ls_2.gamma", "blocks.#.ls2.gamma"),
    AS("ln_post.%", "norm.%"),
    WITH("proj", "head.weight", .layout = VT_TRANSPOSED),
    END_ROWS,
};

/* Google's vision_transformer (first generation) and big_vision (second:
 * modules have other numbers). In a file of scanned blocks, the first axis of
 * Transformer/encoderblock/... is the depth; canonical.c splits it. timm:
 * _load_weights. */
#define ENC "Transformer/encoderblock_#/"
#define MHA1 ENC "MultiHeadDotProductAttention_1/"
#define MHA0 ENC "MultiHeadDotProductAttention_0/"
#define MAP "MAPHead_0/"
#define UNIT "block#/unit#/"
#define RESNET BACKBONE "stages.@.blocks.@."
static const vt_row npz_rows[] = {
    WITH("embedding/%", "patch_embed.proj.%", .layout = VT_CONV),
    AS("cls", "cls_token"),
    AS("Transformer/posembed_input/pos_embedding", "pos_embed"),
    AS("pos_embedding", "pos_embed"),
    AS("Transformer/encoder_norm/%", "norm.%"),
    WITH("pre_logits/%", "pre_logits.fc.%", .layout = VT_TRANSPOSED),
    WITH("head/%", "head.%", .layout = VT_TRANSPOSED),
    AS(ENC "LayerNorm_0/%", "blocks.#.norm1.%"),
    AS(ENC "LayerNorm_1/%", "blocks.#.norm2.%"),
    AS(ENC "LayerNorm_2/%", "blocks.#.norm2.%"),
    WITH(MHA1 "query/%", ATTN "qkv.%", .layout = VT_HEADS_IN, Q),
    WITH(MHA1 "key/%", ATTN "qkv.%", .layout = VT_HEADS_IN, K),
    WITH(MHA1 "value/%", ATTN "qkv.%", .layout = VT_HEADS_IN, V),
    WITH(MHA1 "out/%", ATTN "proj.%", .layout = VT_HEADS_OUT),
    WITH(MHA0 "query/%", ATTN "qkv.%", .layout = VT_HEADS_IN, Q),
    WITH(MHA0 "key/%", ATTN "qkv.%", .layout = VT_HEADS_IN, K),
    WITH(MHA0 "value/%", ATTN "qkv.%", .layout = VT_HEADS_IN, V),
    WITH(MHA0 "out/%", ATTN "proj.%", .layout = VT_HEADS_OUT),
    WITH(ENC "MlpBlock_3/Dense_0/%", "blocks.#.mlp.fc1.%",
         .layout = VT_TRANSPOSED),
    WITH(ENC "MlpBlock_3/Dense_1/%", "blocks.#.mlp.fc2.%",
         .layout = VT_TRANSPOSED),
    WITH(ENC "MlpBlock_0/Dense_0/%", "blocks.#.mlp.fc1.%",
         .layout = VT_TRANSPOSED),
    WITH(ENC "MlpBlock_0/Dense_1/%", "blocks.#.mlp.fc2.%",
         .layout = VT_TRANSPOSED),
    AS(MAP "probe", "attn_pool.latent"),
    WITH(MAP "MultiHeadDotProductAttention_0/query/%", "attn_pool.q.%",
         .layout = VT_HEADS_IN),
    WITH(MAP "MultiHeadDotProductAttention_0/key/%", "attn_pool.kv.%",
         .layout = VT_HEADS_IN, .parts = 2, .part = 0),
    WITH(MAP "MultiHeadDotProductAttention_0/value/%", "attn_pool.kv.%",
         .layout = VT_HEADS_IN, .parts = 2, .part = 1),
    WITH(MAP "MultiHeadDotProductAttention_0/out/%", "attn_pool.proj.%",
         .layout = VT_HEADS_OUT),
    AS(MAP "LayerNorm_0/%", "attn_pool.norm.%"),
    WITH(MAP "MlpBlock_0/Dense_0/%", "attn_pool.mlp.fc1.%",
         .layout = VT_TRANSPOSED),
    WITH(MAP "MlpBlock_0/Dense_1/%", "attn_pool.mlp.fc2.%",
         .layout = VT_TRANSPOSED),
    /* ResNet stem */
    WITH("conv_root/kernel", BACKBONE "stem.conv.weight", .layout = VT_CONV),
    WITH("gn_root/%", BACKBONE "stem.norm.%", .layout = VT_FLAT),
    WITH(UNIT "conv1/kernel", RESNET "conv1.weight", .layout = VT_CONV),
    WITH(UNIT "conv2/kernel", RESNET "conv2.weight", .layout = VT_CONV),
    WITH(UNIT "conv3/kernel", RESNET "conv3.weight", .layout = VT_CONV),
    WITH(UNIT "conv_proj/kernel", RESNET "downsample.conv.weight",
         .layout = VT_CONV),
    WITH(UNIT "gn1/%", RESNET "norm1.%", .layout = VT_FLAT),
    WITH(UNIT "gn2/%", RESNET "norm2.%", .layout = VT_FLAT),
    WITH(UNIT "gn3/%", RESNET "norm3.%", .layout = VT_FLAT),
    WITH(UNIT "gn_proj/%", RESNET "downsample.norm.%", .layout = VT_FLAT),
    END_ROWS,
};

const vt_dialect vt_dialects[] = {
    {"npz", LIST("embedding/kernel"),
     LIST("opt/target/", "params/img/", "params/", ""), true, ROWS(npz_rows),
     0},
    {"clip", LIST("class_embedding"), LIST("visual."), true, ROWS(clip_rows),
     0},
    {"hf",
     LIST("embeddings.patch_embeddings.projection.weight",
          "embeddings.patch_embedding.weight"),
     LIST("vit.", "deit.", "dinov2.", "dinov2_with_registers.", "beit.",
          "vision_model.", "ijepa.", "data2vec_vision.", "dpt.", ""),
     false,
     ROWS(vt_names_encoder, vt_names_key_bias, vt_names_classifier,
          vt_names_layer, vt_names_tower, hf_rows),
     VT_NAMES_HF},
    /* marks of ResNets, MobileCLIP's stem and NaFlex, too */
    {"timm",
     LIST("patch_embed.proj.weight", "stages.0.blocks.0.conv2.weight",
          "patch_embed.backbone.2.conv.weight", "embeds.proj.weight"),
     LIST("visual.trunk.", "vision_encoder.", ""), true, ROWS(timm_rows),
     VT_NAMES_TIMM},
    {.name = NULL},
};
