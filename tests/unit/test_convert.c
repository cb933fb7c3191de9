/*
 * test_convert.c - checkpoints of each family converted from timm to HF and
 * back have the same bytes; what a format cannot hold is refused.
 *
 * The models are made here: width 4, two heads, one block, 2 x 2 patches of 2 x
 * 2 pixels, five classes; their numbers are arbitrary.
 */
#include "base/memory.h"
#include "convert/timm.h"
#include "models/family.h"
#include "support/paths.h"
#include "support/pictures.h"
#include "weights/weights.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct made {
    const char *name;
    uint64_t shape[5]; /* ends with 0; ZEROS after that: zeros */
} made;

enum { ZEROS = 9 };

#define BLOCK                                                                  \
    {"blocks.0.norm1.weight", {4}}, {"blocks.0.norm1.bias", {4}},              \
        {"blocks.0.attn.qkv.weight", {12, 4}},                                 \
        {"blocks.0.attn.proj.weight", {4, 4}},                                 \
        {"blocks.0.attn.proj.bias", {4}}, {"blocks.0.norm2.weight", {4}},      \
        {"blocks.0.norm2.bias", {4}}, {"blocks.0.mlp.fc1.bias", {16}},         \
        {"blocks.0.mlp.fc1.weight", {16, 4}}, {"blocks.0.mlp.fc2.bias", {4}},  \
    {                                                                          \
        "patch_embed.proj.weight",                                             \
        {                                                                      \
            4, 3, 2, 2                                                         \
        }                                                                      \
    }
#define NARROW                                                                 \
    {"blocks.0.mlp.fc2.weight", {4, 16}},                                      \
    {                                                                          \
        "blocks.0.attn.qkv.bias",                                              \
        {                                                                      \
            12                                                                 \
        }                                                                      \
    }
#define HEAD                                                                   \
    {"head.weight", {5, 4}},                                                   \
    {                                                                          \
        "head.bias",                                                           \
        {                                                                      \
            5                                                                  \
        }                                                                      \
    }
#define NORM                                                                   \
    {"norm.weight", {4}},                                                      \
    {                                                                          \
        "norm.bias",                                                           \
        {                                                                      \
            4                                                                  \
        }                                                                      \
    }
#define CLS                                                                    \
    {                                                                          \
        "cls_token",                                                           \
        {                                                                      \
            1, 1, 4                                                            \
        }                                                                      \
    }
#define SCALES                                                                 \
    {"blocks.0.ls1.gamma", {4}},                                               \
    {                                                                          \
        "blocks.0.ls2.gamma",                                                  \
        {                                                                      \
            4                                                                  \
        }                                                                      \
    }
#define PATCH                                                                  \
    {                                                                          \
        "patch_embed.proj.bias",                                               \
        {                                                                      \
            4                                                                  \
        }                                                                      \
    }

static const made vit[] = {
    BLOCK, NARROW, HEAD, NORM, CLS, PATCH, {"pos_embed", {1, 5, 4}}};
static const made deit[] = {BLOCK,
                            NARROW,
                            HEAD,
                            NORM,
                            CLS,
                            PATCH,
                            {"pos_embed", {1, 6, 4}},
                            {"dist_token", {1, 1, 4}},
                            {"head_dist.weight", {5, 4}},
                            {"head_dist.bias", {5}}};
static const made dinov2[] = {BLOCK, NARROW, HEAD,   NORM,
                              CLS,   PATCH,  SCALES, {"pos_embed", {1, 5, 4}}};
static const made registers[] = {BLOCK,
                                 NARROW,
                                 HEAD,
                                 NORM,
                                 CLS,
                                 PATCH,
                                 SCALES,
                                 {"pos_embed", {1, 4, 4}},
                                 {"reg_token", {1, 4, 4}}};
static const made deit3[] = {BLOCK, NARROW, HEAD,   NORM,
                             CLS,   PATCH,  SCALES, {"pos_embed", {1, 4, 4}}};
static const made swiglu[] = {BLOCK,
                              {"blocks.0.mlp.fc2.weight", {4, 8}},
                              {"blocks.0.attn.qkv.bias", {12}},
                              NORM,
                              CLS,
                              PATCH,
                              SCALES,
                              {"pos_embed", {1, 5, 4}}};
static const made beit[] = {
    BLOCK,
    {"blocks.0.mlp.fc2.weight", {4, 16}},
    {"blocks.0.attn.q_bias", {4}},
    {"blocks.0.attn.v_bias", {4}},
    {"blocks.0.gamma_1", {4}},
    {"blocks.0.gamma_2", {4}},
    {"blocks.0.attn.relative_position_bias_table", {12, 2}},
    HEAD,
    CLS,
    PATCH,
    {"fc_norm.weight", {4}},
    {"fc_norm.bias", {4}}};
static const made clip[] = {BLOCK,
                            NARROW,
                            {"head.weight", {5, 4}},
                            {"head.bias", {5, 0, 0, 0, ZEROS}},
                            NORM,
                            CLS,
                            {"pos_embed", {1, 5, 4}},
                            {"norm_pre.weight", {4}},
                            {"norm_pre.bias", {4}}};
static const made unbiased[] = {BLOCK,
                                {"blocks.0.mlp.fc2.weight", {4, 16}},
                                NORM,
                                CLS,
                                {"pos_embed", {1, 5, 4}},
                                {"norm_pre.weight", {4}},
                                {"norm_pre.bias", {4}}};
static const made clip_head[] = {BLOCK,
                                 NARROW,
                                 HEAD,
                                 NORM,
                                 CLS,
                                 {"pos_embed", {1, 5, 4}},
                                 {"norm_pre.weight", {4}},
                                 {"norm_pre.bias", {4}}};
static const made siglip[] = {BLOCK,
                              NARROW,
                              NORM,
                              PATCH,
                              {"pos_embed", {1, 4, 4}},
                              {"attn_pool.latent", {1, 1, 4}},
                              {"attn_pool.q.weight", {4, 4}},
                              {"attn_pool.q.bias", {4}},
                              {"attn_pool.kv.weight", {8, 4}},
                              {"attn_pool.kv.bias", {8}},
                              {"attn_pool.proj.weight", {4, 4}},
                              {"attn_pool.proj.bias", {4}},
                              {"attn_pool.norm.weight", {4}},
                              {"attn_pool.norm.bias", {4}},
                              {"attn_pool.mlp.fc1.weight", {16, 4}},
                              {"attn_pool.mlp.fc1.bias", {16}},
                              {"attn_pool.mlp.fc2.weight", {4, 16}},
                              {"attn_pool.mlp.fc2.bias", {4}}};
static const made pooled[] = {BLOCK,
                              NARROW,
                              HEAD,
                              PATCH,
                              {"pos_embed", {1, 4, 4}},
                              {"fc_norm.weight", {4}},
                              {"fc_norm.bias", {4}}};

#define FAMILY(list) list, VT_COUNT(list)
static const struct {
    const made *list;
    size_t n;
    const char *architecture, *args, *model_type, *refused;
} families[] = {
    {FAMILY(vit), "vit_base_patch16_224", "", "\"vit\"", NULL},
    {FAMILY(deit), "deit_base_distilled_patch16_224", "", "\"deit\"", NULL},
    {FAMILY(dinov2), "vit_base_patch14_dinov2", "", "\"dinov2\"", NULL},
    {FAMILY(registers), "vit_base_patch14_reg4_dinov2", "",
     "\"dinov2_with_registers\"", NULL},
    {FAMILY(deit3), "deit3_base_patch16_224", "", "\"dinov2\"", NULL},
    {FAMILY(swiglu), "vit_giant_patch14_dinov2", "", "\"dinov2\"", NULL},
    {FAMILY(beit), "beit_base_patch16_224", "", "\"beit\"", NULL},
    {FAMILY(clip), "vit_base_patch16_clip_quickgelu_224", "",
     "\"clip_vision_model\"", NULL},
    {FAMILY(siglip), "vit_base_patch16_siglip_224", "",
     "\"siglip_vision_model\"", NULL},
    {FAMILY(clip_head), "vit_base_patch16_clip_224", "", NULL,
     "head.bias is not zero"},
    {FAMILY(unbiased), "vit_base_patch16_clip_224", "", NULL,
     "CLIP without biases of q, k and v"},
    {FAMILY(pooled), "vit_base_patch16_224",
     "\"class_token\": false, \"global_pool\": \"avg\", ", NULL,
     "without a class token"},
    {FAMILY(swiglu), "vit_giant_patch14_dinov2",
     "\"global_pool\": \"avg\", \"fc_norm\": false, ", NULL,
     "features of pooled patches"},
};

static char folder[256];

static const char *at(const char *a, const char *b)
{
    static char path[4][400];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s%s", folder, a, b);
    return path[turn];
}

static void make(size_t family)
{
    const made *list = families[family].list;
    const size_t n = families[family].n;
    static float data[40][256];
    vt_tensor x[40] = {0};
    bool head = false;

    cr_assert_leq(n, 40);
    for (size_t i = 0; i < n; i++) {
        x[i].name = list[i].name;
        x[i].count = 1;
        for (; list[i].shape[x[i].rank]; x[i].rank++) {
            x[i].shape[x[i].rank] = list[i].shape[x[i].rank];
            x[i].count *= list[i].shape[x[i].rank];
        }
        cr_assert_leq(x[i].count, 256);
        for (size_t k = 0; k < x[i].count; k++)
            data[i][k] =
                list[i].shape[4] == ZEROS ? 0 : (float)(i + 1) / (float)(k + 3);
        x[i].data = (const uint8_t *)data[i];
        x[i].size = x[i].count * sizeof(float);
        head |= strcmp(list[i].name, "head.weight") == 0;
    }
    mkdir(at("timm", ""), 0777);
    cr_assert_eq(
        vt_safetensors_write(at("timm", "/model.safetensors"), x, n, NULL),
        VITCL_OK, "%s", vt_message());
    FILE *f = fopen(at("timm", "/config.json"), "w");
    fprintf(f,
            "{\"architecture\": \"%s\", \"num_classes\": %d, \"model_args\": "
            "{%s\"img_size\": 4, \"patch_size\": 2, \"embed_dim\": 4, "
            "\"depth\": 1, \"num_heads\": 2}, \"pretrained_cfg\": "
            "{\"input_size\": [3, 4, 4], \"mean\": [0.5, 0.4, 0.3], \"std\": "
            "[0.2, 0.2, 0.1], \"crop_pct\": 0.875, \"interpolation\": "
            "\"bicubic\"}}",
            families[family].architecture, head ? 5 : 0, families[family].args);
    fclose(f);
}

static size_t slurp(char *out, size_t cap, const char *path)
{
    FILE *f = fopen(path, "rb");
    cr_assert_not_null(f, "%s", path);
    size_t n = fread(out, 1, cap - 1, f);
    out[n] = '\0';
    fclose(f);
    return n;
}

static void same(const char *a, const char *b, const char *what)
{
    static char x[100000], y[100000];
    size_t n = slurp(x, sizeof x, a), m = slurp(y, sizeof y, b);
    cr_expect(n == m && memcmp(x, y, n) == 0, "%s: %s and %s differ", what, a,
              b);
}

static void begin(void)
{
    snprintf(folder, sizeof folder, "%s", vt_test_folder());
}

static void end(void)
{
    static const char *const folders[] = {"timm", "hf", "back", "again",
                                          "half"};
    for (size_t i = 0; i < VT_COUNT(folders); i++) {
        remove(at(folders[i], "/model.safetensors"));
        remove(at(folders[i], "/config.json"));
        remove(at(folders[i], "/preprocessor_config.json"));
        rmdir(at(folders[i], ""));
    }
    cr_expect_eq(rmdir(folder), 0, "something was left in %s", folder);
}

Test(convert, round_trips)
{
    for (size_t i = 0; i < VT_COUNT(families); i++) {
        static char config[10000];
        const char *name = families[i].architecture;

        if (families[i].refused)
            continue;
        begin();
        make(i);
        cr_assert_eq(vitcl_convert(at("hf", ""), at("timm", ""), "hf", NULL),
                     VITCL_OK, "%s: %s", name, vt_message());
        slurp(config, sizeof config, at("hf", "/config.json"));
        cr_expect(strstr(config, families[i].model_type), "%s: %s", name,
                  config);
        slurp(config, sizeof config, at("hf", "/preprocessor_config.json"));
        cr_expect(strstr(config, "\"image_mean\": [0.5, 0.4,"), "%s", config);
        cr_assert_eq(vitcl_convert(at("back", ""), at("hf", ""), "timm", NULL),
                     VITCL_OK, "%s: %s", name, vt_message());
        same(at("timm", "/model.safetensors"), at("back", "/model.safetensors"),
             name);
        slurp(config, sizeof config, at("back", "/config.json"));
        cr_expect(strstr(config, name), "%s: %s", name, config);
        cr_assert_eq(vitcl_convert(at("again", ""), at("back", ""), "hf", NULL),
                     VITCL_OK, "%s: %s", name, vt_message());
        same(at("hf", "/model.safetensors"), at("again", "/model.safetensors"),
             name);
        same(at("hf", "/preprocessor_config.json"),
             at("again", "/preprocessor_config.json"), name);
        end();
    }
}

Test(convert, keeps_the_format)
{
    begin();
    make(0);
    cr_assert_eq(vitcl_convert(at("back", ""), at("timm", ""), "timm", NULL),
                 VITCL_OK, "%s", vt_message());
    same(at("timm", "/model.safetensors"), at("back", "/model.safetensors"),
         "timm");
    same(at("timm", "/config.json"), at("back", "/config.json"), "timm");
    end();
}

Test(convert, changes_types)
{
    static const char *const types[] = {"f16", "bf16"};
    for (int hf = 0; hf < 2; hf++)
        for (size_t k = 0; k < 2; k++) {
            vt_tensors *a = NULL, *b = NULL;
            float x[256], y[256];

            begin();
            make(6);
            cr_assert_eq(vitcl_convert(at("half", ""), at("timm", ""),
                                       hf ? "hf" : "timm", types[k]),
                         VITCL_OK, "%s", vt_message());
            cr_assert_eq(
                vitcl_convert(at("back", ""), at("half", ""), "timm", "f32"),
                VITCL_OK, "%s", vt_message());
            cr_assert_eq(vt_tensors_open(&a, at("timm", "")), VITCL_OK);
            cr_assert_eq(vt_tensors_open(&b, at("back", "")), VITCL_OK);
            cr_expect_eq(vt_tensors_count(a), vt_tensors_count(b));
            for (size_t i = 0; i < vt_tensors_count(a); i++) {
                const vt_tensor *t = vt_tensors_at(a, i);
                const vt_tensor *u = vt_tensors_get(b, t->name);
                cr_assert(u && u->count == t->count, "%s", t->name);
                vt_tensor_f32(x, t);
                vt_tensor_f32(y, u);
                for (size_t n = 0; n < t->count; n++) /* 11 and 8 bits */
                    cr_expect_float_eq(x[n], y[n],
                                       x[n] / (float)(k ? 256 : 2048),
                                       "%s[%zu] %g %g", t->name, n,
                                       (double)x[n], (double)y[n]);
            }
            vt_tensors_free(a), vt_tensors_free(b);
            end();
        }
}

/* Replaces the first `from` in a file; with room, blanks keep its size. */
static void edit(const char *path, const char *from, const char *to, bool room)
{
    static char text[100000];
    const size_t n = slurp(text, sizeof text, path), a = strlen(from),
                 b = strlen(to);
    size_t at = 0;
    FILE *f;

    while (at + a <= n && memcmp(text + at, from, a) != 0)
        at++;
    cr_assert(at + a <= n, "%s has no %s", path, from);
    f = fopen(path, "wb");
    fwrite(text, 1, at, f);
    fwrite(to, 1, b, f);
    for (size_t i = b; room && i < a; i++)
        fputc(' ', f);
    fwrite(text + at + a, 1, n - at - a, f);
    fclose(f);
}

static void refused(const char *from, const char *to, const char *why)
{
    cr_expect_eq(vitcl_convert(at("back", ""), from, to, NULL),
                 VITCL_EUNSUPPORTED);
    cr_expect(strstr(vt_message(), why), "%s", vt_message());
    cr_expect_not(vt_have(at("back", "")));
}

Test(convert, keeps_the_activation)
{
    static const char *const words[][2] = {{"gelu_pytorch_tanh", "gelu_tanh"},
                                           {"quick_gelu", "quick_gelu"},
                                           {"tanh", "tanh"},
                                           {"relu", "relu"},
                                           {"silu", "silu"}};

    for (size_t i = 0; i < VT_COUNT(words); i++) {
        char config[10000], from[64], to[64];

        begin();
        make(0);
        cr_assert_eq(vitcl_convert(at("hf", ""), at("timm", ""), "hf", NULL),
                     VITCL_OK, "%s", vt_message());
        snprintf(from, sizeof from, "\"hidden_act\": \"%s\"", words[i][0]);
        snprintf(to, sizeof to, "\"act_layer\": \"%s\"", words[i][1]);
        edit(at("hf", "/config.json"), "\"hidden_act\": \"gelu\"", from, false);
        cr_assert_eq(vitcl_convert(at("back", ""), at("hf", ""), "timm", NULL),
                     VITCL_OK, "%s", vt_message());
        slurp(config, sizeof config, at("back", "/config.json"));
        cr_expect(strstr(config, to), "%s", config);
        cr_assert_eq(vitcl_convert(at("again", ""), at("back", ""), "hf", NULL),
                     VITCL_OK, "%s", vt_message());
        slurp(config, sizeof config, at("again", "/config.json"));
        cr_expect(strstr(config, from), "%s", config);
        end();
    }
}

/* What the other library cannot express is named, and nothing is written. */
Test(convert, refuses_what_would_be_lost)
{
    begin();
    make(0);
    cr_assert_eq(vitcl_convert(at("hf", ""), at("timm", ""), "hf", NULL),
                 VITCL_OK, "%s", vt_message());
    edit(at("hf", "/config.json"),
         "\"layer_norm_eps\": ", "\"layer_norm_eps\": 0.5, \"x\": ", false);
    refused(at("hf", ""), "timm", "layer_norm_eps is 0.5");
    refused(VT_DATA "/models/hf_vit_bare", "timm", "a pooler");
    /* found when the folder is read again */
    edit(at("timm", "/config.json"), "\"crop_pct\": 0.875",
         "\"crop_mode\": \"border\"", false);
    refused(at("timm", ""), "hf", "HF cannot express this model's resize");
    end();

    begin(); /* BEiT of timm has no argument for the activation */
    make(6);
    cr_assert_eq(vitcl_convert(at("hf", ""), at("timm", ""), "hf", NULL),
                 VITCL_OK, "%s", vt_message());
    edit(at("hf", "/config.json"), "\"gelu\"", "\"relu\"", false);
    refused(at("hf", ""), "timm", "GELU in BEiT");
    end();

    begin(); /* DeiT with one head, on the class token */
    make(1);
    cr_assert_eq(vitcl_convert(at("hf", ""), at("timm", ""), "hf", NULL),
                 VITCL_OK, "%s", vt_message());
    edit(at("hf", "/config.json"), "WithTeacher", "", false);
    for (int i = 0; i < 2; i++) {
        const char *const file = at("hf", "/model.safetensors");

        edit(file, i ? "\"cls_classifier.bias\"" : "\"cls_classifier.weight\"",
             i ? "\"classifier.bias\"" : "\"classifier.weight\"", true);
        edit(file, "distillation_classifier", "lm_head.aaaaaaaaaaaaaaa", true);
    }
    refused(at("hf", ""), "timm", "distillation token that no head reads");
    end();
}

/* A refused model leaves what is in the folder as it is. */
Test(convert, replaces_only_with_what_is_right)
{
    static char before[10000], after[10000];

    begin();
    make(0);
    cr_assert_eq(vitcl_convert(at("hf", ""), at("timm", ""), "hf", NULL),
                 VITCL_OK, "%s", vt_message());
    slurp(before, sizeof before, at("hf", "/model.safetensors"));
    edit(at("timm", "/config.json"), "\"crop_pct\": 0.875",
         "\"crop_mode\": \"border\"", false);
    cr_expect_eq(vitcl_convert(at("hf", ""), at("timm", ""), "hf", "f16"),
                 VITCL_EUNSUPPORTED);
    slurp(after, sizeof after, at("hf", "/model.safetensors"));
    cr_expect(memcmp(before, after, sizeof before) == 0);
    end();
}

/* How another model's pictures are prepared is not left beside this one. */
Test(convert, removes_what_is_of_another_model)
{
    begin();
    make(0);
    cr_assert_eq(vitcl_convert(at("hf", ""), at("timm", ""), "hf", NULL),
                 VITCL_OK, "%s", vt_message());
    vt_test_text(folder, "hf/processor_config.json",
                 "{\"image_processor\": {\"do_resize\": false}}");
    cr_assert_eq(vitcl_convert(at("hf", ""), at("timm", ""), "hf", NULL),
                 VITCL_OK, "%s", vt_message());
    cr_expect_not(vt_have(at("hf", "/processor_config.json")));
    cr_expect(vt_have(at("hf", "/preprocessor_config.json")));
    cr_assert_eq(vitcl_convert(at("hf", ""), at("timm", ""), "timm", NULL),
                 VITCL_OK, "%s", vt_message());
    cr_expect_not(vt_have(at("hf", "/preprocessor_config.json")));
    same(at("timm", "/config.json"), at("hf", "/config.json"), "timm");
    end();
}

/* timm's MLP has int(embed_dim * mlp_ratio) rows, as our config must say. */
Test(convert, the_ratio_gives_the_width)
{
    for (int width = 1; width <= 96; width++)
        for (int mlp = 1; mlp <= 4 * width; mlp++) {
            const vt_config c = {.family = &vt_family_vit,
                                 .width = width,
                                 .mlp = mlp,
                                 .heads = 1};
            vt_json *json = NULL;
            double ratio = 0;
            char *args = NULL, text[512];

            cr_assert_eq(vt_timm_args_new(&args, &c, false, 32, 32, "args"),
                         VITCL_OK, "%s", vt_message());
            snprintf(text, sizeof text, "{%s}", args);
            cr_assert_eq(vt_json_parse(&json, text, strlen(text), 4, "args"),
                         VITCL_OK, "%s", vt_message());
            cr_assert(vt_json_number(&ratio, vt_json_get(json, "mlp_ratio")));
            cr_expect_eq((int)(width * ratio), mlp, "%d of %d", mlp, width);
            vt_json_free(json);
            free(args);
        }
}

Test(convert, refuses)
{
    for (size_t i = 0; i < VT_COUNT(families); i++) {
        if (!families[i].refused)
            continue;
        begin();
        make(i);
        cr_expect_eq(vitcl_convert(at("hf", ""), at("timm", ""), "hf", NULL),
                     VITCL_EUNSUPPORTED);
        cr_expect(strstr(vt_message(), families[i].refused), "%s",
                  vt_message());
        cr_expect_not(vt_have(at("hf", "")));
        end();
    }
    begin();
    make(0);
    cr_expect_eq(vitcl_convert(at("hf", ""), at("timm", ""), "onnx", NULL),
                 VITCL_EINVAL);
    cr_expect_eq(vitcl_convert(at("hf", ""), at("timm", ""), "hf", "f8"),
                 VITCL_EINVAL);
    cr_expect_eq(vitcl_convert(at("hf", ""), NULL, "hf", NULL), VITCL_EINVAL);
    cr_expect_eq(vitcl_convert(at("x/y", ""), at("timm", ""), "hf", NULL),
                 VITCL_EIO);
    end();
}
