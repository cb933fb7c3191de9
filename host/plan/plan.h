/*
 * plan.h - a model as a flat list of steps.
 *
 * Model code appends steps with the functions of ops.h; vt_plan_finish()
 * places the values in one arena and binds kernels; vt_plan_run() is a loop.
 * The first error is kept: later calls do nothing, vt_plan_finish() returns it.
 *
 * Values are contiguous row-major tensors of at most four dimensions. Rows (the
 * last dimension) may be padded to `ld` elements if the op that writes the
 * value and all ops that read it support this (vt_pad_rows(), vt_op.padded).
 */
#ifndef VT_PLAN_PLAN_H
#define VT_PLAN_PLAN_H
#include "gemm/gemm.h"
#include "ocl/precision.h"
#include "plan/store.h"

#include <stdarg.h>

#define VT_NONE (-1)
#define VT_NAME 112
#define VT_INS 10
#define VT_OUTS 6
#define VT_TEMP (VT_OUTS - 1) /* of out[]: scratch memory */
#define VT_LORA_MOST 1024

typedef int vt_val; /* a value's index in its plan, or VT_NONE */
typedef struct vt_plan vt_plan;
typedef struct vt_step vt_step;

typedef enum {
    VT_INPUT,  /* written by the host before a run */
    VT_PARAM,  /* a weight in the store, shared by sessions */
    VT_CONST,  /* a table from the model code, uploaded once */
    VT_RESULT, /* written by a step; in the arena */
    VT_STATE   /* memory of its own, kept between runs (training) */
} vt_val_kind;

typedef struct vt_value {
    char name[VT_NAME]; /* never truncated: too long is an error */
    vt_val_kind kind;
    vt_dtype dtype;
    int rank, dim[4], ld;
    bool keep;       /* readable after a run */
    bool watched;    /* shown to the plan's watcher in a run */
    int first, last; /* steps that write and last read it */
    size_t bytes, offset;
    unsigned segment; /* of the arena */
    vt_val slab;      /* in which it lies at `offset`; a slab: itself */
    void *data;       /* VT_CONST, until uploaded */
    vt_val grad;      /* d loss / d value, after vt_plan_backward() */
    bool wants_grad;  /* depends on a trained parameter */
    vt_buf *buf;      /* after finish; VT_PARAM: f32 rows, on first use */
} vt_value;

typedef struct vt_op {
    const char *name; /* cl/<name>.cl, host/ops/<name>.c */
    /* Check inputs, add outputs with vt_result(); called by vt_step_add().
     * NULL: nothing to do. */
    vitcl_status (*shape)(vt_plan *p, vt_step *s);
    /* Choose kernels and bind arguments: vt_step_kernel(), s->gemm. A run
     * launches s->kernel[] in order, then s->gemm. */
    vitcl_status (*prepare)(vt_plan *p, vt_step *s);
    /* Append the steps that compute gradients of inputs from those of outputs
     * (vt_grad, vt_grad_give). NULL: no gradient (a comment says why). */
    void (*grad)(vt_plan *p, const vt_step *s);
    /* The ops of the steps that vt_op_grad() of ops/common.h appends, a grad()
     * that many ops share. */
    const struct vt_op *grads[2];
    unsigned reads; /* of such an op, bit i: in[i] is the forward step's */
    unsigned adds;  /* bit i: in[i] is the state with the gradient of that */
    /* Multiply-accumulates of a run; NULL: not counted. */
    double (*macs)(const vt_plan *p, const vt_step *s);
    unsigned padded; /* bit i: in[i] may have padded rows */
    /* bit i: in[i], out[i] may be stored in 16 bits on the GPU class; prepare()
     * then finds their dtype in vt_value (storage.c) */
    unsigned half_in, half_out;
    /* Not in this step, where values are stored as t? NULL: always. */
    bool (*stays_f32)(const vt_plan *p, const vt_step *s, vt_dtype t);
    /* The same for this step on the CPU class, as t: bf16, or i8 for the words
     * of vt_product_int_rows(). NULL: none. */
    void (*cpu_stored)(const vt_plan *p, const vt_step *s, vt_dtype t,
                       unsigned *in, unsigned *out);
    /* Bytes of scratch memory in out[VT_TEMP], which is made when the dtypes of
     * all values are known. NULL: none. */
    size_t (*temp_bytes)(const vt_plan *p, const vt_step *s);
} vt_op;

struct vt_step {
    const vt_op *op;
    vt_val in[VT_INS], out[VT_OUTS]; /* VT_NONE: absent */
    int i[12];                       /* the op's own integers */
    float f[8];                      /* and floats; the op's file names them */
    vt_kernel *kernel[4];            /* NULL-ended */
    vt_gemm *gemm;
    double time_ms, host_ms; /* with times; host_ms: including the launch */
    double from_ms, to_ms;   /* VT_TIMES_RUN: since the first launch was given
                              * to the driver */
    size_t launched;         /* then: the queue's launches up to this step */
    char note[96];           /* kernel and variant, for vitcl plan */
    bool passed; /* launches nothing where the step before it ran, too: that has
                  * computed this one's results */
    bool early; /* the step before may write its results: they have room then */
    vt_val streamed; /* a weight read before each launch, or VT_NONE */
    int slot;        /* the plan's slot that it is read into */
};

typedef vitcl_status (*vt_watcher)(void *context, vt_plan *p, vt_val v);

typedef struct vt_plan_options {
    vt_dev *dev; /* NULL: for inspection only (parameters,
                  * multiply-accumulates), never finished */
    vt_store *store;
    const char *gemm;          /* provider; NULL: the device's default */
    vitcl_precision precision; /* of matrix multiplication, and of activations
                                * on the GPU class (storage.c) */
    vt_class device_class;     /* AUTO: the device's own */
    size_t segment;            /* bytes of the arena's buffers, at most; 0: what
                                * the device allows */
    const char *const *keep;   /* NULL-ended glob patterns of value names */
    /* Called in a run after the step that writes a value whose name matches
     * `watch`; the value can be read then, unlike after the run. */
    const char *const *watch;
    vt_watcher watcher;
    void *watcher_context;
    vt_times times; /* of steps */
    bool backward;  /* steps also write what only gradients need */
    bool exact;     /* sums of convolutions in double where the device has it:
                    * to compare gradients with another library's */
    bool train;     /* parameters change between runs: nothing is packed */
    bool once;      /* for one run: no constant weight is packed */
    bool any_batch; /* the same bits in plans of any batch (vt_gemm_desc) */
    const char *const *freeze; /* NULL-ended patterns of the names of
                                * parameters that are not trained */
    const char *const *only;   /* of those that are; NULL: all */
    int lora;                  /* the rank of what vt_dense() adds to the layers
                              * of blocks; 0: nothing */
    float lora_scale;
    vitcl_progress progress; /* of vt_plan_finish(), or NULL */
    void *progress_context;
} vt_plan_options;

/* ---- building ---- */
vitcl_status vt_plan_new(vt_plan **out, const vt_plan_options *options);
void vt_plan_free(vt_plan *p);

vt_val vt_input(vt_plan *p, const char *name, vt_dtype t, int rank,
                const int *dim);
/* A weight by its canonical name. */
vt_val vt_param(vt_plan *p, const char *name, int rank, const int *dim);
/* A table from the model code; copied. */
vt_val vt_const(vt_plan *p, const char *name, int rank, const int *dim,
                const float *data);
vt_val vt_const_int(vt_plan *p, const char *name, int rank, const int *dim,
                    const int *data);
/* Device memory of its own, initially zero, kept between runs. */
vt_val vt_state(vt_plan *p, const char *name, vt_dtype t, int rank,
                const int *dim);
/* A state of v's shape, named "<prefix>.<v>". Of a slab: one with the same
 * places, and in it such a state for each value in v. */
vt_val vt_state_like(vt_plan *p, vt_val v, const char *prefix);
/* Lay v[n], f32 parameters and states, into one state, a slab, so that one
 * launch covers all. Between them are elements that no one reads. Values of the
 * same sizes get the same places. Returns how many of v[] are in it: as many as
 * the device allows in a buffer, at least one. After an error *out is VT_NONE,
 * and n is returned. */
size_t vt_slab(vt_val *out, vt_plan *p, const vt_val *v, size_t n);
/* For shape(): a new value of dtype t, to be stored in s->out[]. */
vt_val vt_result(vt_plan *p, vt_dtype t, int rank, const int *dim);
/* Pad the rows of a result to `ld` elements; its writer looks at ld in
 * prepare(). Returns false and does nothing if a step already reads it. */
bool vt_pad_rows(vt_plan *p, vt_val v, int ld);
/* For ops: append a step with in[] and out[] set to VT_NONE, or return NULL
 * after an error. Fill in[], i[], f[] and call vt_step_add(). */
vt_step *vt_step_new(vt_plan *p, const vt_op *op);
/* Calls shape(). Returns the first output, or VT_NONE after an error. */
vt_val vt_step_add(vt_plan *p, vt_step *s);
/* Name a value, for keep patterns, `vitcl plan` and the outputs of
 * `vitcl forward`. No other value has it, and a name that one of these asked
 * for is not replaced. */
void vt_name(vt_plan *p, vt_val v, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Make a value readable after a run. */
void vt_keep(vt_plan *p, vt_val v);
/* Does a keep or watch pattern match this name? For ops with an optional
 * output. */
bool vt_wanted(const vt_plan *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Record an error; only the first is kept. Returns VT_NONE. */
vt_val vt_plan_fail(vt_plan *p, vitcl_status st);
vitcl_status vt_plan_status(const vt_plan *p);

/* Valid until the plan is freed. */
const vt_value *vt_value_of(const vt_plan *p, vt_val v);
int vt_dim(const vt_plan *p, vt_val v, int axis); /* negative: from the end */
uint64_t vt_elements(const vt_plan *p, vt_val v);
const vt_plan_options *vt_plan_settings(const vt_plan *p);
vt_class vt_plan_class(const vt_plan *p); /* CPU or GPU, never AUTO */
/* The dtype of its matrix multiplications. */
vt_dtype vt_plan_type(const vt_plan *p);
const char *vt_plan_gemm(const vt_plan *p);
/* After finish: the providers in use, most work first: "native, clblast". */
void vt_plan_gemms(char *out, size_t size, const vt_plan *p);

/* ---- gradients ---- */

/* Append the steps that differentiate `loss` (one element; its op's grad()
 * starts the chain). add: sums two gradients of a value with two consumers
 * (vt_add(): plan/ does not know the ops). */
void vt_plan_backward(vt_plan *p, vt_val loss,
                      vt_val (*add)(vt_plan *p, vt_val a, vt_val b));
/* The same from any value and its gradient, of the same shape. */
void vt_plan_backward_from(vt_plan *p, vt_val v, vt_val gradient,
                           vt_val (*add)(vt_plan *p, vt_val a, vt_val b));
/* For grad(): the gradient of v, summed so far. */
vt_val vt_grad(const vt_plan *p, vt_val v);
/* Must v's gradient be computed at all? */
bool vt_grad_wanted(const vt_plan *p, vt_val v);
/* Add one consumer's part to v's gradient (v is not a parameter). */
void vt_grad_give(vt_plan *p, vt_val v, vt_val g);
/* A parameter's gradient: a VT_STATE named "grad.<name>" that kernels add to
 * (+=), so that micro-batches accumulate. The caller zeroes it before a batch.
 * VT_NONE if v is frozen. It is an input, in[], of the step that adds. */
vt_val vt_grad_param(vt_plan *p, vt_val v);

/* ---- for prepare() ---- */
/* A value's buffer (VT_PARAM: f32 rows); NULL for VT_NONE. */
vitcl_status vt_bind(vt_buf **out, vt_plan *p, vt_val v);
/* The buffer of the step's weight w; at most one a step. In a plan that runs
 * once, a large parameter is read before each launch and not kept. */
vitcl_status vt_bind_weight(vt_buf **out, vt_plan *p, vt_step *s, vt_val w);
/* Create a kernel and append it to s->kernel[]. */
vitcl_status vt_step_kernel(vt_kernel **out, vt_plan *p, vt_step *s,
                            const char *file, const char *name,
                            const char *defines);
/* Set arguments from a format, one letter each: 'v' vt_val (its buffer, NULL
 * for VT_NONE), 'b' vt_buf *, 'i' int, 'f' double. */
vitcl_status vt_args(vt_plan *p, vt_kernel *k, const char *format, ...);
vitcl_status vt_args_of(vt_plan *p, vt_kernel *k, const char *format,
                        va_list args);

/* ---- running ---- */
/* Compute the arena's size, vt_plan_memory_of(), without allocating it. */
vitcl_status vt_plan_place(vt_plan *p);
vitcl_status vt_plan_finish(vt_plan *p);
/* Enqueue the steps from `first` on (0: all) and wait. */
vitcl_status vt_plan_run(vt_plan *p, int first);
/* The same for steps first..end-1. */
vitcl_status vt_plan_run_part(vt_plan *p, int first, int end);
/* Can an input be sent while the plan runs? On the GPU class, unless steps are
 * timed or watched. */
bool vt_plan_overlaps(const vt_plan *p);
/* Send the front of input v, always the same one, for the next
 * vt_plan_start(); `data` may be reused on return. */
vitcl_status vt_plan_send(vt_plan *p, vt_val v, const void *data, size_t bytes);
/* Enqueue steps 0..end-1 on what was sent, or, with VT_NONE, on what the
 * input has. They run in order with later calls;
 * vt_plan_wait() waits and returns their errors. */
vitcl_status vt_plan_start(vt_plan *p, vt_val v, int end);
vitcl_status vt_plan_wait(vt_plan *p);
/* From f32, u8 or i32 host memory; with fewer bytes only the value's front. */
vitcl_status vt_plan_write(vt_plan *p, vt_val v, const void *data,
                           size_t bytes);
/* Converted to f32; the first `count` elements. */
vitcl_status vt_plan_read(vt_plan *p, vt_val v, float *out, uint64_t count);
/* The index-th value that is kept and named; VT_NONE after the last. */
vt_val vt_plan_kept(const vt_plan *p, uint32_t index);
vt_val vt_plan_find(const vt_plan *p, const char *name);

int vt_plan_values(const vt_plan *p);
int vt_plan_steps(const vt_plan *p);
const vt_step *vt_plan_step(const vt_plan *p, int index);
double vt_plan_macs(const vt_plan *p);
typedef struct vt_plan_memory {
    size_t arena, states, consts; /* bytes on the device */
    size_t segment;               /* the largest of the arena's buffers */
    size_t largest_step;          /* live at once: a lower bound of the arena */
    size_t largest_value;
    size_t kept; /* results in the arena that the backward pass reads */
} vt_plan_memory;
vt_plan_memory vt_plan_memory_of(const vt_plan *p);
/* After finish: the kernels that a run launches. */
unsigned vt_plan_launches(const vt_plan *p);
/* Log a summary; from_ms: when vt_plan_finish() began. */
void vt_plan_tell(const vt_plan *p, double from_ms);
vt_queue *vt_plan_queue(vt_plan *p);

#endif
