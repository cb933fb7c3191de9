/*
 * settings.c - convert a training's settings between options and JSON.
 */
#include "train/settings.h"

#include "base/file.h"
#include "base/json_print.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "train/changes.h"
#include "train/model_files.h"
#include "train/settings_rules.h"
#include "train/share.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char masked[] = VT_OBJECTIVE_MASKED;

void vt_settings_free(vt_settings *s)
{
    free(s->freeze);
    free(s->changed);
    vt_json_free(s->json);
    *s = (vt_settings){0};
}

/* ---- options -> JSON ---- */

static void put_number(vt_json_writer *w, const char *key, double value)
{
    if (value != 0)
        vt_json_put(w, "%s:%.17g", key, value);
}

static void put_text(vt_json_writer *w, const char *key, const char *text)
{
    if (text)
        vt_json_put(w, "%s:%s", key, text);
}

/* One that is not given is left out. */
static void put(vt_json_writer *w, const vt_setting *r, const vt_settings *s)
{
    const void *at = (const char *)s + r->at;
    const char *const *pattern;
    vitcl_precision precision;

    switch (r->kind) {
    case VT_SETTING_TEXT:
        put_text(w, r->key, *(const char *const *)at);
        break;
    case VT_SETTING_COUNT:
        put_number(w, r->key, *(const uint32_t *)at);
        break;
    case VT_SETTING_FLAG:
        put_number(w, r->key, *(const int *)at != 0);
        break;
    case VT_SETTING_RATE:
        put_number(w, r->key, *(const double *)at);
        break;
    case VT_SETTING_STATE:
        put_number(w, r->key, (double)*(const uint64_t *)at);
        break;
    case VT_SETTING_PRECISION:
        precision = *(const vitcl_precision *)at;
        if (precision != VITCL_F32)
            put_text(w, r->key, vt_precision_name(precision));
        break;
    case VT_SETTING_PATTERNS:
        pattern = *(const char *const *const *)at;
        if (!pattern || !pattern[0])
            break;
        vt_json_put(w, "%s:[", r->key);
        while (*pattern)
            vt_json_put(w, "%s", *pattern++);
        vt_json_put(w, "]");
        break;
    case VT_SETTING_FILE:
        if (!s->file)
            break;
        vt_json_put(w, "%s:", r->key);
        vt_json_print(vt_json_raw(w), s->file);
        break;
    }
}

/* Overrides from the settings; other members are unchanged. */
static vitcl_status read_schedule(vt_schedule *out, const vt_json *settings,
                                  const char *name)
{
    static const char *const words[] = {"constant", "linear", "cosine"};
    vt_schedule s = *out;
    const vt_json *warmup = vt_json_get(settings, "warmup_steps");
    const char *word = words[s.decay];
    uint64_t steps = (uint64_t)s.warmup;
    size_t i = 0;

    VT_RET(vt_optimizer_config_word(&word, settings, "schedule", name));
    while (i < VT_COUNT(words) && strcmp(word, words[i]) != 0)
        i++;
    if (i == VT_COUNT(words))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: schedule \"%.80s\" is none of cosine, linear, "
                       "constant",
                       name, word);
    if (warmup && (!vt_json_uint(&steps, warmup) || steps > INT32_MAX))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: \"warmup_steps\" must be a whole number, 0 or more",
                       name);
    VT_RET(vt_json_within(&s.floor, vt_json_get(settings, "min_lr"), "min_lr",
                          0, VT_LR_MAX, name));
    s.decay = (vt_decay)i;
    s.warmup = (long)steps;
    *out = s;
    return VITCL_OK;
}

/* Checks the settings' keys and values before anything is started. */
static vitcl_status check_file(const vt_json *settings, double lr,
                               const char *path)
{
    static const char *const keys[] = {
        "schedule", "min_lr", "warmup_steps", "color_jitter", "aa", "magnitude",
        "reprob",   "mixup",  "mixup_prob",   "cutmix",       NULL};
    vt_optimizer_config optimizer = {.optimizer = VT_ADAMW};
    vt_augment augment = {0};
    vt_schedule schedule = {.decay = VT_COSINE};

    VT_RET(vt_optimizer_config_keys(settings, keys, path));
    VT_RET(vt_optimizer_config_change(&optimizer, settings, path));
    VT_RET(vt_augment_change(&augment, settings, path));
    VT_RET(read_schedule(&schedule, settings, path));
    if (lr > 0 && schedule.floor > lr)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: \"min_lr\" %g is above the learning rate %g", path,
                       schedule.floor, lr);
    return VITCL_OK;
}

/* *out: NULL if no file is given. */
static vitcl_status load_file(vt_json **out, const vitcl_train_options *o)
{
    *out = NULL;
    return o->settings ? vt_json_load(out, o->settings, 1 << 20, 8) : VITCL_OK;
}

/* s: what was given, and settings of load_file(). */
static vitcl_status to_json(vt_json **out, vt_settings *s, const vt_dataset *d)
{
    vitcl_status st = VITCL_OK;
    vt_json_writer w = {.more = false};
    char *json = NULL;
    vt_text text;

    s->pictures = d ? vt_dataset_count(d) : 0;
    s->classes = d ? vt_dataset_classes(d) : 0;
    VT_TRY(vt_settings_check_names(s, d));
    if (s->file)
        VT_TRY(check_file(s->file, s->o.lr, s->o.settings));
    VT_TRY(vt_text_open(&text));
    w.f = text.f;
    vt_json_put(&w, "{format:'vitcl-training'");
    for (const vt_setting *r = vt_setting_rows; r->key; r++)
        put(&w, r, s);
    vt_json_put(&w, "}");
    VT_TRY(vt_text_take(&json, &text));
    VT_TRY(vt_json_parse(out, json, text.size, 10, "settings"));
done:
    free(json);
    return st;
}

/* ---- JSON -> settings ---- */

static vitcl_status read_freeze(vt_settings *s, const vt_json *freeze,
                                const char *name)
{
    vitcl_status st = VITCL_OK;
    bool patterns = vt_json_is_array(freeze);
    size_t n = 0;

    if (!freeze)
        return VITCL_OK;
    VT_TRY(VT_NEW(&s->freeze, vt_json_count(freeze) + 1));
    for (const vt_json *m = vt_json_first(freeze); m && patterns;
         m = vt_json_next(m))
        patterns = vt_json_string(&s->freeze[n++], m);
    if (!patterns)
        st = vt_fail(VITCL_ECORRUPT,
                     "%s: \"freeze\" must be a list of patterns", name);
    s->o.freeze = s->freeze;
done:
    return st;
}

/* v: NULL if it was not given. */
static vitcl_status read(vt_settings *s, const vt_setting *r, const vt_json *v,
                         const char *name)
{
    void *at = (char *)s + r->at;
    const uint64_t most = r->kind == VT_SETTING_STATE ? UINT64_MAX : INT32_MAX;
    const char *text = NULL;
    uint64_t n = 0;

    switch (r->kind) {
    case VT_SETTING_TEXT:
    case VT_SETTING_PRECISION:
        if (v && !vt_json_string(&text, v))
            return vt_fail(VITCL_ECORRUPT, "%s: \"%s\" must be a string", name,
                           r->key);
        if (r->kind == VT_SETTING_TEXT)
            *(const char **)at = text;
        else if (text && !vt_precision_parse(at, text))
            return vt_fail(VITCL_ECORRUPT, "%s: unknown precision \"%.80s\"",
                           name, text);
        break;
    case VT_SETTING_COUNT:
    case VT_SETTING_FLAG:
    case VT_SETTING_STATE:
        if (v && (!vt_json_uint(&n, v) || n > most))
            return vt_fail(VITCL_ECORRUPT,
                           "%s: \"%s\" must be a whole number%s", name, r->key,
                           r->kind == VT_SETTING_STATE ? "" : " below 2^31");
        if (r->kind == VT_SETTING_STATE)
            *(uint64_t *)at = n;
        else if (r->kind == VT_SETTING_FLAG)
            *(int *)at = n != 0;
        else
            *(uint32_t *)at = (uint32_t)n;
        break;
    case VT_SETTING_RATE:
        return vt_json_within(at, v, r->key, 0, VT_LR_MAX, name);
    case VT_SETTING_PATTERNS:
        return read_freeze(s, v, name);
    case VT_SETTING_FILE:
        s->file = v;
        break;
    }
    return VITCL_OK;
}

/* Takes ownership of json. */
static vitcl_status from_json(vt_settings *out, vt_json *json,
                              const char *output, const char *name)
{
    vitcl_status st = VITCL_OK;
    vt_settings s = {.json = json, .o.output = output};

    for (const vt_setting *r = vt_setting_rows; r->key; r++)
        VT_TRY(read(&s, r, vt_json_get(json, r->key), name));
    s.o.slices = VT_MAX(s.o.slices, 1u);
    s.masked = s.o.objective && strcmp(s.o.objective, masked) == 0;
    *out = s, s = (vt_settings){0};
done:
    vt_settings_free(&s);
    return st;
}

/* ---- a new training ---- */

/* By the optimiser: vitcl_train.h. */
static vitcl_status choose_rate(vitcl_train_options *o, const vt_json *settings)
{
    const bool mask = o->objective && strcmp(o->objective, masked) == 0;
    const char *optimizer = o->model ? "sgd" : "adamw";

    VT_RET(vt_optimizer_config_word(&optimizer, settings, "optimizer",
                                    o->settings));
    o->lr = strcmp(optimizer, "sgd") == 0 ? 0.01
            : mask                        ? 2e-4
                                          : VT_MAX(5e-4 * o->batch / 512, 1e-4);
    return VITCL_OK;
}

/* Refuses keys of the file that the others leave without effect. */
static vitcl_status check_used(const vt_settings *s, const char *path)
{
    const vt_json *file = s->file;
    vt_optimizer_config optimizer;
    vt_schedule schedule;
    vt_augment augment;

    VT_RET(vt_settings_optimizer(&optimizer, &schedule, s, 0));
    VT_RET(vt_optimizer_config_used(&optimizer, file, path));
    (void)vt_augment_named(&augment, s->o.augment, 1, 1); /* checked before */
    VT_RET(vt_augment_change(&augment, file, path));
    if (s->masked)
        VT_RET(vt_settings_check_masked(file, path));
    if (augment.mixup == 0 && augment.cutmix == 0 &&
        vt_json_get(file, "mixup_prob"))
        return vt_fail(
            VITCL_ECORRUPT,
            "%s: \"mixup_prob\" needs \"mixup\" or \"cutmix\" above 0", path);
    else if (schedule.decay == VT_CONSTANT && vt_json_get(file, "min_lr"))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: \"min_lr\" needs \"schedule\": \"cosine\" or "
                       "\"linear\"",
                       path);
    return VITCL_OK;
}

vitcl_status vt_settings_new(vt_settings *out, const vitcl_train_options *o,
                             const vt_dataset *d)
{
    vitcl_status st = VITCL_OK;
    vt_settings r = {.o = *o};
    vt_json *file = NULL, *json = NULL;

    VT_TRY(load_file(&file, o));
    r.file = file;
    r.o.epochs = o->epochs ? o->epochs : 1;
    r.o.batch = o->batch ? o->batch : 64;
    r.o.micro =
        o->micro ? o->micro
                 : vt_share_longest(&(vt_share){
                       .pictures = r.o.batch, .slices = VT_MAX(o->slices, 1u)});
    r.o.augment = o->augment ? o->augment : "light";
    if (o->lr == 0)
        VT_TRY(choose_rate(&r.o, file));
    VT_TRY(vt_settings_check(&r));
    VT_TRY(to_json(&json, &r, d));
    VT_TRY(from_json(out, json, o->output, "settings"));
    st = check_used(out, o->settings);
    if (st != VITCL_OK)
        vt_settings_free(out);
done:
    vt_json_free(file);
    return st;
}

/* ---- resuming ---- */

/* A file's settings must pass the same checks as options. */
static vitcl_status check_old(const vt_settings *s, const char *path)
{
    const vitcl_train_options *o = &s->o;

    if (!o->batch || !o->epochs || !o->micro || !o->data || !o->augment ||
        o->lr == 0)
        return vt_fail(VITCL_ECORRUPT, "%s: required settings are missing",
                       path);
    if (vt_settings_check(s) != VITCL_OK)
        return vt_fail_in(VITCL_ECORRUPT, "%s", path);
    return s->file ? check_file(s->file, o->lr, path) : VITCL_OK;
}

vitcl_status vt_settings_load(vt_settings *out, const vitcl_train_options *o)
{
    vitcl_status st = VITCL_OK;
    const char *val = NULL;
    vt_settings more = {.o = *o};
    vt_json *old = NULL, *given = NULL, *merged = NULL, *file = NULL;
    char *path = NULL, *changed = NULL;
    bool renewed;

    VT_TRY(vt_format(&path, "%s/training.json", o->output));
    if (!vt_path_exists(path))
        VT_TRY(vt_fail(VITCL_EIO, "%s: no training to resume", o->output));
    VT_TRY(vt_json_load(&old, path, 1 << 20, 10));
    VT_TRY(load_file(&file, o));
    more.file = file;
    VT_TRY(to_json(&given, &more, NULL));
    VT_TRY(
        vt_changes_apply(&merged, &changed, &renewed, old, given, o->output));
    VT_TRY(from_json(out, merged, o->output, path));
    out->changed = changed, changed = NULL;
    out->renewed = renewed;
    out->other_val = o->val && vt_json_string(&val, vt_json_get(old, "val")) &&
                     strcmp(o->val, val) != 0;
    st = vt_settings_check_scored(out, o);
    if (st == VITCL_OK)
        st = check_old(out, path);
    if (st != VITCL_OK)
        vt_settings_free(out);
done:
    free(changed);
    vt_json_free(file);
    vt_json_free(old);
    vt_json_free(given);
    free(path);
    return st;
}

vitcl_status vt_settings_save(const vt_settings *s, const char *folder)
{
    vitcl_status st = VITCL_OK;
    vt_newfile file = {0};
    char *path = NULL;

    VT_TRY(vt_format(&path, "%s/training.json", folder));
    VT_TRY(vt_newfile_open(&file, path));
    vt_json_print(file.f, s->json);
    fputc('\n', file.f);
    VT_TRY(vt_newfile_commit(&file));
done:
    vt_newfile_discard(&file);
    free(path);
    return st;
}

/* ---- optimiser and schedule ---- */

vitcl_status vt_settings_optimizer(vt_optimizer_config *optimizer,
                                   vt_schedule *schedule, const vt_settings *s,
                                   long steps)
{
    const vitcl_train_options *o = &s->o;
    const bool tune = o->model != NULL, full = strcmp(o->augment, "full") == 0;
    vt_schedule plan = {.decay = VT_COSINE,
                        .lr = o->lr,
                        .warmup = VT_MIN(steps / 20, tune ? 500 : 10000),
                        .steps = steps};
    const vt_share share = {o->batch, o->slices, o->micro};
    vt_optimizer_config r = {.optimizer = tune ? VT_SGD : VT_ADAMW,
                             .momentum = 0.9,
                             .beta1 = 0.9,
                             .beta2 = 0.999,
                             .eps = 1e-8,
                             .weight_decay = tune ? 0 : 0.05,
                             .decay_matrices = true,
                             .clip_norm = 1,
                             .layer_decay = o->layer_decay,
                             .lora = (int)o->lora,
                             .label_smoothing = full ? 0.1 : 0,
                             .micro_batches =
                                 (int)(vt_share_passes(&share) * o->slices),
                             .freeze = o->freeze};

    if (s->masked) /* as in the paper, appendix B.1.2 */
        r.optimizer = VT_ADAM, r.weight_decay = 0;
    VT_RET(vt_optimizer_config_change(&r, s->file, "settings"));
    VT_RET(read_schedule(&plan, s->file, "settings"));
    *schedule = plan;
    *optimizer = r;
    return VITCL_OK;
}
