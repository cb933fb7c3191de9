/*
 * common.cl - vectors, loops and hints. Every cl/common*.cl, in the order of
 * their names, is put before each program's source.
 *
 * Vectors     V floats make an explicit vector (-DV=4, 8 or 16; default 8):
 *             floatv, intv, vloadv(i, p) and vstorev(v, i, p) of V lanes.
 * Sizes       WG, a power of two (default 64): the local size of kernels whose
 *             work-groups share a row. PER: vectors of a block. common_work.cl
 *             has what uses them.
 * Loops       EACH(i, n): an unrolled loop over i = 0 to n - 1, n a constant.
 *             LIKELY(x): x, the condition of a hot loop. ROLLED: before a loop
 *             that XE's compilers would unroll until registers run out.
 * Calls       OUTLINED: of a function that is to stay one. PoCL compiles each
 *             kernel three times, once for each way to launch it, but what the
 *             kernel calls only once. Such a function must not ask for ids.
 *             On AMD's and NVIDIA's GPUs nothing is called.
 *             OUTLINED_CPU: the same in kernels that GPUs run, too; these have
 *             no calls. INLINED: of a function that is compiled for each of its
 *             callers, whose arguments are constants.
 * Caches      vt_prefetch(p, write, level): a hint that the line at p will soon
 *             be read (write 0) or written (1); level 3: to L1, 2: to L2.
 *             vt_prefetch_all(p, n, write, level): the same for n elements.
 * Devices     XE: defined on Intel's GPUs, where each of 8 work-items has 128
 *             registers of a float. XE_HPC: also on those without images. They
 *             have 128 registers of 16 floats, but their compiler takes 32
 *             work-items a sub-group even where it then spills. SUB_GROUP_16:
 *             of a kernel that is to have 16 there.
 * Groups      vt_group(d): get_group_id(d) in kernels whose launch may be
 *             divided (vt_kernel_work()). Each part is launched with the index
 *             of its first group as offset, so these have no get_global_id().
 */
#pragma OPENCL FP_CONTRACT OFF

/* Where fma() is not an instruction, each one becomes a page of code, and
 * llvmpipe needs minutes to compile a GELU. Two roundings must do there. */
#ifdef NO_FMA
#define fma(a, b, c) ((a) * (b) + (c))
#endif

/* PoCL's prefetch() does nothing, but its compiler has clang's builtin; others
 * may lack it. */
#if defined(__x86_64__) || defined(__aarch64__)
#define vt_prefetch(p, write, level)                                           \
    __builtin_prefetch((const void *)(size_t)(p), write, level)
#else
#define vt_prefetch(p, write, level) prefetch(p, 1)
#endif
#define vt_prefetch_all(p, n, write, level)                                    \
    EACH(line, ((n) * (int)sizeof *(p) + 63) / 64)                             \
    vt_prefetch((p) + line * (64 / (int)sizeof *(p)), write, level)

#if defined(cl_intel_required_subgroup_size) && !defined(__x86_64__)
#define XE
#endif
#if defined(XE) && !defined(__IMAGE_SUPPORT__)
#define XE_HPC
#define SUB_GROUP_16 __attribute__((intel_reqd_sub_group_size(16)))
#else
#define SUB_GROUP_16
#endif

#define vt_group(d) ((int)(get_group_id(d) + get_global_offset(d)))

#ifndef V
#define V 8
#endif
#ifndef WG
#define WG 64
#endif
#ifndef PER
#define PER 1
#endif
#define VT_JOIN_(a, b) a##b
#define VT_JOIN(a, b) VT_JOIN_(a, b)
#define floatv VT_JOIN(float, V)
#define intv VT_JOIN(int, V)
#define as_floatv VT_JOIN(as_float, V)
#define as_intv VT_JOIN(as_int, V)
#define convert_floatv VT_JOIN(convert_, floatv)
#define vt_epiloguev VT_JOIN(vt_epilogue, V)

/* Whole vectors: PoCL stores 16 bytes at a time, or one short, and loads 8, and
 * its compiler is slow to put these together. */
#if defined(__x86_64__) && defined(__clang__)
#define VT_UNALIGNED(n)                                                        \
    typedef float##n vt_float##n __attribute__((aligned(4)));                  \
    typedef int##n vt_int##n __attribute__((aligned(4)));                      \
    typedef ushort##n vt_ushort##n __attribute__((aligned(2)));                \
    typedef char##n vt_char##n __attribute__((aligned(1)));
VT_UNALIGNED(4)
VT_UNALIGNED(8)
VT_UNALIGNED(16)
#define VT_VSTORE(t, n, v, p) (*(global vt_##t##n *)(p) = (v))
#define VT_WHOLE(space, type)                                                  \
    static inline __attribute__((overloadable)) void vstorev(                  \
        VT_JOIN(type, V) v, size_t i, space type *p)                           \
    {                                                                          \
        *(space VT_JOIN(vt_##type, V) *)(p + i * V) = v;                       \
    }                                                                          \
    VT_WHOLE_LOAD(space, type)
#define VT_WHOLE_LOAD(space, type)                                             \
    static inline __attribute__((overloadable)) VT_JOIN(type, V)               \
        vloadv(size_t i, const space type *p)                                  \
    {                                                                          \
        return *(const space VT_JOIN(vt_##type, V) *)(p + i * V);              \
    }
VT_WHOLE(global, float)
VT_WHOLE(global, int)
VT_WHOLE(local, float)
VT_WHOLE(local, int)
VT_WHOLE(private, float)
VT_WHOLE(private, int)
VT_WHOLE_LOAD(global, char)
VT_WHOLE_LOAD(global, ushort)
#elif defined(WHOLE) /* see common_storage.cl */
#define VT_VSTORE(t, n, v, p) (*(global t##n *)(p) = (v))
#define vloadv VT_JOIN(vload, V)
#define vstorev VT_JOIN(vstore, V)
#else
#define VT_VSTORE(t, n, v, p) vstore##n(v, 0, p)
#define vloadv VT_JOIN(vload, V)
#define vstorev VT_JOIN(vstore, V)
#endif

#define UNROLL _Pragma("unroll")
#define EACH(i, n) UNROLL for (int i = 0; i < n; i++)
#ifdef XE
#define ROLLED _Pragma("nounroll")
#else
#define ROLLED
#endif

/* Put around the condition of an innermost loop: a compiler takes the deepest
 * loop for the hottest, and would spill this one's accumulators for the sake of
 * the epilogue's. */
#ifdef __clang__
#define LIKELY(x) __builtin_expect(x, 1)
#if __has_attribute(noinline) && !defined(__AMDGCN__) && !defined(__NVPTX__)
#define OUTLINED __attribute__((noinline))
#endif
#if __has_attribute(always_inline)
#define INLINED __attribute__((always_inline))
#endif
#else
#define LIKELY(x) (x)
#endif
#ifndef OUTLINED
#define OUTLINED
#endif
#ifndef INLINED
#define INLINED
#endif
#if WG == 1
#define OUTLINED_CPU OUTLINED
#else
#define OUTLINED_CPU
#endif
