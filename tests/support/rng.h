/*
 * rng.h - random numbers that are the same on every machine and run.
 */
#ifndef VT_TESTS_RNG_H
#define VT_TESTS_RNG_H
#include <stddef.h>
#include <stdint.h>

typedef struct vt_rng {
    uint64_t state;
} vt_rng;

uint32_t vt_rng_bits(vt_rng *r);
double vt_rng_uniform(vt_rng *r); /* -1 to 1 */
/* n floats of mean `shift` and about standard deviation `scale`. */
void vt_rng_fill(vt_rng *r, float *out, size_t n, double scale, double shift);

#endif
