/*
 * random.h - random numbers that depend on their key alone.
 *
 * Counter-based (SplitMix64's finaliser over key and counter): the n-th number
 * of a picture in an epoch is the same in any order of calls and on every
 * machine. So a resumed training equals one that was never interrupted.
 */
#ifndef VT_BASE_RANDOM_H
#define VT_BASE_RANDOM_H
#include <stddef.h>
#include <stdint.h>

typedef struct vt_random {
    uint64_t key, counter;
} vt_random;

/* An independent stream for every combination of words. */
vt_random vt_random_new(uint64_t state, uint64_t a, uint64_t b);
uint64_t vt_random_next(vt_random *r);
double vt_random_uniform(vt_random *r); /* [0, 1), 53 bits */
/* 0..n-1, without bias. */
uint64_t vt_random_below(vt_random *r, uint64_t n);
double vt_random_normal(vt_random *r); /* Box-Muller */
/* Beta(a, a), as mixup and cutmix draw it. */
double vt_random_beta(vt_random *r, double a);
/* order[n]: a permutation of 0..n-1 (Fisher-Yates). */
void vt_shuffle(size_t *order, size_t n, uint64_t state);

#endif
