/*
 * near.c - compare numbers with a reference and report the worst.
 */
#include "support/near.h"

#include <math.h>
#include <stdio.h>

double vt_largest(const double *x, size_t n)
{
    double top = 0;

    for (size_t i = 0; i < n; i++)
        top = fmax(top, fabs(x[i]));
    return top;
}

double vt_worse(double worst, double error)
{
    return isnan(error) ? INFINITY : fmax(worst, error);
}

bool vt_near(const char *what, const float *got, const double *want, size_t n,
             double rtol, double atol)
{
    size_t worst = 0, bad = 0;
    double most = 0;

    for (size_t i = 0; i < n; i++) {
        double allowed = atol + rtol * fabs(want[i]);
        double error = fabs((double)got[i] - want[i]) / allowed;

        if (isnan(want[i]) ? isnan(got[i]) : (double)got[i] == want[i])
            continue;
        if (isnan(error))
            error = INFINITY;
        bad += error > 1;
        if (error > most)
            most = error, worst = i;
    }
    if (bad)
        fprintf(stderr,
                "%s: %zu of %zu wrong; worst at %zu: got %.9g, want %.9g, "
                "error %.3g, allowed %.3g\n",
                what, bad, n, worst, (double)got[worst], want[worst],
                fabs((double)got[worst] - want[worst]),
                atol + rtol * fabs(want[worst]));
    return bad == 0;
}
