/*
 * batchnorm.c - folds a BatchNorm into the convolution before it, for derived.c
 * (Ioffe, Szegedy 2015, arXiv:1502.03167; inference with the running
 * statistics).
 *
 *   s        = gamma / sqrt(var + eps)     for each filter
 *   weight'  = weight * s
 *   bias'    = beta - mean * s
 *
 * in double. eps is PyTorch's default 1e-5; the files do not contain it.
 */
#include "base/memory.h"
#include "models/derived.h"
#include "models/model_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double eps = 1e-5;

static const char *const parts[VT_BATCHNORM_PARTS] = {
    "weight", "bias", "running_mean", "running_var"};
enum { GAMMA, BETA, MEAN, VAR };

size_t vt_name_folded(const char *name)
{
    const char *at = strchr(name, '@');

    return at && strcmp(at, "@bn") == 0 ? (size_t)(at - name) : 0;
}

/* The norm of convN is bnN, that of conv is bn. In a sequence of numbered
 * modules it is the next module, except for the last convolution of the stem,
 * conv1.6, which has bn1. */
void vt_batchnorm_name(char *out, size_t size, const char *conv, int part)
{
    const char *dot = strrchr(conv, '.'); /* of .weight or .bias */
    int n = dot ? (int)(dot - conv) : 0, number;

    while (n > 0 && conv[n - 1] >= '0' && conv[n - 1] <= '9')
        n--;
    number = atoi(conv + n);
    if (n >= 4 && strncmp(conv + n - 4, "conv.", 5) == 0)
        snprintf(out, size, "%.*sbn.%s", n - 4, conv, parts[part]);
    else if (n >= 4 && strncmp(conv + n - 4, "conv", 4) == 0)
        snprintf(out, size, "%.*sbn%d.%s", n - 4, conv, number, parts[part]);
    else if (n >= 6 && strncmp(conv + n - 6, "conv1.6", 7) == 0)
        snprintf(out, size, "%.*sbn1.%s", n - 6, conv, parts[part]);
    else
        snprintf(out, size, "%.*s%d.%s", n, conv, number + 1, parts[part]);
}

/* Are these valid BatchNorm parameters? */
static vitcl_status check(const vt_model *m, const char *name, int part,
                          const float *x, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            return vt_fail(VITCL_ECORRUPT, "%s: %s is %s at element %llu",
                           m->path, name, isnan(x[i]) ? "NaN" : "infinite",
                           (unsigned long long)i);
        if (part == VAR && x[i] < 0)
            return vt_fail(VITCL_ECORRUPT,
                           "%s: %s is %g at element %llu; a variance is never "
                           "below zero",
                           m->path, name, (double)x[i], (unsigned long long)i);
    }
    return VITCL_OK;
}

/* The four vectors of a norm, n elements each. */
static vitcl_status read_norm(float *out, const vt_model *m, const char *conv,
                              uint64_t n)
{
    char name[VT_NAME];

    for (int k = 0; k < VT_BATCHNORM_PARTS; k++, out += n) {
        const vt_weight *t;

        vt_batchnorm_name(name, sizeof name, conv, k);
        t = vt_weights_get(m->weights, name);
        if (!t || t->count != n)
            return vt_fail(VITCL_ECORRUPT, "%s: %s is missing or misshapen",
                           m->path, name);
        VT_RET(vt_weight_f32(out, m->weights, t));
        VT_RET(check(m, name, k, out, n));
    }
    return VITCL_OK;
}

vitcl_status vt_batchnorm_derive(float *out, const vt_model *m,
                                 const char *conv, uint64_t count)
{
    vitcl_status st = VITCL_OK;
    const size_t length = strlen(conv);
    const bool bias = length > 5 && strcmp(conv + length - 5, ".bias") == 0;
    const vt_weight *t = bias ? NULL : vt_weights_get(m->weights, conv);
    uint64_t n = count, each = 1;
    float *norm = NULL;

    if (!bias) {
        if (!t || t->count != count || t->rank == 0 || t->shape[0] == 0)
            return vt_fail(VITCL_ECORRUPT, "%s: %s is missing or misshapen",
                           m->path, conv);
        n = t->shape[0], each = count / n;
    }
    VT_TRY(vt_new(&norm, n, VT_BATCHNORM_PARTS * sizeof *norm));
    VT_TRY(read_norm(norm, m, conv, n));
    if (t)
        VT_TRY(vt_weight_f32(out, m->weights, t));
    for (uint64_t i = 0; i < n; i++) {
        const double scale =
            norm[GAMMA * n + i] / sqrt((double)norm[VAR * n + i] + eps);

        if (bias)
            out[i] = (float)(norm[BETA * n + i] - norm[MEAN * n + i] * scale);
        for (uint64_t k = 0; !bias && k < each; k++)
            out[i * each + k] = (float)(out[i * each + k] * scale);
    }
done:
    free(norm);
    return st;
}
