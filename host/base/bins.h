/*
 * bins.h - the expected calibration error: how far probabilities are from the
 * shares of answers that are right, by 15 bins of equal width (i / 15,
 * (i + 1) / 15] of the probability:
 *
 *   sum over bins of pictures / all * |mean probability - share right|
 *
 * Guo et al. 2017, arXiv:1706.04599, and its code. The counts are whole, so
 * those of parts add up to the same bits in any order.
 */
#ifndef VT_BASE_BINS_H
#define VT_BASE_BINS_H
#include <stdbool.h>
#include <stdint.h>

/* For each bin pictures, right answers, and the sum of probabilities in
 * 2^-24. */
enum { VT_BINS = 15, VT_BIN_COUNTS = 3 * VT_BINS };

void vt_bins_add(uint64_t bins[VT_BIN_COUNTS], double probability, bool right);
/* NAN unless all pictures are in them. */
double vt_bins_error(const uint64_t bins[VT_BIN_COUNTS], uint64_t pictures);

#endif
