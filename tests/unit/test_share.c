/*
 * test_share.c - every picture of a batch is in one pass, in order, whatever
 * the slices; empty rows have no targets.
 */
#include "train/share.h"

#include <criterion/criterion.h>
#include <string.h>

static void check(uint32_t pictures, uint32_t slices, uint32_t micro)
{
    const vt_share s = {pictures, slices, micro};
    const uint32_t passes = vt_share_passes(&s);
    uint32_t next = 0;

    for (uint32_t i = 0; i < slices; i++) {
        cr_expect_eq(vt_share_begin(&s, i), next, "slice %u of %u/%u", i,
                     pictures, slices);
        for (uint32_t k = 0; k < passes; k++) {
            uint32_t at;
            const uint32_t n = vt_share_pass(&at, &s, i * passes + k);

            cr_expect_leq(n, micro);
            if (n)
                cr_expect_eq(at, next, "pass %u of slice %u", k, i);
            next += n;
        }
    }
    cr_expect_eq(next, pictures, "%u/%u/%u", pictures, slices, micro);
}

Test(share, each_picture_once)
{
    for (uint32_t pictures = 1; pictures < 40; pictures++)
        for (uint32_t slices = 1; slices <= 64; slices *= 2)
            for (uint32_t micro = 1; micro < 12; micro++)
                check(pictures, slices, micro);
}

/* By hand: 14 pictures in 4 slices are 3, 4, 3 and 4. */
Test(share, as_the_documentation_says)
{
    const vt_share s = {14, 4, 2};
    const uint32_t begin[] = {0, 3, 7, 10, 14}, n[] = {2, 1, 2, 2, 2, 1, 2, 2};
    uint32_t at;

    for (uint32_t i = 0; i < 5; i++)
        cr_expect_eq(vt_share_begin(&s, i), begin[i]);
    cr_expect_eq(vt_share_longest(&s), 4);
    cr_expect_eq(vt_share_passes(&s), 2);
    for (uint32_t i = 0; i < 8; i++)
        cr_expect_eq(vt_share_pass(&at, &s, i), n[i], "pass %u", i);
}

Test(share, empty_rows_have_no_weight)
{
    const float pixels[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, targets[] = {1, 2, 3};
    const int32_t source[] = {4, 5, 6}, colour[] = {7, 8, 9};
    vt_filled f;
    vt_batch out;

    cr_assert_eq(
        vt_filled_new(
            &f, &(vt_batches_options){.height = 1, .width = 1, .classes = 1},
            3),
        VITCL_OK);
    memset(f.pixels, 1, 9 * sizeof(float)); /* of the pass before */
    memset(f.targets, 1, 3 * sizeof(float));
    vt_filled_take(&out, &f, &(vt_batch){.pixels = pixels, .targets = targets},
                   1, 2);
    cr_expect(out.targets[0] == 2 && out.targets[1] == 3);
    cr_expect_eq(out.targets[2], 0);
    cr_expect(out.pixels[0] == 4 && out.pixels[5] == 9);
    for (int i = 6; i < 9; i++)
        cr_expect_eq(out.pixels[i], 0);
    vt_filled_free(&f);

    cr_assert_eq(
        vt_filled_new(&f,
                      &(vt_batches_options){
                          .height = 1, .width = 1, .patch_h = 1, .patch_w = 1},
                      2),
        VITCL_OK);
    memset(f.colour, 1, 2 * sizeof(int32_t));
    vt_filled_take(
        &out, &f,
        &(vt_batch){.pixels = pixels, .source = source, .colour = colour}, 2,
        1);
    cr_expect(out.source[0] == 6 && out.colour[0] == 9);
    cr_expect_eq(out.colour[1], -1, "this row would be predicted");
    vt_filled_free(&f);
}
