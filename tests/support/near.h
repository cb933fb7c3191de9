/*
 * near.h - compare numbers with a reference.
 */
#ifndef VT_TESTS_NEAR_H
#define VT_TESTS_NEAR_H
#include <stdbool.h>
#include <stddef.h>

/* Whether |got - want| <= atol + rtol * |want| for every element; NaN equals
 * NaN only. If not, prints `what` and the worst element to stderr. */
bool vt_near(const char *what, const float *got, const double *want, size_t n,
             double rtol, double atol);
double vt_largest(const double *x, size_t n); /* magnitude */
/* The larger of two errors; infinite from the first NaN on, which fmax() and a
 * comparison would forget at the next number. */
double vt_worse(double worst, double error);

#endif
