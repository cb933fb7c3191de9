/*
 * test_resize.c - resizing against SHA-256 sums of what Pillow and torchvision
 * make (tests/data/preprocess/make.py), for all their filters.
 */
#include "base/sha256.h"
#include "image/decoders.h"
#include "support/paths.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static vt_picture noise(uint32_t w, uint32_t h)
{
    vt_picture p = {w, h, malloc((size_t)w * h * 3)};
    uint32_t s = 12345;

    cr_assert(p.rgb);
    for (size_t i = 0; i < (size_t)w * h * 3; i++) {
        s = s * 1664525 + 1013904223;
        p.rgb[i] = (uint8_t)(s >> 24);
    }
    return p;
}

/* A window of the resize has the same pixels as the whole one. */
static void check_part(const vt_picture *in, const vt_picture *whole,
                       vt_pixels pixels, vt_filter filter)
{
    uint32_t x = whole->width / 3, y = whole->height / 4;
    uint32_t w = whole->width - x, h = (whole->height - y + 1) / 2;
    vt_picture part = {0};

    cr_assert_eq(vt_resize_part(&part, in, pixels, whole->width, whole->height,
                                filter, x, y, w, h),
                 VITCL_OK);
    for (uint32_t r = 0; r < h; r++)
        cr_expect(memcmp(part.rgb + (size_t)r * w * 3,
                         whole->rgb + ((size_t)(y + r) * whole->width + x) * 3,
                         (size_t)w * 3) == 0,
                  "part of %ux%u, filter %d, row %u", whole->width,
                  whole->height, (int)filter, r);
    vt_picture_free(&part);
}

/* Returns the number of rows. */
static unsigned check_table(const char *path, vt_pixels pixels)
{
    FILE *f = fopen(path, "r");
    unsigned w, h, out_w, out_h, filter, n = 0;
    char want[65], got[65];
    uint8_t hash[32];

    cr_assert(f);
    while (fscanf(f, "%u %u %u %u %u %64s", &w, &h, &out_w, &out_h, &filter,
                  want) == 6) {
        vt_picture in = noise(w, h), out = {0};

        cr_assert_eq(vt_resize_part(&out, &in, pixels, out_w, out_h,
                                    (vt_filter)filter, 0, 0, out_w, out_h),
                     VITCL_OK, "%s", vt_message());
        vt_sha256(out.rgb, (size_t)out_w * out_h * 3, hash);
        vt_sha256_hex(got, hash);
        cr_expect_str_eq(got, want, "%ux%u to %ux%u, filter %u", w, h, out_w,
                         out_h, filter);
        check_part(&in, &out, pixels, (vt_filter)filter);
        vt_picture_free(&in);
        vt_picture_free(&out);
        n++;
    }
    fclose(f);
    return n;
}

Test(resize, pillow)
{
    cr_expect_geq(
        check_table(VT_DATA "/preprocess/resize.tsv", VT_PIXELS_PILLOW), 60);
}

Test(resize, torchvision)
{
    cr_expect_geq(check_table(VT_DATA "/preprocess/resize_torchvision.tsv",
                              VT_PIXELS_TORCHVISION),
                  60);
}

Test(resize, refused)
{
    vt_picture in = noise(4, 4), out = {0};

    cr_expect_neq(vt_resize(&out, &in, VT_PIXELS_PILLOW, 0, 4, VT_BICUBIC),
                  VITCL_OK);
    cr_expect_neq(vt_resize(&out, &in, VT_PIXELS_PILLOW, 4, 0, VT_NEAREST),
                  VITCL_OK);
    cr_expect_neq(vt_resize(&out, &in, VT_PIXELS_PILLOW, 70000, 4, VT_BICUBIC),
                  VITCL_OK);
    cr_expect_neq(vt_resize(&out, &in, VT_PIXELS_PILLOW, 4, 4, (vt_filter)6),
                  VITCL_OK);
    cr_expect_neq(
        vt_resize_part(&out, &in, VT_PIXELS_PILLOW, 8, 8, VT_BOX, 4, 0, 5, 8),
        VITCL_OK);
    for (int filter = VT_BOX; filter <= VT_HAMMING; filter++) {
        cr_expect_eq(vt_resize_part(&out, &in, VT_PIXELS_TORCHVISION, 8, 8,
                                    (vt_filter)filter, 0, 0, 8, 8),
                     VITCL_EUNSUPPORTED);
        cr_expect(strstr(vt_message(), vt_filter_name((vt_filter)filter)), "%s",
                  vt_message());
    }
    cr_expect_null(out.rgb);
    vt_picture_free(&in);
}

/* As Pillow's convert("L") of red, green, blue and one more. */
Test(resize, grey_before)
{
    static const uint8_t grey[4] = {76, 150, 29, 154};
    uint8_t rgb[12] = {255, 0, 0, 0, 255, 0, 0, 0, 255, 200, 123, 189};
    const vt_picture in = {4, 1, rgb};
    vt_picture out = {0};
    vt_preprocess how;

    vt_preprocess_default(&how, 1, 4);
    how.grey = true;
    cr_assert_eq(vt_prepare(&out, &in, &how), VITCL_OK, "%s", vt_message());
    for (int i = 0; i < 12; i++)
        cr_expect_eq(out.rgb[i], grey[i / 3], "%d: %d", i, out.rgb[i]);
    vt_picture_free(&out);
}
