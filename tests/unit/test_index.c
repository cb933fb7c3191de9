/*
 * test_index.c - vectors in files: read back, searched, and hostile files. The
 * arbiter of a search is a sort of all cosines in double.
 */
#include "base/half.h"
#include "base/memory.h"
#include "index/index.h"
#include "product/device.h"
#include "support/pictures.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const vt_about about = {.model_id = ID,
                               .pictures_id = ID,
                               .model = "a \"model\"\n",
                               .feature = "pooled",
                               .height = 32,
                               .width = 48,
                               .normalized = true};
static char *folder, *file;

static void begin(void)
{
    static char path[512];

    folder = vt_test_folder();
    snprintf(path, sizeof path, "%s/i.safetensors", folder);
    file = path;
}

static void end(void)
{
    unlink(file);
    cr_expect_eq(rmdir(folder), 0, "a file was left");
}

TestSuite(index, .init = begin, .fini = end);

static void write_index(const float *x, uint32_t rows, uint32_t width,
                        bool half)
{
    vt_vectors *v = NULL;

    cr_assert_eq(
        vt_vectors_open(&v, file, &about, (vt_row_shape){.width = width}, half),
        VITCL_OK, "%s", vt_message());
    for (uint32_t i = 0; i < rows; i++) {
        char path[32];
        const vt_vectors_row row = {.path = path,
                                    .stamp = {(int64_t)i, -(int64_t)i},
                                    .numbers = x + (size_t)i * width};

        snprintf(path, sizeof path, "p%u\n\xff", i % 1000);
        cr_assert_eq(vt_vectors_add(v, &row), VITCL_OK);
    }
    cr_assert_eq(vt_vectors_finish(v), VITCL_OK, "%s", vt_message());
    vt_vectors_free(v);
}

static double cosine(const float *a, const float *b, uint32_t width, bool half)
{
    double ab = 0, aa = 0, bb = 0;

    for (uint32_t i = 0; i < width; i++) {
        const double x =
            (double)(half ? vt_f16_to_f32(vt_f32_to_f16(a[i])) : a[i]);

        ab += x * (double)b[i];
        aa += x * x;
        bb += (double)b[i] * (double)b[i];
    }
    return ab / sqrt(aa * bb);
}

/* Every hit has its own cosine, they descend, and no row that was left out is
 * nearer than the last one. */
static void check(const vitcl_hit *hits, uint32_t found, const float *x,
                  const float *query, uint32_t rows, uint32_t width, bool half)
{
    bool *seen = calloc(rows, sizeof *seen);

    for (uint32_t i = 0; i < found; i++) {
        cr_assert_lt(hits[i].row, rows);
        cr_assert_not(seen[hits[i].row], "twice");
        seen[hits[i].row] = true;
        cr_expect_float_eq((double)hits[i].cosine,
                           cosine(x + hits[i].row * width, query, width, half),
                           2e-6);
        cr_expect(i == 0 || hits[i - 1].cosine >= hits[i].cosine);
    }
    for (uint32_t r = 0; r < rows && found; r++)
        if (!seen[r]) {
            const double c = cosine(x + (size_t)r * width, query, width, half);
            cr_expect(!(c > (double)hits[found - 1].cosine + 2e-6), "row %u",
                      r);
        }
    free(seen);
}

static vitcl_status nearest(vitcl_hit *hits, uint32_t *found, const vt_index *x,
                            const float *q, uint32_t n, uint32_t k, float least)
{
    return vt_index_nearest(hits, found, x, q, n, k, least, NULL, NULL);
}

static void search(uint32_t rows, uint32_t width, uint32_t k, bool half)
{
    const uint32_t n = 3;
    float *x = calloc((size_t)(rows + n) * width, sizeof *x);
    float *q = x + (size_t)rows * width;
    vitcl_hit *hits = calloc((size_t)n * k, sizeof *hits);
    uint32_t found[3];
    vt_index *index = NULL;
    vt_rng r = {rows + width};

    vt_rng_fill(&r, x, (size_t)(rows + n) * width, 1, 0);
    write_index(x, rows, width, half);
    cr_assert_eq(vt_index_open(&index, file), VITCL_OK, "%s", vt_message());
    cr_assert_eq(vt_index_count(index), rows);
    cr_assert_eq(nearest(hits, found, index, q, n, k, -2), VITCL_OK);
    for (uint32_t i = 0; i < n; i++) {
        cr_expect_eq(found[i], k < rows ? k : rows);
        check(hits + (size_t)i * k, found[i], x, q + (size_t)i * width, rows,
              width, half);
    }
    vt_index_free(index);
    free(x);
    free(hits);
}

Test(index, finds_the_nearest)
{
    static const uint32_t widths[] = {1, 2, 7, 31, 32, 33, 101, 768};

    for (size_t w = 0; w < VT_COUNT(widths); w++)
        for (int half = 0; half < 2; half++) {
            search(1, widths[w], 1, half);
            search(97, widths[w], 5, half);
            search(97, widths[w], 200, half);
        }
    search(5003, 33, 17, false); /* more than one piece and thread */
    search(5003, 33, 17, true);
}

Test(index, equal_vectors_come_by_row)
{
    enum { ROWS = 9000, WIDTH = 64, K = 11 };
    float *x = calloc((size_t)ROWS * WIDTH, sizeof *x), q[WIDTH] = {1};
    vitcl_hit hits[K];
    vt_index *index = NULL;
    uint32_t found;

    for (size_t i = 0; i < ROWS; i++)
        x[i * WIDTH + i % 2] = 3; /* even rows are the query */
    write_index(x, ROWS, WIDTH, false);
    cr_assert_eq(vt_index_open(&index, file), VITCL_OK);
    for (int run = 0; run < 3; run++) {
        cr_assert_eq(nearest(hits, &found, index, q, 1, K, 0.5f), VITCL_OK);
        cr_assert_eq(found, K);
        for (uint32_t i = 0; i < K; i++) {
            cr_expect_eq(hits[i].row, 2 * i);
            cr_expect_float_eq(hits[i].cosine, 1.0f, 1e-6);
        }
    }
    vt_index_free(index);
    free(x);
}

Test(index, leaves_out_what_has_no_direction)
{
    float x[6][3] = {{NAN, NAN, NAN}, {0, 0, 0},   {INFINITY, 1, 1},
                     {1, 2, 3},       {0, NAN, 0}, {NAN, 1, 1}};
    const float q[3] = {1, 2, 3}, zero[3] = {0}, nan[3] = {NAN, 0, 0};
    vitcl_hit hits[6];
    vt_index *index = NULL;
    uint32_t found = 0;

    for (int half = 0; half < 2; half++) {
        write_index(x[0], 6, 3, half);
        cr_assert_eq(vt_index_open(&index, file), VITCL_OK);
        cr_assert_eq(nearest(hits, &found, index, q, 1, 6, -2), VITCL_OK);
        cr_assert_eq(found, 1);
        cr_expect_eq(hits[0].row, 3);
        cr_expect_eq(nearest(hits, &found, index, zero, 1, 6, -2),
                     VITCL_EINVAL);
        cr_expect_eq(nearest(hits, &found, index, nan, 1, 6, -2), VITCL_EINVAL);
        vt_index_free(index);
    }
}

/* The bits of the two products that it is made of. */
Test(index, a_cosine_in_one_pass)
{
    enum { WIDTH = 301 };
    float a[WIDTH], b[WIDTH], length;
    vt_rng r = {6};

    for (size_t n = 1; n <= WIDTH; n++) {
        vt_rng_fill(&r, a, n, 1, 0);
        vt_rng_fill(&r, b, n, 1, 0);
        const float cosine = vt_cosine(&length, a, b, n);

        cr_expect_eq(length, vt_length(a, n));
        cr_expect_eq(cosine, vt_dot(a, b, n) / length, "%zu numbers", n);
    }
}

/* The same bits as those of the numbers that are widened before. */
Test(index, a_cosine_of_16_bits)
{
    enum { WIDTH = 301 };
    static const float scale[] = {1, 1e-4f, 1e-7f, 0, 3e4f, INFINITY, NAN};
    float a[WIDTH], b[WIDTH], wide[WIDTH], length, of_wide;
    uint16_t h[WIDTH];
    vt_rng r = {7};

    for (size_t k = 0; k < sizeof scale / sizeof *scale; k++)
        for (size_t n = 1; n <= WIDTH; n++) {
            vt_rng_fill(&r, a, n, 1, 0);
            vt_rng_fill(&r, b, n, 1, 0);
            a[n / 2] *= scale[k]; /* subnormal, zero, too large for f16 */
            for (size_t i = 0; i < n; i++)
                h[i] = vt_f32_to_f16(a[i]);
            const float cosine = vt_cosine_f16(&length, wide, h, b, n);

            vt_widen(a, h, n);
            const float want = vt_cosine(&of_wide, a, b, n);

            cr_expect_eq(length, of_wide, "%zu numbers, %g", n, scale[k]);
            if (length > 0)
                cr_expect_eq(cosine, want, "%zu numbers, %g", n, scale[k]);
        }
}

/* The squares of such numbers are infinite or zero in f32. */
Test(index, finds_long_and_short_vectors)
{
    enum { N = 9, WIDTH = 37 };
    static const float scale[N] = {1,      1e36f,  1e-30f, 3e38f, 1e-38f,
                                   1e-44f, 1e-21f, 1e19f,  1e-19f};
    float x[N][WIDTH], q[WIDTH];
    vitcl_hit hits[N];
    vitcl_dupe dupes[N] = {{0}};
    vt_dev *dev = NULL;
    uint64_t pairs;
    vt_index *index = NULL;
    vt_rng r = {5};
    uint32_t found = 0;

    for (int i = 0; i < WIDTH; i++)
        q[i] = (float)(i % 5 - 2) / 2;
    for (int n = 0; n < N; n++) /* the same direction */
        for (int i = 0; i < WIDTH; i++)
            x[n][i] = q[i] * scale[n];
    write_index(x[0], N, WIDTH, false);
    cr_assert_eq(vt_index_open(&index, file), VITCL_OK);
    for (int n = 0; n < N; n++) {
        cr_assert_eq(nearest(hits, &found, index, x[n], 1, N, -2), VITCL_OK);
        cr_assert_eq(found, N, "%u", found);
        for (uint32_t i = 0; i < found; i++)
            cr_expect(n == 5 || hits[i].row == 5 || hits[i].cosine > 0.999999f,
                      "row %d: %g", (int)hits[i].row, (double)hits[i].cosine);
    }
    cr_assert_eq(vt_product_open(&dev, NULL), VITCL_OK, "%s", vt_message());
    cr_assert_eq(vt_index_pairs(dupes, &pairs, index, dev, 0.99f, NULL, NULL),
                 VITCL_OK, "%s", vt_message());
    cr_expect_eq(pairs, N * (N - 1) / 2);
    vt_dev_free(dev);
    vt_index_free(index);

    /* Other directions, each scaled. */
    vt_rng_fill(&r, x[0], N * WIDTH, 1, 0);
    for (int n = 0; n < N; n++)
        for (int i = 0; i < WIDTH; i++)
            x[n][i] *= n == 5 ? 1 : scale[n] / 10;
    write_index(x[0], N, WIDTH, false);
    cr_assert_eq(vt_index_open(&index, file), VITCL_OK);
    cr_assert_eq(nearest(hits, &found, index, q, 1, N, -2), VITCL_OK);
    cr_expect_eq(found, N);
    check(hits, found, x[0], q, N, WIDTH, false);
    vt_index_free(index);
}

Test(index, counts_what_f16_cannot_hold)
{
    const float x[5][2] = {{1, 2}, {70000, 1}, {1e-9f, 0}, {0, 0}, {NAN, NAN}};
    vt_vectors *v = NULL;

    for (int half = 0; half < 2; half++) {
        cr_assert_eq(
            vt_vectors_open(&v, file, &about, (vt_row_shape){.width = 2}, half),
            VITCL_OK);
        for (int i = 0; i < 5; i++)
            cr_assert_eq(vt_vectors_add(v, &(vt_vectors_row){.path = "p",
                                                             .numbers = x[i]}),
                         VITCL_OK);
        cr_expect_eq(vt_vectors_unfit(v), half ? 2 : 0);
        vt_vectors_free(v);
    }
}

/* ---- where the pictures are ---- */

static void make(const char *name)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "w");
    cr_assert(f);
    fclose(f);
}

static void drop(const char *name)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    remove(path);
}

static void is_place(vt_index *x, const char *want, bool moved)
{
    static vt_places p;
    static char path[VT_PLACE];
    bool got;

    vt_places_open(&p, x);
    cr_expect_str_eq(vt_place(path, &got, &p, 0), want);
    cr_expect_eq(got, moved, "%s", want);
}

Test(index, finds_the_pictures)
{
    vt_about a = about;
    char sub[300], want[512];

    snprintf(sub, sizeof sub, "%s/sub", folder);
    cr_assert_eq(mkdir(sub, 0700), 0);
    cr_assert_eq(chdir(sub), 0);
    for (int said = 0; said < 3; said++) { /* no folder, one, a former one */
        vt_vectors *v = NULL;
        vt_index *x = NULL;

        if (said)
            snprintf(a.folder, sizeof a.folder, "%s%s", said == 1 ? sub : "/no",
                     said == 1 ? "" : sub);
        cr_assert_eq(
            vt_vectors_open(&v, file, &a, (vt_row_shape){.width = 1}, false),
            VITCL_OK);
        cr_assert_eq(
            vt_vectors_add(
                v, &(vt_vectors_row){.path = "p", .numbers = &(float){1}}),
            VITCL_OK);
        cr_assert_eq(vt_vectors_finish(v), VITCL_OK);
        vt_vectors_free(v);
        cr_assert_eq(vt_index_open(&x, file), VITCL_OK);
        cr_expect_str_eq(vt_index_about(x)->folder, a.folder);
        snprintf(want, sizeof want, "%s/p", sub);
        for (int here = 0; here < 2; here++) {
            cr_assert_eq(chdir(here ? sub : "/"), 0);
            snprintf(want, sizeof want, "%s/p", sub);
            is_place(x, said == 1 && !here ? want : "p", false);
            make("p"); /* beside the index */
            snprintf(want, sizeof want, "%s/p", folder);
            is_place(x, want, true);
            if (said == 1 || here) {
                make("sub/p");
                snprintf(want, sizeof want, "%s/p", sub);
                is_place(x, here ? "p" : want, false);
                drop("sub/p");
            }
            drop("p");
        }
        vt_index_free(x);
    }
    cr_assert_eq(chdir("/"), 0);
    rmdir(sub);
}

Test(index, reads_what_was_written)
{
    const float x[4] = {1, 2, 3, 4};
    vt_index *index = NULL;
    float row[2];
    vt_about other = about;

    write_index(x, 2, 2, false);
    cr_assert_eq(vt_index_open(&index, file), VITCL_OK, "%s", vt_message());
    cr_expect_str_eq(vt_index_path(index, 1), "p1\n\xff");
    cr_expect_eq(vt_index_stamp(index, 1).size, 1);
    cr_expect_eq(vt_index_stamp(index, 1).changed, -1);
    cr_expect_str_eq(vt_index_about(index)->model, about.model);
    cr_expect_eq(vt_index_about(index)->height, 32);
    cr_expect_eq(vt_index_about(index)->width, 48);
    cr_assert_eq(vt_index_rows(row, NULL, index, 1, 1), VITCL_OK);
    cr_expect(row[0] == 3 && row[1] == 4);
    cr_assert_eq(vt_index_sort(index), VITCL_OK);
    cr_expect_eq(vt_index_find(index, "p0\n\xff"), 0);
    cr_expect_eq(vt_index_find(index, "p1\n\xff"), 1);
    cr_expect_eq(vt_index_find(index, "p1"), 2);
    cr_expect_eq(vt_index_agrees(index, &about), VITCL_OK);
    other.model_id[3] = 'f';
    cr_expect_eq(vt_index_agrees(index, &other), VITCL_EINVAL);
    other = about;
    other.pictures_id[3] = 'f';
    cr_expect_eq(vt_index_agrees(index, &other), VITCL_EINVAL);
    other = about;
    other.feature[0] = 'c';
    cr_expect_eq(vt_index_agrees(index, &other), VITCL_EINVAL);
    other = about;
    other.normalized = false;
    cr_expect_eq(vt_index_agrees(index, &other), VITCL_EINVAL);
    vt_index_free(index);
    write_index(x, 0, 2, true);
    cr_assert_eq(vt_index_open(&index, file), VITCL_OK, "%s", vt_message());
    cr_expect_eq(vt_index_count(index), 0);
    vt_index_free(index);
}

Test(index, every_16_bit_number_is_widened)
{
    enum { N = 65536 };
    uint16_t *h = calloc(N, sizeof *h);
    float *f = calloc(N, sizeof *f);

    for (int odd = 0; odd < 2; odd++) { /* in vectors, and one by one */
        for (uint32_t i = 0; i < N; i++)
            h[i] = (uint16_t)i;
        for (uint32_t i = 0; i < N; i += odd ? 1 : N)
            vt_widen(f + i, h + i, odd ? 1 : N);
        for (uint32_t i = 0; i < N; i++) {
            const float want = vt_f16_to_f32((uint16_t)i);

            if (isfinite(want))
                cr_assert_eq(memcmp(&f[i], &want, sizeof want), 0, "%04x", i);
            else
                cr_assert(isnan(f[i]), "%04x", i);
        }
    }
    free(h);
    free(f);
}

/* ---- hostile files ---- */

#define META                                                                   \
    "\"__metadata__\":{\"format\":\"vitcl index 1\",\"model\":\"m\","          \
    "\"model_id\":\"" ID "\",\"pictures_id\":\"" ID "\","                      \
    "\"feature\":\"pooled\",\"size\":\"0x0\",\"normalized\":\"true\"}"
#define FEATURES                                                               \
    "\"features\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]}"
#define STAMPS                                                                 \
    "\"stamps\":{\"dtype\":\"I64\",\"shape\":[2,2],\"data_offsets\":[8,40]}"
#define PATHS                                                                  \
    "\"paths\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[40,44]}"

static vitcl_status open_made(const char *header, const char *paths)
{
    const uint64_t n = strlen(header);
    const char zeros[40] = {0};
    vt_index *x = NULL;
    vitcl_status st;
    FILE *f = fopen(file, "wb");

    cr_assert(f);
    for (int i = 0; i < 8; i++)
        fputc((int)(n >> 8 * i & 255), f);
    fputs(header, f);
    fwrite(zeros, 1, 40, f);
    fwrite(paths, 1, 4, f);
    fclose(f);
    st = vt_index_open(&x, file);
    vt_index_free(x);
    return st;
}

Test(index, refuses_hostile_files)
{
    static const char *const headers[] = {
        "{" FEATURES "," STAMPS "," PATHS "}", /* no metadata */
        "{\"__metadata__\":{\"format\":\"pt\"}," FEATURES "," STAMPS "," PATHS
        "}",
        "{" META
        ",\"features\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":"
        "[0,8]}," STAMPS "," PATHS "}",
        "{" META
        ",\"features\":{\"dtype\":\"F64\",\"shape\":[1,1],\"data_offsets\":"
        "[0,8]}," STAMPS "," PATHS "}",
        "{" META
        ",\"features\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":"
        "[0,8]}," STAMPS "," PATHS "}", /* one row, two paths */
        "{" META ",\"features\":{\"dtype\":\"F32\",\"shape\":[9223372036854775"
        "807,0],\"data_offsets\":[0,0]},\"x\":{\"dtype\":\"F32\",\"shape\":[2]"
        ",\"data_offsets\":[0,8]}," STAMPS "," PATHS "}",
        "{" META "," FEATURES
        ",\"stamps\":{\"dtype\":\"I64\",\"shape\":[4],\"data_offsets\":[8,40]"
        "}," PATHS "}",
        "{" META "," FEATURES
        ",\"stamps\":{\"dtype\":\"I64\",\"shape\":[1,4],\"data_offsets\":[8,"
        "40]}," PATHS "}",
        "{" META "," FEATURES ",\"other\":{\"dtype\":\"I64\",\"shape\":[2,2],"
        "\"data_offsets\":[8,40]}," PATHS "}",
        "{" META "," FEATURES "," STAMPS
        ",\"paths\":{\"dtype\":\"U8\",\"shape\":[2,2],\"data_offsets\":[40,"
        "44]}}",
        "{" META "," FEATURES "," STAMPS
        ",\"paths\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[40,"
        "4000]}}", /* beyond the end */
        "{" META "," FEATURES "," STAMPS
        ",\"paths\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[36,"
        "40]}}", /* inside another */
    };
    static const char paths[][5] = {"abcd", "abc", "\0\0\0\0"};

    for (size_t i = 0; i < VT_COUNT(headers); i++) {
        cr_expect_neq(open_made(headers[i], "a\0b"), VITCL_OK, "header %zu", i);
        cr_expect(strstr(vt_message(), file), "%s", vt_message());
    }
    for (size_t i = 0; i < VT_COUNT(paths); i++)
        cr_expect_eq(
            open_made("{" META "," FEATURES "," STAMPS "," PATHS "}", paths[i]),
            VITCL_ECORRUPT, "paths %zu", i);
    cr_expect_eq(
        open_made("{" META "," FEATURES "," STAMPS "," PATHS "}", "a\0b"),
        VITCL_OK, "%s", vt_message());
    cr_expect_neq(open_made("{", "a\0b"), VITCL_OK);
}

/* Reads all that is in the file; a bit that has changed is an error. */
static vitcl_status read_all(uint32_t step)
{
    vt_index *x = NULL;
    vitcl_status st = vt_index_open(&x, file);
    float *row = NULL;
    uint16_t *narrow = NULL;

    if (st == VITCL_OK) {
        row = calloc((size_t)step * vt_index_width(x), sizeof *row);
        narrow = calloc((size_t)step * vt_index_width(x), sizeof *narrow);
        for (uint64_t i = 0; i < vt_index_count(x) && st == VITCL_OK; i += step)
            st = vt_index_rows(row, narrow, x, i,
                               VT_MIN(step, vt_index_count(x) - i));
    }
    vt_index_free(x);
    free(row);
    free(narrow);
    return st;
}

Test(index, damage_is_noticed)
{
    static const uint32_t steps[] = {1, 100, 256, 700};
    const uint32_t rows = 700, width = 200; /* blocks of 256 rows */
    float *x = calloc((size_t)rows * width, sizeof *x);
    vt_rng r = {3};

    vt_rng_fill(&r, x, (size_t)rows * width, 1, 0);
    for (int half = 0; half < 2; half++) {
        FILE *f;
        long size;

        write_index(x, rows, width, half);
        for (size_t i = 0; i < 4; i++)
            cr_assert_eq(read_all(steps[i]), VITCL_OK, "%s", vt_message());
        cr_assert(f = fopen(file, "r+b"));
        fseek(f, 0, SEEK_END);
        size = ftell(f);
        for (int i = 0; i < 120; i++) {
            /* a third of them in the head, and a third behind the vectors */
            const long part = i % 3 == 0   ? 700
                              : i % 3 == 1 ? 24000
                                           : size,
                       at = (i % 3 == 1 ? size - part : 0) +
                            (long)(vt_rng_bits(&r) % (uint64_t)part);
            const int bit = 1 << (vt_rng_bits(&r) >> 16) % 8;
            int old;

            fseek(f, at, SEEK_SET), old = fgetc(f);
            fseek(f, at, SEEK_SET), fputc(old ^ bit, f), fflush(f);
            cr_expect_neq(read_all(steps[i % 4]), VITCL_OK, "byte %ld", at);
            fseek(f, at, SEEK_SET), fputc(old, f), fflush(f);
        }
        fclose(f);
        cr_assert_eq(read_all(64), VITCL_OK, "%s", vt_message());
    }
    free(x);
}
