/*
 * attention.c - attention rollout, attention distance.
 */
#include "inspect/attention.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void vt_attention_of_lines(float *out, const float *lines, int heads, int rows,
                           int columns, bool by_column)
{
    const size_t t = (size_t)rows * (size_t)columns,
                 n = (size_t)(by_column ? rows : columns),
                 step = by_column ? (size_t)columns : 1,
                 apart = by_column ? 1 : (size_t)columns;

    memset(out, 0, (size_t)heads * t * t * sizeof *out);
    for (size_t l = 0; l < t / n; l++)
        for (size_t h = 0; h < (size_t)heads; h++)
            for (size_t i = 0; i < n; i++) {
                float *row = out + (h * t + l * apart + i * step) * t;

                for (size_t j = 0; j < n; j++)
                    row[l * apart + j * step] = *lines++;
            }
}

struct vt_rollout {
    vt_rollout_options o;
    int layers, tokens, added;
    float *fused;  /* [layers, T, T] */
    float *sorted; /* [T * T], to find the smallest; or NULL */
    double *next;  /* [T] */
};

vitcl_status vt_rollout_new(vt_rollout **out, int layers, int tokens,
                            const vt_rollout_options *options)
{
    const vt_rollout_options *o = options;
    vitcl_status st = VITCL_OK;
    vt_rollout *r = NULL;
    size_t n = 0;

    if (!(o->residual >= 0 && o->residual < 1) ||
        !(o->discard >= 0 && o->discard < 1))
        return vt_fail(VITCL_EINVAL,
                       "residual %g or discard %g is not in 0 to below 1",
                       o->residual, o->discard);
    if (layers < 1 || tokens < 1 ||
        !vt_mul(&n, (size_t)tokens, (size_t)tokens) ||
        !vt_mul(&n, n, (size_t)layers))
        return vt_fail(VITCL_EINVAL, "a rollout of %d layers and %d tokens",
                       layers, tokens);
    VT_TRY(VT_NEW(&r, 1));
    *r = (vt_rollout){.o = *o, .layers = layers, .tokens = tokens};
    VT_TRY(VT_NEW(&r->fused, n));
    VT_TRY(VT_NEW(&r->next, (size_t)tokens));
    if (o->discard > 0)
        VT_TRY(VT_NEW(&r->sorted, n / (size_t)layers));
    *out = r, r = NULL;
done:
    vt_rollout_free(r);
    return st;
}

void vt_rollout_free(vt_rollout *r)
{
    if (!r)
        return;
    free(r->fused);
    free(r->sorted);
    free(r->next);
    free(r);
}

void vt_rollout_clear(vt_rollout *r)
{
    r->added = 0;
}

static double fuse(vt_fuse how, const float *probs, int heads, size_t each)
{
    double v = (double)probs[0];

    for (int h = 1; h < heads; h++) {
        const double x = (double)probs[(size_t)h * each];

        v = how == VT_FUSE_MEAN  ? v + x
            : how == VT_FUSE_MAX ? fmax(v, x)
                                 : fmin(v, x);
    }
    return how == VT_FUSE_MEAN ? v / heads : v;
}

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/* Sets the smallest numbers to 0, except in column 0. Equal numbers at the
 * limit go together, so that the result does not depend on a sort's order. */
static void discard(vt_rollout *r, float *m)
{
    const size_t t = (size_t)r->tokens, n = t * t,
                 gone = (size_t)((double)n * r->o.discard);
    float limit;

    if (!gone)
        return;
    memcpy(r->sorted, m, n * sizeof *m);
    qsort(r->sorted, n, sizeof *m, by_value);
    limit = r->sorted[gone - 1];
    for (size_t i = 0; i < n; i++)
        if (m[i] <= limit && i % t != 0)
            m[i] = 0;
}

/* A row without any attention (all of it discarded) stays with its token. */
static void mix(const vt_rollout *r, float *row, int at)
{
    double sum = 0;

    for (int i = 0; i < r->tokens; i++)
        sum += (1 - r->o.residual) * (double)row[i];
    sum += r->o.residual;
    for (int i = 0; i < r->tokens; i++) {
        const double own = i == at ? r->o.residual : 0;

        row[i] =
            sum > 0
                ? (float)(((1 - r->o.residual) * (double)row[i] + own) / sum)
                : (i == at ? 1.0f : 0.0f);
    }
}

vitcl_status vt_rollout_add(vt_rollout *r, const float *probs, int heads)
{
    const size_t each = (size_t)r->tokens * (size_t)r->tokens;
    float *m = r->fused + (size_t)r->added * each;

    if (r->added == r->layers || heads < 1)
        return vt_fail(VITCL_EINVAL, "a rollout of %d layers was given another",
                       r->layers);
    for (size_t i = 0; i < each; i++)
        m[i] = (float)fuse(r->o.heads, probs + i, heads, each);
    discard(r, m);
    for (int i = 0; i < r->tokens; i++)
        mix(r, m + (size_t)i * (size_t)r->tokens, i);
    r->added++;
    return VITCL_OK;
}

/* From the last layer to the first, a row times a matrix each: T^2 a layer,
 * where the product of the matrices would take T^3. */
static void follow(double *out, vt_rollout *r)
{
    const size_t t = (size_t)r->tokens;

    for (int l = r->added - 1; l >= 0; l--) {
        const float *m = r->fused + (size_t)l * t * t;

        memset(r->next, 0, t * sizeof *out);
        for (size_t i = 0; i < t; i++)
            for (size_t j = 0; j < t; j++)
                r->next[j] += out[i] * (double)m[i * t + j];
        memcpy(out, r->next, t * sizeof *out);
    }
}

void vt_answer_row(double *out, const vt_patch_grid *g)
{
    const int tokens = g->prefix + g->rows * g->columns;

    for (int i = 0; i < tokens; i++)
        out[i] = i >= g->read_first && i < g->read_first + g->read_count
                     ? 1.0 / g->read_count
                     : 0;
}

void vt_rollout_answer(double *out, vt_rollout *r, const vt_patch_grid *g)
{
    vt_answer_row(out, g);
    follow(out, r);
}

void vt_attention_distance(double *out, const float *probs, int heads,
                           const vt_patch_grid *g)
{
    const int n = g->rows * g->columns, t = g->prefix + n;

    for (int h = 0; h < heads; h++) {
        double total = 0;
        int queries = 0;

        for (int q = 0; q < n; q++) {
            const float *row =
                probs +
                ((size_t)h * (size_t)t + (size_t)(g->prefix + q)) * (size_t)t +
                g->prefix;
            double sum = 0, distance = 0;

            for (int k = 0; k < n; k++) {
                const double dy = (q / g->columns - k / g->columns) *
                                  g->height_px,
                             dx = (q % g->columns - k % g->columns) *
                                  g->width_px;

                sum += (double)row[k];
                distance += (double)row[k] * sqrt(dx * dx + dy * dy);
            }
            if (sum > 0)
                total += distance / sum, queries++;
        }
        out[h] = queries ? total / queries : (double)NAN;
    }
}

void vt_attention_map(double *out, const float *probs, int heads,
                      const vt_patch_grid *g, int query)
{
    const size_t n = (size_t)g->rows * (size_t)g->columns,
                 prefix = (size_t)g->prefix, t = prefix + n;
    const size_t queries = query < 0 ? (size_t)g->read_count : 1,
                 from =
                     query < 0 ? (size_t)g->read_first : prefix + (size_t)query;

    memset(out, 0, (size_t)heads * n * sizeof *out);
    for (size_t h = 0; h < (size_t)heads; h++)
        for (size_t q = 0; q < queries; q++) {
            const float *row = probs + (h * t + from + q) * t + prefix;

            for (size_t i = 0; i < n; i++)
                out[h * n + i] += (double)row[i] / (double)queries;
        }
}

void vt_relevance_step(double *row, double *room, const float *product,
                       int heads, int tokens)
{
    const size_t t = (size_t)tokens;

    memcpy(room, row, t * sizeof *row);
    for (size_t h = 0; h < (size_t)heads; h++)
        for (size_t i = 0; i < t; i++) {
            const float *from = product + (h * t + i) * t;

            for (size_t j = 0; j < t; j++)
                row[j] += room[i] * fmax((double)from[j], 0) / heads;
        }
}
