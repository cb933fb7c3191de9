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
