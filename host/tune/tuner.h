/*
 * tuner.h - search for parameters of the multiplications.
 */
#ifndef VT_TUNE_TUNER_H
#define VT_TUNE_TUNER_H
#include "ocl/ocl.h"
#include "tune/candidate.h"

typedef struct vt_tuner vt_tuner;

/* Tunes n products, in this type, of a provider, of which this form computes
 * them; "": none of its forms does. See vitcl_tune.h for what follows. */
vitcl_status vt_tuner_new(vt_tuner **out, vt_dev *dev, const char *provider,
                          const char *form, vt_dtype type,
                          const vt_candidate_product *products, int n);
const char *vt_tuner_next(vt_tuner *t);
void vt_tuner_tell(vt_tuner *t, double ratio);
const char *vt_tuner_best(const vt_tuner *t);
double vt_tuner_gain(const vt_tuner *t);
vitcl_status vt_tuner_save(const char **path, vt_tuner *t);
void vt_tuner_free(vt_tuner *t);

#endif
