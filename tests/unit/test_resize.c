/*
 * test_resize.c - vt_resize against SHA-256 sums of Pillow's results
 * (tests/data/preprocess/make.py), for all six filters.
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
                       vt_filter filter)
{
    uint32_t x = whole->width / 3, y = whole->height / 4;
    uint32_t w = whole->width - x, h = (whole->height - y + 1) / 2;
    vt_picture part = {0};

    cr_assert_eq(vt_resize_part(&part, in, whole->width, whole->height, filter,
                                x, y, w, h),
                 VITCL_OK);
    for (uint32_t r = 0; r < h; r++)
        cr_expect(memcmp(part.rgb + (size_t)r * w * 3,
                         whole->rgb + ((size_t)(y + r) * whole->width + x) * 3,
                         (size_t)w * 3) == 0,
                  "part of %ux%u, filter %d, row %u", whole->width,
                  whole->height, (int)filter, r);
    vt_picture_free(&part);
}

Test(resize, pillow)
{
    FILE *f = fopen(VT_DATA "/preprocess/resize.tsv", "r");
    unsigned w, h, out_w, out_h, filter, n = 0;
    char want[65], got[65];
    uint8_t hash[32];

    cr_assert(f);
    while (fscanf(f, "%u %u %u %u %u %64s", &w, &h, &out_w, &out_h, &filter,
                  want) == 6) {
        vt_picture in = noise(w, h), out = {0};

        cr_assert_eq(vt_resize(&out, &in, out_w, out_h, (vt_filter)filter),
                     VITCL_OK, "%s", vt_message());
        vt_sha256(out.rgb, (size_t)out_w * out_h * 3, hash);
        vt_sha256_hex(got, hash);
        cr_expect_str_eq(got, want, "%ux%u to %ux%u, filter %u", w, h, out_w,
                         out_h, filter);
        check_part(&in, &out, (vt_filter)filter);
        vt_picture_free(&in);
        vt_picture_free(&out);
        n++;
    }
    fclose(f);
    cr_expect_geq(n, 60);
}

Test(resize, refused)
{
    vt_picture in = noise(4, 4), out = {0};

    cr_expect_neq(vt_resize(&out, &in, 0, 4, VT_BICUBIC), VITCL_OK);
    cr_expect_neq(vt_resize(&out, &in, 4, 0, VT_NEAREST), VITCL_OK);
    cr_expect_neq(vt_resize(&out, &in, 70000, 4, VT_BICUBIC), VITCL_OK);
    cr_expect_neq(vt_resize(&out, &in, 4, 4, (vt_filter)6), VITCL_OK);
    cr_expect_neq(vt_resize_part(&out, &in, 8, 8, VT_BOX, 4, 0, 5, 8),
                  VITCL_OK);
    cr_expect_null(out.rgb);
    vt_picture_free(&in);
}
