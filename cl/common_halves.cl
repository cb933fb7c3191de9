/*
 * common_halves.cl - the block of gemm_dot.cl that adds in 16 bits, by
 * AVX512-FP16's vfmadd231ph: V 16, NV even.
 *
 * VT_HALVES_BLOCK(NAME, R)   s[R][NV] (+)= rows of words times a panel
 *
 * Operands  Halves, rows and columns scaled by powers of two: their largest
 *           magnitude is at most 16. A panel is [2 * KW][NW].
 * How       A vector has 32 columns. R * NV / 2 sums and NV / 2 vectors of the
 *           panel are in registers, an element of A is broadcast from memory.
 *           After VT_HALVES_PART words, 64 terms, sums are widened and added to
 *           s, in f32.
 * Numerics  Within 64 terms each is rounded to 11 bits; none exceeds 64 * 16 *
 *           16 = 2^14, so none overflows. Parts begin at multiples of 64, so
 *           the bits depend on K alone.
 * Surprise  Inline assembly: see gemm_dot.cl. Macros alone: others do not
 *           compile it.
 */
#define VT_HALVES_PART 32

/* s += w * *p, 32 halves; f = 16 halves x */
#define VT_HALVES_ADD(s, w, p)                                                 \
    __asm__("vfmadd231ph %2%{1to32%}, %1, %0" : "+v"(s) : "v"(w), "m"(*(p)))
#define VT_HALVES_WIDE(f, x) __asm__("vcvtph2ps %1, %0" : "=v"(f) : "v"(x))

#define VT_HALVES_BLOCK(NAME, R)                                               \
    static OUTLINED UNIT void NAME(floatv *s, global const int *restrict a,    \
                                   global const int *restrict b, int ldw,      \
                                   int n, int first)                           \
    {                                                                          \
        typedef intv loose __attribute__((aligned(4)));                        \
                                                                               \
        for (int i = 0; first && i < R * NV; i++)                              \
            s[i] = (floatv)(0.0f);                                             \
        for (int part = 0; part < n; part += VT_HALVES_PART) {                 \
            intv x[R][NV / 2];                                                 \
            EACH(r, R)                                                         \
                EACH(v, NV / 2)                                                \
                    x[r][v] = (intv)(0);                                       \
            for (int k = part; LIKELY(k < part + VT_HALVES_PART); k++)         \
                EACH(odd, 2) {                                                 \
                    intv w[NV / 2];                                            \
                    EACH(v, NV / 2)                                            \
                        w[v] = ((global const loose *)(b + k * NW +            \
                                                       odd * (NW / 2)))[v];    \
                    EACH(r, R)                                                 \
                        EACH(v, NV / 2)                                        \
                            VT_HALVES_ADD(                                     \
                                x[r][v], w[v],                                 \
                                (global const ushort *)(a + r * ldw + k) +     \
                                    odd);                                      \
                }                                                              \
            EACH(r, R)                                                         \
                EACH(v, NV / 2) {                                              \
                    floatv low, high;                                          \
                    VT_HALVES_WIDE(low, x[r][v].lo);                           \
                    VT_HALVES_WIDE(high, x[r][v].hi);                          \
                    s[r * NV + 2 * v] += low;                                  \
                    s[r * NV + 2 * v + 1] += high;                             \
                }                                                              \
        }                                                                      \
    }
