/*
 * device.c - public device handles.
 */
#include "product/device.h"
#include "api/handles.h"
#include "api/program.h"
#include "base/memory.h"
#include "product/half_choice.h"
#include "product/peak.h"

const char *vitcl_version(void)
{
    return VITCL_VERSION;
}

vitcl_status vitcl_device_at(vitcl_device_info *out, uint32_t index)
{
    vitcl_device_info info;

    VT_SIZED(out, vitcl_device_info);
    VT_RET(vt_product_list(&info, index));
    vt_sized_give(out, &info, sizeof info);
    return VITCL_OK;
}

vitcl_status vitcl_device_open(vitcl_device **out, const char *select)
{
    vitcl_status st = VITCL_OK;
    vitcl_device *device = NULL;

    VT_GIVEN(out);
    VT_TRY(VT_NEW(&device, 1));
    VT_TRY(vt_product_open(&device->dev, select));
    *out = device, device = NULL;
done:
    vitcl_device_free(device);
    return st;
}

vitcl_status vitcl_device_describe(vitcl_device_info *out,
                                   const vitcl_device *device)
{
    vitcl_device_info info;

    VT_SIZED(out, vitcl_device_info);
    VT_GIVEN(device);
    info = *vt_dev_info(device->dev);
    info.timed = vt_product_count(device->dev);
    vt_sized_give(out, &info, sizeof info);
    return VITCL_OK;
}

vitcl_status vitcl_device_watch(vitcl_device *device, vitcl_compiling compiling,
                                void *context)
{
    VT_GIVEN(device);
    vt_dev_watch(device->dev, compiling, context);
    return VITCL_OK;
}

vitcl_status vt_device_save_kernels(vitcl_device *device, const char *folder)
{
    return vt_dev_save_programs(device->dev, folder);
}

void vitcl_device_free(vitcl_device *device)
{
    if (!device)
        return;
    vt_dev_free(device->dev);
    free(device);
}

vitcl_status vt_device_peak(double *gflops, vitcl_device *device,
                            vitcl_precision precision)
{
    VT_RET(vt_precision_known(precision));
    VT_RET(vt_dev_alive(device->dev));
    if (precision == VITCL_HALF)
        VT_RET(vt_half_choose(&precision, device->dev, NULL));
    return vt_peak_measure(gflops, device->dev, precision);
}
