/*
 * test_config.c - the effect of single config values. A golden file is too
 * coarse to show an epsilon or a default. Missing values have the defaults of
 * timm 1.0 and transformers.
 */
#include "models/model.h"
#include "models/vit.h"
#include "plan/plan_private.h"
#include "support/paths.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A case of tests/data/models with these replacements in its config: from, to,
 * from, to, NULL. */
static vt_model *open_with(const char *name, const char *const *change)
{
    static char text[1 << 14], next[1 << 14];
    const char *folder = vt_test_folder();
    char path[512];
    vt_model *m = NULL;
    size_t size = 0;
    unsigned char *config;

    snprintf(path, sizeof path, "%s/models/%s", VT_DATA, name);
    config = vt_test_bytes(&size, path, "config.json");
    cr_assert(config && size < sizeof text / 2, "%s", path);
    memcpy(text, config, size);
    text[size] = '\0';
    free(config);
    for (; change && *change; change += 2) {
        char *at = strstr(text, change[0]);
        cr_assert(at, "%s has no %s", path, change[0]);
        snprintf(next, sizeof next, "%.*s%s%s", (int)(at - text), text,
                 change[1], at + strlen(change[0]));
        strcpy(text, next);
    }
    vt_test_text(folder, "config.json", text);
    snprintf(path, sizeof path, "%s/models/%s/model.safetensors", VT_DATA,
             name);
    cr_assert_eq(symlink(path, vt_test_path(folder, "model.safetensors")), 0);
    const vitcl_status st = vt_model_open(&m, folder);
    vt_test_remove(folder);
    cr_assert_eq(st, VITCL_OK, "%s: %s", name, vt_message());
    return m;
}

static vt_config config_with(const char *name, const char *const *change)
{
    vt_model *m = open_with(name, change);
    const vt_config c = *vt_model_config(m);

    vt_model_close(m);
    return c;
}

Test(config, epsilon)
{
    static const struct {
        const char *name, *change[5];
        float eps;
    } all[] = {
        {"timm_vit", {NULL}, 1e-6f},
        {"timm_clip", {NULL}, 1e-5f},
        {"timm_eva02_clip", {NULL}, 1e-6f},
        {"timm_siglip", {NULL}, 1e-6f},
        {"hf_vit_bare", {NULL}, 1e-12f},
        {"hf_vit_bare", {"1e-12", "0.0012"}, 0.0012f},
        {"hf_vit_bare", {"\"layer_norm_eps\": 1e-12", "\"x\": 1"}, 1e-12f},
        {"hf_vit_bare", {"1e-12", "null"}, 1e-12f},
        {"hf_dinov2", {"1e-06", "0.5"}, 0.5f},
        {"hf_dinov2", {"1e-06", "null"}, 1e-6f},
        {"hf_clip", {"1e-05", "null"}, 1e-5f},
        {"hf_siglip", {"1e-06", "null"}, 1e-6f},
        /* ViT-MSN is a ViT with another default */
        {"hf_vit_bare", {"\"vit\"", "\"vit_msn\"", "1e-12", "null"}, 1e-6f},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const vt_config c = config_with(all[i].name, all[i].change);
        cr_expect_eq(c.eps, all[i].eps, "%s, %s: %g", all[i].name,
                     all[i].change[1], (double)c.eps);
    }
}

/* A class's own defaults are those that the checks see. */
Test(config, defaults)
{
    const vt_config c = config_with(
        "hf_aimv2", (const char *[]){"\"num_attention_heads\"", "\"x\"", NULL});

    cr_expect_eq(c.heads, 8, "%d", c.heads);
}

Test(config, activation)
{
    static const struct {
        const char *name, *change[3];
        vt_act act;
    } all[] = {
        {"timm_vit", {NULL}, VT_ACT_GELU},
        {"timm_clip", {NULL}, VT_ACT_GELU_QUICK},
        {"hf_vit_bare", {NULL}, VT_ACT_GELU},
        {"hf_vit_bare", {"\"hidden_act\": \"gelu\"", "\"x\": 1"}, VT_ACT_GELU},
        {"hf_vit_bare", {"\"gelu\"", "\"relu\""}, VT_ACT_RELU},
        {"hf_clip", {NULL}, VT_ACT_GELU_QUICK},
        {"hf_clip", {"\"quick_gelu\"", "\"gelu\""}, VT_ACT_GELU},
        {"hf_clip",
         {"\"hidden_act\": \"quick_gelu\"", "\"x\": 1"},
         VT_ACT_GELU_QUICK},
        {"hf_siglip", {NULL}, VT_ACT_GELU_TANH},
        {"hf_siglip",
         {"\"hidden_act\": \"gelu_pytorch_tanh\"", "\"x\": 1"},
         VT_ACT_GELU_TANH},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const vt_config c = config_with(all[i].name, all[i].change);
        cr_expect_eq(c.act, all[i].act, "%s, %s: %d", all[i].name,
                     all[i].change[1], (int)c.act);
    }
}

/* Which tokens are pooled, and how. */
Test(config, pooling)
{
    static const struct {
        const char *name;
        vt_pool_kind pool;
        int first;
        bool both;
    } all[] = {
        {"timm_vit", VT_POOL_TOKEN, 0, false},
        {"timm_vit_gap_rect", VT_POOL_MEAN, 0, false},
        {"timm_vit_avg_reg", VT_POOL_MEAN, 3, false},
        {"timm_vit_avgmax", VT_POOL_MEAN, 1, true},
        {"timm_vit_avgmax_plain", VT_POOL_MEAN, 1, true},
        {"timm_vit_max", VT_POOL_MAX, 1, false},
        {"timm_vit_qknorm_reg", VT_POOL_TOKEN, 0, false},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const vt_config c = config_with(all[i].name, NULL);

        cr_expect_eq(c.pool, all[i].pool, "%s", all[i].name);
        if (c.pool != VT_POOL_TOKEN)
            cr_expect_eq(c.pool_first, all[i].first, "%s: %d", all[i].name,
                         c.pool_first);
        cr_expect_eq(c.pool_max_mean, all[i].both, "%s", all[i].name);
    }
}

/* The last block computes only the tokens that are read. This saves time and
 * changes no answer. 0: all. */
Test(config, computes_only_rows_that_are_read)
{
    static const char *const norm[] = {"norm", NULL}, *const none[] = {NULL};
    static const char *const last[] = {"block.1", NULL};
    const struct {
        const char *name;
        const char *const *keep;
        int rows, last; /* after all blocks; in the last of two blocks */
    } all[] = {
        {"timm_vit", none, 1, 1},
        {"timm_vit", norm, 0, 0},
        {"timm_vit", last, 1, 0},
        {"timm_vit_qknorm_reg", none, 1, 1},
        {"timm_deit_distilled", none, 2, 2},
        {"timm_vit_avg_reg", none, 0, 0},
        {"timm_vit_map_all", none, 0, 0},
        {"hf_vit_bare", none, 0, 0},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const vt_plan_options o = {.keep = all[i].keep};
        const vt_config c = config_with(all[i].name, NULL);
        vt_plan *p = NULL;

        cr_assert_eq(vt_plan_new(&p, &o), VITCL_OK);
        cr_expect_eq(vt_vit_rows(p, &c), all[i].rows, "case %zu: %d", i,
                     vt_vit_rows(p, &c));
        cr_expect_eq(vt_vit_block_rows(p, &c, 1), all[i].last, "case %zu: %d",
                     i, vt_vit_block_rows(p, &c, 1));
        cr_expect_eq(vt_vit_block_rows(p, &c, 0), 0, "case %zu", i);
        vt_plan_free(p);
    }
}

/* The rate of stochastic depth rises from 0 at the first block to the full rate
 * at the last, as in torch.linspace(0, rate, depth); each block drops twice. */
Test(config, drop_path)
{
    static const float rate = 0.3f;
    static const int depths[] = {1, 2, 4};

    for (size_t k = 0; k < sizeof depths / sizeof *depths; k++) {
        const int depth = depths[k];
        const vt_plan_options o = {.backward = true, .train = true};
        vt_build_options options = {.drop_path = rate, .patch_source = VT_NONE};
        vt_config c = {.depth = depth};
        vt_plan *p = NULL;

        cr_assert_eq(vt_plan_new(&p, &o), VITCL_OK);
        options.train_step = vt_input(p, "train_step", VT_I32, 1, (int[]){1});
        const vt_val x = vt_input(p, "x", VT_F32, 3, (int[]){2, 3, 4});
        for (int i = 0; i < depth; i++) {
            const double want =
                depth > 1 ? (double)rate * i / (depth - 1) : (double)rate;
            const size_t before = p->steps;
            const vt_val y = vt_vit_drop_path(p, &c, i, x, &options);

            cr_assert_neq(y, VT_NONE, "%s", vt_message());
            if (want <= 0) {
                cr_expect(y == x && p->steps == before);
                continue;
            }
            cr_assert_eq(p->steps, before + 1);
            /* what is kept is scaled up by 1 / (1 - rate) */
            cr_expect_float_eq((double)p->step[before]->f[0], 1 / (1 - want),
                               1e-6, "block %d of %d: %g", i, depth,
                               (double)p->step[before]->f[0]);
        }
        vt_plan_free(p);
    }
}
