/*
 * test_marks.c - the tasks of marks: what a convolutional network that looks no
 * farther than 19 pixels sees is the same in all classes, or after a shift, and
 * so are the patches.
 */
#include "study/marks.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = VT_MARKS_SIDE, PATCH = VT_MARKS_PATCH, SEEN = 19 };

static size_t window_bytes; /* of what is sorted */

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, window_bytes);
}

/* All windows of this size, a step from each other, sorted: without the places.
 * *count: bytes. */
static uint8_t *see(const uint8_t pixels[VT_MARKS_BYTES], int size, int step,
                    size_t *count)
{
    const int across = (SIDE - size) / step + 1;
    const size_t line = 3 * (size_t)size;
    uint8_t *w, *out;

    window_bytes = line * (size_t)size;
    *count = window_bytes * (size_t)(across * across);
    w = out = malloc(*count);
    cr_assert(w);
    for (int i = 0; i < across * across; i++)
        for (int y = 0; y < size; y++, w += line)
            memcpy(w,
                   pixels +
                       3 * ((i / across * step + y) * SIDE + i % across * step),
                   line);
    qsort(out, (size_t)(across * across), window_bytes, by_bytes);
    return out;
}

static void look_alike(const uint8_t *a, const uint8_t *b, int size, int step)
{
    size_t bytes;
    uint8_t *seen = see(a, size, step, &bytes),
            *other = see(b, size, step, &bytes);

    cr_assert_neq(memcmp(a, b, VT_MARKS_BYTES), 0);
    cr_assert_eq(memcmp(seen, other, bytes), 0, "windows of %d", size);
    free(seen);
    free(other);
}

/* No window has a mark and padding. */
static void keeps_off_the_border(const uint8_t pixels[VT_MARKS_BYTES])
{
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            if (y < SEEN - 1 || x < SEEN - 1 || y > SIDE - SEEN ||
                x > SIDE - SEEN)
                cr_assert_eq(pixels[3 * (y * SIDE + x)], pixels[0], "%d, %d", y,
                             x);
}

Test(marks, far_apart_they_look_alike_in_both_classes)
{
    for (uint32_t i = 0; i < 12; i += VT_APART_CLASSES) {
        uint8_t a[VT_MARKS_BYTES], b[VT_MARKS_BYTES];

        vt_apart_picture(a, 1, i);
        vt_apart_picture(b, 1, i + 1);
        keeps_off_the_border(a);
        look_alike(a, b, SEEN, 1);
        look_alike(a, b, PATCH, PATCH);
    }
}

Test(marks, a_square_is_shifted_by_two_patches)
{
    enum { BY = 2 * PATCH };

    for (uint32_t i = 0; i < 20; i++) {
        uint8_t a[VT_MARKS_BYTES], b[VT_MARKS_BYTES];

        vt_shift_picture(a, 2, i, false);
        vt_shift_picture(b, 2, i, true);
        keeps_off_the_border(a);
        keeps_off_the_border(b);
        for (int y = 0; y < SIDE; y++)
            cr_assert_eq(memcmp(a + 3 * y * SIDE, b + 3 * (y * SIDE + BY),
                                3 * (SIDE - BY)),
                         0, "picture %u, line %d", i, y);
    }
}

Test(marks, classes_of_a_square_have_the_same_patches)
{
    for (uint32_t i = 0; i < 20; i++)
        if (i % VT_SHIFT_CLASSES) {
            uint8_t a[VT_MARKS_BYTES], b[VT_MARKS_BYTES];

            vt_shift_picture(a, 1, i - i % VT_SHIFT_CLASSES, false);
            vt_shift_picture(b, 1, i, false);
            look_alike(a, b, PATCH, PATCH);
        }
}
