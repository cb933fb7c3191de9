/*
 * attention_grad.c - all heads of attention in double, to be differentiated.
 */
#include "ref/ref.h"

#include <math.h>
#include <stdlib.h>

void ref_heads(double *out, const double *q, const double *k, const double *v,
               const double *bias, int B, int H, int D, int Tq, int T, int ldq,
               int ldk, double scale, int own)
{
    double *p = malloc(sizeof *p * (unsigned)T);

    for (int n = 0; n < B * H * Tq; n++) {
        int i = n % Tq, h = n / Tq % H, b = n / Tq / H;
        const double *x = q + (b * Tq + i) * ldq + h * D;
        double *o = out + (b * Tq + i) * H * D + h * D, sum = 0;

        for (int j = 0; j < T; j++) {
            double s = 0;

            for (int d = 0; d < D; d++)
                s += x[d] * k[(b * T + j) * ldk + h * D + d];
            p[j] = exp(
                s * scale +
                (bias ? bias[(((own ? b : 0) * H + h) * Tq + i) * T + j] : 0));
            sum += p[j];
        }
        for (int d = 0; d < D; d++)
            o[d] = 0;
        for (int j = 0; j < T; j++)
            for (int d = 0; d < D; d++)
                o[d] += p[j] / sum * v[(b * T + j) * ldk + h * D + d];
    }
    free(p);
}

void ref_axial(double *out, const double *qkv, int B, int H, int D, int T,
               int wide, int columns)
{
    const int C = H * D;

    for (int n = 0; n < B * T * H; n++) {
        const int h = n % H, i = n / H % T, b = n / H / T;
        const double *q = qkv + (b * T + i) * 3 * C + h * D;
        double *o = out + (b * T + i) * C + h * D, sum = 0;

        for (int d = 0; d < D; d++)
            o[d] = 0;
        for (int j = 0; j < T; j++) {
            const double *k = qkv + (b * T + j) * 3 * C + C + h * D;
            double s = 0;

            if (columns ? i % wide != j % wide : i / wide != j / wide)
                continue;
            for (int d = 0; d < D; d++)
                s += q[d] * k[d];
            s = exp(s / sqrt(D));
            sum += s;
            for (int d = 0; d < D; d++)
                o[d] += s * k[C + d];
        }
        for (int d = 0; d < D; d++)
            o[d] /= sum;
    }
}
