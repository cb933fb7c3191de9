/*
 * half.c - how long a product takes in a 16-bit precision.
 */
#include "product/half_choice.h"
#include "product/product.h"
#include "trials/trials.h"

#include "base/memory.h"

vitcl_status vt_trial_half(double *ms, vt_dev *dev, const char *provider,
                           vt_dtype type)
{
    const vt_gemm_desc d = vt_half_product(dev, type);
    static const vt_rounds rounds = {.least = 6}; /* the first one warms up */
    vt_timed t = {.q = NULL};
    vitcl_status st;

    VT_TRY(vt_product_timed(&t, dev, provider, &d, NULL, NULL));
    VT_TRY(vt_measure((vt_timed *[]){&t}, 1, &rounds));
    *ms = t.best;
done:
    vt_timed_free(&t);
    return st;
}
