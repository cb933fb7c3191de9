/*
 * dots.h - a CPU's dot-product instructions: which exist, and which one is
 * used.
 */
#ifndef VT_UNITS_DOTS_H
#define VT_UNITS_DOTS_H
#include "units/verdicts.h"

/* They are tried from the last one back, until one is faster: the best come
 * last. */
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
    int lanes, terms; /* its width in floats; terms of a word */
} vt_dot_kind;
extern const vt_dot_kind vt_dot_kinds[VT_DOT_KINDS];

/* VITCL_EINVAL unless VITCL_DOT is one of its words. */
vitcl_status vt_dot_setting(void);
/* dots_here.c: does this processor, with this system, have it? */
bool vt_dot_here(int kind);
/* dots_here.c: asks the system for what the instruction needs: once per
 * process, before it first runs. False: refused. */
bool vt_dot_permitted(int kind);

/* The kind for a type, bf16, f16 or int8, on this device. If it is unknown,
 * vitcl-try is started and its answer is kept. */
int vt_dot_ask(vt_dev *dev, vt_dtype type);
/* Would that start vitcl-try? */
bool vt_dot_untried(const vt_dev *dev, vt_dtype type);
/* How a CPU multiplies in this type: an instruction, "fma" or "untried"; then
 * the instruction that failed its trial or could not be tried. */
void vt_dot_describe(char *out, size_t size, const vt_dev *dev, vt_dtype type);
/* From now on this kind, VT_DOT_NONE for FMAs, without a trial. */
void vt_dot_use(vt_dev *dev, vt_dtype type, int kind);
/* Under which the kind of a type is kept. */
vt_subject vt_dot_subject(vt_dtype type);

#endif
