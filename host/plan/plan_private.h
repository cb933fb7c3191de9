/*
 * plan_private.h - struct vt_plan; for the files of this folder only.
 */
#ifndef VT_PLAN_PLAN_PRIVATE_H
#define VT_PLAN_PLAN_PRIVATE_H
#include "plan/plan.h"

#define VT_SEGMENTS 16 /* buffers of an arena, at most */

#define VT_SLOTS 2

struct vt_plan {
    vt_plan_options o;
    char **keep, **watch; /* own copies of the patterns, NULL-ended */
    vt_queue *queue;
    vt_value **value; /* pointers, so that values and steps do not move */
    size_t values, value_cap;
    vt_step **step;
    size_t steps, step_cap;
    vitcl_status status;
    char message[512];          /* of the first error */
    vt_buf *arena[VT_SEGMENTS]; /* NULL where segment_bytes[] is 0, or where
                                 * places are buffers (VITCL_ARENA=own) */
    size_t segment_bytes[VT_SEGMENTS];
    vt_plan_memory memory;
    bool finished;
    int runs;                /* counted up to 2 */
    vt_slot *slot[VT_SLOTS]; /* for weights that are read before a launch */
    bool streams;            /* the slots are in use */
    vt_upload *upload;       /* vt_plan_send(); NULL: nothing was sent */
    int next_slot;
    vt_val (*add)(vt_plan *p, vt_val a, vt_val b); /* of vt_plan_backward() */
    int loss_step; /* last before the backward pass; 0: no such pass */
};

/* ---- launch.c ---- */
/* Adds to an error which step it is. */
vitcl_status vt_plan_in_step(const vt_plan *p, size_t i, vitcl_status st);
/* Enqueues the launches of these steps, each by itself, in a run that began
 * with step `from`. */
vitcl_status vt_plan_launch(vt_plan *p, size_t from, size_t first, size_t end);

/* How results are stored, and the steps' scratch memory. */
vitcl_status vt_storage_choose(vt_plan *p);

/* Give every result and input an offset in a segment of the arena. Values whose
 * lifetimes overlap do not overlap in memory. Fills segment_bytes[], and of
 * memory all but states and consts. */
vitcl_status vt_arena_place(vt_plan *p);
/* From `at` on, the first place in a buffer where a value may begin. */
size_t vt_arena_next(const vt_plan *p, size_t at);
/* Bytes that a buffer may have. */
size_t vt_arena_limit(const vt_plan *p);

/* Gives the values in slabs, whose own memory exists, their views of it, and
 * reads the parameters. */
vitcl_status vt_slabs_claim(vt_plan *p);

#endif
