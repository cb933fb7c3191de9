/*
 * components.h - principal components, and how alike rows are.
 *
 * Pure arithmetic in double on the host, in a fixed order.
 */
#ifndef VT_INSPECT_COMPONENTS_H
#define VT_INSPECT_COMPONENTS_H
#include "base/status.h"

#include <stddef.h>

/* The first k principal components of the rows of x[rows][width], each number
 * less its column's mean. axis[k][width] are of length 1, the largest share of
 * the variance first; of an axis the number that is farthest from 0, the first
 * such, is positive. score[k][rows]: rows along each axis. variance[k]: each
 * axis' share of all variance. Axes without any variance are 0. score and
 * variance may be NULL. */
vitcl_status vt_components(double *axis, double *score, double *variance, int k,
                           const float *x, int rows, int width);

/* out[rows][rows]: the cosine of the angle between two rows; 0 for a row of
 * zeros. */
vitcl_status vt_cosines(double *out, const float *x, int rows, int width);

#endif
