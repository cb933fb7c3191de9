/*
 * bins.c - the expected calibration error from counts in bins.
 */
#include "base/bins.h"

#include "base/memory.h"

#include <math.h>

#define ONE 0x1p24

void vt_bins_add(uint64_t bins[VT_BIN_COUNTS], double probability, bool right)
{
    const double at = ceil(probability * VT_BINS) - 1;
    const int i = (int)VT_MIN(VT_MAX(at, 0.0), VT_BINS - 1.0);

    bins[i]++;
    bins[VT_BINS + i] += right;
    bins[2 * VT_BINS + i] += (uint64_t)llround(probability * ONE);
}

double vt_bins_error(const uint64_t bins[VT_BIN_COUNTS], uint64_t pictures)
{
    uint64_t all = 0;
    double sum = 0;

    for (int i = 0; i < VT_BINS; i++) {
        all += bins[i];
        sum += fabs((double)bins[2 * VT_BINS + i] / ONE -
                    (double)bins[VT_BINS + i]);
    }
    return all && all == pictures ? sum / (double)all : (double)NAN;
}
