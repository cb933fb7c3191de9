/*
 * plan.h - a model written down as a flat list of steps.
 *
 * Model code appends steps with the functions of ops.h; vt_plan_finish()
 * places every value in one arena and binds kernels; vt_plan_run() is a loop.
 * The first error sticks: later calls do nothing, finish returns it.
 *
 * Values are contiguous row-major tensors of at most four dimensions; a
 * value's rows (its last dimension) may be padded to `ld` elements where the
 * op that writes it and all that read it can (both say so in their shape()).
 */
#ifndef VT_PLAN_PLAN_H
#define VT_PLAN_PLAN_H
#include "gemm/gemm.h"
#include "gemm/precision.h"
#include "plan/store.h"

#define VT_NONE (-1)
#define VT_NAME 112
#define VT_INS 10
#define VT_OUTS 6

typedef int vt_val; /* a value's number in its plan; VT_NONE: not there */
typedef struct vt_plan vt_plan;
typedef struct vt_step vt_step;

typedef enum {
    VT_INPUT,  /* written by the host before a run */
    VT_PARAM,  /* a weight: the store's, shared by sessions */
    VT_CONST,  /* a table made by the model code, uploaded once */
    VT_RESULT, /* written by a step; lives in the arena */
    VT_STATE   /* of its own, keeps its bytes between runs (training) */
} vt_kind;

typedef struct vt_value {
    char name[VT_NAME]; /* whole: one that is too long is an error */
    vt_kind kind;
    vt_dtype dtype;
    int rank, dim[4], ld;
    bool keep;       /* readable after a run */
    int first, last; /* steps that write and last read it */
    size_t bytes, offset;
    void *data;      /* VT_CONST, until uploaded */
    vt_val grad;     /* d loss / d this value, once backward gave one */
    bool wants_grad; /* a parameter that trains feeds into it */
    vt_buf *buf;     /* after finish; PARAM: f32 rows, made when asked for */
} vt_value;

typedef struct vt_op {
    const char *name; /* cl/<name>.cl, host/ops/<name>.c */
    /* Check inputs, add outputs with vt_result(); runs as the step is added. */
    vitcl_status (*shape)(vt_plan *p, vt_step *s);
    /* Choose kernels and bind arguments: vt_step_kernel(), s->gemm. A run
     * launches s->kernel[] in order, then s->gemm. */
    vitcl_status (*prepare)(vt_plan *p, vt_step *s);
    /* Append the steps that turn gradients of outputs into gradients of
     * inputs (vt_grad, vt_grad_add). NULL: has none (a comment says why). */
    void (*grad)(vt_plan *p, const vt_step *s);
    /* Multiply-accumulates in a run; NULL: not counted. */
    double (*macs)(const vt_plan *p, const vt_step *s);
    unsigned padded; /* inputs that it reads by their ld: bit by bit */
} vt_op;

struct vt_step {
    const vt_op *op;
    vt_val in[VT_INS], out[VT_OUTS]; /* VT_NONE: absent */
    int i[12];                       /* the op's own integers */
    float f[8];           /* and floats; each op file says what they are */
    vt_kernel *kernel[4]; /* NULL-ended */
    vt_gemm *gemm;
    double time_ms, host_ms; /* profiling; host_ms: with the launch */
    char note[96];           /* kernel and variant, for vitcl plan */
    vt_val streamed; /* a weight that is read before each launch, or none: */
    int slot;        /* into this slot of the plan's */
};

typedef struct vt_plan_options {
    vt_dev *dev; /* NULL: to be looked at (parameters, multiply-accumulates),
                  * never finished */
    vt_store *store;
    const char *gemm;          /* provider; NULL: the device's default */
    vitcl_precision precision; /* of the multiplications */
    vt_class device_class;     /* AUTO: the device's own */
    const char *const *keep;   /* NULL-ended glob patterns of value names */
    bool profile;
    bool backward; /* values that gradients need are kept by grad steps */
    bool exact;    /* sums of convolutions in double where the device has it:
                    * for holding gradients to another library's */
    bool train;    /* parameters change between runs: nothing is prepacked */
    bool once;     /* for one run: no constant weight is prepacked */
    const char *const *freeze; /* NULL-ended patterns of parameter names that
                                * do not train */
    vitcl_progress progress;   /* of vt_plan_finish(), or NULL */
    void *progress_context;
} vt_plan_options;

/* ---- building ---- */
vitcl_status vt_plan_new(vt_plan **out, const vt_plan_options *options);
void vt_plan_free(vt_plan *p);

vt_val vt_input(vt_plan *p, const char *name, vt_dtype t, int rank,
                const int *dim);
/* A weight by its canonical name. */
vt_val vt_param(vt_plan *p, const char *name, int rank, const int *dim);
/* A table that model code computed; copied. */
vt_val vt_const(vt_plan *p, const char *name, int rank, const int *dim,
                const float *data);
vt_val vt_const_int(vt_plan *p, const char *name, int rank, const int *dim,
                    const int *data);
/* Device memory of its own, zero at first, kept between runs. */
vt_val vt_state(vt_plan *p, const char *name, vt_dtype t, int rank,
                const int *dim);
/* For ops' shape(): an output (out slot of s); t as given. */
vt_val vt_result(vt_plan *p, vt_dtype t, int rank, const int *dim);
/* Pad the rows of a result to `ld` elements: its writer asks for ld in
 * prepare(). False, and nothing done, where another step reads it already. */
bool vt_pad_rows(vt_plan *p, vt_val v, int ld);
/* For ops: append a step; in[]/out[] not set are VT_NONE. Returns NULL after
 * an error. Fill in[], i[], f[] and call vt_step_add(). */
vt_step *vt_step_new(vt_plan *p, const vt_op *op);
/* Runs shape(); its first output, or VT_NONE after an error. */
vt_val vt_step_add(vt_plan *p, vt_step *s);
/* Name a value; the name is what keep patterns, the plan's print-out and the
 * outputs of `vitcl forward` use. */
void vt_name(vt_plan *p, vt_val v, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The caller wants to read this value after a run. */
void vt_keep(vt_plan *p, vt_val v);
/* Does a keep pattern match this name? For ops with a costlier variant. */
bool vt_wanted(const vt_plan *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Stick an error (the first wins). Returns VT_NONE. */
vt_val vt_plan_fail(vt_plan *p, vitcl_status st);
vitcl_status vt_plan_status(const vt_plan *p);

const vt_value *vt_value_of(const vt_plan *p, vt_val v);
int vt_dim(const vt_plan *p, vt_val v, int axis); /* negative: from the end */
uint64_t vt_elements(const vt_plan *p, vt_val v);
const vt_plan_options *vt_plan_settings(const vt_plan *p);
vt_class vt_plan_class(const vt_plan *p); /* CPU or GPU, never AUTO */
/* What its multiplications are computed in. */
vt_dtype vt_plan_type(const vt_plan *p);
const char *vt_plan_gemm(const vt_plan *p);
/* After finish: the providers that multiply, "native, clblast", the one with
 * most to do first. */
void vt_plan_gemms(char *out, size_t size, const vt_plan *p);

/* ---- gradients ---- */

/* Append the steps that differentiate `loss` (one element; its op's grad()
 * starts the chain). add: the op that sums two gradients where a value has two
 * consumers (vt_add; plan/ knows no ops). */
void vt_plan_backward(vt_plan *p, vt_val loss,
                      vt_val (*add)(vt_plan *p, vt_val a, vt_val b));
/* For ops' grad(). The gradient that has come together for v so far. */
vt_val vt_grad(const vt_plan *p, vt_val v);
/* Must v's gradient be computed at all? */
bool vt_grad_wanted(const vt_plan *p, vt_val v);
/* One consumer's share of v's gradient (v not a parameter). */
void vt_grad_give(vt_plan *p, vt_val v, vt_val g);
/* A parameter's gradient: a VT_STATE named "grad.<name>" that kernels add to
 * (+=), so that micro-batches accumulate; whoever begins a batch zeroes it.
 * VT_NONE if it is frozen. Put it into an in[] slot of the step that adds. */
vt_val vt_grad_param(vt_plan *p, vt_val v);

/* ---- for prepare() ---- */
/* A value's buffer (a PARAM's f32 rows); NULL for VT_NONE. */
vitcl_status vt_bind(vt_buf **out, vt_plan *p, vt_val v);
/* The step's input w: in a plan that runs once a large parameter is read before
 * each launch, and never kept. One of each step. */
vitcl_status vt_bind_weight(vt_buf **out, vt_plan *p, vt_step *s, vt_val w);
/* Make a kernel and hang it into the step's list. */
vitcl_status vt_step_kernel(vt_kernel **out, vt_plan *p, vt_step *s,
                            const char *file, const char *name,
                            const char *defines);
/* Set arguments from a format, one letter each: 'v' vt_val (buffer, VT_NONE:
 * NULL), 'b' vt_buf *, 'i' int, 'f' double. */
vitcl_status vt_args(vt_plan *p, vt_kernel *k, const char *format, ...);

/* ---- running ---- */
/* Only size what finish would claim (vt_plan_memory_of()); claims nothing. */
vitcl_status vt_plan_place(vt_plan *p);
vitcl_status vt_plan_finish(vt_plan *p);
/* Enqueue steps first.. (0: all) and wait. */
vitcl_status vt_plan_run(vt_plan *p, int first);
/* Steps first..end-1. */
vitcl_status vt_plan_run_part(vt_plan *p, int first, int end);
/* f32/u8/i32 host memory; bytes may be less than the value's: its front. */
vitcl_status vt_plan_write(vt_plan *p, vt_val v, const void *data,
                           size_t bytes);
/* As f32 whatever the value's dtype; count elements from the front. */
vitcl_status vt_plan_read(vt_plan *p, vt_val v, float *out, uint64_t count);
/* The index-th readable value; VT_NONE after the last. */
vt_val vt_plan_kept(const vt_plan *p, uint32_t index);
vt_val vt_plan_find(const vt_plan *p, const char *name);

/* Values are numbered from 0. */
int vt_plan_values(const vt_plan *p);
int vt_plan_steps(const vt_plan *p);
const vt_step *vt_plan_step(const vt_plan *p, int index);
double vt_plan_macs(const vt_plan *p);
typedef struct vt_plan_memory {
    size_t arena, states, consts; /* bytes on the device */
    size_t largest_step; /* live at once: what the arena cannot undercut */
    size_t kept;         /* of it results that the backward pass reads again */
} vt_plan_memory;
vt_plan_memory vt_plan_memory_of(const vt_plan *p);
/* What it is made of, to the log; from_ms: when that began. */
void vt_plan_tell(const vt_plan *p, double from_ms);
vt_queue *vt_plan_queue(vt_plan *p);

#endif
