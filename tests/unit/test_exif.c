/*
 * test_exif.c - orientations in hand-made blocks (TIFF 6.0, section 2), in both
 * byte orders, and truncated blocks. What is expected of odd ones is Pillow's
 * answer.
 */
#include "image/decoders.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct block {
    uint8_t bytes[128];
    size_t size;
    bool big;
} block;

static void put(block *b, uint32_t v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        b->bytes[b->size++] = (uint8_t)(v >> 8 * (b->big ? n - 1 - i : i));
}

static block begin(bool big, uint32_t at, unsigned entries)
{
    block b = {.big = big};

    memcpy(b.bytes, big ? "MM" : "II", 2);
    b.size = 2;
    put(&b, 42, 2);
    put(&b, at, 4);
    b.size = at;
    put(&b, entries, 2);
    return b;
}

/* An entry of 12 bytes; a value below four bytes is at its field's left. */
static void entry(block *b, unsigned tag, unsigned type, uint32_t count,
                  uint32_t value, unsigned bytes)
{
    put(b, tag, 2);
    put(b, type, 2);
    put(b, count, 4);
    put(b, value, bytes);
    b->size += 4 - bytes;
}

static unsigned orientation_of(const block *b, size_t size)
{
    uint8_t *exact = malloc(size ? size : 1); /* ASan sees reads past its end */
    unsigned orientation;

    cr_assert(exact);
    memcpy(exact, b->bytes, size);
    orientation = vt_exif_orientation(exact, size, 2);
    free(exact);
    return orientation;
}

Test(exif, types)
{
    enum {
        BYTE = 1,
        ASCII,
        SHORT,
        LONG,
        SBYTE = 6,
        SSHORT = 8,
        SLONG,
        IFD = 13
    };
    static const struct {
        unsigned tag, type, count, value, bytes, want;
    } all[] = {
        {0x112, SHORT, 1, 6, 2, 6},
        {0x112, LONG, 1, 5, 4, 5},
        {0x112, BYTE, 1, 8, 1, 1},
        {0x112, SHORT, 1, 9, 2, 1},
        {0x112, SHORT, 1, 0, 2, 1},
        {0x112, LONG, 1, 0x10003, 4, 1},
        {0x112, SHORT, 2, 6, 2, 6},
        {0x112, SHORT, 0, 6, 2, 0},
        {0x112, ASCII, 2, '6', 1, 1},
        {0x112, 7, 1, 6, 1, 1},
        {0x112, SBYTE, 1, 6, 1, 6},
        {0x112, SBYTE, 3, 8, 1, 8},
        {0x112, SBYTE, 1, 0xfa, 1, 1},
        {0x112, SSHORT, 1, 3, 2, 3},
        {0x112, SLONG, 1, 7, 4, 7},
        {0x112, IFD, 1, 2, 4, 2},
        {0x112, 11, 1, 0x40c00000, 4, 6}, /* 6.0f */
        {0x112, 11, 1, 0x40c00001, 4, 1},
        {0x112, 11, 1, 0x7fc00000, 4, 1},
        {0x112, 0, 1, 6, 2, 0},
        {0x112, 14, 1, 6, 2, 0},
        {0x112, 17, 1, 6, 2, 0},
        {0x112, 0xffff, 1, 6, 2, 0},
        {0x111, SHORT, 1, 6, 2, 0},
        /* the value is an offset, behind the end */
        {0x112, 5, 1, 26, 4, 0},
        {0x112, SHORT, 3, 0xffff, 4, 0},
        {0x112, LONG, 0xffffffff, 8, 4, 0},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int big = 0; big < 2; big++) {
            block b = begin(big, 8, 1);

            entry(&b, all[i].tag, all[i].type, all[i].count, all[i].value,
                  all[i].bytes);
            cr_expect_eq(orientation_of(&b, b.size), all[i].want, "case %zu",
                         i);
        }
}

/* Values behind the directory. */
Test(exif, values_elsewhere)
{
    enum { RATIONAL = 5, SHORT = 3, SRATIONAL = 10, DOUBLE = 12, LONG8 = 16 };
    static const struct {
        unsigned type, count;
        uint32_t first, second;      /* in the file's order */
        unsigned want, want_swapped; /* of big-endian blocks */
    } all[] = {
        {RATIONAL, 1, 6, 1, 6, 6},
        {RATIONAL, 1, 12, 2, 6, 6},
        {RATIONAL, 1, 7, 2, 1, 1},
        {RATIONAL, 1, 6, 0, 1, 1},
        {RATIONAL, 1, 0, 0, 1, 1},
        {SRATIONAL, 1, 0xfffffffa, 0xffffffff, 6, 6},
        {SRATIONAL, 1, 0xfffffffa, 1, 1, 1},
        {DOUBLE, 1, 0, 0x40180000, 6, 1}, /* 6.0 */
        {DOUBLE, 1, 0x40180000, 0, 1, 6},
        {LONG8, 1, 6, 0, 6, 1},
        {LONG8, 1, 0, 6, 1, 6},
    };
    block b;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int big = 0; big < 2; big++) {
            b = begin(big, 8, 1);
            entry(&b, 0x112, all[i].type, all[i].count, 22, 4);
            put(&b, all[i].first, 4);
            put(&b, all[i].second, 4);
            cr_expect_eq(orientation_of(&b, b.size),
                         big ? all[i].want_swapped : all[i].want, "case %zu %d",
                         i, big);
            cr_expect_eq(orientation_of(&b, b.size - 1), 0, "case %zu", i);
        }
    b = begin(false, 8, 1);
    entry(&b, 0x112, SHORT, 3, 22, 4);
    put(&b, 8, 2), put(&b, 3, 4);
    cr_expect_eq(orientation_of(&b, b.size), 8, "the first of three");
    /* Data that are not there end the directory, whatever their tag; more data
     * than the block has are passed over, and so are those of a tag that was
     * there before. */
    for (int i = 0; i < 4; i++) {
        b = begin(true, 8, 3);
        entry(&b, 0x10f, SHORT, i == 3, 6, 2);
        entry(&b, 0x10f, 2, i == 1 ? 1000 : 6, i ? 1000 : 0, 4);
        entry(&b, 0x112, SHORT, 1, 3, 2);
        cr_expect_eq(orientation_of(&b, b.size), i == 2 ? 0 : 3, "case %d", i);
    }
}

/* The block may end after the entry, without the offset of a next directory;
 * one byte less and the entry is ignored. A block that is too short for its
 * header turns nothing, one without a byte says nothing. */
Test(exif, ends)
{
    for (int big = 0; big < 2; big++)
        for (uint32_t at = 8; at < 13; at++) {
            block b = begin(big, at, 2);

            entry(&b, 0x100, 3, 1, 640, 2);
            entry(&b, 0x112, 3, 1, 6, 2);
            cr_expect_eq(orientation_of(&b, b.size), 6);
            for (size_t n = 0; n < b.size; n++)
                cr_expect_eq(orientation_of(&b, n), n > 0 && n < 8,
                             "%zu of %zu bytes", n, b.size);
        }
}

/* The directory's count of entries is used, and the first valid one wins. */
Test(exif, entries)
{
    block b = begin(false, 8, 1);

    entry(&b, 0x100, 3, 1, 640, 2);
    entry(&b, 0x112, 3, 1, 6, 2);
    cr_expect_eq(orientation_of(&b, b.size), 0);
    b = begin(false, 8, 2);
    entry(&b, 0x112, 3, 1, 3, 2);
    entry(&b, 0x112, 3, 1, 6, 2);
    cr_expect_eq(orientation_of(&b, b.size), 3);
    b = begin(false, 8, 3);
    entry(&b, 0x112, 99, 1, 6, 2);
    entry(&b, 0x112, 3, 0, 6, 2);
    entry(&b, 0x112, 3, 1, 3, 2);
    cr_expect_eq(orientation_of(&b, b.size), 3, "not valid, so none");
    b.bytes[2] = 43;
    cr_expect_eq(orientation_of(&b, b.size), 1);
    b.bytes[2] = 42, b.bytes[1] = 'M';
    cr_expect_eq(orientation_of(&b, b.size), 1);
    b.bytes[1] = 'I', b.bytes[2] = 0, b.bytes[3] = 42;
    cr_expect_eq(orientation_of(&b, b.size), 3, "a version of the other order");
}

/* "Exif\0\0" may stand before, more than once. */
Test(exif, names)
{
    block b = begin(true, 8, 1);
    uint8_t named[128];

    entry(&b, 0x112, 3, 1, 6, 2);
    for (size_t times = 0; times < 4; times++) {
        for (size_t i = 0; i < times; i++)
            memcpy(named + 6 * i, "Exif\0", 6);
        memcpy(named + 6 * times, b.bytes, b.size);
        for (unsigned names = 0; names < 4; names++) {
            cr_expect_eq(vt_exif_orientation(named, 6 * times + b.size, names),
                         times > names ? 1 : 6);
            cr_expect_eq(vt_exif_orientation(named, 6 * times, names),
                         times > names);
        }
    }
}

/* A TIFF file, and BigTIFF, which no EXIF block is. */
Test(exif, tiff)
{
    static const uint8_t big[] = {
        'I',  'I', 43, 0, 8, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, /* header */
        1,    0,   0,  0, 0, 0, 0, 0,                          /* entries */
        0x12, 1,   3,  0, 2, 0, 0, 0, 0,  0, 0, 0, 6, 0, 3, 0, 0, 0, 0, 0};
    block b = begin(true, 8, 2);

    entry(&b, 0x112, 3, 1, 3, 2);
    entry(&b, 0x112, 3, 1, 8, 2);
    cr_expect_eq(vt_tiff_orientation(b.bytes, b.size), 3);
    cr_expect_eq(vt_tiff_orientation(b.bytes, 7), 0);
    cr_expect_eq(vt_tiff_orientation(big, sizeof big), 6);
    for (size_t n = 0; n < sizeof big; n++)
        cr_expect_eq(vt_tiff_orientation(big, n), 0, "%zu", n);
    cr_expect_eq(vt_exif_orientation(big, sizeof big, 2), 1);
}

/* tiff:Orientation(="|>)([0-9]), the first match, as Pillow searches. */
Test(exif, xmp)
{
    static const struct {
        const char *text;
        unsigned want;
    } all[] = {
        {"<x tiff:Orientation=\"6\"/>", 6},
        {"<tiff:Orientation>8</tiff:Orientation>", 8},
        {"<tiff:Orientation>0</tiff:Orientation>", 0},
        {"<tiff:Orientation>9</tiff:Orientation>", 0},
        {"tiff:Orientation='6' tiff:Orientation=\"3\"", 3},
        {"tiff:Orientation= \"6\" tiff:Orientation>5<", 5},
        {"tiff:Orientation=6 tiff:Orientation>4<", 4},
        {"tiff:Orientation>x< tiff:Orientation>/< tiff:Orientation>:<", 0},
        {"tiff:Orientation=\"6\" tiff:Orientation=\"3\"", 6},
        {"tiff:Orientatio tiff:Orientation.>7", 0},
        {"tiff:ttiff:Orientation>7<", 7},
        {"", 0},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cr_expect_eq(vt_xmp_orientation((const uint8_t *)all[i].text,
                                        strlen(all[i].text)),
                     all[i].want, "%s", all[i].text);
    for (size_t n = 0; n < 19; n++) /* cut after the quote and before */
        cr_expect_eq(
            vt_xmp_orientation((const uint8_t *)"tiff:Orientation=\"6", n), 0);
    cr_expect_eq(
        vt_xmp_orientation((const uint8_t *)"tiff:Orientation=\"6", 19), 6);
}

/* A block as ImageMagick writes it into PNG's text: three lines, then digits
 * in lines of their own. */
static unsigned orientation_of_text(const char *head, const char *between,
                                    const uint8_t *bytes, size_t n)
{
    char *text = malloc(64 + 4 * n);
    size_t used;
    unsigned orientation = 99;

    cr_assert(text);
    used = (size_t)sprintf(text, "%s", head);
    for (size_t i = 0; i < n; i++)
        used += (size_t)sprintf(text + used, i % 2 ? "%02X%s" : "%02x%s",
                                bytes[i], i % 12 == 11 ? between : "");
    cr_expect_eq(
        vt_exif_hex_orientation(&orientation, (const uint8_t *)text, used),
        VITCL_OK);
    free(text);
    return orientation;
}

Test(exif, in_hexadecimal)
{
    static uint8_t large[70000];
    block b = begin(true, 8, 1);
    uint8_t named[134] = "Exif\0";

    entry(&b, 0x112, 3, 1, 6, 2);
    memcpy(named + 6, b.bytes, b.size);
    cr_expect_eq(orientation_of_text("\nexif\n 26\n", "\n", b.bytes, b.size),
                 6);
    cr_expect_eq(orientation_of_text("\nexif\n 32\n", "\n", named, b.size + 6),
                 6);
    cr_expect_eq(
        orientation_of_text("\nexif\n 32\n", " g~\r\n", named, b.size + 6), 6,
        "what is no digit is passed over");
    /* too few lines before, and nothing but lines */
    cr_expect_eq(orientation_of_text("exif 26\n", "", b.bytes, b.size), 0);
    cr_expect_eq(orientation_of_text("\nexif\n 26\n", "\n", b.bytes, 0), 0);
    cr_expect_eq(orientation_of_text("\nexif\n 26\n", "\n", b.bytes, 5), 1);
    cr_expect_eq(orientation_of_text("", "", b.bytes, 0), 0);
    named[5] = 1;
    cr_expect_eq(orientation_of_text("\nexif\n 32\n", "\n", named, b.size + 6),
                 1);
    /* A directory far behind. */
    memcpy(large, "MM\0*\0\1\x10\0", 8);
    memcpy(large + 0x11000, b.bytes + 8, 14);
    cr_expect_eq(orientation_of_text("\n\n\n", "\n", large, 0x11000 + 14), 6);
}
