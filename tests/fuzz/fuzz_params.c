/*
 * fuzz_params.c - any text as the user's file of tuned parameters: the count is
 * the number of entries that are set, and a warning is one line.
 */
#include "tune/params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    vt_params_table table = {{{0}}};
    vitcl_device_info info = {.name = "a device", .driver = "1.2"};
    char *text = malloc(size + 1);
    vt_lines l = {.at = text};
    uint32_t n = 0;

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    vt_params_read(&table, &info, &l);
    for (int kind = 0; kind < VT_PARAMS_KINDS; kind++)
        for (int type = 0; type < VT_TYPES; type++)
            n += table[kind][type].set;
    if (n != info.tuned || strlen(info.warning) >= sizeof info.warning)
        __builtin_trap();
    for (char *c = info.warning; *c; c++)
        if (*c == '\n')
            __builtin_trap();
    free(text);
    return 0;
}
