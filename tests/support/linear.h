/*
 * linear.h - a linear layer and its reference, as cases of oneplan.h have them:
 * inputs x, w, bias, scale, residual; argument the activation.
 */
#ifndef VT_TESTS_LINEAR_H
#define VT_TESTS_LINEAR_H
#include "support/oneplan.h"

vt_val vt_test_linear(vt_plan *p, const vt_val *in, const vt_case *c);
void vt_test_linear_ref(double *out, const double *const *in, const vt_case *c);

#endif
