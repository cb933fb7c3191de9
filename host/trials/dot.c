/*
 * dot.c - the trial of a dot-product instruction: are its products right,
 * and is the one of packed weights faster than multiply-adds and than the kind
 * it would replace? Run by the program vitcl-try, because it may crash.
 */
#include "base/log.h"
#include "base/memory.h"
#include "product/product.h"
#include "trials/trials.h"
#include "units/dots.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { M = 192, N = 384, K = 768 };

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
static vitcl_status product(vt_timed *t, vt_dev *dev, vt_dtype type, int kind,
                            bool outer)
{
    const size_t n = (size_t)VT_MAX(M, N) * K;
    vt_gemm_desc d = vt_timed_desc(dev, type, M, N, K);
    float *x = NULL;
    vitcl_status st;

    if (outer) {
        d.trans_a = d.trans_b = true, d.b_packed = false;
        d.lda = M, d.ldb = N;
    }
    VT_TRY(VT_NEW(&x, n));
    for (size_t i = 0; i < n; i++)
        x[i] = element(i);
    vt_dot_use(dev, type, kind);
    VT_TRY(vt_product_timed(t, dev, "native", &d, x, x));
done:
    free(x);
    return st;
}

/* Checks every fifth element, within the rounding error of the format. */
static bool right(vt_timed *t, bool outer)
{
    static const size_t n = (size_t)M * N;
    float *c = NULL;
    bool yes = VT_NEW(&c, n) == VITCL_OK && vt_timed_read(c, t) == VITCL_OK;

    for (size_t i = 0; yes && i < n; i += 5) {
        const size_t m = i / N, col = i % N;
        double want = 0;
        for (size_t k = 0; k < K; k++)
            want += (double)element(outer ? k * M + m : m * K + k) *
                    (double)element(outer ? k * N + col : col * K + k);
        yes = fabs((double)c[i] - want) < 0.6; /* 7 sigma of the coarsest */
    }
    free(c);
    return yes;
}

/* The kind that this one must also be faster than: because it is more exact,
 * or because tiles only pay with many rows. */
static int rival(int kind)
{
    const int other = kind == VT_DOT_U8_PAIRS     ? VT_DOT_S16
                      : kind == VT_DOT_U8_TILES   ? VT_DOT_U8
                      : kind == VT_DOT_BF16_TILES ? VT_DOT_BF16
                                                  : VT_DOT_NONE;

    return vt_dot_here(other) ? other : VT_DOT_NONE;
}

/* t[0] this kind, t[1] FMAs, t[2] the rival, if there is one. The verdict is
 * kept, so on a busy machine "slower" has to be found twice. */
static bool faster(vt_timed t[3], vt_dev *dev, int kind)
{
    static const vt_rounds rounds = {.least = 24};
    const vt_dtype type = vt_dot_kinds[kind].type;
    const int other = rival(kind);
    bool yes = false;

    if (product(&t[1], dev, type, VT_DOT_NONE, false) != VITCL_OK ||
        (other && product(&t[2], dev, type, other, false) != VITCL_OK))
        goto failed;
    for (int tries = 0; tries < 2 && !yes; tries++) {
        if (vt_measure((vt_timed *[]){&t[0], &t[1], &t[2]}, other ? 3 : 2,
                       &rounds) != VITCL_OK)
            goto failed;
        vt_log("tried %s: %.3f ms, by FMAs %.3f ms", vt_dot_kinds[kind].name,
               t[0].best, t[1].best);
        if (other)
            vt_log("tried %s: %.3f ms", vt_dot_kinds[other].name, t[2].best);
        yes = t[0].best * 7 < t[1].best * 6 &&
              (!other || t[0].best * 14 < t[2].best * 13);
    }
    return yes;
failed:
    vt_log("tried %s: it could not be timed", vt_dot_kinds[kind].name);
    return false;
}

static bool works_as(vt_timed *t, vt_dev *dev, int kind, bool outer)
{
    return product(t, dev, vt_dot_kinds[kind].type, kind, outer) == VITCL_OK &&
           vt_timed_run(t) == VITCL_OK && right(t, outer);
}

/* Kinds that outer.c does not know have FMAs there. */
static bool outer_works(vt_dev *dev, int kind)
{
    vt_timed t = {.q = NULL};
    const bool yes =
        vt_dot_kinds[kind].type != VT_BF16 || works_as(&t, dev, kind, true);

    vt_timed_free(&t);
    return yes;
}

static const char *try_kind(vt_dev *dev, int kind)
{
    vt_timed t[3] = {{.q = NULL}};
    bool works, yes;

    works = vt_dot_permitted(kind) && works_as(&t[0], dev, kind, false) &&
            outer_works(dev, kind);
    if (!works)
        vt_log("tried %s: it does not work", vt_dot_kinds[kind].name);
    yes = works && faster(t, dev, kind);
    for (int i = 0; i < 3; i++)
        vt_timed_free(&t[i]);
    return !works ? "wrong" : yes ? "faster" : "slower";
}

vitcl_status vt_trial_dot(const char **verdict, vt_dev *dev,
                          const char *instruction)
{
    for (int kind = VT_DOT_NONE + 1; kind < VT_DOT_KINDS; kind++)
        if (strcmp(vt_dot_kinds[kind].name, instruction) == 0) {
            *verdict = try_kind(dev, kind);
            return VITCL_OK;
        }
    return vt_fail(VITCL_EINVAL, "unknown instruction \"%.20s\"", instruction);
}
