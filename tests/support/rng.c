/*
 * rng.c - splitmix64 (Steele, Lea, Flood 2014).
 */
#include "support/rng.h"

uint32_t vt_rng_bits(vt_rng *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) >> 32);
}

double vt_rng_uniform(vt_rng *r)
{
    return (double)vt_rng_bits(r) / 2147483648.0 - 1.0;
}

void vt_rng_fill(vt_rng *r, float *out, size_t n, double scale, double shift)
{
    for (size_t i = 0; i < n; i++) /* three uniforms: nearly normal */
        out[i] = (float)((vt_rng_uniform(r) + vt_rng_uniform(r) +
                          vt_rng_uniform(r)) *
                             scale +
                         shift);
}
