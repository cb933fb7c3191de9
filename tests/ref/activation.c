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
    case 7:
        return 1 / (1 + exp(-x));
    case 8:
        return fmin(fmax(x, 0), 6);
    case 9:
        return x > 0 ? x * x : 0;
    case 10:
        return x > 0 ? x : x / 100;
    case 11:
        return x > 0 ? x : expm1(x);
    case 12:
        return 1.0507009873554804934 *
               (x > 0 ? x : 1.6732632423543772848 * expm1(x));
    case 13:
        return x * tanh(x > 40 ? x : log1p(exp(x)));
    case 14:
        return fmin(fmax(x + 3, 0), 6) / 6;
    case 15:
        return x * fmin(fmax(x + 3, 0), 6) / 6;
    case 16:
        return x / 2 * fmin(fmax(x + 2, 0), 2);
    case 17:
        return fmin(ref_act(x, 1), 10);
    case 18:
        return (1 + erf((x - 0.707107) / (0.282095 * sqrt(2)))) / 2;
    default:
        return x;
    }
}

void ref_activation(double *out, const double *x, int n, int act)
{
    for (int i = 0; i < n; i++)
        out[i] = ref_act(x[i], act);
}
