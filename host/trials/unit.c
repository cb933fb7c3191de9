/*
 * unit.c - the trials of a matrix instruction: is its product right, and
 * are the three of a training? Run by the program vitcl-try, because it may
 * crash.
 *
 * All inputs are whole numbers of at most 127, which each row of A and B has,
 * so that rounding to f16, bf16 or int8 changes nothing, and all sums are exact
 * in f32: every element must be right to the last bit.
 *
 * In f16 one product more has factors down to 2^-16, because some units take
 * numbers below 2^-14 for zero: small weights would vanish.
 */
#include "base/half.h"
#include "base/log.h"
#include "base/memory.h"
#include "product/product.h"
#include "trials/trials.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* past the edges of tiles; LARGEST: the lower side of a large one */
enum { M = 300, N = 280, K = 230, LARGEST = 128 };
enum { TOP = 127 };
enum { LONG = 530, WIDE = 528 }; /* terms that become parts; a multiple of 8 */

/* Pseudo-random (Wellons' lowbias32). */
static float element(uint32_t i)
{
    uint32_t x = i + 1;

    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    x ^= x >> 16;
    return (float)((int)(x % (2 * TOP + 1)) - TOP);
}

/* Term k of row r of a matrix of `rows`, in memory. */
static size_t place(int r, int k, int rows, int terms, bool outermost)
{
    return outermost ? (size_t)k * (size_t)rows + (size_t)r
                     : (size_t)r * (size_t)terms + (size_t)k;
}

/* Powers of 2 by which the two factors of a term are scaled, in turn. */
enum { UP = 8, DOWN = -16 };

/* odd: which factor this is, of small ones; -1: there are none. */
static vitcl_status matrix(float **out, int rows, int terms, bool outermost,
                           uint32_t seed, int odd)
{
    VT_RET(VT_NEW(out, (size_t)rows * (size_t)terms));
    for (int i = 0; i < rows * terms; i++)
        (*out)[i] = element((uint32_t)i ^ seed);
    for (int r = 0; r < rows; r++)
        (*out)[place(r, r % terms, rows, terms, outermost)] = (float)TOP;
    for (int i = 0; odd >= 0 && i < rows * terms; i++)
        (*out)[i] = ldexpf((*out)[i], (i % terms + odd) % 2 ? UP : DOWN);
    return VITCL_OK;
}

/* Of many rows every seventh is checked, and the last one: so is each row of a
 * tile, in some tile. */
static bool right(vt_timed *t, const vt_gemm_desc *d, const float *a,
                  const float *b)
{
    const int step = d->M > M ? 7 : 1;
    float *c = NULL;
    bool yes = VT_NEW(&c, (size_t)d->M * N) == VITCL_OK &&
               vt_timed_read(c, t) == VITCL_OK;

    for (int m = (d->M - 1) % step; yes && m < d->M; m += step)
        for (int n = 0; yes && n < N; n++) {
            float want = 0;

            for (int k = 0; k < d->K; k++)
                want += a[place(m, k, d->M, d->K, d->trans_a)] *
                        b[place(n, k, N, d->K, d->trans_b)];
            yes = c[(size_t)m * N + (size_t)n] ==
                  (d->out == VT_BF16 ? vt_bf16_to_f32(vt_f32_to_bf16(want))
                                     : want);
        }
    free(c);
    return yes;
}

/* Is this product by the instruction, and right? */
static vitcl_status try_product(bool *yes, vt_dev *dev, const vt_gemm_desc *d,
                                const char *instruction, bool small)
{
    vt_timed t = {.q = NULL};
    float *a = NULL, *b = NULL;
    vitcl_status st;

    VT_TRY(matrix(&a, d->M, d->K, d->trans_a, 0, small ? 0 : -1));
    VT_TRY(matrix(&b, N, d->K, d->trans_b, 0x5a5a0000u, small ? 1 : -1));
    VT_TRY(vt_product_timed(&t, dev, "native", d, a, b));
    VT_TRY(vt_timed_run(&t));
    *yes = strstr(vt_gemm_describe(t.g), instruction) && right(&t, d, a, b);
    vt_log("tried %s%s: %s", vt_gemm_describe(t.g),
           small ? " of small numbers" : "", *yes ? "right" : "wrong");
done:
    vt_timed_free(&t);
    free(a);
    free(b);
    return st;
}

static vt_gemm_desc product(const vt_dev *dev, vt_dtype type, int rows,
                            int terms)
{
    vt_gemm_desc d = vt_timed_desc(dev, type, rows, N, terms);

    d.device_class = VT_CLASS_GPU;
    return d;
}

/* The same with activations as plans have them, in rows that are read and
 * stored 16 bytes at a time. The sums are too large for f16. */
static vt_gemm_desc stored(const vt_dev *dev, vt_dtype type, int rows)
{
    vt_gemm_desc d = product(dev, type, rows, type == VT_I8 ? LONG : WIDE);

    d.a = type == VT_F16 ? VT_F16 : VT_BF16;
    if (type != VT_F16)
        d.out = VT_BF16;
    return d;
}

/* For more large tiles than the device has processors. */
static int most_rows(const vt_dev *dev)
{
    const int units = (int)VT_MIN(vt_dev_info(dev)->compute_units, 1000u);

    return M + (units / (N / LARGEST + 1) + 1) * LARGEST;
}

/* Is it slower than the tiles of floats? A driver that does not give a unit's
 * kernels the registers that they ask for has them spill: right, but slower by
 * far. Where this cannot be measured, the unit is used. */
static bool slower(vt_dev *dev, vt_dtype type)
{
    enum { ROWS = 1576, COLUMNS = 1536, TERMS = 768 }; /* of a ViT's, batch 8 */
    static const vt_rounds rounds = {
        .least = 3, .most = 20, .ms = 500, .almost = 1.05};
    const bool emulated = vt_mma_ask(dev, type).emulated;
    vt_timed t[2] = {{.q = NULL}, {.q = NULL}};
    bool yes = false;
    vitcl_status st = VITCL_OK;

    for (int i = 0; i < 2; i++) {
        vt_gemm_desc d = emulated ? product(dev, i ? VT_F32 : type, M, K)
                                  : vt_timed_desc(dev, i ? VT_F32 : type, ROWS,
                                                  COLUMNS, TERMS);

        d.device_class = VT_CLASS_GPU;
        VT_TRY(vt_product_timed(&t[i], dev, "native", &d, NULL, NULL));
        VT_TRY(vt_timed_run(&t[i])); /* some drivers compile only now */
    }
    VT_TRY(vt_measure((vt_timed *[]){&t[0], &t[1]}, 2, &rounds));
    yes = t[0].best > t[1].best;
    vt_log("tried %s: %.3f ms, %s: %.3f ms", vt_gemm_describe(t[0].g),
           t[0].best, vt_gemm_describe(t[1].g), t[1].best);
done:
    vt_timed_free(&t[0]);
    vt_timed_free(&t[1]);
    return st == VITCL_OK && yes;
}

/* In all tiles that a plan may use: small and large ones, and those of parts of
 * K, side by side and in turn. */
vitcl_status vt_trial_unit(const char **verdict, vt_dev *dev,
                           const char *instruction, vt_dtype type, bool timed)
{
    const int kind = vt_mma_named(instruction), many = most_rows(dev);
    const vt_gemm_desc all[] = {product(dev, type, M, K),
                                product(dev, type, many, K),
                                stored(dev, type, M), stored(dev, type, many)};
    bool yes = true;

    if (kind == VT_MMA_NONE ||
        (type != VT_F16 && type != VT_BF16 && type != VT_I8))
        return vt_fail(VITCL_EINVAL, "unknown instruction \"%.20s\"",
                       instruction);
    vt_mma_use(dev, type, kind, false);
    for (size_t i = 0; yes && i < VT_COUNT(all); i++)
        VT_RET(try_product(&yes, dev, &all[i], instruction, false));
    if (yes && type == VT_F16)
        VT_RET(try_product(&yes, dev, &all[0], instruction, true));
    *verdict = !yes                                               ? "wrong"
               : timed && kind < VT_MMA_DOT8 && slower(dev, type) ? "slower"
                                                                  : "right";
    return VITCL_OK;
}

vitcl_status vt_trial_groups(const char **verdict, vt_dev *dev, vt_mma_choice c,
                             vt_dtype type)
{
    const int many = most_rows(dev);
    const vt_gemm_desc all[] = {product(dev, type, many, K),
                                stored(dev, type, many)};
    bool yes = true;

    if (!vt_mma_kinds[c.kind].groups)
        return vt_fail(VITCL_EINVAL, "this unit has no groups of sub-groups");
    if (!c.emulated)
        vt_mma_use(dev, type, c.kind, true);
    for (size_t i = 0; yes && i < VT_COUNT(all); i++)
        VT_RET(try_product(&yes, dev, &all[i], "wgmma", false));
    *verdict = yes ? "right" : "wrong";
    return VITCL_OK;
}

vitcl_status vt_trial_training(const char **verdict, vt_dev *dev,
                               vt_mma_choice c)
{
    vt_gemm_desc y = product(dev, VT_BF16, M, K), dx, dw;
    const vt_gemm_desc *const all[] = {&y, &dx, &dw};
    bool yes = true;

    if (c.kind == VT_MMA_NONE || !vt_mma_kinds[c.kind].bf16)
        return vt_fail(VITCL_EINVAL, "training has no such instruction");
    if (!c.emulated)
        vt_mma_use(dev, VT_BF16, c.kind, false);
    y.b_packed = false;
    dx = y, dx.trans_b = true, dx.ldb = N;
    dw = product(dev, VT_BF16, M, LONG), dw.b_packed = false;
    dw.trans_a = dw.trans_b = dw.accumulate = true;
    dw.lda = M, dw.ldb = N;
    for (size_t i = 0; yes && i < VT_COUNT(all); i++)
        VT_RET(
            try_product(&yes, dev, all[i], vt_mma_kinds[c.kind].name, false));
    *verdict = yes ? "right" : "wrong";
    return VITCL_OK;
}
