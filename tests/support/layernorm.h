/*
 * layernorm.h - layer norm for tests: rows and columns of in[0] by gamma in[1]
 * and beta in[2]. arg[0]: of the first so many rows alone, 0: of all; arg[1]:
 * RMS norm.
 */
#ifndef VT_TESTS_LAYERNORM_H
#define VT_TESTS_LAYERNORM_H
#include "support/oneplan.h"

vt_val vt_test_layernorm(vt_plan *p, const vt_val *in, const vt_case *c);
void vt_test_layernorm_ref(double *out, const double *const *in,
                           const vt_case *c);

#endif
