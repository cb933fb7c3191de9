/*
 * certainty.h - how far a model's probabilities can be trusted, from held-out
 * pictures.
 *
 *   temperature  divides the logits: the one with the least negative log
 *                likelihood (Guo et al., arXiv:1706.04599)
 *   threshold    the lowest probability of which 95 % of the answers above it
 *                are right; at least 0.5
 *   detail       the least and the most that a picture has (image/image.h), but
 *                for one in a hundred: others are of another kind
 *
 * config.json has them as "vitcl_certainty", which other libraries ignore.
 */
#ifndef VT_TRAIN_CERTAINTY_H
#define VT_TRAIN_CERTAINTY_H
#include "models/model.h"

/* logits[n * classes], label[n] < classes, detail[n]; n >= 1, classes >= 2. */
vitcl_status vt_certainty_fit(vt_certainty *out, const float *logits,
                              const uint32_t *label, const double *detail,
                              size_t n, uint32_t classes);
/* Writes them into the folder's config.json, in place of those there. */
vitcl_status vt_certainty_write(const char *folder, const vt_certainty *c);

/* The logits and detail of held-out pictures, one after the other. */
typedef struct vt_evidence {
    float *logits;
    uint32_t *label;
    double *detail;
    size_t n, room;        /* room 0: too few pictures for a fit */
    size_t seen, pictures; /* seen: of the pictures, those that came */
    uint32_t classes;
} vt_evidence;
vitcl_status vt_evidence_new(vt_evidence *out, size_t pictures,
                             uint32_t classes);
void vt_evidence_add(vt_evidence *e, const float *logits, uint32_t label,
                     double detail);
/* Fits, and writes to the folder; too few pictures: does nothing. */
vitcl_status vt_evidence_save(const vt_evidence *e, const char *folder);
void vt_evidence_free(vt_evidence *e);

#endif
