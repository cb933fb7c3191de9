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

#define Q .parts = 3, .part = 0
#define K .parts = 3, .part = 1
#define V .parts = 3, .part = 2
#define ATTN "blocks.#.attn."

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
    WITH("blocks.#.gamma_1", "blocks.#.ls1.gamma", .types = VT_TIMM_BEIT),
    WITH("blocks.#.gamma_2", "blocks.#.ls2.gamma", .types = VT_TIMM_BEIT),
    WITH(ATTN "q_bias", ATTN "qkv.bias", Q, .types = VT_TIMM_BEIT),
    WITH(ATTN "k_bias", ATTN "qkv.bias", K),
    WITH(ATTN "v_bias", ATTN "qkv.bias", V, .types = VT_TIMM_BEIT),
    WITH(ATTN "q_proj.%", ATTN "qkv.%", Q),
    WITH(ATTN "k_proj.%", ATTN "qkv.%", K),
    WITH(ATTN "v_proj.%", ATTN "qkv.%", V),
    AS(ATTN "inner_attn_ln.%", ATTN "norm.%"),
    AS("blocks.#.mlp.w12.%", "blocks.#.mlp.fc1.%"),
    WITH("blocks.#.mlp.fc1_g.%", "blocks.#.mlp.fc1.%", .parts = 2, .part = 0),
    WITH("blocks.#.mlp.fc1_x.%", "blocks.#.mlp.fc1.%", .parts = 2, .part = 1),
    WITH("blocks.#.mlp.w1.%", "blocks.#.mlp.fc1.%", .parts = 2, .part = 0),
    WITH("blocks.#.mlp.w2.%", "blocks.#.mlp.fc1.%", .parts = 2, .part = 1),
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
    {.from = NULL},
};

#define VIT_LIKE (VT_HF_VIT | VT_HF_DEIT | VT_HF_BEIT)
#define DINOS (VT_HF_DINOV2 | VT_HF_DINOV2_GLU)
#define LAYERED (VIT_LIKE | DINOS)
#define TOWERS (VT_HF_CLIP | VT_HF_SIGLIP)
#define LAYER "encoder.layer.#."
#define LAYERS "encoder.layers.#."
#define NEW "layers.#."
#define BIT "embeddings.patch_embeddings.backbone.bit."
#define BACKBONE "patch_embed.backbone."
#define STAGE "encoder.stages.#.layers.#."
#define BLOCK "stages.#.blocks.#."

/* HF transformers: models/{vit,deit,dinov2,dinov2_with_registers,beit,vit_msn,
 * vit_hybrid,clip,siglip,metaclip_2,chinese_clip,altclip,dpt,yolos}. */
static const vt_row hf_rows[] = {
    WITH("embeddings.cls_token", "cls_token", .types = LAYERED),
    WITH("embeddings.distillation_token", "dist_token", .types = VT_HF_DEIT),
    WITH("embeddings.register_tokens", "reg_token", .types = DINOS),
    WITH("embeddings.position_embeddings", "pos_embed", .types = LAYERED),
    WITH("embeddings.patch_embeddings.projection.%", "patch_embed.proj.%",
         .types = LAYERED),
    WITH(LAYER "attention.attention.query.%", ATTN "qkv.%", Q,
         .types = LAYERED),
    WITH(LAYER "attention.attention.key.weight", ATTN "qkv.weight", K,
         .types = LAYERED),
    WITH(LAYER "attention.attention.key.bias", ATTN "qkv.bias", K,
         .types = LAYERED & ~VT_HF_BEIT),
    WITH(LAYER "attention.attention.value.%", ATTN "qkv.%", V,
         .types = LAYERED),
    WITH(LAYER "attention.attention.relative_position_bias."
               "relative_position_bias_table",
         ATTN "relative_position_bias_table", .types = VT_HF_BEIT),
    WITH("encoder.relative_position_bias.relative_position_bias_table",
         "rel_pos_bias.relative_position_bias_table", .types = VT_HF_BEIT),
    WITH(LAYER "attention.output.dense.%", ATTN "proj.%", .types = LAYERED),
    WITH(LAYER "intermediate.dense.%", "blocks.#.mlp.fc1.%", .types = VIT_LIKE),
    WITH(LAYER "output.dense.%", "blocks.#.mlp.fc2.%", .types = VIT_LIKE),
    WITH(LAYER "layernorm_before.%", "blocks.#.norm1.%", .types = VIT_LIKE),
    WITH(LAYER "layernorm_after.%", "blocks.#.norm2.%", .types = VIT_LIKE),
    WITH(LAYER "norm1.%", "blocks.#.norm1.%", .types = DINOS),
    WITH(LAYER "norm2.%", "blocks.#.norm2.%", .types = DINOS),
    WITH(LAYER "mlp.weights_in.%", "blocks.#.mlp.fc1.%",
         .types = VT_HF_DINOV2_GLU),
    WITH(LAYER "mlp.weights_out.%", "blocks.#.mlp.fc2.%",
         .types = VT_HF_DINOV2_GLU),
    WITH(LAYER "mlp.fc1.%", "blocks.#.mlp.fc1.%", .types = VT_HF_DINOV2),
    WITH(LAYER "mlp.fc2.%", "blocks.#.mlp.fc2.%", .types = VT_HF_DINOV2),
    WITH(LAYER "layer_scale1.lambda1", "blocks.#.ls1.gamma", .types = DINOS),
    WITH(LAYER "layer_scale2.lambda1", "blocks.#.ls2.gamma", .types = DINOS),
    WITH(LAYER "lambda_1", "blocks.#.ls1.gamma", .types = VT_HF_BEIT),
    WITH(LAYER "lambda_2", "blocks.#.ls2.gamma", .types = VT_HF_BEIT),
    WITH("layernorm.%", "norm.%", .types = LAYERED),
    WITH("pooler.layernorm.%", "fc_norm.%", .types = VT_HF_BEIT),
    AS("pooler.dense.%", "pooler.dense.%"),
    WITH("cls_classifier.%", "head.%", .types = VT_HF_DEIT),
    WITH("distillation_classifier.%", "head_dist.%", .types = VT_HF_DEIT),
    WITH("classifier.%", "head.%", .types = LAYERED & ~VT_HF_DEIT),
    /* vit_hybrid */
    AS(BIT "embedder.convolution.weight", BACKBONE "stem.conv.weight"),
    AS(BIT "embedder.norm.%", BACKBONE "stem.norm.%"),
    AS(BIT STAGE "conv1.weight", BACKBONE BLOCK "conv1.weight"),
    AS(BIT STAGE "conv2.weight", BACKBONE BLOCK "conv2.weight"),
    AS(BIT STAGE "conv3.weight", BACKBONE BLOCK "conv3.weight"),
    AS(BIT STAGE "norm1.%", BACKBONE BLOCK "norm1.%"),
    AS(BIT STAGE "norm2.%", BACKBONE BLOCK "norm2.%"),
    AS(BIT STAGE "norm3.%", BACKBONE BLOCK "norm3.%"),
    AS(BIT STAGE "downsample.conv.weight",
       BACKBONE BLOCK "downsample.conv.weight"),
    AS(BIT STAGE "downsample.norm.%", BACKBONE BLOCK "downsample.norm.%"),
    /* clip and siglip towers; "pre_layrnorm" is their spelling */
    WITH("embeddings.class_embedding", "cls_token", .layout = VT_TOKEN,
         .types = VT_HF_CLIP),
    WITH("embeddings.patch_embedding.%", "patch_embed.proj.%",
         .layout = VT_PATCH_LAST, .types = TOWERS),
    WITH("embeddings.position_embedding.weight", "pos_embed",
         .layout = VT_TABLE, .types = TOWERS),
    WITH("pre_layrnorm.%", "norm_pre.%", .types = VT_HF_CLIP),
    WITH(LAYERS "layer_norm1.%", "blocks.#.norm1.%", .types = TOWERS),
    WITH(LAYERS "layer_norm2.%", "blocks.#.norm2.%", .types = TOWERS),
    WITH(LAYERS "self_attn.q_proj.%", ATTN "qkv.%", Q, .types = TOWERS),
    WITH(LAYERS "self_attn.k_proj.%", ATTN "qkv.%", K, .types = TOWERS),
    WITH(LAYERS "self_attn.v_proj.%", ATTN "qkv.%", V, .types = TOWERS),
    WITH(LAYERS "self_attn.out_proj.%", ATTN "proj.%", .types = TOWERS),
    WITH(LAYERS "mlp.fc1.%", "blocks.#.mlp.fc1.%", .types = TOWERS),
    WITH(LAYERS "mlp.fc2.%", "blocks.#.mlp.fc2.%", .types = TOWERS),
    WITH("post_layernorm.%", "norm.%", .types = TOWERS),
    WITH("visual_projection.weight", "head.weight", .types = VT_HF_CLIP),
    WITH("head.probe", "attn_pool.latent", .types = VT_HF_SIGLIP),
    WITH("head.attention.in_proj_%", "attn_pool.q.%", .first = 0, .last = 0,
         .of = 3, .types = VT_HF_SIGLIP),
    WITH("head.attention.in_proj_%", "attn_pool.kv.%", .first = 1, .last = 2,
         .of = 3, .types = VT_HF_SIGLIP),
    WITH("head.attention.out_proj.%", "attn_pool.proj.%",
         .types = VT_HF_SIGLIP),
    WITH("head.layernorm.%", "attn_pool.norm.%", .types = VT_HF_SIGLIP),
    WITH("head.mlp.fc1.%", "attn_pool.mlp.fc1.%", .types = VT_HF_SIGLIP),
    WITH("head.mlp.fc2.%", "attn_pool.mlp.fc2.%", .types = VT_HF_SIGLIP),
    /* altclip's, as transformers 5 saves them */
    AS(LAYER "layer_norm1.%", "blocks.#.norm1.%"),
    AS(LAYER "layer_norm2.%", "blocks.#.norm2.%"),
    WITH(LAYER "self_attn.q_proj.%", ATTN "qkv.%", Q),
    WITH(LAYER "self_attn.k_proj.%", ATTN "qkv.%", K),
    WITH(LAYER "self_attn.v_proj.%", ATTN "qkv.%", V),
    AS(LAYER "self_attn.out_proj.%", ATTN "proj.%"),
    /* yolos: more tokens, and positions behind each block */
    AS("embeddings.detection_tokens", "reg_token"),
    AS("encoder.mid_position_embeddings", "mid_pos_embed"),
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
    AS(NEW "lambda_1", "blocks.#.ls1.gamma"),
    AS(NEW "lambda_2", "blocks.#.ls2.gamma"),
    AS(NEW "relative_position_bias.relative_position_bias_table",
       ATTN "relative_position_bias_table"),
    AS("relative_position_bias.relative_position_bias_table",
       "rel_pos_bias.relative_position_bias_table"),
    AS(LAYER "attention.o_proj.%", ATTN "proj.%"),
    WITH(LAYER "attention.q_proj.%", ATTN "qkv.%", Q),
    WITH(LAYER "attention.k_proj.%", ATTN "qkv.%", K),
    WITH(LAYER "attention.v_proj.%", ATTN "qkv.%", V),
    WITH(LAYER "mlp.gate_proj.%", "blocks.#.mlp.fc1.%", .parts = 2, .part = 0),
    WITH(LAYER "mlp.up_proj.%", "blocks.#.mlp.fc1.%", .parts = 2, .part = 1),
    AS(LAYER "mlp.down_proj.%", "blocks.#.mlp.fc2.%"),
    /* not used */
    DROP("embeddings.mask_token"),
    DROP("embeddings.position_ids"),
    DROP(LAYER
         "attention.attention.relative_position_bias.relative_position_index"),
    DROP("encoder.relative_position_bias.relative_position_index"),
    DROP("lm_head.*"),
    DROP("decoder.*"),
    DROP("neck.*"), /* dpt's, for depth and segments */
    DROP("head.head.*"),
    DROP("head.projection.*"),
    DROP("auxiliary_head.*"),
    DROP("class_labels_classifier.*"), /* yolos' */
    DROP("bbox_predictor.*"),
    DROP("text_model.*"),
    DROP("text_projection.*"),
    DROP("logit_scale"),
    DROP("logit_bias"),
    {.from = NULL},
};

/* HF transformers: models/dinov3_vit; the MLP's name of fc1 depends on
 * whether it is gated. */
#define DINOV3                                                                 \
    AS("embeddings.cls_token", "cls_token"),                                   \
        AS("embeddings.register_tokens", "reg_token"),                         \
        AS("embeddings.patch_embeddings.%", "patch_embed.proj.%"),             \
        AS("layer.#.norm1.%", "blocks.#.norm1.%"),                             \
        AS("layer.#.norm2.%", "blocks.#.norm2.%"),                             \
        WITH("layer.#.attention.q_proj.%", ATTN "qkv.%", Q),                   \
        WITH("layer.#.attention.k_proj.%", ATTN "qkv.%", K),                   \
        WITH("layer.#.attention.v_proj.%", ATTN "qkv.%", V),                   \
        AS("layer.#.attention.o_proj.%", ATTN "proj.%"),                       \
        AS("layer.#.layer_scale1.lambda1", "blocks.#.ls1.gamma"),              \
        AS("layer.#.layer_scale2.lambda1", "blocks.#.ls2.gamma"),              \
        AS("layer.#.mlp.down_proj.%", "blocks.#.mlp.fc2.%"),                   \
        AS("norm.%", "norm.%"), DROP("embeddings.mask_token"),                 \
        DROP("rope_embeddings.*")
static const vt_row dinov3_rows[] = {
    DINOV3,
    AS("layer.#.mlp.up_proj.%", "blocks.#.mlp.fc1.%"),
    {.from = NULL},
};
static const vt_row dinov3_gated_rows[] = {
    DINOV3,
    WITH("layer.#.mlp.gate_proj.%", "blocks.#.mlp.fc1.%", .parts = 2,
         .part = 0),
    WITH("layer.#.mlp.up_proj.%", "blocks.#.mlp.fc1.%", .parts = 2, .part = 1),
    {.from = NULL},
};

/* HF transformers: models/aimv2. */
static const vt_row aimv2_rows[] = {
    AS("embeddings.patch_embed.%", "patch_embed.proj.%"),
    AS("embeddings.rms_norm.weight", "patch_embed.norm.weight"),
    WITH("embeddings.position_embedding.weight", "pos_embed",
         .layout = VT_TABLE),
    AS(LAYERS "rms_norm1.weight", "blocks.#.norm1.weight"),
    AS(LAYERS "rms_norm2.weight", "blocks.#.norm2.weight"),
    WITH(LAYERS "attention.q_proj.%", ATTN "qkv.%", Q),
    WITH(LAYERS "attention.k_proj.%", ATTN "qkv.%", K),
    WITH(LAYERS "attention.v_proj.%", ATTN "qkv.%", V),
    AS(LAYERS "attention.out_proj.%", ATTN "proj.%"),
    WITH(LAYERS "ffn.gate_proj.%", "blocks.#.mlp.fc1.%", .parts = 2, .part = 0),
    WITH(LAYERS "ffn.up_proj.%", "blocks.#.mlp.fc1.%", .parts = 2, .part = 1),
    AS(LAYERS "ffn.down_proj.%", "blocks.#.mlp.fc2.%"),
    AS("rms_norm.weight", "norm.weight"),
    AS("head.cls_token", "attn_pool.latent"),
    WITH("head.k_proj.%", "attn_pool.kv.%", .parts = 2, .part = 0),
    WITH("head.v_proj.%", "attn_pool.kv.%", .parts = 2, .part = 1),
    AS("head.output_proj.%", "attn_pool.proj.%"),
    AS("visual_projection.weight", "head.weight"),
    DROP("embeddings.position_ids"),
    DROP("text_model.*"),
    DROP("text_projection.*"),
    DROP("logit_scale"),
    {.from = NULL},
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
    WITH("proj", "head.weight", .layout = VT_LINEAR),
    {.from = NULL},
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
    WITH("pre_logits/%", "pre_logits.fc.%", .layout = VT_LINEAR),
    WITH("head/%", "head.%", .layout = VT_LINEAR),
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
    WITH(ENC "MlpBlock_3/Dense_0/%", "blocks.#.mlp.fc1.%", .layout = VT_LINEAR),
    WITH(ENC "MlpBlock_3/Dense_1/%", "blocks.#.mlp.fc2.%", .layout = VT_LINEAR),
    WITH(ENC "MlpBlock_0/Dense_0/%", "blocks.#.mlp.fc1.%", .layout = VT_LINEAR),
    WITH(ENC "MlpBlock_0/Dense_1/%", "blocks.#.mlp.fc2.%", .layout = VT_LINEAR),
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
         .layout = VT_LINEAR),
    WITH(MAP "MlpBlock_0/Dense_1/%", "attn_pool.mlp.fc2.%",
         .layout = VT_LINEAR),
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
    {.from = NULL},
};

static const char *const npz_marks[] = {"embedding/kernel", NULL};
static const char *const npz_prefixes[] = {"opt/target/", "params/img/",
                                           "params/", "", NULL};
static const char *const clip_marks[] = {"class_embedding", NULL};
static const char *const clip_prefixes[] = {"visual.", NULL};
static const char *const hf_marks[] = {
    "embeddings.patch_embeddings.projection.weight",
    "embeddings.patch_embedding.weight", NULL};
static const char *const hf_prefixes[] = {"vit.",    "deit.",
                                          "dinov2.", "dinov2_with_registers.",
                                          "beit.",   "vision_model.",
                                          "ijepa.",  "data2vec_vision.",
                                          "dpt.",    "",
                                          NULL};
static const char *const aimv2_marks[] = {"embeddings.patch_embed.weight",
                                          NULL};
static const char *const aimv2_prefixes[] = {"vision_model.", "", NULL};
static const char *const dinov3_marks[] = {"embeddings.patch_embeddings.weight",
                                           NULL};
static const char *const dinov3_gated_marks[] = {"layer.0.mlp.gate_proj.weight",
                                                 NULL};
static const char *const dinov3_prefixes[] = {"", NULL};
/* the second: ResNets; the third: MobileCLIP's stem; the fourth: NaFlex */
static const char *const timm_marks[] = {
    "patch_embed.proj.weight", "stages.0.blocks.0.conv2.weight",
    "patch_embed.backbone.2.conv.weight", "embeds.proj.weight", NULL};
static const char *const timm_prefixes[] = {"visual.trunk.", "vision_encoder.",
                                            "", NULL};

const vt_dialect vt_dialects[] = {
    {"npz", npz_marks, npz_prefixes, true, npz_rows},
    {"clip", clip_marks, clip_prefixes, true, clip_rows},
    {"dinov3 gated", dinov3_gated_marks, dinov3_prefixes, false,
     dinov3_gated_rows},
    {"dinov3", dinov3_marks, dinov3_prefixes, false, dinov3_rows},
    {"aimv2", aimv2_marks, aimv2_prefixes, false, aimv2_rows},
    {"hf", hf_marks, hf_prefixes, false, hf_rows},
    {"timm", timm_marks, timm_prefixes, true, timm_rows},
    {NULL, NULL, NULL, false, NULL},
};
