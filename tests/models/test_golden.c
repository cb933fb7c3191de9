/*
 * test_golden.c - every family against its own library, tensor by tensor:
 * tests/data/models (made by tools/golden_tiny.py), and the larger cases below
 * VITCL_TEST_DATA.
 */
#include "support/commit.h"
#include "support/golden.h"
#include "support/paths.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static int run_folder(const char *root, const char *prefix, bool keep_all)
{
    struct dirent **list = NULL;
    const int n = scandir(root, &list, visible, alphasort);
    char path[1024];
    int run = 0;

    for (int i = 0; i < n; i++) {
        if (strncmp(list[i]->d_name, prefix, strlen(prefix)) == 0) {
            snprintf(path, sizeof path, "%s/%.200s", root, list[i]->d_name);
            const double worst = vt_test_golden(path, keep_all);
            cr_log_info("%-24s %.2e", list[i]->d_name, worst);
            run++;
        }
        free(list[i]);
    }
    free(list);
    return run;
}

Test(golden, timm)
{
    cr_expect_geq(run_folder(VT_DATA "/models", "timm_", true), 10);
}

Test(golden, huggingface)
{
    cr_expect_geq(run_folder(VT_DATA "/models", "hf_", true), 6);
}

Test(golden, google)
{
    cr_expect_geq(run_folder(VT_DATA "/models", "npz_", true), 1);
}

static void run_larger(const char *prefix)
{
    char root[512];

    vt_test_data(root, "golden");
    cr_expect_geq(run_folder(root, prefix, true), 1);
}

Test(golden, timm_larger)
{
    run_larger("timm_");
}

Test(golden, huggingface_larger)
{
    run_larger("hf_");
}

Test(golden, google_larger)
{
    run_larger("npz_");
}

/* As classify runs it: the last block computes only the class token. */
Test(golden, class_token_only)
{
    cr_expect_geq(run_folder(VT_DATA "/models", "", false), 17);
}

/* With activations in 16 bits: roundings of 2^-11 and 2^-8 add up, and more so
 * in the weights of attention, whose logits they change. */
static void run_halves(const char *root, const char *name, const char *gemm)
{
    char path[1024];

    snprintf(path, sizeof path, "%.500s/%.200s", root, name);
    cr_log_info("%-24s %.2e in f16, %.2e in bf16", name,
                vt_test_golden_as(path, VITCL_F16, 0.01, gemm),
                vt_test_golden_as(path, VITCL_BF16, 0.05, gemm));
}

Test(golden, halves)
{
    static const char *const names[] = {
        "timm_vit", "hf_dinov2_reg", "timm_deit_distilled", "npz_vit",
        /* rotary positions, SwiGLU, norms of q and k, group norm, ResNet-D */
        "timm_eva02_resized", "timm_dinov2_swiglu_reg", "timm_vit_qknorm_reg",
        "timm_hybrid", "timm_resnetd"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        run_halves(VT_DATA "/models", names[i], "");
}

/* Some of the models, others at each commit. With VITCL_TEST_MMA=all, all. */
static void run_some(const char *root, int some,
                     void (*one)(const char *root, const char *name))
{
    struct dirent **list = NULL;
    const int n = scandir(root, &list, visible, alphasort);
    const int count = getenv("VITCL_TEST_MMA") ? n : some;
    const unsigned long first = vt_test_commit();

    cr_assert_gt(n, some);
    for (int i = 0; i < count; i++)
        one(root,
            list[(first + (unsigned long)(i * n / count)) % (unsigned long)n]
                ->d_name);
    for (int i = 0; i < n; i++)
        free(list[i]);
    free(list);
}

/* With the kernels for GPUs, in f32. */
static void run_f32(const char *root, const char *name)
{
    char path[1024];

    snprintf(path, sizeof path, "%.500s/%.200s", root, name);
    cr_log_info("%-24s %.2e", name,
                vt_test_golden_as(path, VITCL_F32, 1e-4, ""));
}

Test(golden, gpu)
{
    run_some(VT_DATA "/models", 4, run_f32);
}

/* On matrix units, emulated. */
static void run_units(const char *root, const char *name)
{
    setenv("VITCL_MMA", "emulate", 1);
    run_halves(root, name, "emulated");
    unsetenv("VITCL_MMA");
}

Test(golden, matrix_units)
{
    run_some(VT_DATA "/models", 2, run_units);
}

/* int8's own error is larger than that of the activations in bf16 or, where a
 * unit has none, in f16. */
static void run_int8(const char *root, const char *name)
{
    const char *const word = vt_test_commit() % 2 ? "emulate" : "emulate-mma8";
    char path[1024];

    snprintf(path, sizeof path, "%.500s/%.200s", root, name);
    setenv("VITCL_MMA", word, 1);
    cr_log_info("%-24s %.2e in int8, %s", name,
                vt_test_golden_as(path, VITCL_INT8, 0.25, ""), word);
    unsetenv("VITCL_MMA");
}

Test(golden, int8)
{
    run_some(VT_DATA "/models", 2, run_int8);
}

/* Most of these have heads of 32, whose attention is on the units, too. */
Test(golden, matrix_units_larger)
{
    char root[512];

    vt_test_data(root, "golden");
    run_some(root, 1, run_units);
}
