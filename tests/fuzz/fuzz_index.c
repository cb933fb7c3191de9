/*
 * fuzz_index.c - any bytes as an index of embed: what it says about itself is
 * consistent, each path is found, and all rows can be read.
 */
#include "index/index.h"
#include "support/fuzz_file.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_rows(const vt_index *x)
{
    const uint64_t n = vt_index_count(x), width = vt_index_width(x);
    float *rows;
    uint16_t *narrow;

    if (n > 1 << 16 || n * width > 1 << 16)
        return;
    rows = malloc((size_t)(n * width + 1) * sizeof *rows);
    narrow = malloc((size_t)(n * width + 1) * sizeof *narrow);
    if (rows && narrow)
        vt_index_rows(rows, narrow, x, 0, n);
    free(rows);
    free(narrow);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    vt_index *x = NULL;

    if (vt_index_open(&x, fuzz_file(data, size)) != VITCL_OK)
        return 0;
    if (vt_index_agrees(x, vt_index_about(x)) != VITCL_OK)
        __builtin_trap();
    if (vt_index_sort(x) == VITCL_OK) {
        for (uint64_t i = 0; i < vt_index_count(x); i++) {
            const char *path = vt_index_path(x, i);
            const uint64_t found = vt_index_find(x, path);

            if (found < i || found >= vt_index_count(x) ||
                strcmp(vt_index_path(x, found), path) != 0)
                __builtin_trap();
            vt_index_stamp(x, i);
        }
    }
    read_rows(x);
    vt_index_free(x);
    return 0;
}
