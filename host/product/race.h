/*
 * race.h - time a product with several forms, of which only right ones count.
 */
#ifndef VT_PRODUCT_RACE_H
#define VT_PRODUCT_RACE_H
#include "gemm/form.h"

/* Times d with n forms, in ms; 0: this one failed; VT_RACE_WRONG: its result is
 * not what the others computed, or else not what the simple form computes; or
 * on a GPU it has another one for the rows of d. */
#define VT_RACE_WRONG (-1.0)
void vt_race(double *ms, vt_dev *dev, const vt_gemm_desc *d,
             const vt_form *const *forms, int n);

#endif
