/*
 * dot.c - products of vectors on the processor: reading an index takes longer
 * than multiplying, so that copying it to a device would only cost time.
 *
 * Compiled twice on x86, and chosen at run time. The bits are the same: of two
 * products that are added, compilers would fuse either one, so none is fused.
 */
#include "index/index.h"

#include <math.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>
#endif

typedef float lanes __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint32_t bits __attribute__((vector_size(32)));
typedef uint16_t halves __attribute__((vector_size(16), aligned(2), may_alias));
enum { LANES = 8, BLOCK = 4 * LANES };

#define INLINE static inline __attribute__((always_inline))

/* The last numbers, and zeros. Each operation is on all lanes: of loops over
 * single numbers compilers make sums that are rounded in other ways. */
INLINE void rest(lanes *out, const float *a, size_t n)
{
    *out = (lanes){0};
    memcpy(out, a, (n < LANES ? n : LANES) * sizeof *a);
}

INLINE float total(const lanes s[4])
{
    const lanes all = (s[0] + s[1]) + (s[2] + s[3]);
    float sum = 0;

    for (int j = 0; j < LANES; j++)
        sum += all[j];
    return sum;
}

INLINE float dot(const float *a, const float *b, size_t n)
{
    lanes s[4] = {{0}};
    size_t i = 0;

    for (; i + BLOCK <= n; i += BLOCK)
        for (int j = 0; j < 4; j++)
            s[j] += *(const lanes *)(const void *)(a + i + j * LANES) *
                    *(const lanes *)(const void *)(b + i + j * LANES);
    for (; i < n; i += LANES) {
        lanes x, y;

        rest(&x, a + i, n - i);
        rest(&y, b + i, n - i);
        s[0] += x * y;
    }
    return total(s);
}

/* a * a and a * b, each with the bits of dot(): a is read from memory once. */
INLINE void dots(float *square, float *product, const float *a, const float *b,
                 size_t n)
{
    lanes s[4] = {{0}}, p[4] = {{0}};
    size_t i = 0;

    for (; i + BLOCK <= n; i += BLOCK)
        for (int j = 0; j < 4; j++) {
            const lanes x = *(const lanes *)(const void *)(a + i + j * LANES);

            s[j] += x * x;
            p[j] += x * *(const lanes *)(const void *)(b + i + j * LANES);
        }
    for (; i < n; i += LANES) {
        lanes x, y;

        rest(&x, a + i, n - i);
        rest(&y, b + i, n - i);
        s[0] += x * x;
        p[0] += x * y;
    }
    *square = total(s), *product = total(p);
}

/* Sums of squares that are far from the ends of f32, so that no square that
 * counts is lost. */
#define SQUARES_MIN 0x1p-80f
#define SQUARES_MAX 0x1p120f

/* The exponent is corrected by a multiplication, which also normalises
 * subnormal numbers. */
INLINE float widen_one(uint16_t h)
{
    const uint32_t w = h;
    uint32_t u = (w & 0x7fff) << 13;
    float f;

    memcpy(&f, &u, sizeof f);
    f *= 0x1p112f;
    memcpy(&u, &f, sizeof u);
    u |= (w & 0x8000) << 16;
    u |= (w & 0x7c00) == 0x7c00 ? 0x7fc00000u : 0;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* The same in vectors: compilers do not find them by themselves. */
INLINE void widen(float *out, const uint16_t *h, size_t n)
{
    size_t i = 0;

    for (; i + LANES <= n; i += LANES) {
        const bits w = __builtin_convertvector(
            *(const halves *)(const void *)(h + i), bits);
        bits u = (bits)((lanes)((w & 0x7fff) << 13) * 0x1p112f);

        u |= (w & 0x8000) << 16;
        u |= (bits)((w & 0x7c00) == 0x7c00) & 0x7fc00000u;
        *(lanes *)(void *)(out + i) = (lanes)u;
    }
    for (; i < n; i++)
        out[i] = widen_one(h[i]);
}

#ifdef __x86_64__
__attribute__((target("avx2,fma"))) static float
dot_avx2(const float *a, const float *b, size_t n)
{
    return dot(a, b, n);
}

__attribute__((target("avx2,fma"))) static void
dots_avx2(float *square, float *product, const float *a, const float *b,
          size_t n)
{
    dots(square, product, a, b, n);
}

__attribute__((target("avx2,fma"))) static void
widen_avx2(float *out, const uint16_t *h, size_t n)
{
    widen(out, h, n);
}

#define F16C __attribute__((target("avx2,fma,f16c")))

F16C INLINE lanes eight(const uint16_t *h)
{
    return (lanes)_mm256_cvtph_ps(_mm_loadu_si128((const void *)h));
}

/* dots() of numbers in 16 bits, which are in no other memory. Infinity stays
 * one. */
F16C static void dots_f16c(float *square, float *product, const uint16_t *h,
                           const float *b, size_t n)
{
    lanes s[4] = {{0}}, p[4] = {{0}};
    size_t i = 0;

    for (; i + BLOCK <= n; i += BLOCK)
        for (int j = 0; j < 4; j++) {
            const lanes x = eight(h + i + j * LANES);

            s[j] += x * x;
            p[j] += x * *(const lanes *)(const void *)(b + i + j * LANES);
        }
    for (; i < n; i += LANES) {
        uint16_t last[LANES] = {0};
        lanes x, y;

        memcpy(last, h + i, (n - i < LANES ? n - i : LANES) * sizeof *h);
        x = eight(last);
        rest(&y, b + i, n - i);
        s[0] += x * x;
        p[0] += x * y;
    }
    *square = total(s), *product = total(p);
}

static int has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* Not every compiler's __builtin_cpu_supports() knows it, and cpuid is slow in
 * a virtual machine. */
static bool has_f16c(void)
{
    static atomic_int known; /* 1: no, 2: yes */
    int k = atomic_load_explicit(&known, memory_order_relaxed);
    unsigned a, b, c, d;

    if (!k) {
        k = __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C ? 2 : 1;
        atomic_store_explicit(&known, k, memory_order_relaxed);
    }
    return k == 2;
}

/* Whether *square and *product are computed. */
static bool both_f16(float *square, float *product, const uint16_t *f16,
                     const float *b, size_t n)
{
    if (!has_avx2() || !has_f16c())
        return false;
    dots_f16c(square, product, f16, b, n);
    return true;
}

float vt_dot(const float *a, const float *b, size_t n)
{
    return has_avx2() ? dot_avx2(a, b, n) : dot(a, b, n);
}

static void both(float *square, float *product, const float *a, const float *b,
                 size_t n)
{
    (has_avx2() ? dots_avx2 : dots)(square, product, a, b, n);
}

void vt_widen(float *out, const uint16_t *f16, size_t n)
{
    (has_avx2() ? widen_avx2 : widen)(out, f16, n);
}
#else
float vt_dot(const float *a, const float *b, size_t n)
{
    return dot(a, b, n);
}

static void both(float *square, float *product, const float *a, const float *b,
                 size_t n)
{
    dots(square, product, a, b, n);
}

void vt_widen(float *out, const uint16_t *f16, size_t n)
{
    widen(out, f16, n);
}

static bool both_f16(float *square, float *product, const uint16_t *f16,
                     const float *b, size_t n)
{
    (void)square, (void)product, (void)f16, (void)b, (void)n;
    return false;
}
#endif

static bool fits(float squares) /* false for NaN */
{
    return squares >= SQUARES_MIN && squares <= SQUARES_MAX;
}

float vt_cosine(float *length, float *v, const float *unit, size_t n)
{
    float squares, product;

    both(&squares, &product, v, unit, n);
    if (fits(squares)) {
        *length = sqrtf(squares);
        return product / *length;
    }
    *length = vt_length(v, n);
    return vt_dot(v, unit, n) / *length;
}

float vt_cosine_f16(float *length, float *wide, const uint16_t *f16,
                    const float *unit, size_t n)
{
    float squares, product;

    if (both_f16(&squares, &product, f16, unit, n) && fits(squares)) {
        *length = sqrtf(squares);
        return product / *length;
    }
    vt_widen(wide, f16, n);
    return vt_cosine(length, wide, unit, n);
}

float vt_length(float *v, size_t n)
{
    float squares = vt_dot(v, v, n), largest = 0;
    int exponent;

    if (fits(squares))
        return sqrtf(squares);
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(v[i]))
            return 0;
        largest = fmaxf(largest, fabsf(v[i]));
    }
    if (largest == 0)
        return 0;
    (void)frexpf(largest, &exponent);
    for (size_t i = 0; i < n; i++)
        v[i] = ldexpf(v[i], -exponent); /* the largest: from 0.5 to 1 */
    return sqrtf(vt_dot(v, v, n));
}
