/*
 * words.c - instructions of common_words.cl, common_tiles.cl and gemm_dot.cl
 * in C, by an edit of the kernels: each is one line.
 */
#include "support/words.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

/* Number i of a vector of 32 halves. */
#define OF(x, i) "((ushort *)\\&" x ")[" i "]"

#define GUARD "s/^#if defined(__AVX512F__)/#if 1/"
#define DOT                                                                    \
    "s/__asm__(\"vdpbf16ps .*/s += as_float16(x << 16) * as_float16(w << 16) " \
    "+ "                                                                       \
    "as_float16(x >> 16 << 16) * as_float16(w >> 16 << 16);/"
#define ROUND                                                                  \
    "s/__asm__(\"vcvtne2ps2bf16 .*/for (int i = 0; i < 32; i++) " OF(          \
        "x", "i") " = vt_bf16_round(((float *)(i < 16 ? \\&lo : \\&hi))[i %% " \
                  "16]);/"
#define CHOOSE                                                                 \
    "s/__asm__(\"vpermt2w .*/const int16 t = a; "                              \
    "for (int i = 0; i < 32; i++) " OF("a", "i") " = " OF(                     \
        "order",                                                               \
        "i") " < 32 ? " OF("t", OF("order",                                    \
                                   "i")) " : " OF("b", OF("order",             \
                                                          "i") " - 32") ";/"

void vt_test_words_in_c(const char *folder)
{
    static const char edit[] =
        "cp -r '%s/../../cl' '%s' && cd '%s/cl' && "
        "sed -i '" GUARD ";" DOT ";" ROUND ";" CHOOSE "' "
        "common_words.cl gemm_dot.cl && "
        "grep -q 'as_float16(w >> 16' gemm_dot.cl && "
        "grep -q '^#if 1 ' common_words.cl && "
        "! grep -q '__asm__(' common_words.cl";
    char text[2048];

    snprintf(text, sizeof text, edit, VT_DATA, folder, folder);
    cr_assert_eq(system(text), 0);
    snprintf(text, sizeof text, "%s/cl", folder);
    setenv("VITCL_CL_DIR", text, 1);
}

void vt_test_tiles_in_c(const char *folder)
{
    char text[2048];

    vt_test_words_in_c(folder);
    snprintf(text, sizeof text, "cd '%s/cl' && t='%s/../ops' && %s", folder,
             VT_DATA, VT_TEST_TILES);
    cr_assert_eq(system(text), 0);
}
