/*
 * test_dialects.c - other libraries' tensor names, joined tensors and layouts
 * are converted to the canonical ones.
 *
 * Element i of the n-th tensor of a file is 1000 n + i, so expected values
 * follow from indices.
 */
#include "base/memory.h"
#include "models/family.h"
#include "support/pictures.h"
#include "weights/weights.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

typedef struct made {
    const char *name;
    uint64_t shape[5]; /* ends with 0 */
} made;

static vitcl_status open_made(vt_weights **out, const made *list, size_t n)
{
    char *folder = vt_test_folder(), path[400];
    vt_tensor x[40] = {0};
    static float data[40][1100];
    vt_tensors *raw = NULL;

    cr_assert_leq(n, 40);
    for (size_t i = 0; i < n; i++) {
        x[i].name = list[i].name;
        x[i].count = 1;
        for (; list[i].shape[x[i].rank]; x[i].rank++) {
            x[i].shape[x[i].rank] = list[i].shape[x[i].rank];
            x[i].count *= list[i].shape[x[i].rank];
        }
        cr_assert_leq(x[i].count, 1100);
        for (size_t k = 0; k < x[i].count; k++)
            data[i][k] = (float)(1000 * i + k);
        x[i].data = (const uint8_t *)data[i];
        x[i].size = x[i].count * sizeof(float);
    }
    snprintf(path, sizeof path, "%s/x", folder);
    cr_assert_eq(vt_safetensors_write(path, x, n, NULL), VITCL_OK, "%s",
                 vt_message());
    cr_assert_eq(vt_tensors_open(&raw, path), VITCL_OK, "%s", vt_message());
    vt_test_remove(folder);
    vitcl_status st = vt_weights_new(out, raw, NULL, vt_names_of_families);
    if (st != VITCL_OK)
        vt_tensors_free(raw);
    return st;
}

#define OPEN(w, list)                                                          \
    cr_assert_eq(open_made(&(w), list, VT_COUNT(list)), VITCL_OK, "%s",        \
                 vt_message())

static float got[1000];

/* Reads a weight into got[] and checks its shape. */
static void read_as(const vt_weights *w, const char *name, uint32_t rank,
                    const uint64_t *shape)
{
    const vt_weight *t = vt_weights_get(w, name);

    cr_assert_not_null(t, "%s is not there", name);
    cr_assert_eq(t->rank, rank, "%s: rank %u", name, t->rank);
    for (uint32_t i = 0; i < rank; i++)
        cr_assert_eq(t->shape[i], shape[i], "%s: axis %u is %d", name, i,
                     (int)t->shape[i]);
    cr_assert_eq(vt_weight_f32(got, w, t), VITCL_OK, "%s", vt_message());
}
#define READ(w, name, rank, ...)                                               \
    read_as(w, name, rank, (const uint64_t[]){__VA_ARGS__})

Test(dialects, google)
{
    static const made list[] = {
        {"opt/target/embedding/kernel", {2, 3, 3, 4}}, /* 0 */
        {"opt/target/embedding/bias", {4}},
        {"opt/target/Transformer/encoderblock_0/"
         "MultiHeadDotProductAttention_1/query/kernel",
         {4, 2, 3}}, /* 2 */
        {"opt/target/Transformer/encoderblock_0/"
         "MultiHeadDotProductAttention_1/key/kernel",
         {4, 2, 3}},
        {"opt/target/Transformer/encoderblock_0/"
         "MultiHeadDotProductAttention_1/value/kernel",
         {4, 2, 3}},
        {"opt/target/Transformer/encoderblock_0/"
         "MultiHeadDotProductAttention_1/query/bias",
         {2, 3}}, /* 5 */
        {"opt/target/Transformer/encoderblock_0/"
         "MultiHeadDotProductAttention_1/key/bias",
         {2, 3}},
        {"opt/target/Transformer/encoderblock_0/"
         "MultiHeadDotProductAttention_1/value/bias",
         {2, 3}},
        {"opt/target/Transformer/encoderblock_0/"
         "MultiHeadDotProductAttention_1/out/kernel",
         {2, 3, 4}}, /* 8 */
        {"opt/target/Transformer/encoderblock_0/MlpBlock_3/Dense_0/kernel",
         {4, 5}}, /* 9 */
        {"opt/target/Transformer/encoderblock_0/LayerNorm_2/scale", {4}},
        {"opt/target/head/kernel", {4, 7}}, /* 11 */
        {"opt/target/gn_root/scale", {1, 1, 1, 4}},
        {"opt/target/block2/unit3/conv_proj/kernel", {1, 1, 2, 3}}, /* 13 */
        {"opt/target/conv_root/kernel", {1, 1, 3, 2}},
        {"opt/state/step", {1}},
    };
    vt_weights *w = NULL;

    OPEN(w, list);
    cr_expect_str_eq(vt_weights_dialect(w), "npz");
    cr_expect_eq(vt_weights_count(w), 11);
    READ(w, "patch_embed.proj.weight", 4, 4, 3, 2, 3);
    for (int o = 0, k = 0; o < 4; o++)
        for (int i = 0; i < 3; i++)
            for (int y = 0; y < 2; y++)
                for (int x = 0; x < 3; x++, k++)
                    cr_expect_eq(got[k],
                                 (float)(((y * 3 + x) * 3 + i) * 4 + o));
    READ(w, "blocks.0.attn.qkv.weight", 2, 18, 4);
    for (int r = 0; r < 18; r++)
        for (int d = 0; d < 4; d++)
            cr_expect_eq(got[r * 4 + d],
                         (float)(1000 * (2 + r / 6) + d * 6 + r % 6));
    READ(w, "blocks.0.attn.qkv.bias", 1, 18);
    for (int r = 0; r < 18; r++)
        cr_expect_eq(got[r], (float)(1000 * (5 + r / 6) + r % 6));
    READ(w, "blocks.0.attn.proj.weight", 2, 4, 6);
    for (int o = 0; o < 4; o++)
        for (int i = 0; i < 6; i++)
            cr_expect_eq(got[o * 6 + i], (float)(8000 + i * 4 + o));
    READ(w, "blocks.0.mlp.fc1.weight", 2, 5, 4);
    for (int o = 0; o < 5; o++)
        for (int i = 0; i < 4; i++)
            cr_expect_eq(got[o * 4 + i], (float)(9000 + i * 5 + o));
    READ(w, "blocks.0.norm2.weight", 1, 4);
    READ(w, "head.weight", 2, 7, 4);
    READ(w, "patch_embed.backbone.stem.norm.weight", 1, 4);
    READ(w, "patch_embed.backbone.stages.1.blocks.2.downsample.conv.weight", 4,
         3, 2, 1, 1);
    cr_expect(got[0] == 13000 && got[1] == 13003 && got[2] == 13001);
    READ(w, "patch_embed.backbone.stem.conv.weight", 4, 2, 3, 1, 1);
    vt_weights_free(w);
}

Test(dialects, big_vision)
{
    static const made list[] = {
        {"params/img/embedding/kernel", {1, 1, 3, 4}}, /* 0 */
        {"params/img/pos_embedding", {1, 9, 4}},
        {"params/img/Transformer/encoderblock/LayerNorm_1/bias", {3, 4}},
        {"params/img/Transformer/encoderblock/MlpBlock_0/Dense_1/kernel",
         {3, 5, 4}}, /* 3 */
        {"params/img/Transformer/encoderblock/MultiHeadDotProductAttention_0/"
         "out/kernel",
         {3, 2, 2, 4}}, /* 4 */
        {"params/img/MAPHead_0/MultiHeadDotProductAttention_0/key/bias",
         {2, 2}}, /* 5 */
        {"params/img/MAPHead_0/MultiHeadDotProductAttention_0/value/bias",
         {2, 2}},
        {"params/img/MAPHead_0/probe", {1, 1, 4}},
        {"params/txt/embedding/kernel", {3, 3}},
        {"params/img/conv_root/kernel", {1, 1, 3, 2}},
    };
    vt_weights *w = NULL;

    OPEN(w, list);
    cr_expect_eq(vt_weights_count(w), 1 + 1 + 3 * 3 + 2 + 1);
    READ(w, "blocks.2.norm2.bias", 1, 4);
    cr_expect_eq(got[1], 2000 + 2 * 4 + 1);
    READ(w, "blocks.1.mlp.fc2.weight", 2, 4, 5);
    for (int o = 0; o < 4; o++)
        for (int i = 0; i < 5; i++)
            cr_expect_eq(got[o * 5 + i], (float)(3000 + 20 + i * 4 + o));
    READ(w, "blocks.1.attn.proj.weight", 2, 4, 4);
    cr_expect_eq(got[1], 4000 + 16 + 4);
    READ(w, "attn_pool.kv.bias", 1, 8);
    cr_expect(got[3] == 5003 && got[4] == 6000);
    READ(w, "attn_pool.latent", 3, 1, 1, 4);
    /* Without stages, timm's stem has no name of its own. */
    READ(w, "patch_embed.backbone.conv.weight", 4, 2, 3, 1, 1);
    vt_weights_free(w);
}

Test(dialects, older_timm)
{
    static const made list[] = {
        {"patch_embed.proj.weight", {2, 12}}, /* 0: 3 channels, 2 x 2 */
        {"blocks.10.attn.q_bias", {2}},
        {"blocks.10.attn.v_bias", {2}},
        {"blocks.10.gamma_2", {2}}, /* 3 */
        {"blocks.1.attn.q_proj.weight", {2, 2}},
        {"blocks.1.attn.k_proj.weight", {2, 2}},
        {"blocks.1.attn.v_proj.weight", {2, 2}}, /* 6 */
        {"blocks.1.attn.q_proj.bias", {2}},
        {"blocks.1.attn.v_proj.bias", {2}},
        {"blocks.1.mlp.w1.weight", {3, 2}}, /* 9 */
        {"blocks.1.mlp.w2.weight", {3, 2}},
        {"blocks.1.mlp.w3.weight", {2, 3}},
        {"blocks.1.mlp.ffn_ln.bias", {3}},
        {"blocks.2.mlp.w12.bias", {6}},
        {"register_tokens", {1, 4, 2}},
        {"mask_token", {1, 2}},
        {"rope.freqs_cos", {4}},
        {"something.else", {3}},
    };
    vt_weights *w = NULL;

    OPEN(w, list);
    cr_expect_str_eq(vt_weights_dialect(w), "timm");
    READ(w, "patch_embed.proj.weight", 4, 2, 3, 2, 2);
    cr_expect_eq(got[13], 13);
    READ(w, "blocks.10.attn.qkv.bias", 1, 6);
    cr_expect(got[1] == 1001 && got[2] == 0 && got[3] == 0 && got[4] == 2000);
    READ(w, "blocks.10.ls2.gamma", 1, 2);
    READ(w, "blocks.1.attn.qkv.weight", 2, 6, 2);
    cr_expect(got[0] == 4000 && got[4] == 5000 && got[11] == 6003);
    READ(w, "blocks.1.attn.qkv.bias", 1, 6);
    cr_expect(got[0] == 7000 && got[2] == 0 && got[5] == 8001);
    READ(w, "blocks.1.mlp.fc1.weight", 2, 6, 2);
    cr_expect(got[5] == 9005 && got[6] == 10000);
    READ(w, "blocks.1.mlp.fc2.weight", 2, 2, 3);
    READ(w, "blocks.1.mlp.norm.bias", 1, 3);
    READ(w, "blocks.2.mlp.fc1.bias", 1, 6);
    READ(w, "reg_token", 3, 1, 4, 2);
    READ(w, "something.else", 1, 3);
    cr_expect_null(vt_weights_get(w, "mask_token"));
    cr_expect_null(vt_weights_get(w, "rope.freqs_cos"));
    cr_expect_eq(vt_weights_count(w), 11);
    vt_weights_free(w);
}

Test(dialects, hugging_face)
{
    static const made list[] = {
        {"vision_model.embeddings.patch_embedding.weight", {4, 3, 2, 2}},
        {"vision_model.embeddings.class_embedding", {4}},
        {"vision_model.embeddings.position_embedding.weight", {5, 4}},
        {"vision_model.embeddings.position_ids", {1, 5}},
        {"vision_model.encoder.layers.3.self_attn.v_proj.bias", {4}}, /* 4 */
        {"vision_model.encoder.layers.3.self_attn.k_proj.bias", {4}},
        {"vision_model.encoder.layers.3.self_attn.q_proj.bias", {4}},
        {"vision_model.head.attention.in_proj_weight", {12, 4}}, /* 7 */
        {"vision_model.head.attention.in_proj_bias", {12}},
        {"vision_model.pre_layrnorm.bias", {4}},
        {"text_model.embeddings.token_embedding.weight", {9, 4}},
        {"visual_projection.weight", {6, 4}},
        {"logit_scale", {1}},
    };
    vt_weights *w = NULL;

    OPEN(w, list);
    cr_expect_str_eq(vt_weights_dialect(w), "hf");
    READ(w, "cls_token", 3, 1, 1, 4);
    READ(w, "pos_embed", 3, 1, 5, 4);
    READ(w, "blocks.3.attn.qkv.bias", 1, 12);
    cr_expect(got[0] == 6000 && got[4] == 5000 && got[8] == 4000);
    READ(w, "attn_pool.q.weight", 2, 4, 4);
    cr_expect_eq(got[0], 7000);
    READ(w, "attn_pool.kv.weight", 2, 8, 4);
    cr_expect(got[0] == 7016 && got[31] == 7047);
    READ(w, "attn_pool.kv.bias", 1, 8);
    cr_expect_eq(got[0], 8004);
    READ(w, "norm_pre.bias", 1, 4);
    READ(w, "head.weight", 2, 6, 4);
    cr_expect_eq(vt_weights_count(w), 10);
    vt_weights_free(w);
}

Test(dialects, openai_clip)
{
    static const made list[] = {
        {"visual.class_embedding", {4}},
        {"visual.positional_embedding", {5, 4}},
        {"visual.conv1.weight", {4, 3, 2, 2}},
        {"visual.transformer.resblocks.1.attn.in_proj_weight", {12, 4}},
        {"visual.transformer.resblocks.1.mlp.c_proj.bias", {4}},
        {"visual.proj", {4, 6}}, /* 5 */
        {"positional_embedding", {7, 4}},
        {"transformer.resblocks.0.ln_1.bias", {4}},
    };
    vt_weights *w = NULL;

    OPEN(w, list);
    cr_expect_str_eq(vt_weights_dialect(w), "clip");
    READ(w, "pos_embed", 3, 1, 5, 4);
    READ(w, "head.weight", 2, 6, 4);
    cr_expect(got[0] == 5000 && got[1] == 5006 && got[4] == 5001);
    READ(w, "blocks.1.attn.qkv.weight", 2, 12, 4);
    READ(w, "blocks.1.mlp.fc2.bias", 1, 4);
    cr_expect_eq(vt_weights_count(w), 6);
    vt_weights_free(w);
}

Test(dialects, diagnoses)
{
    static const struct {
        made list[4];
        size_t n;
        const char *says;
    } all[] = {
        {{{"a", {1}}}, 1, "no patch embedding"},
        {{{"patch_embed.proj.weight", {2, 3, 1, 1}},
          {"blocks.0.attn.q_proj.weight", {2, 2}},
          {"blocks.0.attn.v_proj.weight", {2, 2}}},
         3,
         "the rest is missing"},
        {{{"patch_embed.proj.weight", {2, 3, 1, 1}},
          {"blocks.0.attn.q_bias", {2}}},
         2,
         "the rest is missing"},
        {{{"patch_embed.proj.weight", {2, 3, 1, 1}},
          {"blocks.0.mlp.fc1_g.weight", {2, 2}},
          {"blocks.0.mlp.fc1_x.weight", {2, 3}}},
         3,
         "cannot be joined"},
        {{{"patch_embed.proj.weight", {2, 3, 1, 1}},
          {"blocks.0.mlp.w3.weight", {2, 2}},
          {"blocks.0.mlp.fc2.weight", {2, 2}}},
         3,
         "both map to blocks.0.mlp.fc2.weight"},
        {{{"embedding/kernel", {2, 3}}}, 1, "shape is not"},
        {{{"embedding/kernel", {1, 1, 3, 2}},
          {"Transformer/encoderblock_0/MultiHeadDotProductAttention_0/out/"
           "kernel",
           {2, 3}}},
         2,
         "shape is not"},
        /* a file's number of blocks side by side, up to a limit */
        {{{"embedding/kernel", {1, 1, 3, 2}},
          {"Transformer/encoderblock/LayerNorm_0/scale", {1024, 1}}},
         2,
         NULL},
        {{{"embedding/kernel", {1, 1, 3, 2}},
          {"Transformer/encoderblock/LayerNorm_0/scale", {1025, 1}}},
         2,
         "shape is not [depth,...]"},
        {{{"visual.class_embedding", {2}},
          {"visual.transformer.resblocks.0.attn.in_proj_weight", {2, 2}},
          {"visual.transformer.resblocks.00000.attn.out_proj.weight", {2, 2}}},
         3,
         NULL},
        {{{"vit.embeddings.patch_embeddings.projection.weight", {2, 3, 1, 1}},
          {"vit.head.attention.in_proj_bias", {4}}},
         2,
         "equal shares"},
    };
    for (size_t i = 0; i < VT_COUNT(all); i++) {
        vt_weights *w = NULL;
        vitcl_status st = open_made(&w, all[i].list, all[i].n);
        if (all[i].says) {
            cr_expect_neq(st, VITCL_OK, "case %zu", i);
            cr_expect(strstr(vt_message(), all[i].says), "case %zu: %s", i,
                      vt_message());
        } else {
            cr_expect_eq(st, VITCL_OK, "case %zu: %s", i, vt_message());
        }
        vt_weights_free(w);
    }
}

/* torch.compile, DataParallel, FSDP and Lightning add to names, in any order
 * and number, also in the middle. */
Test(dialects, wrappers)
{
    static const char *const before[] = {"",
                                         "module.",
                                         "_orig_mod.",
                                         "_orig_mod.module.",
                                         "module._orig_mod.",
                                         "module.module.",
                                         "model._orig_mod.",
                                         "model.module.",
                                         "_orig_mod.model.",
                                         "model.model.",
                                         "_fsdp_wrapped_module._orig_mod.",
                                         "_forward_module.module.",
                                         "net._orig_mod.",
                                         "model.backbone.",
                                         "_forward_module.model.network."};
    static const struct {
        const char *dialect, *patch, *block, *inside;
    } of[] = {
        {"timm", "patch_embed.proj.weight", "blocks.0.norm1.weight",
         "blocks.1._orig_mod.norm1.weight"},
        {"timm", "visual.trunk.patch_embed.proj.weight",
         "visual.trunk.blocks.0.norm1.weight",
         "visual.trunk.blocks.1._checkpoint_wrapped_module.norm1.weight"},
        {"hf", "vit.embeddings.patch_embeddings.projection.weight",
         "vit.encoder.layer.0.layernorm_before.weight",
         "vit._orig_mod.encoder.layer.1.layernorm_before.weight"},
        {"clip", "visual.conv1.weight",
         "visual.transformer.resblocks.0.ln_1.weight",
         "visual._orig_mod.transformer.resblocks.1.module.ln_1.weight"},
    };
    char name[4][160];

    for (size_t i = 0; i < VT_COUNT(of); i++)
        for (size_t k = 0; k < VT_COUNT(before); k++) {
            made list[4] = {{name[0], {4, 3, 2, 2}},
                            {name[1], {4}},
                            {name[2], {4}},
                            {name[3], {4}}};
            vt_weights *w = NULL;

            snprintf(name[0], sizeof name[0], "%s%s", before[k], of[i].patch);
            snprintf(name[1], sizeof name[1], "%s%s", before[k], of[i].block);
            snprintf(name[2], sizeof name[2], "%s%s", before[k], of[i].inside);
            snprintf(name[3], sizeof name[3], "%svisual.class_embedding",
                     before[k]);
            cr_assert_eq(open_made(&w, list, i == 3 ? 4 : 3), VITCL_OK,
                         "%s%s: %s", before[k], of[i].patch, vt_message());
            cr_expect_str_eq(vt_weights_dialect(w), of[i].dialect);
            READ(w, "patch_embed.proj.weight", 4, 4, 3, 2, 2);
            READ(w, "blocks.0.norm1.weight", 1, 4);
            READ(w, "blocks.1.norm1.weight", 1, 4);
            vt_weights_free(w);
        }
}

/* One name twice is an error, not one of the two. */
Test(dialects, wrapped_twice)
{
    static const made list[] = {{"patch_embed.proj.weight", {4, 3, 2, 2}},
                                {"norm.weight", {4}},
                                {"module.norm.weight", {4}}};
    vt_weights *w = NULL;

    cr_expect_eq(open_made(&w, list, VT_COUNT(list)), VITCL_ECORRUPT);
    cr_expect(strstr(vt_message(), "both map to norm.weight"), "%s",
              vt_message());
}
