/*
 * own.c - resizes a picture in its own mode, as Pillow's Image.resize does, and
 * makes RGB of it afterwards, as its convert("RGB") does.
 *
 * Easy to get wrong: colours are multiplied by their opacity for the resize
 * only, and not at all if the size stays; greys of more than 8 bits have
 * weights in double and are rounded after each pass.
 */
#include "image/decoders.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

/* The part of a resized picture that is computed. */
typedef struct part {
    vt_resize_axis across, down;
    uint32_t x, y, w, h;
} part;

static bool same_size(const part *p)
{
    return p->across.in == p->across.out && p->down.in == p->down.out;
}

static vitcl_status resize(uint8_t *out, const uint8_t *in, size_t each,
                           const part *p)
{
    return vt_resize_bytes(out, in, each, &p->across, &p->down, p->x, p->y,
                           p->w, p->h);
}

/* ---- bytes ---- */

static uint8_t multiplied(uint8_t v, uint8_t alpha)
{
    const unsigned t = (unsigned)v * alpha + 128;

    return (uint8_t)(((t >> 8) + t) >> 8);
}

static vitcl_status resize_alpha(uint8_t *rgb, const vt_picture *in,
                                 const uint8_t *alpha, const part *p)
{
    const size_t n = (size_t)in->width * in->height, m = (size_t)p->w * p->h;
    uint8_t *colours = NULL, *opacity = NULL;
    vitcl_status st = VITCL_OK;

    if (same_size(p))
        return resize(rgb, in->rgb, 3, p);
    VT_TRY(vt_new(&colours, n, 3));
    VT_TRY(vt_new(&opacity, m, 1));
    for (size_t i = 0; i < 3 * n; i++)
        colours[i] = multiplied(in->rgb[i], alpha[i / 3]);
    VT_TRY(resize(rgb, colours, 3, p));
    VT_TRY(resize(opacity, alpha, 1, p));
    for (size_t i = 0; i < 3 * m; i++)
        if (opacity[i / 3])
            rgb[i] = (uint8_t)VT_MIN(255 * rgb[i] / opacity[i / 3], 255);
done:
    free(colours);
    free(opacity);
    return st;
}

static vitcl_status resize_cmyk(uint8_t *rgb, const uint8_t *cmyk,
                                const part *p)
{
    uint8_t *small = NULL;
    vitcl_status st;

    VT_TRY(vt_new(&small, (size_t)p->w * p->h, 4));
    VT_TRY(resize(small, cmyk, 4, p));
    vt_cmyk_to_rgb(rgb, small, (size_t)p->w * p->h);
done:
    free(small);
    return st;
}

/* ---- greys of more than 8 bits ---- */

typedef struct greys {
    vt_own_mode mode;
    size_t width; /* of a row */
    void *v;      /* int32_t, or float */
} greys;

static int32_t swapped(int32_t v)
{
    return (v & 255) << 8 | v >> 8;
}

static double get(const greys *g, size_t i)
{
    const int32_t *whole = g->v;

    return g->mode == VT_OWN_FLOAT    ? (double)((const float *)g->v)[i]
           : g->mode == VT_OWN_INT16B ? swapped(whole[i])
                                      : whole[i];
}

static void set(const greys *g, size_t i, double v)
{
    int32_t whole = INT32_MIN; /* what x86 makes of a number out of range */

    if (g->mode == VT_OWN_FLOAT) {
        ((float *)g->v)[i] = (float)v;
        return;
    }
    v = v >= 0 ? v + 0.5 : v - 0.5;
    if (v > -2147483649.0 && v < 2147483648.0)
        whole = (int32_t)v;
    if (g->mode == VT_OWN_INT16 || g->mode == VT_OWN_INT16B)
        whole = VT_MIN(VT_MAX(whole, 0), 65535);
    if (g->mode == VT_OWN_INT16B)
        whole = swapped(whole);
    ((int32_t *)g->v)[i] = whole;
}

/* Outputs `begin` to begin + n of an axis, for each of `lines` lines from
 * `line` on. from: the place on the axis where `in` begins. */
static vitcl_status pass(const greys *out, const greys *in,
                         const vt_resize_axis *a, bool across, uint32_t begin,
                         uint32_t n, uint32_t from, uint32_t line,
                         uint32_t lines)
{
    const size_t room = vt_resize_room(a), step = across ? 1 : in->width;
    double *w = NULL;
    vitcl_status st;
    uint32_t first;

    VT_TRY(VT_NEW(&w, room));
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t count = vt_resize_weights(w, &first, a, begin + i, room);

        for (uint32_t l = 0; l < lines; l++) {
            const size_t at = first - from, other = line + l;
            size_t p = across ? other * in->width + at : at * in->width + other;
            double sum = 0.0;

            for (uint32_t t = 0; t < count; t++, p += step)
                sum += get(in, p) * w[t];
            set(out, across ? l * out->width + i : i * out->width + l, sum);
        }
    }
done:
    free(w);
    return st;
}

/* What the outputs of a part need: the first input, and how many. */
static vitcl_status range(uint32_t *begin, uint32_t *count,
                          const vt_resize_axis *a, uint32_t first, uint32_t n)
{
    const size_t room = vt_resize_room(a);
    double *w = NULL;
    uint32_t last;
    vitcl_status st;

    VT_TRY(VT_NEW(&w, room));
    (void)vt_resize_weights(w, begin, a, first, room);
    *count = vt_resize_weights(w, &last, a, first + n - 1, room);
    *count += last - *begin;
done:
    free(w);
    return st;
}

static vitcl_status two_passes(const greys *out, const greys *in, const part *p)
{
    const bool across_first = vt_across_first(&p->across, &p->down);
    greys middle = {.mode = in->mode};
    uint32_t begin, count;
    vitcl_status st;

    if (across_first) {
        VT_TRY(range(&begin, &count, &p->down, p->y, p->h));
        middle.width = p->w;
        VT_TRY(vt_new(&middle.v, (size_t)count * p->w, 4));
        VT_TRY(
            pass(&middle, in, &p->across, true, p->x, p->w, 0, begin, count));
        VT_TRY(pass(out, &middle, &p->down, false, p->y, p->h, begin, 0, p->w));
    } else {
        VT_TRY(range(&begin, &count, &p->across, p->x, p->w));
        middle.width = count;
        VT_TRY(vt_new(&middle.v, (size_t)count * p->h, 4));
        VT_TRY(pass(&middle, in, &p->down, false, p->y, p->h, 0, begin, count));
        VT_TRY(
            pass(out, &middle, &p->across, true, p->x, p->w, begin, 0, p->h));
    }
done:
    free(middle.v);
    return st;
}

static vitcl_status resize_greys(uint8_t *rgb, const vt_own *own, const part *p)
{
    const greys in = {own->mode, p->across.in, own->more};
    const bool wide = p->across.in != p->across.out;
    const bool high = p->down.in != p->down.out;
    greys out = {.mode = own->mode, .width = p->w};
    vitcl_status st;

    VT_TRY(vt_new(&out.v, (size_t)p->w * p->h, 4));
    if (p->across.filter == VT_NEAREST || (!wide && !high))
        VT_TRY(resize(out.v, in.v, 4, p));
    else if (wide && high)
        VT_TRY(two_passes(&out, &in, p));
    else if (wide)
        VT_TRY(pass(&out, &in, &p->across, true, p->x, p->w, 0, p->y, p->h));
    else
        VT_TRY(pass(&out, &in, &p->down, false, p->y, p->h, 0, p->x, p->w));
    if (out.mode == VT_OWN_INT16B)
        out.mode = VT_OWN_INT16;
    for (size_t i = 0; i < (size_t)p->w * p->h; i++) {
        const double v = get(&out, i);

        memset(rgb + 3 * i, v > 255 ? 255 : v > 0 ? (int)v : 0, 3);
    }
done:
    free(out.v);
    return st;
}

/* ---- all modes ---- */

vitcl_status vt_own_part(vt_picture *out, const vt_picture *in,
                         const vt_own *own, uint32_t width, uint32_t height,
                         vt_filter filter, uint32_t x, uint32_t y, uint32_t w,
                         uint32_t h)
{
    const bool nearest = own->mode == VT_OWN_NUMBERS;
    const vt_pixels pillow = VT_PIXELS_PILLOW;
    const part p = {{pillow, filter, in->width, width},
                    {pillow, filter, in->height, height},
                    x,
                    y,
                    w,
                    h};
    vt_picture made = {0};
    vitcl_status st;

    if (own->mode == VT_OWN_RGB || nearest)
        return vt_resize_part(out, in, pillow, width, height,
                              nearest ? VT_NEAREST : filter, x, y, w, h);
    VT_TRY(vt_picture_new(&made, w, h, "resized"));
    if (own->mode == VT_OWN_ALPHA)
        VT_TRY(filter == VT_NEAREST
                   ? resize(made.rgb, in->rgb, 3, &p)
                   : resize_alpha(made.rgb, in, own->more, &p));
    else if (own->mode == VT_OWN_CMYK)
        VT_TRY(resize_cmyk(made.rgb, own->more, &p));
    else
        VT_TRY(resize_greys(made.rgb, own, &p));
    *out = made, made = (vt_picture){0};
done:
    vt_picture_free(&made);
    return st;
}

void vt_own_fill(uint8_t rgb[3], const vt_own *own, uint8_t fill)
{
    const uint8_t all[4] = {fill, fill, fill, fill};

    if (own->mode == VT_OWN_NUMBERS)
        memcpy(rgb, own->palette[fill], 3);
    else if (own->mode == VT_OWN_CMYK)
        vt_cmyk_to_rgb(rgb, all, 1);
    else
        memset(rgb, fill, 3);
}
