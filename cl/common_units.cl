/*
 * common_units.cl - the matrix units of GPUs, for programs with the defines
 * KIND and TYPE: gemm_mma_*.cl, attention_mma.cl, attention_grad_mma.cl.
 *
 *     c[m,n] += sum_k a[m,k] b[n,k], of MI x NI by KW words: 2 halves, 4 bytes
 *
 * KIND      The instruction: a macro MMA(c, a, b) with one body a vendor, or
 *           with EMULATE in plain OpenCL C, for any device: each has a file
 *           common_units_by_*.cl. Each of the LANES work-items of a sub-group
 *           holds AW words of a, BW of b and CW elements of c. A_ROW(l, r),
 *           A_WORD(l, r): which word of which row lane l has in register r;
 *           B_COLUMN, B_WORD: the same of b; C_ROW, C_COLUMN: of element i.
 *             MMA16  NVIDIA sm_80 on: mma.m16n8k16, ldmatrix, cp.async
 *             MMA8   NVIDIA sm_75: mma.m16n8k8, ldmatrix
 *             WMMA11, WMMA12    AMD gfx11, gfx12: WMMA
 *             MFMA90A, MFMA942  AMD gfx90a, gfx942: MFMA
 *             DPAS8, DPAS16     Intel: DPAS, 8 or 16 lanes
 *             DOT8, DOT2        no unit: common_units_dots.cl
 * TYPE      of the product: BF16, F16 or, with whole sums, INT8.
 * Lanes     FROM_LANE(v, mask): v of lane ^ mask; on NVIDIA mask is 1 or 2, on
 *           AMD half of the lanes. Intel has none. NVIDIA: TURN4(t), of four
 *           numbers and four lanes, lane % 4: number i becomes lane i's number
 *           lane % 4. ALL_LANES_HAVE(v): v, which is the same in all lanes;
 *           Intel's compilers have it and addresses computed of it once then,
 *           not in each lane.
 * Numbers   pair(a, b): a word of two halves, rounded to nearest even; there
 *           are shorter ones where less can come. LOWER_HALVES, UPPER_HALVES:
 *           of two words the halves of one.
 *           EXP2(x): 2^x for x <= 0 by the device's own instruction.
 * Loops     EACH_FRAGMENT: around the macros above; not unrolled if emulated.
 */
/* as in host/units/matrix.h; tools/compile_gpus has these numbers, too */
#define MMA16 1
#define MMA8 2
#define WMMA11 3
#define WMMA12 4
#define MFMA90A 5
#define MFMA942 6
#define DPAS8 7
#define DPAS16 8
#define DOT8 9
#define DOT2 10
#define NVIDIA_MMA (KIND == MMA16 || KIND == MMA8)
#define AMD_WMMA (KIND == WMMA11 || KIND == WMMA12)
#define AMD_MFMA (KIND == MFMA90A || KIND == MFMA942)
#define AMD_UNIT (AMD_WMMA || AMD_MFMA)
#define INTEL_DPAS (KIND == DPAS8 || KIND == DPAS16)
#define DOTS (KIND == DOT8 || KIND == DOT2)

#if defined(KIND) && defined(TYPE) && !DOTS

/* ---- what a lane holds ---- */

#if NVIDIA_MMA
#define MI 16
#define NI 8
#define KW 8
#define LANES 32
#define AW 4
#define BW 2
#define CW 4
#define A_ROW(l, r) ((l) / 4 + 8 * ((r) % 2))
#define A_WORD(l, r) ((l) % 4 + 4 * ((r) / 2))
#define B_COLUMN(l) ((l) / 4)
#define B_WORD(l, r) ((l) % 4 + 4 * (r))
#define C_ROW(l, i) ((l) / 4 + 8 * ((i) / 2))
#define C_COLUMN(l, i) ((l) % 4 * 2 + (i) % 2)
#elif AMD_WMMA
#define MI 16
#define NI 16
#define KW (TYPE == INT8 ? 4 : 8)
#define LANES 32
#define AW (KIND == WMMA11 ? KW : KW / 2)
#define BW AW
#define CW 8
#define A_ROW(l, r) ((l) % 16)
#define A_WORD(l, r)                                                           \
    (KIND == WMMA11 ? (r) : (r) / 2 * 4 + (l) / 16 * 2 + (r) % 2)
#define B_COLUMN(l) ((l) % 16)
#define B_WORD A_WORD
#define C_ROW(l, i) (KIND == WMMA11 ? 2 * (i) + (l) / 16 : (i) + 8 * ((l) / 16))
#define C_COLUMN(l, i) ((l) % 16)
#elif AMD_MFMA
#define MI 32
#define NI 32
#define KW (TYPE == INT8 && KIND == MFMA90A ? 2 : 4)
#define LANES 64
#define AW (KW / 2)
#define BW AW
#define CW 16
#define A_ROW(l, r) ((l) % 32)
#define A_WORD(l, r) ((l) / 32 * AW + (r))
#define B_COLUMN(l) ((l) % 32)
#define B_WORD A_WORD
#define C_ROW(l, i) ((i) / 4 * 8 + (l) / 32 * 4 + (i) % 4)
#define C_COLUMN(l, i) ((l) % 32)
#else
#define MI 8
#define NI (KIND == DPAS8 ? 8 : 16)
#define KW 8
#define LANES NI
#define AW 8 /* with 16 lanes: halves of words */
#define BW 8
#define CW 8
#define A_ROW(l, r) (r)
#define A_WORD(l, r) (l)
#define B_COLUMN(l) (l)
#define B_WORD(l, r) (r)
#define C_ROW(l, i) (i)
#define C_COLUMN(l, i) (l)
#endif

#if TYPE == INT8
typedef int sum;
#else
typedef float sum;
#endif

#if !INTEL_DPAS || defined(EMULATE)
#define ALL_LANES_HAVE(v) (v)
#endif
#ifndef EMULATE
#define EACH_FRAGMENT EACH
#define SCRATCHES
#endif

/* ---- two halves in a word ---- */

#if AMD_UNIT && !defined(EMULATE) /* in one instruction */
#define LOWER_HALVES(a, b) __builtin_amdgcn_perm(b, a, 0x05040100u)
#define UPPER_HALVES(a, b) __builtin_amdgcn_perm(b, a, 0x07060302u)
#else
#define LOWER_HALVES(a, b) (((a)&0xffffu) | (b) << 16)
#define UPPER_HALVES(a, b) ((a) >> 16 | ((b)&0xffff0000u))
#endif

/* The type of these: that of the product or, where this is INT8, of C. */
#if TYPE == INT8 && defined(CT)
#define HALF_f32 F16
#define HALF_f16 F16
#define HALF_bf16 BF16
#define HALF VT_JOIN(HALF_, CT)
#else
#define HALF TYPE
#endif

#if KIND == MMA16 && !defined(EMULATE)
static inline uint pair(float a, float b)
{
    uint r;

#if HALF == BF16
    __asm__("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
#else
    __asm__("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
#endif
    return r;
}
#elif HALF == BF16
/* vt_bf16_round(v), in the upper half, without a branch. */
static inline uint upper_half(float v)
{
    const uint x = as_uint(v), r = x + 0x7fffu + (x >> 16 & 1),
               nan = x | 0x400000u;

    return v == v ? r : nan;
}

static inline uint pair(float a, float b)
{
    return upper_half(a) >> 16 | (upper_half(b) & 0xffff0000u);
}
#elif defined(EMULATE)
static inline uint pair(float a, float b)
{
    uint r;

    vstore_half_rte(a, 0, (half *)&r);
    vstore_half_rte(b, 1, (half *)&r);
    return r;
}
#elif NVIDIA_MMA
static inline uint pair(float a, float b)
{
    ushort x, y;

    __asm__("cvt.rn.f16.f32 %0, %1;" : "=h"(x) : "f"(a));
    __asm__("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(b));
    return x | (uint)y << 16;
}
#else
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
static inline uint pair(float a, float b)
{
    return as_uint((half2)((half)a, (half)b));
}
#endif

/* The same of numbers that are not NaN, where that takes less. */
#if HALF == BF16 && (KIND != MMA16 || defined(EMULATE))
static inline uint pair_of_numbers(float a, float b)
{
    const uint x = as_uint(a), y = as_uint(b);

    return (x + 0x7fffu + (x >> 16 & 1)) >> 16 |
           ((y + 0x7fffu + (y >> 16 & 1)) & 0xffff0000u);
}
#else
#define pair_of_numbers(a, b) pair(a, b)
#endif

/* The same of terms of the same sums: a NaN makes them NaN, whichever it is. */
#if HALF == BF16 && AMD_UNIT
static inline uint pair_of_terms(float a, float b)
{
    const uint x = as_uint(a), y = as_uint(b);
    const uint word =
        UPPER_HALVES(x + 0x7fffu + (x >> 16 & 1), y + 0x7fffu + (y >> 16 & 1));

    return word | (isordered(a, b) ? 0 : 0x7fc07fc0u);
}
#else
#define pair_of_terms(a, b) pair(a, b)
#endif

#if NVIDIA_MMA
/* ---- turning results: each of 4 lanes has 1 of 4 fragments then ---- */

/* A lane with the mask's bit gives p for the other's q; the other, q. */
#define EXCHANGE(p, q, mask)                                                   \
    do {                                                                       \
        const bool up = lane & (mask);                                         \
        const float got = FROM_LANE(up ? p : q, mask);                         \
                                                                               \
        p = up ? got : p;                                                      \
        q = up ? q : got;                                                      \
    } while (0)
#define TURN4(t)                                                               \
    EXCHANGE((t)[0], (t)[1], 1);                                               \
    EXCHANGE((t)[2], (t)[3], 1);                                               \
    EXCHANGE((t)[0], (t)[2], 2);                                               \
    EXCHANGE((t)[1], (t)[3], 2)
#endif
#endif
