/*
 * mask.c - choose the patches to hide and compute their colour classes.
 *
 * Each corrupted patch is masked, replaced or kept independently, as in BERT
 * (arXiv 1810.04805). The number of corrupted patches is fixed, so that every
 * picture has the same weight.
 */
#include "data/mask.h"

#include "base/memory.h"

#include <string.h>

int vt_mask_count(int patches)
{
    return (patches + 1) / 2;
}

/* A random patch other than n. */
static int32_t other(int n, int patches, vt_random *r)
{
    const int32_t m = (int32_t)vt_random_below(r, (uint64_t)patches - 1);

    return m < n ? m : m + 1;
}

vitcl_status vt_mask_choose(int32_t *source, uint8_t *asked, int patches,
                            vt_random *r)
{
    vitcl_status st = VITCL_OK;
    size_t *order = NULL;

    VT_TRY(vt_new(&order, (size_t)patches, sizeof *order));
    vt_shuffle(order, (size_t)patches, vt_random_next(r));
    for (int n = 0; n < patches; n++) {
        source[n] = n;
        asked[n] = 0;
    }
    for (int i = 0; i < vt_mask_count(patches); i++) {
        const int n = (int)order[i];
        const double u = vt_random_uniform(r);

        asked[n] = 1;
        if (u < 0.8)
            source[n] = -1;
        else if (u < 0.9 && patches > 1)
            source[n] = other(n, patches, r);
    }
done:
    free(order);
    return st;
}

static int32_t colour_of(const vt_picture *p, int top, int left, int patch_h,
                         int patch_w)
{
    const uint64_t pixels = (uint64_t)patch_h * (uint64_t)patch_w;
    uint64_t sum[3] = {0, 0, 0};

    for (int y = top; y < top + patch_h; y++) {
        const uint8_t *rgb = p->rgb + 3 * ((size_t)y * p->width + (size_t)left);

        for (int i = 0; i < 3 * patch_w; i++)
            sum[i % 3] += rgb[i];
    }
    return (int32_t)(sum[0] / pixels >> 5 << 6 | sum[1] / pixels >> 5 << 3 |
                     sum[2] / pixels >> 5);
}

void vt_mask_colours(int32_t *colour, const vt_picture *p, int patch_h,
                     int patch_w)
{
    for (int y = 0; y + patch_h <= (int)p->height; y += patch_h)
        for (int x = 0; x + patch_w <= (int)p->width; x += patch_w)
            *colour++ = colour_of(p, y, x, patch_h, patch_w);
}

void vt_mask_targets(float *out, const int32_t *colour, size_t rows,
                     double smoothing)
{
    const float rest = (float)(smoothing / VT_COLOURS);

    for (size_t i = 0; i < rows; i++, out += VT_COLOURS) {
        memset(out, 0, VT_COLOURS * sizeof *out);
        if (colour[i] < 0)
            continue;
        for (int k = 0; k < VT_COLOURS; k++)
            out[k] = rest;
        out[colour[i]] += (float)(1 - smoothing);
    }
}
