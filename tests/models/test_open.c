/*
 * test_open.c - vt_model_open() on valid and damaged checkpoints. The damaged
 * ones are made from tests/data/models.
 */
#include "models/family.h"
#include "models/model.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMM VT_DATA "/models/timm_vit"
#define DIFF VT_DATA "/models/timm_diff"
#define HF VT_DATA "/models/hf_vit_resized"

static void put(const char *folder, const char *name, const char *text)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "wb");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
}

static char *get(const char *path)
{
    static char text[1 << 16];
    FILE *f = fopen(path, "rb");
    size_t n;

    cr_assert_not_null(f, "%s", path);
    n = fread(text, 1, sizeof text - 1, f);
    text[n] = 0;
    fclose(f);
    return text;
}

static uint64_t classes; /* of damage(), with a head of zeros; 0: the case's */

/* The case's tensors, but for `drop` ("*x": all that have x), with `wrong` in
 * another shape and `extra` added, in a new folder with this config (NULL:
 * none). */
static void damage(char folder[256], const char *from, const char *config,
                   const char *drop, const char *wrong, const char *extra)
{
    vt_tensors *raw = NULL;
    vt_tensor list[128];
    float *data[128] = {NULL}, one[4] = {0};
    size_t n = 0;
    char path[512];

    snprintf(folder, 256, "%s", vt_test_folder());
    if (config)
        put(folder, "config.json", config);
    snprintf(path, sizeof path, "%s/model.safetensors", from);
    cr_assert_eq(vt_tensors_open(&raw, path), VITCL_OK, "%s", vt_message());
    for (size_t i = 0; i < vt_tensors_count(raw); i++) {
        vt_tensor t = *vt_tensors_at(raw, i);
        if (drop && (*drop == '*' ? strstr(t.name, drop + 1) != NULL
                                  : strcmp(t.name, drop) == 0))
            continue;
        if (classes && strncmp(t.name, "head.", 5) == 0) {
            t.count = t.count / t.shape[0] * classes;
            t.shape[0] = classes;
            data[n] = calloc(t.count, sizeof(float));
            cr_assert(data[n]);
        } else {
            data[n] = malloc(t.count * sizeof(float));
            cr_assert_eq(vt_tensor_f32(data[n], &t), VITCL_OK);
        }
        if (wrong && strcmp(t.name, wrong) == 0 && t.rank == 2) {
            const uint64_t swap = t.shape[0];
            t.shape[0] = t.shape[1];
            t.shape[1] = swap;
        }
        t.dtype = VT_FILE_F32;
        t.size = t.count * sizeof(float);
        t.data = (const uint8_t *)data[n];
        list[n++] = t;
    }
    if (extra)
        list[n++] = (vt_tensor){.name = extra,
                                .dtype = VT_FILE_F32,
                                .rank = 1,
                                .shape = {4},
                                .count = 4,
                                .data = (const uint8_t *)one,
                                .size = sizeof one};
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    cr_assert_eq(vt_safetensors_write(path, list, n, NULL), VITCL_OK, "%s",
                 vt_message());
    for (size_t i = 0; i < n; i++)
        free(data[i]);
    vt_tensors_free(raw);
}

static void discard(const char *folder)
{
    char path[512];

    snprintf(path, sizeof path, "%s/config.json", folder);
    remove(path);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    remove(path);
    remove(folder);
}

/* The error is one line with all of these words. Removes the folder. */
static void expect_refusal(const char *folder, vitcl_status status,
                           const char *a, const char *b)
{
    vt_model *m = NULL;
    const vitcl_status st = vt_model_open(&m, folder);

    cr_expect_eq(st, status, "%d: %s", st, st ? vt_message() : "accepted");
    cr_expect_null(m);
    cr_expect(st && strstr(vt_message(), a) && strstr(vt_message(), b),
              "\"%s\" lacks \"%s\" or \"%s\"", vt_message(), a, b);
    cr_expect_null(strchr(vt_message(), '\n'));
    vt_model_close(m);
    discard(folder);
}

static void replace(char *text, const char *from, const char *to)
{
    static char copy[1 << 16];
    char *at = strstr(text, from);

    cr_assert_not_null(at, "%s", from);
    strcpy(copy, at + strlen(from));
    strcpy(at, to);
    strcat(text, copy);
}

Test(open, names_what_is_wrong)
{
    char folder[256], config[1 << 16], hf[1 << 16];

    strcpy(config, get(TIMM "/config.json"));
    strcpy(hf, get(HF "/config.json"));
    damage(folder, TIMM, config, "blocks.1.attn.qkv.weight", NULL, NULL);
    expect_refusal(folder, VITCL_ECORRUPT,
                   "blocks.1.attn.qkv.weight is missing", "looks like a ViT");
    damage(folder, TIMM, config, "blocks.0.norm2.bias", NULL, NULL);
    expect_refusal(folder, VITCL_ECORRUPT, "blocks.0.norm2.bias", "missing");
    damage(folder, TIMM, config, "patch_embed.proj.weight", NULL, NULL);
    expect_refusal(folder, VITCL_EUNSUPPORTED, folder, "");
    damage(folder, TIMM, config, NULL, "blocks.1.mlp.fc1.weight", NULL);
    expect_refusal(folder, VITCL_ECORRUPT, "blocks.1.mlp.fc1.weight is [16,64]",
                   "needs [64,16]");
    damage(folder, TIMM, config, NULL, NULL, "blocks.0.attn.lambda_x");
    expect_refusal(folder, VITCL_EUNSUPPORTED, "blocks.0.attn.lambda_x",
                   "no place");
    damage(folder, TIMM, config, NULL, NULL, "blocks.0.attn.lambda_q1");
    expect_refusal(folder, VITCL_ECORRUPT, "blocks.0.attn.lambda_k1",
                   "missing");
    damage(folder, TIMM, config, NULL, NULL, "blocks.0.lambda_q1");
    expect_refusal(folder, VITCL_EUNSUPPORTED, "differential attention",
                   "not supported");
    strcpy(config, get(DIFF "/config.json"));
    replace(config, "\"num_heads\": 2", "\"num_heads\": 1");
    damage(folder, DIFF, config, NULL, NULL, NULL);
    expect_refusal(folder, VITCL_ECORRUPT,
                   "blocks.0.attn.lambda_q1 has 4 elements, but this ViT needs "
                   "8; does config.json",
                   folder);
    damage(folder, HF, hf, "vit.encoder.layer.1.output.dense.weight", NULL,
           NULL);
    expect_refusal(folder, VITCL_ECORRUPT, "blocks.1.mlp.fc2.weight",
                   "missing");
}

/* An unsupported feature is named, not what it lacks. */
Test(open, names_what_is_not_supported)
{
    char folder[256], config[1 << 16];

    strcpy(config, get(TIMM "/config.json"));
    damage(folder, TIMM, "{\"model_type\": \"swin\"}", NULL, NULL, NULL);
    expect_refusal(folder, VITCL_EUNSUPPORTED, "\"swin\"",
                   "the supported families are");
    damage(folder, TIMM, "{\"model_type\": \"swin\"}",
           "patch_embed.proj.weight", NULL, NULL);
    expect_refusal(folder, VITCL_EUNSUPPORTED, "\"swin\"",
                   "the supported families are");
    damage(folder, TIMM, "{\"model_type\": \"vit\"}", "patch_embed.proj.weight",
           NULL, NULL);
    expect_refusal(folder, VITCL_EUNSUPPORTED, "no patch embedding", "vit");
    damage(folder, TIMM, config, NULL, NULL,
           "patch_embed.backbone.0.conv.weight");
    expect_refusal(folder, VITCL_EUNSUPPORTED,
                   "vit_base_patch16_224 has a stem", "not supported");
    damage(folder, TIMM, config, "*mlp.fc2.weight", NULL, NULL);
    expect_refusal(folder, VITCL_ECORRUPT, "vit_base_patch16_224 has no",
                   "not supported");
}

/* Attention has no place for these beside the difference. */
Test(open, names_differential_attention)
{
    static const char *const cases[] = {"timm_dinov3",      "timm_rotary_mixed",
                                        "timm_eva02_clip",  "timm_beit_resized",
                                        "timm_relpos_swin", "timm_axial",
                                        "timm_vit"};
    static char config[1 << 16];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char from[256], path[300], folder[256];

        snprintf(from, sizeof from, VT_DATA "/models/%s", cases[i]);
        snprintf(path, sizeof path, "%s/config.json", from);
        strcpy(config, get(path));
        if (strcmp(cases[i], "timm_vit") == 0)
            replace(config, "\"depth\"",
                    "\"pos_embed\": \"relative\", \"depth\"");
        damage(folder, from, config, NULL, NULL, "blocks.0.attn.lambda_q1");
        expect_refusal(folder, VITCL_EUNSUPPORTED, "differential attention",
                       "positions are added");
    }
}

/* Removing any tensor of any family is an error, which mostly names it. */
Test(open, reports_every_missing_tensor)
{
    static const char *const cases[] = {
        "timm_vit",          "timm_vit_qknorm_reg", "timm_deit_distilled",
        "timm_siglip",       "timm_clip",           "timm_beit_resized",
        "timm_relpos_cls",   "timm_srelpos",        "timm_eva02_clip",
        "timm_hybrid",       "timm_resnetd",        "timm_dinov2_swiglu_reg",
        "timm_rotary_mixed", "timm_aimv2",          "hf_vit_resized",
        "timm_naflex",       "timm_naflex_axes",    "hf_naflex",
        "hf_deit",           "hf_dinov2_reg",       "hf_dinov2",
        "hf_clip",           "hf_siglip",           "hf_beit_resized"};
    static char config[1 << 16];

    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char from[256], path[300], folder[256];
        vt_tensors *raw = NULL;
        snprintf(from, sizeof from, VT_DATA "/models/%s", cases[k]);
        snprintf(path, sizeof path, "%s/config.json", from);
        strcpy(config, get(path));
        cr_assert_eq(vt_tensors_open(&raw, from), VITCL_OK, "%s", vt_message());
        for (size_t i = 0; i < vt_tensors_count(raw); i++) {
            const char *name = vt_tensors_at(raw, i)->name;
            vt_model *m = NULL;
            if (strstr(name, "mask_token") ||
                strstr(name, "num_batches_tracked"))
                continue;
            damage(folder, from, config, name, NULL, NULL);
            cr_expect_neq(vt_model_open(&m, folder), VITCL_OK,
                          "%s opens without %s", cases[k], name);
            if (!m && strncmp(cases[k], "timm", 4) == 0 &&
                strncmp(name, "embeds.", 7) != 0 && !strstr(name, "mlp.fc1_") &&
                !strstr(name, "_proj.") && !strstr(name, "_bias") &&
                !strstr(name, "gamma_") &&
                strcmp(name, "patch_embed.proj.weight") != 0)
                cr_expect_not_null(strstr(vt_message(), name), "%s, %s: %s",
                                   cases[k], name, vt_message());
            vt_model_close(m);
            discard(folder);
        }
        vt_tensors_free(raw);
    }
}

Test(open, ignores_what_is_harmless)
{
    static const char *const names[] = {"vit.embeddings.mask_token",
                                        "vit.embeddings.position_ids"};
    char folder[256], hf[1 << 16];
    vt_model *m = NULL;

    strcpy(hf, get(HF "/config.json"));
    for (size_t i = 0; i < 2; i++) {
        damage(folder, HF, hf, NULL, NULL, names[i]);
        cr_expect_eq(vt_model_open(&m, folder), VITCL_OK, "%s", vt_message());
        vt_model_close(m);
        m = NULL;
        discard(folder);
    }
}

Test(open, wrong_configs)
{
    static const struct {
        const char *from, *to, *says;
        vitcl_status status;
    } cases[] = {
        {"\"vit_base_patch16_224\"", "\"resnet50\"", "resnet50",
         VITCL_EUNSUPPORTED},
        {"\"num_heads\": 2", "\"num_heads\": 3", "3 heads", VITCL_EUNSUPPORTED},
        {"\"num_heads\": 2", "\"num_heads\": -2", "num_heads", VITCL_ECORRUPT},
        {"\"embed_dim\": 16", "\"embed_dim\": 1e9", "embed_dim",
         VITCL_ECORRUPT},
        {"\"embed_dim\": 16", "\"embed_dim\": 32", "needs [32,192]",
         VITCL_ECORRUPT},
        {"\"depth\": 2", "\"depth\": 3", "blocks.2.", VITCL_ECORRUPT},
        {"\"depth\": 2", "\"depth\": 1", "blocks.1.", VITCL_EUNSUPPORTED},
        {"\"img_size\": 24", "\"img_size\": 32", "pos_embed", VITCL_ECORRUPT},
        {"\"img_size\": 24", "\"img_size\": 7", "7x7", VITCL_ECORRUPT},
        {"\"img_size\": 24", "\"img_size\": 24, \"norm_layer\": \"groupnorm1\"",
         "norm_layer", VITCL_EUNSUPPORTED},
        {"\"img_size\": 24", "\"img_size\": 24, \"norm_layer\": \"rmsnorm\"",
         "norm1.bias", VITCL_EUNSUPPORTED},
        {"\"img_size\": 24", "\"img_size\": 24, \"act_layer\": \"prelu\"",
         "prelu", VITCL_EUNSUPPORTED},
        {"\"num_classes\": 5", "\"num_classes\": 6", "head.weight",
         VITCL_ECORRUPT},
        {"\"img_size\": 24", "\"img_size\": 24, \"global_pool\": \"map\"",
         "attn_pool.latent", VITCL_ECORRUPT},
        {"\"img_size\": 24", "\"img_size\": 24, \"global_pool\": \"prr\"",
         "prr", VITCL_EUNSUPPORTED},
    };
    char folder[256], config[1 << 16];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        strcpy(config, get(TIMM "/config.json"));
        replace(config, cases[i].from, cases[i].to);
        damage(folder, TIMM, config, NULL, NULL, NULL);
        expect_refusal(folder, cases[i].status, cases[i].says, "");
    }
    strcpy(config, get(VT_DATA "/models/hf_yolos/config.json"));
    replace(config, "\"image_size\"", "\"x\"");
    damage(folder, VT_DATA "/models/hf_yolos", config, NULL, NULL, NULL);
    expect_refusal(folder, VITCL_ECORRUPT, "picture of 512x864", "");
    damage(folder, TIMM, NULL, NULL, NULL, NULL);
    expect_refusal(folder, VITCL_EIO, "config.json", "is missing");
    damage(folder, TIMM, "{\"architecture\": ", NULL, NULL, NULL);
    expect_refusal(folder, VITCL_ECORRUPT, "config.json", "");
}

/* Labels of another model: too few, too many, or not for these classes. An
 * empty list says nothing. */
Test(open, needs_a_label_for_each_class)
{
    static const struct {
        const char *from, *key, *labels, *complaint;
    } all[] = {
        {TIMM, "label_names", "[\"a\", \"b\", \"c\", \"d\"]",
         "label_names names 4 classes, but the model has 5"},
        {TIMM, "label_names", "[\"a\", \"b\", \"c\", \"d\", \"e\", \"f\"]",
         "label_names names 6 classes, but the model has 5"},
        {TIMM, "label_names", "{\"0\": \"a\", \"4\": \"e\"}",
         "label_names names 2 classes, but the model has 5"},
        {TIMM, "label_names",
         "{\"1\": \"a\", \"2\": \"b\", \"3\": \"c\", \"4\": \"d\", "
         "\"5\": \"e\"}",
         "label_names must have the numbers 0 to 4"},
        {TIMM, "label_names", "[]", NULL},
        {TIMM, "label_names", "null", NULL},
        {TIMM, "label_names",
         "{\"4\": \"e\", \"3\": \"d\", \"2\": \"c\", \"1\": \"b\", "
         "\"0\": \"a\"}",
         NULL},
        {HF, "id2label", "{\"0\": \"a\", \"1\": \"b\"}",
         "id2label names 2 classes, but the model has 5"},
        {HF, "id2label",
         "{\"0\": \"a\", \"1\": \"b\", \"2\": \"c\", \"3\": \"d\", "
         "\"x\": \"e\"}",
         "id2label must have the numbers 0 to 4"},
    };
    static char config[1 << 16];
    char folder[256], path[512], key[32];

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *at;
        vt_model *m = NULL;

        snprintf(path, sizeof path, "%s/config.json", all[i].from);
        snprintf(key, sizeof key, "\"%s\":", all[i].key);
        at = strstr(get(path), key);
        cr_assert_not_null(at, "%s", path);
        snprintf(config, sizeof config, "%.*s%s %s, \"old\":%s",
                 (int)(at - get(path)), get(path), key, all[i].labels,
                 at + strlen(key));
        damage(folder, all[i].from, config, NULL, NULL, NULL);
        if (all[i].complaint) {
            expect_refusal(folder, VITCL_ECORRUPT, all[i].complaint, folder);
            continue;
        }
        cr_expect_eq(vt_model_open(&m, folder), VITCL_OK, "%s", vt_message());
        if (m && all[i].labels[0] == '{')
            cr_expect_str_eq(vt_model_label(m, 4), "e");
        else if (m)
            cr_expect_null(vt_model_label(m, 4));
        vt_model_close(m);
        discard(folder);
    }
}

/* No label has one of as many descriptions; and each has, in another order. */
Test(open, finds_descriptions, .timeout = 60)
{
    enum { N = 1 << 17 };
    char *const config = malloc(N * 32 + 999), folder[256];

    cr_assert(config);
    classes = N;
    for (int own = 0; own < 2; own++) {
        vt_model *m = NULL;
        char *at = config;

        at += sprintf(at,
                      "{\"architecture\": \"vit_base_patch16_224\", "
                      "\"num_classes\": %d, \"model_args\": "
                      "{\"img_size\": 24, \"patch_size\": 8, "
                      "\"embed_dim\": 16, \"depth\": 2, \"num_heads\": 2}, "
                      "\"label_names\": [\"\"",
                      N);
        for (int i = 1; i < N; i++)
            at += sprintf(at, ", \"%d\"", i);
        at += sprintf(at, "], \"label_descriptions\": {\"-\": \"-\"");
        for (int i = N; i-- > 1;)
            at += sprintf(at, ", \"%s%d\": \"d%d\"", own ? "" : "-", i, i);
        sprintf(at, "}}");
        damage(folder, TIMM, config, NULL, NULL, NULL);
        cr_assert_eq(vt_model_open(&m, folder), VITCL_OK, "%s", vt_message());
        cr_expect_null(vt_model_longname(m, 0));
        if (own)
            cr_expect_str_eq(vt_model_longname(m, 77777), "d77777");
        else
            cr_expect_null(vt_model_longname(m, 77777));
        vt_model_close(m);
        discard(folder);
    }
    classes = 0;
    free(config);
}

Test(open, names_the_family)
{
    vt_model *m = NULL;
    const vt_config *c;

    cr_assert_eq(vt_model_open(&m, TIMM "/model.safetensors"), VITCL_OK, "%s",
                 vt_message());
    c = vt_model_config(m);
    cr_expect_str_eq(c->family->name, "vit");
    cr_expect_str_eq(c->name, "vit_base_patch16_224");
    cr_expect_str_eq(vt_model_type(m), "timm");
    cr_expect(c->depth == 2 && c->heads == 2 && c->mlp == 64 &&
              c->classes == 5 && c->patch_h == 8 && c->height == 24);
    cr_expect_str_eq(vt_model_label(m, 3), "n3");
    cr_expect_str_eq(vt_model_longname(m, 3), "class 3");
    cr_expect_null(vt_model_label(m, 5));
    cr_expect_eq(vt_model_tokens(m, 32, 40), 21);
    /* pixels after the last whole patch are ignored */
    cr_expect_eq(vt_model_tokens(m, 39, 47), 21);
    cr_expect_eq(vt_model_tokens(m, 32, 7), 0);
    vt_model_close(m), m = NULL;

    cr_assert_eq(vt_model_open(&m, HF), VITCL_OK, "%s", vt_message());
    c = vt_model_config(m);
    cr_expect_str_eq(c->name, "ViTForImageClassification");
    cr_expect_str_eq(vt_model_type(m), "vit");
    cr_expect_float_eq(c->eps, 1e-12f, 1e-18f);
    cr_expect_str_eq(vt_model_label(m, 4), "class 4");
    cr_expect_null(vt_model_longname(m, 4));
    vt_model_close(m), m = NULL;

    cr_assert_eq(vt_model_open(&m, VT_DATA "/models/npz_vit/model.npz"),
                 VITCL_OK, "%s", vt_message());
    c = vt_model_config(m);
    cr_expect_str_eq(vt_model_type(m), "npz");
    cr_expect(c->heads == 2 && c->height == 24 && c->pre_logits == 12);
    cr_expect_null(vt_model_json(m));
    cr_expect_null(vt_model_label(m, 0));
    vt_model_close(m);
}
