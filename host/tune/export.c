/*
 * export.c - what was tuned for CLBlast's Xgemm as a file of results in the
 * form of CLBlast's tuners, which its scripts/database/database.py adds to its
 * database. Names of vendors and devices are changed as CLBlast does before it
 * looks them up (src/utilities/device_mapping.hpp).
 *
 * The database compares the results of one product alone, so that is what is
 * timed: the tuners' default, 1024 square, alpha and beta 2.
 */
#include "tune/export.h"

#include "base/attempt.h"
#include "base/file.h"
#include "base/json_print.h"
#include "base/memory.h"
#include "tune/params.h"

#include <stdio.h>
#include <string.h>

/* Of OpenCL and its extensions */
enum { PLATFORM_VERSION = 0x0901, PLATFORM_VENDOR = 0x0903 };
enum { NVIDIA_MAJOR = 0x4000, NVIDIA_MINOR = 0x4001, AMD_BOARD = 0x4038 };
#define NVIDIA "cl_nv_device_attribute_query"
#define AMD "cl_amd_device_attribute_query"

/* ---- what CLBlast calls the device ---- */

typedef struct pair {
    const char *ours, *theirs;
} pair;

static const pair types[] = {
    {"cpu", "CPU"}, {"gpu", "GPU"}, {"custom", "default"}};
static const pair vendors[] = {{"Intel(R) Corporation", "Intel"},
                               {"GenuineIntel", "Intel"},
                               {"Advanced Micro Devices, Inc.", "AMD"},
                               {"NVIDIA Corporation", "NVIDIA"}};
static const pair architectures[] = {{"gfx803", "Fiji"}, {"gfx900", "Vega"}};

static const char *theirs(const pair *p, size_t n, const char *ours)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(p[i].ours, ours) == 0)
            return p[i].theirs;
    return ours;
}
#define THEIRS(table, word) theirs(table, VT_COUNT(table), word)

/* Takes the first `part` out. */
static void cut(char *text, const char *part)
{
    char *at = strstr(text, part);

    if (at)
        memmove(at, at + strlen(part), strlen(at + strlen(part)) + 1);
}

typedef struct names {
    char architecture[256], name[256], extra[256];
} names;

static void name_device(names *n, const vt_dev *dev)
{
    const vitcl_device_info *info = vt_dev_info(dev);
    const bool amd = vt_dev_reports(dev, AMD);
    const char *architecture = "";
    char capability[32] = "";

    if (vt_dev_reports(dev, NVIDIA))
        snprintf(capability, sizeof capability, "SM%u.%u",
                 vt_dev_number(dev, NVIDIA_MAJOR),
                 vt_dev_number(dev, NVIDIA_MINOR));
    if (capability[0])
        architecture = capability;
    else if (amd)
        architecture = info->name;
    else if (strcmp(info->vendor, "QUALCOMM") == 0 &&
             strcmp(info->type, "gpu") == 0)
        architecture = info->opencl_c;
    snprintf(n->architecture, sizeof n->architecture, "%s",
             THEIRS(architectures, architecture));
    snprintf(n->name, sizeof n->name, "%s", info->name);
    snprintf(n->extra, sizeof n->extra, "%s", capability);
    if (amd) {
        vt_dev_text(n->name, sizeof n->name, dev, AMD_BOARD);
        snprintf(n->extra, sizeof n->extra, "%s", n->name);
    }
    cut(n->name, "pthread-");
}

/* ---- the file ---- */

typedef struct result {
    unsigned short v[VT_NUMBERS];
    double ms;
} result;

static void member(FILE *f, const char *key, const char *text)
{
    fprintf(f, "  \"%s\": ", key);
    vt_json_print_string(f, text);
    fputs(",\n", f);
}

static void member_number(FILE *f, const char *key, unsigned number)
{
    fprintf(f, "  \"%s\": \"%u\",\n", key, number);
}

/* With a point in every locale; digits: 2 or 3. */
static void number(FILE *f, double ms, int digits)
{
    const unsigned long one = digits == 2 ? 100 : 1000,
                        n = (unsigned long)(ms * (double)one + 0.5);

    fprintf(f, "%lu.%0*lu", n / one, digits, n % one);
}

/* An entry's parameters as members of an object or as words; CLBlast counts the
 * precision among them. */
static void parameters(FILE *f, const unsigned short *v, bool members)
{
    const char *name;

    for (int i = 0; (name = vt_params_name(VT_PARAMS_CLBLAST, i)); i++)
        fprintf(f, members ? "\"%s\": %u, " : "%s=%u ", name, v[i]);
    fputs(members ? "\"PRECISION\": 32" : "PRECISION=32", f);
}

static void write_file(FILE *f, const vt_dev *dev, const result *r, int n,
                       const result *best)
{
    const vitcl_device_info *info = vt_dev_info(dev);
    const char *type = THEIRS(types, info->type);
    char text[256];
    names d = {.name = ""};

    name_device(&d, dev);
    fputs("{\n", f);
    member(f, "kernel_family", "xgemm_2"); /* any parameters, GEMMK 0 */
    member(f, "precision", "32");
    member(f, "best_kernel", "Xgemm");
    fputs("  \"best_time\": \"", f);
    number(f, best->ms, 2);
    fputs("\",\n  \"best_parameters\": \"", f);
    parameters(f, best->v, false);
    fputs("\",\n", f);
    member_number(f, "arg_m", VT_CLBLAST_SIDE);
    member_number(f, "arg_n", VT_CLBLAST_SIDE);
    member_number(f, "arg_k", VT_CLBLAST_SIDE);
    member(f, "arg_alpha", "2.00");
    member(f, "arg_beta", "2.00");
    member(f, "clblast_device_type", type);
    member(f, "clblast_device_vendor", THEIRS(vendors, info->vendor));
    member(f, "clblast_device_architecture", d.architecture);
    member(f, "clblast_device_name", d.name);
    member(f, "device", info->name);
    vt_dev_platform_text(text, sizeof text, dev, PLATFORM_VENDOR);
    member(f, "platform_vendor", text);
    vt_dev_platform_text(text, sizeof text, dev, PLATFORM_VERSION);
    member(f, "platform_version", text);
    member(f, "device_vendor", info->vendor);
    member(f, "device_type", type);
    member_number(f, "device_core_clock", info->clock_mhz);
    member_number(f, "device_compute_units", info->compute_units);
    member(f, "device_extra_info", d.extra);
    fputs("  \"results\": [\n", f);
    for (int i = 0; i < n; i++) {
        fputs("    {\n      \"kernel\": \"Xgemm\",\n      \"time\": ", f);
        number(f, r[i].ms, 3);
        fputs(",\n      \"parameters\": {", f);
        parameters(f, r[i].v, true);
        fprintf(f, "}\n    }%s\n", i + 1 < n ? "," : "");
    }
    fputs("  ]\n}\n", f);
}

/* ---- the times ---- */

static vitcl_status measure(result *r, const vt_dev *dev,
                            vitcl_progress progress, void *context)
{
    const vitcl_device_info *info = vt_dev_info(dev);
    char entry[VT_ENTRY];
    const vt_attempt a = {
        .words = {"xgemm", info->id, info->name, info->driver, entry},
        .stop = progress,
        .stop_context = context};
    char answer[32];
    vitcl_status st;

    vt_params_format(entry, VT_PARAMS_CLBLAST, 0, r->v);
    VT_TRY(vt_attempt_run(answer, sizeof answer, &a));
    r->ms = vt_attempt_number(answer);
    if (!(r->ms > 0 && r->ms < 1e6))
        st =
            vt_fail(VITCL_EDEVICE, "the time measured for Xgemm is %s", answer);
done:
    return st;
}

vitcl_status vt_tuned_export(double *tuned, double *built_in, vt_dev *dev,
                             const char *path, vitcl_progress progress,
                             void *context)
{
    const vitcl_device_info *info = vt_dev_info(dev);
    vt_newfile file = {0};
    result r[2] = {{.ms = 0}};
    int n = 1;
    vitcl_status st;

    if (!vt_params_for(dev, VT_PARAMS_CLBLAST, VT_F32))
        return vt_fail(VITCL_EINVAL,
                       "nothing is tuned for CLBlast on %.60s with driver "
                       "%.40s yet: vitcl tune --gemm clblast does it",
                       info->name, info->driver);
    vt_params_values(r[0].v, dev, VT_PARAMS_CLBLAST, VT_F32);
    (void)vt_params_vendor(r[1].v, VT_PARAMS_CLBLAST, info);
    VT_TRY(vt_newfile_open(&file, path));
    VT_TRY(measure(&r[0], dev, progress, context));
    r[1].ms = r[0].ms;
    if (memcmp(r[0].v, r[1].v, sizeof r[0].v) != 0) {
        VT_TRY(measure(&r[1], dev, progress, context));
        n = 2;
    }
    write_file(file.f, dev, r, n, r[1].ms < r[0].ms ? &r[1] : &r[0]);
    VT_TRY(vt_newfile_commit(&file));
    *tuned = r[0].ms;
    *built_in = r[1].ms;
done:
    vt_newfile_discard(&file);
    return st;
}
