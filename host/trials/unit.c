/*
 * unit.c - the trials of a matrix instruction: is its product right, and
 * are the three of a training? Run by the program vitcl-try, because it may
 * crash.
 *
 * All inputs are whole numbers of at most 127, which each row of A and B has,
 * so that rounding to f16, bf16 or int8 changes nothing, and all sums are exact
 * in f32: every element must be right to the last bit.
 */
#include "base/log.h"
#include "base/memory.h"
#include "product/product.h"
#include "trials/trials.h"

#include <stdio.h>
#include <string.h>

enum { M = 300, N = 280, K = 230 }; /* past the edges of tiles */
enum { TOP = 127 };
enum { LONG = 530 }; /* terms that become parts */

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

static vitcl_status matrix(float **out, int rows, int terms, bool outermost,
                           uint32_t seed)
{
    vitcl_status st;

    VT_TRY(VT_NEW(out, (size_t)rows * (size_t)terms));
    for (int i = 0; i < rows * terms; i++)
        (*out)[i] = element((uint32_t)i ^ seed);
    for (int r = 0; r < rows; r++)
        (*out)[place(r, r % terms, rows, terms, outermost)] = (float)TOP;
done:
    return st;
}

static bool right(vt_timed *t, const vt_gemm_desc *d, const float *a,
                  const float *b)
{
    float *c = NULL;
    bool yes = VT_NEW(&c, (size_t)M * N) == VITCL_OK &&
               vt_timed_read(c, t) == VITCL_OK;

    for (int i = 0; yes && i < M * N; i++) {
        int want = 0;

        for (int k = 0; k < d->K; k++)
            want += (int)a[place(i / N, k, M, d->K, d->trans_a)] *
                    (int)b[place(i % N, k, N, d->K, d->trans_b)];
        yes = c[i] == (float)want;
    }
    free(c);
    return yes;
}

/* Is this product of M x N by the instruction, and right? */
static vitcl_status try_product(bool *yes, vt_dev *dev, const vt_gemm_desc *d,
                                const char *instruction)
{
    vt_timed t = {.q = NULL};
    float *a = NULL, *b = NULL;
    vitcl_status st;

    VT_TRY(matrix(&a, M, d->K, d->trans_a, 0));
    VT_TRY(matrix(&b, N, d->K, d->trans_b, 0x5a5a0000u));
    VT_TRY(vt_product_timed(&t, dev, "native", d, a, b));
    if (d->accumulate) /* to NaN */
        VT_TRY(vt_buf_fill(t.q, t.bufs.c, 0));
    VT_TRY(vt_timed_run(&t));
    *yes = strstr(vt_gemm_describe(t.g), instruction) && right(&t, d, a, b);
    vt_log("tried %s: %s", vt_gemm_describe(t.g), *yes ? "right" : "wrong");
done:
    vt_timed_free(&t);
    free(a);
    free(b);
    return st;
}

static vt_gemm_desc product(const vt_dev *dev, vt_dtype type, int terms)
{
    vt_gemm_desc d = vt_timed_desc(dev, type, M, N, terms);

    d.device_class = VT_CLASS_GPU;
    return d;
}

vitcl_status vt_trial_unit(const char **verdict, vt_dev *dev,
                           const char *instruction, vt_dtype type)
{
    const vt_gemm_desc d = product(dev, type, K);
    const int kind = vt_mma_named(instruction);
    bool yes = false;
    vitcl_status st;

    if (kind == VT_MMA_NONE ||
        (type != VT_F16 && type != VT_BF16 && type != VT_I8))
        return vt_fail(VITCL_EINVAL, "unknown instruction \"%.20s\"",
                       instruction);
    vt_mma_use(dev, type, kind);
    VT_TRY(try_product(&yes, dev, &d, instruction));
    *verdict = yes ? "right" : "wrong";
done:
    return st;
}

vitcl_status vt_trial_training(const char **verdict, vt_dev *dev,
                               vt_mma_choice c)
{
    vt_gemm_desc y = product(dev, VT_BF16, K), dx, dw;
    const vt_gemm_desc *const all[] = {&y, &dx, &dw};
    bool yes = true;
    vitcl_status st = VITCL_OK;

    if (c.kind == VT_MMA_NONE || !vt_mma_kinds[c.kind].bf16)
        return vt_fail(VITCL_EINVAL, "trainings have no such instruction");
    if (!c.emulated)
        vt_mma_use(dev, VT_BF16, c.kind);
    y.b_packed = false;
    dx = y, dx.trans_b = true, dx.ldb = N;
    dw = product(dev, VT_BF16, LONG), dw.b_packed = false;
    dw.trans_a = dw.trans_b = dw.accumulate = true;
    dw.lda = M, dw.ldb = N;
    for (size_t i = 0; yes && i < VT_COUNT(all); i++)
        VT_TRY(try_product(&yes, dev, all[i], vt_mma_kinds[c.kind].name));
    *verdict = yes ? "right" : "wrong";
done:
    return st;
}
