/*
 * common_math.cl - functions of numbers.
 *
 * Functions   vt_exp, vt_exp2_down (2^x for x <= 0, as in a softmax), vt_erf,
 *             vt_tanh and vt_sigmoid for float, float4, float8 and float16. The
 *             polynomials are our own: a driver's exp() may be slow and scalar,
 *             and its bits differ between drivers. With contraction off and
 *             fma() written out, the bits are the same wherever division is
 *             correctly rounded.
 * Lanes       vt_hsum, vt_hmax: over the lanes of a vector, as a tree.
 * Random      vt_hash: bits that depend on (state, index) alone.
 *
 * exp, exp2, tanh: coefficients of Cephes (Moshier), error below 2 ulp. exp2 is
 * 0 below -126; NaN stays NaN, whatever its bits. It adds 1.5 * 2^23 + 128: the
 * sum rounds to an integer and holds it, plus 128, in its low bits (128 is
 * even, so ties round as without it). The result is half the polynomial times
 * twice the power. erf: the rational function of Eigen and XLA, error within
 * 3.4e-7; one division replaces an exp and a second branch, with which GELU
 * took a tenth of a matrix multiplication's time.
 */
#define VT_LOG2E 1.44269504f

/* Behind a product of halves or bytes (of gemm_mma_*.cl, or with QUICK the sum
 * of its parts) the error of the device's own reciprocal does not matter, and a
 * division takes as long as ten sums. */
#if defined(QUICK) || (defined(KIND) && !defined(EMULATE))
#define VT_QUOTIENT(a, b) ((a)*native_recip(b))
#else
#define VT_QUOTIENT(a, b) ((a) / (b))
#endif

/* The functions for floats F, with integers I as wide. */
#define VT_MATH(F, I)                                                          \
    static inline F __attribute__((overloadable)) vt_exp(F x)                  \
    {                                                                          \
        F y = select(x, (F)(89.0f), x > (F)(89.0f));                           \
        y = select(y, (F)(-88.0f), y < (F)(-88.0f));                           \
        const F t = y * 1.44269504f + 12582912.0f; /* 1.5 * 2^23 */            \
        const F n = t - 12582912.0f;                                           \
        F r = fma(n, (F)(-0.693359375f), y);                                   \
        r = fma(n, (F)(2.12194440e-4f), r);                                    \
        F p = fma((F)(1.9875691500e-4f), r, (F)(1.3981999507e-3f));            \
        p = fma(p, r, (F)(8.3334519073e-3f));                                  \
        p = fma(p, r, (F)(4.1665795894e-2f));                                  \
        p = fma(p, r, (F)(1.6666665459e-1f));                                  \
        p = fma(p, r, (F)(5.0000001201e-1f));                                  \
        p = fma(p, r * r, r) + 1.0f;                                           \
        const I k = VT_JOIN(as_, I)(t) - 0x4b400000; /* n */                   \
        const I h = k >> 1;                                                    \
        p = p * VT_JOIN(as_, F)((h + 127) << 23) *                             \
            VT_JOIN(as_, F)((k - h + 127) << 23);                              \
        return select(p, (F)(0.0f), x < (F)(-87.33f));                         \
    }                                                                          \
    static inline F __attribute__((overloadable)) vt_exp2_down(F x)            \
    {                                                                          \
        const F y = select(x, (F)(-126.0f), x < (F)(-126.0f));                 \
        const F t = y + 12583040.0f; /* 1.5 * 2^23 + 128 */                    \
        const F f = y - (t - 12583040.0f);                                     \
        F p =                                                                  \
            fma((F)(0.5f * 1.535336188e-4f), f, (F)(0.5f * 1.339887440e-3f));  \
        p = fma(p, f, (F)(0.5f * 9.618437358e-3f));                            \
        p = fma(p, f, (F)(0.5f * 5.550332471e-2f));                            \
        p = fma(p, f, (F)(0.5f * 2.402264791e-1f));                            \
        p = fma(p, f, (F)(0.5f * 6.931472029e-1f));                            \
        p = fma(p, f, (F)(0.5f));                                              \
        p *= VT_JOIN(as_, F)(VT_JOIN(as_, I)(t) << 23); /* keeps NaN */        \
        return select(p, (F)(0.0f), x < (F)(-126.0f));                         \
    }                                                                          \
    static inline F __attribute__((overloadable)) vt_erf(F x)                  \
    {                                                                          \
        F a = select(x, (F)(4.0f), x > (F)(4.0f));                             \
        a = select(a, (F)(-4.0f), a < (F)(-4.0f));                             \
        const F s = a * a;                                                     \
        F p = fma((F)(-2.72614226e-10f), s, (F)(2.77068143e-8f));              \
        p = fma(p, s, (F)(-2.10102402e-6f));                                   \
        p = fma(p, s, (F)(-5.69250640e-5f));                                   \
        p = fma(p, s, (F)(-7.34990631e-4f));                                   \
        p = fma(p, s, (F)(-2.95459981e-3f));                                   \
        p = fma(p, s, (F)(-1.60960333e-2f));                                   \
        F q = fma((F)(-1.45660719e-5f), s, (F)(-2.13374055e-4f));              \
        q = fma(q, s, (F)(-1.68282697e-3f));                                   \
        q = fma(q, s, (F)(-7.37332917e-3f));                                   \
        q = fma(q, s, (F)(-1.42647391e-2f));                                   \
        return VT_QUOTIENT(a * p, q);                                          \
    }                                                                          \
    static inline F __attribute__((overloadable)) vt_tanh(F x)                 \
    {                                                                          \
        const F a = fabs(x);                                                   \
        const F t = select(a, (F)(10.0f), a > (F)(10.0f));                     \
        const F s = t * t;                                                     \
        const F r = (F)(1.0f) - (F)(2.0f) / (vt_exp(t + t) + 1.0f);            \
        F q = fma((F)(-5.70498872745e-3f), s, (F)(2.06390887954e-2f));         \
        q = fma(q, s, (F)(-5.37397155531e-2f));                                \
        q = fma(q, s, (F)(1.33314422036e-1f));                                 \
        q = fma(q, s, (F)(-3.33332819422e-1f));                                \
        q = fma(q * s, x, x);                                                  \
        return select(q, copysign(r, x), a >= (F)(0.625f));                    \
    }                                                                          \
    static inline F __attribute__((overloadable)) vt_sigmoid(F x)              \
    {                                                                          \
        return (F)(1.0f) / (vt_exp(-x) + 1.0f);                                \
    }
VT_MATH(float, int)
VT_MATH(float4, int4)
VT_MATH(float8, int8)
VT_MATH(float16, int16)

static inline float __attribute__((overloadable)) vt_hsum(float4 v)
{
    return (v.x + v.z) + (v.y + v.w);
}
static inline float __attribute__((overloadable)) vt_hsum(float8 v)
{
    return vt_hsum(v.lo + v.hi);
}
static inline float __attribute__((overloadable)) vt_hsum(float16 v)
{
    return vt_hsum(v.lo + v.hi);
}
static inline float __attribute__((overloadable)) vt_hmax(float4 v)
{
    return fmax(fmax(v.x, v.z), fmax(v.y, v.w));
}
static inline float __attribute__((overloadable)) vt_hmax(float8 v)
{
    return vt_hmax(fmax(v.lo, v.hi));
}
static inline float __attribute__((overloadable)) vt_hmax(float16 v)
{
    return vt_hmax(fmax(v.lo, v.hi));
}

/* A bijective mix of 32 bits (Wellons' lowbias32), applied twice. */
static inline uint vt_hash(uint state, uint index)
{
    uint x = index;

    for (int round = 0; round < 2; round++) {
        x ^= x >> 16;
        x *= 0x7feb352du;
        x ^= x >> 15;
        x *= 0x846ca68bu;
        x ^= x >> 16;
        x += state * 0x9e3779b9u;
    }
    return x;
}
