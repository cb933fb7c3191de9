/*
 * screen.h - short vectors whose products are no smaller than the cosines of
 * long ones.
 *
 * With orthonormal q_1 .. q_m, p_i = q_i a, and r the length of what is left of
 * a, the inequality of Cauchy and Schwarz gives
 *
 *     a b <= p(a) p(b) + r(a) r(b),
 *
 * the product of two vectors of m + 1 numbers. Where it is below a threshold,
 * the cosine is, too: no pair is lost. It is close if q are the main directions
 * of the vectors, which are found from a sample. Only the number of pairs that
 * must be computed in full depends on the sample.
 */
#ifndef VT_INDEX_SCREEN_H
#define VT_INDEX_SCREEN_H
#include "base/status.h"

/* All zero: nothing to free, and screening is not worth while. */
typedef struct vt_screen {
    int kept;     /* m + 1 */
    float *basis; /* [kept, width]; the last row is zero */
} vt_screen;

/* Far above the rounding errors of a product of vectors of length 1. */
#define VT_SCREEN_SLACK 1e-4f

/* sample[n, width]: rows of length 1, or zero. */
vitcl_status vt_screen_new(vt_screen *out, const float *sample, int n,
                           int width, float least);
/* Replaces the last of the products with the basis by r. */
void vt_screen_finish(float *products, const vt_screen *s, const float *row,
                      int width);
void vt_screen_free(vt_screen *s);

#endif
