/*
 * gemm_mma.cl - matrix multiplication on the matrix units of GPUs.
 *
 *     C[m,n] = residual[m,n] + scale[n] * act(sum_k A(m,k) B(n,k) + bias[n])
 *
 * gemm_mma  C[M,N] <- A[m*lda + k], rounded on the way to f16 or bf16; B, the
 *           weights in f16 or bf16, and for int8 both, as gemm_mma_pack.cl
 *           packs them.
 *
 * How       A work-group computes a tile of TM x TN, and each of its WM x WN
 *           sub-groups FM x FN products of MI x NI. Strips of 16 words of k (a
 *           word has 2 halves or 4 bytes) go through buffers in local memory,
 *           while the strip before is multiplied. There, chunks of 16 bytes of
 *           a row are exchanged, so that reads of fragments meet all banks.
 * KIND      The instruction: a macro MMA(c, a, b) with one body a vendor, or
 *           with EMULATE in plain OpenCL C, for any device. Which word of which
 *           row a work-item (lane) of a sub-group holds in register r:
 *           A_ROW, A_WORD, B_COLUMN, B_WORD; C_ROW, C_COLUMN for element i.
 *             1  NVIDIA sm_80 on: mma.m16n8k16, ldmatrix, cp.async
 *             2  NVIDIA sm_75: mma.m16n8k8, ldmatrix
 *             3  AMD gfx11: WMMA       4  AMD gfx12: WMMA
 *             5  AMD gfx90a: MFMA      6  AMD gfx942: MFMA
 *             7  Intel: DPAS, 8 lanes  8  Intel: DPAS, 16 lanes
 * Parts     With PART=n the sums of each n strips of k begin at zero, and are
 *           added in their order: here or, with SPLIT, where dimension 2 is
 *           the part, in gemm_mma_sum.cl from sums[at + part*M*N + m*N + n].
 *           Both have the same bits; whole numbers of int8 need no PART.
 * Launch    global {WI * ceil(M/TM), ceil(N/TN), parts}, local {WI, 1, 1}; any
 *           sizes.
 * Local     128 TM + 128 TN bytes; KIND 1: 64 TN more, and for int8 64 TM.
 * Defines   KIND EMULATE WM WN FM FN; TYPE, of the product: 1 bf16, 2 f16, 3
 *           int8; AT CT, of A and C in memory: f32, f16, bf16; SAME_A: AT is
 *           TYPE; WIDE_A: rows of A begin at multiples of 16 bytes; PART and
 *           SPLIT; the epilogue's.
 * Numerics  Sums are f32 (int8: whole numbers), in an order that depends on K,
 *           PART and KIND alone.
 *
 * Longer than most: one tile loop serves the instruction of each vendor.
 *
 * Host      host/gemm/mma.c           Test  tests/ops/test_gemm_mma.c
 */
#ifndef KIND
#define KIND 1
#define EMULATE
#endif
#ifndef TYPE
#define TYPE 2
#endif
#ifndef WM
#define WM 1
#define WN 2
#define FM 2
#define FN 2
#endif
#ifndef AT
#define AT f32
#endif
#ifndef CT
#define CT f32
#endif
#define INT8 (TYPE == 3)

/* ---- what a lane holds ---- */

#if KIND <= 2
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
#elif KIND <= 4
#define MI 16
#define NI 16
#define KW (INT8 ? 4 : 8)
#define LANES 32
#define AW (KIND == 3 ? KW : KW / 2)
#define BW AW
#define CW 8
#define A_ROW(l, r) ((l) % 16)
#define A_WORD(l, r) (KIND == 3 ? (r) : (r) / 2 * 4 + (l) / 16 * 2 + (r) % 2)
#define B_COLUMN(l) ((l) % 16)
#define B_WORD A_WORD
#define C_ROW(l, i) (KIND == 3 ? 2 * (i) + (l) / 16 : (i) + 8 * ((l) / 16))
#define C_COLUMN(l, i) ((l) % 16)
#elif KIND <= 6
#define MI 32
#define NI 32
#define KW (INT8 && KIND == 5 ? 2 : 4)
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
#define NI (KIND == 7 ? 8 : 16)
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

#define TM (WM * FM * MI)
#define TN (WN * FN * NI)
#define WI (WM * WN * LANES)
#define STRIP 16          /* words of k in a strip */
#define TERMS (2 * STRIP) /* as halves */
#define ASYNC (KIND == 1)
#define STAGES (ASYNC ? 3 : 2)
#define AHEAD (STAGES - 1)
#define A_STAGES (INT8 ? STAGES : 2)
#define NA (TM * 4 / WI) /* chunks of a strip for each work-item */
#define NB (TN * 4 / WI)
/* chunk c of row r of a strip in local memory */
#define PLACE(r, c) ((r)*4 + ((c) ^ (((r) >> 1) & 3)))

#if INT8
typedef int sum;
#else
typedef float sum;
#endif

/* ---- the instruction ---- */

#ifdef EMULATE
#define SCRATCH (MI * KW + NI * KW + 4 * LANES) /* words of a sub-group */

static inline sum add_word(uint a, uint b, sum c)
{
#if INT8
    const int4 p = convert_int4(as_char4(a)) * convert_int4(as_char4(b));
    return c + p.x + p.y + p.z + p.w;
#elif TYPE == 1
    c = fma(as_float(a << 16), as_float(b << 16), c);
    return fma(as_float(a & 0xffff0000u), as_float(b & 0xffff0000u), c);
#else
    c = fma(vload_half(0, (const half *)&a), vload_half(0, (const half *)&b),
            c);
    return fma(vload_half(1, (const half *)&a), vload_half(1, (const half *)&b),
               c);
#endif
}

/* The lanes write what they hold where their layout says, and multiply. */
static inline void mma_emulated(sum *c, const uint *a, const uint *b,
                                local uint *x, int lane)
{
    local uint *y = x + MI * KW;

    for (int r = 0; r < AW; r++)
#if KIND == 8
        ((local ushort *)x)[r * 16 + lane] = a[r];
#else
        if (KIND != 3 || lane < 16) /* the other half holds the same */
            x[A_ROW(lane, r) * KW + A_WORD(lane, r)] = a[r];
#endif
    for (int r = 0; r < BW; r++)
        if (KIND != 3 || lane < 16)
            y[B_COLUMN(lane) * KW + B_WORD(lane, r)] = b[r];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < CW; i++)
        for (int w = 0; w < KW; w++)
            c[i] = add_word(x[C_ROW(lane, i) * KW + w],
                            y[C_COLUMN(lane, i) * KW + w], c[i]);
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Four 8x8 matrices of halves: lane l names row l % 8 of matrix l / 8, and gets
 * word l % 4 of row l / 4 of each. */
static inline void ldmatrix_emulated(uint *r, const local uint4 *row,
                                     local uint *x, int lane)
{
    vstore4(*row, lane, x);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 4; i++)
        r[i] = x[(i * 8 + lane / 4) * 4 + lane % 4];
    barrier(CLK_LOCAL_MEM_FENCE);
}
#define MMA(c, a, b) mma_emulated(c, a, b, x + lid / LANES * SCRATCH, lane)
#define LDMATRIX(r, p) ldmatrix_emulated(r, p, x + lid / LANES * SCRATCH, lane)
#define COPY16(l, g) (*(l) = *(g))
#define COMMIT()
#define WAIT()
#define EACH_FRAGMENT(i, n) _Pragma("nounroll") for (int i = 0; i < n; i++)
#define SUBGROUP
#elif KIND <= 2
#define COPY16(l, g)                                                           \
    __asm__ volatile(                                                          \
        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((uint)(ulong)(l)),   \
        "l"(g)                                                                 \
        : "memory")
#define COMMIT() __asm__ volatile("cp.async.commit_group;" ::: "memory")
#define WAIT() __asm__ volatile("cp.async.wait_group 1;" ::: "memory")
#define LDMATRIX(r, p)                                                         \
    __asm__ volatile(                                                          \
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"        \
        : "=r"((r)[0]), "=r"((r)[1]), "=r"((r)[2]), "=r"((r)[3])               \
        : "r"((uint)(ulong)(p))                                                \
        : "memory")
#define PTX_MMA(shape, types, io, c0, c1, c2, c3, a, b0, b1)                   \
    __asm__ volatile("mma.sync.aligned." shape ".row.col." types               \
                     " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"  \
                     : io(c0), io(c1), io(c2), io(c3)                          \
                     : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]),     \
                       "r"(b0), "r"(b1))
#define PTX_MMA8(c, a0, a1, b0)                                                \
    __asm__ volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "       \
                     "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"            \
                     : "+f"((c)[0]), "+f"((c)[1]), "+f"((c)[2]), "+f"((c)[3])  \
                     : "r"(a0), "r"(a1), "r"(b0))
#define PTX_MMA88(c, a0, b0)                                                   \
    __asm__ volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 "         \
                     "{%0,%1}, {%2}, {%3}, {%0,%1};"                           \
                     : "+r"((c)[0]), "+r"((c)[1])                              \
                     : "r"(a0), "r"(b0))
#define PTX_MMA_ALL(shape, types, io, c, a, b)                                 \
    PTX_MMA(shape, types, io, (c)[0], (c)[1], (c)[2], (c)[3], a, (b)[0], (b)[1])
#if KIND == 2 && INT8
#define MMA(c, a, b)                                                           \
    do {                                                                       \
        PTX_MMA88(c, (a)[0], (b)[0]);                                          \
        PTX_MMA88(c + 2, (a)[1], (b)[0]);                                      \
        PTX_MMA88(c, (a)[2], (b)[1]);                                          \
        PTX_MMA88(c + 2, (a)[3], (b)[1]);                                      \
    } while (0)
#elif KIND == 2
#define MMA(c, a, b)                                                           \
    do {                                                                       \
        PTX_MMA8(c, (a)[0], (a)[1], (b)[0]);                                   \
        PTX_MMA8(c, (a)[2], (a)[3], (b)[1]);                                   \
    } while (0)
#elif INT8
#define MMA(c, a, b) PTX_MMA_ALL("m16n8k32", "s32.s8.s8.s32", "+r", c, a, b)
#elif TYPE == 1
#define MMA(c, a, b) PTX_MMA_ALL("m16n8k16", "f32.bf16.bf16.f32", "+f", c, a, b)
#else
#define MMA(c, a, b) PTX_MMA_ALL("m16n8k16", "f32.f16.f16.f32", "+f", c, a, b)
#endif
#define SUBGROUP
#elif KIND <= 6
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define AS4(x) (uint4)((x)[0], (x)[1], (x)[2], (x)[3])
#define AS8(x)                                                                 \
    (uint8)((x)[0], (x)[1], (x)[2], (x)[3], (x)[4], (x)[5], (x)[6], (x)[7])
#define AS2(x) (uint2)((x)[0], (x)[1])
#define C8(c) (*(sum8 *)(c))
#define C16(c) (*(sum16 *)(c))
#if INT8
typedef int8 sum8;
typedef int16 sum16;
#else
typedef float8 sum8;
typedef float16 sum16;
#endif
#if KIND == 3 && INT8
#define MMA(c, a, b)                                                           \
    (C8(c) = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(                       \
         true, as_int4(AS4(a)), true, as_int4(AS4(b)), C8(c), false))
#elif KIND == 3 && TYPE == 1
#define MMA(c, a, b)                                                           \
    (C8(c) = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(                      \
         as_short16(AS8(a)), as_short16(AS8(b)), C8(c)))
#elif KIND == 3
#define MMA(c, a, b)                                                           \
    (C8(c) = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(                       \
         as_half16(AS8(a)), as_half16(AS8(b)), C8(c)))
#elif KIND == 4 && INT8
#define MMA(c, a, b)                                                           \
    (C8(c) = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(                 \
         true, as_int2(AS2(a)), true, as_int2(AS2(b)), C8(c), false))
#elif KIND == 4 && TYPE == 1
#define MMA(c, a, b)                                                           \
    (C8(c) = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(                \
         as_short8(AS4(a)), as_short8(AS4(b)), C8(c)))
#elif KIND == 4
#define MMA(c, a, b)                                                           \
    (C8(c) = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(                 \
         as_half8(AS4(a)), as_half8(AS4(b)), C8(c)))
#elif KIND == 5 && INT8
#define MMA(c, a, b)                                                           \
    (C16(c) = __builtin_amdgcn_mfma_i32_32x32x8i8((int)(a)[0], (int)(b)[0],    \
                                                  C16(c), 0, 0, 0))
#elif INT8
#define MMA(c, a, b)                                                           \
    (C16(c) = __builtin_amdgcn_mfma_i32_32x32x16_i8(                           \
         as_long(AS2(a)), as_long(AS2(b)), C16(c), 0, 0, 0))
#elif TYPE == 1
#define MMA(c, a, b)                                                           \
    (C16(c) = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(                        \
         as_short4(AS2(a)), as_short4(AS2(b)), C16(c), 0, 0, 0))
#else
#define MMA(c, a, b)                                                           \
    (C16(c) = __builtin_amdgcn_mfma_f32_32x32x8f16(                            \
         as_half4(AS2(a)), as_half4(AS2(b)), C16(c), 0, 0, 0))
#endif
#define SUBGROUP
#else
/* Older compilers have the function, but do not declare it. */
#if INT8
#define DPAS intel_sub_group_i8_i8_matrix_mad_k32
#elif TYPE == 1
#define DPAS intel_sub_group_bf16_bf16_matrix_mad_k16
#else
#define DPAS intel_sub_group_f16_f16_matrix_mad_k16
#endif
#if INT8
typedef int8 sum8;
#else
typedef float8 sum8;
#endif
#if KIND == 7
typedef int8 dpas_a;
#define AS_A(a)                                                                \
    (int8)((a)[0], (a)[1], (a)[2], (a)[3], (a)[4], (a)[5], (a)[6], (a)[7])
#else
typedef short8 dpas_a;
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
#endif
#ifndef EACH_FRAGMENT
#define EACH_FRAGMENT EACH
#endif

/* ---- two halves in a word ---- */

#if TYPE == 1
static inline uint pair(float a, float b)
{
#if !defined(EMULATE) && KIND == 1
    uint r;
    __asm__("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
    return r;
#else
    return vt_bf16_round(a) | (uint)vt_bf16_round(b) << 16;
#endif
}
#elif defined(EMULATE)
static inline uint pair(float a, float b)
{
    uint r;

    vstore_half_rte(a, 0, (half *)&r);
    vstore_half_rte(b, 1, (half *)&r);
    return r;
}
#elif KIND <= 2
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

/* ---- strips ---- */

#if INT8
typedef uint4 flight; /* between global and local memory */
typedef global const uint4 *source;

static inline uint4 arrived(uint4 v)
{
    return v;
}
#elif defined(SAME_A)
typedef uint4 flight;
typedef global const ushort *source;

static inline uint4 arrived(uint4 v)
{
    return v;
}

static inline uint4 bring(source p, size_t at, int k, int K, bool last)
{
    ushort t[8];

    if (!last)
#ifdef WIDE_A
        return *(global const uint4 *)(p + at);
#else
        return as_uint4(vload8(0, p + at));
#endif
    EACH(i, 8)
        t[i] = k + i < K ? p[at + i] : 0;
    return as_uint4(vload8(0, t));
}
#else
typedef float8 flight;
typedef global const VT_TYPE(AT) * source;

static inline uint4 arrived(float8 v)
{
    return (uint4)(pair(v.s0, v.s1), pair(v.s2, v.s3), pair(v.s4, v.s5),
                   pair(v.s6, v.s7));
}

/* Eight of a row; zeros from K on with `last`. */
static inline float8 bring(source p, size_t at, int k, int K, bool last)
{
    float t[8];

#ifdef WIDE_A
    if (!last)
        return (float8)(*(global const float4 *)(p + at),
                        *(global const float4 *)(p + at + 4));
#else
    if (!last)
        return VT_JOIN(load8_, AT)(p, at);
#endif
    EACH(i, 8)
        t[i] = k + i < K ? VT_JOIN(load_, AT)(p, at + i) : 0.0f;
    return vload8(0, t);
}
#endif

/* Registers n of row `row` of a strip, from word `w` on. */
static inline uint word(const local uint4 *t, int row, int w)
{
    return ((const local uint *)(t + PLACE(row, w / 4)))[w % 4];
}

#ifdef SPLIT
#define FROM ((int)get_group_id(2) * PART)
#define END min(strips, FROM + PART)
#define SUMS , global sum *sums, int at
#else
#define FROM 0
#define END strips
#define SUMS
#endif
/* Are there earlier parts, whose sums are kept? */
#if defined(PART) && !defined(SPLIT) && !INT8
#define EARLIER
#endif

kernel __attribute__((reqd_work_group_size(WI, 1, 1))) SUBGROUP void
gemm_mma(global VT_TYPE(CT) * c, source a, global const uint4 *restrict b,
         global const float *restrict bias, global const float *restrict scale,
         global const VT_TYPE(RST) * residual, int M, int N, int K, int lda,
         int ldc, int columns SUMS)
{
    local uint4 ta[A_STAGES][TM * 4], tb[STAGES][TN * 4];
#ifdef EMULATE
    local uint x[WM * WN * SCRATCH] __attribute__((aligned(16)));
#endif
    const int lid = get_local_id(0), lane = lid % LANES;
    const int m0 = get_group_id(0) * TM, n0 = get_group_id(1) * TN;
    const int wm = lid / LANES / WN * (FM * MI);
    const int wn = lid / LANES % WN * (FN * NI);
    const int strips =
        (K + (INT8 ? 2 : 1) * TERMS - 1) / ((INT8 ? 2 : 1) * TERMS);
    const int from = FROM, end = END;
    sum s[FM][FN][CW] __attribute__((aligned(64)));
#ifdef EARLIER
    sum earlier[FM][FN][CW];
#endif
#if !(ASYNC && INT8)
    flight ra[NA];
#endif
#if !ASYNC
    uint4 rb[NB];
#endif

#define A_CHUNK(i) (lid + (i)*WI)
/* where chunk i of A begins; of B */
#define A_AT(i, strip)                                                         \
    (INT8 ? ((size_t)min(m0 + A_CHUNK(i) / 4, M - 1) * strips + (strip)) * 4 + \
                A_CHUNK(i) % 4                                                 \
          : (size_t)min(m0 + A_CHUNK(i) / 4, M - 1) * lda + (strip)*TERMS +    \
                A_CHUNK(i) % 4 * 8)
#define B_AT(i, strip) (((size_t)(strip)*columns + n0) * 4 + lid + (i)*WI)
#define LOCAL_AT(i) PLACE((lid + (i)*WI) / 4, (lid + (i)*WI) % 4)

/* The strip on its way into registers, and from there into local memory. */
#if INT8
#define BRING_A(strip)                                                         \
    EACH(i, NA)                                                                \
    ra[i] = a[A_AT(i, strip)]
#else
#define BRING_A(strip)                                                         \
    do {                                                                       \
        if (((strip) + 1) * TERMS <= K) {                                      \
            EACH(i, NA)                                                        \
                ra[i] = bring(a, A_AT(i, strip), 0, K, false);                 \
        } else {                                                               \
            EACH(i, NA)                                                        \
                ra[i] = bring(a, A_AT(i, strip),                               \
                              (strip)*TERMS + A_CHUNK(i) % 4 * 8, K, true);    \
        }                                                                      \
    } while (0)
#endif
#define PUT_A(strip)                                                           \
    EACH(i, NA)                                                                \
    ta[(strip) % A_STAGES][LOCAL_AT(i)] = arrived(ra[i])
#define BRING_B(strip)                                                         \
    EACH(i, NB)                                                                \
    rb[i] = b[B_AT(i, strip)]
#define PUT_B(strip)                                                           \
    EACH(i, NB)                                                                \
    tb[(strip) % STAGES][LOCAL_AT(i)] = rb[i]
/* The strip by asynchronous copies. */
#define SEND(strip)                                                            \
    do {                                                                       \
        if ((strip) < end) {                                                   \
            EACH(i, (INT8 ? NA : 0))                                           \
                COPY16(&ta[(strip) % A_STAGES][LOCAL_AT(i)],                   \
                       (global const uint4 *)a + A_AT(i, strip));              \
            EACH(i, NB)                                                        \
                COPY16(&tb[(strip) % STAGES][LOCAL_AT(i)],                     \
                       b + B_AT(i, strip));                                    \
        }                                                                      \
        COMMIT();                                                              \
    } while (0)

    EACH(i, FM)
        EACH(j, FN)
            EACH(e, CW)
                s[i][j][e] = 0;
#ifdef EARLIER
    EACH(i, FM)
        EACH(j, FN)
            EACH(e, CW)
                earlier[i][j][e] = 0;
#endif
#if ASYNC
    EACH(p, AHEAD)
        SEND(from + p);
#else
    BRING_B(from);
    PUT_B(from);
#endif
#if !(ASYNC && INT8)
    BRING_A(from);
    PUT_A(from);
#endif
    for (int now = from; now < end; now++) {
#ifdef EARLIER
        if (now > 0 && now % PART == 0)
            EACH(i, FM)
                EACH(j, FN)
                    EACH(e, CW) {
                        earlier[i][j][e] += s[i][j][e];
                        s[i][j][e] = 0;
                    }
#endif
#if ASYNC
        WAIT();
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
#if ASYNC
        SEND(now + AHEAD);
#else
        if (now + 1 < end)
            BRING_B(now + 1);
#endif
#if !(ASYNC && INT8)
        if (now + 1 < end)
            BRING_A(now + 1);
#endif
        EACH_FRAGMENT(kk, STRIP / KW)
        {
            const local uint4 *pa = ta[now % A_STAGES], *pb = tb[now % STAGES];
            uint fa[FM][AW], fb[FN][BW];
#if KIND <= 2
            /* rows 0-7 and 8-15 of words 0-3, then of words 4-7 */
            EACH_FRAGMENT(i, FM)
            LDMATRIX(fa[i],
                     pa + PLACE(wm + i * MI + lane % 16, kk * 2 + lane / 16));
            /* columns 0-7 with words 0-3 and 4-7, then columns 8-15 */
            EACH_FRAGMENT(j, FN / 2)
            {
                uint t[4];
                LDMATRIX(t, pb + PLACE(wn + j * 16 + lane % 8 + lane / 16 * 8,
                                       kk * 2 + lane / 8 % 2));
                fb[2 * j][0] = t[0], fb[2 * j][1] = t[1];
                fb[2 * j + 1][0] = t[2], fb[2 * j + 1][1] = t[3];
            }
#else
            EACH_FRAGMENT(i, FM)
            EACH_FRAGMENT(r, AW)
#if KIND == 8
            fa[i][r] = ((
                const local ushort *)(pa + PLACE(wm + i * MI + r,
                                                 kk * 2 + lane / 8)))[lane % 8];
#else
            fa[i][r] = word(pa, wm + i * MI + A_ROW(lane, r),
                            kk * KW + A_WORD(lane, r));
#endif
            EACH_FRAGMENT(j, FN)
            EACH_FRAGMENT(r, BW)
            fb[j][r] = word(pb, wn + j * NI + B_COLUMN(lane),
                            kk * KW + B_WORD(lane, r));
#endif
            EACH_FRAGMENT(i, FM)
            EACH_FRAGMENT(j, FN)
            MMA(s[i][j], fa[i], fb[j]);
        }
#if !ASYNC
        if (now + 1 < end)
            PUT_B(now + 1);
#endif
#if !(ASYNC && INT8)
        if (now + 1 < end)
            PUT_A(now + 1);
#endif
    }

    EACH_FRAGMENT(i, FM)
    EACH_FRAGMENT(j, FN)
    EACH_FRAGMENT(e, CW)
    {
        const int m = m0 + wm + i * MI + C_ROW(lane, e);
        const int n = n0 + wn + j * NI + C_COLUMN(lane, e);
#ifdef SPLIT
        if (m < M && n < N)
            sums[at + (get_group_id(2) * (size_t)M + m) * N + n] = s[i][j][e];
#else
        const size_t at = (size_t)m * ldc + n;
#ifdef EARLIER
        float v = earlier[i][j][e] + s[i][j][e];
#else
        float v = s[i][j][e];
#endif

        if (m < M && n < N) {
#if INT8
            /* a step of a row, and of a column */
            v *= ((global const float *)(a + (size_t)M * strips * 4))[m];
            v *= ((global const float *)(b + (size_t)columns * strips * 4))[n];
#endif
#ifdef ACCUMULATE
            v += VT_JOIN(load_, CT)(c, at);
#else
            v = vt_epilogue(v, bias, scale, residual, n, at);
#endif
            VT_JOIN(store_, CT)(c, at, v);
        }
#endif
    }
}
