/*
 * device.c - open and list devices, with the user's tuned parameters.
 */
#include "gemm/device.h"

#include "base/log.h"
#include "base/memory.h"
#include "gemm/gemm.h"
#include "gemm/mma.h"
#include "gemm/race.h"

#include <stdio.h>
#include <string.h>

static void describe(vitcl_device_info *info, vt_params_table *table,
                     vt_class class)
{
    snprintf(info->gemm, sizeof info->gemm, "%s",
             vt_fastest_possible(class) ? VT_GEMM_MEASURED
                                        : vt_gemm_first(class));
    vt_params_load(table, info);
    vt_fastest_tell(info->products, sizeof info->products, info,
                    vt_gemm_form_name);
}

vitcl_status vt_gemm_dev_list(vitcl_device_info *out, uint32_t index)
{
    vt_params_table ignored;
    vitcl_status st;

    VT_TRY(vt_dev_list(out, index));
    describe(out, &ignored,
             strcmp(out->type, "cpu") == 0 ? VT_CLASS_CPU : VT_CLASS_GPU);
done:
    return st;
}

static void drop(void *state)
{
    vt_gemm_device *g = state;

    pthread_mutex_destroy(&g->lock);
    vt_fastest_forget(&g->fastest);
    free(g);
}

vitcl_status vt_gemm_dev_open(vt_dev **out, const char *select)
{
    vt_gemm_device *g = NULL;
    vt_dev *dev = NULL;
    vitcl_device_info info;
    vitcl_status st;

    VT_TRY(vt_mma_setting());
    VT_TRY(vt_dev_open(&dev, select));
    VT_TRY(VT_NEW(&g, 1));
    pthread_mutex_init(&g->lock, NULL);
    g->race = vt_race_run;
    info = *vt_dev_info(dev);
    describe(&info, &g->params, vt_dev_class(dev));
    if (info.tuned)
        vt_log("device %s: %u tuned kernels", info.id, info.tuned);
    vt_dev_attach(dev, &info, g, drop);
    *out = dev, dev = NULL;
done:
    vt_dev_free(dev);
    return st;
}
