/*
 * program.h - what program.c and join.c share.
 */
#ifndef VT_OCL_PROGRAM_H
#define VT_OCL_PROGRAM_H
#include "ocl/cache.h"
#include "ocl/objects.h"

struct vt_program {
    vt_program *next;
    char *file, *name, *defines;
    bool building;
    cl_program program; /* NULL until it is built */
    bool joined;        /* the program's file on disk is that of `joint` */
    vt_kept_key joint;
};

/* ---- inputs.c ---- */
/* What stands before every program: the sources whose names begin with common,
 * in the order of the names. */
typedef struct vt_common {
    char *text, *directives; /* directives: its lines that begin with # */
    vt_sha256_state begun;   /* vt_cache_key_begin(text) */
    bool kept;               /* for the next caller */
} vt_common;

vitcl_status vt_common_get(vt_common *out);
void vt_common_free(vt_common *c);
/* The length of the name at s, or of the number. */
size_t vt_word(const char *s);
/* The next define from *at on: where its name begins; its length, and that of
 * name and value. */
const char *vt_next_define(size_t *n, size_t *all, const char **at);
/* Is the macro set in the build options? */
bool vt_is_set(const char *defines, const char *name, size_t n);
/* Outside of what these defines leave out: does the common text define the
 * macro? Does it test it in #if? */
bool vt_common_defines(const vt_common *c, const char *name, size_t n,
                       const char *defines);
bool vt_common_tests(const vt_common *c, const char *name, size_t n,
                     const char *defines);
/* Is the common text the same with either of two programs' defines? */
bool vt_same_head(const vt_common *c, const char *a, const char *b);

/* The inputs of a build: the common text, the program's own, the options; and
 * the key of the result. */
typedef struct vt_inputs {
    vt_common common;
    char *text, *options;
    vt_kept_key key;
} vt_inputs;

vitcl_status vt_inputs_of(vt_inputs *r, const vt_dev *dev, const vt_program *p);
void vt_inputs_free(vt_inputs *r);
/* The driver's program of both texts, not built. */
cl_program vt_inputs_program(const vt_inputs *r, const vt_dev *dev, cl_int *e);

/* ---- assemble.c ---- */
/* Does a program with these defines hide instructions of NVIDIA's sm_90a? */
bool vt_program_hides(const char *defines);
/* The built program, with them. */
vitcl_status vt_program_assemble(cl_program *program, vt_dev *dev);

/* ---- join.c ---- */
/* Loads the joint program that has this one, once a device. False: there is
 * none. */
bool vt_joint_load(cl_program *out, vt_dev *dev, vt_program *p,
                   const vt_inputs *r);

/* ---- half.c ---- */
/* Compiles the text into `out`; false: there is no such code, or it is too
 * large. */
bool vt_half_make(vt_half *out, vt_dev *dev, const vt_inputs *r);
/* Links the half with the driver's library, once it is there; or NULL. */
cl_program vt_half_link(vt_dev *dev, vt_half *half);

#endif
