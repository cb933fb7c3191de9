/*
 * common.cl - what every kernel file may use; put before each program's source.
 *
 * Vectors     V floats make an explicit vector (-DV=4, 8 or 16; default 8):
 *             floatv, intv, vloadv(i, p) and vstorev(v, i, p) of V lanes.
 * Functions   vt_exp, vt_exp2_down (2^x for x <= 0, as in a softmax), vt_erf,
 *             vt_tanh, vt_sigmoid, vt_act and vt_act_grad for float, float4,
 *             float8 and float16. The polynomials are our own: a driver's exp()
 *             may be slow and scalar, and its bits differ between drivers. With
 *             contraction off and fma() written out, the bits are the same
 *             wherever division is correctly rounded.
 * Work-group  WG, a power of two (default 64), is the local size of kernels
 *             whose work-groups share a row: wg_sum, wg_max, wg_row_sum,
 *             wg_row_square; tmp: WG floats of local memory. Every work-item
 *             gets the result. With WG=1, the form for CPUs, such a kernel is
 *             a plain loop over explicit vectors.
 * Blocks      A work-item of an elementwise kernel has PER * V neighbours
 *             (PER=1 on GPUs, many on CPUs), from block_begin(n) up to, not
 *             including, block_end(n).
 * Tiles       VT_EACH_TILE(id, taken, tiles): work-groups of one work-item, one
 *             for each core, process tiles 0 to tiles - 1. Each group has a
 *             share of adjacent tiles, takes them one by one, and then helps
 *             with the other shares. So a core that starts late or is slow
 *             delays nobody; it would where a driver assigns half of all groups
 *             at once. taken: a counter for each group, 0 before and after; or
 *             NULL, and there are as many groups as tiles. Launched by
 *             vt_kernel_tiles().
 * Loops       EACH(i, n): an unrolled loop over i = 0 to n - 1, n a constant.
 *             LIKELY(x): x, the condition of a hot loop.
 * Halves      stored as ushort: vt_bf16_load, vt_bf16_store, vt_f16_load,
 *             vt_f16_store; rounded to nearest even. No arithmetic in half.
 * Storage     load_T, load4_T, load8_T, load16_T(p, i) and store.._T(p, i, v):
 *             lanes from p[i] on, T one of f32, f16, bf16 (pointers to
 *             VT_TYPE_T), so that a define chooses a kernel's storage type.
 * Epilogue    vt_epilogue, 4, 8, 16, v: residual + scale * act(v + bias). The
 *             defines BIAS, SCALE, RESIDUAL and ACT say which terms exist;
 *             TIMES: the residual is a factor.
 * Caches      vt_prefetch(p, write, level): a hint that the line at p will soon
 *             be read (write 0) or written (1); level 3: to L1, 2: to L2.
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
#pragma OPENCL FP_CONTRACT OFF

/* Where fma() is not an instruction, each one becomes a page of code, and
 * llvmpipe needs minutes to compile a GELU. Two roundings must do there. */
#ifdef NO_FMA
#define fma(a, b, c) ((a) * (b) + (c))
#endif

/* PoCL's prefetch() does nothing, but its compiler has clang's builtin; others
 * may lack it. */
#if defined(__x86_64__) || defined(__aarch64__)
#define vt_prefetch(p, write, level)                                           \
    __builtin_prefetch((const void *)(size_t)(p), write, level)
#else
#define vt_prefetch(p, write, level) prefetch(p, 1)
#endif

#ifndef V
#define V 8
#endif
#ifndef WG
#define WG 64
#endif
#ifndef PER
#define PER 1
#endif
#define VT_JOIN_(a, b) a##b
#define VT_JOIN(a, b) VT_JOIN_(a, b)
#define floatv VT_JOIN(float, V)
#define intv VT_JOIN(int, V)
#define vloadv VT_JOIN(vload, V)
#define vstorev VT_JOIN(vstore, V)
#define as_floatv VT_JOIN(as_float, V)
#define as_intv VT_JOIN(as_int, V)
#define convert_floatv VT_JOIN(convert_, floatv)
#define vt_epiloguev VT_JOIN(vt_epilogue, V)

#define UNROLL _Pragma("unroll")
#define EACH(i, n) UNROLL for (int i = 0; i < n; i++)

/* Put around the condition of an innermost loop: a compiler takes the deepest
 * loop for the hottest, and would spill this one's accumulators for the sake of
 * the epilogue's. */
#ifdef __clang__
#define LIKELY(x) __builtin_expect(x, 1)
#else
#define LIKELY(x) (x)
#endif

/* t[4][4], of stride ld, <- the rows r0 to r3 of four, transposed. */
#define VT_STORE_TRANSPOSED(r0, r1, r2, r3, t, ld)                             \
    do {                                                                       \
        vstore4((float4)(r0.x, r1.x, r2.x, r3.x), 0, t);                       \
        vstore4((float4)(r0.y, r1.y, r2.y, r3.y), 0, t + (ld));                \
        vstore4((float4)(r0.z, r1.z, r2.z, r3.z), 0, t + 2 * (ld));            \
        vstore4((float4)(r0.w, r1.w, r2.w, r3.w), 0, t + 3 * (ld));            \
    } while (0)

#define VT_LOG2E 1.44269504f

/* as vt_act in host/ocl/ocl.h */
#define VT_ACT_NONE 0
#define VT_ACT_GELU 1
#define VT_ACT_GELU_TANH 2
#define VT_ACT_GELU_QUICK 3
#define VT_ACT_TANH 4
#define VT_ACT_RELU 5
#define VT_ACT_SILU 6

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
        return a * p / q;                                                      \
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
    }                                                                          \
    static inline F __attribute__((overloadable)) vt_act(F x, int kind)        \
    {                                                                          \
        switch (kind) {                                                        \
        case VT_ACT_GELU:                                                      \
            return 0.5f * x * (vt_erf(x * 0.707106781f) + 1.0f);               \
        case VT_ACT_GELU_TANH:                                                 \
            return 0.5f * x *                                                  \
                   (vt_tanh(0.797884561f * fma(0.044715f * x * x, x, x)) +     \
                    1.0f);                                                     \
        case VT_ACT_GELU_QUICK:                                                \
            return x * vt_sigmoid(1.702f * x);                                 \
        case VT_ACT_TANH:                                                      \
            return vt_tanh(x);                                                 \
        case VT_ACT_RELU:                                                      \
            return select(x, (F)(0.0f), x < (F)(0.0f));                        \
        case VT_ACT_SILU:                                                      \
            return x * vt_sigmoid(x);                                          \
        default:                                                               \
            return x;                                                          \
        }                                                                      \
    }                                                                          \
    /* d act(x) / dx */                                                        \
    static inline F __attribute__((overloadable)) vt_act_grad(F x, int kind)   \
    {                                                                          \
        F s, t;                                                                \
        switch (kind) {                                                        \
        case VT_ACT_GELU:                                                      \
            s = 0.5f * (vt_erf(x * 0.707106781f) + 1.0f);                      \
            return fma(x * 0.398942280f,                                       \
                       vt_exp2_down(x * x * (-0.5f * VT_LOG2E)), s);           \
        case VT_ACT_GELU_TANH:                                                 \
            t = vt_tanh(0.797884561f * fma(0.044715f * x * x, x, x));          \
            s = 0.797884561f * fma(0.134145f * x, x, (F)(1.0f));               \
            return 0.5f * (t + 1.0f) + 0.5f * x * (1.0f - t * t) * s;          \
        case VT_ACT_GELU_QUICK:                                                \
            s = vt_sigmoid(1.702f * x);                                        \
            return fma(1.702f * x * s, 1.0f - s, s);                           \
        case VT_ACT_TANH:                                                      \
            t = vt_tanh(x);                                                    \
            return 1.0f - t * t;                                               \
        case VT_ACT_RELU:                                                      \
            return select((F)(0.0f), (F)(1.0f), x > (F)(0.0f));                \
        case VT_ACT_SILU:                                                      \
            s = vt_sigmoid(x);                                                 \
            return fma(x * s, 1.0f - s, s);                                    \
        default:                                                               \
            return (F)(1.0f);                                                  \
        }                                                                      \
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

/* This work-item's range of n elements, along dimension 0. */
static inline int block_begin(int n)
{
    const size_t i = get_global_id(0) * (size_t)(PER * V);

    return i < (size_t)n ? (int)i : n;
}
static inline int block_end(int n)
{
    const size_t i = (get_global_id(0) + 1) * (size_t)(PER * V);

    return i < (size_t)n ? (int)i : n;
}

/* Of n things in `parts` nearly equal parts: the first one of part i. */
static inline int vt_part(int i, int n, int parts)
{
    return (int)((long)i * n / parts);
}

/* A tile of the share that is `ahead` shares after this group's own; -1: that
 * share is used up. */
static inline int vt_take(volatile global int *taken, int tiles, int ahead)
{
    const int groups = get_num_groups(0);
    const int share = ((int)get_group_id(0) + ahead) % groups;
    const int from = vt_part(share, tiles, groups);
    const int n = vt_part(share + 1, tiles, groups) - from;
    const int i = atomic_inc(taken + share);

    if (i == n + groups - 1) /* every group has seen its end */
        atomic_xchg(taken + share, 0);
    return i < n ? from + i : -1;
}
#define VT_EACH_TILE(id, taken, tiles)                                         \
    for (int ahead = 0, id; ahead < (taken ? (int)get_num_groups(0) : 1);      \
         ahead += !taken || id < 0)                                            \
        if ((id = taken ? vt_take(taken, tiles, ahead)                         \
                        : (int)get_group_id(0)) >= 0)

static inline float wg_sum(float v, local float *tmp)
{
#if WG > 1
    const int lid = get_local_id(0);

    tmp[lid] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = WG / 2; s > 0; s /= 2) {
        if (lid < s)
            tmp[lid] += tmp[lid + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    v = tmp[0];
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    return v;
}

static inline float wg_max(float v, local float *tmp)
{
#if WG > 1
    const int lid = get_local_id(0);

    tmp[lid] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = WG / 2; s > 0; s /= 2) {
        if (lid < s)
            tmp[lid] = fmax(tmp[lid], tmp[lid + s]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    v = tmp[0];
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    return v;
}

/* The sum of x[0..n-1], by the whole work-group. */
static inline float wg_row_sum(global const float *x, int n, local float *tmp)
{
    const int lid = WG > 1 ? (int)get_local_id(0) : 0;
    floatv a = 0.0f, b = 0.0f;
    float tail = 0.0f;
    int c = lid * V;

    for (; c + WG * V + V <= n; c += 2 * WG * V) {
        a += vloadv(0, x + c);
        b += vloadv(0, x + c + WG * V);
    }
    for (; c + V <= n; c += WG * V)
        a += vloadv(0, x + c);
    for (c = n / V * V + lid; c < n; c += WG)
        tail += x[c];
    return wg_sum(vt_hsum(a + b) + tail, tmp);
}

/* The sum of (x - mean)^2. */
static inline float wg_row_square(global const float *x, int n, float mean,
                                  local float *tmp)
{
    const int lid = WG > 1 ? (int)get_local_id(0) : 0;
    floatv a = 0.0f, b = 0.0f, d, e;
    float tail = 0.0f;
    int c = lid * V;

    for (; c + WG * V + V <= n; c += 2 * WG * V) {
        d = vloadv(0, x + c) - mean;
        e = vloadv(0, x + c + WG * V) - mean;
        a = fma(d, d, a);
        b = fma(e, e, b);
    }
    for (; c + V <= n; c += WG * V) {
        d = vloadv(0, x + c) - mean;
        a = fma(d, d, a);
    }
    for (c = n / V * V + lid; c < n; c += WG)
        tail = fma(x[c] - mean, x[c] - mean, tail);
    return wg_sum(vt_hsum(a + b) + tail, tmp);
}

static inline float vt_bf16_load(global const ushort *p, size_t i)
{
    return as_float((uint)p[i] << 16);
}
static inline ushort vt_bf16_round(float f)
{
    const uint u = as_uint(f);

    return (ushort)(isnan(f) ? (u >> 16 | 0x40)
                             : (u + 0x7fff + (u >> 16 & 1)) >> 16);
}
static inline void vt_bf16_store(float f, global ushort *p, size_t i)
{
    p[i] = vt_bf16_round(f);
}
static inline float vt_f16_load(global const ushort *p, size_t i)
{
    return vload_half(i, (global const half *)p);
}
static inline void vt_f16_store(float f, global ushort *p, size_t i)
{
    vstore_half_rte(f, i, (global half *)p);
}

/* ---- storage types ---- */

#define VT_TYPE_f32 float
#define VT_TYPE_f16 ushort
#define VT_TYPE_bf16 ushort
#define VT_TYPE(t) VT_JOIN(VT_TYPE_, t)

static inline float load_f32(global const float *p, size_t i)
{
    return p[i];
}
static inline float load_f16(global const ushort *p, size_t i)
{
    return vt_f16_load(p, i);
}
static inline float load_bf16(global const ushort *p, size_t i)
{
    return vt_bf16_load(p, i);
}
static inline void store_f32(global float *p, size_t i, float v)
{
    p[i] = v;
}
static inline void store_f16(global ushort *p, size_t i, float v)
{
    vt_f16_store(v, p, i);
}
static inline void store_bf16(global ushort *p, size_t i, float v)
{
    vt_bf16_store(v, p, i);
}

#define VT_STORAGE(n)                                                          \
    static inline float##n load##n##_f32(global const float *p, size_t i)      \
    {                                                                          \
        return vload##n(0, p + i);                                             \
    }                                                                          \
    static inline float##n load##n##_f16(global const ushort *p, size_t i)     \
    {                                                                          \
        return vload_half##n(0, (global const half *)p + i);                   \
    }                                                                          \
    static inline float##n load##n##_bf16(global const ushort *p, size_t i)    \
    {                                                                          \
        return as_float##n(convert_uint##n(vload##n(0, p + i)) << 16u);        \
    }                                                                          \
    static inline void store##n##_f32(global float *p, size_t i, float##n v)   \
    {                                                                          \
        vstore##n(v, 0, p + i);                                                \
    }                                                                          \
    static inline void store##n##_f16(global ushort *p, size_t i, float##n v)  \
    {                                                                          \
        vstore_half##n##_rte(v, 0, (global half *)p + i);                      \
    }                                                                          \
    static inline void store##n##_bf16(global ushort *p, size_t i, float##n v) \
    {                                                                          \
        const uint##n u = as_uint##n(v);                                       \
        const uint##n r = (u + 0x7fffu + ((u >> 16u) & 1u)) >> 16u;            \
        vstore##n(convert_ushort##n(select(r, (u >> 16u) | 0x40u, v != v)), 0, \
                  p + i);                                                      \
    }
VT_STORAGE(4)
VT_STORAGE(8)
VT_STORAGE(16)

/* ---- GEMM epilogue ---- */

#ifndef ACT
#define ACT VT_ACT_NONE
#endif
#ifdef BIAS
#define VT_ADD_BIAS(load) v += load(bias, col)
#else
#define VT_ADD_BIAS(load)
#endif
#ifdef SCALE
#define VT_MUL_SCALE(load) v *= load(scale, col)
#else
#define VT_MUL_SCALE(load)
#endif
#ifdef TIMES
#define VT_ADD_RESIDUAL(load) v *= load(residual, at)
#elif defined(RESIDUAL)
#define VT_ADD_RESIDUAL(load) v += load(residual, at)
#else
#define VT_ADD_RESIDUAL(load)
#endif

/* Columns from col on; `at` is the index of the first in the residual. */
#define VT_EPILOGUE(n, F)                                                      \
    static inline F vt_epilogue##n(                                            \
        F v, global const float *bias, global const float *scale,              \
        global const float *residual, size_t col, size_t at)                   \
    {                                                                          \
        VT_ADD_BIAS(load##n##_f32);                                            \
        v = vt_act(v, ACT);                                                    \
        VT_MUL_SCALE(load##n##_f32);                                           \
        VT_ADD_RESIDUAL(load##n##_f32);                                        \
        return v;                                                              \
    }
VT_EPILOGUE(, float)
VT_EPILOGUE(4, float4)
VT_EPILOGUE(8, float8)
VT_EPILOGUE(16, float16)

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
