/*
 * activation.c - activations (Hendrycks, Gimpel 2016; tanh form of section 2).
 */
#include "ref/ref.h"

#include <math.h>

double ref_act(double x, int act)
{
    const double pi = 3.14159265358979323846;

    switch (act) {
    case 1:
        return x / 2 * (1 + erf(x / sqrt(2)));
    case 2:
        return x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x)));
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

void ref_activation(double *out, const double *x, int n, int act)
{
    for (int i = 0; i < n; i++)
        out[i] = ref_act(x[i], act);
}
