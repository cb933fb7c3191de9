/*
 * speeds.c - a session for each row of the table, timed and compared.
 *
 * In f32 the pictures run one by one first: their logits are what others are
 * compared with, after they are with the known answer.
 */
#include "speeds.h"

#include "api/program.h"
#include "known.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MODEL "vit-b/16"
enum { MOST = 64, COMPARED = 8, KERNELS = 16 };

static const uint32_t batches[] = {1, 8, MOST};

typedef struct work {
    FILE *f;
    vitcl_device *device;
    vitcl_model *model;
    uint8_t *rgb;
    float *want, *got;
    size_t picture; /* bytes */
    uint32_t classes;
    double end;  /* of the time that there is */
    double each; /* seconds that a picture took in the last row */
    bool wrong;
    char kernels[2048]; /* Markdown: those of the last row of a precision */
} work;

static int open_row(vitcl_session **s, const work *w, size_t i, uint32_t batch)
{
    const vitcl_session_options o = {.size = sizeof o,
                                     .batch = batch,
                                     .precision =
                                         known_precisions[i].precision};

    return start_session(s, w->device, w->model, &o);
}

/* A batch from picture `from` on, as classify runs it; logits into out. */
static int once(const work *w, vitcl_session *s, uint32_t from, float *out)
{
    const uint32_t n = vt_session_batch(s);

    RET(vt_session_send_rgb(s, w->rgb + from * w->picture, n));
    RET(vt_session_run_sent(s));
    RET(vitcl_session_read(out, (size_t)n * w->classes, s, "logits", n));
    return stopped() ? EXIT_FAILED : EXIT_OK;
}

double largest_error(const float *a, const float *b, size_t n)
{
    double most = 0, off = 0;

    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs((double)b[i]));
        off = isfinite(a[i]) && isfinite(b[i])
                  ? fmax(off, fabs((double)a[i] - (double)b[i]))
                  : INFINITY;
    }
    return most > 0 ? off / most : INFINITY;
}

/* Seconds of a run, the median of some; gflop of it. */
static int time_runs(double *seconds, work *w, vitcl_session *s)
{
    enum { RUNS = 15 };
    const double end = now() + 1;
    double took[RUNS];
    int n = 0, code = EXIT_OK;

    while (code == EXIT_OK && n < RUNS && (n < 1 || now() < end)) {
        const double from = now();

        code = once(w, s, 0, w->got);
        took[n] = now() - from;
        for (int i = n++; i > 0 && took[i] < took[i - 1]; i--) {
            const double t = took[i];

            took[i] = took[i - 1], took[i - 1] = t;
        }
    }
    *seconds = n ? took[n / 2] : 0;
    return code;
}

/* What multiplies, and how often; its work in gflop. */
static double kernels_of(work *w, const vitcl_session *s, size_t i,
                         uint32_t batch)
{
    vt_step_info step;
    struct {
        char text[96];
        int count;
    } seen[KERNELS] = {{"", 0}};
    double gflop = 0;
    int n = 0;

    for (uint32_t k = 0; vt_session_step(&step, s, k); k++) {
        int j = 0;

        gflop += step.gflop;
        if (strcmp(step.op, "linear") != 0 && strcmp(step.op, "attention") != 0)
            continue;
        while (j < n && strcmp(seen[j].text, step.kernel) != 0)
            j++;
        if (j == n && n < KERNELS)
            snprintf(seen[n++].text, sizeof seen->text, "%s", step.kernel);
        if (j < n)
            seen[j].count++;
    }
    snprintf(w->kernels, sizeof w->kernels, "%s, batch %u:\n\n",
             known_precisions[i].name, batch);
    for (int j = 0; j < n; j++) {
        const size_t at = strlen(w->kernels);

        snprintf(w->kernels + at, sizeof w->kernels - at, "- %d of %s\n",
                 seen[j].count, seen[j].text);
    }
    return gflop;
}

static int measure_row(work *w, size_t i, uint32_t batch, double peak)
{
    vitcl_session *s = NULL;
    double seconds = 0, gflop, off;
    int code;

    TRY(open_row(&s, w, i, batch));
    TRY(once(w, s, 0, w->got));
    off = largest_error(w->got, w->want,
                        (batch < COMPARED ? batch : COMPARED) *
                            (size_t)w->classes);
    TRY(time_runs(&seconds, w, s));
    gflop = kernels_of(w, s, i, batch);
    w->each = seconds / batch;
    put_both(w->f, "| %s | %u | %.2f | %.1f | %.1f | %.0f %% | %.1e%s |\n",
             known_precisions[i].name, batch, 1e3 * seconds, batch / seconds,
             gflop / seconds, peak > 0 ? 100 * gflop / seconds / peak : 0, off,
             off <= known_precisions[i].bound ? "" : " **WRONG**");
    w->wrong = w->wrong || !(off <= known_precisions[i].bound);
done:
    vitcl_session_free(s);
    return code;
}

static int measure_precision(work *w, size_t i)
{
    double peak = 0;
    int code = EXIT_OK;

    w->kernels[0] = '\0';
    RET(vt_device_peak(&peak, w->device, known_precisions[i].precision));
    for (size_t k = 0; k < sizeof batches / sizeof *batches; k++) {
        /* three runs, and some for what is compiled */
        if (now() + 3 * batches[k] * w->each > w->end)
            put_both(w->f, "| %s | %u | left out: no time | | | | |\n",
                     known_precisions[i].name, batches[k]);
        else if (code == EXIT_OK)
            code = measure_row(w, i, batches[k], peak);
    }
    return code;
}

/* The logits that others are compared with. */
static int reference(work *w)
{
    const double from = now();
    vitcl_session *s = NULL;
    int code;

    TRY(open_row(&s, w, 0, 1));
    w->classes = vitcl_session_classes(s);
    w->want = calloc((size_t)COMPARED * w->classes, sizeof *w->want);
    w->got = calloc((size_t)MOST * w->classes, sizeof *w->got);
    if (!w->want || !w->got)
        TRY(fail("out of memory"));
    for (uint32_t i = 0; i < COMPARED; i++)
        TRY(once(w, s, i, w->want + (size_t)i * w->classes));
    w->each = (now() - from) / COMPARED;
done:
    vitcl_session_free(s);
    return code;
}

static int measure_all(work *w)
{
    char kernels[KNOWN_PRECISIONS][sizeof w->kernels];
    int code = reference(w);

    if (code == EXIT_OK) {
        const double off = known_error(&known_large, w->want, w->classes);

        w->wrong = !(off <= known_precisions[0].bound);
        put_both(w->f, "One by one in f32, from the known answer: %.1e%s\n\n",
                 off, w->wrong ? " **WRONG**" : "");
    }
    fprintf(w->f,
            "| precision | batch | ms | pictures/s | GFLOP/s | of the peak "
            "| largest error |\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < KNOWN_PRECISIONS; i++) {
        if (code == EXIT_OK)
            code = measure_precision(w, i);
        memcpy(kernels[i], w->kernels, sizeof kernels[i]);
    }
    for (size_t i = 0; i < KNOWN_PRECISIONS && code == EXIT_OK; i++)
        put_both(w->f, "\n%s", kernels[i]);
    return code;
}

int speeds_write(bool *wrong, FILE *out, vitcl_device *device, double seconds)
{
    work w = {.f = out, .device = device, .end = now() + seconds};
    vitcl_model_info info = {.size = sizeof info};
    int code;

    TRY(vitcl_model_new(&w.model, device, MODEL, 0));
    TRY(vitcl_model_describe(&info, w.model, 0, 0, 0));
    w.picture = (size_t)info.trained_height * info.trained_width * 3;
    w.rgb = calloc(MOST, w.picture + 1);
    if (!w.rgb)
        TRY(fail("out of memory"));
    known_pictures(w.rgb, MOST * w.picture);
    TRY(measure_all(&w));
done:
    vitcl_model_free(w.model);
    free(w.rgb);
    free(w.want);
    free(w.got);
    *wrong = w.wrong;
    return code;
}
