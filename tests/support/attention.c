/*
 * attention.c - attention and its reference, for cases of oneplan.h.
 */
#include "support/attention.h"

#include "ref/ref.h"

#include <math.h>
#include <stdlib.h>

vt_val vt_test_attention(vt_plan *p, const vt_val *in, const vt_case *c)
{
    const vt_attention_args a = {.heads = c->arg[0],
                                 .bias = in[2],
                                 .to = (vt_attention_to)c->arg[1],
                                 .wide = c->arg[2],
                                 .rows = c->arg[3]};

    return in[1] == VT_NONE ? vt_attention(p, in[0], a)
                            : vt_attention_cross(p, in[0], in[1], a);
}

void vt_test_attention_ref(double *out, const double *const *in,
                           const vt_case *c)
{
    const int *q = c->in[0].dim, *kv = c->in[1].dim, H = c->arg[0];
    const bool self = !in[1];
    const int C = self ? q[2] / 3 : q[2];
    const double *k = self ? in[0] + C : in[1];

    if (c->arg[1])
        ref_axial(out, in[0], q[0], H, C / H, q[1], c->arg[2],
                  c->arg[1] == VT_TO_COLUMNS);
    else if (c->arg[3]) /* a picture's first queries */
        for (int b = 0; b < q[0]; b++)
            ref_heads(out + b * c->arg[3] * C, in[0] + b * q[1] * q[2],
                      k + b * q[1] * q[2], k + b * q[1] * q[2] + C, NULL, 1, H,
                      C / H, c->arg[3], q[1], q[2], q[2],
                      1 / sqrt((double)C / H), 0);
    else
        ref_heads(out, in[0], k, k + C, in[2], q[0], H, C / H, q[1],
                  self ? q[1] : kv[1], q[2], self ? q[2] : kv[2],
                  1 / sqrt((double)C / H), 0);
}

/* dqkv of one head by the formulas, in double; p and dp: [T]. */
static void head_grad(double *d, const float *x, const float *g, size_t T,
                      size_t C, size_t D, double *p, double *dp)
{
    const double scale = 1 / sqrt((double)D);

    for (size_t i = 0; i < T; i++) {
        const float *q = x + i * 3 * C, *gi = g + i * C;
        double top = -INFINITY, all = 0, mean = 0;

        for (size_t j = 0; j < T; j++) {
            const float *k = x + j * 3 * C + C, *v = k + C;

            p[j] = dp[j] = 0;
            for (size_t e = 0; e < D; e++) {
                p[j] += scale * (double)q[e] * (double)k[e];
                dp[j] += (double)gi[e] * (double)v[e];
            }
            top = fmax(top, p[j]);
        }
        for (size_t j = 0; j < T; j++)
            all += p[j] = exp(p[j] - top);
        for (size_t j = 0; j < T; j++)
            mean += (p[j] /= all) * dp[j];
        for (size_t j = 0; j < T; j++) {
            const size_t at = j * 3 * C + C;
            const double w = scale * p[j] * (dp[j] - mean);

            for (size_t e = 0; e < D; e++) {
                d[i * 3 * C + e] += w * (double)x[at + e];
                d[at + e] += w * (double)q[e];
                d[at + C + e] += p[j] * (double)gi[e];
            }
        }
    }
}

void vt_test_qkv_grad(double *d, const float *x, const float *g, size_t B,
                      size_t T, size_t H, size_t D)
{
    const size_t C = H * D;
    double *p = malloc(2 * T * sizeof *p);

    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < H; h++)
            head_grad(d + b * T * 3 * C + h * D, x + b * T * 3 * C + h * D,
                      g + b * T * C + h * D, T, C, D, p, p + T);
    free(p);
}
