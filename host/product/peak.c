/*
 * peak.c - measures the peak speed of a device.
 */
#include "product/peak.h"

#include "base/clock.h"
#include "base/memory.h"
#include "ocl/precision.h"
#include "product/product.h"

#include <stdio.h>

/* The best time of several launches, each long enough to measure; flops: of one
 * iteration. */
static vitcl_status best_rate(double *gflops, vt_queue *q, vt_kernel *k,
                              double flops)
{
    double best = 0, end;
    int rounds = 2000;

    /* Untimed first launch: some drivers compile only then. */
    VT_RET(vt_kernel_int(k, 1, 1));
    VT_RET(vt_kernel_launch(q, k));
    VT_RET(vt_queue_finish(q));
    end = vt_now_ms() + 500;
    while (vt_now_ms() < end || best == 0) {
        double t, from;

        VT_RET(vt_kernel_int(k, 1, rounds));
        from = vt_now_ms();
        VT_RET(vt_kernel_launch(q, k));
        VT_RET(vt_queue_finish(q));
        t = 1e-3 * (vt_now_ms() - from);
        if (t < 0.01 && rounds < (1 << 28)) {
            rounds *= t < 0.001 ? 8 : 2;
            continue;
        }
        best = VT_MAX(best, flops * rounds / t);
    }
    *gflops = best / 1e9;
    return VITCL_OK;
}

/* With vector multiply-adds, in f16 if the device supports it. */
static vitcl_status fma_kernel(vt_kernel **out, double *flops, vt_dev *dev,
                               bool half, size_t local)
{
    const bool cpu = vt_dev_class(dev) == VT_CLASS_CPU;
    const int lanes = VT_MIN(cpu ? vt_dev_vector(dev) * (half ? 2 : 1) : 4, 16);
    const int chains = 10;
    char defines[64];

    snprintf(defines, sizeof defines, "-DLANES=%d -DWG=%d%s", lanes, (int)local,
             half ? " -DHALF=1" : "");
    *flops = 2.0 * chains * lanes;
    return vt_kernel_new(out, dev, "peak", "peak", defines);
}

vitcl_status vt_peak_measure(double *gflops, vt_dev *dev,
                             vitcl_precision precision)
{
    const bool cpu = vt_dev_class(dev) == VT_CLASS_CPU;
    const size_t local = cpu ? 1 : VT_MIN(vt_dev_group_max(dev), (size_t)256),
                 items =
                     local * vt_dev_info(dev)->compute_units * (cpu ? 4 : 16);
    vt_queue *q = NULL;
    vt_kernel *k = NULL;
    vt_buf *sink = NULL;
    double flops = 0;
    vitcl_status st;

    VT_TRY(vt_product_peak(&k, &flops, dev, vt_precision_type(precision)));
    if (!k)
        VT_TRY(fma_kernel(&k, &flops, dev,
                          precision == VITCL_F16 && vt_dev_info(dev)->fp16,
                          local));
    VT_TRY(vt_queue_new(&q, dev, VT_TIMES_NONE));
    VT_TRY(vt_buf_new(&sink, dev, items * sizeof(float)));
    VT_TRY(vt_kernel_buf(k, 0, sink));
    VT_TRY(vt_kernel_float(k, 2, 0.5f));
    vt_kernel_size(k, 1, (size_t[3]){items, 1, 1}, (size_t[3]){local, 1, 1});
    VT_TRY(best_rate(gflops, q, k, flops * (double)items));
done:
    vt_kernel_free(k);
    vt_buf_free(sink);
    vt_queue_free(q);
    return st;
}
