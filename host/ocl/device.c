/*
 * device.c - open a device: which, its limits, its context, what is attached.
 */
#include "ocl/cache.h"
#include "ocl/device_list.h"
#include "ocl/objects.h"

#include "base/environment.h"
#include "base/log.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static vitcl_status identity(char **out, const vt_driver_device *f)
{
    char *version = NULL;
    const vitcl_device_info *i = &f->info;
    const cl_int e =
        vt_query_text(&version, f->platform, NULL, CL_PLATFORM_VERSION);
    const vitcl_status st =
        vt_query_failure(e)
            ? vt_cl_fail(NULL, e, "cannot read the platform's version")
            : vt_format(out, "%s|%s|%s|%s|%s|%s", i->platform,
                        version ? version : "", i->name, i->vendor, i->version,
                        i->driver);

    free(version);
    return st;
}

/* What a slow GPU multiplies and adds in a tenth of a second: 2 numbers a cycle
 * for each of its units, a quarter of what one of Intel's can. No desktop waits
 * for a processor. */
static double launch_macs(const vt_dev *dev)
{
    const double mhz = dev->info.clock_mhz ? dev->info.clock_mhz : 500;

    return dev->processor
               ? INFINITY
               : 0.1 * 2 * mhz * 1e6 * VT_MAX(dev->info.compute_units, 1u);
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

        if (vt_query_failure(e))
            return vt_cl_fail(dev, e,
                              "the driver rejects a query about the device "
                              "(0x%04x)",
                              (unsigned)questions[i].what);
    }
    dev->vector = lanes >= 16 ? 16 : lanes >= 8 ? 8 : 4;
    dev->align = VT_MAX((size_t)64, (size_t)bits / 8);
    dev->group_max = VT_MIN(group, (size_t)256);
    dev->launch_macs = launch_macs(dev);
    snprintf(dev->flags, sizeof dev->flags, "-cl-std=CL1.2%s%s",
             fp & CL_FP_FMA ? "" : " -DNO_FMA",
             fp & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT
                 ? " -cl-fp32-correctly-rounded-divide-sqrt"
                 : "");
    return VITCL_OK;
}

/* The forms of kernels: the device's own, or those that VITCL_DEVICE_CLASS
 * names. */
static vitcl_status choose_class(vt_dev *dev, cl_device_type type)
{
    const char *const wanted = vt_getenv("VITCL_DEVICE_CLASS");
    char *identity = NULL;

    dev->class = type & CL_DEVICE_TYPE_CPU ? VT_CLASS_CPU : VT_CLASS_GPU;
    if (!wanted || !*wanted)
        return VITCL_OK;
    if (strcmp(wanted, "cpu") == 0 || strcmp(wanted, "unknown-cpu") == 0)
        dev->class = VT_CLASS_CPU;
    else if (strcmp(wanted, "gpu") == 0)
        dev->class = VT_CLASS_GPU;
    else
        return vt_fail(
            VITCL_EINVAL,
            "VITCL_DEVICE_CLASS is \"%.40s\"; it can be unknown-cpu, "
            "cpu or gpu",
            wanted);
    /* what is measured for one class is not for the other */
    VT_RET(vt_format(&identity, "%s|class %s", dev->identity, wanted));
    free(dev->identity);
    dev->identity = identity;
    return VITCL_OK;
}

static vitcl_status open_found(vt_dev **out, const vt_driver_device *f)
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
    pthread_mutex_init(&dev->watch_lock, NULL);
    pthread_cond_init(&dev->built, NULL);
    dev->platform = f->platform;
    dev->id = f->id;
    dev->info = f->info;
    dev->processor = (f->type & ~(cl_device_type)CL_DEVICE_TYPE_DEFAULT) ==
                     CL_DEVICE_TYPE_CPU;
    VT_TRY(measure(dev));
    VT_TRY(identity(&dev->identity, f));
    VT_TRY(choose_class(dev, f->type));
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
    vt_kept_tell();
    if (vt_dev_reports(dev, "cl_nv_device_attribute_query"))
        vt_cache_tell_nvidia();
    *out = dev, dev = NULL;
done:
    vt_dev_free(dev);
    return st;
}

vitcl_status vt_dev_open(vt_dev **out, const char *select)
{
    vt_driver_device *list = NULL;
    const vt_driver_device *f = NULL;
    size_t n = 0;
    vitcl_status st;

    if (!select || !*select)
        select = vt_getenv("VITCL_DEVICE");
    if (!select || !*select)
        select = "any";
    VT_TRY(vt_driver_devices(&list, &n));
    VT_TRY(vt_driver_device_choose(&f, list, n, select));
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
    for (int i = 0; i < VT_ATTACHED; i++)
        if (dev->drop[i])
            dev->drop[i](dev->attached[i]);
    vt_programs_free(dev);
    if (dev->context && !vt_dev_gone(dev))
        clReleaseContext(dev->context);
    pthread_cond_destroy(&dev->built);
    pthread_mutex_destroy(&dev->watch_lock);
    pthread_mutex_destroy(&dev->lock);
    free(dev->identity);
    free(dev);
}

const vitcl_device_info *vt_dev_info(const vt_dev *dev)
{
    return &dev->info;
}

bool vt_dev_allows(const vt_dev *dev, uint64_t bytes)
{
    const uint64_t most = dev->info.max_alloc_bytes;

    return most == 0 || bytes <= most;
}

size_t vt_launch_parts(const vt_dev *dev, double macs, size_t most)
{
    const double n = ceil(macs / dev->launch_macs);

    return n <= 1 ? 1 : n < (double)most ? (size_t)n : most;
}

vt_class vt_dev_class(const vt_dev *dev)
{
    return dev->class;
}

void vt_dev_attach(vt_dev *dev, vt_attached what, void *state,
                   void (*drop)(void *state))
{
    dev->attached[what] = state;
    dev->drop[what] = drop;
}

void *vt_dev_attached(const vt_dev *dev, vt_attached what)
{
    return dev->attached[what];
}

void vt_dev_describe(vt_dev *dev, const vitcl_device_info *info)
{
    dev->info = *info;
}

void vt_dev_keep_no_programs(vt_dev *dev)
{
    dev->fleeting = true;
}

bool vt_dev_is_processor(const vt_dev *dev)
{
    return dev->processor;
}

bool vt_dev_reports(const vt_dev *dev, const char *extension)
{
    char *list = NULL;
    bool yes;

    (void)vt_query_text(&list, NULL, dev->id, CL_DEVICE_EXTENSIONS);
    yes = vt_has_word(list, extension);
    free(list);
    return yes;
}

unsigned vt_dev_number(const vt_dev *dev, unsigned what)
{
    cl_ulong n = 0; /* room for a bit field, which has 64 bits */

    return clGetDeviceInfo(dev->id, what, sizeof n, &n, NULL) == CL_SUCCESS
               ? (unsigned)n
               : 0;
}

void vt_dev_text(char *out, size_t size, const vt_dev *dev, unsigned what)
{
    char *text;

    (void)vt_query_text(&text, NULL, dev->id, what);
    vt_copy_text(out, size, text);
}

void vt_dev_platform_text(char *out, size_t size, const vt_dev *dev,
                          unsigned what)
{
    char *text;

    (void)vt_query_text(&text, dev->platform, NULL, what);
    vt_copy_text(out, size, text);
}

int vt_dev_vector(const vt_dev *dev)
{
    return dev->vector;
}

size_t vt_dev_align(const vt_dev *dev)
{
    return dev->align;
}

size_t vt_dev_aligned(const vt_dev *dev, size_t n)
{
    return (n + dev->align - 1) / dev->align * dev->align;
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
