/*
 * trainer.c - a plan of a model's forward, backward and optimiser step.
 */
#include "train/trainer.h"

#include "base/memory.h"
#include "data/mask.h"
#include "train/lora.h"
#include "train/update.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct vt_trainer {
    vt_optimizer_config optimizer;
    vt_lora_source source_of; /* of the store */
    vt_store *store;
    vt_plan *plan;
    vt_val pixels, targets, logits, loss, hyper, norm;
    vt_val source; /* masked: where patches come from; else VT_NONE */
    vt_val step;   /* the step's number, for dropout; VT_NONE: no dropout */
    vt_val *param; /* the trained ones */
    size_t params;
    int batch, classes, rows;
    float parts;      /* of a batch, by which the loss of one is divided */
    int forward_end;  /* steps up to the loss */
    int backward_end; /* first step of the update */
    size_t pixel_bytes;
    long batches; /* so far, in all steps */
};

void vt_trainer_free(vt_trainer *t)
{
    if (!t)
        return;
    vt_plan_free(t->plan);
    vt_store_free(t->store);
    free(t->param);
    free(t);
}

/* A pattern without a match is most likely misspelt. */
static vitcl_status check_freeze(const vt_trainer *t)
{
    for (const char *const *p = t->optimizer.freeze; p && *p; p++) {
        bool any = false;

        for (vt_val v = 0; v < vt_plan_values(t->plan) && !any; v++)
            any = vt_value_of(t->plan, v)->kind == VT_PARAM &&
                  fnmatch(*p, vt_value_of(t->plan, v)->name, 0) == 0;
        if (!any)
            return vt_fail(VITCL_EINVAL,
                           "no parameter matches \"%.80s\"; parameters have "
                           "names such as blocks.0.attn.qkv.weight",
                           *p);
    }
    return VITCL_OK;
}

/* Each layer's A is followed by its B, without which it is not saved. */
static vitcl_status check_lora(const vt_trainer *t)
{
    char a[VT_NAME], b[VT_NAME];
    bool any = false;

    for (size_t i = 0; i < t->params; i++) {
        if (!vt_lora_weight(a, vt_trainer_parameter(t, i)->name))
            continue;
        if (++i == t->params ||
            !vt_lora_weight(b, vt_trainer_parameter(t, i)->name) ||
            strcmp(a, b) != 0)
            return vt_fail(VITCL_EINVAL,
                           "%s: only one of LoRA's two matrices is frozen; "
                           "freeze both or neither",
                           a);
        any = true;
    }
    if (t->optimizer.lora && !any)
        return vt_fail(
            VITCL_EUNSUPPORTED,
            "the model has no layer for LoRA that trains: qkv, proj, "
            "fc1 and fc2 of blocks");
    return VITCL_OK;
}

static vitcl_status collect(vt_trainer *t)
{
    size_t n = 0;
    vt_val v;

    VT_RET(
        vt_new(&t->param, (size_t)vt_plan_values(t->plan), sizeof *t->param));
    for (v = 0; v < vt_plan_values(t->plan); v++) {
        const vt_value *x = vt_value_of(t->plan, v);

        if (x->kind == VT_PARAM && x->grad != VT_NONE)
            t->param[n++] = v;
    }
    t->params = n;
    if (n == 0)
        return vt_fail(VITCL_EINVAL,
                       "every parameter is frozen: nothing trains");
    return check_lora(t);
}

/* Logits of the classes, or of each patch's colours. *weight: the factor of the
 * loss, so that rows without targets do not reduce it. */
static vitcl_status write_answers(vt_trainer *t, vt_model *model,
                                  const vt_trainer_options *o, float *weight)
{
    const vt_config *c = vt_model_config(model);
    vt_outputs outputs = {VT_NONE, VT_NONE, VT_NONE};
    vt_build_options options = {.dropout = (float)t->optimizer.dropout,
                                .drop_path = (float)t->optimizer.drop_path,
                                .random_state = o->random_state,
                                .train_step = t->step,
                                .patch_source = VT_NONE};
    vt_plan *p = t->plan;

    t->rows = 1;
    t->source = VT_NONE;
    *weight = 1;
    if (o->masked) {
        t->rows = (o->height / c->patch_h) * (o->width / c->patch_w);
        t->source =
            vt_input(p, "patch_source", VT_I32, 2, (int[]){o->batch, t->rows});
        *weight = (float)t->rows / (float)vt_mask_count(t->rows);
    }
    options.patch_source = t->source;
    vt_model_build(p, model, t->pixels, &options, &outputs);
    VT_RET(vt_plan_status(p));
    t->logits = outputs.logits;
    if (o->masked && outputs.patches != VT_NONE)
        t->logits = vt_dense(p, outputs.patches, "mpp_head", VT_COLOURS, true,
                             VT_ACT_NONE, VT_NONE, VT_NONE);
    if (o->masked)
        vt_keep(p, t->logits);
    if (t->logits == VT_NONE)
        return vt_fail(VITCL_EUNSUPPORTED,
                       o->masked ? "the model has no patches to be predicted"
                                 : "the model has no classifier to train; give "
                                   "it a head");
    return VITCL_OK;
}

static vitcl_status write_plan(vt_trainer *t, vt_model *model,
                               const vt_trainer_options *o)
{
    vt_plan *p = t->plan;
    float weight;

    t->pixels = vt_input(p, "pixel_values", VT_F32, 4,
                         (int[]){o->batch, 3, o->height, o->width});
    t->step = VT_NONE;
    if (t->optimizer.dropout > 0 || t->optimizer.drop_path > 0)
        t->step = vt_input(p, "train_step", VT_I32, 1, (int[]){1});
    VT_RET(write_answers(t, model, o, &weight));
    t->classes = vt_dim(p, t->logits, -1);
    t->targets = o->masked ? vt_input(p, "targets", VT_F32, 3,
                                      (int[]){o->batch, t->rows, t->classes})
                           : vt_input(p, "targets", VT_F32, 2,
                                      (int[]){o->batch, t->classes});
    t->loss = vt_cross_entropy(p, t->logits, t->targets, weight / t->parts);
    vt_name(p, t->loss, "loss");
    vt_keep(p, t->loss);
    t->forward_end = vt_plan_steps(p);
    vt_plan_backward(p, t->loss, vt_add);
    VT_RET(vt_plan_status(p));
    VT_RET(vt_model_learns(model, p));
    VT_RET(check_freeze(t));
    VT_RET(collect(t));
    t->backward_end = vt_plan_steps(p);
    t->hyper = vt_input(p, "hyper", VT_F32, 1, (int[]){VT_HYPER});
    VT_RET(vt_update_add(&t->norm, p, &t->optimizer, t->param, t->params,
                         t->hyper));
    return vt_plan_finish(p);
}

vitcl_status vt_trainer_new(vt_trainer **out, vt_model *model,
                            const vt_optimizer_config *optimizer,
                            const vt_trainer_options *options)
{
    vitcl_status st = VITCL_OK;
    vt_trainer *t = NULL;
    vt_plan_options o = {.dev = options->dev,
                         .gemm = options->gemm,
                         .precision = options->precision,
                         .backward = true,
                         .exact = options->exact,
                         .train = true,
                         .freeze = optimizer->freeze,
                         .only = optimizer->lora ? vt_lora_trained : NULL,
                         .lora = optimizer->lora,
                         .lora_scale =
                             (float)vt_optimizer_config_lora(optimizer)};

    VT_TRY(VT_NEW(&t, 1));
    t->optimizer = *optimizer;
    t->batch = options->batch;
    t->parts = options->pictures
                   ? (float)options->pictures / (float)options->batch
                   : (float)VT_MAX(optimizer->micro_batches, 1);
    t->pixel_bytes = sizeof(float) * 3 * (size_t)options->batch *
                     (size_t)options->height * (size_t)options->width;
    t->source_of = (vt_lora_source){model, options->random_state,
                                    (unsigned)optimizer->lora};
    VT_TRY(vt_store_new(&t->store, options->dev, vt_lora_read, &t->source_of));
    o.store = t->store;
    VT_TRY(vt_plan_new(&t->plan, &o));
    VT_TRY(write_plan(t, model, options));
    *out = t, t = NULL;
done:
    vt_trainer_free(t);
    return st;
}

int vt_trainer_classes(const vt_trainer *t)
{
    return t->classes;
}

int vt_trainer_rows(const vt_trainer *t)
{
    return t->rows;
}

static size_t answers(const vt_trainer *t)
{
    return (size_t)t->batch * (size_t)t->rows * (size_t)t->classes;
}

vitcl_status vt_trainer_corrupt(vt_trainer *t, const int32_t *source)
{
    return vt_plan_write(t->plan, t->source, source,
                         sizeof *source * (size_t)t->batch * (size_t)t->rows);
}

static vitcl_status run_steps(vt_trainer *t, int end, const vt_halts *halts)
{
    int at = 0;

    for (size_t i = 0; halts && i < halts->count; i++) {
        VT_RET(vt_plan_run_part(t->plan, at, halts->step[i]));
        at = halts->step[i];
        VT_RET(halts->reached(halts->context, i));
    }
    return vt_plan_run_part(t->plan, at, end);
}

static vitcl_status run(double *loss, vt_trainer *t, const float *pixels,
                        const float *targets, int end, int32_t step,
                        const vt_halts *halts)
{
    float value = 0;

    VT_RET(vt_plan_write(t->plan, t->pixels, pixels, t->pixel_bytes));
    VT_RET(vt_plan_write(t->plan, t->targets, targets,
                         sizeof(float) * answers(t)));
    if (t->step != VT_NONE)
        VT_RET(vt_plan_write(t->plan, t->step, &step, sizeof step));
    VT_RET(run_steps(t, end, halts));
    VT_RET(vt_plan_read(t->plan, t->loss, &value, 1));
    *loss = (double)value * (double)t->parts;
    return VITCL_OK;
}

vitcl_status vt_trainer_batch(double *loss, vt_trainer *t, const float *pixels,
                              const float *targets)
{
    return vt_trainer_batch_halting(loss, t, pixels, targets, NULL);
}

vitcl_status vt_trainer_batch_halting(double *loss, vt_trainer *t,
                                      const float *pixels, const float *targets,
                                      const vt_halts *halts)
{
    return run(loss, t, pixels, targets, t->backward_end,
               (int32_t)(t->batches++ & INT32_MAX), halts);
}

vitcl_status vt_trainer_evaluate(double *loss, vt_trainer *t,
                                 const float *pixels, const float *targets)
{
    return run(loss, t, pixels, targets, t->forward_end, -1, NULL);
}

vitcl_status vt_trainer_logits(float *out, vt_trainer *t)
{
    return vt_plan_read(t->plan, t->logits, out, answers(t));
}

static vitcl_status all_finite(bool *out, const vt_trainer *t, vt_val v)
{
    vitcl_status st = VITCL_OK;
    const uint64_t n = vt_elements(t->plan, v);
    float *data = NULL;

    *out = true;
    if (vt_value_of(t->plan, v)->dtype == VT_I32 ||
        vt_value_of(t->plan, v)->dtype == VT_U8 ||
        vt_value_of(t->plan, v)->dtype == VT_I8)
        return VITCL_OK;
    VT_TRY(vt_new(&data, n, sizeof *data));
    VT_TRY(vt_plan_read(t->plan, v, data, n));
    for (uint64_t i = 0; i < n && *out; i++)
        *out = isfinite(data[i]);
done:
    free(data);
    return st;
}

vitcl_status vt_trainer_blame(char *out, size_t size, vt_trainer *t)
{
    snprintf(out, size, "nothing");
    for (int i = 0; i < t->backward_end; i++) {
        const vt_step *s = vt_plan_step(t->plan, i);
        const char *name;

        VT_RET(vt_plan_run_part(t->plan, i, i + 1));
        for (int k = 0; k < VT_OUTS; k++) {
            bool good = true;

            if (s->out[k] == VT_NONE)
                continue;
            VT_RET(all_finite(&good, t, s->out[k]));
            if (good)
                continue;
            name = vt_value_of(t->plan, s->out[k])->name;
            snprintf(out, size, "step %d of the plan, %s%s%s", i, s->op->name,
                     name[0] ? " " : "", name);
            return VITCL_OK;
        }
    }
    return VITCL_OK;
}

void vt_trainer_begin(vt_trainer *t, long step, uint32_t micro_batch)
{
    t->batches =
        step * VT_MAX(t->optimizer.micro_batches, 1) + (long)micro_batch;
}

vitcl_status vt_trainer_update(vt_trainer *t, double lr, long step)
{
    float hyper[VT_HYPER] = {0};

    hyper[0] = (float)lr;
    hyper[1] = (float)(1 - pow(t->optimizer.beta1, (double)(step + 1)));
    hyper[2] = (float)(1 - pow(t->optimizer.beta2, (double)(step + 1)));
    VT_RET(vt_plan_write(t->plan, t->hyper, hyper, sizeof hyper));
    return vt_plan_run_part(t->plan, t->backward_end, vt_plan_steps(t->plan));
}

vitcl_status vt_trainer_grad_norm(double *out, vt_trainer *t)
{
    float norm = 0;

    VT_RET(vt_plan_read(t->plan, t->norm, &norm, 1));
    *out = (double)norm;
    return VITCL_OK;
}

size_t vt_trainer_parameters(const vt_trainer *t)
{
    return t->params;
}

const vt_value *vt_trainer_parameter(const vt_trainer *t, size_t index)
{
    return vt_value_of(t->plan, t->param[index]);
}

uint64_t vt_trainer_elements(const vt_trainer *t, size_t index)
{
    return vt_elements(t->plan, t->param[index]);
}

int vt_trainer_gradient_end(const vt_trainer *t, size_t index)
{
    const vt_val grad = vt_grad(t->plan, t->param[index]);

    for (int i = t->backward_end; i > t->forward_end; i--) {
        const vt_step *s = vt_plan_step(t->plan, i - 1);

        for (int k = 0; k < VT_INS; k++)
            if (s->in[k] == grad)
                return i;
    }
    return t->forward_end;
}

static vitcl_status kept(vt_val *out, const vt_trainer *t, size_t index,
                         const char *kind)
{
    char name[128];
    const vt_value *w = vt_trainer_parameter(t, index);

    if (!kind[0]) {
        *out = t->param[index];
        return VITCL_OK;
    }
    snprintf(name, sizeof name, "%s.%s", kind, w->name);
    *out = vt_plan_find(t->plan, name);
    return *out != VT_NONE
               ? VITCL_OK
               : vt_fail(VITCL_EINVAL, "%s: no %s is kept", w->name, kind);
}

vitcl_status vt_trainer_read(float *out, vt_trainer *t, size_t index,
                             const char *kind)
{
    vt_val v;

    VT_RET(kept(&v, t, index, kind));
    return vt_plan_read(t->plan, v, out, vt_elements(t->plan, v));
}

vitcl_status vt_trainer_write(vt_trainer *t, size_t index, const char *kind,
                              const float *data)
{
    vt_val v;

    VT_RET(kept(&v, t, index, kind));
    return vt_plan_write(t->plan, v, data,
                         sizeof *data * vt_elements(t->plan, v));
}

vt_plan_memory vt_trainer_memory(const vt_trainer *t)
{
    return vt_plan_memory_of(t->plan);
}

void vt_targets(float *out, const int64_t *label, int batch, int classes,
                double smoothing)
{
    for (int b = 0; b < batch; b++)
        for (int k = 0; k < classes; k++)
            out[b * classes + k] =
                (float)(smoothing / classes +
                        (label[b] == k ? 1.0 - smoothing : 0.0));
}
