/*
 * test_formats.c - WebP, GIF, TIFF, AVIF, HEIC, TGA, PNM and RAW against Pillow
 * 13: size and SHA-256 of the RGB bytes, or an error.
 *
 * A format whose library this build lacks must be refused by a message that
 * names it. Its rows are then no more than that, and the log says so.
 */
#include "base/file.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "image/decoders.h"
#include "image/formats.h"
#include "support/paths.h"
#include "support/pool.h"

#include <criterion/criterion.h>
#include <criterion/logging.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEAR_MOST = 8 };
#define NEAR_MEAN 1.5
#define FORMATS VT_DATA "/formats/"

typedef vitcl_status decode_fn(vt_picture *out, const void *bytes, size_t size,
                               const char *name);

/* Is the format's library missing, and does the error say so? */
static bool lacked(const vt_file *f)
{
    const vt_picture_format *kind = vt_picture_format_of(f->data, f->size);
    const char *library;

    if (kind && kind->codec == VT_CODEC_TIFF &&
        vt_tiff_is_raw(f->data, f->size))
        kind = &vt_picture_format_raw;
    library = kind ? vt_picture_format_library(kind) : NULL;

    return library && strstr(vt_message(), "which this build lacks") &&
           strstr(vt_message(), library) && strstr(vt_message(), kind->what);
}

static void check_row(const char *name, bool ok, const char *size,
                      const char *hash, decode_fn *decode)
{
    char path[1024], hex[65], got[32];
    vt_picture p = {0};
    uint8_t sum[32];
    vt_file f = {0};
    vitcl_status st;

    snprintf(path, sizeof path, FORMATS "in/%s", name);
    cr_assert_eq(vt_file_read(&f, path, 1 << 24), VITCL_OK, "%s", path);
    st = decode(&p, f.data, f.size, path);
    if (st == VITCL_EUNSUPPORTED && lacked(&f)) {
        cr_log_warn("not compared: %s", vt_message());
        goto done;
    }
    cr_expect_eq(st == VITCL_OK, ok, "%s: %s", name,
                 st ? vt_message() : "decoded");
    if (st == VITCL_OK && ok) {
        snprintf(got, sizeof got, "%u\t%u", p.width, p.height);
        cr_expect_str_eq(got, size, "%s: another size", name);
        vt_sha256(p.rgb, (size_t)p.width * p.height * 3, sum);
        vt_sha256_hex(hex, sum);
        cr_expect_str_eq(hex, hash, "%s: other bytes", name);
    } else if (st != VITCL_OK) {
        cr_expect_null(p.rgb);
        cr_expect(strstr(vt_message(), name) && !strchr(vt_message(), '\n'),
                  "%s", vt_message());
    }
done:
    vt_picture_free(&p);
    vt_file_close(&f);
}

/* Rows: file, ok|error, width, height, hash, with tabs between. */
static int check_table(const char *table, decode_fn *decode)
{
    char line[512], name[128], state[8], width[16], height[16], hash[80];
    char size[40];
    FILE *f = fopen(table, "r");
    int n = 0;

    cr_assert(f, "%s", table);
    for (; fgets(line, sizeof line, f); n++) {
        cr_assert_eq(sscanf(line, "%127s %7s %15s %15s %79s", name, state,
                            width, height, hash),
                     5, "%s", line);
        snprintf(size, sizeof size, "%s\t%s", width, height);
        check_row(name, strcmp(state, "ok") == 0, size, hash, decode);
    }
    fclose(f);
    return n;
}

/* The largest difference, and the mean of all, of two pictures; false: they
 * have other sizes. */
static bool differ(int *most, double *mean, const vt_picture *a,
                   const vt_picture *b)
{
    const size_t n = (size_t)a->width * a->height * 3;
    double sum = 0;

    if (a->width != b->width || a->height != b->height)
        return false;
    for (size_t i = 0; i < n; i++) {
        const int d = abs(a->rgb[i] - b->rgb[i]);

        *most = VT_MAX(*most, d);
        sum += d;
    }
    *mean = sum / (double)n;
    return true;
}

static vitcl_status decode_file(vt_picture *out, const char *path,
                                decode_fn *decode)
{
    vt_file f = {0};
    vitcl_status st;

    cr_assert_eq(vt_file_read(&f, path, 1 << 24), VITCL_OK, "%s", path);
    st = decode(out, f.data, f.size, path);
    vt_file_close(&f);
    return st;
}

/* libheif 1.19 turns this one with its colour off by one sample. */
static double allowed(const char *name)
{
    return strcmp(name, "exif8.heic") == 0 ? 4 : NEAR_MEAN;
}

static void check_near(const char *name, const char *ending, decode_fn *decode)
{
    char path[1024], wanted[1024];
    vt_picture p = {0}, want = {0};
    double mean = 0;
    int most = 0;

    snprintf(path, sizeof path, FORMATS "in/%s", name);
    snprintf(wanted, sizeof wanted, FORMATS "near/%s%s", name, ending);
    cr_assert_eq(decode_file(&want, wanted, vt_image_decode), VITCL_OK);
    if (decode_file(&p, path, decode) != VITCL_OK) {
        cr_expect(strstr(vt_message(), "need libheif, which this build lacks"),
                  "%s", vt_message());
        cr_log_warn("not compared: %s", vt_message());
    } else {
        cr_expect(differ(&most, &mean, &p, &want), "%s: %ux%u", name, p.width,
                  p.height);
        cr_expect(most <= NEAR_MOST && mean <= allowed(name), "%s: %d, %g",
                  name, most, mean);
    }
    vt_picture_free(&p);
    vt_picture_free(&want);
}

/* AVIF and HEIC, whose decoders may round and enlarge as they like. */
Test(formats, near)
{
    static const char *const names[] = {
        "lossless.avif", "lossy.avif", "alpha.avif", "exif6.avif",
        "exif7.avif",    "two.avif",   "lossy.heic", "full.heic",
        "alpha.heic",    "exif8.heic", "exif5.heic"};

    for (size_t i = 0; i < VT_COUNT(names); i++) {
        check_near(names[i], ".ppm", vt_image_decode);
        check_near(names[i], strstr(names[i], "alpha") ? ".white.ppm" : ".ppm",
                   vt_image_decode_on_white);
    }
}

Test(formats, pillow)
{
    cr_expect_geq(check_table(FORMATS "decode.tsv", vt_image_decode), 115);
}

Test(formats, on_white)
{
    cr_expect_geq(check_table(FORMATS "white.tsv", vt_image_decode_on_white),
                  100);
}

/* ---- the opacity of a grey TIFF, most of which Pillow does not open ---- */

static size_t big_endian(uint8_t *to, uint32_t v, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)(v >> 8 * (bytes - 1 - i));
    return bytes;
}

static void put_bits(uint8_t *to, size_t at, uint32_t v, unsigned bits)
{
    for (unsigned i = 0; i < bits; i++, at++)
        if (v >> (bits - 1 - i) & 1)
            to[at / 8] |= (uint8_t)(128 >> at % 8);
}

Test(formats, opacity_of_grey)
{
    enum { PIXELS = 3, DATA = 8 + 2 + 10 * 12 + 4 };
    static const struct {
        unsigned photometric, bits;
        uint32_t black, half, full;
        uint8_t want;
    } kinds[] = {{0, 8, 255, 64, 255, 191},      {1, 8, 0, 64, 255, 191},
                 {0, 4, 15, 4, 15, 187},         {1, 12, 0, 0x400, 0xfff, 191},
                 {1, 16, 0, 0x4000, 65535, 191}, {0, 16, 0, 0x4000, 65535, 191},
                 {1, 32, 0, 1u << 30, ~0u, 191}};

    for (size_t k = 0; k < VT_COUNT(kinds); k++) {
        const unsigned bits = kinds[k].bits;
        const uint32_t alpha[PIXELS] = {0, kinds[k].half, kinds[k].full};
        const uint8_t want[PIXELS] = {255, kinds[k].want, 0};
        const unsigned tags[][2] = {
            {256, PIXELS}, {257, 1}, {258, bits}, {259, 1},  {262, 0},
            {273, DATA},   {277, 2}, {278, 1},    {279, 24}, {338, 2}};
        uint8_t file[DATA + 24] = "MM\0\x2a\0\0\0\x08\0\x0a", *to = file + 10;
        vt_picture p = {0};

        for (size_t i = 0; i < VT_COUNT(tags); i++) {
            const unsigned tag = tags[i][0],
                           v = tag == 262 ? kinds[k].photometric : tags[i][1];

            to += big_endian(to, tag, 2);
            to += big_endian(to, 3, 2); /* 16 bits */
            to += big_endian(to, tag == 258 ? 2 : 1, 4);
            to += big_endian(to, v, 2);
            to += big_endian(to, tag == 258 ? v : 0, 2);
        }
        for (size_t i = 0; i < PIXELS; i++) {
            put_bits(file + DATA, 2 * i * bits, kinds[k].black, bits);
            put_bits(file + DATA, (2 * i + 1) * bits, alpha[i], bits);
        }
        if (vt_image_decode_on_white(&p, file, sizeof file, "a.tif") !=
            VITCL_OK) {
            cr_expect(strstr(vt_message(), "which this build lacks"), "%s",
                      vt_message());
            return;
        }
        for (size_t i = 0; i < PIXELS; i++)
            cr_expect_eq(p.rgb[3 * i], want[i], "photometric %u, %u bits: %u",
                         kinds[k].photometric, bits, p.rgb[3 * i]);
        vt_picture_free(&p);
    }
}

/* Without its last bytes a file is refused, but for what follows a GIF's last
 * row, and never another picture. */
static void check_cut(const char *name, size_t most, size_t fine)
{
    char path[1024];
    vt_picture want = {0};
    vt_file f = {0};

    snprintf(path, sizeof path, FORMATS "in/%s", name);
    cr_assert_eq(vt_file_read(&f, path, 1 << 24), VITCL_OK, "%s", path);
    if (vt_image_decode(&want, f.data, f.size, path) != VITCL_OK) {
        cr_expect(lacked(&f), "%s", vt_message());
        cr_log_warn("not compared: %s", vt_message());
        most = 0;
    }
    for (size_t n = 1; n <= most; n++) {
        vt_picture p = {0};
        const vitcl_status st = vt_image_decode(&p, f.data, f.size - n, path);

        cr_expect_eq(st == VITCL_OK, n <= fine, "%s without %zu bytes", name,
                     n);
        if (st == VITCL_OK)
            cr_expect_arr_eq(p.rgb, want.rgb,
                             (size_t)want.width * want.height * 3);
        vt_picture_free(&p);
    }
    vt_picture_free(&want);
    vt_file_close(&f);
}

Test(formats, cut)
{
    check_cut("pillow.gif", 8, 2);
    check_cut("interlaced.gif", 8, 2);
    check_cut("palette.tif", 8, 0);
    check_cut("palette4.tif", 8, 0);
}

/* ---- in decoder processes ---- */

static const char *const mixed[] = {
    "rgb.tga",      "lossy.webp", "p6_of_31.ppm", "pillow.gif", "lossy.heic",
    "rgb_jpeg.tif", "alpha.avif", "cut.webp",     "p4.pbm",     "preview8.dng",
    "cut.heic",     "cut.tga",    "cut_rows.tif"};

/* What decoding here gives; false: an error, which is in vt_message(). */
static bool prepared(uint8_t *out, const char *path)
{
    vt_picture in = {0}, small = {0};
    vt_preprocess how = vt_test_how();
    const bool ok = decode_file(&in, path, vt_image_decode) == VITCL_OK;

    if (ok) {
        cr_assert_eq(vt_prepare(&small, &in, &how), VITCL_OK);
        memcpy(out, small.rgb, VT_TEST_BYTES);
    }
    vt_picture_free(&in);
    vt_picture_free(&small);
    return ok;
}

/* Pictures that need vitcl-decode-all between others: the same pixels, in
 * order, with the same errors. */
Test(formats, pool)
{
    static uint8_t want[VT_COUNT(mixed)][VT_TEST_BYTES], got[VT_TEST_BYTES];
    char path[VT_COUNT(mixed)][512], says[VT_COUNT(mixed)][512];
    bool ok[VT_COUNT(mixed)];
    vt_preprocess how = vt_test_how();

    for (size_t i = 0; i < VT_COUNT(mixed); i++) {
        snprintf(path[i], sizeof path[i], FORMATS "in/%s", mixed[i]);
        ok[i] = prepared(want[i], path[i]);
        snprintf(says[i], sizeof says[i], "%s", vt_message());
    }
    for (unsigned workers = 1; workers <= 2; workers++) {
        vt_decoder_pool *pool = NULL;

        cr_assert_eq(vt_pool_new(&pool, &how, workers), VITCL_OK);
        for (size_t n = 0; n < 5 * VT_COUNT(mixed); n++)
            cr_assert_eq(vt_pool_push(pool, path[n % VT_COUNT(mixed)]),
                         VITCL_OK);
        for (size_t n = 0; n < 5 * VT_COUNT(mixed); n++) {
            const size_t i = n % VT_COUNT(mixed);
            const vitcl_status st = vt_pool_next(got, pool);

            cr_expect_eq(st == VITCL_OK, ok[i], "%s: %s", mixed[i],
                         vt_message());
            if (ok[i])
                cr_expect_arr_eq(got, want[i], VT_TEST_BYTES, "%s", mixed[i]);
            else
                cr_expect_str_eq(vt_message(), says[i]);
        }
        vt_pool_free(pool);
    }
    cr_expect_not(!VT_TEST_SANITIZED && vt_pool_noted().unlocked);
}

/* Without vitcl-decode-all only the pictures that need it fail. */
Test(formats, without_the_program)
{
    vt_decoder_pool *pool = NULL;
    vt_preprocess how = vt_test_how();
    uint8_t rgb[VT_TEST_BYTES];

    setenv("VITCL_DECODE_ALL", "/nowhere", 1);
    cr_assert_eq(vt_pool_new(&pool, &how, 1), VITCL_OK);
    cr_assert_eq(vt_pool_push(pool, FORMATS "in/lossy.webp"), VITCL_OK);
    cr_assert_eq(vt_pool_push(pool, FORMATS "in/rgb.tga"), VITCL_OK);
    cr_expect_neq(vt_pool_next(rgb, pool), VITCL_OK);
    cr_expect(strstr(vt_message(), "VITCL_DECODE_ALL=/nowhere"), "%s",
              vt_message());
    cr_expect_eq(vt_pool_next(rgb, pool), VITCL_OK, "%s", vt_message());
    vt_pool_free(pool);
}
