/*
 * dot.h - a CPU's dot-product instructions: which there are, and which one
 * is used. For dot.c and dot_choice.c.
 */
#ifndef VT_GEMM_DOT_H
#define VT_GEMM_DOT_H
#include "ocl/ocl.h"

/* cl/gemm_dot.cl's DOT */
enum { VT_DOT_NONE, VT_DOT_S16, VT_DOT_U8, VT_DOT_BF16, VT_DOT_KINDS };
typedef struct vt_dot_kind {
    const char *name; /* the instruction's */
    vt_dtype type;
} vt_dot_kind;
extern const vt_dot_kind vt_dot_kinds[VT_DOT_KINDS];

/* dot_choice.c: the kind for a type on this device. Where that is not known,
 * vitcl-try is started, and what it answers is kept. */
int vt_dot_ask(vt_dev *dev, vt_dtype type);

/* dot.c: builds, runs, compares, and times against FMAs, in this process.
 */
typedef enum { VT_DOT_WRONG, VT_DOT_SLOWER, VT_DOT_FASTER } vt_dot_verdict;
vt_dot_verdict vt_dot_try(vt_dev *dev, int kind);

#endif
