/*
 * random.c - counter-based random numbers.
 */
#include "base/random.h"

#include <math.h>

/* The finaliser of SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

vt_random vt_random_new(uint64_t state, uint64_t a, uint64_t b)
{
    uint64_t key = mix(state + 0x9e3779b97f4a7c15u);

    key = mix(key ^ mix(a + 0x9e3779b97f4a7c15u));
    key = mix(key + mix(b ^ 0xd1b54a32d192ed03u));
    return (vt_random){key, 0};
}

uint64_t vt_random_next(vt_random *r)
{
    return mix(r->key + ++r->counter * 0x9e3779b97f4a7c15u);
}

double vt_random_uniform(vt_random *r)
{
    return (double)(vt_random_next(r) >> 11) * 0x1p-53;
}

uint64_t vt_random_below(vt_random *r, uint64_t n)
{
    uint64_t limit = n ? UINT64_MAX - UINT64_MAX % n : 0, v;

    if (n < 2)
        return 0;
    do
        v = vt_random_next(r);
    while (v >= limit);
    return v % n;
}

double vt_random_normal(vt_random *r)
{
    double u = 1.0 - vt_random_uniform(r), v = vt_random_uniform(r);

    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

/* Gamma(a, 1) by Marsaglia and Tsang 2000; a < 1 by Stuart's boost. */
static double gamma_of(vt_random *r, double a)
{
    double boost = 1, d, c;

    if (a < 1) {
        boost = pow(1.0 - vt_random_uniform(r), 1.0 / a);
        a += 1;
    }
    d = a - 1.0 / 3.0;
    c = 1.0 / sqrt(9.0 * d);
    for (;;) {
        double x = vt_random_normal(r), v = 1.0 + c * x;
        double u = 1.0 - vt_random_uniform(r);

        if (v <= 0)
            continue;
        v = v * v * v;
        if (log(u) < 0.5 * x * x + d - d * v + d * log(v))
            return boost * d * v;
    }
}

double vt_random_beta(vt_random *r, double a)
{
    double x = gamma_of(r, a), y = gamma_of(r, a);

    return x + y > 0 ? x / (x + y) : 0.5;
}

void vt_shuffle(size_t *order, size_t n, uint64_t state)
{
    vt_random r = vt_random_new(state, n, 0);

    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)vt_random_below(&r, i), t = order[i - 1];

        order[i - 1] = order[j];
        order[j] = t;
    }
}
