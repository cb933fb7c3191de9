/*
 * common_units_by_amd.cl - common_units.cl's macros by AMD's instructions, as
 * clang's builtin functions.
 *
 * Source    AMD's "RDNA 3", "RDNA 4" and "CDNA 3" instruction set architectures
 */
#if defined(KIND) && defined(TYPE) && !defined(EMULATE) && AMD_UNIT
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#if AMD_WMMA /* the lanes of a row of 16, from the other one */
#define FROM_LANE(v, mask)                                                     \
    as_float(__builtin_amdgcn_permlanex16(as_uint(v), as_uint(v), 0x76543210u, \
                                          0xfedcba98u, true, false))
#else
#define FROM_LANE(v, mask)                                                     \
    as_float(__builtin_amdgcn_ds_bpermute((lane ^ (mask)) * 4, as_int(v)))
#endif
#define EXP2(x) __builtin_amdgcn_exp2f(x)
#define AS4(x) (uint4)((x)[0], (x)[1], (x)[2], (x)[3])
#define AS8(x)                                                                 \
    (uint8)((x)[0], (x)[1], (x)[2], (x)[3], (x)[4], (x)[5], (x)[6], (x)[7])
#define AS2(x) (uint2)((x)[0], (x)[1])
#define C8(c) (*(sum8 *)(c))
#define C16(c) (*(sum16 *)(c))
#if TYPE == INT8
typedef int8 sum8;
typedef int16 sum16;
#else
typedef float8 sum8;
typedef float16 sum16;
#endif
#if KIND == WMMA11 && TYPE == INT8
#define MMA(c, a, b)                                                           \
    (C8(c) = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(                       \
         true, as_int4(AS4(a)), true, as_int4(AS4(b)), C8(c), false))
#elif KIND == WMMA11 && TYPE == BF16
#define MMA(c, a, b)                                                           \
    (C8(c) = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(                      \
         as_short16(AS8(a)), as_short16(AS8(b)), C8(c)))
#elif KIND == WMMA11
#define MMA(c, a, b)                                                           \
    (C8(c) = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(                       \
         as_half16(AS8(a)), as_half16(AS8(b)), C8(c)))
#elif KIND == WMMA12 && TYPE == INT8
#define MMA(c, a, b)                                                           \
    (C8(c) = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(                 \
         true, as_int2(AS2(a)), true, as_int2(AS2(b)), C8(c), false))
#elif KIND == WMMA12 && TYPE == BF16
#define MMA(c, a, b)                                                           \
    (C8(c) = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(                \
         as_short8(AS4(a)), as_short8(AS4(b)), C8(c)))
#elif KIND == WMMA12
#define MMA(c, a, b)                                                           \
    (C8(c) = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(                 \
         as_half8(AS4(a)), as_half8(AS4(b)), C8(c)))
#elif KIND == MFMA90A && TYPE == INT8
#define MMA(c, a, b)                                                           \
    (C16(c) = __builtin_amdgcn_mfma_i32_32x32x8i8((int)(a)[0], (int)(b)[0],    \
                                                  C16(c), 0, 0, 0))
#elif TYPE == INT8
#define MMA(c, a, b)                                                           \
    (C16(c) = __builtin_amdgcn_mfma_i32_32x32x16_i8(                           \
         as_long(AS2(a)), as_long(AS2(b)), C16(c), 0, 0, 0))
#elif TYPE == BF16
#define MMA(c, a, b)                                                           \
    (C16(c) = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(                        \
         as_short4(AS2(a)), as_short4(AS2(b)), C16(c), 0, 0, 0))
#else
#define MMA(c, a, b)                                                           \
    (C16(c) = __builtin_amdgcn_mfma_f32_32x32x8f16(                            \
         as_half4(AS2(a)), as_half4(AS2(b)), C16(c), 0, 0, 0))
#endif
#define SUBGROUP
#endif
