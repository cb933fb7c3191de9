/*
 * matrix.h - the matrix units of GPUs: which instructions exist, and which one
 * is used.
 */
#ifndef VT_UNITS_MATRIX_H
#define VT_UNITS_MATRIX_H
#include "units/verdicts.h"

/* Values of KIND in cl/common_units.cl; 0: none. They are tried in this order.
 * A vendor's are next to each other: comparisons with VT_MMA_8 and VT_MMA_DPAS8
 * tell vendors apart. From VT_MMA_DOT8 on there is no matrix unit: they
 * multiply in int8, or in f16, alone, and compute no attention. */
enum {
    VT_MMA_NONE,
    VT_MMA_16, /* NVIDIA */
    VT_MMA_8,
    VT_MMA_WMMA11, /* AMD */
    VT_MMA_WMMA12,
    VT_MMA_MFMA90A,
    VT_MMA_MFMA942,
    VT_MMA_DPAS8, /* Intel */
    VT_MMA_DPAS16,
    VT_MMA_DOT8,
    VT_MMA_DOT2,
    VT_MMA_KINDS
};

/* How the work-items of a kind divide a tile: wm x wn sub-groups, each fm x fn
 * instructions. */
typedef struct vt_mma_shape {
    int wm, wn, fm, fn;
} vt_mma_shape;
typedef struct vt_mma_kind {
    const char *name;      /* lower case letters and digits */
    const char *extension; /* what a device that may have it reports */
    bool bf16;
    int rows, columns, lanes;        /* of an instruction */
    vt_mma_shape large, small, tiny; /* 128 or 64 rows; tiny for EMULATE */
    vt_mma_shape parts;              /* for all parts of K in turn; 0: large */
    bool groups;                     /* has it wgmma? */
    int heads;                       /* the widest ones of attention */
    int twice;     /* the widest ones of which a sub-group has two fragments of
                    * queries; 0: it has one */
    int gradients; /* the widest ones of attention's gradients; 0: none */
} vt_mma_kind;
extern const vt_mma_kind vt_mma_kinds[VT_MMA_KINDS];

typedef struct vt_mma_choice {
    int kind;
    bool emulated; /* computed in plain OpenCL C */
    bool groups;   /* large tiles by NVIDIA's wgmma, of four sub-groups */
    bool plain;    /* Intel's, without block reads of local memory */
} vt_mma_choice;

/* Of wgmma. */
extern const vt_mma_shape vt_mma_groups;

/* VITCL_EINVAL unless VITCL_MMA is one of its words. */
vitcl_status vt_mma_setting(void);
/* What multiplies in this type, f16, bf16 or int8. If it is unknown, vitcl-try
 * is started and its answer is kept. */
vt_mma_choice vt_mma_ask(vt_dev *dev, vt_dtype type);
/* The same for attention in f16 or bf16, which has a trial of its own: the unit
 * of the products, or none. */
vt_mma_choice vt_mma_ask_attention(vt_dev *dev, vt_dtype type);
/* The same for a training's attention and its gradients, in bf16. */
vt_mma_choice vt_mma_ask_gradient(vt_dev *dev);
/* The same for the products of a training's linear layers, in bf16. */
vt_mma_choice vt_mma_ask_training(vt_dev *dev);
/* Writes a sentence about a matrix unit that lost its trial in this process, so
 * that something slower multiplies: each once. False: there is no more. */
bool vt_mma_refused(char *out, size_t size, vt_dev *dev);
/* The same unit with .groups, if its large tiles are right by wgmma. */
vt_mma_choice vt_mma_ask_groups(vt_dev *dev, vt_mma_choice c, vt_dtype type);
/* What is tried of a unit; all but its products only after these. */
typedef enum {
    VT_MMA_PRODUCT,
    VT_MMA_ATTENTION,
    VT_MMA_GRADIENT,
    VT_MMA_TRAINING,
    VT_MMA_GROUPS,
    VT_MMA_TRIALS
} vt_mma_trial;
/* Under which its verdict is kept. */
vt_subject vt_mma_subject(vt_mma_trial trial, vt_dtype type);
/* Does a matrix unit multiply, and not something that stands for it? */
bool vt_mma_is_unit(vt_mma_choice c);
/* Is it one of Intel's? */
bool vt_mma_intel(int kind);
/* The kernel that multiplies with it, which is also the name of its file. */
const char *vt_mma_way(int kind);
/* Is it one of NVIDIA's? */
bool vt_mma_nvidia(int kind);
/* Intel's fragments of B have the words of so many columns side by side; 0:
 * other vendors'. */
int vt_mma_together(vt_mma_choice c);
/* What kernels for it are compiled with, besides its KIND. */
const char *vt_mma_flags(vt_mma_choice c);
/* The kind of that name; VT_MMA_NONE if there is none. */
int vt_mma_named(const char *instruction);
/* From now on this kind, without a trial: for a trial. groups: with wgmma. */
void vt_mma_use(vt_dev *dev, vt_dtype type, int kind, bool groups);

#endif
