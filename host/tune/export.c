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

static void write_file(FILE *f, const vt_dev *dev, const result *r, int n,
                       const result *best)
{
    const vitcl_device_info *info = vt_dev_info(dev);
    const char *type = THEIRS(types, info->type), *name;
    char vendor[256], version[256];
    vt_json_writer w = {.f = f, .spaced = true};
    names d = {.name = ""};

    name_device(&d, dev);
    vt_dev_platform_text(vendor, sizeof vendor, dev, PLATFORM_VENDOR);
    vt_dev_platform_text(version, sizeof version, dev, PLATFORM_VERSION);
    /* any parameters, GEMMK 0; the precision is one of them */
    vt_json_put(&w,
                "{\n  kernel_family:'xgemm_2'\n  precision:'32'"
                "\n  best_kernel:'Xgemm'\n  best_time:'%.2f'"
                "\n  best_parameters:'",
                best->ms);
    for (int i = 0; (name = vt_params_name(VT_PARAMS_CLBLAST, i)); i++)
        fprintf(f, "%s=%u ", name, best->v[i]);
    fputs("PRECISION=32\"", f);
    vt_json_put(&w,
                "\n  arg_m:'%d'\n  arg_n:'%d'\n  arg_k:'%d'"
                "\n  arg_alpha:'2.00'\n  arg_beta:'2.00'"
                "\n  clblast_device_type:%s\n  clblast_device_vendor:%s"
                "\n  clblast_device_architecture:%s\n  clblast_device_name:%s"
                "\n  device:%s\n  platform_vendor:%s\n  platform_version:%s"
                "\n  device_vendor:%s\n  device_type:%s"
                "\n  device_core_clock:'%u'\n  device_compute_units:'%u'"
                "\n  device_extra_info:%s\n  results:[",
                VT_CLBLAST_SIDE, VT_CLBLAST_SIDE, VT_CLBLAST_SIDE, type,
                THEIRS(vendors, info->vendor), d.architecture, d.name,
                info->name, vendor, version, info->vendor, type,
                info->clock_mhz, info->compute_units, d.extra);
    for (int k = 0; k < n; k++) {
        vt_json_put(&w,
                    "\n    {\n      kernel:'Xgemm'\n      time:%.3f"
                    "\n      parameters:{",
                    r[k].ms);
        for (int i = 0; (name = vt_params_name(VT_PARAMS_CLBLAST, i)); i++)
            vt_json_put(&w, "%s:%u", name, r[k].v[i]);
        vt_json_put(&w, "PRECISION:32}\n    }");
    }
    vt_json_put(&w, "\n  ]\n}\n");
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
