/*
 * ocl.h - all that the rest of vitcl knows of OpenCL.
 *
 * A device is shared and immutable but for its caches (locked inside). A
 * queue, and every kernel and gemm that is launched on it, belong to one
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
typedef struct vt_gemm vt_gemm;

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
vt_class vt_dev_class(const vt_dev *dev);
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
void vt_buf_grow(vt_buf *b);
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
 * vt_kernel_ready(), which says what is wrong with it. vt_kernels_ahead()
 * builds all the programs that are wanted by now, on several cores where it
 * can. */
void vt_kernels_defer(bool defer);
void vt_kernels_ahead(vt_dev *dev);
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

/* ---- matrix multiplication ----
 *
 *   C[m,n] = residual[m,n] + scale[n] * act(sum_k A(m,k) B(n,k) + bias[n])
 *
 * A(m,k) is A[m*lda + k], or A[k*lda + m] with trans_a. B(n,k) is B[n*ldb + k]
 * (as torch's Linear stores weights), or B[k*ldb + n] with trans_b. The order
 * of summation over k depends on K alone, never on M or the batch.
 * residual has C's stride ldc and may be C itself. With `times` it is a factor.
 * batch > 1 (never with trans_a): M rows each, A and C advance by M * lda, M *
 * ldc; B is shared. That is only a hint about where pictures begin; the result
 * is the same as that of batch * M rows.
 */
typedef enum {
    VT_ACT_NONE,
    VT_ACT_GELU,       /* x/2 (1 + erf(x / sqrt 2)) */
    VT_ACT_GELU_TANH,  /* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
    VT_ACT_GELU_QUICK, /* x sigmoid(1.702 x) */
    VT_ACT_TANH,
    VT_ACT_RELU,
    VT_ACT_SILU
} vt_act;
const char *vt_act_name(vt_act a);

typedef struct vt_gemm_desc {
    int batch, M, N, K;
    int lda, ldb, ldc; /* elements; 0: dense */
    bool trans_a, trans_b;
    bool accumulate; /* C += ... ; no other epilogue then */
    bool sums;       /* bias[m] += sum_k A(m,k) too, where vt_gemm_sums() */
    bool bias, scale, residual;
    bool times; /* with residual: C = residual * scale * act(..) */
    vt_act act;
    bool b_packed; /* b was made by vt_gemm_pack(): constant weights */
    vt_dtype type; /* of the multiplication: f32, f16, bf16, i8 */
    vt_dtype a;    /* how A is stored: f32, f16, bf16; B unpacked is f32 */
    vt_dtype out;  /* of C: f32, or f16, bf16 for a consumer that wants it */
    vt_class device_class;
} vt_gemm_desc;

/* Buffers of one multiplication; unused ones NULL. `temp` is device memory of
 * vt_gemm_temp_bytes() that is this gemm's only while it runs. */
typedef struct vt_gemm_bufs {
    vt_buf *c, *a, *b, *bias, *scale, *residual, *temp;
} vt_gemm_bufs;

/* The provider that will be used: `wanted` NULL: the device's default. An
 * unknown or unusable name is an error that lists the usable ones. */
vitcl_status vt_gemm_provider(const char **out, vt_dev *dev,
                              const char *wanted);
/* Whether that provider multiplies in this type; *instead: who does. */
bool vt_gemm_multiplies(const char **instead, vt_dev *dev, const char *provider,
                        vt_dtype type, vt_class class);
/* A word for the layout that packing gives ("rows8x2"): equal words, equal
 * bytes. "" where the provider takes B as it is. */
const char *vt_gemm_layout(vt_dev *dev, const char *provider,
                           const vt_gemm_desc *d);
size_t vt_gemm_packed_bytes(vt_dev *dev, const char *provider,
                            const vt_gemm_desc *d);
/* B as f32 device memory (ldb, trans_b as in d) -> packed. In order on q. */
vitcl_status vt_gemm_pack(vt_queue *q, const char *provider,
                          const vt_gemm_desc *d, vt_buf *packed, vt_buf *b);
/* Whether d, with `sums`, can be done: by a provider that has A's rows in hand
 * while it accumulates. */
bool vt_gemm_sums(vt_dev *dev, const char *provider, const vt_gemm_desc *d);
size_t vt_gemm_temp_bytes(vt_dev *dev, const char *provider,
                          const vt_gemm_desc *d);
vitcl_status vt_gemm_new(vt_gemm **out, vt_dev *dev, const char *provider,
                         const vt_gemm_desc *d, const vt_gemm_bufs *bufs);
vitcl_status vt_gemm_ready(vt_gemm *g); /* vt_kernel_ready() of its kernels */
vitcl_status vt_gemm_launch(vt_queue *q, vt_gemm *g);
/* Would a first packed product of this type try an instruction that nobody has
 * tried here yet, on this device with this driver? A product tries it too. */
bool vt_gemm_untried(vt_dev *dev, vt_dtype type);
/* By what a CPU multiplies in bf16 or int8: an instruction, "fma" or "untried";
 * and what failed its trial. */
void vt_gemm_form(char *out, size_t size, vt_dev *dev, vt_dtype type);
/* Where packed products of this type are made of dot-product instructions: a
 * kernel of them alone, gemm_dot_peak, and what one of its work-items adds and
 * multiplies in a round. Else *out is NULL. */
vitcl_status vt_gemm_peak(vt_kernel **out, double *flops, vt_dev *dev,
                          vt_dtype type);
const char *vt_gemm_name(const vt_gemm *g); /* the provider's */
/* For vitcl plan: the kernel and its variant in a few words. */
const char *vt_gemm_describe(const vt_gemm *g);
void vt_gemm_free(vt_gemm *g);

/* ---- what was found out once (choice.c) ---- */
#define VT_CHOICE 32 /* lower case letters and digits */
/* The answer that is kept on disk for this device and driver, if any. */
bool vt_choice_load(char out[VT_CHOICE], const vt_dev *dev,
                    const char *question);
void vt_choice_save(const vt_dev *dev, const char *question,
                    const char *answer);

/* ---- parameters of multiplications (tuned.c) ---- */
#define VT_ENTRY 256
/* What the provider uses for d, as one line of words. */
vitcl_status vt_tuned_entry(char out[VT_ENTRY], vt_dev *dev,
                            const char *provider, const vt_gemm_desc *d);
/* Use it from now on (NULL: all that is built in); before the device's first
 * multiplication. The device is for trials then: it keeps no program. */
vitcl_status vt_tuned_use(vt_dev *dev, const char *entry);
/* The entry with the index-th change that is worth a try, "" where that makes
 * no sense; false after the last. */
bool vt_tuned_move(char out[VT_ENTRY], const vt_dev *dev, const char *entry,
                   unsigned index);
/* Into the user's file, in the place of an earlier one for this device, driver,
 * kernel and precision. */
vitcl_status vt_tuned_save(const vt_dev *dev, const char *entry);
bool vt_tuned_path(char *out, size_t size);

#endif
