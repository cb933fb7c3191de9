/*
 * components.h - principal components, and how alike rows are.
 *
 * Pure arithmetic in double on the host, in a fixed order.
 */
#ifndef VT_INSPECT_COMPONENTS_H
#define VT_INSPECT_COMPONENTS_H
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* The first k principal components of the rows of x[rows][width], each number
 * less its column's mean. axis[k][width] are of length 1, the largest share of
 * the variance first; of an axis the number that is farthest from 0, the first
 * such, is positive. score[k][rows]: rows along each axis. variance[k]: each
 * axis' share of all variance. Axes without any variance are 0. score and
 * variance may be NULL. */
vitcl_status vt_components(double *axis, double *score, double *variance, int k,
                           const float *x, int rows, int width);

/* Rows that come piece by piece, of which only sums are kept: width x width
 * numbers. */
typedef struct vt_moments vt_moments;
vitcl_status vt_moments_new(vt_moments **out, int width);
void vt_moments_add(vt_moments *m, const float *x, int rows);
/* The components of all rows so far, as above. mean[width]: of the columns;
 * spread[k]: the standard deviation of the rows along each axis. */
vitcl_status vt_moments_components(double *axis, double *mean, double *variance,
                                   double *spread, int k, const vt_moments *m);
void vt_moments_free(vt_moments *m);
/* score[k][rows]: rows, less the mean, along each axis. */
void vt_scores(double *score, const double *axis, const double *mean, int k,
               const float *x, int rows, int width);

/* out[rows][rows]: the cosine of the angle between two rows; 0 for a row of
 * zeros. */
vitcl_status vt_cosines(double *out, const float *x, int rows, int width);

#endif
