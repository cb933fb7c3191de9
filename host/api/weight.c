/*
 * weight.c - a weight of a model by name, as its plan uses it.
 *
 * The plan knows the shape of every weight, also of a preset without a file.
 */
#include "api/handles.h"
#include "api/program.h"

#include <stdio.h>

vitcl_status vt_model_read_weight(vitcl_tensor_info *out, float *data,
                                  size_t count, const vitcl_model *model,
                                  const char *name)
{
    vitcl_status st = VITCL_OK;
    const vt_plan_options options = {.dev = NULL};
    uint32_t height = 0, width = 0, batch = 1;
    vitcl_tensor_info info = {.size = sizeof info};
    vt_plan *p = NULL;
    vt_preprocess how;
    const vt_value *v;
    vt_written w;

    height = (uint32_t)vt_model_config(model->model)->height;
    width = (uint32_t)vt_model_config(model->model)->width_px;
    VT_TRY(vt_handle_size(&height, &width, &batch, model));
    vt_preprocess_default(&how, height, width);
    /* const is cast away for the model's lock, as in vitcl_model_describe() */
    VT_TRY(vt_handle_plan(&p, &w, (vitcl_model *)(uintptr_t)model, &options,
                          batch, height, width, &how));
    v = vt_value_of(p, vt_plan_find(p, name));
    if (!v || v->kind != VT_PARAM)
        VT_TRY(vt_fail(VITCL_EINVAL, "the model has no weight %s", name));
    snprintf(info.name, sizeof info.name, "%s", v->name);
    info.rank = (uint32_t)v->rank;
    for (int i = 0; i < v->rank; i++)
        info.shape[i] = (uint32_t)v->dim[i];
    if (data && count != vt_elements(p, vt_plan_find(p, name)))
        VT_TRY(vt_fail(
            VITCL_EINVAL, "%s has %llu elements, not %zu", name,
            (unsigned long long)vt_elements(p, vt_plan_find(p, name)), count));
    if (data)
        VT_TRY(vt_model_read_param(data, model->model, name, count));
    *out = info;
done:
    vt_plan_free(p);
    return st;
}
