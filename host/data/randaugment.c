/*
 * randaugment.c - RandAugment's operations (arXiv 1909.13719) with Pillow's
 * arithmetic: 8 bits, truncated where Pillow truncates.
 */
#include "base/memory.h"
#include "base/number.h"
#include "data/augment.h"

#include <math.h>
#include <string.h>

static uint8_t clip(double v)
{
    return v <= 0 ? 0 : v >= 255 ? 255 : (uint8_t)v;
}

/* Pillow's L: (299 R + 587 G + 114 B) / 1000 in 16-bit fixed point. */
static uint8_t grey(const uint8_t *p)
{
    return (uint8_t)((p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 0x8000) >>
                     16);
}

/* Image.blend(a, b, f) in float, as Pillow does it. */
static uint8_t blend(double a, double b, double f)
{
    return clip((float)a + (float)f * ((float)b - (float)a));
}

void vt_enhance(vt_picture *p, vt_augment_op op, double factor)
{
    size_t n = (size_t)p->width * p->height;
    double mean = 0;

    if (op == VT_CONTRAST) {
        for (size_t i = 0; i < n; i++)
            mean += grey(p->rgb + 3 * i);
        mean = floor(mean / (double)n + 0.5);
    }
    for (size_t i = 0; i < n; i++) {
        uint8_t *v = p->rgb + 3 * i;
        double base = op == VT_COLOR ? grey(v) : mean;

        for (int c = 0; c < 3; c++)
            v[c] = blend(base, v[c], factor);
    }
}

static void map(vt_picture *p, const uint8_t *table, size_t channel)
{
    size_t n = (size_t)p->width * p->height;

    for (size_t i = 0; i < n; i++)
        p->rgb[3 * i + channel] = table[p->rgb[3 * i + channel]];
}

static void histogram(size_t h[256], const vt_picture *p, size_t channel)
{
    size_t n = (size_t)p->width * p->height;

    memset(h, 0, 256 * sizeof *h);
    for (size_t i = 0; i < n; i++)
        h[p->rgb[3 * i + channel]]++;
}

static void autocontrast(vt_picture *p)
{
    for (size_t c = 0; c < 3; c++) {
        size_t h[256];
        uint8_t table[256];
        int low = 0, high = 255;

        histogram(h, p, c);
        while (low < 255 && !h[low])
            low++;
        while (high > 0 && !h[high])
            high--;
        if (high <= low)
            continue;
        double scale = 255.0 / (high - low), offset = -low * scale;
        for (int i = 0; i < 256; i++)
            table[i] = clip(trunc(i * scale + offset));
        map(p, table, c);
    }
}

static void equalize(vt_picture *p)
{
    for (size_t c = 0; c < 3; c++) {
        size_t h[256], sum = 0, step, used = 0, last = 0, at;
        uint8_t table[256];

        histogram(h, p, c);
        for (size_t i = 0; i < 256; i++)
            if (h[i])
                used++, last = h[i], sum += h[i];
        step = (sum - last) / 255;
        if (used <= 1 || step == 0)
            continue;
        at = step / 2;
        for (size_t i = 0; i < 256; i++) {
            table[i] = (uint8_t)VT_MIN(at / step, (size_t)255);
            at += h[i];
        }
        map(p, table, c);
    }
}

static void solarize(vt_picture *p, int threshold)
{
    uint8_t table[256];

    for (int i = 0; i < 256; i++)
        table[i] = (uint8_t)(i < threshold ? i : 255 - i);
    for (size_t c = 0; c < 3; c++)
        map(p, table, c);
}

static void posterize(vt_picture *p, int bits)
{
    size_t n = (size_t)p->width * p->height * 3;
    uint8_t mask = (uint8_t)(0xff << (8 - bits));

    for (size_t i = 0; i < n; i++)
        p->rgb[i] &= mask;
}

/* Pillow's Sharpness: blend with the SMOOTH filter (1 1 1 / 1 5 1 / 1 1 1 over
 * 13); the border is unchanged. */
static vitcl_status sharpness(vt_picture *p, double factor)
{
    vitcl_status st = VITCL_OK;
    size_t row = (size_t)p->width * 3;
    uint8_t *old = NULL;

    VT_TRY(vt_new(&old, row * p->height, 1));
    memcpy(old, p->rgb, row * p->height);
    for (size_t y = 1; y + 1 < p->height; y++)
        for (size_t x = 3; x + 3 < row; x++) {
            const uint8_t *v = old + y * row + x;
            int s = 4 * v[0];

            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -3; dx <= 3; dx += 3)
                    s += v[dy * (ptrdiff_t)row + dx];
            p->rgb[y * row + x] = blend(clip(s / 13.0 + 0.5), v[0], factor);
        }
done:
    free(old);
    return st;
}

/* out(x, y) = in(a x + b y + c, d x + e y + f), nearest; grey outside. */
static vitcl_status affine(vt_picture *p, const double m[6])
{
    uint8_t *moved = NULL;
    size_t n = (size_t)p->width * p->height;

    VT_RET(vt_new(&moved, n, 3));
    memset(moved, 128, n * 3);
    for (uint32_t y = 0; y < p->height; y++)
        for (uint32_t x = 0; x < p->width; x++) {
            double u = m[0] * (x + 0.5) + m[1] * (y + 0.5) + m[2];
            double v = m[3] * (x + 0.5) + m[4] * (y + 0.5) + m[5];

            if (u < 0 || v < 0 || u >= p->width || v >= p->height)
                continue;
            memcpy(moved + ((size_t)y * p->width + x) * 3,
                   p->rgb + ((size_t)v * p->width + (size_t)u) * 3, 3);
        }
    free(p->rgb);
    p->rgb = moved;
    return VITCL_OK;
}

static vitcl_status rotate(vt_picture *p, double degrees)
{
    double a = -degrees * 3.141592653589793 / 180, s = sin(a), c = cos(a);
    double cx = p->width / 2.0, cy = p->height / 2.0;
    const double m[6] = {c,  s, cx - c * cx - s * cy,
                         -s, c, cy + s * cx - c * cy};

    return affine(p, m);
}

/* ---- how much ---- */

/* Ranges as in torchvision's RandAugment. */
static const double most_degrees = 30, most_shear = 0.3,
                    most_shift = 150.0 / 331, most_factor = 0.9;

static int solarize_from(double level)
{
    return (int)(256 - 256 * level);
}

static int posterize_to(double level)
{
    return 8 - (int)(4 * level + 0.5);
}

bool vt_augment_signed(vt_augment_op op)
{
    return op != VT_AUTOCONTRAST && op != VT_EQUALIZE && op != VT_SOLARIZE &&
           op != VT_POSTERIZE;
}

void vt_augment_describe(char out[VT_AUGMENT_NAME], vt_augment_op op,
                         double level, int sign)
{
    const double v = level * sign;
    const struct {
        const char *format; /* NULL: nothing more than the name */
        double value;
    } say[VT_AUGMENT_OPS] = {
        [VT_AUTOCONTRAST] = {"autocontrast", 0},
        [VT_EQUALIZE] = {"equalize", 0},
        [VT_ROTATE] = {"rotate %+.3g deg", most_degrees * v},
        [VT_SOLARIZE] = {"solarize from %.0f", solarize_from(level)},
        [VT_COLOR] = {"color %.3g", 1 + most_factor * v},
        [VT_POSTERIZE] = {"posterize %.0f bits", posterize_to(level)},
        [VT_CONTRAST] = {"contrast %.3g", 1 + most_factor * v},
        [VT_BRIGHTNESS] = {"brightness %.3g", 1 + most_factor * v},
        [VT_SHARPNESS] = {"sharpness %.3g", 1 + most_factor * v},
        [VT_SHEAR_X] = {"shear x %+.3g", most_shear * v},
        [VT_SHEAR_Y] = {"shear y %+.3g", most_shear * v},
        [VT_TRANSLATE_X] = {"translate x %+.3g %%", 100 * most_shift * v},
        [VT_TRANSLATE_Y] = {"translate y %+.3g %%", 100 * most_shift * v}};

    vt_snprint(out, VT_AUGMENT_NAME, say[op].format, say[op].value);
}

vitcl_status vt_augment_apply(vt_picture *p, vt_augment_op op, double level,
                              int sign)
{
    double v = level * sign;

    switch (op) {
    case VT_AUTOCONTRAST:
        autocontrast(p);
        return VITCL_OK;
    case VT_EQUALIZE:
        equalize(p);
        return VITCL_OK;
    case VT_SOLARIZE:
        solarize(p, solarize_from(level));
        return VITCL_OK;
    case VT_POSTERIZE:
        posterize(p, posterize_to(level));
        return VITCL_OK;
    case VT_COLOR:
    case VT_CONTRAST:
    case VT_BRIGHTNESS:
        vt_enhance(p, op, 1 + 0.9 * v);
        return VITCL_OK;
    case VT_SHARPNESS:
        return sharpness(p, 1 + 0.9 * v);
    case VT_ROTATE:
        return rotate(p, 30 * v);
    case VT_SHEAR_X:
        return affine(p, (double[]){1, 0.3 * v, 0, 0, 1, 0});
    case VT_SHEAR_Y:
        return affine(p, (double[]){1, 0, 0, 0.3 * v, 1, 0});
    case VT_TRANSLATE_X:
        return affine(p, (double[]){1, 0, v * p->width * 150 / 331, 0, 1, 0});
    case VT_TRANSLATE_Y:
        return affine(p, (double[]){1, 0, 0, 0, 1, v * p->height * 150 / 331});
    case VT_AUGMENT_OPS:
        break;
    }
    return vt_fail(VITCL_EINVAL, "unknown augmentation operation");
}
