/*
 * common_units_by_intel.cl - common_units.cl's macros by Intel's instructions.
 *
 * LOAD_ROWS(a, p), LOAD_WORDS(b, p): a fragment that begins there in local
 * memory: of A row after row, of B the words of all columns, then their next
 * words. LOAD_FAR_WORDS(b, p): of global memory. PLAIN_READS: local memory is
 * read word by word, because the driver lacks cl_intel_subgroup_local_block_io.
 *
 * Source    cl_intel_subgroup_matrix_multiply_accumulate,
 *           cl_intel_subgroup_local_block_io
 */
#if defined(KIND) && defined(TYPE) && !defined(EMULATE) && INTEL_DPAS
/* Older compilers have the function, but do not declare it. */
#if TYPE == INT8
#define DPAS intel_sub_group_i8_i8_matrix_mad_k32
#elif TYPE == BF16
#define DPAS intel_sub_group_bf16_bf16_matrix_mad_k16
#else
#define DPAS intel_sub_group_f16_f16_matrix_mad_k16
#endif
#if TYPE == INT8
typedef int8 sum8;
#else
typedef float8 sum8;
#endif
__attribute__((overloadable)) uint8
intel_sub_group_block_read8(const global uint *);
#define LOAD_FAR_WORDS(r, p)                                                   \
    vstore8(intel_sub_group_block_read8((const global uint *)(p)), 0, r)
#ifdef PLAIN_READS
#define LOAD_LOCAL(r, p, type)                                                 \
    EACH(i_, 8)                                                                \
    (r)[i_] = ((const local type *)(p))[i_ * LANES + lane]
#define LOAD_WORDS(r, p) LOAD_LOCAL(r, p, uint)
#define LOAD_HALVES(r, p) LOAD_LOCAL(r, p, ushort)
#else
__attribute__((overloadable)) uint8
intel_sub_group_block_read8(const local uint *);
__attribute__((overloadable)) ushort8
intel_sub_group_block_read_us8(const local ushort *);
#define LOAD_WORDS(r, p)                                                       \
    vstore8(intel_sub_group_block_read8((const local uint *)(p)), 0, r)
#define LOAD_HALVES(r, p)                                                      \
    vstore8(convert_uint8(                                                     \
                intel_sub_group_block_read_us8((const local ushort *)(p))),    \
            0, r)
#endif
#if KIND == DPAS8
typedef int8 dpas_a;
#define LOAD_ROWS LOAD_WORDS
#define AS_A(a)                                                                \
    (int8)((a)[0], (a)[1], (a)[2], (a)[3], (a)[4], (a)[5], (a)[6], (a)[7])
#else
typedef short8 dpas_a;
#define LOAD_ROWS LOAD_HALVES
#define AS_A(a)                                                                \
    (short8)((a)[0], (a)[1], (a)[2], (a)[3], (a)[4], (a)[5], (a)[6], (a)[7])
#endif
__attribute__((overloadable)) sum8 DPAS(dpas_a a, int8 b, sum8 c);
#define MMA(c, a, b)                                                           \
    (*(sum8 *)(c) = DPAS(AS_A(a),                                              \
                         (int8)((b)[0], (b)[1], (b)[2], (b)[3], (b)[4],        \
                                (b)[5], (b)[6], (b)[7]),                       \
                         *(sum8 *)(c)))
#define SUBGROUP __attribute__((intel_reqd_sub_group_size(LANES)))
#define EXP2(x) native_exp2(x)
__attribute__((overloadable)) int sub_group_broadcast(int, uint);
#define ALL_LANES_HAVE(v) sub_group_broadcast(v, 0)
#endif
