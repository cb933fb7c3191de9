/*
 * pos_resize.c - resizing position embeddings and tables.
 *
 * Every resize here is separable: each output row or column is a weighted sum
 * of a few input rows or columns ("taps"), columns first. The rules differ
 * only in the taps:
 *
 *   timm     bicubic, a = -0.5, support increases when shrinking (antialias)
 *   HF       bicubic, a = -0.75, always four taps, half-pixel centres
 *   DINOv2   the same with the scale (n + 0.1) / m instead of n / m
 *   Google   linear between corners: scipy.ndimage.zoom(order=1)
 *   linear   two taps, half-pixel centres, clamped; HF's DPT and BEiT, too
 *   smooth   the same, antialiased: support increases when shrinking
 *   timm's   relative tables: linear between samples whose distance increases
 *            geometrically from the middle, because near offsets are learnt
 *            more finely than far ones
 *
 * Easy to get wrong: torch's antialiased bicubic has a = -0.5 like Pillow,
 * the plain one a = -0.75 like OpenCV.
 */
#include "models/pos_resize.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

typedef struct taps {
    int n;         /* outputs */
    int most;      /* taps per output */
    int *index;    /* [n][most] */
    float *weight; /* [n][most]; 0: unused */
} taps;

static void taps_free(taps *t)
{
    free(t->index);
    free(t->weight);
}

static vitcl_status taps_new(taps *t, int n, int most)
{
    t->n = n;
    t->most = most;
    VT_RET(VT_NEW(&t->index, (size_t)n * (size_t)most));
    return VT_NEW(&t->weight, (size_t)n * (size_t)most);
}

/* Keys' cubic convolution kernel. */
static double cubic(double x, double a)
{
    x = fabs(x);
    if (x < 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    if (x < 2)
        return (((x - 5) * x + 8) * x - 4) * a;
    return 0;
}

/* The weight of a distance x, before it is divided by the sum. */
static double antialiasing(double x, bool bilinear)
{
    return bilinear ? fmax(1 - fabs(x), 0) : cubic(x, -0.5);
}

static int clamp(int i, int n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static vitcl_status taps_antialiased(taps *t, int in, int out, bool bilinear)
{
    const double scale = (double)in / out, wide = scale > 1 ? scale : 1;
    const double support = (bilinear ? 1 : 2) * wide;

    VT_RET(taps_new(t, out, 2 * (int)ceil(support) + 1));
    for (int i = 0; i < out; i++) {
        const double centre = scale * (i + 0.5);
        const int first = VT_MAX((int)(centre - support + 0.5), 0);
        const int n = VT_MIN((int)(centre + support + 0.5), in) - first;
        int *index = t->index + (size_t)i * (size_t)t->most;
        float *weight = t->weight + (size_t)i * (size_t)t->most;
        double sum = 0;
        for (int k = 0; k < n && k < t->most; k++)
            sum += antialiasing((k + first - centre + 0.5) / wide, bilinear);
        for (int k = 0; k < n && k < t->most; k++) {
            index[k] = first + k;
            weight[k] = (float)(antialiasing((k + first - centre + 0.5) / wide,
                                             bilinear) /
                                sum);
        }
    }
    return VITCL_OK;
}

static vitcl_status taps_bicubic(taps *t, int in, int out, double scale)
{
    VT_RET(taps_new(t, out, 4));
    for (int i = 0; i < out; i++) {
        const double x = scale * (i + 0.5) - 0.5;
        const int base = (int)floor(x);
        for (int k = 0; k < 4; k++) {
            t->index[4 * i + k] = clamp(base - 1 + k, in);
            t->weight[4 * i + k] = (float)cubic(x - (base - 1 + k), -0.75);
        }
    }
    return VITCL_OK;
}

static vitcl_status taps_linear(taps *t, int in, int out, bool corners)
{
    VT_RET(taps_new(t, out, 2));
    for (int i = 0; i < out; i++) {
        double x = ((double)in / out) * (i + 0.5) - 0.5;
        if (corners)
            x = out > 1 ? (double)i * (in - 1) / (out - 1) : 0;
        x = VT_MAX(x, 0);
        const int base = clamp((int)floor(x), in);
        t->index[2 * i] = base;
        t->index[2 * i + 1] = clamp(base + 1, in);
        t->weight[2 * i] = (float)(1 - (x - base));
        t->weight[2 * i + 1] = (float)(x - base);
    }
    return VITCL_OK;
}

/* The positions of the n = 2h-1 samples of an axis on the new axis: 0 in the
 * middle, then steps 1, q, q^2, ... with q such that the last is at the end of
 * the new axis (bisection, as in timm). pos[n] */
static void geometric_positions(double *pos, int n, int out)
{
    const int half = n / 2;
    double left = 1.01, right = 1.5, q = left, at = 1;

    while (right - left > 1e-6) {
        q = (left + right) / 2;
        if ((1 - pow(q, half)) / (1 - q) > out / 2)
            right = q;
        else
            left = q;
    }
    pos[half] = 0;
    for (int i = 0; i < half; i++) {
        pos[half + 1 + i] = at;
        pos[half - 1 - i] = -at;
        at += pow(q, i + 1);
    }
}

static vitcl_status taps_geometric(taps *t, int in, int out)
{
    vitcl_status st = VITCL_OK;
    double *pos = NULL;

    VT_TRY(VT_NEW(&pos, (size_t)in));
    geometric_positions(pos, in, out);
    VT_TRY(taps_new(t, out, 2));
    for (int i = 0; i < out; i++) {
        const double x = i - out / 2;
        int right = 0, left;
        double from_left, to_right;
        while (right < in && pos[right] < x)
            right++;
        right = VT_MIN(right, in - 1);
        left = VT_MAX(right - 1, 0);
        from_left = VT_MAX(x - pos[left], 0);
        to_right = VT_MAX(pos[right] - x, 0);
        if (from_left <= 0 && to_right <= 0)
            from_left = to_right = 1;
        t->index[2 * i] = left;
        t->index[2 * i + 1] = right;
        t->weight[2 * i] = (float)(to_right / (from_left + to_right));
        t->weight[2 * i + 1] = (float)(from_left / (from_left + to_right));
    }
done:
    free(pos);
    return st;
}

/* in[h, w, channels] -> out[rows.n, columns.n, channels] */
static vitcl_status apply(float *out, const float *in, int h, int w,
                          const taps *rows, const taps *columns, int channels)
{
    vitcl_status st = VITCL_OK;
    const size_t c = (size_t)channels, line = (size_t)columns->n * c;
    float *wide = NULL;

    VT_TRY(VT_NEW(&wide, (size_t)h * line));
    for (int y = 0; y < h; y++)
        for (int x = 0; x < columns->n; x++)
            for (int k = 0; k < columns->most; k++) {
                const int tap = x * columns->most + k;
                const float *from =
                    in +
                    ((size_t)y * (size_t)w + (size_t)columns->index[tap]) * c;
                float *to = wide + (size_t)y * line + (size_t)x * c;
                for (size_t i = 0; i < c; i++)
                    to[i] += columns->weight[tap] * from[i];
            }
    memset(out, 0, (size_t)rows->n * line * sizeof *out);
    for (int y = 0; y < rows->n; y++)
        for (int k = 0; k < rows->most; k++) {
            const int tap = y * rows->most + k;
            const float *from = wide + (size_t)rows->index[tap] * line;
            float *to = out + (size_t)y * line;
            for (size_t i = 0; i < line; i++)
                to[i] += rows->weight[tap] * from[i];
        }
done:
    free(wide);
    return st;
}

static vitcl_status taps_for(taps *t, int in, int out, vt_pos_rule rule)
{
    switch (rule) {
    case VT_POS_TIMM:
        return taps_antialiased(t, in, out, false);
    case VT_POS_SMOOTH:
        return taps_antialiased(t, in, out, true);
    case VT_POS_OFFSET:
        return taps_bicubic(t, in, out, in / (out + 0.1));
    case VT_POS_GOOGLE:
        return taps_linear(t, in, out, true);
    case VT_POS_LINEAR:
        return taps_linear(t, in, out, false);
    case VT_POS_HF:
        break;
    }
    return taps_bicubic(t, in, out, (double)in / out);
}

vitcl_status vt_pos_resize(float *out, const float *in, int h, int w, int to_h,
                           int to_w, int channels, vt_pos_rule rule,
                           bool square)
{
    vitcl_status st = VITCL_OK;
    taps rows = {0}, columns = {0};
    const int longer = VT_MAX(to_h, to_w);

    VT_TRY(taps_for(&rows, h, square ? longer : to_h, rule));
    VT_TRY(taps_for(&columns, w, square ? longer : to_w, rule));
    rows.n = to_h, columns.n = to_w;
    VT_TRY(apply(out, in, h, w, &rows, &columns, channels));
done:
    taps_free(&rows);
    taps_free(&columns);
    return st;
}

vitcl_status vt_table_resize(float *out, const float *in, int h, int w,
                             int to_h, int to_w, int extra, int heads,
                             bool geometric)
{
    vitcl_status st = VITCL_OK;
    taps rows = {0}, columns = {0};
    const int H = 2 * h - 1, W = 2 * w - 1, oH = 2 * to_h - 1,
              oW = 2 * to_w - 1;
    const size_t from = (size_t)H * (size_t)W * (size_t)heads;
    const size_t to = (size_t)oH * (size_t)oW * (size_t)heads;

    if (geometric) {
        VT_TRY(taps_geometric(&rows, H, oH));
        VT_TRY(taps_geometric(&columns, W, oW));
    } else {
        VT_TRY(taps_linear(&rows, H, oH, false));
        VT_TRY(taps_linear(&columns, W, oW, false));
    }
    VT_TRY(apply(out, in, H, W, &rows, &columns, heads));
    memcpy(out + to, in + from, (size_t)extra * (size_t)heads * sizeof *out);
done:
    taps_free(&rows);
    taps_free(&columns);
    return st;
}

/* Offset (dy, dx) has row (dy + h-1) * (2w-1) + dx + w-1; dy is the query's y
 * minus the key's. The last three rows: class to patch, patch to class, class
 * to itself. */
void vt_table_index(int *index, int h, int w, int extra)
{
    const int first = extra / 3, n = h * w, T = n + first;
    const int rows = (2 * h - 1) * (2 * w - 1);

    for (int q = 0; q < n; q++)
        for (int k = 0; k < n; k++)
            index[(q + first) * T + k + first] =
                (q / w - k / w + h - 1) * (2 * w - 1) + q % w - k % w + w - 1;
    if (!first)
        return;
    for (int i = 1; i < T; i++) {
        index[i] = rows;
        index[i * T] = rows + 1;
    }
    index[0] = rows + 2;
}
