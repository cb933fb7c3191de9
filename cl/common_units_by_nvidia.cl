/*
 * common_units_by_nvidia.cl - common_units.cl's macros by NVIDIA's
 * instructions.
 *
 * LDMATRIX, LDMATRIX_T: four matrices of 8x8 halves, of local memory.
 * COPY16, COMMIT, WAIT(n): asynchronous copies, until all but n groups of them
 * have arrived; COPY16_OF: some of the 16 bytes, and zeros.
 * With WGMMA, on sm_90: WGMMA_STRIP(c, a, b), products of 64 FM rows by 128
 * columns and 16 words, by four sub-groups at once, whose factors are in local
 * memory; SHOW_COPIES, before the barrier that comes before it.
 *
 * Source    PTX ISA, "Matrix multiply-accumulate using mma instruction"
 */
#if defined(KIND) && defined(TYPE) && !defined(EMULATE) && NVIDIA_MMA
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
#define WGMMA_END ";"
#define SUM_IO "+r"
#else
#define WGMMA_END ", 1, 1, 0, 0;"
#define SUM_IO "+f"
#endif
#if TYPE == BF16
#define WGMMA_TYPES "m64n128k16.f32.bf16.bf16"
#elif TYPE == F16
#define WGMMA_TYPES "m64n128k16.f32.f16.f16"
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
                     " " REGISTERS64 ", %64, %65, 1" WGMMA_END "\n\t"          \
                     "//90a wgmma.mma_async.sync.aligned." WGMMA_TYPES         \
                     " " REGISTERS64 ", %66, %67, 1" WGMMA_END                 \
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
#endif
