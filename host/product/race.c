/*
 * race.c - time a product with several forms.
 *
 * On a GPU it has the rows of several pictures, so that it is busy.
 */
#include "product/race.h"

#include "base/log.h"
#include "base/memory.h"
#include "product/timed.h"
#include "product/told.h"

/* Of a product that is timed, about; and no more pictures than that. */
enum { ROWS = 1024, PICTURES = 64 };
#define MOST_MACS 2e9 /* unless one picture has more */

/* Several pictures' rows as those of one, and no strides. */
static vt_gemm_desc enlarged(const vt_gemm_desc *d)
{
    const double one = (double)d->M * d->N * d->K;
    const bool one_only = d->trans_a || d->device_class == VT_CLASS_CPU;
    int pictures = one_only ? 1 : VT_MIN(PICTURES, VT_MAX(1, ROWS / d->M));
    vt_gemm_desc e = *d;

    while (pictures > 1 && one * pictures > MOST_MACS)
        pictures /= 2;
    e.M *= pictures;
    e.batch = 1;
    e.sums = false;
    e.lda = d->trans_a ? e.M : e.K;
    e.ldb = d->trans_b ? e.N : e.K;
    e.ldc = e.N;
    return e;
}

void vt_race(double *ms, vt_dev *dev, const vt_gemm_desc *d,
             const vt_form *const *forms, int n)
{
    static const vt_rounds rounds = {
        .least = 2, .most = 12, .ms = 250, .almost = 1.05};
    const vt_gemm_desc e = enlarged(d);
    vt_timed t[VT_FORMS], *all[VT_FORMS];
    int which[VT_FORMS], timed = 0;
    vt_told told;

    for (int i = 0; i < n; i++) {
        t[i] = (vt_timed){.q = NULL};
        ms[i] = 0;
        if (!vt_product_tell(&told, dev, forms[i], &e))
            vt_log("%s was not timed: it does not take so many rows",
                   forms[i]->name);
        else if (vt_timed_new(&t[i], dev, forms[i], &told, NULL, NULL) ==
                     VITCL_OK &&
                 vt_timed_run(&t[i]) == VITCL_OK) /* builds its programs */
            which[timed] = i, all[timed++] = &t[i];
        else
            vt_log("%s was not timed: %s", forms[i]->name, vt_message());
    }
    if (timed && vt_measure(all, timed, &rounds) == VITCL_OK)
        for (int i = 0; i < timed; i++)
            ms[which[i]] = all[i]->best;
    for (int i = 0; i < n; i++)
        vt_timed_free(&t[i]);
}
