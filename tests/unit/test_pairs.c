/*
 * test_pairs.c - all pairs of an index: short vectors never hide a pair, and
 * the pairs found are those that were planted.
 */
#include "base/memory.h"
#include "index/index.h"
#include "index/screen.h"
#include "index/tiles.h"
#include "product/device.h"
#include "support/pictures.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double dot(const float *a, const float *b, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

static void unit(float *v, int n)
{
    const double length = sqrt(dot(v, v, n));

    for (int i = 0; i < n; i++)
        v[i] = (float)((double)v[i] / length);
}

/* ---- tiles ---- */

Test(pairs, tiles_find_the_large_scores)
{
    static const int sizes[][2] = {{1, 1}, {7, 5}, {33, 3}, {61, 40}};
    vt_dev *dev = NULL;

    cr_assert_eq(vt_product_open(&dev, NULL), VITCL_OK, "%s", vt_message());
    for (size_t z = 0; z < VT_COUNT(sizes); z++) {
        const int tile = sizes[z][0], width = sizes[z][1];
        const size_t n = (size_t)tile * (size_t)width;
        float *a = calloc(2 * n, sizeof *a), *b = a + n;
        vt_tile_product s = {.tile = 0};
        vt_rng r = {(uint64_t)z + 1};

        vt_rng_fill(&r, a, 2 * n, 1, 0);
        cr_assert_eq(vt_tile_product_new(&s, dev, tile, width), VITCL_OK, "%s",
                     vt_message());
        cr_assert_eq(vt_tile_product_rows(&s, a), VITCL_OK);
        cr_assert_eq(vt_tile_product_columns(&s, b), VITCL_OK);
        /* Few rows have hits, then all. */
        for (float least = 100; least > -200; least -= 101) {
            int hits = -1, want = 0;

            a[0] = least > 0 ? 200 : 0.5f;
            b[0] = 1;
            cr_assert_eq(vt_tile_product_rows(&s, a), VITCL_OK);
            cr_assert_eq(vt_tile_product_columns(&s, b), VITCL_OK);
            cr_assert_eq(vt_tile_product_run(&hits, &s, least), VITCL_OK);
            for (int i = 0; i < tile; i++) {
                const float *c = NULL;
                double most = -1e30;

                cr_assert_eq(vt_tile_product_scores(&c, &s, i), VITCL_OK);
                for (int j = 0; j < tile; j++) {
                    const double x = dot(a + i * width, b + j * width, width);

                    cr_expect_float_eq((double)c[j], x, 1e-5 * fabs(x) + 1e-4);
                    most = VT_MAX(most, (double)c[j]);
                }
                want += most >= (double)least;
                cr_expect_eq(vt_tile_product_hit(&s, i, least),
                             most >= (double)least);
            }
            cr_expect_eq(hits, want);
        }
        vt_tile_product_free(&s);
        free(a);
    }
    vt_dev_free(dev);
}

/* ---- screens ---- */

/* The product of the short vectors of each pair of rows is not below that of
 * the long ones. */
static void check_screen(const vt_screen *s, const float *x, int n, int width)
{
    float *y = calloc((size_t)n * (size_t)s->kept, sizeof *y);

    for (int i = 0; i < n; i++) {
        for (int k = 0; k < s->kept; k++)
            y[i * s->kept + k] =
                (float)dot(x + i * width, s->basis + k * width, width);
        vt_screen_finish(y + i * s->kept, s, x + i * width, width);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            cr_expect(dot(y + i * s->kept, y + j * s->kept, s->kept) +
                              (double)VT_SCREEN_SLACK / 10 >=
                          dot(x + i * width, x + j * width, width),
                      "rows %d and %d", i, j);
    free(y);
}

Test(pairs, a_screen_hides_nothing)
{
    enum { N = 300, WIDTH = 192, RANK = 5 };
    float *x = calloc(N * WIDTH, sizeof *x);
    vt_screen s = {.kept = 0};
    vt_rng r = {3};

    /* Sizes that fall; a row of zeros; pairs that are nearly equal. */
    vt_rng_fill(&r, x, N * WIDTH, 1, 0);
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < WIDTH; k++)
            x[i * WIDTH + k] /= (float)(1 + k);
        if (i % 10 == 1)
            for (int k = 0; k < WIDTH; k++)
                x[i * WIDTH + k] = x[(i - 1) * WIDTH + k] * 1.01f;
        if (i != 17)
            unit(x + i * WIDTH, WIDTH);
    }
    memset(x + 17 * WIDTH, 0, WIDTH * sizeof *x);
    cr_assert_eq(vt_screen_new(&s, x, N, WIDTH, 0.95f), VITCL_OK);
    cr_assert_gt(s.kept, 0);
    check_screen(&s, x, N, WIDTH);
    vt_screen_free(&s);

    /* Of few dimensions: fewer directions than the basis has rows. */
    for (int i = 0; i < N; i++) {
        memset(x + i * WIDTH + RANK, 0, (WIDTH - RANK) * sizeof *x);
        vt_rng_fill(&r, x + i * WIDTH, RANK, 1, 0);
        unit(x + i * WIDTH, WIDTH);
    }
    cr_assert_eq(vt_screen_new(&s, x, N, WIDTH, 0.99999f), VITCL_OK);
    cr_assert_gt(s.kept, 0);
    check_screen(&s, x, N, WIDTH);
    vt_screen_free(&s);

    /* Equal rows: all pairs pass. */
    for (int i = 1; i < N; i++)
        memcpy(x + i * WIDTH, x, WIDTH * sizeof *x);
    cr_assert_eq(vt_screen_new(&s, x, N, WIDTH, 0.85f), VITCL_OK);
    cr_expect_eq(s.kept, 0);
    vt_screen_free(&s);
    free(x);
}

/* ---- all pairs ---- */

enum { ROWS = 16500, WIDTH = 96, EQUAL = 200 };

/* An index of a file in a new folder, which vt_test_tidy() removes. */
static vt_index *write_index(const float *x, int rows)
{
    const vt_about about = {.model_id = "0123456789abcdef0123456789abcdef"
                                        "0123456789abcdef0123456789abcdef",
                            .pictures_id = "0123456789abcdef0123456789abcdef"
                                           "0123456789abcdef0123456789abcdef",
                            .model = "m",
                            .feature = "pooled"};
    const char *file = vt_test_path(vt_test_folder(), "pairs.safetensors");
    vt_vectors *v = NULL;
    vt_index *index = NULL;

    cr_assert_eq(vt_vectors_open(&v, file, &about,
                                 (vt_row_shape){.width = WIDTH}, false),
                 VITCL_OK, "%s", vt_message());
    for (int i = 0; i < rows; i++) {
        const vt_vectors_row row = {.path = "p", .numbers = x + i * WIDTH};

        cr_assert_eq(vt_vectors_add(v, &row), VITCL_OK);
    }
    cr_assert_eq(vt_vectors_finish(v), VITCL_OK, "%s", vt_message());
    vt_vectors_free(v);
    cr_assert_eq(vt_index_open(&index, file), VITCL_OK, "%s", vt_message());
    return index;
}

static void check_pair(const vitcl_dupe *p, const float *x, uint64_t a,
                       uint64_t b)
{
    const float *u = x + a * WIDTH, *v = x + b * WIDTH;
    const double c =
        dot(u, v, WIDTH) / sqrt(dot(u, u, WIDTH) * dot(v, v, WIDTH));

    cr_expect_eq(p[b].group, a);
    cr_expect_eq(p[a].group, a);
    cr_expect_eq(p[a].nearest, b);
    cr_expect_eq(p[b].nearest, a);
    cr_expect_float_eq((double)p[a].cosine, c, 2e-6);
    cr_expect_float_eq((double)p[b].cosine, c, 2e-6);
}

typedef struct told {
    uint64_t ended, stop; /* stop: after so many tiles; 0: never */
} told;

static int tell(void *context, uint64_t ended, uint64_t total)
{
    told *t = context;

    cr_expect_eq(ended, t->ended + 1);
    /* 9 tiles of rows: shortened, then compared */
    cr_expect_eq(total, 9 + 9 * 10 / 2);
    t->ended = ended;
    return ended == t->stop;
}

/* Enough rows for a screen: random ones have no pair by far (8 standard
 * deviations). Planted: pairs in a tile and across tiles, above and below the
 * threshold; a block of equal rows, more pairs than are computed one by one;
 * rows without a direction. */
Test(pairs, finds_what_was_planted)
{
    static const uint64_t planted[][2] = {
        {0, 1}, {5, 2050}, {2047, 2048}, {3, ROWS - 1}, {9000, 9001}};
    static vitcl_dupe p[ROWS];
    float *x = calloc((size_t)ROWS * WIDTH, sizeof *x);
    vt_index *index;
    vt_dev *dev = NULL;
    uint64_t pairs;
    told all = {.stop = 0}, some = {.stop = 3};
    vt_rng r = {11};

    vt_rng_fill(&r, x, (size_t)ROWS * WIDTH, 1, 0);
    for (size_t k = 0; k < VT_COUNT(planted); k++)
        for (int i = 0; i < WIDTH; i++) {
            float *to = x + planted[k][1] * WIDTH + i;

            /* the cosine is about 0.95; of the last, 0.8 */
            *to = x[planted[k][0] * WIDTH + (uint64_t)i] +
                  (k + 1 < VT_COUNT(planted) ? 0.33f : 0.75f) * *to;
        }
    for (size_t i = 4201; i < 4200 + EQUAL; i++)
        memcpy(x + i * WIDTH, x + (size_t)4200 * WIDTH, WIDTH * sizeof *x);
    memcpy(x + (size_t)301 * WIDTH, x + (size_t)300 * WIDTH, WIDTH * sizeof *x);
    memset(x + (size_t)100 * WIDTH, 0, WIDTH * sizeof *x);
    x[(size_t)16400 * WIDTH + 3] = NAN;
    index = write_index(x, ROWS);
    cr_assert_eq(vt_product_open(&dev, NULL), VITCL_OK, "%s", vt_message());
    cr_expect_eq(vt_index_pairs(p, NULL, index, dev, 0.85f, tell, &some),
                 VITCL_ESTOPPED);
    cr_expect_eq(some.ended, 3);
    p[301].state = VITCL_ROW_GONE;
    cr_assert_eq(vt_index_pairs(p, &pairs, index, dev, 0.85f, tell, &all),
                 VITCL_OK, "%s", vt_message());
    cr_expect_eq(all.ended, 54);
    for (uint64_t i = 0; i < ROWS; i++)
        cr_expect_eq(p[i].state, i == 301                 ? VITCL_ROW_GONE
                                 : i == 100 || i == 16400 ? VITCL_ROW_EMPTY
                                                          : VITCL_ROW_COMPARED);
    cr_expect_eq(pairs, VT_COUNT(planted) - 1 + EQUAL * (EQUAL - 1) / 2,
                 "%zu pairs", (size_t)pairs);
    for (size_t k = 0; k + 1 < VT_COUNT(planted); k++)
        check_pair(p, x, planted[k][0], planted[k][1]);
    cr_expect_eq(p[9000].nearest, 9000);
    cr_expect_eq(p[300].nearest, 300);
    cr_expect_eq(p[301].nearest, 301);
    cr_expect_eq(p[100].nearest, 100);
    for (uint64_t i = 4200; i < 4200 + EQUAL; i++)
        cr_expect_eq(p[i].group, 4200);
    vt_dev_free(dev);
    vt_index_free(index);
    vt_test_tidy();
    free(x);
}

/* The rows of a tile behind the last one of the index are zeros, which a
 * threshold of 0 would let pass: any pair with them is written beyond the
 * arrays. */
Test(pairs, ends_with_the_last_row)
{
    enum { N = ROWS };
    static const int counts[] = {1, 2, 2049, N};
    static vitcl_dupe p[N];
    vt_dev *dev = NULL;
    float *x = calloc((size_t)N * WIDTH, sizeof *x);
    vt_rng r = {5};

    vt_rng_fill(&r, x, (size_t)N * WIDTH, 1, 0);
    for (size_t i = 0; i < (size_t)N * WIDTH; i++)
        x[i] = fabsf(x[i]); /* no cosine is below 0 */
    cr_assert_eq(vt_product_open(&dev, NULL), VITCL_OK, "%s", vt_message());
    for (size_t k = 0; k < VT_COUNT(counts); k++) {
        const uint64_t n = (uint64_t)counts[k];
        vt_index *index = write_index(x, counts[k]);
        uint64_t pairs;

        cr_assert_eq(vt_index_pairs(p, &pairs, index, dev, 0, NULL, NULL),
                     VITCL_OK, "%s", vt_message());
        cr_expect_eq(pairs, n * (n - 1) / 2, "%zu pairs of %d rows",
                     (size_t)pairs, counts[k]);
        for (uint64_t i = 0; i < n; i++) {
            cr_assert_eq(p[i].group, 0);
            cr_assert_lt(p[i].nearest, n);
        }
        vt_index_free(index);
        vt_test_tidy();
    }
    vt_dev_free(dev);
    free(x);
}
