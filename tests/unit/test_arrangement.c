/*
 * test_arrangement.c - the arrangement task: classes that differ in where
 * patches are, and in nothing else.
 */
#include "study/arrangement.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum {
    GRID = VT_ARRANGED_SIDE / VT_ARRANGED_TILE,
    TILES = GRID * GRID,
    TILE_BYTES = 3 * VT_ARRANGED_TILE * VT_ARRANGED_TILE
};

typedef struct patches {
    uint8_t tile[TILES][TILE_BYTES];
} patches;

/* The patches of a picture as a model cuts it, row by row. */
static void cut(patches *out, uint64_t state, uint32_t index)
{
    uint8_t pixels[VT_ARRANGED_BYTES];

    vt_arrangement_picture(pixels, state, index);
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < VT_ARRANGED_SIDE; y++)
            for (int x = 0; x < VT_ARRANGED_SIDE; x++)
                out->tile[y / VT_ARRANGED_TILE * GRID + x / VT_ARRANGED_TILE]
                         [(c * VT_ARRANGED_TILE + y % VT_ARRANGED_TILE) *
                              VT_ARRANGED_TILE +
                          x % VT_ARRANGED_TILE] =
                    pixels[(c * VT_ARRANGED_SIDE + y) * VT_ARRANGED_SIDE + x];
}

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, TILE_BYTES);
}

Test(arrangement, classes_of_a_group_have_the_same_patches)
{
    for (uint32_t group = 0; group < 20; group++) {
        patches first, other;

        cut(&first, 1, group * VT_ARRANGED_CLASSES);
        qsort(first.tile, TILES, TILE_BYTES, by_bytes);
        for (uint32_t c = 1; c < VT_ARRANGED_CLASSES; c++) {
            cut(&other, 1, group * VT_ARRANGED_CLASSES + c);
            qsort(other.tile, TILES, TILE_BYTES, by_bytes);
            cr_assert_eq(memcmp(&first, &other, sizeof first), 0,
                         "group %u, class %u", group, c);
        }
    }
}

/* The bright patches, as bits. */
static uint64_t bright(const patches *p)
{
    uint64_t bits = 0;

    for (int i = 0; i < TILES; i++) {
        unsigned sum = 0;

        for (int k = 0; k < TILE_BYTES; k++)
            sum += p->tile[i][k];
        if (sum >= 120u * TILE_BYTES)
            bits |= (uint64_t)1 << i;
    }
    return bits;
}

Test(arrangement, a_class_is_a_place)
{
    uint64_t place[VT_ARRANGED_CLASSES];

    for (uint32_t i = 0; i < 20 * VT_ARRANGED_CLASSES; i++) {
        const uint32_t c = i % VT_ARRANGED_CLASSES;
        patches p;

        cut(&p, 1, i);
        cr_assert_eq(__builtin_popcountll(bright(&p)), 4);
        if (i < VT_ARRANGED_CLASSES) {
            place[c] = bright(&p);
            for (uint32_t k = 0; k < c; k++)
                cr_assert_eq(place[c] & place[k], 0, "%u, %u", c, k);
        }
        cr_assert_eq(bright(&p), place[c], "picture %u", i);
    }
}

Test(arrangement, is_deterministic_and_tests_are_other_pictures)
{
    uint8_t a[VT_ARRANGED_BYTES], b[VT_ARRANGED_BYTES];

    for (uint32_t i = 0; i < 30; i++) {
        vt_arrangement_picture(a, 1, i);
        vt_arrangement_picture(b, 1, i);
        cr_assert_eq(memcmp(a, b, sizeof a), 0);
        vt_arrangement_picture(b, 2, i);
        cr_assert_neq(memcmp(a, b, sizeof a), 0);
        vt_arrangement_picture(b, 1, i + VT_ARRANGED_CLASSES);
        cr_assert_neq(memcmp(a, b, sizeof a), 0);
    }
}
