/*
 * step.c - optimiser steps on one batch, with all results written to a file.
 *
 * The training counterpart of `forward`: it gives what is needed to compare
 * vitcl's gradients and optimisers with another library's.
 */
#include "api/handles.h"
#include "api/program.h"
#include "base/clock.h"
#include "base/memory.h"
#include "train/trainer.h"

#include <string.h>

typedef struct batch {
    float *pixels, *targets;
    int64_t *label;
    int count, height, width;
} batch;

static void free_batch(batch *b)
{
    free(b->pixels);
    free(b->targets);
    free(b->label);
}

static vitcl_status read_batch(batch *b, const char *path)
{
    vitcl_status st = VITCL_OK;
    vt_tensors *t = NULL;
    const vt_tensor *x, *y;

    VT_TRY(vt_tensors_open(&t, path));
    x = vt_tensors_get(t, "pixel_values");
    y = vt_tensors_get(t, "labels");
    if (!x || x->rank != 4 || x->shape[1] != 3 || x->count == 0 ||
        x->count > INT32_MAX)
        VT_TRY(
            vt_fail(VITCL_ECORRUPT, "%s: needs pixel_values [B,3,H,W]", path));
    if (!y || y->rank != 1 || y->shape[0] != x->shape[0] ||
        y->dtype != VT_FILE_I64)
        VT_TRY(vt_fail(VITCL_ECORRUPT, "%s: needs labels [%llu] of type I64",
                       path, (unsigned long long)x->shape[0]));
    b->count = (int)x->shape[0];
    b->height = (int)x->shape[2], b->width = (int)x->shape[3];
    VT_TRY(vt_new(&b->pixels, x->count, sizeof *b->pixels));
    VT_TRY(vt_tensor_f32(b->pixels, x));
    VT_TRY(vt_new(&b->label, y->count, sizeof *b->label));
    VT_TRY(vt_tensor_bytes(b->label, y, 0, y->size));
done:
    vt_tensors_free(t);
    return st;
}

static vitcl_status read_rates(double *lr, uint32_t steps,
                               const vt_json *settings, const char *path)
{
    const vt_json *v = vt_json_get(settings, "lr");

    for (uint32_t i = 0; i < steps; i++) {
        const vt_json *at = vt_json_is_array(v) ? vt_json_at(v, i) : v;

        if (!vt_json_number(&lr[i], at) || !(lr[i] >= 0 && lr[i] < 1e6))
            return vt_fail(
                VITCL_ECORRUPT,
                "%s: \"lr\" needs a number from 0 to 1e6 for step %u", path, i);
    }
    return VITCL_OK;
}

/* A settings file may give the batch size; it must match the input. */
static vitcl_status check_count(const vt_json *settings, const batch *b,
                                const char *path)
{
    const vt_json *v = vt_json_get(settings, "batch");
    uint64_t n = 0;

    if (v && (!vt_json_uint(&n, v) || n != (uint64_t)b->count))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: \"batch\" differs from the input's %d picture%s",
                       path, b->count, vt_plural((uint64_t)b->count));
    return VITCL_OK;
}

static vitcl_status make_targets(batch *b, int classes, double smoothing,
                                 const char *path)
{
    for (int i = 0; i < b->count; i++)
        if (b->label[i] < 0 || b->label[i] >= classes)
            return vt_fail(
                VITCL_ECORRUPT,
                "%s: label %lld is out of range; the model has %d class%s",
                path, (long long)b->label[i], classes,
                classes == 1 ? "" : "es");
    VT_RET(vt_new(&b->targets, (size_t)b->count * (size_t)classes,
                  sizeof *b->targets));
    vt_targets(b->targets, b->label, b->count, classes, smoothing);
    return VITCL_OK;
}

/* ---- output tensors; all owned ---- */

typedef struct record {
    vt_tensor *tensor;
    size_t count, cap;
} record;

static void free_record(record *r)
{
    for (size_t i = 0; i < r->count; i++) {
        free((void *)(uintptr_t)r->tensor[i].name);
        free((void *)(uintptr_t)r->tensor[i].data);
    }
    free(r->tensor);
}

/* Adds a tensor; *data: its elements, zeroed, for the caller to fill. */
static vitcl_status put(float **data, record *r, const char *prefix,
                        const char *name, int rank, const int *dim)
{
    vitcl_status st = VITCL_OK;
    vt_tensor t = {.dtype = VT_FILE_F32, .rank = (uint32_t)rank, .count = 1};
    float *elements = NULL;
    char *full = NULL;

    for (int i = 0; i < rank; i++)
        t.shape[i] = (uint64_t)dim[i], t.count *= (uint64_t)dim[i];
    t.size = t.count * sizeof *elements;
    VT_TRY(vt_grow(&r->tensor, &r->cap, r->count + 1, sizeof *r->tensor));
    VT_TRY(vt_new(&elements, t.count, sizeof *elements));
    VT_TRY(vt_format(&full, "%s%s", prefix, name));
    t.name = full, full = NULL;
    *data = elements, elements = NULL;
    t.data = (const uint8_t *)*data;
    r->tensor[r->count++] = t;
done:
    free(elements);
    free(full);
    return st;
}

static vitcl_status put_parameters(record *r, vt_trainer *t, const char *prefix,
                                   const char *kind)
{
    float *data;

    for (size_t i = 0; i < vt_trainer_parameters(t); i++) {
        const vt_value *v = vt_trainer_parameter(t, i);

        VT_RET(put(&data, r, prefix, v->name, v->rank, v->dim));
        VT_RET(vt_trainer_read(data, t, i, kind));
    }
    return VITCL_OK;
}

static vitcl_status take_steps(record *r, vt_trainer *t, const batch *b,
                               const double *lr, uint32_t steps)
{
    float *losses, *first, *norms, *time_ms;
    double loss, norm, begin;

    VT_RET(put(&losses, r, "", "losses", 1, (int[]){(int)steps}));
    VT_RET(put(&first, r, "", "loss", 1, (int[]){1}));
    VT_RET(put(&norms, r, "", "grad_norms", 1, (int[]){(int)steps}));
    VT_RET(put(&time_ms, r, "", "time_ms", 1, (int[]){(int)steps}));
    for (uint32_t i = 0; i < steps; i++) {
        begin = vt_now_ms();
        VT_RET(vt_trainer_batch(&loss, t, b->pixels, b->targets));
        losses[i] = (float)loss;
        time_ms[i] = (float)(vt_now_ms() - begin);
        if (i == 0)
            VT_RET(put_parameters(r, t, "grad.", "grad"));
        begin = vt_now_ms();
        VT_RET(vt_trainer_update(t, lr[i], (long)i));
        time_ms[i] += (float)(vt_now_ms() - begin);
        VT_RET(vt_trainer_grad_norm(&norm, t));
        norms[i] = (float)norm;
    }
    *first = losses[0];
    return put_parameters(r, t, "after.", "");
}

vitcl_status vt_train_steps(const char *output, vitcl_device *device,
                            const char *model, const char *input,
                            const char *settings, uint32_t steps,
                            const char *gemm, vitcl_precision precision)
{
    static const char *const keys[] = {"lr", "batch", "layer_decay", "lora",
                                       NULL};
    vitcl_status st = VITCL_OK;
    vt_json *json = NULL;
    vt_model *m = NULL;
    vt_trainer *t = NULL;
    vt_optimizer_config optimizer;
    batch b = {0};
    record r = {0};
    double *lr = NULL, rank = 0;

    if (!output || !device || !model || !input || !settings || steps == 0 ||
        steps > VT_STEPS_MOST)
        return vt_fail(VITCL_EINVAL, "training steps need a device, a model, "
                                     "a batch, settings and an output");
    VT_TRY(vt_dev_alive(device->dev));
    VT_TRY(vt_json_load(&json, settings, 1 << 20, 8));
    VT_TRY(vt_optimizer_config_keys(json, keys, settings));
    VT_TRY(vt_optimizer_config_read(&optimizer, json, settings));
    VT_TRY(vt_json_within(&optimizer.layer_decay,
                          vt_json_get(json, "layer_decay"), "layer_decay", 0, 1,
                          settings));
    VT_TRY(vt_json_within(&rank, vt_json_get(json, "lora"), "lora", 0,
                          VT_LORA_MOST, settings));
    optimizer.lora = (int)rank;
    VT_TRY(VT_NEW(&lr, steps));
    VT_TRY(read_rates(lr, steps, json, settings));
    VT_TRY(read_batch(&b, input));
    VT_TRY(check_count(json, &b, settings));
    VT_TRY(vt_model_open(&m, model));
    VT_TRY(vt_trainer_new(&t, m, &optimizer,
                          &(vt_trainer_options){.dev = device->dev,
                                                .gemm = gemm,
                                                .precision = precision,
                                                .batch = b.count,
                                                .height = b.height,
                                                .exact = true,
                                                .width = b.width}));
    VT_TRY(make_targets(&b, vt_trainer_classes(t), optimizer.label_smoothing,
                        input));
    VT_TRY(take_steps(&r, t, &b, lr, steps));
    VT_TRY(vt_safetensors_write(output, r.tensor, r.count, NULL));
done:
    free_record(&r);
    free_batch(&b);
    free(lr);
    vt_trainer_free(t);
    vt_model_close(m);
    vt_json_free(json);
    return st;
}
