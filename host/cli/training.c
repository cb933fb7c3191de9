/*
 * training.c - runs a training, shows its progress, logs it and stops cleanly.
 */
#include "training.h"

#include "curve.h"
#include "plot/figure.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>
#include <vitcl_tune.h>

typedef struct shown {
    const training *t;
    int log;   /* descriptor; -1: none */
    bool lost; /* the log could not be written completely */
    curve *curve;
    progress bar;
    double start;
    uint64_t pictures; /* since the start */
    double loss;       /* running mean, for display */
    bool drawn;
    double peak; /* largest learning rate so far */
} shown;

static size_t put_real(char *out, size_t size, const char *key, double v)
{
    return (size_t)(isfinite(v) ? snprintf(out, size, ", \"%s\": %.9g", key, v)
                                : snprintf(out, size, ", \"%s\": null", key));
}

/* Writes a complete record or nothing. */
static void append(shown *s, const char *record, size_t size)
{
    const off_t before = lseek(s->log, 0, SEEK_END);
    size_t at = 0;

    while (at < size) {
        const ssize_t n = write(s->log, record + at, size - at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            progress_clear(&s->bar);
            fail("%s: %s; it ends before this step", s->t->log,
                 strerror(n < 0 ? errno : ENOSPC));
            if (at > 0 && before >= 0 && ftruncate(s->log, before) != 0)
                note("%s: its last line is cut", s->t->log);
            close(s->log);
            s->log = -1, s->lost = true;
            return;
        }
        at += (size_t)n;
    }
}

static void write_log(shown *s, const vitcl_train_event *e, double rate)
{
    char text[512]; /* of at most 9 short members */
    size_t n =
        (size_t)snprintf(text, sizeof text, "{\"step\": %llu, \"epoch\": %u",
                         (unsigned long long)e->step, e->epoch);

#define PUT(key, value) n += put_real(text + n, sizeof text - n, key, value)
    PUT("loss", e->loss);
    PUT("accuracy", e->accuracy);
    PUT("lr", e->lr);
    PUT("pictures_per_second", rate);
    if (e->scored) {
        PUT("held_out_loss", e->held_out_loss);
        PUT("held_out_accuracy", e->held_out_accuracy);
    }
#undef PUT
    n += (size_t)snprintf(text + n, sizeof text - n, ", \"saved\": %s}\n",
                          e->saved ? "true" : "false");
    append(s, text, n);
}

static int report(void *context, const vitcl_train_event *e)
{
    shown *s = context;
    const double spent = now() - s->start;
    double rate;
    char text[80];

    guard_end();
    if (!s->drawn) { /* the first step builds kernels */
        note("activations %.0f MB, of which the backward pass reads %.0f MB "
             "again; gradients and optimiser %.0f MB",
             (double)e->activation_bytes / 1e6, (double)e->kept_bytes / 1e6,
             (double)e->state_bytes / 1e6);
        s->start = now();
    } else
        s->pictures += e->pictures;
    rate = s->drawn && spent > 0 ? (double)s->pictures / spent : 0;
    s->loss = s->drawn ? 0.95 * s->loss + 0.05 * e->loss : e->loss;
    s->drawn = true;
    s->peak = e->lr > s->peak ? e->lr : s->peak;
    if (s->log >= 0)
        write_log(s, e, rate);
    if (s->curve)
        curve_add(s->curve, e);
    if (s->curve && (e->saved || e->step == e->steps))
        curve_write(s->curve, s->t->curve, false); /* again at the end */
    snprintf(text, sizeof text, "epoch %u/%u  loss %.4f  %.0f pictures/s",
             e->epoch, e->epochs, s->loss, rate);
    if (s->bar.total == 0) { /* the steps of this run */
        const double start = s->bar.start;

        progress_start(&s->bar, "steps", e->steps - e->step + 1);
        s->bar.start = start;
    }
    progress_show(&s->bar, s->bar.total - (e->steps - e->step), text);
    if (e->scored) {
        progress_clear(&s->bar);
        note("epoch %u/%u: loss %.4f, held-out loss %.4f, held-out accuracy "
             "%.2f %%, %.0f pictures/s",
             e->epoch, e->epochs, s->loss, e->held_out_loss,
             100 * e->held_out_accuracy, rate);
    }
    return stopped();
}

static void tell(void *context, const char *line)
{
    shown *s = context;

    progress_clear(&s->bar);
    note("%s", line);
}

/* Before the first step all files are decoded once. */
static int checking(void *context, uint64_t done, uint64_t total)
{
    shown *s = context;

    if (done == 1)
        progress_start(&s->bar, "pictures", total);
    progress_show(&s->bar, done, "checking");
    if (done == total) {
        progress_clear(&s->bar);
        s->bar.total = 0;
    }
    return stopped();
}

static int check(const training *t)
{
    if (!t->output)
        return usage("no output folder given; name one with -o DIR");
    if (t->curve && vt_figure_ready() != VITCL_OK)
        return failed();
    if (t->resume)
        return EXIT_OK;
    if (!t->data)
        return usage("--data PATH is required");
    if (!t->epochs)
        return usage("--epochs N is required");
    if (t->preset && vitcl_train_preset(t->preset) != VITCL_OK)
        return usage("%s", vitcl_last_error());
    return EXIT_OK;
}

static int finish(const training *t, const vitcl_train_event *e,
                  const char *name)
{
    if (e->step < e->steps) {
        note("stopped after step %llu of %llu; to resume: vitcl %s --resume "
             "-o %s",
             (unsigned long long)e->step, (unsigned long long)e->steps, name,
             t->output);
        return EXIT_STOPPED;
    }
    if (e->epoch == 0) {
        note("already finished: %llu step%s; the model is in %s",
             (unsigned long long)e->steps, plural(e->steps), t->output);
        return EXIT_OK;
    }
    note("done: %llu step%s, last loss %.4f; the model is in %s",
         (unsigned long long)e->steps, plural(e->steps), e->loss, t->output);
    return EXIT_OK;
}

/* After a failure: names the checkpoint to resume from, if there is one. An
 * error of the training itself would only happen again. */
static int broke_off(const shown *s, const char *name, vitcl_status st)
{
    const int code = st == VITCL_ESTOPPED ? EXIT_STOPPED : failed();
    char path[4096];
    const int n =
        snprintf(path, sizeof path, "%s/training.safetensors", s->t->output);

    if (!s->drawn || n <= 0 || (size_t)n >= sizeof path ||
        access(path, F_OK) != 0)
        return code;
    if (st == VITCL_EINVAL)
        note("to go on from the last checkpoint, whose model is in %s: vitcl "
             "%s --resume -o %s --lr %.3g",
             s->t->output, name, s->t->output, s->peak / 10);
    else
        note("the last checkpoint is intact; to resume from it: vitcl %s "
             "--resume -o %s",
             name, s->t->output);
    return code;
}

int train(const training *t)
{
    vitcl_device *device = NULL;
    vitcl_train_event last = {.size = sizeof last};
    shown s = {.t = t, .log = -1};
    vitcl_train_options o = {.size = sizeof o,
                             .preset = t->preset,
                             .config = t->config,
                             .model = t->model,
                             .data = t->data,
                             .split = t->split,
                             .output = t->output,
                             .resume = t->resume,
                             .epochs = t->epochs,
                             .batch = t->batch,
                             .micro = t->micro,
                             .lr = t->lr,
                             .augment = t->augment,
                             .random_state = t->random_state,
                             .height = t->size.height,
                             .width = t->size.width,
                             .hold_out = t->hold_out,
                             .settings = t->settings,
                             .freeze = t->freeze.count ? t->freeze.item : NULL,
                             .gemm = t->gemm,
                             .precision = precision_of(t->precision),
                             .workers = t->workers,
                             .checkpoint_steps = t->save_every,
                             .objective = t->objective,
                             .strict = t->strict,
                             .note = tell,
                             .checking = checking};
    const char *name = t->model ? "finetune" : "train";
    int code = check(t);
    vitcl_status st;

    if (code == EXIT_OK && t->model)
        code = find_model(&o.model, t->model);
    if (code != EXIT_OK)
        return code;
    code = open_device(&device, t->device);
    if (code != EXIT_OK)
        return code;
    try_first(device, o.precision);
    if (t->log &&
        (s.log = open(t->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                      0666)) < 0) {
        code = fail("%s: %s", t->log, strerror(errno));
        vitcl_device_free(device);
        return code;
    }
    if (t->curve && !(s.curve = curve_new())) {
        if (s.log >= 0)
            close(s.log);
        vitcl_device_free(device);
        return fail("out of memory for a curve");
    }
    catch_stop();
    s.start = s.bar.start = now();
    st = vitcl_train(&last, device, &o, report, &s);
    progress_clear(&s.bar);
    code = st == VITCL_OK ? finish(t, &last, name) : broke_off(&s, name, st);
    if (s.log >= 0 && close(s.log) != 0)
        code = fail("%s: %s", t->log, strerror(errno));
    else if (s.lost && code == EXIT_OK)
        code = EXIT_FAILED;
    if (s.curve && curve_write(s.curve, t->curve, true) != EXIT_OK)
        code = EXIT_FAILED;
    curve_free(s.curve);
    vitcl_device_free(device);
    return code;
}
