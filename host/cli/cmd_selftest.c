/*
 * cmd_selftest.c - checks that this device computes correctly, to find driver
 * bugs on the user's machine.
 *
 * A small model runs with every provider of the device, and in every precision
 * on every path that a command takes: one picture or several, weights kept or
 * read once, pictures given or sent. All must give the known answer and agree
 * with each other, and a picture's bits must not depend on the path. A provider
 * that this build or device lacks is named and left out. The information for a
 * bug report comes first, the result last. --report writes all of it to a file,
 * and the speed of a larger model.
 */
#include "api/program.h"
#include "base/file.h"
#include "base/status.h"
#include "base/utf8.h"
#include "cli/bench/known.h"
#include "cli/bench/speeds.h"
#include "cli/setup/setup.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

typedef struct selftest {
    model_options common;
    const char *report;
    uint32_t seconds;
} selftest;

static const opt options[] = {
    OPT_DEVICE(selftest),
    OPT_ROW(selftest, 0, "report", OPT_FILE, "FILE.md",
            "write all of it, and the speed of ViT-B/16", report),
    OPT_RULED(selftest, 0, "seconds", OPT_COUNT, "N",
              "for the report, run ViT-B/16 for about this long (default 180)",
              seconds, .needs = "report"),
    OPT_DONE};

/* 17 tokens: not a multiple of any kernel's block. */
enum { SIDE = 64, PICTURE = SIDE * SIDE * 3, PICTURES = 3, CLASSES = 4096 };

/* ---- what is printed, and written to the report ---- */

static FILE *report_file; /* NULL: there is none */

#define say(...) put_both(report_file, __VA_ARGS__)

/* What a driver or the environment says. */
static void say_text(const char *text)
{
    char clean[4096];

    put_text(text, SIZE_MAX);
    vt_utf8_clean(clean, sizeof clean, text);
    if (report_file)
        fprintf(report_file, "%s", clean);
}

/* ---- information for a bug report ---- */

static void line(const char *key, const char *value)
{
    say("%-12s ", key);
    say_text(value);
    say("\n");
}

static void cache_line(const char *key, const char *root, const char *below)
{
    char path[4096];
    unsigned entries = 0;
    DIR *d;

    if (!root || !root[0])
        return;
    snprintf(path, sizeof path, "%s%s", root, below);
    d = opendir(path);
    for (const struct dirent *e; d && (e = readdir(d));)
        entries += e->d_name[0] != '.';
    say("%-12s ", key);
    say_text(path);
    if (d)
        say(", %u entr%s\n", entries, entries == 1 ? "y" : "ies");
    else
        say(", not there\n");
    if (d)
        closedir(d);
}

static void caches(void)
{
    const char *ours = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const char *off = getenv("VITCL_CACHE"), *pocl = getenv("POCL_CACHE_DIR");

    if (off && strcmp(off, "off") == 0)
        line("cache", "off");
    else if (ours && ours[0] == '/') /* as the library has it */
        cache_line("cache", ours, "/vitcl");
    else
        cache_line("cache", home, "/.cache/vitcl");
    cache_line("PoCL's", pocl, "");
}

/* The forms of 16-bit and 8-bit products; tests those not tested yet. */
static void print_forms(vitcl_device *device)
{
    static const struct {
        vitcl_precision precision;
        const char *name;
    } all[] = {{VITCL_BF16, "bf16"}, {VITCL_F16, "f16"}, {VITCL_INT8, "int8"}};
    char form[96];

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (vt_device_try(device, all[i].precision) == VITCL_OK &&
            vt_device_form(form, sizeof form, device, all[i].precision) ==
                VITCL_OK)
            line(all[i].name, form);
    }
}

static bool interprets(const vitcl_device_info *d)
{
    return strstr(d->name, "Oclgrind") != NULL;
}

static void report(const vitcl_device_info *d, vitcl_device *device)
{
    static const char *const variables[] = {
        "VITCL_DEVICE",    "VITCL_DOT",      "VITCL_MMA",
        "VITCL_CL_DIR",    "VITCL_TRY",      "POCL_DEVICES",
        "OCL_ICD_VENDORS", "RUSTICL_ENABLE", "POCL_MAX_PTHREAD_COUNT"};
    struct utsname u;

    line("vitcl", vitcl_version());
    if (uname(&u) == 0) {
        say("%-12s %s %s %s\n", "system", u.sysname, u.release, u.machine);
    }
    say("%-12s %s ", "device", d->id);
    say_text(d->name);
    say(" (%s, %u unit%s, ", d->type, d->compute_units,
        vt_plural(d->compute_units));
    print_bytes((double)d->memory_bytes);
    if (report_file)
        fprintf(report_file, "%.1f GB", (double)d->memory_bytes / 1e9);
    say(")\n");
    line("platform", d->platform);
    line("driver", d->driver);
    line("OpenCL", d->version);
    line("OpenCL C", d->opencl_c);
    say("%-12s %s, %u entr%s of vitcl tune\n", "GEMM", d->gemm, d->tuned,
        d->tuned == 1 ? "y" : "ies");
    if (!interprets(d))
        print_forms(device);
    if (d->warning[0])
        line("warning", d->warning);
    caches();
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);

        if (!value)
            continue;
        say("%-12s %s=", "environment", variables[i]);
        say_text(value);
        say("\n");
    }
    say("\n");
    fflush(stdout); /* a driver may crash */
}

/* ---- the test ---- */

static int check(bool good, const char *what, double figure)
{
    say("%-44s %s (%.2g)\n", what, good ? "ok" : "FAILED", figure);
    return good ? EXIT_OK : EXIT_FAILED;
}

/* No exit status: this device has no such provider, as the error says. */
enum { ABSENT = -1 };

/* How a command runs a model. */
typedef struct path {
    const char *gemm; /* NULL: automatic */
    uint32_t batch;
    vitcl_precision precision;
    int once;  /* weights are read during the run */
    bool sent; /* pictures, while others are computed */
} path;

static vitcl_status run_batch(vitcl_session *s, const path *p,
                              const uint8_t *rgb, uint32_t n)
{
    const vitcl_status st = p->sent ? vt_session_send_rgb(s, rgb, n) : VITCL_OK;

    if (!p->sent)
        return vitcl_session_run_rgb(s, rgb, n);
    return st == VITCL_OK ? vt_session_run_sent(s) : st;
}

/* Logits of all pictures into out. Others are computed first: if a launch is
 * lost, their numbers are left. */
static int logits_of(float *out, vitcl_model *model, const path *p,
                     const uint8_t *rgb, uint32_t *classes)
{
    const uint32_t batch = p->batch;
    const vitcl_session_options o = {.size = sizeof o,
                                     .batch = batch,
                                     .height = SIDE,
                                     .width = SIDE,
                                     .gemm = p->gemm,
                                     .precision = p->precision,
                                     .once = p->once,
                                     .any_batch = 1};
    vitcl_session *s = NULL;
    const vitcl_status st = vitcl_session_new(&s, model, &o);
    int code;

    if (st != VITCL_OK)
        return st == VITCL_EINVAL || st == VITCL_EUNSUPPORTED ? ABSENT
                                                              : failed();
    *classes = vitcl_session_classes(s);
    TRY(run_batch(s, p, rgb + PICTURE, batch));
    for (uint32_t i = 0; i < PICTURES; i += batch) {
        uint32_t n = PICTURES - i < batch ? PICTURES - i : batch;

        TRY(run_batch(s, p, rgb + (size_t)i * PICTURE, n));
        TRY(vitcl_session_read(out + (size_t)i * *classes, (size_t)n * *classes,
                               s, "logits", n));
        TRY(stopped() ? EXIT_STOPPED : EXIT_OK);
    }
done:
    vitcl_session_free(s);
    return code;
}

/* The error of logits, also beside those in f32 that are right, if any were. */
static double error_of(const float *got, const float *right, uint32_t classes)
{
    const double off = known_error(&known_small, got, classes);
    const size_t n = (size_t)PICTURES * classes;

    return right ? fmax(off, largest_error(got, right, n)) : off;
}

static void say_absent(const char *what)
{
    say("%-44s not available here: ", what);
    say_text(vitcl_last_error());
    say("\n");
}

/* One precision on every path. Into `bits` go the logits of the first that is
 * right, which the others must give, too. */
static int every_path(vitcl_model *model, const uint8_t *rgb,
                      const known_precision *k, const float *right, float *got,
                      float *bits)
{
    enum { PATHS = 8 };
    uint32_t classes = 0;
    double most = 0;
    bool have = false; /* the bits of the first that was right */
    char what[64];
    int code = EXIT_OK;

    for (int way = 0; way < PATHS; way++) {
        const path p = {.batch = way & 4 ? PICTURES : 1,
                        .precision = k->precision,
                        .once = (way & 2) != 0,
                        .sent = (way & 1) != 0};
        float *out = have ? got : bits;
        const int bad = logits_of(out, model, &p, rgb, &classes);
        double off;

        if (bad == ABSENT)
            say_absent(k->name);
        if (bad != EXIT_OK)
            return bad == ABSENT ? EXIT_OK : bad;
        off = error_of(out, right, classes);
        most = fmax(most, off);
        snprintf(what, sizeof what, "%s, batch of %u, weights %s%s", k->name,
                 p.batch, p.once ? "read once" : "kept",
                 p.sent ? ", sent" : "");
        if (!(off <= k->bound))
            code = check(false, what, off);
        else if (!have)
            have = true;
        else if (memcmp(got, bits, (size_t)PICTURES * classes * sizeof *got)) {
            say("%-44s FAILED: other bits\n", what);
            code = EXIT_FAILED;
        }
    }
    snprintf(what, sizeof what, "%s on all paths", k->name);
    return code == EXIT_OK ? check(true, what, most) : code;
}

/* The logits of all providers into `right`, `got` and `bits`. */
static int compare(vitcl_model *model, const uint8_t *rgb, float *right,
                   float *got, float *bits)
{
    static const char *const gemms[] = {"plain", "native", "clblast"};
    bool known = false; /* `right` is filled */
    uint32_t classes = 0;
    int code = EXIT_OK, bad;

    for (size_t i = 0; i < sizeof gemms / sizeof *gemms; i++) {
        char what[64];
        double off = 0;

        bad = EXIT_OK;
        for (uint32_t batch = 1; batch <= PICTURES && bad == EXIT_OK;
             batch += PICTURES - 1) {
            const path p = {.gemm = gemms[i], .batch = batch};
            float *out = known ? got : right;

            bad = logits_of(out, model, &p, rgb, &classes);
            if (bad == EXIT_OK)
                off = fmax(off, error_of(out, known ? right : NULL, classes));
        }
        if (bad == EXIT_STOPPED)
            return bad;
        if (bad == ABSENT) {
            say_absent(gemms[i]);
            continue;
        }
        if (bad == EXIT_OK) {
            snprintf(what, sizeof what, "%s gives the known answer", gemms[i]);
            bad = check(off <= known_precisions[0].bound, what, off);
            known = known || bad == EXIT_OK;
        }
        code = bad == EXIT_OK ? code : bad;
    }
    for (size_t i = 0; i < KNOWN_PRECISIONS; i++) {
        bad = every_path(model, rgb, &known_precisions[i], known ? right : NULL,
                         got, bits);
        if (bad == EXIT_STOPPED)
            return bad;
        code = bad == EXIT_OK ? code : bad;
    }
    return code;
}

/* Runs a model with every provider of the device; prints the result. */
static int test(const selftest *o, vitcl_device *device)
{
    const size_t bytes = (size_t)(PICTURES + 1) * PICTURE;
    const double start = now();
    vitcl_model *model = NULL;
    uint8_t *rgb = malloc(bytes);
    float *out = calloc(3 * PICTURES * CLASSES, sizeof *out);
    int code;

    TRY(rgb && out ? EXIT_OK : fail("out of memory"));
    known_pictures(rgb, bytes);
    TRY(vitcl_model_new(&model, device, o->common.preset, SIDE));
    TRY(compare(model, rgb, out, out + PICTURES * CLASSES,
                out + 2 * PICTURES * CLASSES));
done:
    if (code != EXIT_STOPPED)
        say("\nverdict: %s, after %.1f s\n",
            code == EXIT_OK ? "this device computes what it should"
                            : "FAILED; please report all of this",
            now() - start);
    vitcl_model_free(model);
    free(rgb);
    free(out);
    return code;
}

/* ---- the report ---- */

static void begin_report(void)
{
    const time_t today = time(NULL);
    char date[32] = "";
    struct tm utc;

    if (gmtime_r(&today, &utc))
        strftime(date, sizeof date, "%Y-%m-%d", &utc);
    fprintf(report_file, "# A report of vitcl selftest, %s\n\n```\n", date);
}

static int end_report(vt_newfile *file, vitcl_device *device, const selftest *o,
                      int tested)
{
    enum { SECONDS = 180 };
    bool wrong = false;
    int code;

    fprintf(report_file, "```\n\n## ViT-B/16\n\n");
    code = speeds_write(&wrong, report_file, device,
                        o->seconds ? o->seconds : SECONDS);
    if (stopped())
        return EXIT_STOPPED;
    if (code != EXIT_OK)
        fprintf(report_file, "\nIt ended: %s\n", vitcl_last_error());
    RET(vt_newfile_commit(file));
    if (code == EXIT_OK && wrong)
        code =
            fail("ViT-B/16's numbers are wrong: %s says which; please send it",
                 o->report);
    return tested == EXIT_OK ? code : tested;
}

static int run(void *into, const words *operands)
{
    selftest *o = into;
    vitcl_device *device = NULL;
    vitcl_device_info info = {.size = sizeof info};
    vt_newfile file = {0};
    int code;

    (void)operands;
    o->common.preset = "vit-ti/16";
    TRY(open_device(&device, o->common.device));
    TRY(vitcl_device_describe(&info, device));
    if (o->report) {
        catch_stop(); /* from here on a stop must remove the file */
        TRY(vt_newfile_open(&file, o->report));
    }
    report_file = file.f;
    if (report_file)
        begin_report();
    if (!guard_told() || report_file)
        report(&info, device);
    guard_tell();
    if (interprets(&info))
        code =
            fail("no verdict: Oclgrind interprets each instruction, so a model "
                 "takes hours; tools/test --all tries every kernel there");
    else
        code = test(o, device);
    if (report_file && !interprets(&info) && code != EXIT_STOPPED)
        code = end_report(&file, device, o, code);
done:
    vt_newfile_discard(&file);
    vitcl_device_free(device);
    return code;
}

const command cmd_selftest = {
    "selftest",
    "",
    "Check a device's numbers",
    "Runs a small model in every way and compares with the known answer. "
    "Takes some seconds. Include all that it prints in a bug report, "
    "or "
    "the file of --report, which takes three minutes more.",
    options,
    sizeof(selftest),
    run};
