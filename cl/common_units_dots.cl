/*
 * common_units_dots.cl - what common_units.cl has for matrix units, for devices
 * without one: gemm_mma_registers.cl by instructions for a word of 2 halves or
 * 4 bytes.
 *
 * KIND      DOT8: the dot product of four bytes, by the function of
 *           cl_khr_integer_dot_product, or with EMULATE, or where the compiler
 *           does not declare it, by plain OpenCL C.
 *           DOT2: of two halves, added to f32: AMD's v_dot2_f32_f16. Only
 *           with EMULATE in plain OpenCL C, and then loops are not unrolled.
 * Lanes     A "sub-group" is 16 x 16 work-items. Each has 4 x 4 sums of a
 *           fragment, whose rows and columns are 16 apart: neighbours read
 *           neighbouring columns and the same row.
 */
#if defined(KIND) && defined(TYPE) && DOTS
#define MI 64
#define NI 64
#define KW 4
#define LANES 256
#define AW (4 * KW)
#define BW AW
#define CW 16
#define A_ROW(l, q) ((l) / 16 + (q)*16) /* of register KW * q on */
#define B_COLUMN(l, q) ((l) % 16 + (q)*16)
#define C_ROW(l, i) ((l) / 16 + (i) / 4 * 16)
#define C_COLUMN(l, i) ((l) % 16 + (i) % 4 * 16)

#if KIND == DOT8
typedef int sum;
#else
typedef float sum;
#endif

/* ---- two halves in a word ---- */

#if KIND == DOT2
#ifndef EMULATE
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif

static inline uint pair(float a, float b)
{
#ifdef EMULATE
    uint r;

    vstore_half_rte(a, 0, (half *)&r);
    vstore_half_rte(b, 1, (half *)&r);
    return r;
#else
    return as_uint((half2)((half)a, (half)b));
#endif
}
#define pair_of_terms(a, b) pair(a, b)
#endif

/* ---- c and the products of the numbers in two words ---- */

#if KIND == DOT8
#if defined(__opencl_c_integer_dot_product_input_4x8bit_packed) &&             \
    !defined(EMULATE)
#define dot_of_bytes(a, b) dot_4x8packed_ss_int(a, b)
#else /* some compilers have an instruction for that, too */
static inline int dot_of_bytes(uint a, uint b)
{
    const int4 p = convert_int4(as_char4(a)) * convert_int4(as_char4(b));

    return p.x + p.y + p.z + p.w;
}
#endif
#define ADD_WORD(c, a, b) ((c) + dot_of_bytes(a, b))
#elif !defined(EMULATE)
#define ADD_WORD(c, a, b)                                                      \
    __builtin_amdgcn_fdot2(as_half2(a), as_half2(b), c, false)
#else
static inline float add_word(float c, uint a, uint b)
{
    const float2 x = vload_half2(0, (const half *)&a);
    const float2 y = vload_half2(0, (const half *)&b);

    return fma(x.s1, y.s1, fma(x.s0, y.s0, c));
}
#define ADD_WORD add_word
#endif
#if KIND == DOT8 || !defined(EMULATE)
#define EACH_FRAGMENT EACH
#else
#define EACH_FRAGMENT(i, n) _Pragma("nounroll") for (int i = 0; i < n; i++)
#endif
#define MMA(c, a, b)                                                           \
    EACH_FRAGMENT(w_, KW)                                                      \
    EACH_FRAGMENT(e_, CW)                                                      \
    (c)[e_] = ADD_WORD((c)[e_], (a)[e_ / 4 * KW + w_], (b)[e_ % 4 * KW + w_])
#define ALL_LANES_HAVE(v) (v)
#define SUBGROUP
#endif
