/*
 * optimizer.c - the updates of torch.optim.AdamW, Adam and SGD (its
 * documentation's algorithms), after torch.nn.utils.clip_grad_norm_.
 */
#include "ref/ref.h"

#include <math.h>

static double clip(double norm, double limit)
{
    return limit > 0 ? fmin(1, limit / (norm + 1e-6)) : 1;
}

void ref_adam(double *w, double *m, double *v, const double *grad, int n,
              double norm, int t, const ref_optimiser *o)
{
    for (int i = 0; i < n; i++) {
        double g = grad[i] * clip(norm, o->max_norm);

        if (o->decoupled)
            w[i] -= o->lr * o->decay * w[i];
        else
            g += o->decay * w[i];
        m[i] = o->b1 * m[i] + (1 - o->b1) * g;
        v[i] = o->b2 * v[i] + (1 - o->b2) * g * g;
        w[i] -= o->lr * (m[i] / (1 - pow(o->b1, t))) /
                (sqrt(v[i] / (1 - pow(o->b2, t))) + o->eps);
    }
}

void ref_sgd(double *w, double *v, const double *grad, int n, double norm,
             const ref_optimiser *o)
{
    for (int i = 0; i < n; i++) {
        v[i] = o->momentum * v[i] + grad[i] * clip(norm, o->max_norm) +
               o->decay * w[i];
        w[i] -= o->lr * v[i];
    }
}
