/*
 * train.c - run a training from its options: make the folder it starts from,
 * then run the loop. A training that fails before its first checkpoint leaves
 * nothing behind.
 */
#include "api/handles.h"
#include "api/program.h"
#include "base/file.h"
#include "base/memory.h"
#include "models/preprocess.h"
#include "train/arch_spec.h"
#include "train/loop.h"
#include "train/model_files.h"
#include "train/pictures.h"
#include "train/run_dir.h"
#include "train/score.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <vitcl_train.h>

/* Opens the model to fine-tune. A model that init_finetune.c cannot describe is
 * first converted to timm's form in the run folder; those files are replaced
 * later. */
static vitcl_status open_start(vt_model **out, const char *path,
                               const char *folder)
{
    vitcl_status st = VITCL_OK;
    vt_model *m = NULL;

    VT_TRY(vt_model_open(&m, path));
    if (!vt_model_files_finetunes(m)) {
        vt_model_close(m), m = NULL;
        VT_TRY(vitcl_convert(folder, path, "timm", "f32"));
        VT_TRY(vt_model_open(&m, folder));
    }
    *out = m, m = NULL;
done:
    vt_model_close(m);
    return st;
}

/* Writes the folder that training starts from, settings first: they mark what a
 * killed process leaves as safe to overwrite. */
static vitcl_status prepare(const vt_settings *s, const char *folder,
                            const vt_dataset *d)
{
    vitcl_status st = VITCL_OK;
    vt_model_files p = {0};
    vt_json *json = NULL;
    vt_model *m = NULL;
    vt_pixels pixels;
    char *base = NULL;

    VT_TRY(vt_run_dir_begin(folder));
    VT_TRY(vt_settings_save(s, folder));
    if (s->o.model) {
        VT_TRY(open_start(&m, s->o.model, folder));
        if (s->o.pixels && vt_pixels_named(&pixels, s->o.pixels))
            vt_model_choose_pixels(m, pixels);
        VT_TRY(vt_model_files_finetune(&p, m, s->o.height, s->o.width, d));
    } else {
        if (s->o.config)
            VT_TRY(vt_json_load(&json, s->o.config, 1 << 20, 16));
        VT_TRY(vt_model_files_random(&p, s->o.preset, json, s->o.config,
                                     s->o.height, s->o.width,
                                     s->masked ? NULL : d, s->o.random_state));
    }
    if (s->o.lora)
        VT_TRY(vt_format(&base, "%s/" VT_RUN_DIR_BASE, folder));
    if (base && mkdir(base, 0777) != 0 && errno != EEXIST)
        VT_TRY(vt_fail(VITCL_EIO, "%s: cannot create the folder: %s", base,
                       strerror(errno)));
    if (base)
        VT_TRY(vt_model_files_write(&p, base));
    VT_TRY(vt_model_files_write(&p, folder));
done:
    free(base);
    vt_model_files_free(&p);
    vt_json_free(json);
    vt_model_close(m);
    return st;
}

/* A training on its way to vt_train(). */
typedef struct starting {
    vitcl_train_options o;
    void *context; /* the caller's */
    vt_settings s;
    vt_dataset *d, *val;
    uint32_t *val_label;
    uint32_t left_out;
    vt_left_out without;
    double asymmetry; /* NAN: nothing was chosen by it */
    vt_ranks ranks;
    vt_run_dir folder;
    bool kept; /* a checkpoint was written */
} starting;

/* Opens the pictures as these options say; o: the caller's. */
static vitcl_status open_data(starting *t, const vitcl_train_options *as)
{
    const char *path = t->o.data ? t->o.data : as->data;

    if (!path)
        return vt_fail(VITCL_EINVAL, "training needs data");
    VT_RET(vt_dataset_open(&t->d, path,
                           &(vt_dataset_options){.training = true,
                                                 .split = as->split,
                                                 .follow = as->follow != 0,
                                                 .columns = as->columns}));
    vt_pictures_remark(t->d, &t->o, t->context);
    t->left_out = vt_dataset_count(t->d);
    return VITCL_OK;
}

/* Opens the pictures to score, if there are any. */
static vitcl_status open_val(starting *t)
{
    vitcl_status st = VITCL_OK;
    const vitcl_train_options *o = &t->s.o;

    if (!o->val)
        return VITCL_OK;
    VT_TRY(vt_dataset_open(
        &t->val, o->val,
        &(vt_dataset_options){
            .validation = true,
            .follow = o->follow,
            .columns = vt_path_is_folder(o->val) ? NULL : o->columns}));
    vt_pictures_remark(t->val, &t->o, t->context);
    t->left_out += vt_dataset_count(t->val);
    VT_TRY(vt_pictures_check(NULL, t->val, &t->o, t->context));
    t->left_out -= vt_dataset_count(t->val);
    if (vt_dataset_count(t->val) == 0)
        VT_TRY(vt_fail(VITCL_EINVAL, "%s: no pictures", o->val));
    if (!t->s.masked) {
        st = vt_score_match(&t->val_label, t->val, t->d);
        if (st != VITCL_OK)
            st = vt_fail_in(st, "%s", o->val);
    }
done:
    return st;
}

/* Ranks share whole slices. */
static vitcl_status check_ranks(const vt_ranks *r, uint32_t slices)
{
    if (slices % r->count == 0)
        return VITCL_OK;
    return vt_fail(VITCL_EINVAL,
                   "%u ranks cannot share %u slice%s of a batch evenly; start "
                   "at most %u, or begin a new training run with slices %u",
                   r->count, slices, vt_plural(slices), slices, r->count);
}

static vitcl_status join(vt_ranks *out, const vt_dev *dev)
{
    const vitcl_device_info *d = vt_dev_info(dev);
    char device[VT_RANKS_TEXT] = "", theirs[VT_RANKS_TEXT];
    uint32_t other;

    VT_RET(vt_ranks_open(out));
    snprintf(device, sizeof device, "%.120s, driver %.120s", d->name,
             d->driver);
    VT_RET(vt_ranks_alike(out, device, &other, theirs));
    if (other) {
        VT_RET(vt_ranks_leave(out));
        return vt_fail(
            VITCL_EINVAL,
            "rank %u computes on %.100s, rank 0 on %.100s; training needs "
            "devices of one kind, because the last bits of others differ",
            other, theirs, device);
    }
    return VITCL_OK;
}

/* A rank other than 0 waits for the folder that rank 0 writes and goes on from
 * there; settings are those that rank 0 has kept. */
static vitcl_status follow(vitcl_train_options *o, const vt_ranks *r)
{
    const vitcl_train_options given = *o;

    *o = (vitcl_train_options){.size = sizeof *o,
                               .output = given.output,
                               .data = given.data,
                               .gemm = given.gemm,
                               .workers = given.workers,
                               .checkpoint_steps = given.checkpoint_steps,
                               .resume = 1};
    return vt_ranks_wait(r);
}

uint32_t vt_train_rank(uint32_t *ranks)
{
    uint32_t count;

    return vt_ranks_rank(ranks ? ranks : &count);
}

vitcl_status vt_preset_check(const char *preset)
{
    vt_arch_spec spec;

    return vt_arch_spec_preset(&spec, preset);
}

/* Rank 0, or the only one. */
static vitcl_status begin(starting *t)
{
    vitcl_train_options *o = &t->o;
    vitcl_status st;

    if (t->ranks.count > 1 && !o->slices)
        o->slices = t->ranks.count;
    VT_TRY(vt_run_dir_check(o->output));
    VT_TRY(check_ranks(&t->ranks, VT_MAX(o->slices, 1u)));
    VT_TRY(open_data(t, o));
    VT_TRY(vt_settings_new(&t->s, o, t->d)); /* wrong ones, before the wait */
    vt_settings_free(&t->s);
    VT_TRY(vt_pictures_check(&t->without, t->d, o, t->context));
    VT_TRY(vt_pictures_judge(t->d, o));
    if (!o->augment)
        VT_TRY(vt_pictures_augment(&o->augment, &t->asymmetry, t->d));
    VT_TRY(vt_settings_new(&t->s, o, t->d));
    t->left_out -= vt_dataset_count(t->d);
    VT_TRY(open_val(t));
    if (t->val)
        VT_TRY(vt_pictures_shared(t->d, t->val, o, t->context));
    VT_TRY(vt_run_dir_claim(&t->folder, o->output, true));
    st = vt_run_dir_check(o->output);
    if (st != VITCL_OK) { /* another training has ended in it since */
        vt_run_dir_leave(&t->folder);
        goto done;
    }
    VT_TRY(prepare(&t->s, o->output, t->d));
    VT_TRY(vt_left_out_save(&t->without, o->output));
done:
    return st;
}

static vitcl_status resume(starting *t)
{
    VT_RET(vt_settings_load(&t->s, &t->o));
    VT_RET(check_ranks(&t->ranks, t->s.o.slices));
    VT_RET(open_data(t, &t->s.o));
    VT_RET(vt_pictures_again(t->d, t->o.output));
    t->left_out -= vt_dataset_count(t->d);
    VT_RET(open_val(t));
    if (t->ranks.rank == 0)
        VT_RET(vt_run_dir_claim(&t->folder, t->o.output, false));
    return VITCL_OK;
}

/* What a user should know before the first step. */
static vitcl_status tell(void *with)
{
    const starting *t = with;

    if (!t->o.resume)
        return vt_pictures_tell(t->d, &t->o, t->asymmetry, t->context);
    vt_pictures_changed(t->s.changed, &t->o, t->context);
    return VITCL_OK;
}

vitcl_status vitcl_train(vitcl_train_event *out, vitcl_device *device,
                         const vitcl_train_options *options,
                         vitcl_train_report report, void *context)
{
    vitcl_status st = VITCL_OK;
    vitcl_train_event last = {.size = sizeof last};
    starting t = {.context = context, .asymmetry = NAN, .ranks = {.count = 1}};
    const vitcl_train_options *o = &t.o;

    VT_SIZED(out, vitcl_train_event);
    VT_GIVEN(device);
    VT_GIVEN(options);
    VT_TRY(vt_dev_alive(device->dev));
    VT_TRY(vt_sized_options(&t.o, sizeof t.o, options, "vitcl_train_options"));
    VT_TRY(vt_precision_known(o->precision));
    if (!o->output)
        return vt_fail(VITCL_EINVAL, "training needs a folder for its output");
    if (o->ranks)
        VT_TRY(join(&t.ranks, device->dev));
    if (t.ranks.rank > 0)
        VT_TRY(follow(&t.o, &t.ranks));
    VT_TRY((o->resume ? resume : begin)(&t));
    VT_TRY(
        vt_train(&last, &(vt_training){.dev = device->dev,
                                       .gemm = o->gemm,
                                       .folder = o->output,
                                       .settings = &t.s,
                                       .data = t.d,
                                       .val = t.val,
                                       .val_label = t.val_label,
                                       .resume = o->resume != 0,
                                       .workers = o->workers,
                                       .checkpoint_steps = o->checkpoint_steps,
                                       .report = report,
                                       .show = o->show,
                                       .preview = o->preview,
                                       .predicted = o->predicted,
                                       .scoring = o->checking,
                                       .context = context,
                                       .begins = tell,
                                       .with = &t,
                                       .ranks = &t.ranks,
                                       .kept = &t.kept}));
    VT_TRY(vt_ranks_close(&t.ranks));
    last.left_out = t.left_out;
    vt_sized_give(out, &last, sizeof last);
done:
    if (st != VITCL_OK && t.ranks.rank > 0)
        st = vt_fail_in(st, "rank %u", t.ranks.rank);
    if (st != VITCL_OK && !o->resume && !t.kept)
        vt_run_dir_empty(&t.folder); /* nothing in it can be resumed */
    vt_run_dir_leave(&t.folder);
    vt_left_out_free(&t.without);
    vt_settings_free(&t.s);
    vt_dataset_free(t.d);
    vt_dataset_free(t.val);
    free(t.val_label);
    return st;
}
