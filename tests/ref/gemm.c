/*
 * gemm.c - matrix multiplication from its formula.
 */
#include "ref/gemm.h"

double ref_dot(const float *a, const float *b, int m, int n, int K, int am,
               int ak, int bn, int bk)
{
    double sum = 0;

    for (int k = 0; k < K; k++)
        sum += (double)a[m * am + k * ak] * (double)b[n * bn + k * bk];
    return sum;
}
