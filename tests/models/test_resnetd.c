/*
 * test_resnetd.c - hybrids with a ResNet-D stem: the norms that are folded into
 * convolutions, and that training is refused. test_golden.c checks answers,
 * test_open.c missing tensors.
 */
#include "models/derived.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASE VT_DATA "/models/timm_resnetd"
#define STEM "patch_embed.backbone."

typedef struct change {
    const char *name, *from, *to; /* from -> to in the config */
    int at;                       /* this element */
    float value;
    uint64_t shape[4];
    uint32_t rank; /* 0: as it was */
    vitcl_status status;
    const char *says;
} change;

static vitcl_status open_changed(vt_model **out, const change *c)
{
    static char text[1 << 14];
    char *folder = vt_test_folder(), *at;
    float *data[128] = {NULL};
    vt_tensor list[128];
    vt_tensors *raw = NULL;
    size_t n = 0, size = 0;
    unsigned char *config = vt_test_bytes(&size, CASE, "config.json");
    vitcl_status st;

    cr_assert(config && size < sizeof text / 2);
    snprintf(text, sizeof text, "%.*s", (int)size, (const char *)config);
    free(config);
    if (c->from) {
        static char rest[1 << 14];

        at = strstr(text, c->from);
        cr_assert_not_null(at, "%s", c->from);
        strcpy(rest, at + strlen(c->from));
        sprintf(at, "%s%s", c->to, rest);
    }
    vt_test_text(folder, "config.json", text);
    cr_assert_eq(vt_tensors_open(&raw, CASE), VITCL_OK, "%s", vt_message());
    for (; n < vt_tensors_count(raw); n++) {
        vt_tensor t = *vt_tensors_at(raw, n);
        uint64_t count = t.count;

        if (c->name && strcmp(t.name, c->name) == 0 && c->rank) {
            t.rank = c->rank;
            t.count = 1;
            for (uint32_t k = 0; k < t.rank; k++)
                t.count *= t.shape[k] = c->shape[k];
        }
        cr_assert_lt(n, 128);
        data[n] = calloc(count + t.count, sizeof(float));
        cr_assert_eq(vt_tensor_f32(data[n], vt_tensors_at(raw, n)), VITCL_OK);
        if (c->name && strcmp(t.name, c->name) == 0 && !c->rank)
            data[n][c->at] = c->value;
        t.dtype = VT_FILE_F32;
        t.size = t.count * sizeof(float);
        t.data = (const uint8_t *)data[n];
        list[n] = t;
    }
    cr_assert_eq(vt_safetensors_write(vt_test_path(folder, "model.safetensors"),
                                      list, n, NULL),
                 VITCL_OK, "%s", vt_message());
    for (size_t i = 0; i < n; i++)
        free(data[i]);
    vt_tensors_free(raw);
    st = vt_model_open(out, folder);
    vt_test_remove(folder);
    return st;
}

Test(resnetd, implausible_norms_are_refused)
{
    static const change all[] = {
        {.name = STEM "layer2.0.bn3.running_var",
         .at = 23,
         .value = -0.5f,
         .status = VITCL_ECORRUPT,
         .says = STEM "layer2.0.bn3.running_var is -0.5 at element 23"},
        {.name = STEM "bn1.running_var",
         .value = INFINITY,
         .status = VITCL_ECORRUPT,
         .says = STEM "bn1.running_var is infinite at element 0"},
        {.name = STEM "conv1.4.running_mean",
         .at = 3,
         .value = NAN,
         .status = VITCL_ECORRUPT,
         .says = STEM "conv1.4.running_mean is NaN at element 3"},
        {.name = STEM "layer1.0.downsample.2.weight",
         .at = 1,
         .value = NAN,
         .status = VITCL_ECORRUPT,
         .says = STEM "layer1.0.downsample.2.weight is NaN at element 1"},
        {.name = STEM "layer1.1.bn2.bias",
         .value = -INFINITY,
         .status = VITCL_ECORRUPT,
         .says = STEM "layer1.1.bn2.bias is infinite"},
        {.name = STEM "layer1.1.bn2.running_var",
         .shape = {5},
         .rank = 1,
         .status = VITCL_ECORRUPT,
         .says = STEM "layer1.1.bn2.running_var is [5], but this ResNet-D "
                      "hybrid needs [4]"},
        {.name = STEM "conv1.1.running_mean",
         .rank = 1,
         .status = VITCL_ECORRUPT,
         .says = STEM "conv1.1.running_mean is [0]"},
        {.name = STEM "layer1.0.conv2.weight",
         .shape = {4, 4, 1, 1},
         .rank = 4,
         .status = VITCL_ECORRUPT,
         .says = "needs [4,4,3,3]"},
        {.name = STEM "conv1.6.weight",
         .shape = {7, 4, 3, 3},
         .rank = 4,
         .status = VITCL_ECORRUPT,
         .says = "7 wide in conv1.6"},
        {.name = STEM "layer2.0.conv3.weight",
         .shape = {22, 6, 1, 1},
         .rank = 4,
         .status = VITCL_ECORRUPT,
         .says = "22 wide in layer2"},
        {.name = "patch_embed.proj.weight",
         .shape = {16, 24, 1, 0},
         .rank = 4,
         .status = VITCL_ECORRUPT,
         .says = "patch_embed.proj.weight has an unusable shape"},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        vt_model *m = NULL;
        const vitcl_status st = open_changed(&m, &all[i]);

        cr_expect_eq(st, all[i].status, "%s: %d", all[i].says, (int)st);
        cr_expect_null(m);
        cr_expect(st && strstr(vt_message(), all[i].says) &&
                      !strchr(vt_message(), '\n'),
                  "\"%s\" lacks \"%s\"", st ? vt_message() : "opened",
                  all[i].says);
        vt_model_close(m);
    }
}

/* A variance of zero is valid: a filter with constant output leaves it. */
Test(resnetd, variance_of_zero)
{
    static const change zero = {.name = STEM "bn1.running_var", .at = 2};
    vt_model *m = NULL;
    float norm[VT_BATCHNORM_PARTS], b[8];

    cr_assert_eq(open_changed(&m, &zero), VITCL_OK, "%s", vt_message());
    for (int k = 0; k < VT_BATCHNORM_PARTS; k++) {
        float *all = NULL;
        char name[96];

        vt_batchnorm_name(name, sizeof name, STEM "conv1.6.bias", k);
        cr_assert_eq(vt_model_weight(&all, m, name, 8), VITCL_OK, "%s",
                     vt_message());
        norm[k] = all[2];
        free(all);
    }
    cr_expect_eq(norm[3], 0);
    cr_assert_eq(vt_model_read_param(b, m, STEM "conv1.6.bias@bn", 8),
                 VITCL_OK);
    cr_expect_float_eq(
        (double)b[2],
        (double)norm[1] - (double)norm[2] * (double)norm[0] / sqrt(1e-5), 1e-4);
    vt_model_close(m);
}

/* timm's small ones have eight heads, whatever their width. */
Test(resnetd, heads_by_name)
{
    static const change none = {.from = "\"num_heads\": 2",
                                .to = "\"drop_rate\": 0"};
    vt_model *m = NULL;

    cr_assert_eq(open_changed(&m, &none), VITCL_OK, "%s", vt_message());
    cr_expect_eq(vt_model_config(m)->heads, 8);
    vt_model_close(m);
}

Test(resnetd, training_is_refused)
{
    for (int k = 0; k < 2; k++) {
        const vt_plan_options o = {.train = k == 0, .backward = k == 1};
        vt_model *m = NULL;
        vt_plan *p = NULL;
        vt_outputs out;

        cr_assert_eq(vt_model_open(&m, CASE), VITCL_OK, "%s", vt_message());
        cr_assert_eq(vt_plan_new(&p, &o), VITCL_OK);
        vt_model_build(p, m,
                       vt_input(p, "pixels", VT_F32, 4, (int[]){1, 3, 19, 30}),
                       NULL, &out);
        cr_expect_eq(vt_plan_status(p), VITCL_EUNSUPPORTED);
        cr_expect(strstr(vt_message(), CASE) &&
                      strstr(vt_message(), "BatchNorm"),
                  "%s", vt_message());
        vt_plan_free(p);
        vt_model_close(m);
    }
}
