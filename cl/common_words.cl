/*
 * common_words.cl - bf16 in words of two, as AVX-512's dot products take them.
 * For processors that have the vectors, with V 16.
 *
 * vt_word_dot(s, x, w)         s + x.lo * w.lo + x.hi * w.hi, in f32
 * vt_words_of(lo, hi)          words (lo[i], hi[i]), rounded to bf16
 * vt_words(to, from, n, all)   n adjacent numbers in words of two; zeros up to
 *                              word `all`, VT_ROW_WORDS(n) for whole vectors
 * vt_words_at(from, d, n)      16 of those words, from word 16 * d on
 * vt_words_put(to, lo, hi)     32 numbers: floats, or rounded to bf16
 * vt_words_paired(to, a, b)    32 words (a's number i, b's number i)
 * vt_words_transpose(x)        16 vectors of words
 * vt_words_exp2(x)             2^x for x <= 0, to 2^-13 of it: bf16 hides that
 * vt_words_larger(a, b)        of each lane; a if b is NaN
 * vt_words_largest(a)          the largest lane, in all lanes
 *
 * vt_words_exp2 is vt_exp2_down with a shorter polynomial. 1 for 0, 0 below
 * -127.5, NaN for NaN.
 *
 * Surprise  Inline assembly: see gemm_dot.cl.
 */
#if defined(__AVX512F__) && V == 16
#define VT_ROW_WORDS(n) (((n) + 31) / 32 * 16)

static inline float16 vt_word_dot(float16 s, int16 x, int16 w)
{
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(s) : "v"(x), "v"(w));
    return s;
}

/* 32 numbers: those of lo, then those of hi. */
static inline int16 vt_words_rounded(float16 lo, float16 hi)
{
    int16 x;
    __asm__("vcvtne2ps2bf16 %1, %2, %0" : "=v"(x) : "v"(lo), "v"(hi));
    return x;
}

static inline void __attribute__((overloadable))
vt_words_put(global float *to, float16 lo, float16 hi)
{
    vstore16(lo, 0, to);
    vstore16(hi, 1, to);
}
static inline void __attribute__((overloadable))
vt_words_put(global ushort *to, float16 lo, float16 hi)
{
    vstore16(as_float16(vt_words_rounded(lo, hi)), 0, (global float *)to);
}

/* Numbers of a and b, of 64, in this order; two to a word. */
static inline int16 vt_words_chosen(int16 a, int16 b, int16 order)
{
    __asm__("vpermt2w %2, %1, %0" : "+v"(a) : "v"(order), "v"(b));
    return a;
}

/* (first + i, second + i) of 64 numbers for i = 0 to 15 */
#define VT_ORDER(first, second)                                                \
    ((int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) * 0x10001 + \
     ((second) << 16 | (first)))

static inline int16 vt_words_of(float16 lo, float16 hi)
{
    const int16 x = vt_words_rounded(lo, hi);

    return vt_words_chosen(x, x, VT_ORDER(0, 16));
}

static inline void vt_words_paired(int *to, int16 a, int16 b)
{
    vstorev(vt_words_chosen(a, b, VT_ORDER(0, 32)), 0, to);
    vstorev(vt_words_chosen(a, b, VT_ORDER(16, 48)), 1, to);
}

/* x <- its transpose: each round moves the highest bit of a row's number to the
 * end of its column's, and that of a column's to the end of a row's. */
static inline void vt_words_transpose(int16 x[16])
{
    EACH(round, 4) {
        int16 y[16];

        EACH(i, 8) {
            y[2 * i] =
                __builtin_shufflevector(x[i], x[i + 8], 0, 16, 1, 17, 2, 18, 3,
                                        19, 4, 20, 5, 21, 6, 22, 7, 23);
            y[2 * i + 1] =
                __builtin_shufflevector(x[i], x[i + 8], 8, 24, 9, 25, 10, 26,
                                        11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        }
        EACH(i, 16)
            x[i] = y[i];
    }
}

static inline int16 __attribute__((overloadable))
vt_words_32(global const float *p)
{
    return vt_words_rounded(vload16(0, p), vload16(1, p));
}
static inline int16 __attribute__((overloadable))
vt_words_32(global const ushort *p)
{
    return *(global const vt_int16 *)p;
}
static inline int2 __attribute__((overloadable))
vt_words_4(global const float *p)
{
    const float16 x = (float16)(vload4(0, p), (float4)(0.0f), (float8)(0.0f));

    return vt_words_rounded(x, x).lo.lo.lo;
}
static inline int2 __attribute__((overloadable))
vt_words_4(global const ushort *p)
{
    return as_int2(vload4(0, p));
}
static inline uint __attribute__((overloadable))
vt_word_half(global const float *p, int i)
{
    return vt_bf16_round(p[i]);
}
static inline uint __attribute__((overloadable))
vt_word_half(global const ushort *p, int i)
{
    return p[i];
}

#define VT_WORDS_FROM(T)                                                       \
    static inline void __attribute__((overloadable))                           \
    vt_words(int *to, global const T *from, int n, int all)                    \
    {                                                                          \
        int i = 0;                                                             \
                                                                               \
        for (; i + 32 <= n; i += 32)                                           \
            vstorev(vt_words_32(from + i), i / 32, to);                        \
        for (; i + 4 <= n; i += 4)                                             \
            vstore2(vt_words_4(from + i), i / 4, to);                          \
        for (; i < n; i += 2)                                                  \
            to[i / 2] =                                                        \
                (int)(vt_word_half(from, i) |                                  \
                      (i + 1 < n ? vt_word_half(from, i + 1) : 0u) << 16);     \
        for (; i < 2 * all; i += 2)                                            \
            to[i / 2] = 0;                                                     \
    }
VT_WORDS_FROM(float)
VT_WORDS_FROM(ushort)

#define VT_WORDS_AT(T)                                                         \
    static inline int16 __attribute__((overloadable))                          \
    vt_words_at(global const T *from, int d, int n)                            \
    {                                                                          \
        int x[16] __attribute__((aligned(64)));                                \
                                                                               \
        if (32 * (d + 1) <= n)                                                 \
            return vt_words_32(from + 32 * d);                                 \
        vt_words(x, from + 32 * d, max(n - 32 * d, 0), 16);                    \
        return vload16(0, x);                                                  \
    }
VT_WORDS_AT(float)
VT_WORDS_AT(ushort)

static inline float16 vt_words_exp2(float16 x)
{
    const float16 y = select(x, (float16)(-128.0f), (float16)(-128.0f) > x);
    const float16 t = y + 12583040.0f; /* 1.5 * 2^23 + 128 */
    const float16 f = y - (t - 12583040.0f);
    float16 p = fma((float16)(0.0275044656f), f, (float16)(0.12110548f));

    p = fma(p, f, (float16)(0.346641464f));
    p = fma(p, f, (float16)(0.5f));
    return p * as_float16(as_int16(t) << 23); /* keeps NaN */
}

static inline float16 vt_words_larger(float16 a, float16 b)
{
    return select(a, b, b > a);
}

static inline float16 vt_words_largest(float16 m)
{
    m = vt_words_larger(m, m.s89abcdef01234567);
    m = vt_words_larger(m, m.s45670123cdef89ab);
    m = vt_words_larger(m, m.s23016745ab89efcd);
    return vt_words_larger(m, m.s1032547698badcfe);
}
#endif
