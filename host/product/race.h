/*
 * race.h - time a product with several forms.
 */
#ifndef VT_PRODUCT_RACE_H
#define VT_PRODUCT_RACE_H
#include "gemm/form.h"

/* Times d with n forms, in ms; 0: this one failed. */
void vt_race(double *ms, vt_dev *dev, const vt_gemm_desc *d,
             const vt_form *const *forms, int n);

#endif
