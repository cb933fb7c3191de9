/*
 * batches.h - batches of pixels and targets, prepared in advance by threads.
 *
 * Which pictures a step gets and how they are changed is a function of the
 * random state, the epoch and the picture alone. The number of threads and
 * interruptions do not change a bit.
 */
#ifndef VT_DATA_BATCHES_H
#define VT_DATA_BATCHES_H
#include "data/augment.h"
#include "data/dataset.h"

typedef struct vt_batches vt_batches;
typedef struct vt_batches_options {
    const vt_dataset *d;
    const size_t *chosen; /* indices of pictures; must outlive vt_batches */
    size_t count;         /* of them */
    uint32_t batch, height, width, classes;
    vt_preprocess how;
    vt_augment augment;
    bool augmented; /* false: as for inference, in order */
    double smoothing;
    int patch_h, patch_w; /* masked patch prediction: a patch's pixels, which
                             divide the picture's; 0: targets are the labels */
    uint64_t random_state;
    long first, end;  /* steps */
    unsigned workers; /* 0: one a core */
    /* The positions of a batch that are needed; to 0: all. Pixels and targets
     * at others are undefined. */
    uint32_t from, to;
    bool first_whole; /* the first step needs all of them */
} vt_batches_options;

/* Steps of an epoch. Augmented: whole batches only, but at least one, which may
 * repeat pictures. Otherwise: all pictures; the last batch repeats the last
 * picture. */
long vt_batches_steps(size_t count, uint32_t batch, bool augmented);

typedef struct vt_batch { /* owned by vt_batches; valid until the next call */
    const float *pixels;  /* [batch,3,height,width], normalised */
    const float *targets; /* [batch,classes]; NULL with patches: */
    const int32_t *source,
        *colour; /* [batch,patches]: for vt_mask_patches(); the class of each
                    patch to predict, else -1 */
} vt_batch;

vitcl_status vt_batches_new(vt_batches **out,
                            const vt_batches_options *options);
/* The next step's batch. A picture that cannot be decoded is an error that
 * names it. */
vitcl_status vt_batches_next(vt_batch *out, vt_batches *f);
void vt_batches_free(vt_batches *f);
/* One picture as batches get it, whole: a file is decoded by a decoder
 * process. */
vitcl_status vt_batches_picture(vt_picture *out, const vt_dataset *d,
                                uint32_t picture);

#endif
