/*
 * plan_private.h - what is inside a plan; for the files of this folder.
 */
#ifndef VT_PLAN_PLAN_PRIVATE_H
#define VT_PLAN_PLAN_PRIVATE_H
#include "plan/plan.h"

#define VT_SLOTS 2
typedef struct vt_slot { /* for a weight that is read when it is needed */
    float *rows;
    vt_buf *buf;   /* over the rows */
    vt_mark *mark; /* behind the last launch that reads it */
} vt_slot;

struct vt_plan {
    vt_plan_options o;
    char gemm[16];
    char **keep; /* own copies of the patterns, NULL-ended */
    vt_queue *queue;
    vt_value *value;
    size_t values, value_cap;
    vt_step **step; /* pointers: a step does not move when others come */
    size_t steps, step_cap;
    vitcl_status status;
    char message[512]; /* of the first error */
    vt_buf *arena;
    vt_plan_memory memory;
    bool finished;
    int runs; /* up to two */
    vt_slot slot[VT_SLOTS];
    bool streams; /* there are slots */
    int next_slot;
    vt_val (*add)(vt_plan *p, vt_val a, vt_val b); /* while differentiating */
    int loss_step; /* the last before the backward pass; 0: there is none */
};

/* Gives every result and input its offset in one arena: values whose lives
 * overlap never overlap in memory. Fills memory.arena and largest_step. */
vitcl_status vt_arena_place(vt_plan *p);
void vt_slots_free(vt_plan *p);

#endif
