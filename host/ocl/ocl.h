/*
 * ocl.h - the interface of host/ocl; no other code calls OpenCL.
 *
 * A device is shared, and immutable except for its caches (which have a lock).
 * A queue and all kernels that are launched on it belong to one session, and so
 * to one thread: clSetKernelArg on a shared kernel is the one OpenCL call that
 * is not thread-safe.
 */
#ifndef VT_OCL_OCL_H
#define VT_OCL_OCL_H
#include "base/kept.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vt_dev vt_dev;
typedef struct vt_queue vt_queue;
typedef struct vt_buf vt_buf;
typedef struct vt_kernel vt_kernel;

typedef enum {
    VT_F32,
    VT_F16, /* stored as ushort; arithmetic only where the device has it */
    VT_BF16,
    VT_I8,
    VT_U8,
    VT_I32
} vt_dtype;
size_t vt_dtype_size(vt_dtype t);
const char *vt_dtype_name(vt_dtype t); /* "f32" */

/* Which form of each hot kernel is used: one work-item per work-group with
 * explicit vectors and no barriers, or many work-items with local memory. */
typedef enum { VT_CLASS_AUTO, VT_CLASS_CPU, VT_CLASS_GPU } vt_class;

/* ---- devices ---- */
vitcl_status vt_dev_list(vitcl_device_info *out, uint32_t index);
vitcl_status vt_dev_open(vt_dev **out, const char *select);
vt_dev *vt_dev_ref(vt_dev *dev);
void vt_dev_free(vt_dev *dev); /* drops one reference */
/* Was this process forked from one that had called OpenCL? */
bool vt_ocl_inherited(void);
/* VITCL_EDEVICE if it is lost, or belongs to another process. */
vitcl_status vt_dev_alive(const vt_dev *dev);
const vitcl_device_info *vt_dev_info(const vt_dev *dev);
/* Can one buffer have so many bytes? Yes if the driver gives no limit. */
bool vt_dev_allows(const vt_dev *dev, uint64_t bytes);
/* What other folders keep with a device: each attaches its state once, before
 * the device is shared. drop() is called with the last reference. */
typedef enum {
    VT_ATTACHED_UNITS,
    VT_ATTACHED_PARAMS,
    VT_ATTACHED_PRODUCT,
    VT_ATTACHED
} vt_attached;
void vt_dev_attach(vt_dev *dev, vt_attached what, void *state,
                   void (*drop)(void *state));
void *vt_dev_attached(const vt_dev *dev, vt_attached what);
/* Completes the description, before the device is shared. */
void vt_dev_describe(vt_dev *dev, const vitcl_device_info *info);
/* Called while programs are compiled for the device, by one thread at a time:
 * before the first, after each, and with done == total after the last. NULL:
 * nobody. Set it before other threads use the device. */
typedef void (*vt_compiling)(void *context, uint32_t done, uint32_t total);
void vt_dev_watch(vt_dev *dev, vt_compiling report, void *context);
/* The device is for trials: none of its programs is kept on disk. */
void vt_dev_keep_no_programs(vt_dev *dev);
/* Writes the source and the options of every program that was asked for so far:
 * KERNEL-N.cl and KERNEL-N.options, N from 1 in the order of the requests.
 * Makes the folder. */
vitcl_status vt_dev_save_programs(vt_dev *dev, const char *folder);
vt_class vt_dev_class(const vt_dev *dev);
/* Do kernels run on the processor that runs this code? False for a simulator,
 * which claims to be a device of every type. */
bool vt_dev_is_processor(const vt_dev *dev);
/* Does it report this extension? */
bool vt_dev_reports(const vt_dev *dev, const char *extension);
/* A number of clGetDeviceInfo(); 0: the driver does not know it. */
unsigned vt_dev_number(const vt_dev *dev, unsigned what);
/* A text of clGetDeviceInfo() or clGetPlatformInfo(), without surrounding
 * blanks and control characters; "": the driver does not know it. */
void vt_dev_text(char *out, size_t size, const vt_dev *dev, unsigned what);
void vt_dev_platform_text(char *out, size_t size, const vt_dev *dev,
                          unsigned what);
/* The best number of float32 lanes per vector: 4, 8 or 16. */
int vt_dev_vector(const vt_dev *dev);
/* A CPU's work-item computes this many neighbouring elements of a row: PER * V
 * of common_work.cl. Products are compiled with it, too, so that they can be in
 * one program with the other kernels (join.c). */
#define VT_CPU_BLOCK 1024
size_t vt_dev_align(const vt_dev *dev); /* sub-buffer offsets, bytes */
/* n bytes, rounded up to a multiple of it. */
size_t vt_dev_aligned(const vt_dev *dev, size_t n);
/* May a work-item loop for as long as it likes? True on CPUs. */
bool vt_dev_long_items(const vt_dev *dev);
/* Bytes available for the arrays of a CPU's work-item: they are on the stack of
 * a driver thread, which has the usual size (ulimit -s). */
size_t vt_item_stack(void);
/* The largest work-group for a GPU-class kernel. */
size_t vt_dev_group_max(const vt_dev *dev);

/* The key of a result that is kept: a hash of the device, its driver, the
 * environment, `what`, and the text of these kernels, cl/NAME.cl, ended by
 * NULL, and of all that stands before them. */
vitcl_status vt_dev_key(vt_kept_key *out, const vt_dev *dev,
                        const char *const *sources, const char *what);

typedef struct vt_counters {
    uint64_t programs_built, kernels_made, buffers_made, args_set, lookups;
} vt_counters;
vt_counters vt_dev_counters(const vt_dev *dev);

/* ---- queues and buffers ---- */
/* VT_TIMES_STEPS: of launches that are each waited for. VT_TIMES_RUN: of those
 * of a whole run, in which none is waited for. */
typedef enum { VT_TIMES_NONE, VT_TIMES_STEPS, VT_TIMES_RUN } vt_times;
vitcl_status vt_queue_new(vt_queue **out, vt_dev *dev, vt_times times);
vt_dev *vt_queue_dev(vt_queue *q);
vitcl_status vt_queue_flush(vt_queue *q); /* begin, do not wait */
vitcl_status vt_queue_finish(vt_queue *q);
void vt_queue_free(vt_queue *q);

vitcl_status vt_buf_new(vt_buf **out, vt_dev *dev, size_t bytes);
/* A view of a buffer; offset: a multiple of vt_dev_align(). Keeps `parent`. */
vitcl_status vt_buf_view(vt_buf **out, vt_buf *parent, size_t offset,
                         size_t bytes);
/* For a buffer that is read often: use large pages if the memory is ours. */
void vt_buf_large_pages(vt_buf *b);
vt_buf *vt_buf_ref(vt_buf *b);
size_t vt_buf_size(const vt_buf *b);
void vt_buf_free(vt_buf *b);
/* Is its address on the device a multiple of `bytes` <= vt_dev_align()? */
bool vt_buf_aligned(const vt_buf *b, size_t bytes);
/* Blocking: the host memory may be reused on return. */
vitcl_status vt_buf_write(vt_queue *q, vt_buf *b, size_t offset,
                          const void *data, size_t bytes);
vitcl_status vt_buf_read(vt_queue *q, vt_buf *b, size_t offset, void *data,
                         size_t bytes);
vitcl_status vt_buf_fill(vt_queue *q, vt_buf *b, uint32_t word); /* in order */

/* Memory that the host fills and kernels read, in turns. A driver may compute
 * in it or in a copy, so the host has it only from vt_slot_fill(), which waits
 * for the launches that vt_slot_back() follows, to vt_slot_give(). */
typedef struct vt_slot vt_slot;
/* For one queue, which must outlive it. False: the device does not compute in
 * host memory, or has none left; copy instead. */
bool vt_slot_new(vt_slot **out, vt_queue *q, size_t bytes);
vt_buf *vt_slot_buf(vt_slot *s); /* read only; the slot's */
vitcl_status vt_slot_fill(void **host, vt_slot *s);
vitcl_status vt_slot_give(vt_slot *s); /* for what is launched from now on */
vitcl_status vt_slot_back(vt_slot *s); /* enqueues: the host is next */
void vt_slot_free(vt_slot *s);

/* Sends data to the device while a queue computes: by a queue of its own, from
 * pinned host memory if there is any, into device memory of its own. */
typedef struct vt_upload vt_upload;
vitcl_status vt_upload_new(vt_upload **out, vt_dev *dev, size_t bytes);
/* Copies the data and returns; what was sent before is lost unless taken. */
vitcl_status vt_upload_send(vt_upload *u, const void *data, size_t bytes);
/* Enqueues: when what was sent last has arrived, copy it to the front of b. */
vitcl_status vt_upload_take(vt_queue *q, vt_buf *b, vt_upload *u);
void vt_upload_free(vt_upload *u); /* waits for what was sent */

/* ---- kernels ---- */
/* `file`: cl/<file>.cl, after every cl/common*.cl; `defines`: "-DWG=64 -DNV=2"
 * or "". Built once per (device, file, defines). */
vitcl_status vt_kernel_new(vt_kernel **out, vt_dev *dev, const char *file,
                           const char *name, const char *defines);
/* Between defer(true) and defer(false), vt_kernel_new() in this thread only
 * records the request. A kernel is then made at its first launch, or by
 * vt_kernel_ready(), which reports errors. vt_kernels_build() builds all
 * programs requested so far, on several cores if possible. */
void vt_kernels_defer(bool defer);
void vt_kernels_build(vt_dev *dev);
vitcl_status vt_kernel_ready(vt_kernel *k);
/* Of a ready kernel's work-group, as the driver says; 0: it does not say. */
size_t vt_kernel_local_bytes(const vt_kernel *k);
void vt_kernel_free(vt_kernel *k);
vitcl_status vt_kernel_buf(vt_kernel *k, unsigned index,
                           vt_buf *b); /* NULL ok */
vitcl_status vt_kernel_int(vt_kernel *k, unsigned index, int32_t v);
vitcl_status vt_kernel_float(vt_kernel *k, unsigned index, float v);
/* Sets a fixed launch size; local all 0: the driver chooses. */
void vt_kernel_size(vt_kernel *k, unsigned dims, const size_t global[3],
                    const size_t local[3]);
/* After vt_kernel_size(), which is then not called again.
 * How a kernel's groups become smaller where the driver has no room for them: a
 * kernel that is ready has been asked, and a first launch that is refused is
 * tried again with half of the group. FIXED: not at all. ANY: in dimension 0;
 * the kernel computes the same bits. WG: dimension 0 is -DWG, a power of two;
 * the kernel is built again, and its sums have another order. COLUMNS:
 * likewise, -DCOLUMNS_WIDE by -DCOLUMNS_HIGH (cl/common_work.cl). */
typedef enum {
    VT_GROUPS_FIXED,
    VT_GROUPS_ANY,
    VT_GROUPS_WG,
    VT_GROUPS_COLUMNS
} vt_groups;
void vt_kernel_groups(vt_kernel *k, vt_groups groups);
/* The multiply-adds of a launch with fixed groups. One that could take more
 * than a tenth of a second is launched in parts, so that a GPU can draw a
 * desktop in between. The kernel asks for its groups by vt_group(). */
void vt_kernel_work(vt_kernel *k, double macs);
/* The number of these parts, at most `most`; 1 on a processor. */
size_t vt_launch_parts(const vt_dev *dev, double macs, size_t most);
/* How many launches the kernel is: these parts, else 1. */
unsigned vt_kernel_launches(const vt_kernel *k);
/* For a kernel with VT_EACH_TILE (cl/common_work.cl), whose arguments `index`
 * and index + 1 are `taken` and `tiles`: work-groups of one work-item, one per
 * core or, without vt_dev_long_items(), one per tile. */
vitcl_status vt_kernel_tiles(vt_kernel *k, unsigned index, int tiles);
vitcl_status vt_kernel_launch(vt_queue *q, vt_kernel *k);
/* With times: milliseconds of all launches since the last call. Blocks. */
double vt_queue_time_ms(vt_queue *q);
/* The launches since that or vt_queue_forget(), of CLBlast's only the last
 * kernels; and when one was given to the driver, began and ended, in
 * nanoseconds of the device's clock: after vt_queue_finish(). False: the driver
 * does not say. */
typedef struct vt_span {
    uint64_t queued, from, to;
} vt_span;
size_t vt_queue_launched(const vt_queue *q);
bool vt_queue_span(vt_span *out, const vt_queue *q, size_t i);
void vt_queue_forget(vt_queue *q);

#endif
