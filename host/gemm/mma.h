/*
 * mma.h - the matrix units of GPUs: which instructions exist, and which one is
 * used. For mma.c, mma_choice.c, mma_trial.c, try.c and ops/attention_mma.c.
 */
#ifndef VT_GEMM_MMA_H
#define VT_GEMM_MMA_H
#include "ocl/ocl.h"

/* Values of KIND in cl/common_units.cl; 0: none. Intel's are the last. */
enum { VT_MMA_NONE, VT_MMA_INTEL = 7, VT_MMA_KINDS = 9 };

/* How the work-items of a kind divide a tile: wm x wn sub-groups, each fm x fn
 * instructions. */
typedef struct vt_mma_shape {
    int wm, wn, fm, fn;
} vt_mma_shape;
typedef struct vt_mma_kind {
    const char *name;      /* lower case letters and digits */
    const char *extension; /* what a device that may have it reports; "": it is
                            * used by name only */
    bool bf16;
    int rows, columns, lanes;        /* of an instruction */
    vt_mma_shape large, small, tiny; /* 128 or 64 rows; tiny for EMULATE */
    vt_mma_shape parts;              /* for all parts of K in turn; 0: large */
} vt_mma_kind;
extern const vt_mma_kind vt_mma_kinds[VT_MMA_KINDS];

typedef struct vt_mma_choice {
    int kind;
    bool emulated; /* computed in plain OpenCL C */
} vt_mma_choice;

/* mma_choice.c: what multiplies in this type, f16, bf16 or int8. If it is
 * unknown, vitcl-try is started and its answer is stored. */
vt_mma_choice vt_mma_ask(vt_dev *dev, vt_dtype type);
/* From now on this kind, without a trial: for a trial. */
void vt_mma_use(vt_dev *dev, vt_dtype type, int kind);

/* mma_trial.c, for vitcl-try only, because it may crash: is the product "right"
 * or "wrong"? The device is then for trials. `type`: a precision's name. */
vitcl_status vt_mma_try(const char **verdict, vt_dev *dev,
                        const char *instruction, vt_dtype type);

#endif
