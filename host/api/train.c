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

#include <math.h>
#include <stdio.h>
#include <string.h>
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
    VT_TRY(vt_model_files_write(&p, folder));
done:
    vt_model_files_free(&p);
    vt_json_free(json);
    vt_model_close(m);
    return st;
}

/* Another training may have ended in the folder since it was checked. */
static vitcl_status claim(vt_run_dir *out, const vitcl_train_options *o)
{
    vitcl_status st;

    VT_TRY(vt_run_dir_claim(out, o->output, !o->resume));
    if (!o->resume && (st = vt_run_dir_check(o->output)) != VITCL_OK)
        vt_run_dir_leave(out); /* what is in it is not this training's */
done:
    return st;
}

/* Opens the pictures to score, if there are any; adds to *left_out. */
static vitcl_status open_val(vt_dataset **out, uint32_t **label,
                             uint32_t *left_out, const vt_settings *s,
                             const vitcl_train_options *o,
                             const vt_dataset *data, void *context)
{
    vitcl_status st = VITCL_OK;
    const char *path = s->o.val;

    if (!path)
        return VITCL_OK;
    VT_TRY(vt_dataset_open_as(
        out, path,
        &(vt_dataset_options){
            .validation = true,
            .follow = s->o.follow,
            .columns = vt_path_is_folder(path) ? NULL : s->o.columns}));
    vt_pictures_remark(*out, o, context);
    *left_out += vt_dataset_count(*out);
    VT_TRY(vt_pictures_check(NULL, *out, o, context));
    *left_out -= vt_dataset_count(*out);
    if (vt_dataset_count(*out) == 0) {
        st = vt_fail(VITCL_EINVAL, "%s: no pictures", path);
        goto done;
    }
    if (!s->masked) {
        st = vt_score_match(label, *out, data);
        if (st != VITCL_OK)
            st = vt_fail_in(st, "%s", path);
    }
done:
    return st;
}

typedef struct remarks {
    const vt_dataset *data;
    const vitcl_train_options *options;
    const char *changed; /* by a resumed training; NULL: nothing */
    double asymmetry;    /* NAN: nothing was chosen by it */
    void *context;
} remarks;

static vitcl_status tell(void *with)
{
    const remarks *r = with;

    if (!r->options->resume)
        return vt_pictures_tell(r->data, r->options, r->asymmetry, r->context);
    vt_pictures_changed(r->changed, r->options, r->context);
    return VITCL_OK;
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
    vitcl_status st;
    const vitcl_device_info *d = vt_dev_info(dev);
    char device[VT_RANKS_TEXT] = "", theirs[VT_RANKS_TEXT];
    uint32_t other;

    VT_TRY(vt_ranks_open(out));
    snprintf(device, sizeof device, "%.120s, driver %.120s", d->name,
             d->driver);
    VT_TRY(vt_ranks_alike(out, device, &other, theirs));
    if (other) {
        VT_TRY(vt_ranks_leave(out));
        st = vt_fail(
            VITCL_EINVAL,
            "rank %u computes on %.100s, rank 0 on %.100s; training needs "
            "devices of one kind, because the last bits of others differ",
            other, theirs, device);
    }
done:
    return st;
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

vitcl_status vitcl_train(vitcl_train_event *out, vitcl_device *device,
                         const vitcl_train_options *options,
                         vitcl_train_report report, void *context)
{
    vitcl_status st = VITCL_OK;
    vt_settings s = {0};
    vt_dataset *d = NULL, *val = NULL;
    uint32_t *val_label = NULL, left_out;
    vt_run_dir folder = {0};
    vt_left_out without = {0};
    vitcl_train_event last = {.size = sizeof last};
    vitcl_train_options o = {.resume = 0};
    vt_dataset_options how = {.training = true};
    const char *data;
    double asymmetry = NAN;
    vt_ranks ranks = {.count = 1};
    bool kept = false;

    VT_SIZED(out, vitcl_train_event);
    VT_GIVEN(device);
    VT_GIVEN(options);
    VT_TRY(vt_dev_alive(device->dev));
    VT_TRY(vt_sized_options(&o, sizeof o, options, "vitcl_train_options"));
    VT_TRY(vt_precision_known(o.precision));
    if (!o.output)
        return vt_fail(VITCL_EINVAL, "training needs a folder for its output");
    if (o.ranks)
        VT_TRY(join(&ranks, device->dev));
    if (ranks.rank > 0)
        VT_TRY(follow(&o, &ranks));
    if (ranks.count > 1 && !o.resume && !o.slices)
        o.slices = ranks.count;
    if (o.resume)
        VT_TRY(vt_settings_load(&s, &o));
    else
        VT_TRY(vt_run_dir_check(o.output));
    VT_TRY(check_ranks(&ranks, o.resume ? s.o.slices : VT_MAX(o.slices, 1u)));
    data = o.data ? o.data : s.o.data;
    if (!data) {
        st = vt_fail(VITCL_EINVAL, "training needs data");
        goto done;
    }
    how.split = o.resume ? s.o.split : o.split;
    how.follow = o.resume ? s.o.follow : o.follow != 0;
    how.columns = o.resume ? s.o.columns : o.columns;
    VT_TRY(vt_dataset_open_as(&d, data, &how));
    vt_pictures_remark(d, &o, context);
    left_out = vt_dataset_count(d);
    if (o.resume) {
        VT_TRY(vt_pictures_again(d, o.output));
    } else {
        VT_TRY(vt_settings_new(&s, &o, d)); /* wrong ones, before the wait */
        vt_settings_free(&s);
        VT_TRY(vt_pictures_check(&without, d, &o, context));
        VT_TRY(vt_pictures_judge(d, &o));
        if (!o.augment)
            VT_TRY(vt_pictures_augment(&o.augment, &asymmetry, d));
        VT_TRY(vt_settings_new(&s, &o, d));
    }
    left_out -= vt_dataset_count(d);
    VT_TRY(open_val(&val, &val_label, &left_out, &s, &o, d, context));
    if (val && !o.resume)
        VT_TRY(vt_pictures_shared(d, val, &o, context));
    if (ranks.rank == 0)
        VT_TRY(claim(&folder, &o));
    if (!o.resume) {
        VT_TRY(prepare(&s, o.output, d));
        VT_TRY(vt_left_out_save(&without, o.output));
    }
    VT_TRY(vt_train(&last,
                    &(vt_training){.dev = device->dev,
                                   .gemm = o.gemm,
                                   .folder = o.output,
                                   .settings = &s,
                                   .data = d,
                                   .val = val,
                                   .val_label = val_label,
                                   .resume = o.resume != 0,
                                   .workers = o.workers,
                                   .checkpoint_steps = o.checkpoint_steps,
                                   .report = report,
                                   .show = o.show,
                                   .preview = o.preview,
                                   .predicted = o.predicted,
                                   .scoring = o.checking,
                                   .context = context,
                                   .begins = tell,
                                   .with = &(remarks){.data = d,
                                                      .options = &o,
                                                      .changed = s.changed,
                                                      .asymmetry = asymmetry,
                                                      .context = context},
                                   .ranks = &ranks,
                                   .kept = &kept}));
    VT_TRY(vt_ranks_close(&ranks));
    last.left_out = left_out;
    vt_sized_give(out, &last, sizeof last);
done:
    if (st != VITCL_OK && ranks.rank > 0)
        st = vt_fail_in(st, "rank %u", ranks.rank);
    if (st != VITCL_OK && !o.resume && !kept)
        vt_run_dir_empty(&folder); /* nothing in it can be resumed */
    vt_run_dir_leave(&folder);
    vt_left_out_free(&without);
    vt_settings_free(&s);
    vt_dataset_free(d);
    vt_dataset_free(val);
    free(val_label);
    return st;
}
