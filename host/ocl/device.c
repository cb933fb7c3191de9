/*
 * device.c - find, describe, choose and open OpenCL devices.
 *
 * Devices are named "p:d", platform and device in the ICD loader's order. A
 * platform or device that cannot be queried stays in the list with the reason
 * in `error`; it never hides the others.
 */
#include "ocl/cache.h"
#include "ocl/objects.h"

#include "base/environment.h"
#include "base/log.h"
#include "base/memory.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define MAX_PLATFORMS 64
#define MAX_DEVICES 64

typedef struct found {
    cl_platform_id platform;
    cl_device_id id; /* NULL: the platform failed */
    cl_device_type type;
    bool ready; /* available, and has a compiler */
    vitcl_device_info info;
} found;

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

/* If a driver does not know a query (CL_INVALID_VALUE), the field keeps its
 * value. Any other error makes the device unusable: with a guess instead of an
 * answer, other kernels would be chosen, and the last bits would differ. */
static cl_int failure(cl_int e)
{
    return e == CL_INVALID_VALUE ? CL_SUCCESS : e;
}

/* Keeps the first failure in f->info.error. */
static void unusable(found *f, cl_uint what, cl_int e)
{
    if (!f->info.error[0])
        snprintf(f->info.error, sizeof f->info.error,
                 "the driver rejects a query about this device (0x%04x): "
                 "%s",
                 (unsigned)what, vt_cl_name(e));
}

static void check(found *f, cl_uint what, cl_int e)
{
    if (failure(e) != CL_SUCCESS)
        unusable(f, what, e);
}

/* A driver's string of any length; NULL if there is none. */
static cl_int long_text(char **out, cl_platform_id platform, cl_device_id id,
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

/* Copies it without surrounding blanks and control characters. */
static void copy_text(char *out, size_t size, char *text)
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

static bool has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);

    for (const char *p = list; p && (p = strstr(p, word)); p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
            return true;
    return false;
}

static void ask(found *f, const struct property *p)
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
        e = long_text(&text, f->platform, p->kind == TEXT ? f->id : NULL,
                      p->what);
        check(f, p->what, e);
        copy_text((char *)field, p->size, text);
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

static void describe(found *f)
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
          long_text(&extensions, NULL, f->id, CL_DEVICE_EXTENSIONS));
    for (size_t i = 0; i < VT_COUNT(features); i++)
        if (has_word(extensions, features[i].extension))
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
static vitcl_status list_platform(found **out, size_t *n, size_t *cap,
                                  cl_platform_id platform, unsigned number)
{
    cl_device_id ids[MAX_DEVICES];
    cl_uint count = 0;
    const cl_int e =
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, ids, &count);
    const bool broken = e != CL_SUCCESS && e != CL_DEVICE_NOT_FOUND;
    vitcl_status st;

    count = broken            ? 1
            : e != CL_SUCCESS ? 0
                              : VT_MIN(count, (cl_uint)MAX_DEVICES);
    VT_TRY(vt_grow(out, cap, *n + count, sizeof **out));
    for (unsigned d = 0; d < count; d++) {
        found *f = &(*out)[(*n)++];
        char *name;

        f->platform = platform;
        snprintf(f->info.id, sizeof f->info.id, "%u:%u", number, d);
        if (!broken) {
            f->id = ids[d];
            describe(f);
            continue;
        }
        (void)long_text(&name, platform, NULL, CL_PLATFORM_NAME);
        copy_text(f->info.platform, sizeof f->info.platform, name);
        snprintf(f->info.error, sizeof f->info.error,
                 "the driver cannot list its devices: %s", vt_cl_name(e));
    }
done:
    return st;
}

/* All devices, in the ICD loader's order; an empty list is no error. */
static vitcl_status enumerate(found **out, size_t *count)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint n = 0;
    size_t cap = 0;
    found *list = NULL;
    vitcl_status st = VITCL_OK;
    cl_int e;

    *count = 0;
    VT_TRY(vt_ocl_ours());
    e = clGetPlatformIDs(MAX_PLATFORMS, platforms, &n);
    if (e != CL_SUCCESS && e != -1001)
        return vt_cl_fail(NULL, e, "the OpenCL loader cannot list platforms");
    if (e != CL_SUCCESS)
        n = 0;
    for (unsigned i = 0; i < VT_MIN(n, (cl_uint)MAX_PLATFORMS); i++)
        VT_TRY(list_platform(&list, count, &cap, platforms[i], i));
    *out = list, list = NULL;
done:
    free(list);
    return st;
}

/* Does the loader's folder name a driver, usable or not? */
static bool drivers_installed(void)
{
    const char *where = vt_getenv("OCL_ICD_VENDORS");
    DIR *d;
    bool any = false;

    if (!where || !*where)
        where = "/etc/OpenCL/vendors";
    d = opendir(where);
    if (!d)
        return strstr(where, ".icd") != NULL;
    for (struct dirent *e; !any && (e = readdir(d));)
        any = strstr(e->d_name, ".icd") != NULL;
    closedir(d);
    return any;
}

static vitcl_status none(void)
{
    if (drivers_installed())
        return vt_fail(
            VITCL_ENODEVICE,
            "no OpenCL device: drivers are installed but offer none; "
            "PoCL needs a writable folder for its cache "
            "(POCL_CACHE_DIR, XDG_CACHE_HOME or HOME)");
    return vt_fail(VITCL_ENODEVICE,
                   "no OpenCL device: install a driver, for example the "
                   "package pocl-opencl-icd for the CPU");
}

vitcl_status vt_dev_list(vitcl_device_info *out, uint32_t index)
{
    found *list = NULL;
    size_t n = 0;
    vitcl_status st;

    VT_TRY(enumerate(&list, &n));
    if (n == 0)
        st = none();
    else if (index >= n)
        st = vt_fail(VITCL_ENODEVICE, "there are only %zu OpenCL devices", n);
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

static bool matches(const found *f, const char *select)
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
static void candidates(char *out, size_t size, const found *list, size_t n,
                       const char *select)
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

/* Any, cpu and gpu select the first match, preferring a GPU. A name must match
 * one device only, unless it is the full name of exactly one. */
static vitcl_status choose(const found **out, const found *list, size_t n,
                           const char *select)
{
    const bool broad = strcmp(select, "any") == 0 ||
                       strcmp(select, "cpu") == 0 || strcmp(select, "gpu") == 0;
    const found *hit = NULL, *whole = NULL;
    size_t hits = 0, wholes = 0;
    char list_text[400];

    for (size_t i = 0; i < n; i++) {
        const found *f = &list[i];
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

/* ---- opening ---- */

static vitcl_status identity(char **out, const found *f)
{
    char *version = NULL;
    const vitcl_device_info *i = &f->info;
    const cl_int e =
        long_text(&version, f->platform, NULL, CL_PLATFORM_VERSION);
    const vitcl_status st =
        failure(e) ? vt_cl_fail(NULL, e, "cannot read the platform's version")
                   : vt_format(out, "%s|%s|%s|%s|%s|%s", i->platform,
                               version ? version : "", i->name, i->vendor,
                               i->version, i->driver);

    free(version);
    return st;
}

static vitcl_status measure(vt_dev *dev)
{
    cl_uint lanes = 4, bits = 0;
    size_t group = 1;
    cl_device_fp_config fp = 0;

    const struct {
        cl_uint what;
        size_t size;
        void *out;
    } questions[] = {
        {CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof lanes, &lanes},
        {CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits},
        {CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof group, &group},
        {CL_DEVICE_SINGLE_FP_CONFIG, sizeof fp, &fp},
    };

    for (size_t i = 0; i < VT_COUNT(questions); i++) {
        const cl_int e =
            clGetDeviceInfo(dev->id, questions[i].what, questions[i].size,
                            questions[i].out, NULL);

        if (failure(e))
            return vt_cl_fail(dev, e,
                              "the driver rejects a query about the device "
                              "(0x%04x)",
                              (unsigned)questions[i].what);
    }
    dev->vector = lanes >= 16 ? 16 : lanes >= 8 ? 8 : 4;
    dev->align = VT_MAX((size_t)64, (size_t)bits / 8);
    dev->group_max = VT_MIN(group, (size_t)256);
    snprintf(dev->flags, sizeof dev->flags, "-cl-std=CL1.2%s%s",
             fp & CL_FP_FMA ? "" : " -DNO_FMA",
             fp & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT
                 ? " -cl-fp32-correctly-rounded-divide-sqrt"
                 : "");
    return VITCL_OK;
}

static vitcl_status open_found(vt_dev **out, const found *f)
{
    vt_dev *dev = NULL;
    cl_int e;
    vitcl_status st;

    if (!f->ready)
        return vt_fail(VITCL_ENODEVICE, "device %s cannot be used: %s",
                       f->info.id, f->info.error);
    VT_TRY(VT_NEW(&dev, 1));
    atomic_init(&dev->refs, 1);
    pthread_mutex_init(&dev->lock, NULL);
    pthread_cond_init(&dev->built, NULL);
    dev->platform = f->platform;
    dev->id = f->id;
    dev->info = f->info;
    dev->class = f->type & CL_DEVICE_TYPE_CPU ? VT_CLASS_CPU : VT_CLASS_GPU;
    dev->processor = (f->type & ~(cl_device_type)CL_DEVICE_TYPE_DEFAULT) ==
                     CL_DEVICE_TYPE_CPU;
    VT_TRY(measure(dev));
    VT_TRY(identity(&dev->identity, f));
    const cl_context_properties where[] = {
        CL_CONTEXT_PLATFORM, (cl_context_properties)f->platform, 0};
    dev->context = clCreateContext(where, 1, &f->id, NULL, NULL, &e);
    if (!dev->context) {
        st = vt_cl_fail(dev, e, "cannot open the device");
        goto done;
    }
    vt_log("device %s: %s, %s, driver %s, %s; %u units, vectors of %d "
           "floats",
           dev->info.id, dev->info.name, dev->info.platform, dev->info.driver,
           dev->info.opencl_c, dev->info.compute_units, dev->vector);
    vt_cache_tell();
    *out = dev, dev = NULL;
done:
    vt_dev_free(dev);
    return st;
}

vitcl_status vt_dev_open(vt_dev **out, const char *select)
{
    found *list = NULL;
    const found *f = NULL;
    size_t n = 0;
    vitcl_status st;

    if (!select || !*select)
        select = vt_getenv("VITCL_DEVICE");
    if (!select || !*select)
        select = "any";
    VT_TRY(enumerate(&list, &n));
    if (n == 0) {
        st = none();
        goto done;
    }
    VT_TRY(choose(&f, list, n, select));
    for (size_t i = 0; i < n; i++)
        if (&list[i] != f)
            vt_log("device %s: not selected; %s%s%s", list[i].info.id,
                   list[i].info.name,
                   list[i].info.name[0] && list[i].info.error[0] ? ": " : "",
                   list[i].info.error);
    VT_TRY(open_found(out, f));
done:
    free(list);
    return st;
}

vt_dev *vt_dev_ref(vt_dev *dev)
{
    atomic_fetch_add(&dev->refs, 1);
    return dev;
}

void vt_dev_free(vt_dev *dev)
{
    if (!dev || atomic_fetch_sub(&dev->refs, 1) != 1)
        return;
    if (dev->drop)
        dev->drop(dev->attached);
    vt_programs_free(dev);
    if (dev->context && !vt_dev_gone(dev))
        clReleaseContext(dev->context);
    pthread_cond_destroy(&dev->built);
    pthread_mutex_destroy(&dev->lock);
    free(dev->identity);
    free(dev);
}

const vitcl_device_info *vt_dev_info(const vt_dev *dev)
{
    return &dev->info;
}

vt_class vt_dev_class(const vt_dev *dev)
{
    return dev->class;
}

void vt_dev_attach(vt_dev *dev, const vitcl_device_info *info, void *state,
                   void (*drop)(void *state))
{
    dev->info = *info;
    dev->attached = state;
    dev->drop = drop;
}

void *vt_dev_attached(const vt_dev *dev)
{
    return dev->attached;
}

void vt_dev_keep_no_programs(vt_dev *dev)
{
    dev->fleeting = true;
}

bool vt_dev_is_processor(const vt_dev *dev)
{
    return dev->processor;
}

int vt_dev_vector(const vt_dev *dev)
{
    return dev->vector;
}

size_t vt_dev_align(const vt_dev *dev)
{
    return dev->align;
}

size_t vt_dev_group_max(const vt_dev *dev)
{
    return dev->group_max;
}

vt_counters vt_dev_counters(const vt_dev *dev)
{
    return (vt_counters){.programs_built = atomic_load(&dev->programs_built),
                         .kernels_made = atomic_load(&dev->kernels_made),
                         .buffers_made = atomic_load(&dev->buffers_made),
                         .args_set = atomic_load(&dev->args_set),
                         .lookups = atomic_load(&dev->lookups)};
}
