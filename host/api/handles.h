/*
 * handles.h - the structs behind the public handles; for host/api only.
 *
 * Children hold references to their parents, so a caller may free handles in
 * any order: a session holds its model, a model its device.
 */
#ifndef VT_API_HANDLES_H
#define VT_API_HANDLES_H
#include "api/busy.h"
#include "image/image.h"
#include "models/model.h"

#include <pthread.h>

struct vitcl_device {
    vt_dev *dev;
};

struct vitcl_model {
    atomic_int references;
    vt_dev *dev; /* NULL: loaded only to be inspected */
    vt_model *model;
    vt_store *store;      /* weights on the device, shared by sessions */
    pthread_mutex_t lock; /* held while a plan is written */
    char *path;           /* or "preset:NAME"; NULL: it was in memory */
};

struct vitcl_session {
    vitcl_model *model;
    vt_plan *plan;
    struct vt_grids *grids;  /* of pictures of any aspect ratio; NULL: of one
                             * size, height x width */
    vt_plan_options options; /* of the plan */
    vt_val rgb, values;
    vt_outputs out;
    vt_val seed;     /* the gradient of the logits; VT_NONE: no backward pass */
    int forward_end; /* the first step of that pass */
    uint32_t batch, height, width, classes, features;
    vt_preprocess how;
    vitcl_status how_status; /* status if pictures cannot be prepared */
    char how_message[512];
    atomic_bool busy; /* a call uses it */
    atomic_bool stop; /* stop before the next run */
    vitcl_progress progress;
    void *progress_context;
    uint8_t *picture; /* staging, [batch, height, width, 3] */
    float *logits;    /* [batch, classes] */
    vitcl_watcher watcher;
    void *watcher_context;
    float *watched;         /* the largest tensor that is watched */
    const uint8_t *waiting; /* sent, but not copied: no vt_plan_overlaps();
                             * NULL: those of the last run */
    uint32_t sent;          /* pictures for vt_session_run_sent(); 0: none */
    bool running;           /* vt_session_run_sent() has not been waited for */
    bool ran;               /* the last run succeeded; tensors may be read */
    bool from_rgb;          /* if ran: its pictures are still in the plan */
    bool spent;       /* if ran: a backward pass has used up activations */
    uint64_t id, run; /* of all sessions; of its runs */
    uint64_t unread;  /* bit i: no call read run - i before the next one */
    bool weights_looked_at;
    char bad_weight[160]; /* if looked at: the first bad one, or "" */
};

/* Structs that begin with their size. Copies a caller's options into ours,
 * which have `size` bytes; NULL gives the defaults. */
vitcl_status vt_sized_options(void *ours, size_t size, const void *theirs,
                              const char *type);
/* Checks the size of a caller's info struct; _give() copies ours into it. */
vitcl_status vt_sized_check(const void *theirs, const char *type);
void vt_sized_give(void *theirs, const void *ours, size_t size);

vitcl_model *vt_handle_ref(vitcl_model *model);

/* Writes the plan for `batch` pictures of height x width, starting from 8-bit
 * pixels. */
typedef struct vt_written {
    vt_val rgb, values;
    vt_outputs out;
    vt_val seed; /* with options->backward: as in a session */
    int forward_end;
} vt_written;
vitcl_status vt_handle_plan(vt_plan **plan, vt_written *out, vitcl_model *model,
                            const vt_plan_options *options, uint32_t batch,
                            uint32_t height, uint32_t width,
                            const vt_preprocess *how);
/* Whether a plan and the weights fit in the device's memory, beside so many
 * bytes of other plans. */
bool vt_handle_fits(const vt_plan *plan, const vitcl_model *model,
                    double beside);
/* Replaces 0 by the model's own height and width and by batch 1; sizes out of
 * range are an error. */
vitcl_status vt_handle_size(uint32_t *height, uint32_t *width, uint32_t *batch,
                            const vitcl_model *model);

/* Does the model put transparent pictures on white? */
bool vt_model_on_white(const vitcl_model *model);

/* ---- session.c ---- */
/* Are n pictures a batch, and does the session know how to normalise them? */
vitcl_status vt_session_takes_rgb(const vitcl_session *s, uint32_t n);
/* Invalidates the answers of the last run; VITCL_ESTOPPED: begin none. */
vitcl_status vt_session_begin(vitcl_session *s);
/* Waits for a run; an error if there is no answer. */
vitcl_status vt_session_ran(vitcl_session *s);
/* A kept tensor or an output by name; VT_NONE if there is none. */
vt_val vt_session_value(const vitcl_session *s, const char *name);
/* The first n pictures' part of a tensor; room: elements of out. */
vitcl_status vt_session_read(float *out, size_t room, vitcl_session *s,
                             vt_val v, uint32_t n);
/* vitcl_session_run_rgb(), for a call that uses the session. */
vitcl_status vt_session_run_rgb(vitcl_session *s, const uint8_t *rgb,
                                uint32_t n);
/* vitcl_session_run_values(), likewise. */
vitcl_status vt_session_run_values(vitcl_session *s, const float *values,
                                   uint32_t n);
/* Tells the caller's progress function after a batch; VITCL_ESTOPPED if it
 * wants no more. */
vitcl_status vt_session_tell(const vitcl_session *s, uint64_t done,
                             uint64_t total);

/* Is the next batch sent while one is computed? */
bool vt_session_overlaps(const vitcl_session *s);

/* ---- grids.c ---- */
/* Makes s, whose plan is for a square, one of pictures of any aspect ratio. */
vitcl_status vt_grids_new(vitcl_session *s);
void vt_grids_free(struct vt_grids *g);
/* Runs n prepared pictures, as many of one grid at a time as there are. */
vitcl_status vt_grids_run(vitcl_session *s, const uint8_t *rgb, uint32_t n);
/* The first n pictures' logits or features. */
vitcl_status vt_grids_read(float *out, size_t room, const vitcl_session *s,
                           vt_val v, uint32_t n);

/* ---- send.c ---- */
/* An error unless this tensor has so many numbers of each picture. */
vitcl_status vt_session_each(const vitcl_session *s, const char *name,
                             size_t each);
/* vitcl_session_run_batches(), for a call that uses the session. */
vitcl_status vt_session_batches(vitcl_session *s, const char *name, size_t each,
                                vitcl_source next, vitcl_sink take,
                                void *context);

/* ---- turns.c ---- */
uint64_t vt_turns_id(void);
void vt_turns_run(vitcl_session *s);
/* An error if this thread's run was replaced before it was read. */
vitcl_status vt_turns_read(vitcl_session *s);
/* A tensor that this thread gives to the vitcl_sink of a call on a session. */
typedef struct vt_given {
    const vitcl_session *session;
    vt_val v;
} vt_given;
vt_given vt_turns_give(vt_given given);        /* returns the one before */
vt_val vt_turns_given(const vitcl_session *s); /* VT_NONE: it gives none */

/* ---- identity.c ---- */
/* A hash of a model's config and weights, and of `more` (NULL: nothing). */
vitcl_status vt_identity_of(char out[65], const vt_model *m, const char *more);

/* ---- finite.c ---- */
bool vt_all_finite(const float *x, size_t n);
/* Returns an error that says why picture `index` of the last run has no finite
 * answer: the first weight or tensor with NaN or infinity. */
vitcl_status vt_session_explain(vitcl_session *s, uint32_t index);

/* Is it one of the header's? */
static inline vitcl_status vt_precision_known(vitcl_precision precision)
{
    return (unsigned)precision <= VITCL_INT8
               ? VITCL_OK
               : vt_fail(VITCL_EINVAL, "unknown precision %d", (int)precision);
}

#define VT_GIVEN(pointer)                                                      \
    do {                                                                       \
        if (!(pointer))                                                        \
            return vt_fail(VITCL_EINVAL, "%s: %s is NULL", __func__,           \
                           #pointer);                                          \
    } while (0)
/* Requires a struct for an answer, with its size set. */
#define VT_SIZED(out, type)                                                    \
    do {                                                                       \
        VT_GIVEN(out);                                                         \
        if (vt_sized_check(out, #type) != VITCL_OK)                            \
            return VITCL_EINVAL;                                               \
    } while (0)

#endif
