/*
 * model.c - public model handles: a checkpoint's tensors and its weights on the
 * device.
 */
#include "api/handles.h"
#include "api/program.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "models/preprocess.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

vitcl_model *vt_handle_ref(vitcl_model *model)
{
    atomic_fetch_add(&model->references, 1);
    return model;
}

/* Takes ownership of the opened model, also on failure. */
static vitcl_status wrap(vitcl_model **out, vitcl_device *device, vt_model *m)
{
    vitcl_status st = VITCL_OK;
    vitcl_model *model = NULL;

    VT_TRY(VT_NEW(&model, 1));
    atomic_init(&model->references, 1);
    pthread_mutex_init(&model->lock, NULL);
    model->model = m, m = NULL;
    if (device) {
        model->dev = vt_dev_ref(device->dev);
        VT_TRY(vt_store_new(&model->store, model->dev, vt_model_read_param,
                            model->model));
    }
    *out = model, model = NULL;
done:
    vt_model_close(m);
    vitcl_model_free(model);
    return st;
}

vitcl_status vitcl_model_load(vitcl_model **out, vitcl_device *device,
                              const char *path)
{
    vitcl_status st = VITCL_OK;
    const double from = vt_now_ms();
    vt_model *m = NULL;
    char *place = NULL;

    VT_GIVEN(out);
    VT_GIVEN(path);
    VT_TRY(vt_hub_path(&place, path));
    VT_TRY(vt_model_open(&m, place));
    vt_log("model %s: %s from %s, %.1f M parameters, opened in %.0f ms", path,
           vt_model_family(m), vt_model_type(m),
           (double)vt_model_parameters(m) / 1e6, vt_now_ms() - from);
    VT_TRY(wrap(out, device, m));
    (*out)->path = realpath(place, NULL);
    if (!(*out)->path)
        (*out)->path = place, place = NULL;
done:
    free(place);
    return st;
}

vitcl_status vitcl_model_find(char *out, size_t size, const char *name)
{
    vitcl_status st = VITCL_OK;
    char *place = NULL;

    VT_GIVEN(out);
    VT_GIVEN(name);
    VT_TRY(vt_hub_path(&place, name));
    if (strcmp(place, VITCL_MODEL_BUILTIN) != 0 && access(place, F_OK) != 0)
        VT_TRY(vt_fail(VITCL_EIO, "%s: no such file, folder or model", name));
    if (strlen(place) >= size)
        VT_TRY(vt_fail(VITCL_EINVAL, "%s: its path has %zu bytes, %zu fit",
                       name, strlen(place) + 1, size));
    memcpy(out, place, strlen(place) + 1);
done:
    free(place);
    return st;
}

vitcl_status vitcl_model_load_memory(vitcl_model **out, vitcl_device *device,
                                     const vitcl_model_files *files)
{
    vitcl_model_files f;
    vt_model *m = NULL;

    VT_GIVEN(out);
    VT_GIVEN(files);
    VT_RET(vt_sized_options(&f, sizeof f, files, "vitcl_model_files"));
    if (!f.weights || (f.config_bytes && !f.config) ||
        (f.preprocessor_bytes && !f.preprocessor))
        return vt_fail(VITCL_EINVAL,
                       "a model in memory needs weights, and every "
                       "part with a size needs a pointer");
    VT_RET(vt_model_open_memory(&m, &f));
    return wrap(out, device, m);
}

vitcl_status vitcl_model_new(vitcl_model **out, vitcl_device *device,
                             const char *preset, uint32_t size)
{
    vitcl_status st = VITCL_OK;
    vt_model *m = NULL;
    char *path = NULL;

    VT_GIVEN(out);
    VT_GIVEN(preset);
    VT_TRY(vt_format(&path, "preset:%s", preset));
    VT_TRY(vt_model_preset(&m, preset, size));
    VT_TRY(wrap(out, device, m));
    (*out)->path = path, path = NULL;
done:
    free(path);
    return st;
}

const char *vitcl_class_label(const vitcl_model *model, uint32_t label)
{
    return model ? vt_model_label(model->model, label) : NULL;
}

const char *vitcl_class_name(const vitcl_model *model, uint32_t label)
{
    return model ? vt_model_longname(model->model, label) : NULL;
}

float vitcl_model_temperature(const vitcl_model *model)
{
    return model ? (float)vt_model_certainty(model->model).temperature : 1;
}

float vitcl_model_threshold(const vitcl_model *model)
{
    return model ? (float)vt_model_certainty(model->model).threshold : 0;
}

vitcl_answer vitcl_model_answer(const vitcl_model *model)
{
    return model ? vt_model_answer(model->model) : VITCL_ONE_CLASS;
}

const char *vt_model_resize(const vitcl_model *model)
{
    return vt_pixels_name(vt_model_pixels(model->model));
}

vitcl_status vt_model_set_resize(vitcl_model *model, const char *library)
{
    vt_pixels pixels;

    if (!vt_pixels_named(&pixels, library))
        return vt_fail(VITCL_EINVAL,
                       "pixels \"%s\" are neither pillow nor torchvision",
                       library);
    vt_model_choose_pixels(model->model, pixels);
    return VITCL_OK;
}

uint32_t vt_model_most_patches(const vitcl_model *model)
{
    return (uint32_t)vt_model_patches(model->model);
}

vitcl_status vt_model_set_most_patches(vitcl_model *model, uint32_t most)
{
    return vt_model_choose_patches(model->model, most);
}

void vitcl_model_free(vitcl_model *model)
{
    if (!model || atomic_fetch_sub(&model->references, 1) > 1)
        return;
    vt_store_free(model->store);
    vt_model_close(model->model);
    vt_dev_free(model->dev);
    pthread_mutex_destroy(&model->lock);
    free(model->path);
    free(model);
}

/* ---- describing ---- */

vitcl_status vt_handle_size(uint32_t *height, uint32_t *width, uint32_t *batch,
                            const vitcl_model *model)
{
    uint32_t own_h, own_w;

    vt_model_input(&own_h, &own_w, model->model);
    *height = *height ? *height : own_h;
    *width = *width ? *width : own_w;
    *batch = *batch ? *batch : 1;
    if (*height > 16384 || *width > 16384)
        return vt_fail(VITCL_EINVAL,
                       "a picture of %ux%u has a side above 16384", *height,
                       *width);
    if (*batch > 65536)
        return vt_fail(VITCL_EINVAL,
                       "a batch of %u is above the limit of 65536", *batch);
    return vt_model_whole(model->model, (int)*height, (int)*width);
}

/* From the logits to the first layer's attention. */
static vitcl_status add_backward(vt_plan *p, vt_written *w)
{
    if (vt_plan_status(p) != VITCL_OK)
        return vt_plan_status(p);
    if (w->out.logits == VT_NONE)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "the model has no classes: there is no gradient of one");
    w->seed = vt_input(
        p, "gradient.logits", VT_F32, 2,
        (int[]){vt_dim(p, w->out.logits, 0), vt_dim(p, w->out.logits, 1)});
    vt_plan_backward_from(p, w->out.logits, w->seed, vt_add);
    return vt_plan_status(p);
}

vitcl_status vt_handle_plan(vt_plan **plan, vt_written *out, vitcl_model *model,
                            const vt_plan_options *options, uint32_t batch,
                            uint32_t height, uint32_t width,
                            const vt_preprocess *how)
{
    vitcl_status st = VITCL_OK;
    vt_plan *p = NULL;
    vt_written w = {VT_NONE, VT_NONE, {VT_NONE, VT_NONE, VT_NONE}, VT_NONE, 0};
    const int dim[4] = {(int)batch, (int)height, (int)width, 3};

    VT_TRY(vt_plan_new(&p, options));
    w.rgb = vt_input(p, "rgb", VT_U8, 4, dim);
    w.values = vt_normalise(p, w.rgb, how->scale, how->mean, how->std);
    vt_name(p, w.values, "pixel_values");
    pthread_mutex_lock(&model->lock);
    vt_model_build(p, model->model, w.values, NULL, &w.out);
    pthread_mutex_unlock(&model->lock);
    vt_keep(p, w.out.features);
    vt_keep(p, w.out.logits);
    w.forward_end = vt_plan_steps(p);
    if (options->backward)
        VT_TRY(add_backward(p, &w));
    VT_TRY(vt_plan_place(p));
    *out = w;
    *plan = p, p = NULL;
done:
    vt_plan_free(p);
    return st;
}

/* Weights are counted as f32, the most they can take. */
bool vt_handle_fits(const vt_plan *p, const vitcl_model *m, double beside)
{
    const vitcl_device_info *info = vt_dev_info(m->dev);
    const vt_plan_memory memory = vt_plan_memory_of(p);
    const uint64_t weights = vt_model_parameters(m->model) * sizeof(float);

    return vt_dev_allows(m->dev, memory.segment) &&
           (double)memory.arena + (double)memory.consts + (double)weights +
                   beside <=
               (double)info->memory_bytes;
}

/* Of a head that reads the class token and also the mean of the patches, such
 * as DINOv2's, this is the class token: the two are not one mean. */
static void find_read(vitcl_model_info *info, const vt_config *c)
{
    const bool token =
        c->dist_head || (!c->attn_pool && (c->pool == VT_POOL_TOKEN ||
                                           c->pool == VT_POOL_CLS_MEAN));

    info->read_first = token || c->pool_all ? 0 : (uint32_t)c->pool_first;
    info->read_count = c->dist_head ? 2
                       : token      ? 1
                                    : info->tokens - info->read_first;
}

vitcl_status vitcl_model_describe(vitcl_model_info *out,
                                  const vitcl_model *model, uint32_t height,
                                  uint32_t width, uint32_t batch)
{
    vitcl_status st = VITCL_OK;
    vt_plan *p = NULL;
    vt_written w;
    vt_preprocess how;
    vitcl_model_info info = {.layers = 0};
    const vt_plan_options options = {.dev = NULL};
    /* const is cast away for the lock only: writing a plan changes nothing else
     * in a model. */
    vitcl_model *m = (vitcl_model *)(uintptr_t)model;
    const vt_config *c;
    double macs;
    vt_val tokens;
    int rows, columns;

    VT_SIZED(out, vitcl_model_info);
    VT_GIVEN(model);
    c = vt_model_config(model->model);
    VT_TRY(vt_handle_size(&height, &width, &batch, model));
    vt_preprocess_default(&how, height, width);
    VT_TRY(vt_handle_plan(&p, &w, m, &options, batch, height, width, &how));
    pthread_mutex_lock(&m->lock);
    st = vt_model_macs(&macs, m->model, (int)height, (int)width);
    pthread_mutex_unlock(&m->lock);
    VT_TRY(st);
    snprintf(info.family, sizeof info.family, "%s",
             vt_model_family(model->model));
    snprintf(info.name, sizeof info.name, "%s", c->name);
    info.layers = (uint32_t)c->depth;
    info.width = (uint32_t)c->width;
    info.heads = (uint32_t)c->heads;
    info.mlp = (uint32_t)c->mlp;
    info.classes = (uint32_t)c->classes;
    info.trained_height = (uint32_t)c->height;
    info.trained_width = (uint32_t)c->width_px;
    vt_model_input(&info.input_height, &info.input_width, model->model);
    info.channels = c->grey ? 1 : 3;
    info.patch = (uint32_t)c->patch_h;
    tokens = vt_plan_find(p, "embed");
    tokens = tokens == VT_NONE ? vt_plan_find(p, "block.0") : tokens;
    info.tokens =
        (uint32_t)(tokens == VT_NONE
                       ? vt_model_tokens(m->model, (int)height, (int)width)
                       : vt_dim(p, tokens, 1));
    if (c->heads &&
        vt_model_grid(&rows, &columns, m->model, (int)height, (int)width)) {
        info.rows = (uint32_t)rows, info.columns = (uint32_t)columns;
        find_read(&info, c);
    }
    info.parameters = vt_model_parameters(model->model);
    info.gmac = macs / 1e9;
    info.weights_bytes = info.parameters * sizeof(float);
    info.activation_bytes = vt_plan_memory_of(p).arena;
    info.tensor_bytes = vt_plan_memory_of(p).largest_value;
    info.on_white = vt_model_on_white(model);
    vt_sized_give(out, &info, sizeof info);
done:
    vt_plan_free(p);
    return st;
}
