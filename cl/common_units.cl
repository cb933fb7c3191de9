/*
 * common_units.cl - the matrix units of GPUs, for programs with the defines
 * KIND and TYPE: gemm_mma.cl, attention_mma.cl, attention_grad_mma.cl.
 *
 *     c[m,n] += sum_k a[m,k] b[n,k], of MI x NI by KW words: 2 halves, 4 bytes
 *
 * KIND      The instruction: a macro MMA(c, a, b) with one body a vendor, or
 *           with EMULATE in plain OpenCL C, for any device. Each of the LANES
 *           work-items of a sub-group holds AW words of a, BW of b and CW
 *           elements of c. A_ROW(l, r), A_WORD(l, r): which word of which row
 *           lane l has in register r; B_COLUMN, B_WORD: the same of b; C_ROW,
 *           C_COLUMN: of element i. An #else after the other vendors is Intel.
 *             MMA16  NVIDIA sm_80 on: mma.m16n8k16, ldmatrix, cp.async
 *             MMA8   NVIDIA sm_75: mma.m16n8k8, ldmatrix
 *             WMMA11, WMMA12    AMD gfx11, gfx12: WMMA
 *             MFMA90A, MFMA942  AMD gfx90a, gfx942: MFMA
 *             DPAS8, DPAS16     Intel: DPAS, 8 or 16 lanes
 *             DOT8, DOT2        no unit: common_units_dots.cl
 * TYPE      of the product: BF16, F16 or, with whole sums, INT8.
 * Intel     LOAD_ROWS(a, p), LOAD_WORDS(b, p): a fragment that begins there in
 *           local memory: of A row after row, of B the words of all columns,
 *           then their next words. LOAD_FAR_WORDS(b, p): of global memory.
 *           ALL_LANES_HAVE(v): v, which is the same in all lanes; compilers
 *           have it and addresses computed of it once then, not in each lane.
 * NVIDIA    LDMATRIX, LDMATRIX_T: four matrices of 8x8 halves, of local memory.
 *           COPY16, COMMIT, WAIT(n): asynchronous copies, until all but n
 *           groups of them have arrived; COPY16_OF: some of the 16 bytes, and
 *           zeros. With WGMMA, on sm_90: WGMMA_STRIP(c, a, b), products of
 *           64 FM rows by 128 columns and 16 words, by four sub-groups at once,
 *           whose factors are in local memory; SHOW_COPIES, before the barrier
 *           that comes before it.
 * Lanes     FROM_LANE(v, mask): v of lane ^ mask; on NVIDIA mask is 1 or 2, on
 *           AMD half of the lanes. Intel has none. NVIDIA: TURN4(t), of four
 *           numbers and four lanes, lane % 4: number i becomes lane i's number
 *           lane % 4.
 * Numbers   pair(a, b): a word of two halves, rounded to nearest even; there
 *           are shorter ones where less can come. LOWER_HALVES, UPPER_HALVES:
 *           of two words the halves of one.
 *           EXP2(x): 2^x for x <= 0 by the device's own instruction.
 * Emulated  The kernel has int lid, int lane, and local uint x[]: SCRATCH words
 *           for each sub-group. All its work-items come to each macro, and
 *           loops around them are EACH_FRAGMENT, which is not unrolled then.
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

/* ---- the instruction ---- */

#ifdef EMULATE
#define SCRATCH (MI * KW + NI * KW + 4 * LANES) /* words of a sub-group */
#define SCRATCHES local uint x[WM * SCRATCH] __attribute__((aligned(16)));

static inline sum add_word(uint a, uint b, sum c)
{
#if TYPE == INT8
    const int4 p = convert_int4(as_char4(a)) * convert_int4(as_char4(b));
    return c + p.x + p.y + p.z + p.w;
#elif TYPE == BF16
    c = fma(as_float(a << 16), as_float(b << 16), c);
    return fma(as_float(a & 0xffff0000u), as_float(b & 0xffff0000u), c);
#else
    c = fma(vload_half(0, (const half *)&a), vload_half(0, (const half *)&b),
            c);
    return fma(vload_half(1, (const half *)&a), vload_half(1, (const half *)&b),
               c);
#endif
}

/* Word w of row r of wgmma's layout "64-byte swizzle". */
static inline uint swizzled_word(const local uint4 *p, int r, int w)
{
    return ((const local uint *)p)[r * 16 + (w / 4 ^ (r >> 1 & 3)) * 4 + w % 4];
}

/* The lanes write what they hold where their layout says, and multiply. */
static inline void mma_emulated(sum *c, const uint *a, const uint *b,
                                local uint *x, int lane)
{
    local uint *y = x + MI * KW;

    for (int r = 0; r < AW; r++)
#if KIND == DPAS16
        ((local ushort *)x)[r * 16 + lane] = a[r];
#else
        if (KIND != WMMA11 || lane < 16) /* the other half holds the same */
            x[A_ROW(lane, r) * KW + A_WORD(lane, r)] = a[r];
#endif
    for (int r = 0; r < BW; r++)
        if (KIND != WMMA11 || lane < 16)
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

/* Transposed: of column l / 4 of each the rows 2 * (l % 4) and the next. */
static inline void ldmatrix_t_emulated(uint *r, const local uint4 *row,
                                       local uint *x, int lane)
{
    const local ushort *h = (const local ushort *)x + lane % 4 * 16 + lane / 4;

    vstore4(*row, lane, x);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 4; i++)
        r[i] = h[i * 64] | (uint)h[i * 64 + 8] << 16;
    barrier(CLK_LOCAL_MEM_FENCE);
}

static inline float from_lane_emulated(float v, int mask, local uint *x,
                                       int lane)
{
    x[lane] = as_uint(v);
    barrier(CLK_LOCAL_MEM_FENCE);
    v = as_float(x[lane ^ mask]);
    barrier(CLK_LOCAL_MEM_FENCE);
    return v;
}
#define MMA(c, a, b) mma_emulated(c, a, b, x + lid / LANES * SCRATCH, lane)
#define LDMATRIX(r, p) ldmatrix_emulated(r, p, x + lid / LANES * SCRATCH, lane)
#define LDMATRIX_T(r, p)                                                       \
    ldmatrix_t_emulated(r, p, x + lid / LANES * SCRATCH, lane)
#define FROM_LANE(v, mask)                                                     \
    from_lane_emulated(v, mask, x + lid / LANES * SCRATCH, lane)
#define EXP2(x) vt_exp2_down(x)
#define COPY16(l, g) (*(l) = *(g))
#define COPY16_OF(l, g, bytes)                                                 \
    EACH(b_, 8)                                                                \
    ((local ushort *)(l))[b_] =                                                \
        b_ * 2 < (bytes) ? ((global const ushort *)(g))[b_] : 0
#define SHOW_COPIES()
#define WGMMA_STRIP(c, a, b)                                                   \
    EACH_FRAGMENT(i_, FM)                                                      \
    EACH_FRAGMENT(j_, FN)                                                      \
    EACH_FRAGMENT(e_, CW)                                                      \
    for (int w_ = 0; w_ < 16; w_++)                                            \
    c[i_][j_][e_] = add_word(                                                  \
        swizzled_word(a, i_ * 64 + own % 4 * 16 + C_ROW(lane, e_), w_),        \
        swizzled_word(b, j_ * NI + C_COLUMN(lane, e_), w_), c[i_][j_][e_])
#define COMMIT()
#define WAIT(n)
#define EACH_FRAGMENT(i, n) _Pragma("nounroll") for (int i = 0; i < n; i++)
#define SUBGROUP
#define LOAD_ROWS(r, p)                                                        \
    EACH(i_, 8)                                                                \
    (r)[i_] = KIND == DPAS16 ? ((const local ushort *)(p))[i_ * 16 + lane]     \
                             : ((const local uint *)(p))[i_ * 8 + lane]
#define LOAD_WORDS(r, p)                                                       \
    EACH(i_, 8)                                                                \
    (r)[i_] = ((const local uint *)(p))[i_ * LANES + lane]
#define LOAD_FAR_WORDS(r, p)                                                   \
    EACH(i_, 8)                                                                \
    (r)[i_] = ((const global uint *)(p))[i_ * LANES + lane]
#elif NVIDIA_MMA
#define COPY16(l, g)                                                           \
    __asm__ volatile(                                                          \
        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((uint)(ulong)(l)),   \
        "l"(g)                                                                 \
        : "memory")
/* So many of 16 bytes, and zeros. */
#define COPY16_OF(l, g, bytes)                                                 \
    __asm__ volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(    \
                         (uint)(ulong)(l)),                                    \
                     "l"(g), "r"(bytes)                                        \
                     : "memory")
#define COMMIT() __asm__ volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(n) __asm__ volatile("cp.async.wait_group " #n ";" ::: "memory")
#define PTX_LDMATRIX(more, r, p)                                               \
    __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4" more ".shared.b16 "       \
                     "{%0,%1,%2,%3}, [%4];"                                    \
                     : "=r"((r)[0]), "=r"((r)[1]), "=r"((r)[2]), "=r"((r)[3])  \
                     : "r"((uint)(ulong)(p))                                   \
                     : "memory")
#define LDMATRIX(r, p) PTX_LDMATRIX("", r, p)
#define LDMATRIX_T(r, p) PTX_LDMATRIX(".trans", r, p)
static inline float from_lane(float v, int mask)
{
    __asm__ volatile("shfl.sync.bfly.b32 %0, %0, %1, 31, -1;"
                     : "+f"(v)
                     : "r"(mask));
    return v;
}
static inline float exp2_down(float v)
{
    __asm__("ex2.approx.ftz.f32 %0, %0;" : "+f"(v));
    return v;
}
#define FROM_LANE(v, mask) from_lane(v, mask)
#define EXP2(x) exp2_down(x)
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
#if KIND == MMA8 && TYPE == INT8
#define MMA(c, a, b)                                                           \
    do {                                                                       \
        PTX_MMA88(c, (a)[0], (b)[0]);                                          \
        PTX_MMA88(c + 2, (a)[1], (b)[0]);                                      \
        PTX_MMA88(c, (a)[2], (b)[1]);                                          \
        PTX_MMA88(c + 2, (a)[3], (b)[1]);                                      \
    } while (0)
#elif KIND == MMA8
#define MMA(c, a, b)                                                           \
    do {                                                                       \
        PTX_MMA8(c, (a)[0], (a)[1], (b)[0]);                                   \
        PTX_MMA8(c, (a)[2], (a)[3], (b)[1]);                                   \
    } while (0)
#elif TYPE == INT8
#define MMA(c, a, b) PTX_MMA_ALL("m16n8k32", "s32.s8.s8.s32", "+r", c, a, b)
#elif TYPE == BF16
#define MMA(c, a, b) PTX_MMA_ALL("m16n8k16", "f32.bf16.bf16.f32", "+f", c, a, b)
#else
#define MMA(c, a, b) PTX_MMA_ALL("m16n8k16", "f32.f16.f16.f32", "+f", c, a, b)
#endif
#ifdef WGMMA
/* PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions". They are of
 * sm_90a alone, and the driver's compiler is for sm_90. So they are comments of
 * PTX here, and host/ocl/assemble.c has the text assembled without "//90a ",
 * for that target. A descriptor: the address and the distance of eight rows to
 * the next, in units of 16 bytes; 2: the layout. */
#define SHOW_COPIES()                                                          \
    __asm__ volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define DESCRIBE(p)                                                            \
    ((ulong)((uint)(ulong)(p) >> 4 & 0x3fffu) | 1ul << 16 | 32ul << 32 |       \
     2ul << 62)
#if TYPE == INT8
#define WGMMA_TYPES "m64n128k32.s32.s8.s8"
#define WGMMA_END "1;"
#elif TYPE == BF16
#define WGMMA_TYPES "m64n128k16.f32.bf16.bf16"
#define WGMMA_END "1, 1, 1, 0, 0;"
#else
#define WGMMA_TYPES "m64n128k16.f32.f16.f16"
#define WGMMA_END "1, 1, 1, 0, 0;"
#endif
#if TYPE == INT8
#define SUM_IO "+r"
#else
#define SUM_IO "+f"
#endif
#define IO4(c) SUM_IO((c)[0]), SUM_IO((c)[1]), SUM_IO((c)[2]), SUM_IO((c)[3])
#define IO16(c) IO4((c)[0]), IO4((c)[1]), IO4((c)[2]), IO4((c)[3])
#define IO64(c) IO16(c), IO16((c) + 4), IO16((c) + 8), IO16((c) + 12)
#define REGISTERS64                                                            \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,"  \
    "%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37," \
    "%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55," \
    "%56,%57,%58,%59,%60,%61,%62,%63}"
/* Two steps of a strip, of 64 rows and 128 columns. */
#define WGMMA2(c, a, b)                                                        \
    __asm__ volatile("//90a wgmma.mma_async.sync.aligned." WGMMA_TYPES         \
                     " " REGISTERS64 ", %64, %65, " WGMMA_END "\n\t"           \
                     "//90a wgmma.mma_async.sync.aligned." WGMMA_TYPES         \
                     " " REGISTERS64 ", %66, %67, " WGMMA_END                  \
                     : IO64(c)                                                 \
                     : "l"(a), "l"(b), "l"((a) + 2), "l"((b) + 2)              \
                     : "memory")
#define WGMMA_STRIP(c, a, b)                                                   \
    do {                                                                       \
        const ulong a_ = DESCRIBE(a), b_ = DESCRIBE(b);                        \
                                                                               \
        __asm__ volatile("//90a wgmma.fence.sync.aligned;" ::: "memory");      \
        EACH(i_, FM)                                                           \
            WGMMA2(c[i_], a_ + i_ * 256, b_);                                  \
        __asm__ volatile("//90a wgmma.commit_group.sync.aligned;\n\t"          \
                         "//90a wgmma.wait_group.sync.aligned 0;" ::           \
                             : "memory");                                      \
        EACH(i_, FM)                                                           \
            EACH(j_, FN)                                                       \
                __asm__ volatile("" : IO4(c[i_][j_])::"memory");               \
    } while (0)
#endif
#define SUBGROUP
#elif AMD_UNIT
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
#else
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
intel_sub_group_block_read8(const local uint *);
__attribute__((overloadable)) ushort8
intel_sub_group_block_read_us8(const local ushort *);
__attribute__((overloadable)) uint8
intel_sub_group_block_read8(const global uint *);
#define LOAD_FAR_WORDS(r, p)                                                   \
    vstore8(intel_sub_group_block_read8((const global uint *)(p)), 0, r)
#define LOAD_WORDS(r, p)                                                       \
    vstore8(intel_sub_group_block_read8((const local uint *)(p)), 0, r)
#if KIND == DPAS8
typedef int8 dpas_a;
#define LOAD_ROWS LOAD_WORDS
#define AS_A(a)                                                                \
    (int8)((a)[0], (a)[1], (a)[2], (a)[3], (a)[4], (a)[5], (a)[6], (a)[7])
#else
typedef short8 dpas_a;
#define LOAD_ROWS(r, p)                                                        \
    vstore8(convert_uint8(                                                     \
                intel_sub_group_block_read_us8((const local ushort *)(p))),    \
            0, r)
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
#endif
#if !INTEL_DPAS || defined(EMULATE)
#define ALL_LANES_HAVE(v) (v)
#else
__attribute__((overloadable)) int sub_group_broadcast(int, uint);
#define ALL_LANES_HAVE(v) sub_group_broadcast(v, 0)
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
