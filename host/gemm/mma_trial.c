/*
 * mma_trial.c - the trial of a matrix instruction: is its product right? Run by
 * the program vitcl-try, because it may crash.
 *
 * All inputs are whole numbers of at most 127, which each row of A and B has,
 * so that rounding to f16, bf16 or int8 changes nothing, and all sums are exact
 * in f32: every element must be right to the last bit.
 */
#include "base/log.h"
#include "base/memory.h"
#include "gemm/measure.h"
#include "gemm/mma.h"

#include <stdio.h>
#include <string.h>

enum { M = 300, N = 280, K = 230, TOP = 127 }; /* past the edges of tiles */

/* Pseudo-random (Wellons' lowbias32); element i of rows of K. */
static float element(uint32_t i)
{
    uint32_t x = i + 1;

    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    x ^= x >> 16;
    return (float)(i % K == i / K % K ? TOP : (int)(x % (2 * TOP + 1)) - TOP);
}

static bool right(vt_timed *t, const float *a, const float *b)
{
    float *c = NULL;
    bool yes = VT_NEW(&c, (size_t)M * N) == VITCL_OK &&
               vt_timed_read(c, t) == VITCL_OK;

    for (int i = 0; yes && i < M * N; i++) {
        const float *row = a + (size_t)(i / N) * K,
                    *column = b + (size_t)(i % N) * K;
        int want = 0;

        for (int k = 0; k < K; k++)
            want += (int)row[k] * (int)column[k];
        yes = c[i] == (float)want;
    }
    free(c);
    return yes;
}

vitcl_status vt_mma_try(const char **verdict, vt_dev *dev,
                        const char *instruction, vt_dtype type)
{
    vt_gemm_desc d;
    vt_timed t = {.q = NULL};
    float *a = NULL, *b = NULL;
    const int kind = vt_mma_named(instruction);
    vitcl_status st;

    if (kind == VT_MMA_NONE ||
        (type != VT_F16 && type != VT_BF16 && type != VT_I8))
        return vt_fail(VITCL_EINVAL, "unknown instruction \"%.20s\"",
                       instruction);
    VT_TRY(VT_NEW(&a, (size_t)M * K));
    VT_TRY(VT_NEW(&b, (size_t)N * K));
    for (uint32_t i = 0; i < M * K; i++)
        a[i] = element(i);
    for (uint32_t i = 0; i < N * K; i++)
        b[i] = element(i ^ 0x5a5a0000u);
    for (size_t i = 0; i < N; i++)
        b[i * K + i % K] = TOP;
    vt_mma_use(dev, type, kind);
    d = vt_timed_desc(dev, type, M, N, K);
    d.device_class = VT_CLASS_GPU;
    VT_TRY(vt_timed_new(&t, dev, "native", &d, a, b));
    VT_TRY(vt_timed_run(&t));
    *verdict = strstr(vt_gemm_describe(t.g), instruction) && right(&t, a, b)
                   ? "right"
                   : "wrong";
    vt_log("tried %s: %s", vt_gemm_describe(t.g), *verdict);
done:
    vt_timed_free(&t);
    free(a);
    free(b);
    return st;
}
