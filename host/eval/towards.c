/*
 * towards.c - pictures are of the class towards whose vector their features
 * point.
 */
#include "base/memory.h"
#include "eval/evaluate.h"

#include <math.h>

typedef struct turning {
    const vt_vectors_runner *r;
    const vt_pass *asked;
    float *cosines; /* [classes] */
} turning;

static double dot(const float *a, const float *b, size_t n)
{
    double sum[4] = {0};
    size_t i = 0;

    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++)
            sum[k] += (double)a[i + k] * (double)b[i + k];
    for (; i < n; i++)
        sum[0] += (double)a[i] * (double)b[i];
    return sum[0] + sum[1] + sum[2] + sum[3];
}

static void take(void *context, size_t position, const float *features)
{
    const turning *t = context;
    const vt_vectors_runner *r = t->r;
    double length;

    if (!features) {
        t->asked->take(t->asked->context, position, NULL);
        return;
    }
    length = sqrt(dot(features, features, r->width));
    for (uint32_t i = 0; i < r->classes; i++)
        t->cosines[i] =
            length > 0
                ? (float)(dot(features, r->vectors + i * r->width, r->width) /
                          length)
                : 0;
    t->asked->take(t->asked->context, position, t->cosines);
}

vitcl_status vt_run_vectors(void *runner, const vt_pass *pass)
{
    vitcl_status st = VITCL_OK;
    const vt_vectors_runner *r = runner;
    turning t = {.r = r, .asked = pass};
    vt_pass features = *pass;

    VT_TRY(VT_NEW(&t.cosines, r->classes));
    features.tensor = "features";
    features.width = r->width;
    features.take = take;
    features.context = &t;
    VT_TRY(r->of.run(r->of.context, &features));
done:
    free(t.cosines);
    return st;
}
