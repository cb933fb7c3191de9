/*
 * fuzz_table.c - any bytes as a table of pictures: what is accepted has sorted
 * classes, and pictures of these, all of them files.
 *
 * The corpus names files of /proc/self, in which the table seems to be.
 */
#include "data/dataset_private.h"
#include "support/fuzz_file.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const vt_dataset *d)
{
    if (vt_dataset_count(d) == 0 || vt_dataset_classes(d) == 0)
        __builtin_trap();
    for (uint32_t i = 0; i < vt_dataset_classes(d); i++)
        if (!*vt_dataset_class(d, i) ||
            (i > 0 &&
             strcmp(vt_dataset_class(d, i - 1), vt_dataset_class(d, i)) >= 0))
            __builtin_trap();
    for (uint32_t i = 0; i < vt_dataset_count(d); i++)
        if (vt_dataset_label(d, i) >= vt_dataset_classes(d) ||
            !*vt_dataset_name(d, i) || !vt_path_exists(vt_dataset_path(d, i)))
            __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const splits[] = {NULL, "train", "val", "test", "x"};
    const char *path = fuzz_file(data, size);

    for (size_t i = 0; i < 3 * sizeof splits / sizeof *splits; i++) {
        vt_dataset *d = calloc(1, sizeof *d);

        if (d && vt_table_open(d, path,
                               &(vt_dataset_options){
                                   .split = splits[i / 3],
                                   .training = i % 3 == 1,
                                   .validation = i % 3 == 2}) == VITCL_OK)
            check(d);
        vt_dataset_free(d);
    }
    return 0;
}
