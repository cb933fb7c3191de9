/*
 * common_parts.cl - the parts of a product, added by the last of a tile's
 * work-groups: for gemm_tile.cl and gemm_mma_*.cl with SPLIT and FENCE.
 *
 * A work-group leaves its sums in global memory and counts itself in the tile's
 * count, which is 0 before and after a launch. The group that counts last adds
 * the parts in their order, so the bits do not depend on which one that is.
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
#define TILE_COUNTS , global int *counts
#define VT_ADD_PARTS(type, sums, counts, parts, free, STORE)                   \
    do {                                                                       \
        local int *last = (local int *)(free);                                 \
        global int *count =                                                    \
            (counts) + (m0 / TM) * ((N + TN - 1) / TN) + n0 / TN;              \
                                                                               \
        FENCE_DEVICE();                                                        \
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);                   \
        if (lid == 0) {                                                        \
            FENCE_DEVICE();                                                    \
            *last = atomic_inc(count) == (parts)-1;                            \
            FENCE_DEVICE();                                                    \
        }                                                                      \
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);                   \
        if (!*last)                                                            \
            break;                                                             \
        FENCE_DEVICE();                                                        \
        if (lid == 0)                                                          \
            *count = 0;                                                        \
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
