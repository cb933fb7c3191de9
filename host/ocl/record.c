/*
 * record.c - launches that are recorded once and then enqueued by one call:
 * cl_khr_command_buffer.
 *
 * The extension is provisional. Versions 0.9.0 to 0.9.8 agree in the calls that
 * are used here, which are declared here, because headers have one version, or
 * none. Others are not used.
 */
#include "ocl/device_list.h"
#include "ocl/objects.h"

#include "base/environment.h"
#include "base/log.h"
#include "base/memory.h"

#include <string.h>

#define EXTENSION "cl_khr_command_buffer"
#define EXTENSIONS_WITH_VERSION 0x1060
#define REQUIRED_QUEUE_PROPERTIES 0x12AA
#define VERSION(major, minor, patch)                                           \
    ((cl_uint)(major) << 22 | (cl_uint)(minor) << 12 | (cl_uint)(patch))

typedef struct named_version { /* cl_name_version of OpenCL 3.0 */
    cl_uint version;
    char name[64];
} named_version;

typedef struct commands *commands; /* cl_command_buffer_khr */

struct vt_record {
    vt_dev *dev;
    commands commands;
    commands(CL_API_CALL *create)(cl_uint, const cl_command_queue *,
                                  const cl_ulong *, cl_int *);
    cl_int(CL_API_CALL *add)(commands, cl_command_queue, const cl_ulong *,
                             cl_kernel, cl_uint, const size_t *, const size_t *,
                             const size_t *, cl_uint, const cl_uint *,
                             cl_uint *, void *);
    cl_int(CL_API_CALL *finalize)(commands);
    cl_int(CL_API_CALL *enqueue)(cl_uint, cl_command_queue *, commands, cl_uint,
                                 const cl_event *, cl_event *);
    cl_int(CL_API_CALL *release)(commands);
};

/* 0: the device does not have the extension, or does not say in which version.
 */
static cl_uint version_of(const vt_dev *dev)
{
    named_version *list = NULL;
    size_t bytes = 0;
    cl_uint version = 0;

    if (!vt_dev_reports(dev, EXTENSION) ||
        clGetDeviceInfo(dev->id, EXTENSIONS_WITH_VERSION, 0, NULL, &bytes) !=
            CL_SUCCESS ||
        VT_NEW(&list, bytes / sizeof *list) != VITCL_OK)
        return 0;
    bytes = bytes / sizeof *list * sizeof *list;
    if (clGetDeviceInfo(dev->id, EXTENSIONS_WITH_VERSION, bytes, list, NULL) ==
        CL_SUCCESS)
        for (size_t i = 0; i < bytes / sizeof *list; i++)
            if (strncmp(list[i].name, EXTENSION, sizeof list[i].name) == 0)
                version = list[i].version;
    free(list);
    return version;
}

bool vt_dev_records(const vt_dev *dev)
{
    const char *const said = vt_getenv("VITCL_RECORD");
    const bool forced = said && strcmp(said, "on") == 0;
    cl_bitfield properties = 0;
    cl_uint version;

    if ((said && strcmp(said, "off") == 0) ||
        (!forced && (dev->class != VT_CLASS_GPU || dev->processor)))
        return false;
    version = version_of(dev);
    if (version < VERSION(0, 9, 0) || version > VERSION(0, 9, 8)) {
        if (version)
            vt_log("launches are not recorded: version %u.%u.%u of " EXTENSION
                   " is unknown",
                   version >> 22, version >> 12 & 0x3ff, version & 0xfff);
        return false;
    }
    return clGetDeviceInfo(dev->id, REQUIRED_QUEUE_PROPERTIES,
                           sizeof properties, &properties,
                           NULL) == CL_SUCCESS &&
           properties == 0;
}

/* ISO C cannot convert an object pointer to a function pointer. */
static bool find(void *function, const vt_dev *dev, const char *name)
{
    void *found = clGetExtensionFunctionAddressForPlatform(dev->platform, name);

    memcpy(function, &found, sizeof found);
    return found != NULL;
}

vitcl_status vt_record_begin(vt_record **out, vt_queue *q)
{
    vt_record *r = NULL;
    cl_int e = CL_SUCCESS;
    vitcl_status st;

    VT_TRY(vt_dev_alive(q->dev));
    VT_TRY(VT_NEW(&r, 1));
    r->dev = vt_dev_ref(q->dev);
    if (!find(&r->create, r->dev, "clCreateCommandBufferKHR") ||
        !find(&r->add, r->dev, "clCommandNDRangeKernelKHR") ||
        !find(&r->finalize, r->dev, "clFinalizeCommandBufferKHR") ||
        !find(&r->enqueue, r->dev, "clEnqueueCommandBufferKHR") ||
        !find(&r->release, r->dev, "clReleaseCommandBufferKHR")) {
        st = vt_fail(VITCL_EUNSUPPORTED,
                     "the driver lacks a call of " EXTENSION);
        goto done;
    }
    r->commands = r->create(1, &q->queue, NULL, &e);
    if (!r->commands) {
        st = vt_cl_fail(r->dev, e, "cannot create a command buffer");
        goto done;
    }
    q->record = r;
    *out = r, r = NULL;
done:
    vt_record_free(r);
    return st;
}

vitcl_status vt_record_end(vt_queue *q)
{
    vt_record *r = q->record;
    const cl_int e = r->finalize(r->commands);

    q->record = NULL;
    return e == CL_SUCCESS
               ? VITCL_OK
               : vt_queue_fail(q, e, "cannot finish a command buffer");
}

cl_int vt_record_add(vt_record *r, const vt_kernel *k, const size_t offset[3],
                     const size_t global[3])
{
    cl_uint point;

    return r->add(r->commands, NULL, NULL, k->kernel, k->dims, offset, global,
                  k->driver_local ? NULL : k->local, 0, NULL, &point, NULL);
}

vitcl_status vt_record_launch(vt_queue *q, vt_record *r)
{
    vitcl_status st;
    cl_int e;

    VT_TRY(vt_dev_alive(q->dev));
    e = r->enqueue(0, NULL, r->commands, 0, NULL, NULL);
    if (e != CL_SUCCESS)
        st = vt_queue_fail(q, e, "cannot launch what was recorded");
done:
    return st;
}

void vt_record_free(vt_record *r)
{
    if (!r)
        return;
    if (r->commands && !vt_dev_gone(r->dev))
        r->release(r->commands);
    vt_dev_free(r->dev);
    free(r);
}
