/*
 * mma.h - the matrix units of GPUs: which instructions exist, and which one is
 * used. For mma*.c, try.c and ops/attention_mma.c.
 */
#ifndef VT_GEMM_MMA_H
#define VT_GEMM_MMA_H
#include "ocl/ocl.h"

/* Values of KIND in cl/common_units.cl; 0: none. From VT_MMA_DOT8 on there is
 * no matrix unit: they multiply in int8, or in f16, alone, and compute no
 * attention. */
enum {
    VT_MMA_NONE,
    VT_MMA_INTEL = 7,
    VT_MMA_DOT8 = 9,
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
    int heads;                       /* the widest ones of attention */
    int twice;     /* the widest ones of which a sub-group has two fragments of
                    * queries; 0: it has one */
    int gradients; /* the widest ones of attention's gradients; 0: none */
} vt_mma_kind;
extern const vt_mma_kind vt_mma_kinds[VT_MMA_KINDS];

typedef struct vt_mma_choice {
    int kind;
    bool emulated; /* computed in plain OpenCL C */
} vt_mma_choice;

/* mma_choice.c: VITCL_EINVAL unless VITCL_MMA is one of its words. */
vitcl_status vt_mma_setting(void);
/* What multiplies in this type, f16, bf16 or int8. If it is
 * unknown, vitcl-try is started and its answer is stored. */
vt_mma_choice vt_mma_ask(vt_dev *dev, vt_dtype type);
/* The same for attention in f16 or bf16, which has a trial of its own: the unit
 * of the products, or none. */
vt_mma_choice vt_mma_ask_attention(vt_dev *dev, vt_dtype type);
/* The same for attention's gradients, whose factors are in bf16. */
vt_mma_choice vt_mma_ask_gradient(vt_dev *dev);
/* The same for the products of a training's linear layers, in bf16. */
vt_mma_choice vt_mma_ask_training(vt_dev *dev);
/* Is it one of Intel's? */
bool vt_mma_intel(int kind);
/* Intel's fragments of B have the words of so many columns side by side; 0:
 * other vendors'. */
int vt_mma_together(vt_mma_choice c);
/* What kernels for it are compiled with, besides its KIND. */
const char *vt_mma_flags(vt_mma_choice c);
/* The kind of that name; VT_MMA_NONE if there is none. */
int vt_mma_named(const char *instruction);
/* From now on this kind, without a trial: for a trial. */
void vt_mma_use(vt_dev *dev, vt_dtype type, int kind);

/* mma_trial.c, for vitcl-try only, because it may crash: is the product "right"
 * or "wrong"? The device is then for trials. `type`: a precision's name. */
vitcl_status vt_mma_try(const char **verdict, vt_dev *dev,
                        const char *instruction, vt_dtype type);
/* The same of a training's three products in bf16. */
vitcl_status vt_mma_try_training(const char **verdict, vt_dev *dev,
                                 vt_mma_choice c);

/* ---- mma_attention.c: cl/attention_mma.cl ---- */
/* What a work-group computes of heads of d numbers: each of its sub-groups has
 * one or two fragments of queries. The keys that it takes at a time have an
 * influence on the bits. */
typedef struct vt_mma_heads {
    int subgroups, fragments, keys, queries;
    bool kept; /* are its own rows in local memory, not in registers? */
    size_t items, local_bytes;
} vt_mma_heads;
/* Do some kinds take heads of d numbers? */
bool vt_mma_heads_take(int d);
/* queries: of a picture. */
vt_mma_heads vt_mma_heads_of(const vt_dev *dev, vt_mma_choice c, int d,
                             int queries, bool bias);
/* Local memory: `rows` tiles of rows of keys, on AMD `turned` more with the
 * same in rows of numbers, and what an emulation needs. */
size_t vt_mma_tiles_bytes(vt_mma_choice c, int keys, int d, int rows,
                          int turned);
/* Of rows of one tensor that are kept. */
size_t vt_mma_kept_bytes(const vt_mma_heads *h, int d);
/* Work-items in all. */
size_t vt_mma_heads_items(const vt_mma_heads *h, int rows, int heads);
/* The defines of that; 96 bytes are enough. */
void vt_mma_heads_define(char *out, size_t size, const vt_mma_heads *h,
                         vt_mma_choice c, vt_dtype type, int d);
/* As vt_mma_try(); timed: "slower", too, if it is not faster by a seventh than
 * attention without matrix units. */
vitcl_status vt_mma_try_attention(const char **verdict, vt_dev *dev,
                                  vt_mma_choice c, vt_dtype type, bool timed);

/* ---- mma_gradient.c: cl/attention_grad_mma.cl, in bf16 ---- */
bool vt_mma_gradient_takes(vt_mma_choice c, int d);
/* queries: or keys; keys: or queries. */
vt_mma_heads vt_mma_gradient_of(vt_mma_choice c, int d);
/* Work-groups of kv for the same keys: 2 if dk and dv have their own. */
size_t vt_mma_gradient_groups(vt_mma_choice c);
/* As vt_mma_try_attention(). */
vitcl_status vt_mma_try_gradient(const char **verdict, vt_dev *dev,
                                 vt_mma_choice c, bool timed);

#endif
