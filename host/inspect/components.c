/*
 * components.c - principal components by Lanczos' method.
 *
 * The covariance C of rows that are all there is not formed: a step is a
 * product with x and one with its transpose. Each new direction is made
 * orthogonal to all others, so that the basis V stays sound, and V^T C V is
 * tridiagonal. It is diagonalised by rotations (Jacobi's method). That ends
 * when the residuals of the wanted components are small, or V spans everything
 * that has variance. (Golub and Van Loan, Matrix Computations, chapters 8 and
 * 10.)
 */
#include "inspect/components.h"

#include "base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 512 };              /* steps */
static const double tiny = 1e-14; /* of the trace: nothing */

typedef struct work {
    int rows, width, k, steps;
    double *x;            /* [rows][width], centred; or */
    const double *c;      /* C[width][width] */
    double *v;            /* [steps + 1][width] */
    double *alpha, *beta; /* the tridiagonal matrix; beta[j]: v[j], v[j + 1] */
    double *small, *turn; /* [steps][steps]: it, and its eigenvectors */
    int *order;           /* of them, by falling eigenvalue */
    double total;         /* trace of C */
    int look;             /* the step after which residuals are looked at */
    bool again;           /* did directions run out? */
    bool complete;        /* has the rest no variance? */
} work;

static size_t at(int row, int width, int column)
{
    return (size_t)row * (size_t)width + (size_t)column;
}

static double dot(const double *a, const double *b, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* a += f b */
static void add(double *a, double f, const double *b, int n)
{
    for (int i = 0; i < n; i++)
        a[i] += f * b[i];
}

static double *row_of(const work *w, int i)
{
    return w->x + (size_t)i * (size_t)w->width;
}

static double *basis(const work *w, int j)
{
    return w->v + (size_t)j * (size_t)w->width;
}

static void centre(work *w, const float *x)
{
    for (int c = 0; c < w->width; c++) {
        double mean = 0;

        for (int i = 0; i < w->rows; i++)
            mean += (double)x[(size_t)i * (size_t)w->width + (size_t)c];
        mean /= w->rows;
        for (int i = 0; i < w->rows; i++) {
            double *to = row_of(w, i) + c;

            *to = (double)x[(size_t)i * (size_t)w->width + (size_t)c] - mean;
            w->total += *to * *to;
        }
    }
}

/* out = C in */
static void multiply(double *out, work *w, const double *in)
{
    for (int i = 0; w->c && i < w->width; i++)
        out[i] = dot(w->c + (size_t)i * (size_t)w->width, in, w->width);
    if (w->c)
        return;
    memset(out, 0, (size_t)w->width * sizeof *out);
    for (int i = 0; i < w->rows; i++)
        add(out, dot(row_of(w, i), in, w->width), row_of(w, i), w->width);
}

/* Makes v[j] orthogonal to the ones before and of length 1; returns its length
 * before. Twice, because the first subtraction leaves rounding errors. */
static double straighten(work *w, int j)
{
    double *v = basis(w, j), length;

    for (int again = 0; again < 2; again++)
        for (int i = 0; i < j; i++)
            add(v, -dot(v, basis(w, i), w->width), basis(w, i), w->width);
    length = sqrt(dot(v, v, w->width));
    for (int c = 0; length > 0 && c < w->width; c++)
        v[c] /= length;
    return length;
}

/* A new direction where the old ones lead to no other: any will do. */
static void begin(work *w, int j, unsigned *state)
{
    do
        for (int c = 0; c < w->width; c++) {
            *state = *state * 1664525u + 1013904223u;
            basis(w, j)[c] = (double)(*state >> 8) / (1 << 24) - 0.5;
        }
    while (!(straighten(w, j) > 1e-6));
}

/* One rotation of the symmetric small[n][n] that makes (p, q) zero. */
static void rotate(double *a, double *u, int n, int p, int q)
{
    const double apq = a[p * n + q];
    const double t0 = (a[q * n + q] - a[p * n + p]) / (2 * apq);
    const double t = (t0 >= 0 ? 1 : -1) / (fabs(t0) + sqrt(t0 * t0 + 1));
    const double c = 1 / sqrt(t * t + 1), s = t * c;

    for (int i = 0; i < n; i++) {
        const double x = a[i * n + p], y = a[i * n + q];

        a[i * n + p] = c * x - s * y, a[i * n + q] = s * x + c * y;
    }
    for (int i = 0; i < n; i++) {
        const double x = a[p * n + i], y = a[q * n + i];

        a[p * n + i] = c * x - s * y, a[q * n + i] = s * x + c * y;
    }
    for (int i = 0; i < n; i++) {
        const double x = u[i * n + p], y = u[i * n + q];

        u[i * n + p] = c * x - s * y, u[i * n + q] = s * x + c * y;
    }
}

/* Eigenvalues to small[n][n]'s diagonal, eigenvectors to turn's columns. */
static void diagonalise(work *w, int n)
{
    double *a = w->small, largest = 0;

    memset(a, 0, (size_t)n * (size_t)n * sizeof *a);
    memset(w->turn, 0, (size_t)n * (size_t)n * sizeof *a);
    for (int i = 0; i < n; i++) {
        a[i * n + i] = w->alpha[i], w->turn[i * n + i] = 1;
        largest = fmax(largest, fabs(w->alpha[i]));
        if (i + 1 < n)
            a[i * n + i + 1] = a[(i + 1) * n + i] = w->beta[i];
    }
    for (int sweep = 0; sweep < 60; sweep++) {
        bool done = true;

        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++)
                if (fabs(a[p * n + q]) > 1e-17 * largest)
                    rotate(a, w->turn, n, p, q), done = false;
        if (done)
            break;
    }
    for (int i = 0; i < n; i++) { /* by falling eigenvalue */
        int at = i;

        while (at > 0 && a[w->order[at - 1] * (n + 1)] < a[i * (n + 1)])
            w->order[at] = w->order[at - 1], at--;
        w->order[at] = i;
    }
}

/* Are the first k eigenvectors of n steps those of C? */
static bool settled(work *w, int n)
{
    double largest;

    if (n == w->steps || w->complete) {
        diagonalise(w, n);
        return true;
    }
    if (n < w->look || w->again) /* a value may be there a second time */
        return false;
    w->look += w->look / 2;
    diagonalise(w, n);
    largest = w->small[w->order[0] * (n + 1)];
    for (int i = 0; i < w->k; i++)
        if (fabs(w->beta[n - 1] * w->turn[(n - 1) * n + w->order[i]]) >
            1e-11 * largest)
            return false;
    return true;
}

/* Returns the number of steps. */
static int iterate(work *w)
{
    unsigned state = 1;
    int n = 0;

    begin(w, 0, &state);
    do {
        double *next = basis(w, n + 1);

        multiply(next, w, basis(w, n));
        w->alpha[n] = dot(next, basis(w, n), w->width);
        w->complete = !(sqrt(dot(next, next, w->width)) > tiny * w->total);
        n++;
        if (n < w->width && !w->complete) {
            w->beta[n - 1] = straighten(w, n);
            if (!(w->beta[n - 1] > tiny * w->total)) {
                w->beta[n - 1] = 0;
                w->again = true;
                begin(w, n, &state);
            }
        }
    } while (!settled(w, n));
    return n;
}

static void finish(double *axis, double *score, double *variance, work *w,
                   int n)
{
    for (int i = 0; i < w->k; i++) {
        double *a = axis + (size_t)i * (size_t)w->width, sign = 1, most = 0;
        const bool some =
            i < n && w->small[w->order[i] * (n + 1)] > 1e-12 * w->total;

        memset(a, 0, (size_t)w->width * sizeof *a);
        for (int j = 0; some && j < n; j++)
            add(a, w->turn[j * n + w->order[i]], basis(w, j), w->width);
        for (int c = 0; c < w->width; c++)
            if (fabs(a[c]) > most * (1 + 1e-9))
                most = fabs(a[c]), sign = a[c] < 0 ? -1 : 1;
        for (int c = 0; c < w->width; c++)
            a[c] *= sign;
        for (int r = 0; score && r < w->rows; r++)
            score[(size_t)i * (size_t)w->rows + (size_t)r] =
                dot(row_of(w, r), a, w->width);
        if (variance)
            variance[i] = some ? w->small[w->order[i] * (n + 1)] / w->total : 0;
    }
}

/* Of x, if it is given, else of w->c. */
static vitcl_status compute(double *axis, double *score, double *variance,
                            work *w, const float *x)
{
    vitcl_status st = VITCL_OK;
    size_t d, s;

    if (w->rows < 1 || w->width < 1 || w->k < 1 || w->k > MOST / 2)
        return vt_fail(VITCL_EINVAL, "%d components of %d x %d numbers", w->k,
                       w->rows, w->width);
    w->steps = w->width < MOST ? w->width : MOST;
    w->look = w->k + 20;
    d = (size_t)w->width, s = (size_t)w->steps;
    if (x)
        VT_TRY(VT_NEW(&w->x, (size_t)w->rows * d));
    VT_TRY(VT_NEW(&w->v, (s + 1) * d));
    VT_TRY(VT_NEW(&w->alpha, s));
    VT_TRY(VT_NEW(&w->beta, s));
    VT_TRY(VT_NEW(&w->small, s * s));
    VT_TRY(VT_NEW(&w->turn, s * s));
    VT_TRY(VT_NEW(&w->order, s));
    if (x)
        centre(w, x);
    finish(axis, score, variance, w, iterate(w));
done:
    free(w->x);
    free(w->v);
    free(w->alpha);
    free(w->beta);
    free(w->small);
    free(w->turn);
    free(w->order);
    return st;
}

vitcl_status vt_components(double *axis, double *score, double *variance, int k,
                           const float *x, int rows, int width)
{
    work w = {.rows = rows, .width = width, .k = k};

    return compute(axis, score, variance, &w, x);
}

/* ---- rows that come piece by piece ---- */

struct vt_moments {
    int width;
    uint64_t rows;
    double *from;    /* [width]: the first row, near which sums are small */
    double *sum;     /* [width] of the rows less that one */
    double *product; /* [width][width], the lower half */
    double *row;
};

vitcl_status vt_moments_new(vt_moments **out, int width)
{
    vitcl_status st;
    vt_moments *m = NULL;
    const size_t d = (size_t)width;

    VT_TRY(VT_NEW(&m, 1));
    m->width = width;
    VT_TRY(VT_NEW(&m->from, d));
    VT_TRY(VT_NEW(&m->sum, d));
    VT_TRY(VT_NEW(&m->product, d * d));
    VT_TRY(VT_NEW(&m->row, d));
    *out = m, m = NULL;
done:
    vt_moments_free(m);
    return st;
}

void vt_moments_free(vt_moments *m)
{
    if (!m)
        return;
    free(m->from);
    free(m->sum);
    free(m->product);
    free(m->row);
    free(m);
}

void vt_moments_add(vt_moments *m, const float *x, int rows)
{
    const int d = m->width;

    for (int i = 0; i < rows; i++, x += d) {
        for (int c = 0; m->rows == 0 && c < d; c++)
            m->from[c] = (double)x[c];
        for (int c = 0; c < d; c++) {
            m->row[c] = (double)x[c] - m->from[c];
            m->sum[c] += m->row[c];
        }
        for (int c = 0; c < d; c++)
            add(m->product + (size_t)c * (size_t)d, m->row[c], m->row, c + 1);
        m->rows++;
    }
}

vitcl_status vt_moments_components(double *axis, double *mean, double *variance,
                                   double *spread, int k, const vt_moments *m)
{
    vitcl_status st = VITCL_OK;
    const int d = m->width;
    const double n = (double)m->rows;
    double *full = NULL;
    work w = {.rows = m->rows > 0, .width = d, .k = k};

    VT_TRY(VT_NEW(&full, (size_t)d * (size_t)d));
    for (int a = 0; a < d; a++) {
        mean[a] = m->from[a] + m->sum[a] / n;
        for (int b = 0; b <= a; b++)
            full[at(a, d, b)] = full[at(b, d, a)] =
                m->product[at(a, d, b)] - m->sum[a] * m->sum[b] / n;
        w.total += fmax(full[at(a, d, a)], 0);
    }
    w.c = full;
    VT_TRY(compute(axis, NULL, variance, &w, NULL));
    for (int i = 0; i < k; i++)
        spread[i] = sqrt(variance[i] * w.total / n);
done:
    free(full);
    return st;
}

void vt_scores(double *score, const double *axis, const double *mean, int k,
               const float *x, int rows, int width)
{
    for (int i = 0; i < k; i++)
        for (int r = 0; r < rows; r++) {
            double sum = 0;

            for (int c = 0; c < width; c++)
                sum += axis[at(i, width, c)] *
                       ((double)x[at(r, width, c)] - mean[c]);
            score[at(i, rows, r)] = sum;
        }
}

vitcl_status vt_cosines(double *out, const float *x, int rows, int width)
{
    vitcl_status st = VITCL_OK;
    double *unit = NULL;

    VT_TRY(VT_NEW(&unit, (size_t)rows * (size_t)width));
    for (int i = 0; i < rows; i++) {
        double *to = unit + (size_t)i * (size_t)width, length = 0;

        for (int c = 0; c < width; c++) {
            to[c] = (double)x[(size_t)i * (size_t)width + (size_t)c];
            length += to[c] * to[c];
        }
        for (int c = 0; length > 0 && c < width; c++)
            to[c] /= sqrt(length);
    }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++)
            out[(size_t)i * (size_t)rows + (size_t)j] =
                dot(unit + (size_t)i * (size_t)width,
                    unit + (size_t)j * (size_t)width, width);
done:
    free(unit);
    return st;
}
