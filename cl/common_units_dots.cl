/*
 * common_units_dots.cl - what common_units.cl has for matrix units, for devices
 * without one: gemm_mma.cl in int8 by dot products of four bytes.
 *
 * KIND      9: the function of cl_khr_integer_dot_product, or with EMULATE, or
 *           where the compiler does not declare it, plain OpenCL C.
 * Lanes     A "sub-group" is 16 x 16 work-items. Each has 4 x 4 sums of a
 *           fragment, whose rows and columns are 16 apart: neighbours read
 *           neighbouring columns and the same row.
 */
#if defined(KIND) && KIND == 9
#define INT8 1
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

typedef int sum;

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
#define MMA(c, a, b)                                                           \
    EACH(w_, KW)                                                               \
        EACH(e_, CW)                                                           \
    (c)[e_] += dot_of_bytes((a)[e_ / 4 * KW + w_], (b)[e_ % 4 * KW + w_])
#define EACH_FRAGMENT EACH
#define ALL_LANES_HAVE(v) (v)
#define SUBGROUP
#endif
