/*
 * resize.c - Pillow's Image.resize and torchvision's resize of 8-bit tensors,
 * bit for bit.
 *
 * Two passes, each with fixed-point weights and a result clipped to 8 bits.
 * Pillow's weights have 22 bits after the point (src/libImaging/Resample.c);
 * PyTorch's have as many as the largest weight of the axis leaves in 16 bits
 * (ATen/native/cpu/UpSampleKernel.cpp, with antialiasing). Pillow's nearest is
 * ImagingScaleAffine (Geometry.c), which accumulates the step instead of
 * multiplying: the last bit of a double can decide which pixel is read.
 *
 * Both passes use the same loop, a weighted sum of lines of bytes, which
 * compilers vectorise. The horizontal pass works on blocks of 16 picture rows
 * that are transposed first, so that 16 pixels of one column are adjacent.
 */
#include "image/decoders.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { BITS_MOST = 32 - 8 - 2, ROWS = 16, EACH = 4, CHUNK = 48 };

/* Baseline x86-64 has no fast 32-bit multiplication. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) &&          \
    !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&                   \
    !defined(__SANITIZE_THREAD__)
#define BEST_TARGET __attribute__((target_clones("avx2", "default")))
#else
#define BEST_TARGET
#endif

/* ---- weights ------------------------------------------------------------ */

const char *vt_filter_name(vt_filter filter)
{
    static const char *const names[] = {"nearest", "lanczos", "bilinear",
                                        "bicubic", "box",     "hamming"};

    return names[filter];
}

static double sinc(double x)
{
    const double pi = 3.14159265358979323846;

    return x == 0.0 ? 1.0 : sin(x * pi) / (x * pi);
}

static double weight(vt_filter filter, double x)
{
    const double pi = 3.14159265358979323846, a = -0.5;

    if (filter == VT_BOX)
        return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
    if (filter == VT_LANCZOS)
        return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0;
    x = fabs(x);
    switch (filter) {
    case VT_BILINEAR:
        return x < 1.0 ? 1.0 - x : 0.0;
    case VT_HAMMING:
        if (x == 0.0)
            return 1.0;
        if (x >= 1.0)
            return 0.0;
        x = x * pi;
        return sin(x) / x * ((double)0.54f + (double)0.46f * cos(x));
    default:
        if (x < 1.0)
            return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
        return x < 2.0 ? (((x - 5) * x + 8) * x - 4) * a : 0.0;
    }
}

static double reach(vt_filter filter)
{
    switch (filter) {
    case VT_BOX:
        return 0.5;
    case VT_BICUBIC:
        return 2.0;
    case VT_LANCZOS:
        return 3.0;
    default:
        return 1.0;
    }
}

/* For each output: its first input, the number of inputs, their weights. */
typedef struct kernels {
    uint32_t *first, *count;
    int32_t *k;
    size_t step; /* weights reserved per output */
    int bits;    /* of the weights, after the point */
} kernels;

static void kernels_free(kernels *s)
{
    free(s->first);
    free(s->count);
    free(s->k);
}

size_t vt_resize_room(const vt_resize_axis *a)
{
    const double scale = (double)a->in / a->out;

    return (size_t)ceil(reach(a->filter) * VT_MAX(scale, 1.0)) * 2 + 1;
}

uint32_t vt_resize_weights(double *w, uint32_t *first, const vt_resize_axis *a,
                           uint32_t i, size_t room)
{
    const double scale = (double)a->in / a->out;
    const double wide = scale < 1.0 ? 1.0 : scale, narrow = 1.0 / wide;
    const double support = reach(a->filter) * wide;
    const double centre = (i + 0.5) * scale;
    const double low = centre - support + 0.5, high = centre + support + 0.5;
    const uint32_t begin = low < 0 ? 0 : (uint32_t)low;
    const uint32_t end = high > a->in ? a->in : (uint32_t)high;
    const uint32_t n = (uint32_t)VT_MIN((size_t)(end - begin), room);
    double sum = 0.0;

    for (uint32_t x = 0; x < n; x++)
        sum += w[x] = weight(a->filter, (x + begin - centre + 0.5) * narrow);
    for (uint32_t x = 0; x < n && sum != 0.0; x++)
        w[x] /= sum;
    *first = begin;
    return n;
}

/* PyTorch's bits after the point: the largest weight of the whole axis then
 * fits 16 bits. w: room for the weights of one output. */
static int bits_of(double *w, const vt_resize_axis *a, size_t room)
{
    double largest = 0.0;
    uint32_t first;
    int bits = 0;

    for (uint32_t i = 0; i < a->out && largest < 1.0; i++) {
        const uint32_t n = vt_resize_weights(w, &first, a, i, room);

        for (uint32_t x = 0; x < n; x++)
            largest = VT_MAX(largest, w[x]);
    }
    while (bits < BITS_MOST &&
           0.5 + largest * (double)(1 << (bits + 1)) < (double)(1 << 15))
        bits++;
    return bits;
}

/* Outputs `begin` to begin + n. */
static vitcl_status kernels_make(kernels *s, const vt_resize_axis *a,
                                 uint32_t begin, uint32_t n)
{
    vitcl_status st = VITCL_OK;
    double *w = NULL;
    size_t total;

    s->step = vt_resize_room(a);
    if (!vt_mul(&total, s->step, n))
        return vt_fail(VITCL_ENOMEM, "out of memory to resize a picture");
    VT_TRY(VT_NEW(&s->first, n));
    VT_TRY(VT_NEW(&s->count, n));
    VT_TRY(VT_NEW(&s->k, total));
    VT_TRY(VT_NEW(&w, s->step));
    s->bits =
        a->pixels == VT_PIXELS_TORCHVISION ? bits_of(w, a, s->step) : BITS_MOST;
    for (uint32_t i = 0; i < n; i++) {
        int32_t *k = s->k + i * s->step;

        s->count[i] = vt_resize_weights(w, &s->first[i], a, begin + i, s->step);
        for (uint32_t x = 0; x < s->count[i]; x++) {
            const double v = w[x] * (1 << s->bits);

            k[x] = (int32_t)(v < 0 ? v - 0.5 : v + 0.5);
        }
    }
done:
    free(w);
    return st;
}

/* ---- passes ------------------------------------------------------------- */

static inline uint8_t clip(int32_t v, int bits)
{
    v >>= bits;
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* out[i] = sum over t of k[t] * lines[t * stride + i] for n bytes; k has `bits`
 * after the point. */
BEST_TARGET
static void blend(uint8_t *restrict out, const uint8_t *restrict lines,
                  size_t stride, const int32_t *restrict k, uint32_t taps,
                  int bits, size_t n)
{
    for (; n >= CHUNK; lines += CHUNK, out += CHUNK) {
        int32_t sum[CHUNK];

        for (int i = 0; i < CHUNK; i++)
            sum[i] = 1 << (bits - 1);
        for (uint32_t t = 0; t < taps; t++) {
            const uint8_t *line = lines + t * stride;
            const int32_t w = k[t];

            for (int i = 0; i < CHUNK; i++)
                sum[i] += w * line[i];
        }
        for (int i = 0; i < CHUNK; i++)
            out[i] = clip(sum[i], bits);
        n -= CHUNK;
    }
    for (size_t i = 0; i < n; i++) {
        int32_t sum = 1 << (bits - 1);

        for (uint32_t t = 0; t < taps; t++)
            sum += k[t] * lines[t * stride + i];
        out[i] = clip(sum, bits);
    }
}

/* Pixels of `each` bytes. */
typedef struct bytes {
    uint32_t width, height;
    size_t each;
    uint8_t *p;
} bytes;

static size_t row_bytes(const bytes *b)
{
    return b->width * b->each;
}

/* Resizes rows y and on of `in`. */
static vitcl_status across(const bytes *out, const bytes *in, uint32_t y,
                           const kernels *s)
{
    const size_t each = in->each, lane = ROWS * each;
    const uint32_t w = out->width, left = s->first[0];
    const uint32_t right = s->first[w - 1] + s->count[w - 1];
    uint8_t *columns = NULL;
    vitcl_status st;

    st = vt_new(&columns, right - left, lane);
    if (st != VITCL_OK)
        return st;
    for (uint32_t r = 0; r < out->height; r += ROWS) {
        const uint32_t rows = VT_MIN(out->height - r, (uint32_t)ROWS);

        for (uint32_t j = 0; j < rows; j++) {
            const uint8_t *p =
                in->p + (y + r + j) * row_bytes(in) + left * each;
            uint8_t *q = columns + j;

            for (size_t x = 0; x < (right - left) * each; x++)
                q[x * ROWS] = p[x];
        }
        for (uint32_t x = 0; x < w; x++) {
            uint8_t pixel[EACH * ROWS];
            uint8_t *q = out->p + r * row_bytes(out) + x * each;

            blend(pixel, columns + (s->first[x] - left) * lane, lane,
                  s->k + x * s->step, s->count[x], s->bits, lane);
            for (uint32_t j = 0; j < rows; j++, q += row_bytes(out))
                for (size_t c = 0; c < each; c++)
                    q[c] = pixel[c * ROWS + j];
        }
    }
    free(columns);
    return VITCL_OK;
}

/* The input of outputs `begin` to begin + n. PyTorch's "nearest-exact" computes
 * it as float; compilers make one instruction of its multiplication and
 * subtraction. */
static void nearest_table(uint32_t *table, const vt_resize_axis *a,
                          uint32_t begin, uint32_t n)
{
    const double step = (double)a->in / a->out;
    const float single = (float)a->in / (float)a->out;
    double at = step * 0.5;

    for (uint32_t i = 0; i < begin + n; i++, at += step) {
        if (a->pixels == VT_PIXELS_TORCHVISION)
            at = floorf(fmaf(single, (float)i + 0.5f, -0.5f) + 0.5f);
        if (i >= begin)
            table[i - begin] = at < a->in ? (uint32_t)at : a->in - 1;
    }
}

static vitcl_status nearest(const bytes *out, const bytes *in,
                            const vt_resize_axis *across,
                            const vt_resize_axis *down, uint32_t x0,
                            uint32_t y0)
{
    vitcl_status st = VITCL_OK;
    uint32_t *columns = NULL, *rows = NULL;
    const size_t each = in->each;

    VT_TRY(VT_NEW(&columns, out->width));
    VT_TRY(VT_NEW(&rows, out->height));
    nearest_table(columns, across, x0, out->width);
    nearest_table(rows, down, y0, out->height);
    for (uint32_t y = 0; y < out->height; y++) {
        const uint8_t *p = in->p + rows[y] * row_bytes(in);
        uint8_t *q = out->p + y * row_bytes(out);

        for (uint32_t x = 0; x < out->width; x++)
            memcpy(q + x * each, p + columns[x] * each, each);
    }
done:
    free(columns);
    free(rows);
    return st;
}

static void copy_rows(const bytes *out, const bytes *in, uint32_t x0,
                      uint32_t y0)
{
    for (uint32_t y = 0; y < out->height; y++)
        memcpy(out->p + y * row_bytes(out),
               in->p + (y0 + y) * row_bytes(in) + x0 * in->each,
               row_bytes(out));
}

/* Computes rows of `out` from lines of `in`, starting at column x. */
static void down(const bytes *out, const bytes *in, const kernels *s,
                 uint32_t x)
{
    const size_t n = row_bytes(out);

    for (uint32_t y = 0; y < out->height; y++)
        blend(out->p + y * n,
              in->p + s->first[y] * row_bytes(in) + x * in->each, row_bytes(in),
              s->k + y * s->step, s->count[y], s->bits, n);
}

static vitcl_status bytes_new(bytes *b)
{
    vitcl_status st = vt_picture_check(b->width, b->height, "resized");

    if (st == VITCL_OK && !(b->p = malloc(b->height * row_bytes(b))))
        st = vt_fail(VITCL_ENOMEM, "resized: out of memory for %ux%u pixels",
                     b->width, b->height);
    return st;
}

/* The range of the picture that the kernels read: begin and length. Their
 * `first` is relative to begin afterwards. */
static uint32_t rebase(kernels *s, uint32_t n, uint32_t *begin)
{
    const uint32_t end = s->first[n - 1] + s->count[n - 1];

    *begin = s->first[0];
    for (uint32_t i = 0; i < n; i++)
        s->first[i] -= *begin;
    return end - *begin;
}

/* Horizontal first, unless the height shrinks by more than twice as many pixels
 * as the width. Pillow does so since 13.0, and the order changes bits (older
 * versions, and PyTorch, always go horizontally first). */
bool vt_across_first(const vt_resize_axis *ax, const vt_resize_axis *ay)
{
    const int64_t less_high = (int64_t)ay->in - ay->out;
    const int64_t less_wide = (int64_t)ax->in - ax->out;

    return ax->pixels == VT_PIXELS_TORCHVISION ||
           !(less_high > 0 && less_high > less_wide * 2);
}

/* A pass that would not change the size is skipped, as in Pillow, PyTorch. */
static vitcl_status two_passes(const bytes *out, const bytes *in,
                               const vt_resize_axis *ax,
                               const vt_resize_axis *ay, uint32_t x0,
                               uint32_t y0)
{
    const uint32_t w = out->width, h = out->height;
    const bool wide = ax->out != ax->in, high = ay->out != ay->in;
    vitcl_status st = VITCL_OK;
    kernels kx = {0}, ky = {0};
    bytes middle = {.each = in->each};
    uint32_t begin;

    if (wide)
        VT_TRY(kernels_make(&kx, ax, x0, w));
    if (high)
        VT_TRY(kernels_make(&ky, ay, y0, h));
    if (!wide) {
        down(out, in, &ky, x0);
    } else if (!high) {
        VT_TRY(across(out, in, y0, &kx));
    } else if (vt_across_first(ax, ay)) {
        middle.width = w, middle.height = rebase(&ky, h, &begin);
        VT_TRY(bytes_new(&middle));
        VT_TRY(across(&middle, in, begin, &kx));
        down(out, &middle, &ky, 0);
    } else {
        middle.width = rebase(&kx, w, &begin), middle.height = h;
        VT_TRY(bytes_new(&middle));
        down(&middle, in, &ky, begin);
        VT_TRY(across(out, &middle, 0, &kx));
    }
done:
    kernels_free(&kx);
    kernels_free(&ky);
    free(middle.p);
    return st;
}

static vitcl_status has_filter(vt_pixels pixels, vt_filter filter)
{
    if (pixels == VT_PIXELS_TORCHVISION &&
        (filter == VT_BOX || filter == VT_HAMMING))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "torchvision does not resize tensors by the filter "
                       "\"%s\"; Pillow does (--pixels pillow)",
                       vt_filter_name(filter));
    return VITCL_OK;
}

vitcl_status vt_preprocess_check(const vt_preprocess *p, const char *name)
{
    if (p->fit != VT_FIT_NONE && has_filter(p->pixels, p->filter) != VITCL_OK)
        return vt_fail_in(VITCL_EUNSUPPORTED, "%s", name);
    return VITCL_OK;
}

vitcl_status vt_resize_bytes(uint8_t *out, const uint8_t *in, size_t each,
                             const vt_resize_axis *ax, const vt_resize_axis *ay,
                             uint32_t x, uint32_t y, uint32_t w, uint32_t h)
{
    const bytes from = {ax->in, ay->in, each, (uint8_t *)(uintptr_t)in};
    const bytes to = {w, h, each, out};

    if (ax->out == ax->in && ay->out == ay->in) {
        copy_rows(&to, &from, x, y);
        return VITCL_OK;
    }
    return (ax->filter == VT_NEAREST ? nearest : two_passes)(&to, &from, ax, ay,
                                                             x, y);
}

vitcl_status vt_resize_part(vt_picture *out, const vt_picture *in,
                            vt_pixels pixels, uint32_t width, uint32_t height,
                            vt_filter filter, uint32_t x, uint32_t y,
                            uint32_t w, uint32_t h)
{
    const vt_resize_axis ax = {pixels, filter, in->width, width};
    const vt_resize_axis ay = {pixels, filter, in->height, height};
    vitcl_status st = VITCL_OK;
    vt_picture p = {0};

    if (w == 0 || h == 0 || x > width || w > width - x || y > height ||
        h > height - y || filter > VT_HAMMING)
        return vt_fail(VITCL_EINVAL, "a picture cannot be resized to %ux%u",
                       width, height);
    VT_TRY(has_filter(pixels, filter));
    VT_TRY(vt_picture_new(&p, w, h, "resized"));
    VT_TRY(vt_resize_bytes(p.rgb, in->rgb, 3, &ax, &ay, x, y, w, h));
    *out = p, p = (vt_picture){0};
done:
    vt_picture_free(&p);
    return st;
}

vitcl_status vt_resize(vt_picture *out, const vt_picture *in, vt_pixels pixels,
                       uint32_t width, uint32_t height, vt_filter filter)
{
    return vt_resize_part(out, in, pixels, width, height, filter, 0, 0, width,
                          height);
}
