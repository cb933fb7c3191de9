/*
 * parts.c - K in parts.
 */
#include "gemm/parts.h"
#include "base/memory.h"
#include "gemm/common.h"

long vt_tile_count(int rows, int columns, int high, int wide)
{
    return (long)vt_divide_up(rows, high) * vt_divide_up(columns, wide);
}

long vt_processors(const vt_dev *dev, const vt_told *t, int engines)
{
    const long all = (long)vt_dev_info(dev)->compute_units / engines;

    return t->units ? t->units : VT_MAX(all, 1);
}

int vt_part_terms(const vt_told *t, long parts, int most)
{
    enum { LEAST = 256, STEP = 64 };
    const int K = t->d.K, asked = t->parts;
    const int n = asked ? asked : (int)VT_MIN(VT_MAX(parts, 1), most);
    const int terms = vt_divide_up(vt_divide_up(K, n), STEP) * STEP;

    return VT_MIN(K, asked ? terms : VT_MAX(terms, LEAST));
}

const char *vt_last_fence(const vt_dev *dev, vt_variant v)
{
    /* CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV; CL_DEVICE_ATOMIC_MEMORY_
     * CAPABILITIES, and two of its bits: acquire and release, of the device */
    enum { MAJOR = 0x4000, CAPABILITIES = 0x1063, NEEDED = 1 << 1 | 1 << 5 };

    if (!vt_variant_wanted(v))
        return NULL;
    if (vt_dev_reports(dev, "cl_nv_device_attribute_query"))
        return vt_dev_number(dev, MAJOR) >= 7 ? " -DFENCE=1" : NULL;
    if (vt_dev_reports(dev, "cl_amd_device_attribute_query"))
        return " -DFENCE=2";
    return (vt_dev_number(dev, CAPABILITIES) & NEEDED) == NEEDED
               ? " -DFENCE=3 -cl-std=CL3.0"
               : NULL;
}

vitcl_status vt_last_counts(vt_buf **counts, vt_kernel *k, unsigned index,
                            vt_dev *dev, long n)
{
    vt_queue *q = NULL;
    vitcl_status st;

    VT_TRY(vt_queue_new(&q, dev, VT_TIMES_NONE));
    VT_TRY(vt_buf_new(counts, dev, (size_t)n * sizeof(int32_t)));
    VT_TRY(vt_buf_fill(q, *counts, 0));
    VT_TRY(vt_queue_finish(q));
    VT_TRY(vt_kernel_buf(k, index, *counts));
done:
    vt_queue_free(q);
    return st;
}
