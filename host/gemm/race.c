/*
 * race.c - time a product with several providers.
 *
 * It has the rows of several pictures, so that a GPU is busy.
 */
#include "gemm/race.h"

#include "base/log.h"
#include "base/memory.h"
#include "gemm/fastest.h"
#include "gemm/measure.h"

/* Of a product that is timed, about; and no more pictures than that. */
enum { ROWS = 1024, PICTURES = 64 };
#define MOST_MACS 2e9 /* unless one picture has more */

/* Several pictures' rows as those of one, and no strides. */
static vt_gemm_desc enlarged(const vt_gemm_desc *d)
{
    const double one = (double)d->M * d->N * d->K;
    int pictures = d->trans_a ? 1 : VT_MIN(PICTURES, VT_MAX(1, ROWS / d->M));
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

void vt_race_run(double *ms, void *context)
{
    static const vt_rounds rounds = {
        .least = 2, .most = 12, .ms = 250, .almost = 1.05};
    const vt_rivals *r = context;
    const vt_gemm_desc d = enlarged(r->d);
    vt_timed t[VT_RIVALS], *all[VT_RIVALS];
    int which[VT_RIVALS], n = 0;

    for (int i = 0; i < r->n; i++) {
        t[i] = (vt_timed){.q = NULL};
        if (vt_timed_new(&t[i], r->dev, r->names[i], &d, NULL, NULL) ==
                VITCL_OK &&
            vt_timed_run(&t[i]) == VITCL_OK) /* builds its programs */
            which[n] = i, all[n++] = &t[i];
        else
            vt_log("%s was not timed: %s", r->names[i], vt_message());
    }
    if (n && vt_measure(all, n, &rounds) == VITCL_OK)
        for (int i = 0; i < n; i++)
            ms[which[i]] = all[i]->best;
    for (int i = 0; i < r->n; i++)
        vt_timed_free(&t[i]);
}
