/*
 * halves.h - ops whose values are stored in 16 bits, on the GPU class.
 *
 * The op stands between two copies. The first one's results and the op's own
 * are stored in f16 or bf16, what the last one writes is f32. All inputs are
 * multiples of 1/64 that both formats hold, so the reference in double sees
 * what the op sees, and the error is that of rounding the result once: 2^-11
 * or 2^-8 of it, and 1e-5 of the largest number. A second run and the first
 * picture alone must give the same bits.
 */
#ifndef VT_TESTS_HALVES_H
#define VT_TESTS_HALVES_H
#include "support/oneplan.h"

/* Inputs: tokens; a table of weights; one that is left out. */
#define X(B, T, C)                                                             \
    {                                                                          \
        .rank = 3, .dim = { B, T, C }                                          \
    }
#define P(R, C)                                                                \
    {                                                                          \
        .rank = 2, .dim = {R, C}, .param = true                                \
    }
#define NONE                                                                   \
    {                                                                          \
        .none = true                                                           \
    }

/* vt_case.f: not 0 if the op's result stays in f32 */
enum { VT_HALVES_F32 = 3 };

/* All of a table that ends with a NULL name. */
void vt_check_halves(const vt_case *cases, vt_case_build build,
                     vt_case_ref ref);
/* A step that reads and writes 16 bits; x itself if its rank is below 3. */
vt_val vt_halves_copy(vt_plan *p, vt_val x);

#endif
