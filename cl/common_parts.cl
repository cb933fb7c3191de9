/*
 * common_parts.cl - what the last of some work-groups does with the results of
 * all: with SPLIT it adds the parts of a product's tile, for gemm_tile.cl and
 * gemm_mma_*.cl; with ROUND it rounds rows to int8, for these and
 * attention_mma.cl.
 *
 * A work-group leaves its results in global memory and counts itself in a
 * count, which is 0 before and after a launch. The group that counts last adds
 * the parts in their order, and rounds a row as gemm_mma_pack.cl's
 * gemm_mma_rows, so the bits do not depend on which one that is.
 *
 * FENCE     OpenCL C 1.2 orders nothing between the work-groups of a launch:
 *           its fences are for one group, and its atomics are relaxed. So
 *             1  NVIDIA, sm_70 on: PTX's fence.acq_rel.gpu
 *             2  AMD: LLVM's fence of scope "agent", the device
 *             3  where the device reports this order and scope: OpenCL C 3.0's
 *           Each work-item fences before the barrier behind which one of them
 *           counts, and after the barrier behind which all read; that one
 *           fences around its count. No work-item waits for another group.
 * VT_ADD_PARTS(type, sums, counts, parts, free, STORE): at a kernel's end,
 *           after its sums are stored. free: local memory that is no longer
 *           used; STORE: stores m, n, v. The kernel has lid, m0, n0, M, N, TM,
 *           TN, WI.
 * VT_ROUND(type, to, N, n, first, end, groups, count, free): the last of
 *           `groups` rounds rows first to end - 1, of N, of n numbers, a
 *           multiple of 64. `to` has the integers of all rows, then their
 *           steps and, `behind` numbers from its begin on, the numbers.
 *
 * Source    The memory models of the PTX ISA, of LLVM's AMDGPU Usage, and of
 *           OpenCL 3.0's API.
 * Host      host/gemm/parts.c
 */
#ifdef FENCE
#if FENCE == 1
#define FENCE_DEVICE() __asm__ volatile("fence.acq_rel.gpu;" ::: "memory")
#elif FENCE == 2
#define FENCE_DEVICE() __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent")
#else
#define FENCE_DEVICE()                                                         \
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel,         \
                           memory_scope_device)
#endif
/* For all work-items: is this group the last of so many? */
#define VT_LAST_OF(groups, count, last)                                        \
    FENCE_DEVICE();                                                            \
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);                       \
    if (lid == 0) {                                                            \
        FENCE_DEVICE();                                                        \
        *(last) = atomic_inc(count) == (groups)-1;                             \
        FENCE_DEVICE();                                                        \
    }                                                                          \
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);                       \
    if (!*(last))                                                              \
        break;                                                                 \
    FENCE_DEVICE();                                                            \
    if (lid == 0)                                                              \
    *(count) = 0
#endif
#if defined(FENCE) && defined(SPLIT)
#define TILE_COUNTS , global int *counts
#define VT_ADD_PARTS(type, sums, counts, parts, free, STORE)                   \
    do {                                                                       \
        local int *last = (local int *)(free);                                 \
        global int *count =                                                    \
            (counts) + (m0 / TM) * ((N + TN - 1) / TN) + n0 / TN;              \
                                                                               \
        VT_LAST_OF(parts, count, last);                                        \
        for (int q = lid; q < TM * TN; q += WI) {                              \
            const int m = m0 + q / TN, n = n0 + q % TN;                        \
            type v = 0;                                                        \
                                                                               \
            if (m >= M || n >= N)                                              \
                continue;                                                      \
            for (int part = 0; part < (parts); part++)                         \
                v += (sums)[((size_t)part * M + m) * N + n];                   \
            STORE(m, n, v);                                                    \
        }                                                                      \
    } while (0)
#else
#define TILE_COUNTS
#define VT_ADD_PARTS(type, sums, counts, parts, free, STORE)
#endif
#if defined(FENCE) && defined(ROUND)
#define ROUND_ARGS , int behind, global int *filled
#define BEHIND_INTS(to) to += behind
#define VT_ROUND(type, to, N, n, first, end, groups, count, free)              \
    do {                                                                       \
        local int *last = (local int *)(free);                                 \
        local uint *tops = (local uint *)(free) + 1;                           \
        global char *ints = (global char *)((to)-behind);                      \
        const int chunks = (n) / 8, all = ((end) - (first)) * chunks;          \
        const size_t from = (size_t)(first) * (n);                             \
                                                                               \
        VT_LAST_OF(groups, count, last);                                       \
        for (int r = lid; r < (end) - (first); r += WI)                        \
            tops[r] = 0;                                                       \
        barrier(CLK_LOCAL_MEM_FENCE);                                          \
        for (int i = lid; i < all; i += WI) {                                  \
            const uint8 v =                                                    \
                as_uint8(VT_JOIN(load8_, type)(to, from + (size_t)i * 8)) &    \
                0x7fffffff;                                                    \
            const uint4 u = max(v.lo, v.hi);                                   \
                                                                               \
            (void)atomic_max(&tops[i / chunks],                                \
                             max(max(u.x, u.y), max(u.z, u.w)));               \
        }                                                                      \
        barrier(CLK_LOCAL_MEM_FENCE);                                          \
        for (int i = lid; i < all; i += WI) {                                  \
            const float step = vt_step_of(tops[i / chunks]);                   \
            const float8 v = VT_JOIN(load8_, type)(to, from + (size_t)i * 8);  \
                                                                               \
            vstore8(step > 0.0f                                                \
                        ? convert_char8(clamp(convert_int8_rte(v / step),      \
                                              (int8)(-127), (int8)(127)))      \
                        : (char8)(0),                                          \
                    0, ints + from + (size_t)i * 8);                           \
        }                                                                      \
        for (int r = lid; r < (end) - (first); r += WI)                        \
            ((global float *)(ints + (size_t)(N) * (n)))[(first) + r] =        \
                vt_step_of(tops[r]);                                           \
    } while (0)
#else
#define ROUND_ARGS
#define BEHIND_INTS(to)
#define VT_ROUND(type, to, N, n, first, end, groups, count, free)
#endif
