/*
 * test_index_api.c - indexes through the public header: what they say, their
 * rows, searches and near-duplicates. Cosines are computed in double.
 */
#include "base/memory.h"
#include "index/index.h"
#include "support/pictures.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vitcl_index.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

enum { ROWS = 40, WIDTH = 24 };

static char *folder;
static float x[ROWS][WIDTH];

static void begin(void)
{
    vt_rng r = {7};

    folder = vt_test_folder();
    vt_rng_fill(&r, x[0], (size_t)ROWS * WIDTH, 1, 0);
}

TestSuite(index_api, .init = begin, .fini = vt_test_tidy);

/* The path of row i: its file has those bytes. */
static const char *name_of(uint32_t i)
{
    static char name[32];

    snprintf(name, sizeof name, "p%u.jpg", i);
    return name;
}

static vitcl_index *write_index(bool half, vt_row_shape shape)
{
    const char *path = vt_test_path(folder, "i.safetensors");
    const size_t count = vt_row_count(shape);
    vt_about about = {.model_id = ID,
                      .pictures_id = ID,
                      .model = "/models/x",
                      .feature = "pooled",
                      .height = 32,
                      .width = 48,
                      .normalized = true};
    vt_vectors *v = NULL;
    vitcl_index *index = NULL;

    snprintf(about.folder, sizeof about.folder, "%s", folder);
    cr_assert_eq(vt_vectors_open(&v, path, &about, shape, half), VITCL_OK);
    for (uint32_t i = 0; i < ROWS * WIDTH / count; i++)
        cr_assert_eq(
            vt_vectors_add(v, &(vt_vectors_row){.path = name_of(i),
                                                .stamp = {i, 1000 + (int)i},
                                                .numbers = x[0] + i * count}),
            VITCL_OK);
    cr_assert_eq(vt_vectors_finish(v), VITCL_OK, "%s", vitcl_last_error());
    vt_vectors_free(v);
    cr_assert_eq(vitcl_index_open(&index, path), VITCL_OK, "%s",
                 vitcl_last_error());
    return index;
}

static double cosine(const float *a, const float *b)
{
    double ab = 0, aa = 0, bb = 0;

    for (int i = 0; i < WIDTH; i++) {
        ab += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return ab / sqrt(aa * bb);
}

Test(index_api, says_what_it_is)
{
    const vt_row_shape shapes[] = {
        {0, 0, WIDTH}, {0, 4, WIDTH / 4}, {2, 3, WIDTH / 6}};

    for (uint32_t s = 0; s < VT_COUNT(shapes); s++) {
        vitcl_index *index = write_index(s == 1, shapes[s]);
        vitcl_index_info info = {.size = sizeof info};

        cr_assert_eq(vitcl_index_describe(&info, index), VITCL_OK);
        cr_expect_eq(info.rows, ROWS);
        cr_expect_eq(info.width, WIDTH);
        cr_expect_eq(info.rank, s + 1);
        cr_expect_eq(info.shape[s], shapes[s].width);
        cr_expect_eq(info.shape[0], s == 0 ? WIDTH : s == 1 ? 4 : 2);
        cr_expect_eq(info.f16, s == 1);
        cr_expect_eq(info.normalized, 1);
        cr_expect_eq(info.picture_height, 32);
        cr_expect_eq(info.picture_width, 48);
        cr_expect_str_eq(info.feature, "pooled");
        cr_expect_str_eq(info.pixels, "pillow");
        cr_expect_str_eq(info.model_id, ID);
        cr_expect_str_eq(info.model, "/models/x");
        cr_expect_str_eq(info.folder, folder);
        vitcl_index_free(index);
    }
}

Test(index_api, gives_rows)
{
    for (int half = 0; half < 2; half++) {
        vitcl_index *index = write_index(half, (vt_row_shape){.width = WIDTH});
        vitcl_row_info row = {.size = sizeof row};
        float got[ROWS][WIDTH];

        cr_assert_eq(vitcl_index_vectors(got[0], index, 0, ROWS), VITCL_OK);
        cr_assert_eq(vitcl_index_vectors(got[3], index, 39, 1), VITCL_OK);
        for (int i = 0; i < WIDTH; i++) {
            cr_expect_float_eq(got[7][i], x[7][i], half ? 1e-3 : 0);
            cr_expect_float_eq(got[3][i], x[39][i], half ? 1e-3 : 0);
        }
        cr_expect_eq(vitcl_index_vectors(got[0], index, ROWS, 0), VITCL_OK);
        cr_expect_eq(vitcl_index_vectors(got[0], index, ROWS, 1), VITCL_EINVAL);
        cr_expect_eq(vitcl_index_vectors(got[0], index, 1, UINT64_MAX),
                     VITCL_EINVAL);
        cr_assert_eq(vitcl_index_row(&row, index, 11), VITCL_OK);
        cr_expect_str_eq(row.name, "p11.jpg");
        cr_expect_str_eq(row.path, vt_test_path(folder, "p11.jpg"));
        cr_expect_eq(row.bytes, 11);
        cr_expect_eq(row.changed_ns, 1011);
        cr_expect_eq(vitcl_index_row(&row, index, ROWS), VITCL_EINVAL);
        vitcl_index_free(index);
    }
}

static int count_rows(void *context, uint64_t done, uint64_t total)
{
    *(uint64_t *)context = done;
    return total != ROWS;
}

static int stop(void *context, uint64_t done, uint64_t total)
{
    (void)context, (void)done, (void)total;
    return 1;
}

Test(index_api, searches)
{
    vitcl_index *index = write_index(false, (vt_row_shape){.width = WIDTH});
    vitcl_hit hits[2 * 50];
    uint32_t found[2];
    uint64_t done = 0;

    cr_assert_eq(vitcl_index_search(hits, found, index, x[20], 2, 50, -1,
                                    count_rows, &done),
                 VITCL_OK);
    cr_expect_eq(done, ROWS);
    for (uint32_t q = 0; q < 2; q++) {
        const vitcl_hit *h = hits + (size_t)q * 50;

        cr_assert_eq(found[q], ROWS);
        cr_expect_eq(h[0].row, 20 + q);
        for (uint32_t i = 0; i < ROWS; i++) {
            cr_expect_float_eq((double)h[i].cosine,
                               cosine(x[h[i].row], x[20 + q]), 2e-6);
            cr_expect(i == 0 || h[i].cosine <= h[i - 1].cosine);
        }
    }
    cr_assert_eq(
        vitcl_index_search(hits, found, index, x[5], 1, 50, 1, NULL, NULL),
        VITCL_OK);
    cr_expect_eq(found[0], 1, "equal vectors have cosine 1 but for rounding");
    cr_expect_eq(
        vitcl_index_search(hits, found, index, x[5], 1, 50, -1, stop, NULL),
        VITCL_ESTOPPED);
    cr_expect_eq(
        vitcl_index_search(hits, found, index, x[5], 1, 0, -1, NULL, NULL),
        VITCL_EINVAL);
    cr_expect_eq(
        vitcl_index_search(hits, found, index, x[5], 1, 1, NAN, NULL, NULL),
        VITCL_EINVAL);
    vitcl_index_free(index);
}

static void make_file(const char *name)
{
    vt_test_text(folder, name, name);
}

/* Rows 0 to 2 are nearly the same, and 5 to 7 the same. The file of row 1 is
 * gone, row 6 has that of row 5, and row 9 has no direction. */
Test(index_api, finds_duplicates)
{
    vitcl_device *device = NULL;
    vitcl_dupe row[ROWS];
    vitcl_index *index;

    for (int i = 0; i < WIDTH; i++) {
        x[1][i] = x[0][i] + 0.1f * x[1][i];
        x[2][i] = x[0][i] + 0.2f * x[2][i];
        x[5][i] = x[6][i] = x[7][i];
        x[9][i] = 0;
    }
    index = write_index(false, (vt_row_shape){.width = WIDTH});
    cr_assert_eq(vitcl_device_open(&device, getenv("VITCL_TEST_DEVICE")),
                 VITCL_OK);
    cr_assert_eq(vitcl_index_dupes(row, index, device, 0.85, NULL, NULL),
                 VITCL_OK, "%s", vitcl_last_error());
    cr_expect_eq(row[0].state, VITCL_ROW_LOST, "no file is there");
    cr_expect_eq(row[1].group, 0);

    for (uint32_t i = 0; i < ROWS; i++)
        if (i != 1 && i != 6)
            make_file(name_of(i));
    cr_assert_eq(
        link(vt_test_path(folder, "p5.jpg"), vt_test_path(folder, "p6.jpg")),
        0);
    cr_assert_eq(vitcl_index_dupes(row, index, device, 0.85, NULL, NULL),
                 VITCL_OK);
    for (uint64_t i = 0; i < ROWS; i++) {
        const uint64_t group = i == 2   ? 0
                               : i == 7 ? 5
                                        : i,
                       nearest = i == 0   ? 2
                                 : i == 2 ? 0
                                 : i == 5 ? 7
                                 : i == 7 ? 5
                                          : i;

        cr_expect_eq(row[i].group, group, "row %d", (int)i);
        cr_expect_eq(row[i].nearest, nearest, "row %d", (int)i);
        cr_expect_float_eq(
            (double)row[i].cosine,
            nearest == i ? 0 : VT_MIN(cosine(x[i], x[nearest]), 1), 2e-6);
        cr_expect_eq(row[i].state, i == 1   ? VITCL_ROW_GONE
                                   : i == 6 ? VITCL_ROW_AGAIN
                                   : i == 9 ? VITCL_ROW_EMPTY
                                            : VITCL_ROW_COMPARED);
    }
    /* a negative threshold joins all, each with its nearest */
    cr_assert_eq(vitcl_index_dupes(row, index, device, -1, NULL, NULL),
                 VITCL_OK);
    for (uint64_t i = 0; i < ROWS; i++)
        if (row[i].state == VITCL_ROW_COMPARED) {
            cr_expect_eq(row[i].group, 0);
            cr_expect_neq(row[i].nearest, i);
        }
    cr_expect_eq(vitcl_index_dupes(row, index, device, 0.85, stop, NULL),
                 VITCL_ESTOPPED);
    cr_expect_eq(vitcl_index_dupes(row, index, device, 1.5, NULL, NULL),
                 VITCL_EINVAL);
    vitcl_device_free(device);
    vitcl_index_free(index);
}

Test(index_api, refuses_other_models_and_many_vectors)
{
    vitcl_index *index = write_index(false, (vt_row_shape){.width = WIDTH});
    vitcl_model *model = NULL;
    vitcl_hit hit;
    uint32_t found;

    cr_assert_eq(vitcl_model_load(&model, NULL, VITCL_MODEL_BUILTIN), VITCL_OK);
    cr_expect_eq(vitcl_index_check(index, model), VITCL_EINVAL);
    cr_expect(strstr(vitcl_last_error(), "another model"));
    vitcl_index_free(index);
    vitcl_model_free(model);
    index = write_index(false, (vt_row_shape){0, 4, WIDTH / 4});
    cr_expect_eq(
        vitcl_index_search(&hit, &found, index, x[0], 1, 1, -1, NULL, NULL),
        VITCL_EUNSUPPORTED);
    vitcl_index_free(index);
}
