/*
 * tuner.h - search for parameters of the multiplications.
 */
#ifndef VT_TUNE_TUNER_H
#define VT_TUNE_TUNER_H
#include "ocl/ocl.h"
#include "tune/candidate.h"

typedef struct vt_tuner vt_tuner;

/* Tunes n products, in this type, of a provider, of which this form computes
 * them; "": none of its forms does. VITCL_EIO: nothing can be added to the
 * user's file, because it is ignored or its folder cannot be written. */
vitcl_status vt_tuner_new(vt_tuner **out, vt_dev *dev, const char *provider,
                          const char *form, vt_dtype type,
                          const vt_candidate_product *products, int n);
/* The next candidate to measure, a text without line breaks, valid until the
 * next call. NULL: all neighbours of the best one have been measured. */
const char *vt_tuner_next(vt_tuner *t);
/* What vt_candidate_try() gave for it; 0: it failed. */
void vt_tuner_tell(vt_tuner *t, double ratio);
/* The best parameters so far, without the products they are measured on, and
 * how many times as fast they are as those in use at the start: 1 or more. */
const char *vt_tuner_best(const vt_tuner *t);
double vt_tuner_gain(const vt_tuner *t);
/* Saves the best to the user's file. *path: that file. */
vitcl_status vt_tuner_save(const char **path, vt_tuner *t);
void vt_tuner_free(vt_tuner *t);

#endif
