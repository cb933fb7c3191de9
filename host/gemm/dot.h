/*
 * dot.h - a CPU's dot-product instructions: which exist, and which one is used.
 * For dot.c, dot_choice.c, dot_cpu.c, dot_trial.c and try.c.
 */
#ifndef VT_GEMM_DOT_H
#define VT_GEMM_DOT_H
#include "ocl/ocl.h"

/* The last one that is faster is used: the best come last. */
enum {
    VT_DOT_NONE,
    VT_DOT_S8,
    VT_DOT_S8_PAIR,
    VT_DOT_BF16_ARM,
    VT_DOT_BF16_PAIR,
    VT_DOT_S16,
    VT_DOT_U8_PAIRS,
    VT_DOT_U8_VEX,
    VT_DOT_U8,
    VT_DOT_BF16,
    VT_DOT_F16,
    VT_DOT_U8_TILES,
    VT_DOT_BF16_TILES,
    VT_DOT_KINDS
};
typedef struct vt_dot_kind {
    const char *name; /* the instruction's */
    vt_dtype type;
} vt_dot_kind;
extern const vt_dot_kind vt_dot_kinds[VT_DOT_KINDS];

/* dot_cpu.c: does this processor, with this system, have it? */
bool vt_dot_here(int kind);
/* dot_cpu.c: asks the system for what the instruction needs: once per process,
 * before it first runs. False: refused. */
bool vt_dot_permitted(int kind);

/* dot_choice.c: the kind for a type, bf16, f16 or int8, on this device. If it
 * is unknown, vitcl-try is started and its answer is stored. */
int vt_dot_ask(vt_dev *dev, vt_dtype type);
/* From now on this kind, VT_DOT_NONE for FMAs, without a trial: for a trial. */
void vt_dot_use(vt_dev *dev, vt_dtype type, int kind);

/* dot_trial.c, for vitcl-try only, because it may crash: is the instruction
 * "wrong", "slower" or "faster" than multiply-adds? The device is then for
 * trials. */
vitcl_status vt_dot_try(const char **verdict, vt_dev *dev,
                        const char *instruction);

#endif
