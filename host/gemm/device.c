/*
 * device.c - open and list devices, with the user's tuned parameters.
 */
#include "gemm/device.h"

#include "base/log.h"
#include "base/memory.h"
#include "gemm/gemm.h"

#include <stdio.h>
#include <string.h>

static void describe(vitcl_device_info *info, vt_params_table *table)
{
    snprintf(info->gemm, sizeof info->gemm, "%s",
             vt_gemm_usual(strcmp(info->type, "cpu") == 0 ? VT_CLASS_CPU
                                                          : VT_CLASS_GPU));
    vt_params_load(table, info);
}

vitcl_status vt_gemm_dev_list(vitcl_device_info *out, uint32_t index)
{
    vt_params_table ignored;
    vitcl_status st;

    VT_TRY(vt_dev_list(out, index));
    describe(out, &ignored);
done:
    return st;
}

static void drop(void *state)
{
    vt_gemm_device *g = state;

    pthread_mutex_destroy(&g->lock);
    free(g);
}

vitcl_status vt_gemm_dev_open(vt_dev **out, const char *select)
{
    vt_gemm_device *g = NULL;
    vt_dev *dev = NULL;
    vitcl_device_info info;
    vitcl_status st;

    VT_TRY(vt_dev_open(&dev, select));
    VT_TRY(VT_NEW(&g, 1));
    pthread_mutex_init(&g->lock, NULL);
    info = *vt_dev_info(dev);
    describe(&info, &g->params);
    if (info.tuned)
        vt_log("device %s: %u tuned kernels", info.id, info.tuned);
    vt_dev_attach(dev, &info, g, drop);
    *out = dev, dev = NULL;
done:
    vt_dev_free(dev);
    return st;
}
