/*
 * test_golden.c - every family against its own library, tensor by tensor:
 * tests/data/models (made by tools/golden_tiny.py), and the larger cases below
 * VITCL_TEST_DATA.
 */
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
    run_folder(VT_DATA "/models", "", false);
}
