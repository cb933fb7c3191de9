/*
 * test_relevance.c - the probabilities of attention times a class' gradient in
 * them, and the relevance that follows, against PyTorch
 * (tests/data/inspect.safetensors, made by tools/golden_inspect.py).
 */
#include "api/program.h"
#include "inspect/attention.h"
#include "support/paths.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <vitcl.h>

enum { LABEL = 3, TOKENS_MOST = 16 };

typedef struct seen {
    double row[TOKENS_MOST], room[TOKENS_MOST];
    int next; /* the layer that is expected */
} seen;

static int see(void *context, const vitcl_tensor_info *t, const float *data)
{
    seen *s = context;
    char name[32];

    snprintf(name, sizeof name, "relevance.%d", s->next--);
    cr_assert_str_eq(t->name, name);
    cr_assert(t->rank == 4 && t->shape[2] == t->shape[3] &&
              t->shape[2] <= TOKENS_MOST);
    vt_relevance_step(s->row, s->room, data, (int)t->shape[1],
                      (int)t->shape[2]);
    return 0;
}

static float *read_tensor(const char *path, const char *name, vitcl_shape *s)
{
    vt_tensors *t = NULL;
    uint64_t n = 1;
    float *out;

    cr_assert_eq(vt_tensors_open(&t, path), VITCL_OK, "%s", vitcl_last_error());
    cr_assert_eq(vt_tensors_shape(s, t, name), VITCL_OK);
    for (uint32_t i = 0; i < s->rank; i++)
        n *= s->shape[i];
    out = malloc((size_t)n * sizeof *out);
    cr_assert_eq(vt_tensors_read(out, t, name, n), VITCL_OK);
    vt_tensors_free(t);
    return out;
}

/* What relevance begins with, for a grid of one row. */
static void begin(seen *s, const vitcl_model *model, size_t tokens)
{
    vitcl_model_info info = {.size = sizeof info};
    vt_patch_grid grid;

    cr_assert_eq(vitcl_model_describe(&info, model, 0, 0, 1), VITCL_OK);
    cr_assert(info.tokens == tokens && tokens <= TOKENS_MOST);
    grid = (vt_patch_grid){.rows = 1,
                           .columns = (int)info.tokens,
                           .read_first = (int)info.read_first,
                           .read_count = (int)info.read_count};
    vt_answer_row(s->row, &grid);
}

static void check(const char *folder, const char *golden)
{
    static const char *const relevance[] = {"relevance.*", NULL};
    seen s = {.next = 1};
    vitcl_session_options o = {.size = sizeof o,
                               .watch = relevance,
                               .watcher = see,
                               .watcher_context = &s,
                               .gradients = 1};
    vitcl_device *device = NULL;
    vitcl_model *model = NULL;
    vitcl_session *session = NULL;
    vitcl_shape x, y;
    char path[512];
    float *pixels, *want;
    uint32_t label = LABEL;

    snprintf(path, sizeof path, "%s/input.safetensors", folder);
    pixels = read_tensor(path, "pixel_values", &x);
    want = read_tensor(VT_DATA "/inspect.safetensors", golden, &y);
    cr_assert_eq(vitcl_device_open(&device, NULL), VITCL_OK);
    cr_assert_eq(vitcl_model_load(&model, device, folder), VITCL_OK);
    cr_assert_eq(vitcl_session_new(&session, model, &o), VITCL_OK, "%s",
                 vitcl_last_error());
    cr_expect_eq(vt_session_run_gradient(session, &label, 1), VITCL_EINVAL,
                 "nothing has run");
    for (int again = 0; again < 2; again++) { /* the same each time */
        s.next = 1;
        begin(&s, model, (size_t)y.shape[0]);
        cr_assert_eq(vitcl_session_run_values(session, pixels, 1), VITCL_OK,
                     "%s", vitcl_last_error());
        cr_assert_eq(vt_session_run_gradient(session, &label, 1), VITCL_OK,
                     "%s", vitcl_last_error());
        cr_assert_eq(s.next, -1);
        cr_expect_eq(vt_session_run_gradient(session, &label, 1), VITCL_EINVAL,
                     "its activations are used up");
        for (size_t i = 0; i < y.shape[0]; i++)
            cr_expect(fabs(s.row[i] - (double)want[i]) < 1e-5,
                      "token %zu: %.8f, not %.8f", i, s.row[i],
                      (double)want[i]);
    }
    label = 5;
    cr_expect_eq(vt_session_run_gradient(session, &label, 1), VITCL_EINVAL);
    vitcl_session_free(session);
    vitcl_model_free(model);
    vitcl_device_free(device);
    free(pixels);
    free(want);
}

Test(relevance, from_the_class_token)
{
    check(VT_DATA "/models/timm_vit", "relevance_token");
}

Test(relevance, from_the_mean_of_patches)
{
    check(VT_DATA "/models/timm_vit_gap_rect", "relevance_mean");
}

Test(relevance, from_the_mean_of_patches_behind_other_tokens)
{
    check(VT_DATA "/models/timm_vit_avg_reg", "relevance_registers");
}

Test(relevance, from_two_tokens)
{
    check(VT_DATA "/models/timm_deit_distilled", "relevance_distilled");
}

Test(relevance, tokens_that_the_head_reads)
{
    static const struct {
        const char *folder;
        uint32_t tokens, first, count;
    } models[] = {
        {"timm_vit_qknorm_reg", 12, 0, 1}, {"hf_deit", 11, 0, 2},
        {"timm_deit_distilled", 11, 0, 2}, {"hf_dinov2_reg", 12, 0, 1},
        {"timm_beit_resized", 10, 1, 9},   {"timm_eva02_resized", 10, 1, 9},
        {"timm_vit_avg_reg", 12, 3, 9},    {"timm_vit_avgmax", 10, 1, 9},
        {"timm_vit_max", 10, 1, 9},        {"timm_vit_map_all", 10, 0, 10},
        {"timm_pe_core", 10, 0, 10},       {"timm_siglip", 9, 0, 9},
        {"timm_resnet", 48, 0, 0}};

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        vitcl_model_info info = {.size = sizeof info};
        vitcl_model *model = NULL;
        char path[512];

        snprintf(path, sizeof path, VT_DATA "/models/%s", models[i].folder);
        cr_assert_eq(vitcl_model_load(&model, NULL, path), VITCL_OK, "%s",
                     vitcl_last_error());
        cr_assert_eq(vitcl_model_describe(&info, model, 0, 0, 1), VITCL_OK);
        cr_expect(info.tokens == models[i].tokens &&
                      info.read_first == models[i].first &&
                      info.read_count == models[i].count,
                  "%s: %u tokens, %u from %u", models[i].folder, info.tokens,
                  info.read_count, info.read_first);
        vitcl_model_free(model);
    }
}
