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
#include "train/settings_check.h"
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

static void put_text(FILE *f, const char *key, const char *value)
{
    if (!value)
        return;
    fprintf(f, ",\n  \"%s\": ", key);
    vt_json_print_string(f, value);
}

static void put_number(FILE *f, const char *key, double value)
{
    if (value != 0)
        vt_print(f, ",\n  \"%s\": %.17g", key, value);
}

static void put_options(FILE *f, const vitcl_train_options *o)
{
    put_text(f, "preset", o->preset);
    put_text(f, "config", o->config);
    put_text(f, "model", o->model);
    put_text(f, "data", o->data);
    put_text(f, "split", o->split);
    put_text(f, "val", o->val);
    put_text(f, "augment", o->augment);
    put_text(f, "objective", o->objective);
    put_text(f, "pixels", o->pixels);
    put_text(f, "columns", o->columns);
    if (o->precision != VITCL_F32)
        put_text(f, "precision", vt_precision_name(o->precision));
    put_number(f, "epochs", o->epochs);
    put_number(f, "batch", o->batch);
    put_number(f, "micro", o->micro);
    put_number(f, "slices", o->slices);
    put_number(f, "lr", o->lr);
    put_number(f, "random_state", (double)o->random_state);
    put_number(f, "height", o->height);
    put_number(f, "width", o->width);
    put_number(f, "hold_out", o->hold_out);
    put_number(f, "patience", o->patience);
    put_number(f, "follow", o->follow != 0);
    if (o->freeze && o->freeze[0]) {
        fputs(",\n  \"freeze\": [", f);
        for (size_t i = 0; o->freeze[i]; i++) {
            fputs(i ? ", " : "", f);
            vt_json_print_string(f, o->freeze[i]);
        }
        fputc(']', f);
    }
}

/* Overrides from the settings; other members are unchanged. */
static vitcl_status read_schedule(vt_schedule *out, const vt_json *settings,
                                  const char *name)
{
    static const char *const words[] = {"constant", "linear", "cosine"};
    vitcl_status st = VITCL_OK;
    vt_schedule s = *out;
    const vt_json *warmup = vt_json_get(settings, "warmup_steps");
    const char *word = words[s.decay];
    uint64_t steps = (uint64_t)s.warmup;
    size_t i = 0;

    VT_TRY(vt_optimizer_config_word(&word, settings, "schedule", name));
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
    VT_TRY(vt_json_within(&s.floor, vt_json_get(settings, "min_lr"), "min_lr",
                          0, VT_LR_MAX, name));
    s.decay = (vt_decay)i;
    s.warmup = (long)steps;
    *out = s;
done:
    return st;
}

/* Checks the settings' keys and values before anything is started. */
static vitcl_status check_file(const vt_json *settings, double lr,
                               const char *path)
{
    static const char *const keys[] = {
        "schedule", "min_lr", "warmup_steps", "color_jitter", "aa", "magnitude",
        "reprob",   "mixup",  "mixup_prob",   "cutmix",       NULL};
    vitcl_status st = VITCL_OK;
    vt_optimizer_config optimizer = {.optimizer = VT_ADAMW};
    vt_augment augment = {0};
    vt_schedule schedule = {.decay = VT_COSINE};

    VT_TRY(vt_optimizer_config_keys(settings, keys, path));
    VT_TRY(vt_optimizer_config_change(&optimizer, settings, path));
    VT_TRY(vt_augment_change(&augment, settings, path));
    VT_TRY(read_schedule(&schedule, settings, path));
    if (lr > 0 && schedule.floor > lr)
        st = vt_fail(VITCL_ECORRUPT,
                     "%s: \"min_lr\" %g is above the learning rate %g", path,
                     schedule.floor, lr);
done:
    return st;
}

/* *out: NULL if no file is given. */
static vitcl_status load_file(vt_json **out, const vitcl_train_options *o)
{
    *out = NULL;
    return o->settings ? vt_json_load(out, o->settings, 1 << 20, 8) : VITCL_OK;
}

/* settings: those of load_file(). */
static vitcl_status to_json(vt_json **out, const vitcl_train_options *o,
                            const vt_json *settings, const vt_dataset *d)
{
    vitcl_status st = VITCL_OK;
    char *json = NULL;
    vt_text text;

    VT_TRY(vt_settings_check_names(o, d));
    if (settings)
        VT_TRY(check_file(settings, o->lr, o->settings));
    VT_TRY(vt_text_open(&text));
    fputs("{\n  \"format\": \"vitcl-training\"", text.f);
    put_options(text.f, o);
    if (settings) {
        fputs(",\n  \"settings\": ", text.f);
        vt_json_print(text.f, settings);
    }
    put_number(text.f, "pictures", d ? vt_dataset_count(d) : 0);
    put_number(text.f, "classes", d ? vt_dataset_classes(d) : 0);
    fputs("\n}\n", text.f);
    VT_TRY(vt_text_take(&json, &text));
    VT_TRY(vt_json_parse(out, json, text.size, 10, "settings"));
done:
    free(json);
    return st;
}

/* ---- JSON -> settings ---- */

static vitcl_status read_counts(vt_settings *s, const vt_json *json,
                                const char *name)
{
    const struct {
        const char *key;
        uint32_t *to;
    } counts[] = {{"epochs", &s->epochs},     {"batch", &s->batch},
                  {"micro", &s->micro},       {"slices", &s->slices},
                  {"height", &s->height},     {"width", &s->width},
                  {"hold_out", &s->hold_out}, {"patience", &s->patience},
                  {"pictures", &s->pictures}, {"classes", &s->classes},
                  {"follow", &s->follow}};

    for (size_t i = 0; i < VT_COUNT(counts); i++) {
        const vt_json *v = vt_json_get(json, counts[i].key);
        uint64_t n = 0;

        if (v && (!vt_json_uint(&n, v) || n > INT32_MAX))
            return vt_fail(VITCL_ECORRUPT,
                           "%s: \"%s\" must be a whole number below 2^31", name,
                           counts[i].key);
        *counts[i].to = (uint32_t)n;
    }
    return VITCL_OK;
}

static vitcl_status read_texts(vt_settings *s, const vt_json *json,
                               const char *name)
{
    const struct {
        const char *key, **to;
    } texts[] = {{"preset", &s->preset},       {"config", &s->config},
                 {"model", &s->model},         {"data", &s->data},
                 {"split", &s->split},         {"augment", &s->augment},
                 {"objective", &s->objective}, {"val", &s->val},
                 {"pixels", &s->pixels},       {"columns", &s->columns}};
    vitcl_status st = VITCL_OK;
    const char *precision = "f32";

    for (size_t i = 0; i < VT_COUNT(texts); i++)
        VT_TRY(vt_optimizer_config_word(texts[i].to, json, texts[i].key, name));
    VT_TRY(vt_optimizer_config_word(&precision, json, "precision", name));
    if (!vt_precision_parse(&s->precision, precision))
        return vt_fail(VITCL_ECORRUPT, "%s: unknown precision \"%.80s\"", name,
                       precision);
    s->masked = s->objective && strcmp(s->objective, masked) == 0;
done:
    return st;
}

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
done:
    return st;
}

/* Takes ownership of json. */
static vitcl_status from_json(vt_settings *out, vt_json *json, const char *name)
{
    vitcl_status st = VITCL_OK;
    const vt_json *state = vt_json_get(json, "random_state");
    vt_settings s = {.json = json};

    VT_TRY(read_counts(&s, json, name));
    s.slices = VT_MAX(s.slices, 1u);
    VT_TRY(read_texts(&s, json, name));
    VT_TRY(read_freeze(&s, vt_json_get(json, "freeze"), name));
    VT_TRY(vt_json_within(&s.lr, vt_json_get(json, "lr"), "lr", 0, VT_LR_MAX,
                          name));
    if (state && !vt_json_uint(&s.random_state, state)) {
        st = vt_fail(VITCL_ECORRUPT,
                     "%s: \"random_state\" must be a whole number", name);
        goto done;
    }
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
    vitcl_status st;

    VT_TRY(vt_optimizer_config_word(&optimizer, settings, "optimizer",
                                    o->settings));
    o->lr = strcmp(optimizer, "sgd") == 0 ? 0.01
            : mask                        ? 2e-4
                                          : VT_MAX(5e-4 * o->batch / 512, 1e-4);
done:
    return st;
}

/* Refuses keys of the file that the others leave without effect. */
static vitcl_status check_used(const vt_settings *s, const char *path)
{
    vitcl_status st = VITCL_OK;
    const vt_json *file = vt_json_get(s->json, "settings");
    vt_optimizer_config optimizer;
    vt_schedule schedule;
    vt_augment augment;

    VT_TRY(vt_settings_optimizer(&optimizer, &schedule, s, 0));
    VT_TRY(vt_optimizer_config_used(&optimizer, file, path));
    (void)vt_augment_named(&augment, s->augment, 1, 1); /* checked before */
    VT_TRY(vt_augment_change(&augment, file, path));
    if (s->masked)
        VT_TRY(vt_settings_check_masked(file, path));
    if (augment.mixup == 0 && augment.cutmix == 0 &&
        vt_json_get(file, "mixup_prob"))
        st = vt_fail(VITCL_ECORRUPT,
                     "%s: \"mixup_prob\" needs \"mixup\" or \"cutmix\" above 0",
                     path);
    else if (schedule.decay == VT_CONSTANT && vt_json_get(file, "min_lr"))
        st = vt_fail(VITCL_ECORRUPT,
                     "%s: \"min_lr\" needs \"schedule\": \"cosine\" or "
                     "\"linear\"",
                     path);
done:
    return st;
}

vitcl_status vt_settings_new(vt_settings *out, const vitcl_train_options *o,
                             const vt_dataset *d)
{
    vitcl_status st = VITCL_OK;
    vitcl_train_options r = *o;
    vt_json *settings = NULL, *json = NULL;

    VT_TRY(load_file(&settings, o));
    r.epochs = o->epochs ? o->epochs : 1;
    r.batch = o->batch ? o->batch : 64;
    r.micro = o->micro
                  ? o->micro
                  : vt_share_longest(&(vt_share){
                        .pictures = r.batch, .slices = VT_MAX(o->slices, 1u)});
    r.augment = o->augment ? o->augment : "light";
    if (o->lr == 0)
        VT_TRY(choose_rate(&r, settings));
    VT_TRY(vt_settings_check(&r));
    VT_TRY(to_json(&json, &r, settings, d));
    VT_TRY(from_json(out, json, "settings"));
    st = check_used(out, o->settings);
    if (st != VITCL_OK)
        vt_settings_free(out);
done:
    vt_json_free(settings);
    return st;
}

/* ---- resuming ---- */

/* A file's settings must pass the same checks as options. */
static vitcl_status check_old(const vt_settings *s, const char *folder,
                              const char *path)
{
    const vt_json *file = vt_json_get(s->json, "settings");
    const vitcl_train_options o = {.preset = s->preset,
                                   .config = s->config,
                                   .model = s->model,
                                   .data = s->data,
                                   .output = folder,
                                   .augment = s->augment,
                                   .objective = s->objective,
                                   .pixels = s->pixels,
                                   .precision = s->precision,
                                   .epochs = s->epochs,
                                   .batch = s->batch,
                                   .micro = s->micro,
                                   .slices = s->slices,
                                   .hold_out = s->hold_out,
                                   .val = s->val,
                                   .patience = s->patience,
                                   .lr = s->lr,
                                   .random_state = s->random_state};

    if (!s->batch || !s->epochs || !s->micro || !s->data || !s->augment ||
        s->lr == 0)
        return vt_fail(VITCL_ECORRUPT, "%s: required settings are missing",
                       path);
    if (vt_settings_check(&o) != VITCL_OK)
        return vt_fail_in(VITCL_ECORRUPT, "%s", path);
    return file ? check_file(file, s->lr, path) : VITCL_OK;
}

/* What a resumed training scores, with what was given to resume it. */
static vitcl_status check_scored(const vt_settings *s,
                                 const vitcl_train_options *o)
{
    if (o->val && s->hold_out)
        return vt_fail(VITCL_EINVAL,
                       "%s: this training began with held-out pictures; omit "
                       "val to resume",
                       o->output);
    if (o->patience && !s->val && !s->hold_out)
        return vt_fail(VITCL_EINVAL,
                       "%s: this training scores no pictures, so it cannot "
                       "have patience; give val",
                       o->output);
    return VITCL_OK;
}

vitcl_status vt_settings_load(vt_settings *out, const vitcl_train_options *o)
{
    vitcl_status st = VITCL_OK;
    const char *val = NULL;
    vt_json *old = NULL, *given = NULL, *merged = NULL, *settings = NULL;
    char *path = NULL, *changed = NULL;
    bool renewed;

    VT_TRY(vt_format(&path, "%s/training.json", o->output));
    if (!vt_path_exists(path)) {
        st = vt_fail(VITCL_EIO, "%s: no training to resume", o->output);
        goto done;
    }
    VT_TRY(vt_json_load(&old, path, 1 << 20, 10));
    VT_TRY(load_file(&settings, o));
    VT_TRY(to_json(&given, o, settings, NULL));
    VT_TRY(
        vt_changes_apply(&merged, &changed, &renewed, old, given, o->output));
    VT_TRY(from_json(out, merged, path));
    out->changed = changed, changed = NULL;
    out->renewed = renewed;
    out->other_val = o->val && vt_json_string(&val, vt_json_get(old, "val")) &&
                     strcmp(o->val, val) != 0;
    st = check_scored(out, o);
    if (st == VITCL_OK)
        st = check_old(out, o->output, path);
    if (st != VITCL_OK)
        vt_settings_free(out);
done:
    free(changed);
    vt_json_free(settings);
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
    vitcl_status st = VITCL_OK;
    const vt_json *j = vt_json_get(s->json, "settings");
    const bool tune = s->model != NULL, full = strcmp(s->augment, "full") == 0;
    vt_schedule plan = {.decay = VT_COSINE,
                        .lr = s->lr,
                        .warmup = VT_MIN(steps / 20, tune ? 500 : 10000),
                        .steps = steps};
    const vt_share share = {s->batch, s->slices, s->micro};
    vt_optimizer_config r = {.optimizer = tune ? VT_SGD : VT_ADAMW,
                             .momentum = 0.9,
                             .beta1 = 0.9,
                             .beta2 = 0.999,
                             .eps = 1e-8,
                             .weight_decay = tune ? 0 : 0.05,
                             .decay_matrices = true,
                             .clip_norm = 1,
                             .label_smoothing = full ? 0.1 : 0,
                             .micro_batches =
                                 (int)(vt_share_passes(&share) * s->slices),
                             .freeze = s->freeze};

    if (s->masked) /* as in the paper, appendix B.1.2 */
        r.optimizer = VT_ADAM, r.weight_decay = 0;
    VT_TRY(vt_optimizer_config_change(&r, j, "settings"));
    VT_TRY(read_schedule(&plan, j, "settings"));
    *schedule = plan;
    *optimizer = r;
done:
    return st;
}
