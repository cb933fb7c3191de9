/*
 * dot_trial.c - the trial of a dot-product instruction: is its product right,
 * and faster than multiply-adds? Run by the program vitcl-try, because it may
 * crash.
 */
#include "base/log.h"
#include "base/memory.h"
#include "gemm/dot.h"
#include "gemm/measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { M = 96, N = 384, K = 768 };

/* Pseudo-random in [-1, 1) (Wellons' lowbias32). */
static float element(size_t i)
{
    uint32_t x = (uint32_t)i + 1;

    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return (float)(x >> 8) / 8388608.0f - 1.0f;
}

/* The product with this kind of instruction (VT_DOT_NONE: FMAs). A and B begin
 * with the same numbers. */
static vitcl_status product(vt_timed *t, vt_dev *dev, vt_dtype type, int kind)
{
    const size_t n = (size_t)VT_MAX(M, N) * K;
    vt_gemm_desc d = vt_timed_desc(dev, type, M, N, K);
    float *x = NULL;
    vitcl_status st;

    VT_TRY(VT_NEW(&x, n));
    for (size_t i = 0; i < n; i++)
        x[i] = element(i);
    vt_dot_use(dev, type, kind);
    VT_TRY(vt_timed_new(t, dev, "native", &d, x, x));
done:
    free(x);
    return st;
}

/* Checks every fifth element, within the rounding error of the format. */
static bool right(vt_timed *t)
{
    static const size_t n = (size_t)M * N;
    float *c = NULL;
    bool yes = VT_NEW(&c, n) == VITCL_OK && vt_timed_read(c, t) == VITCL_OK;

    for (size_t i = 0; yes && i < n; i += 5) {
        const size_t m = i / N, col = i % N;
        double want = 0;
        for (size_t k = 0; k < K; k++)
            want += (double)element(m * K + k) * (double)element(col * K + k);
        yes = fabs((double)c[i] - want) < 0.25; /* 7 sigma for int8 */
    }
    free(c);
    return yes;
}

static const char *try_kind(vt_dev *dev, int kind)
{
    const vt_dtype type = vt_dot_kinds[kind].type;
    const char *name = vt_dot_kinds[kind].name;
    static const vt_rounds rounds = {.least = 24};
    vt_timed dot = {.q = NULL}, fma = {.q = NULL};
    bool works, yes;

    works = product(&dot, dev, type, kind) == VITCL_OK &&
            vt_timed_run(&dot) == VITCL_OK && right(&dot);
    yes = works && product(&fma, dev, type, VT_DOT_NONE) == VITCL_OK &&
          vt_measure((vt_timed *[]){&dot, &fma}, 2, &rounds) == VITCL_OK;
    if (yes)
        vt_log("tried %s: %.3f ms, by FMAs %.3f ms", name, dot.best, fma.best);
    else
        vt_log("tried %s: it %s", name,
               works ? "could not be timed" : "does not work");
    yes = yes && dot.best * 7 < fma.best * 6;
    vt_timed_free(&dot);
    vt_timed_free(&fma);
    return !works ? "wrong" : yes ? "faster" : "slower";
}

vitcl_status vt_dot_try(const char **verdict, vt_dev *dev,
                        const char *instruction)
{
    for (int kind = VT_DOT_NONE + 1; kind < VT_DOT_KINDS; kind++)
        if (strcmp(vt_dot_kinds[kind].name, instruction) == 0) {
            *verdict = try_kind(dev, kind);
            return VITCL_OK;
        }
    return vt_fail(VITCL_EINVAL, "unknown instruction \"%.20s\"", instruction);
}
