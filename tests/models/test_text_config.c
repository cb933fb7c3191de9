/*
 * test_text_config.c - configs of text towers, and those of open_clip's
 * folders: values that mean another model are refused by name, and so is
 * damage. The config of a golden is changed in one place.
 */
#include "models/model.h"
#include "models/preprocess.h"
#include "support/paths.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vitcl_text.h>

/* The folder of a golden with `from` in its config replaced by `to`. */
static const char *changed(const char *name, const char *file, const char *from,
                           const char *to)
{
    static const char *const weights[] = {"model.safetensors",
                                          "open_clip_model.safetensors",
                                          "open_clip_pytorch_model.bin"};
    static char text[1 << 14], next[1 << 14];
    const char *folder = vt_test_folder();
    char path[512], target[600];
    size_t size = 0;
    unsigned char *config;
    char *at;

    snprintf(path, sizeof path, "%s/text/%s", VT_DATA, name);
    config = vt_test_bytes(&size, path, file);
    cr_assert(config && size < sizeof text / 2, "%s", path);
    memcpy(text, config, size);
    text[size] = '\0';
    free(config);
    at = strstr(text, from);
    cr_assert(at, "%s has no %s", path, from);
    snprintf(next, sizeof next, "%.*s%s%s", (int)(at - text), text, to,
             at + strlen(from));
    vt_test_text(folder, file, next);
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        snprintf(target, sizeof target, "%s/%s", path, weights[i]);
        if (vt_have(target))
            cr_assert_eq(symlink(target, vt_test_path(folder, weights[i])), 0);
    }
    return folder;
}

typedef struct change {
    const char *name, *from, *to;
    const char *says; /* part of the message; NULL: the model opens */
} change;

static void check(const change *c, const char *file, bool text)
{
    const char *folder = changed(c->name, file, c->from, c->to);
    vt_model *m = NULL;
    const vitcl_status st =
        text ? vt_tower_open(&m, folder) : vt_model_open(&m, folder);

    vt_test_remove(folder);
    if (!c->says) {
        cr_expect_eq(st, VITCL_OK, "%s: %s", c->to, vt_message());
    } else {
        cr_expect(st == VITCL_ECORRUPT || st == VITCL_EUNSUPPORTED,
                  "%s, %s: status %d", c->name, c->to, (int)st);
        cr_expect(st != VITCL_OK && strstr(vt_message(), c->says), "%s: %s",
                  c->to, st == VITCL_OK ? "it opens" : vt_message());
    }
    vt_model_close(m);
}

Test(text_config, huggingface)
{
    static const change all[] = {
        {"hf_clip", "\"vocab_size\": 41", "\"vocab_size\": 42", "[41,16]"},
        {"hf_clip", "\"vocab_size\": 41", "\"vocab_size\": -1", "vocab_size"},
        {"hf_clip", "\"vocab_size\": 41", "\"vocab_size\": 1e9", "vocab_size"},
        {"hf_clip", "\"vocab_size\": 41", "\"vocab_size\": 99999999",
         "vocab_size"},
        {"hf_clip", "\"max_position_embeddings\": 11",
         "\"max_position_embeddings\": 12", "pos_embed is [1,11,16]"},
        {"hf_clip", "\"max_position_embeddings\": 11",
         "\"max_position_embeddings\": 5000", "max_position_embeddings"},
        {"hf_clip", "\"num_attention_heads\": 2", "\"num_attention_heads\": 3",
         "3 heads"},
        {"hf_clip", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3",
         "missing"},
        {"hf_clip", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1",
         "no place"},
        {"hf_clip", "\"hidden_act\": \"quick_gelu\"", "\"hidden_act\": \"x\"",
         "hidden_act \"x\""},
        {"hf_clip", "\"hidden_act\": \"quick_gelu\"", "\"hidden_act\": 7",
         "hidden_act"},
        {"hf_clip", "\"hidden_act\": \"quick_gelu\"", "\"hidden_act\": null",
         NULL},
        {"hf_clip", "\"layer_norm_eps\": 1e-05", "\"layer_norm_eps\": -1",
         "layer_norm_eps"},
        {"hf_clip", "\"layer_norm_eps\": 1e-05", "\"layer_norm_eps\": null",
         NULL},
        {"hf_clip", "\"eos_token_id\": 2", "\"eos_token_id\": \"x\"",
         "eos_token_id"},
        {"hf_clip", "\"eos_token_id\": 2", "\"eos_token_id\": 2000000000",
         NULL},
        {"hf_clip", "\"text_config\": {", "\"text_config\": 7, \"x\": {",
         "text_config"},
        {"hf_clip", "\"projection_dim\": 12", "\"projection_dim\": 13",
         "head.weight is [12,16]"},
        {"hf_clip", "\"projection_dim\": 12",
         "\"quantization_config\": {\"a\": 1}, \"projection_dim\": 12",
         "quantization_config"},
        {"hf_clip", "\"model_type\": \"clip\"", "\"model_type\": \"vit\"",
         "no text tower"},
        {"hf_siglip", "\"projection_size\": 16", "\"projection_size\": 17",
         "head.weight"},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        check(&all[i], "config.json", true);
}

Test(text_config, open_clip)
{
    static const change all[] = {
        {"oc_clip", "\"vocab_size\": 41", "\"vocab_size\": 40", "[41,16]"},
        {"oc_clip", "\"vocab_size\": 41", "\"vocab_size\": [1]", "vocab_size"},
        {"oc_clip", "\"context_length\": 11", "\"context_length\": 0",
         "context_length"},
        {"oc_clip", "\"context_length\": 11",
         "\"context_length\": 11, \"colour\": 1", "text_cfg has colour"},
        {"oc_clip", "\"context_length\": 11",
         "\"context_length\": 11, \"qk_norm\": true", "qk_norm of text_cfg"},
        {"oc_clip", "\"context_length\": 11",
         "\"context_length\": 11, \"embed_cls\": true", "embed_cls"},
        {"oc_clip", "\"context_length\": 11",
         "\"context_length\": 11, \"hf_model_name\": \"roberta-base\"",
         "roberta-base"},
        {"oc_clip", "\"context_length\": 11",
         "\"context_length\": 11, \"pool_type\": \"none\"",
         "pool_type \"none\""},
        {"oc_clip", "\"context_length\": 11",
         "\"context_length\": 11, \"pool_type\": \"first\"", NULL},
        {"oc_clip", "\"context_length\": 11",
         "\"context_length\": 11, \"act_kwargs\": {\"approximate\": \"tanh\"}",
         "act_kwargs"}, /* of quick_gelu */
        {"oc_siglip", "\"eps\": 1e-06", "\"eps\": 0", "eps"},
        {"oc_siglip", "\"eps\": 1e-06", "\"eps\": 1e-6, \"x\": 1",
         "norm_kwargs"},
        {"oc_clip", "\"text_cfg\"", "\"words\"", "no text_cfg"},
        {"oc_clip", "\"embed_dim\": 12", "\"embed_dim\": 0", "embed_dim"},
        {"oc_clip", "\"embed_dim\": 12", "\"x\": 12", "embed_dim"},
        {"oc_clip", "\"quick_gelu\": true", "\"quick_gelu\": 1",
         "open_clip_config.json's quick_gelu is not"},
        {"oc_clip", "\"context_length\": 11",
         "\"context_length\": 11, \"pool_type\": 3", "pool_type"},
        {"oc_clip", "\"context_length\": 11",
         "\"context_length\": 11, \"pool_type\": null", "pool_type \"\""},
        {"oc_clip", "\"context_length\": 11",
         "\"context_length\": 11, \"act_kwargs\": 5", "act_kwargs"},
        {"oc_scaled", "\"approximate\": \"tanh\"", "\"approximate\": 5",
         "approximate"},
        {"oc_clip", "\"context_length\": 11",
         "\"context_length\": 11, \"norm_kwargs\": \"x\"", "norm_kwargs"},
        {"oc_mean", "\"no_causal_mask\": true", "\"no_causal_mask\": 1",
         "no_causal_mask"},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        check(&all[i], "open_clip_config.json", true);
}

Test(text_config, pictures_of_open_clip)
{
    static const change all[] = {
        {"oc_clip", "\"image_size\": 24", "\"image_size\": 32", "pos_embed"},
        {"oc_clip", "\"image_size\": 24", "\"image_size\": {}", "image_size"},
        {"oc_clip", "\"layers\": 2,\n   \"width\": 16,\n   \"head_width\"",
         "\"layers\": [3, 4, 6, 3],\n   \"width\": 16,\n   \"head_width\"",
         "CLIP's ResNet"},
        {"oc_clip", "\"head_width\": 8", "\"head_width\": 17", "head_width"},
        {"oc_clip", "\"head_width\": 8",
         "\"head_width\": 8, \"attentional_pool\": true", "attentional_pool"},
        {"oc_mean", "\"pool_type\": \"avg\"", "\"pool_type\": \"none\"",
         "pool_type"},
        {"oc_mean", "\"no_ln_pre\": true", "\"no_ln_pre\": false",
         "norm_pre.weight"},
        {"oc_clip", "\"head_width\": 8",
         "\"head_width\": 8, \"no_ln_pre\": true", "norm_pre"},
        {"oc_clip", "\"head_width\": 8", "\"head_width\": 8, \"colour\": 1",
         "vision_cfg has colour"},
        {"oc_clip", "\"vision_cfg\"", "\"eyes\"", "no vision_cfg"},
        {"oc_clip", "\"shortest\"", "\"widest\"", "widest"},
        {"oc_clip", "\"bicubic\"", "\"nearest\"", "nearest"},
        {"oc_clip", "\"bicubic\"", "\"bicubic\", \"mode\": \"L\"", "only RGB"},
        {"oc_clip", "\"bicubic\"", "\"bicubic\", \"fill_color\": 256",
         "fill_color"},
        {"oc_clip", "\"bicubic\"", "\"bicubic\", \"fill_color\": [0, 0, 0]",
         "fill_color"},
        {"oc_trunk", "\"linear\"", "\"mlp\"", "timm_proj"},
        {"oc_trunk", "vit_base_patch16_224", "convnext_tiny\\\"", "convnext"},
        {"oc_clip", "\"quick_gelu\": true", "\"quick_gelu\": \"true\"",
         "quick_gelu"},
        {"oc_clip", "\"shortest\"", "5", "resize_mode"},
        {"oc_clip", "\"shortest\"", "null", NULL},
        {"oc_clip", "\"bicubic\"", "[1]", "interpolation"},
        {"oc_clip", "\"preprocess_cfg\": {",
         "\"preprocess_cfg\": [1], \"x\": {", "preprocess_cfg"},
        {"oc_trunk", "\"vit_base_patch16_224\"", "3", "timm_model_name"},
        {"oc_trunk", "\"timm_pool\": \"\"", "\"timm_pool\": 1", "timm_pool"},
        {"oc_trunk", "\"timm_pool\": \"\"", "\"timm_pool\": null", NULL},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        check(&all[i], "open_clip_config.json", false);
}

/* null is the default, which is OpenAI's. */
Test(text_config, null_pixels_of_open_clip)
{
    static const char *const from[] = {"\"mean\": [", "\"std\": ["};
    static const char *const to[] = {"\"mean\": null, \"x\": [",
                                     "\"std\": null, \"x\": ["};

    for (int i = 0; i < 2; i++) {
        const char *folder =
            changed("oc_clip", "open_clip_config.json", from[i], to[i]);
        vt_preprocess how;
        vt_model *m = NULL;

        cr_assert_eq(vt_model_open(&m, folder), VITCL_OK, "%s", vt_message());
        cr_assert_eq(vt_model_preprocess(&how, m, 24, 24), VITCL_OK);
        cr_expect_float_eq(how.mean[0], i == 0 ? 0.48145466f : 0.5f, 1e-6f);
        cr_expect_float_eq(how.std[0], i == 1 ? 0.26862954f : 0.25f, 1e-6f);
        vt_model_close(m);
        vt_test_remove(folder);
    }
}

/* The file that is there is named. */
Test(text_config, pixels_of_open_clip)
{
    const char *folder = changed("oc_clip", "open_clip_config.json",
                                 "\"mean\": [", "\"mean\": \"x\", \"x\": [");
    vt_preprocess how;
    vt_model *m = NULL;

    cr_assert_eq(vt_model_open(&m, folder), VITCL_OK, "%s", vt_message());
    cr_expect_neq(vt_model_preprocess(&how, m, 24, 24), VITCL_OK);
    cr_expect(strstr(vt_message(), "/open_clip_config.json: "), "%s",
              vt_message());
    vt_model_close(m);
    vt_test_remove(folder);
}

Test(text_config, without_a_device)
{
    vitcl_text_info info = {.size = sizeof info};
    const int32_t ids[11] = {1};
    vitcl_text *t = NULL;
    float out[12];

    cr_assert_eq(vitcl_text_new(&t, NULL, VT_DATA "/text/hf_clip", NULL),
                 VITCL_OK);
    cr_assert_eq(vitcl_text_describe(&info, t), VITCL_OK);
    cr_expect_eq(info.context, 11);
    cr_expect_eq(vitcl_text_embed_tokens(out, t, ids, 1), VITCL_EINVAL);
    cr_expect(strstr(vitcl_last_error(), "without a device"), "%s",
              vitcl_last_error());
    vitcl_text_free(t);
}
