/*
 * ocl.h - all that the rest of vitcl knows of OpenCL.
 *
 * A device is shared and immutable but for its caches (locked inside). A
 * queue, and every kernel that is launched on it, belong to one
 * session and so to one thread: clSetKernelArg on a shared kernel is the one
 * call that OpenCL does not make thread-safe.
 */
#ifndef VT_OCL_OCL_H
#define VT_OCL_OCL_H
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

/* Which form of each hot kernel: one work-item a work-group with explicit
 * vectors and no barriers, or many work-items with local memory. */
typedef enum { VT_CLASS_AUTO, VT_CLASS_CPU, VT_CLASS_GPU } vt_class;

/* ---- devices ---- */
vitcl_status vt_dev_list(vitcl_device_info *out, uint32_t index);
vitcl_status vt_dev_open(vt_dev **out, const char *select);
vt_dev *vt_dev_ref(vt_dev *dev);
void vt_dev_free(vt_dev *dev); /* gives one reference back */
/* VITCL_EDEVICE where it is lost, or of another process. */
vitcl_status vt_dev_alive(const vt_dev *dev);
const vitcl_device_info *vt_dev_info(const vt_dev *dev);
/* What host/gemm keeps with a device, and what it adds to its description:
 * once, before the device is shared. drop() is called with the last reference.
 */
void vt_dev_attach(vt_dev *dev, const vitcl_device_info *info, void *state,
                   void (*drop)(void *state));
void *vt_dev_attached(const vt_dev *dev);
/* Its programs are for a trial: none is kept on disk. */
void vt_dev_keep_no_programs(vt_dev *dev);
vt_class vt_dev_class(const vt_dev *dev);
/* Do kernels run on the processor that this code runs on? A simulator says
 * that it is a device of every type: false. */
bool vt_dev_is_processor(const vt_dev *dev);
/* float32 lanes that explicit vectors should have here: 4, 8 or 16. */
int vt_dev_vector(const vt_dev *dev);
size_t vt_dev_align(const vt_dev *dev); /* sub-buffer offsets, bytes */
/* Whether a work-item may loop for as long as it likes, on a CPU. */
bool vt_dev_long_items(const vt_dev *dev);
/* Bytes for the arrays of a CPU's work-item: they lie on the stack of one of
 * the driver's threads, and that is as large as any thread's (ulimit -s). */
size_t vt_item_stack(void);
/* Largest work-group that a GPU-class kernel may use. */
size_t vt_dev_group_max(const vt_dev *dev);

typedef struct vt_counters {
    uint64_t programs_built, kernels_made, buffers_made, args_set, lookups;
} vt_counters;
vt_counters vt_dev_counters(const vt_dev *dev);

/* ---- queues and buffers ---- */
vitcl_status vt_queue_new(vt_queue **out, vt_dev *dev, bool profile);
vt_dev *vt_queue_dev(vt_queue *q);
vitcl_status vt_queue_finish(vt_queue *q);
void vt_queue_free(vt_queue *q);
/* Everything that was launched so far; waiting for it frees it. NULL is done.
 */
typedef struct vt_mark vt_mark;
vitcl_status vt_queue_mark(vt_mark **out, vt_queue *q);
vitcl_status vt_mark_wait(vt_mark *m);

vitcl_status vt_buf_new(vt_buf **out, vt_dev *dev, size_t bytes);
/* Host memory (floats, or whatever is as aligned) as a buffer that kernels
 * read; it must outlive the buffer, and is written only while no kernel that
 * reads it is launched. False: not on this device, copy it instead. */
bool vt_buf_over(vt_buf **out, vt_dev *dev, const void *host, size_t bytes);
/* A window of a buffer; offset a multiple of vt_dev_align(). Keeps `parent`. */
vitcl_status vt_buf_view(vt_buf **out, vt_buf *parent, size_t offset,
                         size_t bytes);
/* It will be read often: let it lie in large pages, where that is ours to say.
 */
void vt_buf_large_pages(vt_buf *b);
vt_buf *vt_buf_ref(vt_buf *b);
size_t vt_buf_size(const vt_buf *b);
void vt_buf_free(vt_buf *b);
/* Blocking: the host memory may be reused on return. */
vitcl_status vt_buf_write(vt_queue *q, vt_buf *b, size_t offset,
                          const void *data, size_t bytes);
vitcl_status vt_buf_read(vt_queue *q, vt_buf *b, size_t offset, void *data,
                         size_t bytes);
vitcl_status vt_buf_fill(vt_queue *q, vt_buf *b, uint32_t word); /* in order */

/* ---- kernels ---- */
/* `file`: cl/<file>.cl, with common.cl before it; `defines` such as
 * "-DWG=64 -DNV=2" or "". Built once a (device, file, defines). */
vitcl_status vt_kernel_new(vt_kernel **out, vt_dev *dev, const char *file,
                           const char *name, const char *defines);
/* Between defer(true) and defer(false), vt_kernel_new() in this thread only
 * notes what is wanted; a kernel is made when it is first launched, or by
 * vt_kernel_ready(), which says what is wrong with it. vt_kernels_build()
 * builds all the programs that are wanted by now, on several cores where it
 * can. */
void vt_kernels_defer(bool defer);
void vt_kernels_build(vt_dev *dev);
vitcl_status vt_kernel_ready(vt_kernel *k);
void vt_kernel_free(vt_kernel *k);
const char *vt_kernel_name(const vt_kernel *k);
vitcl_status vt_kernel_buf(vt_kernel *k, unsigned index,
                           vt_buf *b); /* NULL ok */
vitcl_status vt_kernel_int(vt_kernel *k, unsigned index, int32_t v);
vitcl_status vt_kernel_float(vt_kernel *k, unsigned index, float v);
/* The size of the launch, fixed: local all 0 lets the driver choose. */
void vt_kernel_size(vt_kernel *k, unsigned dims, const size_t global[3],
                    const size_t local[3]);
/* For a kernel of VT_EACH_TILE (cl/common.cl), whose arguments `index` and
 * index + 1 are `taken` and `tiles`: work-groups of one work-item, as many as
 * there are cores or, without vt_dev_long_items(), as tiles. */
vitcl_status vt_kernel_tiles(vt_kernel *k, unsigned index, int tiles);
vitcl_status vt_kernel_launch(vt_queue *q, vt_kernel *k);
/* With profiling: milliseconds since the last call, of everything launched;
 * waits. */
double vt_queue_time_ms(vt_queue *q);

#endif
