/*
 * table_6.h - the paper's table 6: what its models cost to train.
 */
#ifndef VT_STUDY_TABLE_6_H
#define VT_STUDY_TABLE_6_H
#include "study/private.h"

enum { VT_TABLE_6 = 18 };
typedef struct vt_cost_row {
    /* of the paper; the name is also a preset */
    const char *name, *preset;
    unsigned epochs;
    double paper; /* exaFLOPs */
    /* of a ResNet or a stem: blocks in each stage, and the factor of widths */
    int blocks[4], factor;
    /* computed */
    double gmac;         /* a picture of 224 pixels, without the head */
    double all, inside;  /* exaFLOPs: with what convolutions multiply with their
                          * padding, and without */
    uint64_t parameters; /* with a head of 1000 classes */
    double memory;       /* bytes: weights and a picture's activations */
} vt_cost_row;

/* Fills in what is computed, from `vitcl info`. */
vitcl_status vt_table_6(vt_cost_row rows[VT_TABLE_6], const vt_experiment *e);

/* What `vitcl info` says of a preset. */
typedef struct vt_size {
    double gmac, weights, activations, tensor;
    uint64_t parameters, width, classes;
} vt_size;
vitcl_status vt_table_6_size(vt_size *out, const vt_experiment *e,
                             const char *preset, unsigned pixels,
                             unsigned batch);

#endif
