/*
 * cmd_bench.c - how fast a model runs, compared with the device's limit.
 *
 * The time of a forward includes pixels from host memory and logits (or
 * features) to host memory. Pixels of GPUs have 8 bits, and those of the next
 * batch are sent while one is computed, as classify does; others have f32, as
 * those of other engines. Kernels are measured afterwards in another session,
 * since that costs time.
 */
#include "api/program.h"
#include "base/status.h"
#include "cli/bench/devices.h"
#include "cli/bench/figure.h"
#include "cli/bench/timeline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

typedef struct bench {
    model_options common;
    const char *batches, *plot;
    double seconds;
    bool json, timeline, no_send;
} bench;

static const opt options[] = {
    OPT_MODEL(bench),
    OPT_DEVICE(bench),
    OPT_DEVICES(bench),
    OPT_ROW(bench, 0, "batch", OPT_TEXT, "N,...",
            "pictures at a time (default 1); several: a table, one row each",
            batches),
    OPT_SIDES(bench),
    OPT_RUN(bench),
    OPT_ANY_BATCH(bench),
    OPT_ROW(bench, 0, "seconds", OPT_REAL, "S",
            "measure for about this long (default 3), at most 1000 runs",
            seconds),
    OPT_RULED(bench, 0, "plot", OPT_FILE, "FILE.png|FILE.svg",
              "draw times and pictures a second by batch size", plot,
              .not_with = "devices"),
    OPT_RULED(bench, 0, "timeline", OPT_FLAG, NULL,
              "also time the kernels of a whole run, and the gaps between them",
              timeline, .not_with = "devices"),
    OPT_RULED(bench, 0, "no-send", OPT_FLAG, NULL,
              "send the pixels once: the difference is what sending costs",
              no_send, .not_with = "devices"),
    OPT_ROW(bench, 0, "json", OPT_FLAG, NULL, "one JSON object per batch size",
            json),
    OPT_DONE};

enum { OPS = 64, RUNS = 1000, BATCHES = BENCH_POINTS };
typedef struct op_time {
    char op[24];
    double ms, gflop;
} op_time;

typedef struct work {
    const bench *o;
    model_options common;
    vitcl_device *device;
    vitcl_model *model;
    vitcl_session *session;
    float *pixels, *out;
    uint8_t *rgb; /* of a GPU, or sent once; NULL: pixels are given */
    timeline times;
    const char *tensor;
    double ms[RUNS];
    int runs, ops;
    size_t room; /* elements of out */
    double gflop, load_ms, peak;
    op_time op[OPS];
    vitcl_device_info info;
    vt_session_info session_info;
} work;

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The time that a share of the runs did not exceed; 0.5: the median. */
static double percentile(const work *w, double part)
{
    const int at = (int)(part * w->runs);

    return w->ms[at < w->runs ? at : w->runs - 1];
}

static double pictures_per_s(const work *w)
{
    return 1e3 * w->common.batch / percentile(w, 0.5);
}

/* On a GPU, the pixels of the next run; with --no-send, only of the first. */
static int send_next(work *w, bool first)
{
    const uint8_t *rgb = first || !w->o->no_send ? w->rgb : NULL;

    return w->rgb ? code_of(vt_session_send_rgb(w->session, rgb,
                                                vt_session_batch(w->session)))
                  : EXIT_OK;
}

static int allocate(work *w)
{
    const uint32_t batch = vt_session_batch(w->session);
    uint32_t height, width, columns = vitcl_session_classes(w->session);
    size_t n;

    w->tensor = columns ? "logits" : "features";
    columns = columns ? columns : vitcl_session_features(w->session);
    vitcl_session_size(&height, &width, w->session);
    n = (size_t)batch * 3 * height * width;
    w->pixels = malloc(n * sizeof(float));
    w->room = (size_t)batch * columns;
    w->out = malloc((w->room + 1) * sizeof(float));
    if (!w->pixels || !w->out)
        return fail("out of memory");
    for (size_t i = 0; i < n; i++) /* arbitrary pixels */
        w->pixels[i] = (float)((i * 2654435761u >> 8) % 4096) / 2048.0f - 1.0f;
    if (!w->o->no_send && strcmp(w->info.type, "gpu") != 0)
        return EXIT_OK;
    w->rgb = malloc(n);
    if (!w->rgb)
        return fail("out of memory");
    for (size_t i = 0; i < n; i++)
        w->rgb[i] = (uint8_t)(i * 2654435761u >> 12);
    return send_next(w, true);
}

static int once(work *w)
{
    const uint32_t n = vt_session_batch(w->session);

    RET(w->rgb ? vt_session_run_sent(w->session)
               : vitcl_session_run_values(w->session, w->pixels, n));
    RET(send_next(w, false));
    RET(vitcl_session_read(w->out, w->room, w->session, w->tensor, n));
    guard_end();
    return EXIT_OK;
}

static int measure(work *w)
{
    const double seconds = w->o->seconds > 0 ? w->o->seconds : 3;
    double begin;
    vt_step_info s;
    progress bar;
    int code;

    for (uint32_t i = 0; vt_session_step(&s, w->session, i); i++)
        w->gflop += s.gflop;
    progress_start(&bar, NULL, (uint64_t)ceil(seconds));
    for (int i = 0; i < 2; i++)
        TRY(once(w));
    begin = now();
    while (w->runs < RUNS && (w->runs < 3 || now() < begin + seconds)) {
        double from = now();

        TRY(once(w));
        w->ms[w->runs++] = 1e3 * (now() - from);
        progress_show(&bar, (uint64_t)fmin(now() - begin, seconds), NULL);
    }
    qsort(w->ms, (size_t)w->runs, sizeof *w->ms, by_value);
done:
    progress_clear(&bar);
    return code;
}

/* Adds a step's time to its op's; ops without room share the last entry. */
static void account(work *w, const vt_step_info *s)
{
    int i = 0;

    while (i < w->ops && strcmp(w->op[i].op, s->op) != 0)
        i++;
    if (i == OPS)
        i--;
    else if (i == w->ops)
        snprintf(w->op[w->ops++].op, sizeof w->op->op, "%s", s->op);
    w->op[i].ms += s->time_ms;
    w->op[i].gflop += s->gflop;
}

static int by_time(const void *a, const void *b)
{
    const op_time *x = a, *y = b;

    return (x->ms < y->ms) - (x->ms > y->ms);
}

/* Some runs in a session that times its steps; *last_ms: of the last one. */
static int timed(double *last_ms, work *w, int how)
{
    vitcl_session_free(w->session);
    w->session = NULL;
    RET(open_session(&w->session, w->device, w->model, &w->common, NULL, how));
    RET(send_next(w, true));
    for (int i = 0; i < 3; i++) {
        const double from = now();

        RET(once(w));
        *last_ms = 1e3 * (now() - from);
    }
    return EXIT_OK;
}

static int profile(work *w)
{
    vt_step_info s;
    double ms;

    if (w->o->timeline) {
        RET(timed(&ms, w, 2));
        timeline_read(&w->times, w->session, ms);
    }
    RET(timed(&ms, w, 1));
    for (uint32_t i = 0; vt_session_step(&s, w->session, i); i++)
        account(w, &s);
    qsort(w->op, (size_t)w->ops, sizeof *w->op, by_time);
    return EXIT_OK;
}

/* ---- printing ---- */

/* Of all kernels, without transfers and what is between them. */
static double kernels_ms(const work *w)
{
    double sum = 0;

    for (int k = 0; k < w->ops; k++)
        sum += w->op[k].ms;
    return sum;
}

static double share(const work *w, int i)
{
    return kernels_ms(w) > 0 ? w->op[i].ms / kernels_ms(w) : 0;
}

static double rate(double gflop, double ms)
{
    return ms > 0 ? gflop / ms * 1e3 : 0;
}

static double peak_memory_mb(void)
{
    struct rusage r;

    return getrusage(RUSAGE_SELF, &r) == 0 ? (double)r.ru_maxrss * 1024 / 1e6
                                           : 0;
}

static void print_json(const work *w)
{
    const double median = percentile(w, 0.5);

    json_put("{preset:%s device:%s precision:%s gemm:%s batch:%u ms:{min:%.4f "
             "median:%.4f p90:%.4f p99:%.4f max:%.4f} runs:%d",
             model_name(&w->common), w->info.name, w->session_info.precision,
             w->session_info.gemm, w->common.batch, w->ms[0], median,
             percentile(w, 0.9), percentile(w, 0.99), w->ms[w->runs - 1],
             w->runs);
    json_put("images_per_s:%.3f gflops:%.2f peak_gflops:%.2f load_ms:%.1f "
             "peak_memory_mb:%.1f kernels_ms:%.4f kernels:[",
             pictures_per_s(w), rate(w->gflop, median), w->peak, w->load_ms,
             peak_memory_mb(), kernels_ms(w));
    for (int i = 0; i < w->ops; i++)
        json_put("{op:%s ms:%.4f gflops:%.2f share:%.4f}", w->op[i].op,
                 w->op[i].ms, rate(w->op[i].gflop, w->op[i].ms), share(w, i));
    json_put("]");
    if (w->o->timeline)
        timeline_json(&w->times);
    json_put("}\n");
}

static void print_table(const work *w)
{
    const double median = percentile(w, 0.5);

    put_cells("%s, batch %u, %s, %s on %s", model_name(&w->common),
              w->common.batch, w->session_info.precision, w->session_info.gemm,
              w->info.name);
    putchar('\n');
    put_cells("forward     %.2f ms (p90 %.2f, p99 %.2f, min %.2f, max %.2f, "
              "%d run%s)",
              median, percentile(w, 0.9), percentile(w, 0.99), w->ms[0],
              w->ms[w->runs - 1], w->runs, vt_plural((uint64_t)w->runs));
    printf("pictures    %.2f a second\n", pictures_per_s(w));
    if (kernels_ms(w) > 0)
        printf("kernels     %.2f ms, without transfers\n", kernels_ms(w));
    printf("arithmetic  %.1f GFLOP/s of %.1f measured at most",
           rate(w->gflop, median), w->peak);
    if (w->peak > 0)
        printf(" (%.0f %%)", 100 * rate(w->gflop, median) / w->peak);
    printf("\nload        %.0f ms\nmemory      %.0f MB at most\n\n", w->load_ms,
           peak_memory_mb());
    if (w->o->timeline)
        timeline_print(&w->times);
    printf("%-14s %9s %10s %7s\n", "op", "ms", "GFLOP/s", "share");
    for (int i = 0; i < w->ops; i++)
        printf("%-14s %9.3f %10.1f %6.1f%%\n", w->op[i].op, w->op[i].ms,
               rate(w->op[i].gflop, w->op[i].ms), 100 * share(w, i));
}

/* The rows of several batches. */
static void print_row(const work *w, bool first)
{
    if (first) {
        put_cells("%s, %s, %s on %s", model_name(&w->common),
                  w->session_info.precision, w->session_info.gemm,
                  w->info.name);
        putchar('\n');
        put_cells("%6s %8s %8s %8s %11s %8s %5s", "batch", "p50 ms", "p90 ms",
                  "p99 ms", "pictures/s", "GFLOP/s", "runs");
    }
    put_cells("%6u %8.2f %8.2f %8.2f %11.2f %8.1f %5d", w->common.batch,
              percentile(w, 0.5), percentile(w, 0.9), percentile(w, 0.99),
              pictures_per_s(w), rate(w->gflop, percentile(w, 0.5)), w->runs);
    fflush(stdout); /* the next row may take long */
}

/* ---- the command ---- */

static int open_all(work *w)
{
    const double from = now();

    RET(open_model(&w->device, &w->model, &w->common));
    w->load_ms = 1e3 * (now() - from);
    return code_of(vitcl_device_describe(&w->info, w->device));
}

/* Measures the batch w->common.batch. */
static int work_through(work *w, bool steps)
{
    const vitcl_precision precision = precision_of(w->common.precision);
    const double from = now();

    RET(open_session(&w->session, w->device, w->model, &w->common, NULL, 0));
    w->load_ms += 1e3 * (now() - from);
    RET(allocate(w));
    RET(measure(w));
    w->session_info = vt_session_describe(w->session);
    if (w->peak <= 0)
        RET(vt_device_peak(&w->peak, w->device, precision));
    if (steps)
        RET(profile(w));
    return EXIT_OK;
}

/* Ready for the next batch; the model stays open. */
static void clear(work *w)
{
    vitcl_session_free(w->session);
    free(w->pixels);
    free(w->rgb);
    free(w->out);
    w->session = NULL;
    w->pixels = w->out = NULL, w->rgb = NULL;
    w->runs = w->ops = 0;
    w->gflop = w->load_ms = 0;
    memset(w->op, 0, sizeof w->op);
}

/* "1,8,32"; NULL: 1. */
static int parse_batches(uint32_t batch[BATCHES], int *n, const char *text)
{
    const char *at = text ? text : "1";

    for (*n = 0; *n < BATCHES; at++) {
        char *end;
        unsigned long v;

        errno = 0;
        v = strtoul(at, &end, 10);
        if (*at < '0' || *at > '9' || v < 1 || errno || v > BATCH_MOST ||
            (*end && *end != ','))
            return usage("--batch must be whole numbers from 1 to %d, with "
                         "commas between them, not '%s'",
                         BATCH_MOST, text);
        batch[(*n)++] = (uint32_t)v;
        at = end;
        if (!*end)
            return EXIT_OK;
    }
    return usage("--batch has more than %d numbers", BATCHES);
}

static int all_batches(work *w, const uint32_t *batch, int n)
{
    const bool json = w->o->json;
    bench_points points = {.count = 0};

    RET(open_all(w));
    for (int i = 0; i < n; i++) {
        w->common.batch = batch[i];
        RET(work_through(w, json || n == 1));
        if (n > 1 && !json)
            print_row(w, i == 0);
        else
            (json ? print_json : print_table)(w);
        points.at[points.count++] = (bench_point){
            w->common.batch,
            {percentile(w, 0.5), percentile(w, 0.9), percentile(w, 0.99)},
            pictures_per_s(w)};
        if (n > 1)
            guard_spent(); /* a restart would print these rows again */
        clear(w);
    }
    if (w->o->plot)
        RET(bench_figure(&points, w->o->plot));
    return EXIT_OK;
}

static int run(void *into, const words *operands)
{
    const bench *o = into;
    uint32_t batch[BATCHES];
    work *w;
    int code, n;

    (void)operands;
    RET(parse_batches(batch, &n, o->batches));
    if (o->common.devices && n > 1)
        return usage("--devices measures one batch size");
    if (o->timeline && n > 1 && !o->json)
        return usage("--timeline of several batches needs --json");
    if (o->plot && bench_figure_ready() != EXIT_OK)
        return EXIT_FAILED;
    if (o->common.devices) {
        model_options common = o->common;

        common.batch = batch[0];
        return bench_devices(&common, o->seconds > 0 ? o->seconds : 3, o->json);
    }
    w = calloc(1, sizeof *w);
    if (!w)
        return fail("out of memory");
    w->o = o;
    w->info.size = sizeof w->info;
    w->common = o->common;
    code = all_batches(w, batch, n);
    clear(w);
    vitcl_model_free(w->model);
    vitcl_device_free(w->device);
    free(w);
    return code;
}

const command cmd_bench = {
    "bench",
    "",
    "Time a model on a device",
    "Times forward passes from pixels to logits in host memory. On a GPU "
    "pixels are 8-bit, and the next batch is sent while one runs; elsewhere, "
    "and with --devices, they are f32. Pictures per second and GFLOP/s are of "
    "the median. p90 and p99: 90 and 99 per cent of the runs took no longer.",
    options,
    sizeof(bench),
    run};
