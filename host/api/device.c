/*
 * device.c - public device handles and measurement of peak speed.
 */
#include "api/handles.h"
#include "base/clock.h"
#include "base/memory.h"

#include <stdio.h>

const char *vitcl_version(void)
{
    return VITCL_VERSION;
}

vitcl_status vitcl_device_list(vitcl_device_info *out, uint32_t index)
{
    vitcl_device_info info;
    vitcl_status st = VITCL_OK;

    VT_SIZED(out, vitcl_device_info);
    VT_TRY(vt_gemm_dev_list(&info, index));
    vt_sized_give(out, &info, sizeof info);
done:
    return st;
}

vitcl_status vitcl_device_open(vitcl_device **out, const char *select)
{
    vitcl_status st = VITCL_OK;
    vitcl_device *device = NULL;

    VT_GIVEN(out);
    VT_TRY(VT_NEW(&device, 1));
    VT_TRY(vt_gemm_dev_open(&device->dev, select));
    *out = device, device = NULL;
done:
    vitcl_device_free(device);
    return st;
}

vitcl_status vitcl_device_describe(vitcl_device_info *out,
                                   const vitcl_device *device)
{
    VT_SIZED(out, vitcl_device_info);
    VT_GIVEN(device);
    vt_sized_give(out, vt_dev_info(device->dev), sizeof *out);
    return VITCL_OK;
}

void vitcl_device_free(vitcl_device *device)
{
    if (!device)
        return;
    vt_dev_free(device->dev);
    free(device);
}

/* ---- peak ---- */

/* The best time of several launches, each long enough to measure; flops: of one
 * iteration. */
static vitcl_status best_rate(double *gflops, vt_queue *q, vt_kernel *k,
                              double flops)
{
    vitcl_status st = VITCL_OK;
    double best = 0, end;
    int rounds = 2000;

    /* Untimed first launch: some drivers compile only then. */
    VT_TRY(vt_kernel_int(k, 1, 1));
    VT_TRY(vt_kernel_launch(q, k));
    VT_TRY(vt_queue_finish(q));
    end = vt_now_ms() + 500;
    while (vt_now_ms() < end || best == 0) {
        double t, from;

        VT_TRY(vt_kernel_int(k, 1, rounds));
        from = vt_now_ms();
        VT_TRY(vt_kernel_launch(q, k));
        VT_TRY(vt_queue_finish(q));
        t = 1e-3 * (vt_now_ms() - from);
        if (t < 0.01 && rounds < (1 << 28)) {
            rounds *= t < 0.001 ? 8 : 2;
            continue;
        }
        best = VT_MAX(best, flops * rounds / t);
    }
    *gflops = best / 1e9;
done:
    return st;
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

vitcl_status vitcl_device_peak(double *gflops, vitcl_device *device,
                               vitcl_precision precision)
{
    vitcl_status st = VITCL_OK;
    vt_queue *q = NULL;
    vt_kernel *k = NULL;
    vt_buf *sink = NULL;
    double flops = 0;
    bool cpu;
    size_t local, items;

    VT_GIVEN(gflops);
    VT_GIVEN(device);
    VT_TRY(vt_dev_alive(device->dev));
    cpu = vt_dev_class(device->dev) == VT_CLASS_CPU;
    local = cpu ? 1 : VT_MIN(vt_dev_group_max(device->dev), (size_t)256);
    items = local * vt_dev_info(device->dev)->compute_units * (cpu ? 4 : 16);
    if (precision == VITCL_HALF)
        VT_TRY(vt_handle_half(&precision, device->dev, NULL));
    if (precision == VITCL_BF16 || precision == VITCL_INT8)
        VT_TRY(vt_gemm_peak(&k, &flops, device->dev,
                            precision == VITCL_BF16 ? VT_BF16 : VT_I8));
    if (!k)
        VT_TRY(fma_kernel(
            &k, &flops, device->dev,
            precision == VITCL_F16 && vt_dev_info(device->dev)->fp16, local));
    VT_TRY(vt_queue_new(&q, device->dev, false));
    VT_TRY(vt_buf_new(&sink, device->dev, items * sizeof(float)));
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
