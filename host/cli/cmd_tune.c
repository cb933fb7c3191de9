/*
 * cmd_tune.c - searches the parameters with which this device multiplies a
 * model's matrices fastest, and stores them for later runs.
 *
 * Each candidate is compiled, checked and timed by a vitcl-try process, so that
 * one which crashes its driver, hangs or computes wrong results is only
 * skipped.
 */
#include "api/program.h"
#include "base/status.h"
#include "cli/setup/setup.h"

#include <stdlib.h>
#include <string.h>

/* As CLBlast's tuners call it: Xgemm, all parameters, 32 bits. */
#define EXPORTED "clblast_xgemm_2_32.json"

typedef struct tune {
    model_options common;
    uint32_t seconds;
    const char *export, *output;
} tune;

static const opt options[] = {
    OPT_MODEL(tune),
    OPT_DEVICE(tune),
    OPT_BATCH(tune, "pictures at a time (default 1)"),
    OPT_SIDES(tune),
    OPT_GEMM(tune, "clblast|native"), /* plain has no parameters */
    OPT_ROW(tune, 0, "seconds", OPT_COUNT, "N",
            "search for at most this long (default 60)", seconds),
    OPT_RULED(tune, 0, "export", OPT_CHOICE, "clblast",
              "search nothing: write what was found for "
              "CLBlast, for its database",
              export,
              .not_with = "model|preset|batch|size|gemm|precision|seconds"),
    OPT_RULED(tune, 'o', "output", OPT_FILE, "FILE.json",
              "of --export (default " EXPORTED ")", output, .needs = "export"),
    OPT_DONE};

/* Seconds that a candidate may take to compile and run. On a slow device it may
 * take some times as long as the first one, which has all of the time. */
#define LONGEST 30.0
#define TIMES 4

typedef struct tally {
    int measured, failed;
    double first; /* seconds that the first candidate took */
    double start, gain;
    progress bar;
} tally;

static int show(void *context, uint64_t done, uint64_t total)
{
    tally *t = context;
    char text[64];

    (void)done, (void)total;
    snprintf(text, sizeof text, "%d tried, %.0f %% faster", t->measured,
             100 * (t->gain - 1));
    progress_show(&t->bar, (uint64_t)(now() - t->start), text);
    return stopped();
}

/* The ratio; 0: the candidate is invalid. */
static double measure(tally *t, const char *device, const char *candidate,
                      double seconds)
{
    double ratio = 0;

    return vt_candidate_try(&ratio, device, candidate, seconds, show, t) ==
                   VITCL_OK
               ? ratio
               : 0;
}

/* The seconds for the next candidate. The others are compared with the first,
 * so that one has at least LONGEST. */
static double limit(const tally *t, double left)
{
    const double slow = TIMES * t->first;
    const double most = slow > LONGEST ? slow : LONGEST;

    if (!t->measured)
        return left > LONGEST ? left : LONGEST;
    return left < most ? left : most;
}

static void search(tally *t, vt_tuner *tuner, const char *device,
                   uint32_t seconds)
{
    const double end = now() + seconds;
    const char *candidate;

    t->start = now();
    progress_start(&t->bar, NULL, seconds);
    while (!stopped() && now() < end && (candidate = vt_tuner_next(tuner))) {
        const double begun = now();
        double ratio;

        t->gain = vt_tuner_gain(tuner);
        ratio = measure(t, device, candidate, limit(t, end - begun));
        if (ratio <= 0 && (stopped() || (now() >= end && t->measured)))
            break; /* out of time: no error */
        vt_tuner_tell(tuner, ratio);
        if (!t->measured)
            t->first = now() - begun;
        t->measured++;
        t->failed += ratio <= 0;
    }
    progress_clear(&t->bar);
}

static int report(const tally *t, vt_tuner *tuner)
{
    const char *path;

    guard_end(); /* do not restart after printing */
    if (t->measured && t->measured == t->failed) /* the search ended with it */
        return fail(
            "the parameters in use cannot be timed: %s%s", vitcl_last_error(),
            t->first >= LONGEST ? "; --seconds N gives them longer" : "");
    printf("%s\n%d candidate%s, of which %d failed; %.2f times as fast as "
           "before",
           vt_tuner_best(tuner), t->measured, vt_plural((uint64_t)t->measured),
           t->failed, vt_tuner_gain(tuner));
    if (vt_tuner_save(&path, tuner) != VITCL_OK) {
        printf("\n");
        return failed();
    }
    printf("; kept in %s\n", path);
    return EXIT_OK;
}

static int ask_stop(void *context, uint64_t done, uint64_t total)
{
    (void)context, (void)done, (void)total;
    return stopped();
}

static int export_tuned(const tune *o)
{
    const char *path = o->output ? o->output : EXPORTED;
    vitcl_device *device = NULL;
    double tuned = 0, built_in = 0;
    vitcl_status st;
    int code;

    TRY(open_device(&device, o->common.device));
    catch_stop();
    guard_end();
    st =
        vt_device_export_tuned(&tuned, &built_in, device, path, ask_stop, NULL);
    TRY(st != VITCL_OK && stopped() ? EXIT_STOPPED : st);
    printf("%s: %.3f ms for 1024x1024x1024; %.3f ms with the built-in "
           "parameters\n",
           path, tuned, built_in);
done:
    vitcl_device_free(device);
    return code;
}

static int run(void *into, const words *operands)
{
    const tune *o = into;
    vitcl_session_options options_of = {.size = sizeof options_of,
                                        .batch = o->common.batch,
                                        .height = o->common.size.height,
                                        .width = o->common.size.width,
                                        .gemm = o->common.gemm,
                                        .precision =
                                            precision_of(o->common.precision)};
    vitcl_device *device = NULL;
    vitcl_model *model = NULL;
    vt_tuner *tuner = NULL;
    vitcl_device_info info = {.size = sizeof info};
    tally t = {0};
    int code;

    (void)operands;
    if (o->export)
        return export_tuned(o);
    TRY(open_model(&device, &model, &o->common));
    catch_stop();
    try_first(device, options_of.precision);
    TRY(vitcl_device_describe(&info, device));
    TRY(vt_tuner_for(&tuner, model, &options_of));
    search(&t, tuner, info.id, o->seconds ? o->seconds : 60);
    if (!stopped() || vt_tuner_gain(tuner) > 1)
        code = report(&t, tuner);
    code = stopped() ? EXIT_STOPPED : code;
done:
    vt_tuner_free(tuner);
    vitcl_model_free(model);
    vitcl_device_free(device);
    return code;
}

const command cmd_tune = {
    "tune",
    "",
    "Search for this device's fastest parameters",
    "These are parameters of the matrix multiplication that --gemm names "
    "(otherwise of the device's default), in one precision, for a model's "
    "sizes. Every candidate is checked and measured in a process of its own. "
    "The best is stored in ~/.config/vitcl/tuned, one line for each device, "
    "driver version, kernel and precision, and used by every later run there. "
    "--export clblast times what was stored for CLBlast once more and writes "
    "it for CLBlast's own database.",
    options,
    sizeof(tune),
    run};
