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

static void solarize_add(vt_picture *p, int add)
{
    uint8_t table[256];

    for (int i = 0; i < 256; i++)
        table[i] = (uint8_t)(i < 128 ? VT_MIN(i + add, 255) : i);
    for (size_t c = 0; c < 3; c++)
        map(p, table, c);
}

/* ---- how much ---- */

int vt_augment_ops(vt_levels levels)
{
    return levels == VT_LEVELS ? VT_AUGMENT_OPS : VT_TIMM_OPS;
}

static bool is_factor(vt_augment_op op)
{
    return op == VT_COLOR || op == VT_CONTRAST || op == VT_BRIGHTNESS ||
           op == VT_SHARPNESS;
}

bool vt_augment_signed(vt_augment_op op, vt_levels levels)
{
    return op == VT_ROTATE || (op >= VT_SHEAR_X && op <= VT_TRANSLATE_Y) ||
           (is_factor(op) && levels != VT_LEVELS_TIMM);
}

double vt_augment_argument(vt_augment_op op, double level, int sign,
                           vt_levels levels)
{
    const bool ours = levels == VT_LEVELS, falls = levels == VT_LEVELS_TIMM;
    const double v = level * sign, from = VT_MIN(256.0, trunc(level * 256));

    if (is_factor(op))
        return falls  ? level * 1.8 + 0.1
               : ours ? 1 + 0.9 * v
                      : VT_MAX(0.1, 1 + 0.9 * v);
    switch (op) {
    case VT_ROTATE:
        return 30 * v;
    case VT_SOLARIZE:
        return ours ? trunc(256 - 256 * level) : falls ? from : 256 - from;
    case VT_SOLARIZE_ADD:
        return VT_MIN(128.0, trunc(level * 110));
    case VT_POSTERIZE:
        return ours    ? 8 - trunc(4 * level + 0.5)
               : falls ? trunc(4 * level)
                       : 4 - trunc(4 * level);
    case VT_SHEAR_X:
    case VT_SHEAR_Y:
        return 0.3 * v;
    case VT_TRANSLATE_X:
    case VT_TRANSLATE_Y:
        return (ours ? 150.0 / 331 : 0.45) * v;
    default:
        return 0;
    }
}

void vt_augment_describe(char out[VT_AUGMENT_NAME], vt_augment_op op,
                         double level, int sign, vt_levels levels)
{
    static const struct {
        const char *format; /* that may have nothing more than the name */
        double times;
    } say[VT_TIMM_OPS] = {[VT_AUTOCONTRAST] = {"autocontrast", 1},
                          [VT_EQUALIZE] = {"equalize", 1},
                          [VT_ROTATE] = {"rotate %+.3g deg", 1},
                          [VT_SOLARIZE] = {"solarize from %.0f", 1},
                          [VT_COLOR] = {"color %.3g", 1},
                          [VT_POSTERIZE] = {"posterize %.0f bits", 1},
                          [VT_CONTRAST] = {"contrast %.3g", 1},
                          [VT_BRIGHTNESS] = {"brightness %.3g", 1},
                          [VT_SHARPNESS] = {"sharpness %.3g", 1},
                          [VT_SHEAR_X] = {"shear x %+.3g", 1},
                          [VT_SHEAR_Y] = {"shear y %+.3g", 1},
                          [VT_TRANSLATE_X] = {"translate x %+.3g %%", 100},
                          [VT_TRANSLATE_Y] = {"translate y %+.3g %%", 100},
                          [VT_INVERT] = {"invert", 1},
                          [VT_SOLARIZE_ADD] = {"solarize, add %.0f", 1}};

    vt_snprint(out, VT_AUGMENT_NAME, say[op].format,
               say[op].times * vt_augment_argument(op, level, sign, levels));
}

vitcl_status vt_augment_apply(vt_picture *p, vt_augment_op op, double level,
                              int sign, vt_levels levels)
{
    const double v = vt_augment_argument(op, level, sign, levels);

    switch (op) {
    case VT_AUTOCONTRAST:
        autocontrast(p);
        return VITCL_OK;
    case VT_EQUALIZE:
        equalize(p);
        return VITCL_OK;
    case VT_INVERT:
        solarize(p, 0);
        return VITCL_OK;
    case VT_SOLARIZE:
        solarize(p, (int)v);
        return VITCL_OK;
    case VT_SOLARIZE_ADD:
        solarize_add(p, (int)v);
        return VITCL_OK;
    case VT_POSTERIZE:
        posterize(p, (int)v);
        return VITCL_OK;
    case VT_COLOR:
    case VT_CONTRAST:
    case VT_BRIGHTNESS:
        vt_enhance(p, op, v);
        return VITCL_OK;
    case VT_SHARPNESS:
        return sharpness(p, v);
    case VT_ROTATE:
        return rotate(p, v);
    case VT_SHEAR_X:
        return affine(p, (double[]){1, v, 0, 0, 1, 0});
    case VT_SHEAR_Y:
        return affine(p, (double[]){1, 0, 0, v, 1, 0});
    case VT_TRANSLATE_X:
        return affine(p, (double[]){1, 0, v * p->width, 0, 1, 0});
    case VT_TRANSLATE_Y:
        return affine(p, (double[]){1, 0, 0, 0, 1, v * p->height});
    case VT_TIMM_OPS:
        break;
    }
    return vt_fail(VITCL_EINVAL, "unknown augmentation operation");
}

/* ---- timm's strings ---- */

/* Digits and, unless it is whole, a point between them. */
static bool number(double *out, const char *s, size_t n, double most,
                   bool whole)
{
    double v = 0, unit = 1;

    for (size_t i = 0; i < n; i++) {
        if (s[i] == '.' && !whole && unit == 1 && i > 0 && i + 1 < n)
            unit = 0.1;
        else if (s[i] < '0' || s[i] > '9')
            return false;
        else if (unit == 1)
            v = 10 * v + (s[i] - '0');
        else
            v += unit * (s[i] - '0'), unit /= 10;
    }
    *out = v;
    return n > 0 && v <= most;
}

vitcl_status vt_augment_rand(vt_augment *out, const char *text,
                             const char *name)
{
    double m = 10, n = 2, p = 0.5, mstd = 0, mmax = 10, inc = 0;
    const struct {
        const char *key;
        double *to, most;
        bool whole;
    } parts[] = {{"mstd", &mstd, 1e9, false}, {"mmax", &mmax, 100, true},
                 {"inc", &inc, 1, true},      {"m", &m, 100, true},
                 {"n", &n, 16, true},         {"p", &p, 1, false}};
    unsigned seen = 0;
    const char *at = text + strcspn(text, "-");

    if (at - text != 4 || strncmp(text, "rand", 4) != 0)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: \"aa\" must be a number of operations, or a string "
                       "of timm's for RandAugment such as "
                       "\"rand-m9-mstd0.5-inc1\", not \"%.80s\"",
                       name, text);
    while (*at) {
        const int length = (int)strcspn(++at, "-");
        const size_t key = strspn(at, "abcdefghijklmnopqrstuvwxyz");
        size_t i = 0;
        double v;

        while (i < VT_COUNT(parts) && (strlen(parts[i].key) != key ||
                                       strncmp(parts[i].key, at, key) != 0))
            i++;
        if (i == VT_COUNT(parts) || seen >> i & 1u ||
            !number(&v, at + key, (size_t)length - key, parts[i].most,
                    parts[i].whole))
            return vt_fail(VITCL_ECORRUPT,
                           "%s: \"%.80s\" has \"%.*s\"; known, once each, are "
                           "m, n, mmax (whole numbers), mstd, p (up to 1) and "
                           "inc (0 or 1), each with its number",
                           name, text, length, at);
        seen |= 1u << i;
        *parts[i].to = v;
        at += length;
    }
    out->randaugment = (int)n;
    out->magnitude = m / 10;
    out->spread = mstd > 100 ? (double)INFINITY : mstd / 10;
    out->most = mmax > 0 ? mmax / 10 : 1;
    out->chance = p;
    out->levels = inc > 0 ? VT_LEVELS_TIMM_INC : VT_LEVELS_TIMM;
    return VITCL_OK;
}
