/*
 * loop_open.c - begin or resume a training: choose pictures, build the trainer.
 */
#include "train/loop_state.h"

#include "base/memory.h"
#include "data/classes.h"
#include "models/model.h"
#include "models/preprocess.h"
#include "train/lora.h"
#include "train/run_dir.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define HOLD 0x686f6c64u /* random stream for held-out pictures */

void vt_loop_close(vt_loop *l)
{
    vt_batches_free(l->batches);
    vt_answers_free(&l->answers);
    vt_slices_free(l->slices);
    vt_trainer_free(l->trainer);
    vt_model_close(l->model);
    vt_filled_free(&l->filled);
    free(l->chosen);
    free(l->val);
    free(l->mine);
    free(l->all);
}

/* ---- beginning ---- */

static vitcl_status choose(vt_loop *l)
{
    const size_t n = vt_dataset_count(l->job->data);
    vt_random r = vt_random_new(l->s->o.random_state ^ HOLD, n, 0);

    if (l->s->o.hold_out >= n)
        return vt_fail(VITCL_EINVAL, "cannot hold out %u of %zu pictures",
                       l->s->o.hold_out, n);
    VT_RET(VT_NEW(&l->chosen, n));
    vt_shuffle(l->chosen, n, vt_random_next(&r));
    l->trained = n - l->s->o.hold_out;
    l->held = (vt_held_out){.feed = &l->feed,
                            .d = l->job->data,
                            .chosen = l->chosen + l->trained,
                            .count = l->s->o.hold_out};
    l->epoch_steps = vt_batches_steps(l->trained, l->s->o.batch, true);
    l->steps = l->epoch_steps * (long)l->s->o.epochs;
    if (l->steps / l->epoch_steps != (long)l->s->o.epochs ||
        l->steps > INT32_MAX)
        return vt_fail(
            VITCL_EINVAL,
            "too many epochs: a training run has at most 2^31 - 1 steps");
    return VITCL_OK;
}

/* Pictures of their own to score. */
static vitcl_status open_val(vt_loop *l)
{
    const vt_dataset *val = l->job->val;
    const size_t n = val ? vt_dataset_count(val) : 0;

    if (!val)
        return VITCL_OK;
    VT_RET(VT_NEW(&l->val, n));
    for (size_t i = 0; i < n; i++)
        l->val[i] = i;
    l->held.d = val;
    l->held.chosen = l->val;
    l->held.count = n;
    l->held.label = l->job->val_label;
    return VITCL_OK;
}

/* With LoRA the run folder's model has other weights after the first step. */
static vitcl_status open_model(vt_loop *l)
{
    vitcl_status st = VITCL_OK;
    char *path = NULL;

    VT_TRY(vt_format(&path, "%s%s", l->job->folder,
                     l->s->o.lora ? "/" VT_RUN_DIR_BASE : ""));
    VT_TRY(vt_model_open(&l->model, path));
done:
    free(path);
    return st;
}

/* A training must be resumed with the pictures and classes it began with. */
static vitcl_status check_data(const vt_loop *l)
{
    vitcl_status st = VITCL_OK;
    const vt_dataset *d = l->job->data;
    const vt_classes data = vt_classes_of_data(d, "the pictures");
    vt_classes known = vt_classes_of_model(
        l->model, (uint32_t)VT_MAX(vt_model_config(l->model)->classes, 0));

    known.whose = "the training";
    if (!l->s->masked && (st = vt_classes_same(&data, &known)) != VITCL_OK)
        return vt_fail_in(st, "%s", l->job->folder);
    if (l->s->pictures != vt_dataset_count(d))
        st = vt_fail(
            VITCL_EINVAL,
            "%s: this training began with %u pictures, but the data now has %u",
            l->job->folder, l->s->pictures, vt_dataset_count(d));
    return st;
}

/* A trained parameter must be a tensor of the file, or it cannot be saved. */
static vitcl_status check_parameters(const vt_loop *l)
{
    for (size_t i = 0; i < vt_trainer_parameters(l->trainer); i++) {
        const char *name = vt_trainer_parameter(l->trainer, i)->name;
        char weight[VT_NAME];

        if (vt_lora_weight(weight, name))
            name = weight;
        if (!vt_model_has(l->model, name))
            return vt_fail(
                VITCL_EUNSUPPORTED,
                "parameter %s is computed from other tensors of the file; "
                "such a model cannot be trained",
                name);
    }
    return VITCL_OK;
}

/* Averages start as copies of their parameters. */
static vitcl_status start_averages(vt_loop *l)
{
    vitcl_status st = VITCL_OK;
    float *data = NULL;

    for (size_t i = 0; i < vt_trainer_parameters(l->trainer); i++) {
        free(data), data = NULL;
        VT_TRY(VT_NEW(&data, vt_trainer_elements(l->trainer, i)));
        VT_TRY(vt_trainer_read(data, l->trainer, i, ""));
        VT_TRY(vt_trainer_write(l->trainer, i, "ema", data));
    }
done:
    free(data);
    return st;
}

static vitcl_status share(vt_loop *l)
{
    const vt_settings *s = l->s;
    const uint32_t n = l->ranks->count, each = s->o.slices / n;
    uint32_t passes;

    l->share = (vt_share){s->o.batch, s->o.slices, s->o.micro};
    passes = vt_share_passes(&l->share) * s->o.slices;
    l->passes = passes / n;
    VT_RET(vt_filled_new(&l->filled, &l->feed, s->o.micro));
    VT_RET(VT_NEW(&l->mine, l->passes));
    VT_RET(VT_NEW(&l->all, passes));
    if (s->o.slices > 1)
        VT_RET(vt_slices_new(&l->slices, l->trainer, l->ranks));
    if (n > 1) {
        l->feed.from = vt_share_begin(&l->share, each * l->ranks->rank);
        l->feed.to = vt_share_begin(&l->share, each * (l->ranks->rank + 1));
        l->feed.first_whole = l->job->show != NULL;
    }
    return VITCL_OK;
}

/* Options of the batches. */
static vitcl_status open_feed(vt_loop *l)
{
    const vt_training *job = l->job;
    const vt_settings *s = l->s;
    const vt_config *c = vt_model_config(l->model);

    l->feed = (vt_batches_options){.d = job->data,
                                   .chosen = l->chosen,
                                   .count = l->trained,
                                   .batch = s->o.batch,
                                   .height = (uint32_t)c->height,
                                   .width = (uint32_t)c->width_px,
                                   .classes =
                                       (uint32_t)vt_trainer_classes(l->trainer),
                                   .patch_h = s->masked ? c->patch_h : 0,
                                   .patch_w = s->masked ? c->patch_w : 0,
                                   .augmented = true,
                                   .smoothing = l->optimizer.label_smoothing,
                                   .random_state = s->o.random_state,
                                   .end = l->steps,
                                   .workers = job->workers};
    if (!vt_augment_named(&l->feed.augment, s->o.augment, l->feed.height,
                          l->feed.width))
        VT_RET(vt_fail(VITCL_EINVAL,
                       "augmentation \"%s\" is none of none, crop, light, full",
                       s->o.augment));
    VT_RET(vt_augment_change(&l->feed.augment, s->file, "settings"));
    return vt_model_preprocess(&l->feed.how, l->model, l->feed.height,
                               l->feed.width);
}

vitcl_status vt_loop_open(vt_loop *l, const vt_training *job)
{
    const vt_config *c;
    const vt_settings *s = job->settings;

    l->job = job, l->s = s, l->ranks = job->ranks;
    VT_RET(choose(l));
    VT_RET(open_val(l));
    VT_RET(vt_settings_optimizer(&l->optimizer, &l->schedule, s, l->steps));
    VT_RET(open_model(l));
    VT_RET(check_data(l));
    c = vt_model_config(l->model);
    VT_RET(vt_trainer_new(
        &l->trainer, l->model, &l->optimizer,
        &(vt_trainer_options){.dev = job->dev,
                              .gemm = job->gemm,
                              .precision = s->o.precision,
                              .batch = (int)s->o.micro,
                              .pictures = (int)s->o.batch,
                              .height = c->height,
                              .width = c->width_px,
                              .masked = s->masked,
                              .random_state = (unsigned)s->o.random_state}));
    VT_RET(check_parameters(l));
    VT_RET(vt_answers_new(&l->answers, l->trainer, s->o.micro, s->masked,
                          l->optimizer.label_smoothing));
    l->checkpoint = (vt_checkpoint){job->folder,   l->trainer,        l->model,
                                    &l->optimizer, s->o.random_state, &l->notes,
                                    &l->unscored};
    l->held.ranks = l->ranks;
    l->held.averages = l->optimizer.ema > 0;
    l->held.progress = job->scoring;
    l->held.context = job->context;
    VT_RET(open_feed(l));
    VT_RET(share(l));
    if (l->optimizer.ema > 0)
        VT_RET(start_averages(l));
    return VITCL_OK;
}
