/*
 * loop.c - epochs over labelled pictures, with checkpoints.
 *
 * A step depends on training.safetensors and the step's number alone: batches,
 * schedule and dropout are functions of (random state, step). Resuming
 * therefore needs no other state.
 */
#include "train/loop.h"

#include "base/memory.h"
#include "data/batches.h"
#include "data/classes.h"
#include "models/model.h"
#include "models/preprocess.h"
#include "train/certainty.h"
#include "train/checkpoint.h"
#include "train/score.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define HOLD 0x686f6c64u /* random stream for held-out pictures */

typedef struct loop {
    const vt_job *job;
    const vt_settings *s;
    vt_model *model;
    vt_trainer *trainer;
    vt_optimizer_config optimizer;
    vt_schedule schedule;
    vt_checkpoint checkpoint;
    vt_notes notes;
    vt_unscored unscored;
    vt_batches_options feed;
    vt_batches *batches;
    size_t *chosen, trained; /* the trained ones, then those held out */
    size_t *val;             /* all of job->val */
    vt_held_out held;        /* of no pictures: none are scored */
    vt_answers answers;
    long steps, epoch_steps;
} loop;

static void close_loop(loop *l)
{
    vt_batches_free(l->batches);
    vt_answers_free(&l->answers);
    vt_trainer_free(l->trainer);
    vt_model_close(l->model);
    free(l->chosen);
    free(l->val);
}

/* ---- beginning ---- */

static vitcl_status choose(loop *l)
{
    vitcl_status st = VITCL_OK;
    const size_t n = vt_dataset_count(l->job->data);
    vt_random r = vt_random_new(l->s->random_state ^ HOLD, n, 0);

    if (l->s->hold_out >= n)
        return vt_fail(VITCL_EINVAL, "cannot hold out %u of %zu pictures",
                       l->s->hold_out, n);
    VT_TRY(VT_NEW(&l->chosen, n));
    vt_shuffle(l->chosen, n, vt_random_next(&r));
    l->trained = n - l->s->hold_out;
    l->held = (vt_held_out){.feed = &l->feed,
                            .d = l->job->data,
                            .chosen = l->chosen + l->trained,
                            .count = l->s->hold_out};
    l->epoch_steps = vt_batches_steps(l->trained, l->s->batch, true);
    l->steps = l->epoch_steps * (long)l->s->epochs;
    if (l->steps / l->epoch_steps != (long)l->s->epochs || l->steps > INT32_MAX)
        st = vt_fail(VITCL_EINVAL,
                     "too many epochs: a training has at most 2^31 - 1 steps");
done:
    return st;
}

/* Pictures of their own to score. */
static vitcl_status open_val(loop *l)
{
    vitcl_status st = VITCL_OK;
    const vt_dataset *val = l->job->val;
    const size_t n = val ? vt_dataset_count(val) : 0;

    if (!val)
        return VITCL_OK;
    VT_TRY(VT_NEW(&l->val, n));
    for (size_t i = 0; i < n; i++)
        l->val[i] = i;
    l->held.d = val;
    l->held.chosen = l->val;
    l->held.count = n;
    l->held.label = l->job->val_label;
done:
    return st;
}

/* A training must be resumed with the pictures and classes it began with. */
static vitcl_status check_data(const loop *l)
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

/* A trained parameter must be a tensor of the file, or it could not be saved.
 */
static vitcl_status check_parameters(const loop *l)
{
    for (size_t i = 0; i < vt_trainer_parameters(l->trainer); i++) {
        const char *name = vt_trainer_parameter(l->trainer, i)->name;

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
static vitcl_status start_averages(loop *l)
{
    vitcl_status st = VITCL_OK;
    float *data = NULL;

    for (size_t i = 0; i < vt_trainer_parameters(l->trainer); i++) {
        const vt_value *v = vt_trainer_parameter(l->trainer, i);
        uint64_t n = 1;

        for (int d = 0; d < v->rank; d++)
            n *= (uint64_t)v->dim[d];
        free(data), data = NULL;
        VT_TRY(vt_new(&data, n, sizeof *data));
        VT_TRY(vt_trainer_read(data, l->trainer, i, ""));
        VT_TRY(vt_trainer_write(l->trainer, i, "ema", data));
    }
done:
    free(data);
    return st;
}

/* Options of the batches. */
static vitcl_status open_feed(loop *l)
{
    vitcl_status st = VITCL_OK;
    const vt_job *job = l->job;
    const vt_settings *s = l->s;
    const vt_config *c = vt_model_config(l->model);

    l->feed = (vt_batches_options){.d = job->data,
                                   .chosen = l->chosen,
                                   .count = l->trained,
                                   .batch = s->batch,
                                   .height = (uint32_t)c->height,
                                   .width = (uint32_t)c->width_px,
                                   .classes =
                                       (uint32_t)vt_trainer_classes(l->trainer),
                                   .patch_h = s->masked ? c->patch_h : 0,
                                   .patch_w = s->masked ? c->patch_w : 0,
                                   .augmented = true,
                                   .smoothing = l->optimizer.label_smoothing,
                                   .random_state = s->random_state,
                                   .end = l->steps,
                                   .workers = job->workers};
    if (!vt_augment_named(&l->feed.augment, s->augment, l->feed.height,
                          l->feed.width))
        VT_TRY(vt_fail(VITCL_EINVAL,
                       "augmentation \"%s\" is none of none, crop, light, full",
                       s->augment));
    VT_TRY(vt_augment_change(&l->feed.augment, vt_json_get(s->json, "settings"),
                             "settings"));
    VT_TRY(vt_model_preprocess(&l->feed.how, l->model, l->feed.height,
                               l->feed.width));
done:
    return st;
}

static vitcl_status open_loop(loop *l, const vt_job *job)
{
    vitcl_status st = VITCL_OK;
    const vt_config *c;
    const vt_settings *s = job->settings;

    l->job = job, l->s = s;
    VT_TRY(choose(l));
    VT_TRY(open_val(l));
    VT_TRY(vt_settings_optimizer(&l->optimizer, &l->schedule, s, l->steps));
    VT_TRY(vt_model_open(&l->model, job->folder));
    VT_TRY(check_data(l));
    c = vt_model_config(l->model);
    VT_TRY(vt_trainer_new(
        &l->trainer, l->model, &l->optimizer,
        &(vt_trainer_options){.dev = job->dev,
                              .gemm = job->gemm,
                              .precision = s->precision,
                              .batch = (int)s->micro,
                              .height = c->height,
                              .width = c->width_px,
                              .masked = s->masked,
                              .random_state = (unsigned)s->random_state}));
    VT_TRY(check_parameters(l));
    VT_TRY(vt_answers_new(&l->answers, l->trainer, s->micro, s->masked,
                          l->optimizer.label_smoothing));
    l->checkpoint =
        (vt_checkpoint){job->folder,     l->trainer, l->model,    &l->optimizer,
                        s->random_state, &l->notes,  &l->unscored};
    l->held.averages = l->optimizer.ema > 0;
    l->held.progress = job->scoring;
    l->held.context = job->context;
    VT_TRY(open_feed(l));
    if (l->optimizer.ema > 0)
        VT_TRY(start_averages(l));
done:
    return st;
}

/* ---- scoring ---- */

static vitcl_status score_held(vitcl_train_event *e, loop *l)
{
    vitcl_status st = VITCL_OK;
    const double asked = (double)(l->held.count * l->answers.asked);
    vt_evidence kept = {0};
    vt_tally t;

    if (!l->s->masked)
        VT_TRY(vt_evidence_new(&kept, l->held.count, l->feed.classes));
    l->held.evidence = &kept;
    VT_TRY(vt_score_held_out(&t, &l->answers, &l->held));
    VT_TRY(vt_evidence_save(&kept, l->job->folder));
    e->scored = 1;
    e->held_out_loss = t.loss / asked;
    e->held_out_accuracy = (double)t.right / asked;
    e->held_out_top5 =
        l->feed.classes > 5 ? (double)t.right5 / asked : (double)NAN;
done:
    vt_evidence_free(&kept);
    l->held.evidence = NULL;
    return st;
}

static void give_best(vitcl_train_event *e, const vt_notes *n)
{
    e->best_epoch = (uint32_t)n->best_epoch;
    e->best_accuracy = n->best_accuracy;
    e->best_loss = n->best_loss;
}

/* Writes best/ before the state that says so: a training that is killed between
 * the two scores this epoch again and writes the same model. */
static vitcl_status keep_best(vitcl_train_event *e, loop *l)
{
    vitcl_status st = VITCL_OK;
    vt_notes *n = &l->notes;
    const double accuracy = e->held_out_accuracy;
    const double loss =
        isnan(e->held_out_loss) ? (double)INFINITY : e->held_out_loss;

    if (n->best_epoch > 0 &&
        (accuracy < n->best_accuracy ||
         (!(accuracy > n->best_accuracy) && !(loss < n->best_loss))))
        return VITCL_OK;
    VT_TRY(vt_checkpoint_best(&l->checkpoint));
    n->best_epoch = e->epoch;
    n->best_accuracy = accuracy;
    n->best_loss = loss;
    e->best = 1;
    give_best(e, n);
done:
    return st;
}

/* After `steps` steps. */
static bool patience_ends(const loop *l, long steps)
{
    const double epoch = (double)(steps / l->epoch_steps);

    return l->job->patience && l->notes.best_epoch > 0 &&
           steps % l->epoch_steps == 0 &&
           epoch - l->notes.best_epoch >= l->job->patience;
}

/* ---- steps ---- */

static vitcl_status not_finite(loop *l, double loss, long step)
{
    const bool resumes = l->job->resume || *l->job->kept;
    vitcl_status st;
    char what[192];

    VT_TRY(vt_trainer_blame(what, sizeof what, l->trainer));
    st = vt_fail(VITCL_EINVAL,
                 "step %ld: the loss is %g; first output that is not finite: "
                 "%s; %s with a learning rate below %g%s",
                 step + 1, loss, what, resumes ? "resume" : "start again",
                 l->s->lr,
                 resumes ? "; if that ends so too, begin a new training" : "");
done:
    return st;
}

/* Adds this step to its epoch's means. */
static void count_step(vitcl_train_event *e, vt_notes *n, bool first)
{
    if (first)
        n->steps = n->loss = n->accuracy = 0;
    n->steps++;
    n->loss += e->loss;
    n->accuracy += e->accuracy;
    e->epoch_loss = n->loss / n->steps;
    e->epoch_accuracy = n->accuracy / n->steps;
}

static vitcl_status one_step(vitcl_train_event *e, loop *l, long step)
{
    vitcl_status st = VITCL_OK;
    const uint32_t micro = l->s->micro;
    const size_t picture = 3 * (size_t)l->feed.height * l->feed.width;
    const float *targets;
    vt_tally tally = {0};
    double sum = 0, loss;
    vt_batch b;

    VT_TRY(vt_batches_next(&b, l->batches));
    if (l->job->show && step == l->feed.first)
        VT_TRY(vt_job_show(l->job, &l->feed, &b, step));
    vt_trainer_begin(l->trainer, step);
    for (uint32_t at = 0; at < l->s->batch; at += micro) {
        VT_TRY(vt_answers_begin(&targets, &l->answers, &b, at));
        VT_TRY(vt_trainer_batch(&loss, l->trainer, b.pixels + at * picture,
                                targets));
        if (!isfinite(loss)) {
            st = not_finite(l, loss, step);
            goto done;
        }
        sum += loss;
        VT_TRY(vt_answers_count(&tally, &l->answers, targets, micro));
    }
    e->lr = vt_learning_rate(&l->schedule, step);
    VT_TRY(vt_trainer_update(l->trainer, e->lr, step));
    e->step = (uint64_t)step + 1;
    e->epoch = (uint32_t)(step / l->epoch_steps) + 1;
    e->loss = sum * micro / l->s->batch;
    e->accuracy =
        (double)tally.right / (double)(l->s->batch * l->answers.asked);
    count_step(e, &l->notes, step % l->epoch_steps == 0);
done:
    return st;
}

static vitcl_status save(vitcl_train_event *e, const loop *l)
{
    vitcl_status st = VITCL_OK;

    if (!e->saved)
        VT_TRY(vt_checkpoint_save(&l->checkpoint, (long)e->step));
    e->saved = 1;
    *l->job->kept = true;
done:
    return st;
}

/* A resumed training reports a step again whose pictures were not scored. */
static void repeat_event(vitcl_train_event *e, const loop *l)
{
    const vt_notes *n = &l->notes;

    e->epoch = (uint32_t)((long)e->step / l->epoch_steps);
    e->lr = vt_learning_rate(&l->schedule, (long)e->step - 1);
    e->loss = l->unscored.loss;
    e->accuracy = l->unscored.accuracy;
    e->epoch_loss = n->loss / n->steps;
    e->epoch_accuracy = n->accuracy / n->steps;
}

/* Scores, saves and reports. If scoring is stopped, the saved state says so.
 * Returns VITCL_ESTOPPED then. */
static vitcl_status end_step(vitcl_train_event *e, loop *l, bool *stop)
{
    vitcl_status st = VITCL_OK;
    const vt_job *job = l->job;
    const bool end = (long)e->step % l->epoch_steps == 0;

    e->scored = e->saved = e->best = 0;
    if (end && l->held.count) {
        l->unscored = (vt_unscored){true, e->loss, e->accuracy};
        st = score_held(e, l);
        if (st == VITCL_ESTOPPED) {
            VT_TRY(save(e, l));
            st = vt_fail(VITCL_ESTOPPED, "stopped by the caller");
        }
        VT_TRY(st);
        VT_TRY(keep_best(e, l));
    }
    l->unscored.due = false;
    if (end || (job->checkpoint_steps &&
                (long)e->step % (long)job->checkpoint_steps == 0))
        VT_TRY(save(e, l));
    e->early = patience_ends(l, (long)e->step);
    *stop = job->report && job->report(job->context, e);
    if (*stop)
        VT_TRY(save(e, l));
    *stop = *stop || e->early;
done:
    return st;
}

static vitcl_status go(vitcl_train_event *out, loop *l, long first)
{
    vitcl_status st = VITCL_OK;
    vitcl_train_event e = {.size = sizeof e,
                           .step = (uint64_t)first,
                           .steps = (uint64_t)l->steps,
                           .epochs = l->s->epochs,
                           .pictures = l->s->batch};
    const vt_plan_memory memory = vt_trainer_memory(l->trainer);
    bool stop = !l->unscored.due && patience_ends(l, first);

    e.early = stop;
    give_best(&e, &l->notes);
    e.activation_bytes = memory.arena;
    e.kept_bytes = memory.kept;
    e.state_bytes = memory.states;
    if (l->unscored.due) {
        repeat_event(&e, l);
        VT_TRY(end_step(&e, l, &stop));
    }
    *out = e;
    for (long step = first; step < l->steps && !stop; step++) {
        VT_TRY(one_step(&e, l, step));
        VT_TRY(end_step(&e, l, &stop));
        *out = e;
    }
done:
    return st;
}

vitcl_status vt_train(vitcl_train_event *out, const vt_job *job)
{
    vitcl_status st = VITCL_OK;
    loop l = {0};
    long first = 0;

    VT_TRY(open_loop(&l, job));
    if (job->resume)
        VT_TRY(vt_checkpoint_load(&first, &l.checkpoint));
    else
        VT_TRY(vt_checkpoint_save(&l.checkpoint, 0));
    if (first > l.steps) {
        st = vt_fail(VITCL_EINVAL,
                     "%s: %ld steps are done, but epochs %u is only %ld; give "
                     "more epochs",
                     job->folder, first, l.s->epochs, l.steps);
        goto done;
    }
    if (l.s->changed)
        VT_TRY(vt_settings_save(l.s, job->folder));
    l.feed.first = first;
    if (first < l.steps)
        VT_TRY(vt_batches_new(&l.batches, &l.feed));
    VT_TRY(job->begins(job->with));
    if (job->preview)
        VT_TRY(vt_job_preview(job, &l.feed));
    VT_TRY(go(out, &l, first));
    if (job->predicted && l.s->masked &&
        (out->step == out->steps || out->early))
        VT_TRY(vt_job_predicted(job, &l.answers, &l.held, out->step));
done:
    close_loop(&l);
    return st;
}
