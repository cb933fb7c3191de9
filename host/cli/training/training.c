/*
 * training.c - runs a training, shows its progress, logs it and stops cleanly.
 */
#include "training.h"

#include "api/program.h"
#include "base/json.h"
#include "base/status.h"
#include "curve.h"
#include "plot/figure.h"
#include "show_batch.h"
#include "training_line.h"
#include "training_log.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct shown {
    const training *t;
    training_log log;  /* --log */
    curve *curve;      /* --curve; its points before a resume are in: */
    training_log kept; /* training.jsonl of the output folder */
    char kept_path[4096];
    training_line line;
    bool any;              /* a step was reported */
    bool checking;         /* pictures, or scoring them */
    progress bar;          /* of what is checked before the first step */
    bool unshown;          /* a sheet could not be written */
    bool batch, predicted; /* were their sheets asked for? */
    double peak;           /* largest learning rate so far */
} shown;

/* Before the first step of this run, which may be long after the training's. */
static void begin(shown *s, const vitcl_train_event *e)
{
    const training *t = s->t;
    const bool first = e->step == 1;
    char activations[BYTES_TEXT], kept[BYTES_TEXT], states[BYTES_TEXT];

    bytes_text(activations, (double)e->activation_bytes);
    bytes_text(kept, (double)e->kept_bytes);
    bytes_text(states, (double)e->state_bytes);
    note("activations %s (the backward pass reads %s), optimiser %s",
         activations, kept, states);
    if (s->curve) {
        curve_epochs(s->curve, e);
        if (!first && !curve_read(s->curve, s->kept_path, e->step) && t->log)
            curve_read(s->curve, t->log, e->step);
    }
    /* once begun it has no gaps, for a later curve */
    if (s->curve || (!first && access(s->kept_path, F_OK) == 0))
        training_log_open(&s->kept, s->kept_path, first);
}

static int report(void *context, const vitcl_train_event *e)
{
    shown *s = context;
    const bool end = e->step == e->steps || e->early ||
                     e->step % (e->steps / e->epochs) == 0;

    guard_end();
    if (!s->any)
        begin(s, e);
    s->any = true;
    training_line_show(&s->line, e);
    training_log_write(&s->log, e, &s->line);
    training_log_write(&s->kept, e, &s->line);
    s->peak = e->lr > s->peak ? e->lr : s->peak;
    if (s->curve)
        curve_add(s->curve, e);
    if (s->curve && (e->saved || e->step == e->steps))
        curve_write(s->curve, s->t->curve, false); /* again at the end */
    if (end)
        training_line_epoch(&s->line, e);
    return stopped();
}

static void tell(void *context, const char *line)
{
    shown *s = context;

    progress_clear(&s->bar);
    training_line_clear(&s->line);
    note("%s", line);
}

/* Before the first step all files are decoded once; at the end of an epoch the
 * held-out ones are scored. */
static int checking(void *context, uint64_t done, uint64_t total)
{
    shown *s = context;

    if (!s->checking)
        progress_start(&s->bar, "pictures", total);
    s->checking = done < total;
    progress_show(&s->bar, done, s->any ? "scoring" : "checking");
    if (done == total)
        progress_clear(&s->bar);
    return stopped();
}

/* A sheet that cannot be written ends nothing but itself. */
static int drawn(shown *s, int code, const char *path, const char *what)
{
    progress_clear(&s->bar);
    training_line_clear(&s->line);
    if (code == EXIT_OK)
        note("%s shows %s", path, what);
    else
        s->unshown = true;
    return stopped();
}

static int show(void *context, const vitcl_train_batch *b)
{
    shown *s = context;
    const char *path = s->t->show_batch;

    s->batch = true;
    return drawn(s, show_batch(b, path), path, "the first batch");
}

static int preview(void *context, const vitcl_train_batch *b)
{
    shown *s = context;
    const char *path = s->t->preview;

    return drawn(s, show_preview(b, path), path, "RandAugment's operations");
}

static int predicted(void *context, const vitcl_train_batch *b)
{
    shown *s = context;
    const char *path = s->t->show_predicted;

    s->predicted = true;
    return drawn(s, show_predicted(b, path), path, "the predicted patches");
}

static int cannot_become(const training *t, const char *old, const char *given,
                         const char *why)
{
    return fail("%s: this training began with %s, which cannot become %s: %s; "
                "omit it to resume, or begin a new training run",
                t->o.output, old, given, why);
}

/* The library, for which 0 and f32 are not given, checks all others. */
static int check_defaults(const training *t)
{
    const bool f32 = t->precision && strcmp(t->precision, "f32") == 0;
    const bool zero = t->random_state.given && !t->random_state.value;
    char path[4096], old[128];
    const char *precision = "f32";
    uint64_t state = 0;
    vt_json *json = NULL;
    int code = EXIT_OK;

    snprintf(path, sizeof path, "%s/training.json", t->o.output);
    if ((!f32 && !zero) || vt_json_load(&json, path, 1 << 20, 10) != VITCL_OK)
        return EXIT_OK; /* the library says what is wrong with the file */
    (void)vt_json_string(&precision, vt_json_get(json, "precision"));
    (void)vt_json_uint(&state, vt_json_get(json, "random_state"));
    if (f32 && strcmp(precision, "f32") != 0) {
        snprintf(old, sizeof old, "precision \"%.80s\"", precision);
        code = cannot_become(t, old, "\"f32\"",
                             "its steps would be rounded in another way");
    } else if (zero && state > 0) {
        snprintf(old, sizeof old, "random_state %llu",
                 (unsigned long long)state);
        code = cannot_become(t, old, "0",
                             "the order of the pictures depends on it");
    }
    vt_json_free(json);
    return code;
}

static int check(const training *t)
{
    if ((t->curve || t->show_batch || t->preview || t->show_predicted) &&
        vt_figure_ready() != VITCL_OK)
        return failed();
    if (t->show_predicted && !t->resume &&
        (!t->o.objective || strcmp(t->o.objective, "masked-patch") != 0))
        return usage("--show-predicted needs --objective masked-patch");
    if (t->o.slices & (t->o.slices - 1))
        return usage("--slices must be a power of two, not %u", t->o.slices);
    if (t->resume)
        return check_defaults(t);
    if (t->o.preset && vt_preset_check(t->o.preset) != VITCL_OK)
        return usage("%s", vitcl_last_error());
    return EXIT_OK;
}

/* Where the best model is, if pictures were scored. */
static void say_best(const training *t, const vitcl_train_event *e)
{
    if (e->best_epoch)
        note("the best epoch was %u, with %.2f %% of the held-out pictures "
             "right; its model is in %s/best",
             e->best_epoch, 100 * e->best_accuracy, t->o.output);
}

static int finish(const training *t, const vitcl_train_event *e,
                  const char *name)
{
    if (e->early) {
        const unsigned epoch = (unsigned)(e->step / (e->steps / e->epochs));

        note("ended after epoch %u of %u: none of the last %u was better; the "
             "model is in %s",
             epoch, e->epochs, epoch - e->best_epoch, t->o.output);
        say_best(t, e);
        return EXIT_OK;
    }
    if (e->step < e->steps) {
        note("stopped after step %llu of %llu; to resume: vitcl %s --resume "
             "-o %s",
             (unsigned long long)e->step, (unsigned long long)e->steps, name,
             t->o.output);
        return EXIT_STOPPED;
    }
    if (e->epoch == 0) {
        note("already finished: %llu step%s; the model is in %s",
             (unsigned long long)e->steps, vt_plural(e->steps), t->o.output);
        say_best(t, e);
        return EXIT_OK;
    }
    note("done: %llu step%s, last loss %.4f; the model is in %s",
         (unsigned long long)e->steps, vt_plural(e->steps), e->loss,
         t->o.output);
    say_best(t, e);
    return EXIT_OK;
}

/* After a failure: names the checkpoint to resume from, if there is one. An
 * error of the training itself would only happen again. */
static int broke_off(const shown *s, const char *name, vitcl_status st)
{
    const int code = st == VITCL_ESTOPPED ? EXIT_STOPPED : failed();
    char path[4096];
    const int n =
        snprintf(path, sizeof path, "%s/training.safetensors", s->t->o.output);

    if ((!s->any && st != VITCL_ESTOPPED) || n <= 0 ||
        (size_t)n >= sizeof path || access(path, F_OK) != 0)
        return code;
    if (st == VITCL_ESTOPPED)
        note("stopped; to resume: vitcl %s --resume -o %s", name,
             s->t->o.output);
    else if (st == VITCL_EINVAL)
        note("to go on from the last checkpoint, whose model is in %s: vitcl "
             "%s --resume -o %s --lr %.3g",
             s->t->o.output, name, s->t->o.output, s->peak / 10);
    else
        note("the last checkpoint is intact; to resume from it: vitcl %s "
             "--resume -o %s",
             name, s->t->o.output);
    return code;
}

/* Also of a training that had ended before. */
static int draw_last(shown *s, const vitcl_train_event *last)
{
    if (!s->any && last->steps) {
        curve_epochs(s->curve, last);
        if (!curve_read(s->curve, s->kept_path, last->steps + 1) && s->t->log)
            curve_read(s->curve, s->t->log, last->steps + 1);
        if (!curve_any(s->curve))
            return fail("%s is not drawn: the steps of this training were not "
                        "kept; only a run with --curve keeps them",
                        s->t->curve);
    }
    return curve_write(s->curve, s->t->curve, true);
}

/* A training that had ended before has no batch to show. */
static int sheets(const shown *s, int code)
{
    const training *t = s->t;

    if (code != EXIT_OK)
        return code;
    if (t->show_batch && !s->batch)
        code =
            fail("%s is not drawn: no step was left to train", t->show_batch);
    if (t->show_predicted && !s->predicted)
        code = fail("%s is not drawn: the objective of this training is not "
                    "masked-patch",
                    t->show_predicted);
    return s->unshown ? EXIT_FAILED : code;
}

/* Each step would be in a log twice that is also the one of --curve. */
static int open_log(shown *s)
{
    const char *log = s->t->log, *kept = s->kept_path;
    struct stat a, b;

    if (!training_log_open(&s->log, log, false))
        return EXIT_FAILED;
    if (stat(log, &a) != 0 || stat(kept, &b) != 0 || a.st_dev != b.st_dev ||
        a.st_ino != b.st_ino)
        return EXIT_OK;
    training_log_close(&s->log);
    return usage("--log must not be %s, where --curve keeps the steps; name "
                 "another file",
                 kept);
}

static int run(const training *t, const char *name)
{
    vitcl_device *device = NULL;
    vitcl_train_event last = {.size = sizeof last};
    char columns[TABLE_COLUMNS];
    shown s = {.t = t};
    vitcl_train_options o = t->o;
    vitcl_status st;
    int code;

    TRY(table_columns(columns, &t->table));
    o.columns = columns[0] ? columns : NULL;
    if (o.model)
        TRY(find_model(&o.model, o.model));
    o.size = sizeof o;
    o.ranks = 1;
    o.resume = t->resume, o.strict = t->strict, o.follow = t->follow;
    o.random_state = t->random_state.value;
    o.height = t->size.height, o.width = t->size.width;
    o.freeze = t->freeze.count ? t->freeze.item : NULL;
    o.precision = precision_of(t->precision);
    o.note = tell;
    o.checking = checking;
    o.show = t->show_batch ? show : NULL;
    o.preview = t->preview ? preview : NULL;
    o.predicted = t->show_predicted ? predicted : NULL;
    say_full_name();
    TRY(open_device(&device, t->device));
    try_first(device, o.precision);
    snprintf(s.kept_path, sizeof s.kept_path, "%s/training.jsonl", t->o.output);
    if (t->log)
        TRY(open_log(&s));
    if (t->curve && !(s.curve = curve_new()))
        TRY(fail("out of memory for a curve"));
    catch_stop();
    training_line_start(&s.line);
    st = vitcl_train(&last, device, &o, report, &s);
    progress_clear(&s.bar);
    training_line_clear(&s.line);
    tell_refused(device);
    if (vt_train_rank(NULL) > 0) /* mpirun stops it if another one fails */
        code = code_of(st);
    else
        code =
            st == VITCL_OK ? finish(t, &last, name) : broke_off(&s, name, st);
    if (last.left_out && vt_train_rank(NULL) == 0) /* with -q, too */
        fail("%u file%s could not be decoded and %s left out", last.left_out,
             vt_plural(last.left_out), last.left_out == 1 ? "was" : "were");
    if (s.curve && draw_last(&s, &last) != EXIT_OK)
        code = EXIT_FAILED;
    code = sheets(&s, code);
done:
    if (training_log_close(&s.log) + training_log_close(&s.kept) && !code)
        code = EXIT_FAILED;
    curve_free(s.curve);
    vitcl_device_free(device);
    return code;
}

int train(const training *t, const char *name)
{
    training other = *t;
    uint32_t ranks;
    const uint32_t rank = vt_train_rank(&ranks);

    if (ranks > 1) { /* a restart would leave the other processes waiting */
        guard_spent();
        setenv("VITCL_BUILD_FORK", "0", 1); /* MPI has threads of its own */
    }
    if (rank == 0) {
        RET(check(t));
        return run(t, name);
    }
    /* Rank 0 writes and speaks for all. */
    be_quiet();
    other.log = other.curve = other.show_batch = other.preview = NULL;
    other.show_predicted = NULL;
    return run(&other, name);
}
