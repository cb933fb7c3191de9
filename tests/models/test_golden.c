/*
 * test_golden.c - every family against its own library, tensor by tensor:
 * tests/data/models (made by tools/golden_tiny.py) and the larger cases beside
 * the repository where they are.
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
    char path[512];
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
    run_folder(VT_SHARED "/golden", "timm_", true);
}

Test(golden, huggingface)
{
    cr_expect_geq(run_folder(VT_DATA "/models", "hf_", true), 6);
    run_folder(VT_SHARED "/golden", "hf_", true);
}

Test(golden, google)
{
    cr_expect_geq(run_folder(VT_DATA "/models", "npz_", true), 1);
    run_folder(VT_SHARED "/golden", "npz_", true);
}

/* As classify runs it: the last block on the class token alone. */
Test(golden, answers_alone)
{
    run_folder(VT_DATA "/models", "", false);
}
