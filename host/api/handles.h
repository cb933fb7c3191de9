/*
 * handles.h - what is behind the public handles; for the files of this folder.
 *
 * Children hold a reference on their parents, so a caller may free in any
 * order: a session holds its model, a model the device's own count.
 */
#ifndef VT_API_HANDLES_H
#define VT_API_HANDLES_H
#include "image/image.h"
#include "models/model.h"

#include <pthread.h>
#include <stdatomic.h>

struct vitcl_device {
    vt_dev *dev;
};

struct vitcl_model {
    atomic_int references;
    vt_dev *dev; /* NULL: loaded to be looked at */
    vt_model *model;
    vt_store *store;      /* weights on the device, for every session */
    pthread_mutex_t lock; /* while a plan is written */
};

struct vitcl_session {
    vitcl_model *model;
    vt_plan *plan;
    vt_val rgb, pixels;
    vt_outputs out;
    uint32_t batch, height, width, classes, features;
    vt_preprocess how;
    vitcl_status how_status; /* pictures cannot be prepared: why */
    char how_message[512];
    atomic_bool stop; /* before the next run */
    vitcl_progress progress;
    void *progress_context;
    uint8_t *picture; /* [batch, height, width, 3] on their way */
    float *logits;    /* [batch, classes] */
    bool ran;         /* to its end: there is something to be read */
    bool from_rgb;    /* then: its pictures are still in the plan */
    bool weights_looked_at;
    char bad_weight[160]; /* then: which is not finite, or empty */
};

/* Structs that begin with their size. Of a caller's options into ours, which
 * are `size` bytes; NULL gives the defaults. */
vitcl_status vt_sized_options(void *ours, size_t size, const void *theirs,
                              const char *type);
/* Whether a caller's info has a size; then ours into it. */
vitcl_status vt_sized_check(const void *theirs, const char *type);
void vt_sized_give(void *theirs, const void *ours, size_t size);

vitcl_model *vt_handle_ref(vitcl_model *model);

/* Write the plan of batch pictures of height x width from 8-bit pixels on. */
typedef struct vt_written {
    vt_val rgb, pixels;
    vt_outputs out;
} vt_written;
vitcl_status vt_handle_plan(vt_plan **plan, vt_written *out, vitcl_model *model,
                            const vt_plan_options *options, uint32_t batch,
                            uint32_t height, uint32_t width,
                            const vt_preprocess *how);
/* height, width 0 become the trained ones; absurd ones are an error. */
vitcl_status vt_handle_size(uint32_t *height, uint32_t *width, uint32_t *batch,
                            const vitcl_model *model);

/* The faster of bf16 and f16 on this device, with this provider or, for NULL,
 * the default one. */
vitcl_status vt_handle_half(vitcl_precision *out, vt_dev *dev,
                            const char *wanted);

vitcl_status vt_session_ran(const vitcl_session *s);
/* A kept tensor or an output by its name; VT_NONE. */
vt_val vt_session_value(const vitcl_session *s, const char *name);

/* ---- finite.c ---- */
bool vt_all_finite(const float *x, size_t n);
/* An error that says why picture `index` of the last run has no finite answer:
 * the weight or the tensor where it begins. */
vitcl_status vt_session_explain(vitcl_session *s, uint32_t index);

#define VT_GIVEN(pointer)                                                      \
    do {                                                                       \
        if (!(pointer))                                                        \
            return vt_fail(VITCL_EINVAL, "%s: %s is NULL", __func__,           \
                           #pointer);                                          \
    } while (0)
/* A struct for an answer is there and has its size. */
#define VT_SIZED(out, type)                                                    \
    do {                                                                       \
        VT_GIVEN(out);                                                         \
        if (vt_sized_check(out, #type) != VITCL_OK)                            \
            return VITCL_EINVAL;                                               \
    } while (0)

#endif
