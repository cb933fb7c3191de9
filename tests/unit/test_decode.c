/*
 * test_decode.c - pictures of many kinds, unusual and broken ones too, against
 * Pillow 13: size and SHA-256 of the RGB bytes, or an error.
 */
#include "base/file.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "image/decoders.h"
#include "support/paths.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Known differences from the table, and why. */
static const struct {
    const char *file, *reason;
} exceptions[] = {
    /* libjpeg-turbo 3.2 (in Pillow 13) refuses them, 2.1 decodes them */
    {"jpeg/8a9cc8eeed66aeb423a91c44111d9450.jpg", "newer libjpeg-turbo"},
    {"jpeg/afl_id_000831_sync_jpeg9_src_000903.jpg.jpg", "newer libjpeg-turbo"},
    {"jpeg/afl_id_000903_src_000177_op_havoc_rep_2.jpg.jpg",
     "newer libjpeg-turbo"},
    /* broken progressive data, which the two versions smooth differently */
    {"jpeg/8e5e74dbf9b68a322fbb9512db837329.jpg", "newer libjpeg-turbo"},
    {"jpeg/f6b4389c3cf0f5997b2e5a4b905aea8d.jpg", "newer libjpeg-turbo"},
    /* Pillow's own walk over the markers stops at junk that libjpeg skips */
    {"jpeg/a7326ba8f3f4559991126474dd30083d.jpg", "junk between markers"},
    /* a JPEG 2000 with another extension */
    {"jpeg/afl_relax-jpeg2000.jp2.jpg", "JPEG 2000 pictures are not supported"},
};

static bool excepted(const char *file)
{
    for (size_t i = 0; i < VT_COUNT(exceptions); i++)
        if (strcmp(exceptions[i].file, file) == 0)
            return true;
    return false;
}

typedef vitcl_status decode_fn(vt_picture *out, const void *bytes, size_t size,
                               const char *name);

static vitcl_status decode_file(vt_picture *out, const char *path,
                                decode_fn *decode)
{
    vt_file f = {0};
    vitcl_status st = vt_file_read(&f, path, 1 << 30);

    if (st == VITCL_OK)
        st = decode(out, f.data, f.size, path);
    vt_file_close(&f);
    return st;
}

static void check_row(const char *root, const char *file, bool ok,
                      const char *width, const char *height, const char *hash,
                      decode_fn *decode)
{
    char path[2048], hex[65];
    vt_picture p = {0};
    uint8_t sum[32];
    vitcl_status st;

    snprintf(path, sizeof path, "%s/%s", root, file);
    st = decode_file(&p, path, decode);
    if (excepted(file)) {
        vt_picture_free(&p);
        return;
    }
    cr_expect_eq(st == VITCL_OK, ok, "%s: %s", file,
                 st ? vt_message() : "decoded");
    if (st == VITCL_OK && ok) {
        cr_expect(p.width == (unsigned)atoi(width) &&
                      p.height == (unsigned)atoi(height),
                  "%s: %ux%u", file, p.width, p.height);
        vt_sha256(p.rgb, (size_t)p.width * p.height * 3, sum);
        vt_sha256_hex(hex, sum);
        cr_expect_str_eq(hex, hash, "%s: other bytes", file);
    }
    if (st != VITCL_OK) {
        cr_expect_null(p.rgb);
        cr_expect(strncmp(vt_message(), path, 80) == 0 ||
                      strstr(vt_message(), file),
                  "no file name in: %s", vt_message());
    }
    vt_picture_free(&p);
}

static int check_table(const char *table, const char *root, decode_fn *decode)
{
    char line[1024];
    FILE *f = fopen(table, "r");
    int n = 0;

    cr_assert(f, "%s", table);
    for (; fgets(line, sizeof line, f); n++) {
        char *cell[5] = {line};

        line[strcspn(line, "\n")] = 0;
        for (int i = 1; i < 5; i++) {
            cell[i] = strchr(cell[i - 1], '\t');
            cr_assert(cell[i], "%s", line);
            *cell[i]++ = 0;
        }
        check_row(root, cell[0], strcmp(cell[1], "ok") == 0, cell[2], cell[3],
                  cell[4], decode);
    }
    fclose(f);
    return n;
}

Test(decode, pillow)
{
    cr_expect_geq(check_table(VT_DATA "/preprocess/decode.tsv",
                              VT_DATA "/preprocess/in", vt_image_decode),
                  60);
}

/* Odd, broken and hostile files, as Pillow reads or refuses them. */
Test(decode, odd)
{
    char table[512], pictures[512];

    vt_test_data(table, "pictures/odd.tsv");
    vt_test_data(pictures, "pictures/odd");
    cr_expect_eq(check_table(table, pictures, vt_image_decode), 469);
}

/* Colour keys, palettes, masks and alpha planes, blended over white. */
Test(decode, on_white)
{
    cr_expect_geq(check_table(VT_DATA "/preprocess/white.tsv",
                              VT_DATA "/preprocess/in",
                              vt_image_decode_on_white),
                  50);
}

static uint8_t nibble(char c)
{
    return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* Decodes a picture given in hex twice, into different memory: both results
 * must equal Pillow's (tools/golden_bmp.py). */
static void check_hex(char *const cell[6])
{
    const size_t size = strlen(cell[5]) / 2;
    uint8_t *bytes = malloc(size), sum[32]; /* exact: ASan sees overruns */
    char hex[65];
    const bool ok = strcmp(cell[1], "ok") == 0;

    for (size_t i = 0; i < size; i++)
        bytes[i] =
            (uint8_t)(nibble(cell[5][2 * i]) << 4 | nibble(cell[5][2 * i + 1]));
    for (int again = 0; again < 2; again++) {
        vt_picture p = {0};
        const vitcl_status st = vt_image_decode(&p, bytes, size, cell[0]);

        cr_expect_eq(st == VITCL_OK, ok, "%s: %s", cell[0],
                     st ? vt_message() : "decoded");
        cr_expect(st == VITCL_OK || strstr(vt_message(), cell[0]));
        if (st != VITCL_OK || !ok)
            continue;
        cr_assert(p.width == (unsigned)atoi(cell[2]) &&
                      p.height == (unsigned)atoi(cell[3]),
                  "%s: %ux%u", cell[0], p.width, p.height);
        vt_sha256(p.rgb, (size_t)p.width * p.height * 3, sum);
        vt_sha256_hex(hex, sum);
        cr_expect_str_eq(hex, cell[4], "%s: other bytes", cell[0]);
        vt_picture_free(&p);
    }
    free(bytes);
}

Test(decode, bmp)
{
    static char line[16384];
    FILE *f = fopen(VT_DATA "/bmp.tsv", "r");
    int n = 0;

    cr_assert(f);
    for (; fgets(line, sizeof line, f); n++) {
        char *cell[6] = {line};

        line[strcspn(line, "\n")] = 0;
        for (int i = 1; i < 6; i++) {
            cell[i] = strchr(cell[i - 1], '\t');
            cr_assert(cell[i], "%s", line);
            *cell[i]++ = 0;
        }
        check_hex(cell);
    }
    fclose(f);
    cr_expect_eq(n, 186);
}

/* Runs that end with the file, without an end code: at an even offset, at an
 * odd one, and within raw pixels. */
Test(decode, bmp_of_runs_to_the_end)
{
    static const struct {
        uint8_t size, codes[6];
        bool good;
    } cases[] = {
        {5, {0, 3, 1, 2, 3}, true},
        {6, {0, 3, 1, 2, 3, 0}, true},
        {4, {0, 3, 1, 2}, false},
        {6, {1, 1, 1, 2, 1, 3}, true},
        {6, {1, 1, 1, 2, 0, 0}, true},
        /* the line ends early */ {4, {1, 1, 0, 2}, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t pixels = 54 + 4 * 4, size = pixels + cases[i].size;
        uint8_t *file = calloc(size, 1); /* ASan sees what is behind it */
        vt_picture p = {0};
        vitcl_status st;

        cr_assert(file);
        file[0] = 'B', file[1] = 'M', file[10] = (uint8_t)pixels;
        file[14] = 40, file[18] = 3, file[22] = 1, file[26] = 1;
        file[28] = 8, file[30] = 1, file[46] = 4;
        for (int k = 0; k < 4; k++)
            memset(file + 54 + 4 * k, 50 * k + 5, 3);
        memcpy(file + pixels, cases[i].codes, cases[i].size);
        st = vt_image_decode(&p, file, size, "a.bmp");
        cr_expect_eq(st, cases[i].good ? VITCL_OK : VITCL_ECORRUPT, "%zu: %s",
                     i, st ? vt_message() : "taken");
        for (int k = 0; p.rgb && k < 9; k++)
            cr_expect_eq(p.rgb[k], i == 4 && k >= 6 ? 5 : 55 + 50 * (k / 3),
                         "%zu: [%d] %d", i, k, p.rgb[k]);
        vt_picture_free(&p);
        free(file);
    }
}

/* Pillow reads these palettes as a picture of another depth. */
Test(decode, bmp_of_few_greys)
{
    static const uint8_t rows[2][4] = {{0x0f, 0x30}, {0, 1, 1, 2}};
    static const uint8_t want[2][4] = {{0, 15, 3, 0}, {0, 255, 255, 0}};

    for (int form = 0; form < 2; form++) {
        uint8_t file[54 + 64 + 4] = {'B', 'M'};
        const uint32_t bits = form ? 8 : 4, colours = form ? 2 : 16;
        const size_t pixels = 54 + 4 * colours;
        vt_picture p = {0};

        file[10] = (uint8_t)pixels, file[14] = 40, file[18] = 4, file[22] = 1;
        file[28] = (uint8_t)bits, file[46] = (uint8_t)colours;
        for (uint32_t i = 0; i < colours; i++)
            memset(file + 54 + 4 * i, form && i ? 255 : (int)i, 3);
        memcpy(file + pixels, rows[form], 4);
        cr_assert_eq(vt_image_decode(&p, file, pixels + 4, "a.bmp"), VITCL_OK);
        for (size_t x = 0; x < 4; x++)
            cr_expect_eq(p.rgb[3 * x + 1], want[form][x], "%d: %zu", form, x);
        vt_picture_free(&p);
    }
}

static void refused(const void *bytes, size_t size, const char *name,
                    const char *why)
{
    vt_picture p = {0};

    cr_expect_eq(vt_image_decode(&p, bytes, size, name), VITCL_ECORRUPT);
    cr_expect(strstr(vt_message(), why), "%s", vt_message());
    cr_expect_null(p.rgb);
}

/* What may and may not come between a PPM's numbers. */
Test(decode, pnm_headers)
{
    static const struct {
        const char *text, *says; /* NULL: two grey pixels, 1 and 2 */
    } cases[] = {{"P5 2 1 255\n\1\2", NULL},
                 {"P5 # by hand\n2\t1 # here, too\r\n#\n 255\n\1\2", NULL},
                 {"P5\v2\f1\r255 \1\2", NULL},
                 {"P5 2 1 255", "header"},
                 {"P5 2 1 # no end", "header"},
                 {"P5 2 x 255\n\1\2", "header"},
                 {"P5 2", "header"},
                 {"P5 2 1 0000000255\n\1\2", "header"},
                 {"P5 2 1 254\n\1\2", NULL}, /* rounded */
                 {"P2 2 1 255 1\n#\r 2", NULL},
                 {"P2 2 1 255 1\n-2", "not a number"},
                 {"P2 2 1 255 1 256", "above the maximum"},
                 {"P5 2 1 0\n\1\2", "value 0"},
                 {"P5 2 1 65536\n\1\2\3\4", "value 65536"},
                 {"P5 2 1 65535\n\1\2\3", "truncated"},
                 {"P5 2 1 255\n\1", "truncated"},
                 {"P6 2 1 255\n\1\2\3\4\5", "truncated"}};
    static const char zero[] = "P5 2\0 1 255\n\1\2";
    static const uint8_t want[] = {1, 1, 1, 2, 2, 2};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t n = strlen(cases[i].text);
        vt_picture p = {0};
        const vitcl_status st = vt_image_decode(&p, cases[i].text, n, "a.ppm");

        if (cases[i].says) {
            cr_expect_neq(st, VITCL_OK, "%zu", i);
            cr_expect(strstr(vt_message(), cases[i].says), "%zu: %s", i,
                      vt_message());
            cr_expect_null(p.rgb);
            continue;
        }
        cr_assert_eq(st, VITCL_OK, "%zu: %s", i, vt_message());
        cr_expect(p.width == 2 && p.height == 1);
        cr_expect(memcmp(p.rgb, want, sizeof want) == 0, "%zu", i);
        vt_picture_free(&p);
    }
    refused(zero, sizeof zero - 1, "a.ppm", "header");
}

/* A size over the limit is refused before memory is allocated. */
Test(decode, ceilings)
{
    static const uint8_t bmp[54] = {'B', 'M', 54, 0,    0,  0, 0, 0, 0,  0,
                                    54,  0,   0,  0,    40, 0, 0, 0, 0,  0x75,
                                    0,   0,   0,  0x75, 0,  0, 1, 0, 24, 0};
    static const uint8_t psd[40] = {'8', 'B', 'P',  'S',  0, 1, 0, 0,    0,
                                    0,   0,   0,    0,    3, 0, 0, 0x75, 0x30,
                                    0,   0,   0x75, 0x30, 0, 8, 0, 3};
    static const char ppm[] = "P6 30000 30000 255\n";
    static const char big[] = "P6 99999999999 1 255\n";
    vt_picture p = {0};

    refused(bmp, sizeof bmp, "a.bmp", "million");
    refused(psd, sizeof psd, "a.psd", "million");
    refused(ppm, sizeof ppm, "a.ppm", "million");
    cr_expect_neq(vt_image_decode(&p, big, sizeof big, "a.ppm"), VITCL_OK);
    cr_expect_null(p.rgb);
}

/* Sides and pixels have their limits, each by itself. */
Test(decode, sides)
{
    const uint32_t side = VT_SIDE_MAX, rows = VT_PIXELS_MAX / VT_SIDE_MAX;
    const size_t head = sizeof "P6 65500 1 255\n" - 1;
    char *ppm = calloc(head + ((size_t)side + 1) * 3, 1);
    vt_picture p = {0};

    cr_expect_eq(vt_picture_check(side, 1, "x"), VITCL_OK);
    cr_expect_eq(vt_picture_check(1, side, "x"), VITCL_OK);
    cr_expect_eq(vt_picture_check(side, rows, "x"), VITCL_OK);
    cr_expect_eq(vt_picture_check(side, rows + 1, "x"), VITCL_ECORRUPT);
    cr_expect_eq(vt_picture_check(side + 1, 1, "x"), VITCL_ECORRUPT);
    cr_expect_eq(vt_picture_check(1, side + 1, "x"), VITCL_ECORRUPT);
    cr_expect_eq(vt_picture_check(0, 1, "x"), VITCL_ECORRUPT);
    cr_expect_eq(vt_picture_check(1, 0, "x"), VITCL_ECORRUPT);
    cr_assert(ppm);
    snprintf(ppm, head + 1, "P6 %u 1 255\n", side);
    cr_expect_eq(vt_image_decode(&p, ppm, head + (size_t)side * 3, "a.ppm"),
                 VITCL_OK, "%s", vt_message());
    cr_expect_eq(p.width, side);
    vt_picture_free(&p);
    snprintf(ppm, head + 1, "P6 %u 1 255\n", side + 1);
    refused(ppm, head + ((size_t)side + 1) * 3, "a.ppm", "per side");
    free(ppm);
}

/* A header without pixels allocates nothing, whatever size it claims. */
Test(decode, headers_without_pixels)
{
    static const uint8_t bmp[54] = {'B', 'M', 54, 0,    0,  0, 0, 0, 0,  0,
                                    54,  0,   0,  0,    40, 0, 0, 0, 65, 33,
                                    0,   0,   3,  0x50, 0,  0, 1, 0, 24, 0};
    static const uint8_t psd[42] = {'8', 'B', 'P', 'S', 0, 1, 0, 0,    0,
                                    0,   0,   0,   0,   3, 0, 0, 0x50, 3,
                                    0,   0,   33,  65,  0, 8, 0, 3};
    uint8_t packed[42];

    memcpy(packed, psd, sizeof psd);
    packed[39] = 1; /* PackBits */
    refused(bmp, sizeof bmp, "a.bmp", "the BMP is truncated");
    refused(psd, sizeof psd, "a.psd", "the PSD is truncated");
    refused(packed, sizeof packed, "a.psd", "the PSD is truncated");
}

/* A PSD with raw planes is refused unless all bytes are there. */
Test(decode, psd_planes)
{
    enum { SIDE = 10, HEAD = 40, SIZE = HEAD + 3 * SIDE * SIDE };
    static const uint8_t head[HEAD] = {'8', 'B', 'P', 'S',  0, 1, 0, 0, 0,
                                       0,   0,   0,   0,    3, 0, 0, 0, SIDE,
                                       0,   0,   0,   SIDE, 0, 8, 0, 3};
    uint8_t file[SIZE];
    vt_picture p = {0};

    memcpy(file, head, HEAD);
    for (int i = 0; i < SIZE - HEAD; i++)
        file[HEAD + i] = (uint8_t)(i * 7);
    cr_assert_eq(vt_image_decode(&p, file, SIZE, "a.psd"), VITCL_OK, "%s",
                 vt_message());
    for (int i = 0; i < 3 * SIDE * SIDE; i++)
        cr_expect_eq(p.rgb[i], file[HEAD + i % 3 * SIDE * SIDE + i / 3], "%d",
                     i);
    vt_picture_free(&p);
    refused(file, SIZE - 1, "a.psd", "the PSD is truncated");
    file[25] = 1; /* grey */
    cr_expect_eq(vt_image_decode(&p, file, SIZE, "a.psd"), VITCL_EUNSUPPORTED);
    cr_expect(strstr(vt_message(), "a PSD in colours other than RGB"));
}

/* Rows from the top give the same picture as rows from the bottom; one byte
 * less is refused. */
Test(decode, bmp_from_above)
{
    static const uint8_t head[54] = {'B', 'M', 0, 0, 0,  0, 0, 0, 0,  0,
                                     54,  0,   0, 0, 40, 0, 0, 0, 2,  0,
                                     0,   0,   2, 0, 0,  0, 1, 0, 24, 0};
    static const uint8_t rows[2][8] = {{3, 2, 1, 6, 5, 4},
                                       {9, 8, 7, 12, 11, 10}};
    uint8_t file[70];

    for (int above = 0; above < 2; above++)
        for (size_t cut = 0; cut < 4; cut++) {
            vt_picture p = {0};
            const size_t size = sizeof file - cut;
            vitcl_status st;

            memcpy(file, head, sizeof head);
            memcpy(file + 54, rows[above ? 0 : 1], 8);
            memcpy(file + 62, rows[above ? 1 : 0], 8);
            if (above)
                memcpy(file + 22, "\xfe\xff\xff\xff", 4);
            st = vt_image_decode(&p, file, size, "a.bmp");
            cr_expect_eq(st, cut < 3 ? VITCL_OK : VITCL_ECORRUPT);
            if (p.rgb)
                for (int i = 0; i < 12; i++)
                    cr_expect_eq(p.rgb[i], i + 1, "%d: %d", i, p.rgb[i]);
            vt_picture_free(&p);
        }
}

Test(decode, unknown)
{
    vt_picture p = {0};

    cr_expect_eq(vt_image_decode(&p, "", 0, "x"), VITCL_ECORRUPT);
    cr_expect(strstr(vt_message(), "empty"));
    cr_expect_eq(vt_image_decode(&p, "hello", 5, "x"), VITCL_EUNSUPPORTED);
    cr_expect(strstr(vt_message(), "not a supported picture format"), "%s",
              vt_message());
    cr_expect_eq(vt_image_decode(&p, "\xff\x0a", 2, "x"), VITCL_EUNSUPPORTED);
    cr_expect(strstr(vt_message(), "JPEG XL pictures are not supported"), "%s",
              vt_message());
    refused("GIF89a", 6, "x", "GIF");
    refused("RIFF....WEBPVP8 ", 16, "x", "WebP");
}

/* A truncated or modified picture is decoded or refused, without a crash. */
static void corrupted(const char *file)
{
    char path[2048];
    uint32_t seed = 1;
    vt_file f = {0};

    snprintf(path, sizeof path, VT_DATA "/preprocess/in/%s", file);
    cr_assert_eq(vt_file_read(&f, path, 1 << 30), VITCL_OK);
    for (int i = 0; i < 250; i++) {
        size_t size = i % 2 ? f.size : f.size * (size_t)i / 250;
        uint8_t *copy = malloc(size ? size : 1); /* exact: ASan sees overruns */
        vt_picture p = {0};

        memcpy(copy, f.data, size);
        for (int j = 0; j < i % 5 && size > 0; j++) {
            seed = seed * 1664525 + 1013904223;
            copy[(seed >> 8) % (i % 3 ? size : VT_MIN(size, 100))] ^=
                (uint8_t)(1 << (seed >> 5) % 8);
        }
        if (vt_image_decode(&p, copy, size, file) == VITCL_OK)
            cr_expect(p.rgb && p.width > 0 && p.height > 0);
        else
            cr_expect_null(p.rgb);
        vt_picture_free(&p);
        free(copy);
    }
    vt_file_close(&f);
}

Test(decode, corrupted)
{
    static const char *const files[] = {
        "exif6.jpg",     "progressive_420.jpg",  "cmyk.jpg",
        "palette.png",   "turn/raw_profile.png", "png/gray16.png",
        "other/rgb.bmp", "other/rgb.ppm",        "turn/xmp.jpg"};

    for (size_t i = 0; i < VT_COUNT(files); i++)
        corrupted(files[i]);
}
