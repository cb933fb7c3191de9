/*
 * candidate.h - one candidate of the tuner: an entry of parameters and the
 * products to measure it on, as one text.
 */
#ifndef VT_TUNE_CANDIDATE_H
#define VT_TUNE_CANDIDATE_H
#include "base/status.h"

#include <stddef.h>

enum {
    VT_CANDIDATE_PRODUCTS = 8,
    VT_CANDIDATE_ELEMENTS = 1 << 28 /* the most of one matrix */
};

/* C[M,N] = A[M,K] B[N,K]^T, `count` times a picture. */
typedef struct vt_candidate_product {
    int M, N, K, count;
} vt_candidate_product;

/* "ENTRY: PROVIDER 197x768x768x12 ..." */
void vt_candidate_format(char *out, size_t size, const char *entry,
                         const char *provider, const vt_candidate_product *x,
                         int n);
/* Checks every element of the candidate's products and times them in vitcl-try.
 * *ratio: their time relative to native's built-in ones. select: as for
 * vitcl_device_open(). seconds: the time limit; 0: that of a trial. progress:
 * NULL, or called repeatedly, with seconds. VITCL_EDEVICE: a product is wrong,
 * or the process crashed or took too long. */
vitcl_status vt_candidate_try(double *ratio, const char *select,
                              const char *candidate, double seconds,
                              vitcl_progress progress, void *context);

#endif
