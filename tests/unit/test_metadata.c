/*
 * test_metadata.c - what lies in PNG and JPEG files beside the pixels: where an
 * orientation is found, transparent colours, and scans without end. Pixels and
 * orientations are Pillow's.
 */
#include "base/memory.h"
#include "image/image.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

typedef struct made {
    uint8_t bytes[1 << 12];
    size_t size;
} made;

static void put(made *m, const void *bytes, size_t n)
{
    cr_assert_leq(n, sizeof m->bytes - m->size);
    memcpy(m->bytes + m->size, bytes, n);
    m->size += n;
}

static void put_number(made *m, uint32_t v)
{
    const uint8_t bytes[4] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16),
                              (uint8_t)(v >> 8), (uint8_t)v};
    put(m, bytes, 4);
}

static void chunk(made *m, const char *type, const void *body, size_t n)
{
    const size_t at = m->size + 4;

    put_number(m, (uint32_t)n);
    put(m, type, 4);
    put(m, body, n);
    put_number(m, (uint32_t)crc32(0, m->bytes + at, (unsigned)n + 4));
}

/* Two pixels beside each other. */
static void begin(made *m, uint8_t depth, uint8_t colour)
{
    uint8_t head[13] = {0, 0, 0, 2, 0, 0, 0, 1, depth, colour};

    *m = (made){.size = 0};
    put(m, "\x89PNG\r\n\x1a\n", 8);
    chunk(m, "IHDR", head, sizeof head);
}

static void pixels(made *m, const void *row, size_t n)
{
    uint8_t line[16] = {0}, packed[64];
    uLongf size = sizeof packed;

    memcpy(line + 1, row, n);
    cr_assert_eq(compress(packed, &size, line, n + 1), Z_OK);
    chunk(m, "IDAT", packed, size);
}

static vt_picture decode(const made *m, bool on_white)
{
    vt_picture p = {0};

    cr_expect_eq((on_white ? vt_image_decode_on_white
                           : vt_image_decode)(&p, m->bytes, m->size, "a.png"),
                 VITCL_OK, "%s", vt_message());
    return p;
}

/* Orientation n in an EXIF block, big-endian, and as its hexadecimal text. */
static size_t exif(uint8_t out[26], unsigned n)
{
    memcpy(out, "MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\0\0\0\0\0\0\0", 26);
    out[19] = (uint8_t)n;
    return 26;
}

static size_t exif_text(char out[256], unsigned n)
{
    uint8_t block[26];
    size_t at = (size_t)sprintf(out, "Raw profile type exif%c\nexif\n 26\n", 0);

    exif(block, n);
    for (int i = 0; i < 26; i++)
        at += (size_t)sprintf(out + at, "%02x", block[i]);
    return at;
}

#define XMP "XML:com.adobe.xmp"
#define XMP_6 "<tiff:Orientation>6</tiff:Orientation>"

typedef struct source {
    const char *type;
    const void *body;
    size_t n;
    unsigned want; /* orientation */
} source;

static unsigned turned(const source *list, size_t n, bool behind)
{
    static const uint8_t two[6] = {10, 10, 10, 200, 200, 200};
    vt_picture p;
    unsigned got;
    made m;

    begin(&m, 8, 2);
    for (size_t i = 0; i < n && !behind; i++)
        chunk(&m, list[i].type, list[i].body, list[i].n);
    pixels(&m, two, 6);
    for (size_t i = 0; i < n && behind; i++)
        chunk(&m, list[i].type, list[i].body, list[i].n);
    chunk(&m, "IEND", "", 0);
    p = decode(&m, false);
    cr_assert(p.rgb && p.width * p.height == 2);
    /* of the eight orientations four can be told apart by two pixels */
    got = p.width == 2 ? (p.rgb[0] == 10 ? 1 : 3) : p.rgb[0] == 10 ? 6 : 8;
    vt_picture_free(&p);
    return got;
}

Test(decode, png_orientations)
{
    uint8_t block[26], other[26], named[32] = "Exif\0";
    char text[256], packed[256], wrong[256], words[256], zipped[256];
    const size_t n = exif(block, 8), m = exif_text(text, 6);
    uLongf size = sizeof packed - 23, zip = sizeof zipped - sizeof XMP - 4;

    exif(other, 3);
    memcpy(packed, text, 22);
    packed[22] = 0; /* deflate */
    cr_assert_eq(
        compress((uint8_t *)packed + 23, &size, (uint8_t *)text + 22, m - 22),
        Z_OK);
    memcpy(wrong, packed, sizeof wrong);
    wrong[23] = 0; /* no zlib stream */
    exif(named + 6, 8);
    memcpy(words, text, 22); /* plain, in no language */
    memset(words + 22, 0, 4);
    memcpy(words + 26, text + 22, m - 22);
    memcpy(zipped, XMP "\0\1\0\0", sizeof XMP + 4);
    cr_assert_eq(compress((uint8_t *)zipped + sizeof XMP + 4, &zip,
                          (const uint8_t *)XMP_6, sizeof XMP_6 - 1),
                 Z_OK);
    const source all[] = {
        {"tEXt", "Comment\0hello", 13, 1},
        {"eXIf", block, n, 8},
        {"eXIf", block, 5, 1},
        {"tEXt", text, m, 6},
        {"tEXt", text, 22, 1},
        {"zTXt", packed, 23 + size, 6},
        {"zTXt", packed, 23, 1},
        {"zTXt", wrong, 23 + size, 1},
        {"iTXt", text, m, 1},
        {"iTXt", XMP "\0\0\0\0\0" XMP_6, sizeof XMP + 4 + sizeof XMP_6 - 1, 6},
        {"iTXt", XMP "\0\0\0\0\0", sizeof XMP + 4, 1},
        {"iTXt", XMP, sizeof XMP, 1},
        {"iTXt", XMP "\0\0\0\0", sizeof XMP + 3, 1},
        {"iTXt", zipped, sizeof XMP + 4 + zip, 6},
        {"iTXt", words, m + 4, 6},
        {"tEXt", XMP "\0" XMP_6, sizeof XMP + sizeof XMP_6 - 1, 6},
        {"eXIf", named, 32, 8},
        {"eXIf", named, 6, 1},
        {"iTXt", "XML:com.adobe.xmq\0\0\0\0\0" XMP_6,
         sizeof XMP + 4 + sizeof XMP_6 - 1, 1},
    };

    for (size_t i = 0; i < VT_COUNT(all); i++)
        for (int behind = 0; behind < 2; behind++)
            cr_expect_eq(turned(&all[i], 1, behind), all[i].want,
                         "%zu, behind %d: %u", i, behind,
                         turned(&all[i], 1, behind));
    /* Which one counts: eXIf, then the hexadecimal text, then XMP. */
    cr_expect_eq(turned((source[]){all[1], all[3], all[9]}, 3, false), 8);
    cr_expect_eq(turned((source[]){all[9], all[3], all[1]}, 3, false), 8);
    cr_expect_eq(turned((source[]){all[9], {"eXIf", other, n, 3}}, 2, false),
                 3);
    /* Of two of a kind, the last. */
    cr_expect_eq(turned((source[]){all[1], {"eXIf", other, n, 3}}, 2, false),
                 3);
    cr_expect_eq(
        turned((source[]){all[1], {"eXIf", "", 0, 1}, all[9]}, 3, false), 6);
    cr_expect_eq(turned((source[]){all[3], all[4]}, 2, false), 1);
    cr_expect_eq(turned((source[]){all[9], all[10]}, 2, false), 1);
}

/* tRNS of one bit of grey: either grey may be transparent. */
Test(decode, png_transparent_bits)
{
    static const uint8_t both = 0x40; /* black, white */

    for (unsigned key = 0; key < 4; key++) {
        const uint8_t trns[2] = {(uint8_t)(key >> 1), key & 1};
        vt_picture p;
        made m;

        begin(&m, 1, 0);
        chunk(&m, "tRNS", trns, 2);
        pixels(&m, &both, 1);
        chunk(&m, "IEND", "", 0);
        p = decode(&m, true);
        cr_assert(p.rgb);
        cr_expect_eq(p.rgb[0], key ? 0 : 255, "key %u: %u %u", key, p.rgb[0],
                     p.rgb[3]);
        cr_expect_eq(p.rgb[3], 255, "key %u", key);
        vt_picture_free(&p);
        p = decode(&m, false);
        cr_assert(p.rgb);
        cr_expect(p.rgb[0] == 0 && p.rgb[3] == 255, "key %u", key);
        vt_picture_free(&p);
    }
}

/* A palette behind the pixels is none; one of more than 256 colours is an
 * error. */
Test(decode, png_palettes)
{
    static const uint8_t colours[771] = {1, 2, 3, 4, 5, 6}, indices[2] = {1, 0};
    vt_picture p = {0};
    made m;

    begin(&m, 8, 3);
    chunk(&m, "PLTE", colours, 6);
    pixels(&m, indices, 2);
    chunk(&m, "PLTE", colours + 3, 3);
    chunk(&m, "tRNS", "\0\0", 2);
    chunk(&m, "IEND", "", 0);
    p = decode(&m, true);
    cr_assert(p.rgb);
    cr_expect(memcmp(p.rgb, "\4\5\6\1\2\3", 6) == 0);
    vt_picture_free(&p);
    p = (vt_picture){0};
    begin(&m, 8, 3);
    chunk(&m, "PLTE", colours, sizeof colours);
    pixels(&m, indices, 2);
    chunk(&m, "IEND", "", 0);
    cr_expect_eq(vt_image_decode(&p, m.bytes, m.size, "a.png"), VITCL_ECORRUPT);
    cr_expect_null(p.rgb);
}

/* ---- JPEG ---- */

static unsigned char *corpus(size_t *size, const char *name)
{
    unsigned char *bytes =
        vt_test_bytes(size, VT_DATA "/../fuzz/corpus/image", name);

    cr_assert(bytes, "%s", name);
    return bytes;
}

static void app1(made *m, const void *body, size_t n)
{
    const uint8_t head[4] = {0xff, 0xe1, (uint8_t)((n + 2) >> 8),
                             (uint8_t)(n + 2)};
    put(m, head, 4);
    put(m, body, n);
}

/* All EXIF segments are one block, whose orientation counts even if it is 0;
 * without one, that of the last XMP packet. */
Test(decode, jpeg_orientations)
{
    static const char xmp[] = "http://ns.adobe.com/xap/1.0/\0" XMP_6;
    static const char flat_xmp[] =
        "http://ns.adobe.com/xap/1.0/\0tiff:Orientation=\"1\"";
    size_t size = 0;
    unsigned char *jpeg = corpus(&size, "gray.jpg");
    uint8_t block[32] = "Exif\0";
    vt_picture flat = {0};

    cr_assert_eq(vt_image_decode(&flat, jpeg, size, "a.jpg"), VITCL_OK);
    cr_assert_neq(flat.width, flat.height);
    for (int i = 0; i < 10; i++) {
        const bool turns = i >= 1 && i <= 6;
        vt_picture p = {0};
        made *m = calloc(1, sizeof *m);

        cr_assert(m);
        put(m, jpeg, 2);
        if (i == 0)
            app1(m, "Exif\0\0", 6);
        if (i == 1)
            app1(m, "Exif", 4), exif(block + 6, 6), app1(m, block, 32);
        if (i == 2)
            exif(block + 6, 6), app1(m, block, 32), exif(block + 6, 3),
                app1(m, block, 32), app1(m, xmp, sizeof xmp - 1);
        if (i == 3)
            app1(m, xmp, 10), app1(m, xmp, sizeof xmp - 1);
        if (i == 4) /* one directory in two segments */
            exif(block + 6, 6), app1(m, block, 20),
                memcpy(block + 6, block + 20, 12), app1(m, block, 18);
        if (i == 5)
            app1(m, "Exif\0", 6), exif(block + 6, 6), app1(m, block, 32);
        if (i == 6)
            app1(m, flat_xmp, sizeof flat_xmp - 1),
                app1(m, xmp, sizeof xmp - 1);
        if (i == 7)
            exif(block + 6, 0), app1(m, block, 32),
                app1(m, xmp, sizeof xmp - 1);
        if (i == 8)
            exif(block + 6, 3), app1(m, block, 32),
                app1(m, xmp, sizeof xmp - 1);
        if (i == 9) /* no orientation in the first directory */
            app1(m, "Exif\0\0II*\0\x08\0\0\0\0\0", 16), exif(block + 6, 6),
                app1(m, block, 32);
        put(m, jpeg + 2, size - 2);
        cr_assert_eq(vt_image_decode(&p, m->bytes, m->size, "a.jpg"), VITCL_OK,
                     "%s", vt_message());
        cr_expect(p.width == (turns ? flat.height : flat.width) &&
                      p.height == (turns ? flat.width : flat.height),
                  "case %d: %ux%u", i, p.width, p.height);
        vt_picture_free(&p);
        free(m);
    }
    vt_picture_free(&flat);
    free(jpeg);
}

/* What lies between the scans is not read. */
Test(decode, jpeg_orientation_behind)
{
    size_t size = 0, at = 0;
    unsigned char *jpeg = corpus(&size, "progressive_420.jpg");
    uint8_t block[36] = "\xff\xe1\0\x22"
                        "Exif\0",
            *all;
    vt_picture flat = {0}, p = {0};

    exif(block + 10, 6);
    cr_assert_eq(vt_image_decode(&flat, jpeg, size, "a.jpg"), VITCL_OK);
    for (size_t i = 0; i + 1 < size; i++)
        if (jpeg[i] == 0xff && jpeg[i + 1] == 0xda)
            at = i; /* the last scan */
    all = malloc(size + sizeof block);
    cr_assert(all && at > 0);
    memcpy(all, jpeg, at);
    memcpy(all + at, block, sizeof block);
    memcpy(all + at + sizeof block, jpeg + at, size - at);
    cr_assert_eq(vt_image_decode(&p, all, size + sizeof block, "a.jpg"),
                 VITCL_OK, "%s", vt_message());
    cr_expect_eq(p.width, flat.width);
    vt_picture_free(&p);
    vt_picture_free(&flat);
    free(all);
    free(jpeg);
}

/* The last scan of a progressive picture once more and once more. */
static vitcl_status with_scans(size_t more)
{
    size_t size = 0, last = 0, scans = 0;
    unsigned char *jpeg = corpus(&size, "progressive_420.jpg"), *all;
    vt_picture p = {0};
    vitcl_status st;

    for (size_t i = 0; i + 1 < size; i++)
        if (jpeg[i] == 0xff && jpeg[i + 1] == 0xda)
            last = i, scans++;
    cr_assert(scans > 2 && scans < 15 && jpeg[size - 1] == 0xd9);
    const size_t scan = size - 2 - last;
    all = malloc(size + more * scan);
    cr_assert(all);
    memcpy(all, jpeg, size - 2);
    for (size_t i = 0; i < more - scans; i++)
        memcpy(all + size - 2 + i * scan, jpeg + last, scan);
    memcpy(all + size - 2 + (more - scans) * scan, "\xff\xd9", 2);
    st = vt_image_decode(&p, all, size + (more - scans) * scan, "a.jpg");
    cr_expect_eq(p.rgb != NULL, st == VITCL_OK);
    vt_picture_free(&p);
    free(all);
    free(jpeg);
    return st;
}

Test(decode, jpeg_scans)
{
    cr_expect_eq(with_scans(500), VITCL_OK, "%s", vt_message());
    cr_expect_eq(with_scans(502), VITCL_ECORRUPT);
    cr_expect_str_eq(vt_message(),
                     "a.jpg: not a valid JPEG: at least 501 scans");
}

/* Two colours, which no picture has. */
Test(decode, jpeg_components)
{
    static const uint8_t two[] = {
        0xff, 0xd8, 0xff, 0xc0, 0, 14, 8, 0, 8, 0, 8, 2, 1,  0x11, 0,    2,
        0x11, 0,    0xff, 0xda, 0, 10, 2, 1, 0, 2, 0, 0, 63, 0,    0xff, 0xd9};
    vt_picture p = {0};

    cr_expect_eq(vt_image_decode(&p, two, sizeof two, "a.jpg"),
                 VITCL_EUNSUPPORTED);
    cr_expect_str_eq(vt_message(),
                     "a.jpg: JPEG with 2 components is not supported");
    cr_expect_null(p.rgb);
}
