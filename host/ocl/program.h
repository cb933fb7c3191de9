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
    vt_cache_key joint;
};

/* The inputs of a build: the common text, the program's own, the options; and
 * the key of the result. */
typedef struct vt_inputs {
    char *text[2], *options;
    vt_cache_key key;
} vt_inputs;

/* source.c */
vitcl_status vt_inputs_of(vt_inputs *r, const vt_dev *dev, const vt_program *p);
void vt_inputs_free(vt_inputs *r);

/* join.c: loads the joint program that has this one, once a device. False:
 * there is none. */
bool vt_joint_load(cl_program *out, vt_dev *dev, vt_program *p,
                   const vt_inputs *r);

#endif
