/*
 * builtin.c - the bytes of models/cifar10, included by the assembler: a
 * checkpoint as a C array would take minutes to compile.
 */
#include "weights/builtin.h"

#include <vitcl.h>

#include <string.h>

#define INCLUDE_FILE(symbol, file)                                             \
    __asm__(".section .rodata\n"                                               \
            ".balign 16\n"                                                     \
            ".global " #symbol "\n"                                            \
            ".hidden " #symbol "\n" #symbol ":\n"                              \
            ".incbin \"" VT_MODELS_DIR "/" file "\"\n"                         \
            ".global " #symbol "_end\n"                                        \
            ".hidden " #symbol "_end\n" #symbol "_end:\n"                      \
            ".byte 0\n"                                                        \
            ".text\n");                                                        \
    extern const uint8_t symbol[] __attribute__((visibility("hidden")));       \
    extern const uint8_t symbol##_end[] __attribute__((visibility("hidden")))

INCLUDE_FILE(vt_cifar10_weights, "cifar10/model.safetensors");
INCLUDE_FILE(vt_cifar10_config, "cifar10/config.json");

bool vt_builtin_find(vt_builtin *out, const char *path)
{
    if (strcmp(path, VITCL_MODEL_BUILTIN) != 0)
        return false;
    *out = (vt_builtin){
        .weights = vt_cifar10_weights,
        .weights_size = (size_t)(vt_cifar10_weights_end - vt_cifar10_weights),
        .config = (const char *)vt_cifar10_config,
        .config_size = (size_t)(vt_cifar10_config_end - vt_cifar10_config)};
    return true;
}
