/*
 * common_dot.cl - the words that gemm_dot.cl multiplies, and gemm_dot_pack.cl
 * and gemm_dot_rows.cl make. The macros are used with their DOT, NV, V, TILES.
 *
 * A word is 32 bits: VT_KG adjacent values of k, which one instruction
 * multiplies by a column's VT_KG weights and adds to that column's 32-bit lane.
 * DOT names the instruction; gemm_dot.cl lists them. VT_STEP is 2 for those of
 * two rows, or else 1: they multiply VT_STEP words of VT_STEP rows by VT_STEP
 * words of VT_STEP columns.
 *
 * Packed B is panels of NW = NV*V columns: [ceil(N/NW)][KW/VT_STEP][NW]
 * [VT_STEP] words, or [2*KW][NW] halves of f16, KW = VT_WORDS(K) =
 * ceil(K/VT_KG) rounded up to whole steps, with TILES to a multiple of 16, of
 * f16 to one of 32; except for bf16, a float scale and an int sum of each
 * column follow. After A's words [M][ldw] come float scale[M] and int zero[M].
 *
 * vt_nearest(x)    x rounded to nearest, if |x| < 2^22
 * vt_factor_of(x)  the power of two by which x is 8 to 16
 * vt_inverse_of(x) of a power of two
 *
 * vt_bf16_words(low, high), with 4, 8, 16 or v for vectors: words of two values
 * of k in bf16, rounded to nearest even. common_words.cl has them as
 * instructions.
 */
#define VPMADDWD 1
#define VPDPBUSD 2
#define VDPBF16PS 3 /* with V 4 bfdot */
#define VPMADDUBSW 4
#define SDOT 5
#define SMMLA 6
#define BFMMLA 7
#define VFMADD231PH 8
#define VT_DOT_BF16 (DOT == VDPBF16PS || DOT == BFMMLA)
#define VT_DOT_F16 (DOT == VFMADD231PH)
#define VT_KG (VT_DOT_BF16 || VT_DOT_F16 || DOT == VPMADDWD ? 2 : 4)
#define VT_STEP (DOT == SMMLA || DOT == BFMMLA ? 2 : 1)
#ifdef TILES
#define VT_WORD_STEP 16
#else
#define VT_WORD_STEP (VT_DOT_F16 ? VT_HALVES_PART : VT_STEP)
#endif
#define VT_WORDS(K)                                                            \
    (((K) + VT_KG * VT_WORD_STEP - 1) / (VT_KG * VT_WORD_STEP) * VT_WORD_STEP)
#define VT_COLUMNS(N) (((N) + NW - 1) / NW * NW)
#define VT_SCALES(b, N, KW)                                                    \
    ((global float *)((b) + (size_t)VT_COLUMNS(N) * (KW)))

#define VT_BF16_WORDS(n)                                                       \
    static inline uint##n vt_bf16_bits##n(float##n x)                          \
    {                                                                          \
        const uint##n u = as_uint##n(x);                                       \
        return select(u + 0x7fffu + ((u >> 16u) & 1u), u | 0x400000u, x != x); \
    }                                                                          \
    static inline int##n vt_bf16_words##n(float##n low, float##n high)         \
    {                                                                          \
        return as_int##n((vt_bf16_bits##n(high) & 0xffff0000u) |               \
                         (vt_bf16_bits##n(low) >> 16u));                       \
    }
VT_BF16_WORDS(4)
VT_BF16_WORDS(8)
VT_BF16_WORDS(16)
#define vt_bf16_bitsv VT_JOIN(vt_bf16_bits, V)
#define vt_bf16_wordsv VT_JOIN(vt_bf16_words, V)
#define vt_bf16_words(low, high)                                               \
    ((int)((uint)vt_bf16_round(high) << 16 | vt_bf16_round(low)))

static inline float vt_factor_of(float most)
{
    return as_float((257 - max(as_int(most) >> 23, 4)) << 23);
}
static inline float vt_inverse_of(float x)
{
    return as_float((254 << 23) - as_int(x));
}

static inline int vt_nearest(float x)
{
    return as_int(x + 12582912.0f) - 0x4b400000;
}
