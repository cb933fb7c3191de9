/*
 * gemm.c - matrix multiplication and activations from their formulas.
 * GELU: Hendrycks, Gimpel 2016, arXiv:1606.08415.
 */
#include "ref/gemm.h"

#include <math.h>

double ref_act(double x, int act)
{
    const double pi = 3.14159265358979323846;

    switch (act) {
    case 1:
        return 0.5 * x * (1 + erf(x / sqrt(2)));
    case 2:
        return 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x)));
    case 3:
        return x / (1 + exp(-1.702 * x));
    case 4:
        return tanh(x);
    case 5:
        return x > 0 ? x : 0;
    case 6:
        return x / (1 + exp(-x));
    default:
        return x;
    }
}

double ref_dot(const float *a, const float *b, int m, int n, int K, int am,
               int ak, int bn, int bk)
{
    double sum = 0;

    for (int k = 0; k < K; k++)
        sum += (double)a[m * am + k * ak] * (double)b[n * bn + k * bk];
    return sum;
}
