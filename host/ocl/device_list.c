/*
 * device_list.c - find, describe and choose OpenCL devices.
 *
 * Devices are named "p:d", platform and device in the ICD loader's order. A
 * platform or device that cannot be queried stays in the list with the reason
 * in `error`; it never hides the others.
 */
#include "ocl/device_list.h"

#include "base/memory.h"
#include "ocl/objects.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MAX_PLATFORMS 64
#define MAX_DEVICES 64

typedef enum { TEXT, PLATFORM_TEXT, UINT, ULONG, FLAG, NONZERO } kind;

/* Every property that needs a single query. If the driver rejects the query,
 * the field keeps its value. */
static const struct property {
    cl_uint what;
    kind kind;
    size_t offset, size;
} properties[] = {
#define ROW(what, kind, field)                                                 \
    {                                                                          \
        what, kind, offsetof(vitcl_device_info, field),                        \
            sizeof(((vitcl_device_info *)0)->field)                            \
    }
    ROW(CL_DEVICE_NAME, TEXT, name),
    ROW(CL_DEVICE_VENDOR, TEXT, vendor),
    ROW(CL_PLATFORM_NAME, PLATFORM_TEXT, platform),
    ROW(CL_DRIVER_VERSION, TEXT, driver),
    ROW(CL_DEVICE_VERSION, TEXT, version),
    ROW(CL_DEVICE_OPENCL_C_VERSION, TEXT, opencl_c),
    ROW(CL_DEVICE_MAX_COMPUTE_UNITS, UINT, compute_units),
    ROW(CL_DEVICE_MAX_CLOCK_FREQUENCY, UINT, clock_mhz),
    ROW(CL_DEVICE_GLOBAL_MEM_SIZE, ULONG, memory_bytes),
    ROW(CL_DEVICE_LOCAL_MEM_SIZE, ULONG, local_bytes),
    ROW(CL_DEVICE_MAX_MEM_ALLOC_SIZE, ULONG, max_alloc_bytes),
    ROW(CL_DEVICE_HOST_UNIFIED_MEMORY, FLAG, unified_memory),
    ROW(CL_DEVICE_DOUBLE_FP_CONFIG, NONZERO, fp64),
#undef ROW
};

/* Flags set by an extension. */
static const struct {
    const char *extension;
    size_t offset;
} features[] = {
    {"cl_khr_fp16", offsetof(vitcl_device_info, fp16)},
    {"cl_khr_subgroups", offsetof(vitcl_device_info, subgroups)},
    {"cl_intel_subgroups", offsetof(vitcl_device_info, subgroups)},
    {"cl_khr_integer_dot_product", offsetof(vitcl_device_info, integer_dot)},
};

cl_int vt_query_failure(cl_int e)
{
    return e == CL_INVALID_VALUE ? CL_SUCCESS : e;
}

/* Keeps the first failure in f->info.error. */
static void unusable(vt_driver_device *f, cl_uint what, cl_int e)
{
    if (!f->info.error[0])
        snprintf(f->info.error, sizeof f->info.error,
                 "the driver rejects a query about this device (0x%04x): "
                 "%s",
                 (unsigned)what, vt_cl_name(e));
}

static void check(vt_driver_device *f, cl_uint what, cl_int e)
{
    if (vt_query_failure(e) != CL_SUCCESS)
        unusable(f, what, e);
}

cl_int vt_query_text(char **out, cl_platform_id platform, cl_device_id id,
                     cl_uint what)
{
    size_t n = 0;
    char *s = NULL;
    cl_int e = id ? clGetDeviceInfo(id, what, 0, NULL, &n)
                  : clGetPlatformInfo(platform, what, 0, NULL, &n);

    *out = NULL;
    if (e != CL_SUCCESS || n == 0 || n > (1u << 20))
        return e;
    if (vt_new(&s, n + 1, 1) != VITCL_OK)
        return CL_OUT_OF_HOST_MEMORY;
    e = id ? clGetDeviceInfo(id, what, n, s, NULL)
           : clGetPlatformInfo(platform, what, n, s, NULL);
    if (e == CL_SUCCESS)
        *out = s, s = NULL;
    free(s);
    return e;
}

void vt_copy_text(char *out, size_t size, char *text)
{
    const char *from = text ? text : "";
    size_t n;

    while (isspace((unsigned char)*from))
        from++;
    snprintf(out, size, "%s", from);
    for (n = strlen(out); n > 0 && isspace((unsigned char)out[n - 1]); n--)
        out[n - 1] = '\0';
    for (char *c = out; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = ' ';
    free(text);
}

bool vt_has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);

    for (const char *p = list; p && (p = strstr(p, word)); p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
            return true;
    return false;
}

static void ask(vt_driver_device *f, const struct property *p)
{
    unsigned char *field = (unsigned char *)&f->info + p->offset;
    union {
        cl_uint u;
        cl_ulong l;
        cl_bool b;
    } v = {0};
    cl_int e;
    char *text;

    if (p->kind == TEXT || p->kind == PLATFORM_TEXT) {
        e = vt_query_text(&text, f->platform, p->kind == TEXT ? f->id : NULL,
                          p->what);
        check(f, p->what, e);
        vt_copy_text((char *)field, p->size, text);
        return;
    }
    e = clGetDeviceInfo(f->id, p->what, sizeof v, &v, NULL);
    check(f, p->what, e);
    if (e != CL_SUCCESS)
        return;
    if (p->kind == UINT)
        memcpy(field, &v.u, sizeof v.u);
    else if (p->kind == ULONG)
        memcpy(field, &v.l, sizeof v.l);
    else
        memcpy(field, &(int){p->kind == FLAG ? v.b != 0 : v.l != 0},
               sizeof(int));
}

static void describe(vt_driver_device *f)
{
    cl_bool available = CL_TRUE, compiler = CL_TRUE;
    const cl_int e =
        clGetDeviceInfo(f->id, CL_DEVICE_TYPE, sizeof f->type, &f->type, NULL);
    char *extensions;

    if (e != CL_SUCCESS) { /* every driver must know this query */
        unusable(f, CL_DEVICE_TYPE, e);
        return;
    }
    snprintf(f->info.type, sizeof f->info.type, "%s",
             f->type & CL_DEVICE_TYPE_CPU           ? "cpu"
             : f->type & CL_DEVICE_TYPE_GPU         ? "gpu"
             : f->type & CL_DEVICE_TYPE_ACCELERATOR ? "accelerator"
                                                    : "custom");
    for (size_t i = 0; i < VT_COUNT(properties); i++)
        ask(f, &properties[i]);
    check(f, CL_DEVICE_EXTENSIONS,
          vt_query_text(&extensions, NULL, f->id, CL_DEVICE_EXTENSIONS));
    for (size_t i = 0; i < VT_COUNT(features); i++)
        if (vt_has_word(extensions, features[i].extension))
            memcpy((unsigned char *)&f->info + features[i].offset, &(int){1},
                   sizeof(int));
    free(extensions);
    check(f, CL_DEVICE_AVAILABLE,
          clGetDeviceInfo(f->id, CL_DEVICE_AVAILABLE, sizeof available,
                          &available, NULL));
    check(f, CL_DEVICE_COMPILER_AVAILABLE,
          clGetDeviceInfo(f->id, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler,
                          &compiler, NULL));
    if ((!available || !compiler) && !f->info.error[0])
        snprintf(f->info.error, sizeof f->info.error, "%s",
                 available ? "the driver has no OpenCL C compiler"
                           : "the driver reports it as unavailable");
    f->ready = !f->info.error[0];
}

/* Appends one platform's devices at (*out)[*n]. */
static vitcl_status list_platform(vt_driver_device **out, size_t *n,
                                  size_t *cap, cl_platform_id platform,
                                  unsigned number)
{
    cl_device_id ids[MAX_DEVICES];
    cl_uint count = 0;
    const cl_int e =
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, ids, &count);
    const bool broken = e != CL_SUCCESS && e != CL_DEVICE_NOT_FOUND;

    count = broken            ? 1
            : e != CL_SUCCESS ? 0
                              : VT_MIN(count, (cl_uint)MAX_DEVICES);
    VT_RET(vt_grow(out, cap, *n + count, sizeof **out));
    for (unsigned d = 0; d < count; d++) {
        vt_driver_device *f = &(*out)[(*n)++];
        char *name;

        f->platform = platform;
        snprintf(f->info.id, sizeof f->info.id, "%u:%u", number, d);
        if (!broken) {
            f->id = ids[d];
            describe(f);
            continue;
        }
        (void)vt_query_text(&name, platform, NULL, CL_PLATFORM_NAME);
        vt_copy_text(f->info.platform, sizeof f->info.platform, name);
        snprintf(f->info.error, sizeof f->info.error,
                 "the driver cannot list its devices: %s", vt_cl_name(e));
    }
    return VITCL_OK;
}

static vitcl_status none(void)
{
    char why[400];

    switch (vt_drivers_check(why, sizeof why)) {
    case VT_DRIVERS_BROKEN:
        return vt_fail(VITCL_ENODEVICE,
                       "no OpenCL device: %s; install that driver again, or "
                       "remove the file",
                       why);
    case VT_DRIVERS_ASTRAY:
        return vt_fail(VITCL_ENODEVICE,
                       "no OpenCL device: %s; correct it, or unset it", why);
    case VT_DRIVERS_LOADABLE:
        return vt_fail(
            VITCL_ENODEVICE,
            "no OpenCL device: drivers are installed but offer none%s", why);
    default:
        return vt_fail(VITCL_ENODEVICE,
                       "no OpenCL device: install a driver, for example the "
                       "package pocl-opencl-icd for the CPU");
    }
}

vitcl_status vt_driver_devices(vt_driver_device **out, size_t *count)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint n = 0;
    size_t cap = 0;
    vt_driver_device *list = NULL;
    vitcl_status st = VITCL_OK;
    cl_int e;

    *count = 0;
    VT_TRY(vt_ocl_ours());
    vt_drivers_log();
    e = clGetPlatformIDs(MAX_PLATFORMS, platforms, &n);
    if (e != CL_SUCCESS && e != -1001)
        return vt_cl_fail(NULL, e, "the OpenCL loader cannot list platforms");
    if (e != CL_SUCCESS)
        n = 0;
    for (unsigned i = 0; i < VT_MIN(n, (cl_uint)MAX_PLATFORMS); i++)
        VT_TRY(list_platform(&list, count, &cap, platforms[i], i));
    if (*count == 0) {
        st = none();
        goto done;
    }
    *out = list, list = NULL;
done:
    free(list);
    return st;
}

vitcl_status vt_dev_list(vitcl_device_info *out, uint32_t index)
{
    vt_driver_device *list = NULL;
    size_t n = 0;
    vitcl_status st;

    VT_TRY(vt_driver_devices(&list, &n));
    if (index >= n)
        st = vt_fail(VITCL_ENODEVICE, "there is no OpenCL device with index %u",
                     index);
    else
        *out = list[index].info;
done:
    free(list);
    return st;
}

/* ---- choosing ---- */

static bool contains(const char *text, const char *part)
{
    const size_t n = strlen(part);

    for (; *text; text++) {
        size_t i = 0;
        while (i < n && tolower((unsigned char)text[i]) ==
                            tolower((unsigned char)part[i]))
            i++;
        if (i == n)
            return true;
    }
    return false;
}

static bool matches(const vt_driver_device *f, const char *select)
{
    if (strcmp(select, "any") == 0)
        return f->ready;
    if (strcmp(select, "cpu") == 0 || strcmp(select, "gpu") == 0)
        return f->ready && strcmp(f->info.type, select) == 0;
    if (isdigit((unsigned char)*select) &&
        select[strspn(select, "0123456789:")] == '\0' && strchr(select, ':'))
        return strcmp(f->info.id, select) == 0;
    return contains(f->info.name, select);
}

/* "0:0 name, 1:0 name" of those that match, or of all. */
static void candidates(char *out, size_t size, const vt_driver_device *list,
                       size_t n, const char *select)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < n && used < size; i++)
        if (!select || matches(&list[i], select)) {
            const int k = snprintf(out + used, size - used, "%s%s %s",
                                   used ? ", " : "", list[i].info.id,
                                   list[i].info.name[0] ? list[i].info.name
                                                        : list[i].info.error);
            used += k > 0 ? (size_t)k : 0;
        }
}

vitcl_status vt_driver_device_choose(const vt_driver_device **out,
                                     const vt_driver_device *list, size_t n,
                                     const char *select)
{
    const bool broad = strcmp(select, "any") == 0 ||
                       strcmp(select, "cpu") == 0 || strcmp(select, "gpu") == 0;
    const vt_driver_device *hit = NULL, *whole = NULL;
    size_t hits = 0, wholes = 0;
    char list_text[400];

    for (size_t i = 0; i < n; i++) {
        const vt_driver_device *f = &list[i];
        if (!matches(f, select))
            continue;
        if (!hit || (broad && !(hit->type & CL_DEVICE_TYPE_GPU) &&
                     (f->type & CL_DEVICE_TYPE_GPU)))
            hit = f;
        hits++;
        if (strcmp(f->info.name, select) == 0)
            whole = f, wholes++;
    }
    if (hits == 0) {
        candidates(list_text, sizeof list_text, list, n, NULL);
        return vt_fail(VITCL_ENODEVICE,
                       "no OpenCL device matches \"%.60s\"; available: %s",
                       select, list_text[0] ? list_text : "none");
    }
    if (hits > 1 && !broad && wholes != 1) {
        candidates(list_text, sizeof list_text, list, n, select);
        return vt_fail(VITCL_ENODEVICE,
                       "\"%.60s\" matches several OpenCL devices; name one: %s",
                       select, list_text);
    }
    *out = wholes == 1 && !broad ? whole : hit;
    return VITCL_OK;
}
