/*
 * loop.c - epochs over labelled pictures, with checkpoints.
 *
 * A step depends on training.safetensors and the step's number alone: batches,
 * schedule and dropout are functions of (random state, step). Resuming
 * therefore needs no other state.
 */
#include "train/loop_state.h"

#include "base/memory.h"
#include "train/run_dir.h"

#include <math.h>
#include <stdio.h>

/* ---- scoring ---- */

static vitcl_status score_held(vitcl_train_event *e, vt_loop *l)
{
    vitcl_status st = VITCL_OK;
    const double asked = (double)(l->held.count * l->answers.asked);
    vt_evidence kept = {0};
    vt_score_sums t;

    if (!l->s->masked)
        VT_TRY(vt_evidence_new(&kept, l->held.count, l->feed.classes));
    l->held.evidence = &kept;
    VT_TRY(vt_score_held_out(&t, &l->answers, &l->held));
    if (l->ranks->rank == 0)
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
static vitcl_status keep_best(vitcl_train_event *e, vt_loop *l)
{
    vt_notes *n = &l->notes;
    const double accuracy = e->held_out_accuracy;
    const double loss =
        isnan(e->held_out_loss) ? (double)INFINITY : e->held_out_loss;

    if (n->best_epoch > 0 &&
        (accuracy < n->best_accuracy ||
         (!(accuracy > n->best_accuracy) && !(loss < n->best_loss))))
        return VITCL_OK;
    if (l->ranks->rank == 0)
        VT_RET(vt_checkpoint_best(&l->checkpoint));
    n->best_epoch = e->epoch;
    n->best_accuracy = accuracy;
    n->best_loss = loss;
    e->best = 1;
    give_best(e, n);
    return VITCL_OK;
}

/* After `steps` steps. */
static bool patience_ends(const vt_loop *l, long steps)
{
    const double epoch = (double)(steps / l->epoch_steps);

    return l->s->o.patience && l->notes.best_epoch > 0 &&
           steps % l->epoch_steps == 0 &&
           epoch - l->notes.best_epoch >= l->s->o.patience;
}

/* ---- steps ---- */

static vitcl_status not_finite(vt_loop *l, double loss, long step)
{
    const bool resumes = *l->job->kept || (l->job->resume && l->feed.first > 0);
    char what[192];

    VT_RET(vt_trainer_blame(what, sizeof what, l->trainer));
    return vt_fail(
        VITCL_EINVAL,
        "step %ld: the loss is %g; first output that is not finite: %s; %s "
        "with a learning rate below %g%s",
        step + 1, loss, what, resumes ? "resume" : "start again", l->s->o.lr,
        resumes ? "; if that ends the same way, begin a new training run" : "");
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

/* A pass without a picture would add zeros: it is left out. */
static vitcl_status one_pass(vt_micro_result *out, vt_loop *l,
                             const vt_batch *b, long step, uint32_t pass,
                             const vt_halts *halts)
{
    uint32_t at;
    const uint32_t n = vt_share_pass(&at, &l->share, pass);
    const float *targets;
    vt_score_sums tally = {0};
    double loss;
    vt_batch part;

    *out = (vt_micro_result){0};
    if (n == 0)
        return VITCL_OK;
    vt_filled_take(&part, &l->filled, b, at, n);
    vt_trainer_begin(l->trainer, step, pass);
    VT_RET(vt_answers_begin(&targets, &l->answers, &part));
    VT_RET(vt_trainer_batch_halting(&loss, l->trainer, part.pixels, targets,
                                    halts));
    if (!isfinite(loss))
        return not_finite(l, loss, step);
    VT_RET(vt_answers_count(&tally, &l->answers, targets, n));
    *out = (vt_micro_result){loss, tally.right};
    return VITCL_OK;
}

/* Does no later pass of this rank's last slice have a picture? */
static bool completes(const vt_loop *l, uint32_t first, uint32_t i)
{
    uint32_t at;

    return i + vt_share_passes(&l->share) >= l->passes &&
           (i + 1 == l->passes ||
            vt_share_pass(&at, &l->share, first + i + 1) == 0);
}

/* This rank's part of a batch: its gradients, losses and right answers. */
static vitcl_status my_passes(vt_loop *l, const vt_batch *b, long step)
{
    const uint32_t first = l->ranks->rank * l->passes;
    const uint32_t a_slice = vt_share_passes(&l->share);

    for (uint32_t i = 0; i < l->passes; i++) {
        VT_RET(one_pass(&l->mine[i], l, b, step, first + i,
                        l->slices && completes(l, first, i)
                            ? vt_slices_halts(l->slices)
                            : NULL));
        if (l->slices && (i + 1) % a_slice == 0 && i + 1 < l->passes)
            VT_RET(vt_slices_add(l->slices));
    }
    if (l->slices)
        VT_RET(vt_slices_total(l->slices));
    return VITCL_OK;
}

static vitcl_status one_step(vitcl_train_event *e, vt_loop *l, long step)
{
    const uint32_t micro = l->s->o.micro;
    uint64_t right = 0;
    double sum = 0;
    vt_batch b;

    VT_RET(vt_batches_next(&b, l->batches));
    if (l->job->show && step == l->feed.first)
        VT_RET(vt_training_show(l->job, &l->feed, &b, step));
    VT_RET(my_passes(l, &b, step));
    VT_RET(vt_ranks_gather(l->ranks, l->all, l->mine,
                           l->passes * sizeof *l->mine));
    for (uint32_t i = 0; i < l->passes * l->ranks->count; i++) {
        sum += l->all[i].loss;
        right += l->all[i].right;
    }
    e->lr = vt_learning_rate(&l->schedule, step);
    VT_RET(vt_trainer_update(l->trainer, e->lr, step));
    VT_RET(vt_trainer_grad_norm(&e->grad_norm, l->trainer));
    e->step = (uint64_t)step + 1;
    e->epoch = (uint32_t)(step / l->epoch_steps) + 1;
    e->loss = sum * micro / l->s->o.batch;
    e->accuracy = (double)right / (double)(l->s->o.batch * l->answers.asked);
    count_step(e, &l->notes, step % l->epoch_steps == 0);
    return VITCL_OK;
}

static vitcl_status save(vitcl_train_event *e, const vt_loop *l)
{
    if (!e->saved && l->ranks->rank == 0)
        VT_RET(vt_checkpoint_save(&l->checkpoint, (long)e->step));
    e->saved = 1;
    *l->job->kept = true;
    return VITCL_OK;
}

/* A resumed training reports a step again whose pictures were not scored. */
static void repeat_event(vitcl_train_event *e, const vt_loop *l)
{
    const vt_notes *n = &l->notes;

    e->epoch = (uint32_t)((long)e->step / l->epoch_steps);
    e->lr = vt_learning_rate(&l->schedule, (long)e->step - 1);
    e->loss = l->unscored.loss;
    e->accuracy = l->unscored.accuracy;
    e->grad_norm = (double)NAN;
    e->epoch_loss = n->loss / n->steps;
    e->epoch_accuracy = n->accuracy / n->steps;
}

/* All ranks stop when rank 0 does. */
static vitcl_status report(bool *stop, const vitcl_train_event *e,
                           const vt_loop *l)
{
    const vt_training *job = l->job;
    const bool told =
        l->ranks->rank == 0 && job->report && job->report(job->context, e) != 0;

    *stop = told || e->early;
    return vt_ranks_agree(l->ranks, stop);
}

/* Scores, saves and reports. If scoring is stopped, the saved state says so.
 * Returns VITCL_ESTOPPED then. */
static vitcl_status end_step(vitcl_train_event *e, vt_loop *l, bool *stop)
{
    vitcl_status st = VITCL_OK;
    const vt_training *job = l->job;
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
    VT_TRY(report(stop, e, l));
    if (*stop)
        VT_TRY(save(e, l));
done:
    return st;
}

/* Was it stopped while it was prepared, for instance while kernels were
 * compiled? */
static vitcl_status stopped_before(bool *stop, const vt_loop *l)
{
    const vt_training *job = l->job;

    *stop = l->ranks->rank == 0 && job->scoring &&
            job->scoring(job->context, 0, 0) != 0;
    return vt_ranks_agree(l->ranks, stop);
}

static vitcl_status go(vitcl_train_event *out, vt_loop *l, long first)
{
    vitcl_train_event e = {.size = sizeof e,
                           .step = (uint64_t)first,
                           .steps = (uint64_t)l->steps,
                           .epochs = l->s->o.epochs,
                           .pictures = l->s->o.batch};
    const vt_plan_memory memory = vt_trainer_memory(l->trainer);
    bool stop = !l->unscored.due && patience_ends(l, first);

    if ((stop || first == l->steps) && first > 0 && l->ranks->rank == 0)
        VT_RET(vt_checkpoint_model(&l->checkpoint));
    e.early = stop;
    give_best(&e, &l->notes);
    e.activation_bytes = memory.arena;
    e.kept_bytes = memory.kept;
    e.state_bytes = memory.states;
    if (l->unscored.due) {
        repeat_event(&e, l);
        VT_RET(end_step(&e, l, &stop));
    }
    *out = e;
    if (!stop && first < l->steps)
        VT_RET(stopped_before(&stop, l));
    for (long step = first; step < l->steps && !stop; step++) {
        VT_RET(one_step(&e, l, step));
        VT_RET(end_step(&e, l, &stop));
        *out = e;
    }
    return VITCL_OK;
}

/* Copies of the data on other machines may be of another day. */
static vitcl_status check_copies(const vt_training *job, const vt_dataset *d,
                                 const char *what)
{
    char text[VT_RANKS_TEXT] = "", theirs[VT_RANKS_TEXT];
    uint32_t other;

    if (!job->ranks->mpi || !d)
        return VITCL_OK;
    VT_RET(vt_dataset_hash(text, d));
    VT_RET(vt_ranks_alike(job->ranks, text, &other, theirs));
    if (other) {
        VT_RET(vt_ranks_leave(job->ranks));
        return vt_fail(
            VITCL_EINVAL,
            "rank %u has other pictures %s than rank 0: names, labels "
            "or contents differ; give all ranks the same",
            other, what);
    }
    return VITCL_OK;
}

/* Scores of other pictures are not compared. The state is written before the
 * settings: a training that is killed between them has still forgotten. */
static vitcl_status renew(vt_loop *l, long step)
{
    vt_notes *n = &l->notes;

    if (l->s->other_val && n->best_epoch > 0) {
        n->best_epoch = n->best_accuracy = n->best_loss = 0;
        VT_RET(vt_checkpoint_save(&l->checkpoint, step));
    }
    if (l->s->renewed)
        VT_RET(vt_settings_save(l->s, l->job->folder));
    return VITCL_OK;
}

vitcl_status vt_train(vitcl_train_event *out, const vt_training *job)
{
    vitcl_status st = VITCL_OK;
    vt_loop l = {0};
    long first = 0;

    VT_TRY(vt_loop_open(&l, job));
    if (job->resume) {
        VT_TRY(vt_checkpoint_load(&first, &l.checkpoint));
        VT_TRY(vt_checkpoint_check_best(job->folder));
    } else {
        VT_TRY(vt_checkpoint_save(&l.checkpoint, 0));
    }
    if (job->ranks->rank == 0)
        VT_TRY(vt_run_dir_begun(job->folder));
    if (first > l.steps)
        VT_TRY(
            vt_fail(VITCL_EINVAL,
                    "%s: %ld steps are done, but epochs %u is only %ld; give "
                    "more epochs",
                    job->folder, first, l.s->o.epochs, l.steps));
    VT_TRY(renew(&l, first));
    if (job->ranks->rank == 0) /* the others wait for what is written here */
        VT_TRY(vt_ranks_wait(job->ranks));
    VT_TRY(check_copies(job, job->data, "to train with"));
    VT_TRY(check_copies(job, job->val, "to score"));
    l.feed.first = first;
    if (first < l.steps)
        VT_TRY(vt_batches_new(&l.batches, &l.feed));
    VT_TRY(job->begins(job->with));
    if (job->preview)
        VT_TRY(vt_training_preview(job, &l.feed));
    VT_TRY(go(out, &l, first));
    if (job->predicted && l.s->masked &&
        (out->step == out->steps || out->early))
        VT_TRY(vt_training_predicted(job, &l.answers, &l.held, out->step));
done:
    vt_loop_close(&l);
    return st;
}
