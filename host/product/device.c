/*
 * device.c - open and list devices, with the user's tuned parameters.
 */
#include "product/device.h"

#include "base/attempt.h"
#include "base/log.h"
#include "base/memory.h"
#include "ocl/cache.h"
#include "product/fastest.h"
#include "product/product.h"
#include "product/state.h"
#include "tune/params.h"
#include "units/dots.h"
#include "units/matrix.h"
#include "units/units.h"

#include <stdio.h>
#include <string.h>

static void describe(vitcl_device_info *info, vt_class class)
{
    snprintf(info->gemm, sizeof info->gemm, "%s",
             vt_fastest_possible(class) ? VT_PRODUCT_MEASURED
                                        : vt_product_first(class));
    vt_fastest_tell(info->products, sizeof info->products, info);
}

vitcl_status vt_product_list(vitcl_device_info *out, uint32_t index)
{
    vt_params_table ignored;

    VT_RET(vt_dev_list(out, index));
    describe(out, strcmp(out->type, "cpu") == 0 ? VT_CLASS_CPU : VT_CLASS_GPU);
    vt_params_load(&ignored, out);
    return VITCL_OK;
}

vitcl_status vt_product_open(vt_dev **out, const char *select)
{
    vt_dev *dev = NULL;
    vitcl_device_info info;
    vitcl_status st;

    VT_TRY(vt_dot_setting());
    VT_TRY(vt_mma_setting());
    VT_TRY(vt_kept_setting());
    VT_TRY(vt_attempt_setting());
    VT_TRY(vt_dev_open(&dev, select));
    info = *vt_dev_info(dev);
    describe(&info, vt_dev_class(dev));
    VT_TRY(vt_units_open(dev));
    VT_TRY(vt_params_open(dev, &info));
    VT_TRY(vt_product_state_open(dev));
    vt_dev_describe(dev, &info);
    if (info.tuned)
        vt_log("device %s: %u tuned kernels", info.id, info.tuned);
    *out = dev, dev = NULL;
done:
    vt_dev_free(dev);
    return st;
}

uint32_t vt_product_count(const vt_dev *dev)
{
    return atomic_load(&vt_product_state_of(dev)->timed);
}
