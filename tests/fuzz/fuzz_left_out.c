/*
 * fuzz_left_out.c - any bytes as a training's list of files that are left out:
 * one name for each line, sorted, none longer than the file.
 */
#include "support/fuzz_file.h"
#include "train/pictures.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    vt_left_out l = {0};
    size_t lines = 0, bytes = 0;

    if (vt_left_out_load(&l, fuzz_file(data, size)) != VITCL_OK)
        return 0;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    lines += size > 0 && data[size - 1] != '\n';
    for (size_t i = 0; i < l.count; i++) {
        bytes += strlen(l.name[i]);
        if (i > 0 && strcmp(l.name[i - 1], l.name[i]) > 0)
            __builtin_trap();
    }
    if (l.count != lines || bytes > size)
        __builtin_trap();
    vt_left_out_free(&l);
    return 0;
}
