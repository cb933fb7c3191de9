/*
 * near.h - are these numbers what they should be?
 */
#ifndef VT_TESTS_NEAR_H
#define VT_TESTS_NEAR_H
#include <stdbool.h>
#include <stddef.h>

/* |got - want| <= atol + rtol * |want| for every element, NaN equal to NaN
 * only. Where not, prints `what` and the worst element to stderr. */
bool vt_near(const char *what, const float *got, const double *want, size_t n,
             double rtol, double atol);
double vt_largest(const double *x, size_t n); /* magnitude */

#endif
