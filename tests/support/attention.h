/*
 * attention.h - attention and its reference, for cases of oneplan.h.
 *
 * in: qkv, or q and then kv, and a bias; arg: heads, and for axial attention
 * `to` and `wide` of vt_attention_args.
 */
#ifndef VT_TESTS_ATTENTION_H
#define VT_TESTS_ATTENTION_H
#include "support/oneplan.h"

vt_val vt_test_attention(vt_plan *p, const vt_val *in, const vt_case *c);
void vt_test_attention_ref(double *out, const double *const *in,
                           const vt_case *c);

#endif
