/*
 * dot.h - a CPU's dot-product instructions: which exist, and which one is used.
 * For dot.c and dot_choice.c.
 */
#ifndef VT_GEMM_DOT_H
#define VT_GEMM_DOT_H
#include "ocl/ocl.h"

/* Values of DOT in cl/gemm_dot.cl. */
enum { VT_DOT_NONE, VT_DOT_S16, VT_DOT_U8, VT_DOT_BF16, VT_DOT_KINDS };
typedef struct vt_dot_kind {
    const char *name; /* the instruction's */
    vt_dtype type;
} vt_dot_kind;
extern const vt_dot_kind vt_dot_kinds[VT_DOT_KINDS];

/* dot_choice.c: the kind for a type on this device. If it is unknown, vitcl-try
 * is started and its answer is stored. */
int vt_dot_ask(vt_dev *dev, vt_dtype type);

/* dot.c: builds, runs, checks, and times it against FMAs, in this process. */
typedef enum { VT_DOT_WRONG, VT_DOT_SLOWER, VT_DOT_FASTER } vt_dot_verdict;
vt_dot_verdict vt_dot_try(vt_dev *dev, int kind);

#endif
