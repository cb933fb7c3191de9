/*
 * test_exif.c - orientations in hand-made blocks (TIFF 6.0, section 2), in both
 * byte orders, and truncated blocks.
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

/* An entry of 12 bytes; a value shorter than four is left-aligned in its field.
 */
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
    orientation = vt_exif_orientation(exact, size);
    free(exact);
    return orientation;
}

Test(exif, types)
{
    enum { BYTE = 1, SHORT = 3, LONG = 4 };
    static const struct {
        unsigned tag, type, count, value, bytes, want;
    } all[] = {
        {0x112, SHORT, 1, 6, 2, 6}, {0x112, LONG, 1, 5, 4, 5},
        {0x112, BYTE, 1, 8, 1, 8},  {0x112, SHORT, 1, 9, 2, 1},
        {0x112, SHORT, 1, 0, 2, 1}, {0x112, LONG, 1, 0x10003, 4, 1},
        {0x112, SHORT, 2, 6, 2, 0}, {0x112, SHORT, 0, 6, 2, 0},
        {0x112, 2, 1, 6, 1, 0},     {0x112, 5, 1, 6, 4, 0},
        {0x111, SHORT, 1, 6, 2, 0},
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

/* The block may end after the entry, without the offset of a next directory;
 * one byte less and the entry is ignored. */
Test(exif, ends)
{
    for (int big = 0; big < 2; big++)
        for (uint32_t at = 8; at < 13; at++) {
            block b = begin(big, at, 2);

            entry(&b, 0x100, 3, 1, 640, 2);
            entry(&b, 0x112, 3, 1, 6, 2);
            cr_expect_eq(orientation_of(&b, b.size), 6);
            for (size_t n = 0; n < b.size; n++)
                cr_expect_eq(orientation_of(&b, n), 0, "%zu of %zu bytes", n,
                             b.size);
        }
}

/* The directory's count of entries is used, and the last matching one wins. */
Test(exif, entries)
{
    block b = begin(false, 8, 1);

    entry(&b, 0x100, 3, 1, 640, 2);
    entry(&b, 0x112, 3, 1, 6, 2);
    cr_expect_eq(orientation_of(&b, b.size), 0);
    b = begin(false, 8, 2);
    entry(&b, 0x112, 3, 1, 3, 2);
    entry(&b, 0x112, 3, 1, 6, 2);
    cr_expect_eq(orientation_of(&b, b.size), 6);
    b.bytes[2] = 43;
    cr_expect_eq(orientation_of(&b, b.size), 0);
    b.bytes[2] = 42, b.bytes[1] = 'M';
    cr_expect_eq(orientation_of(&b, b.size), 0);
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
    unsigned orientation;

    cr_assert(text);
    used = (size_t)sprintf(text, "%s", head);
    for (size_t i = 0; i < n; i++)
        used += (size_t)sprintf(text + used, i % 2 ? "%02X%s" : "%02x%s",
                                bytes[i], i % 12 == 11 ? between : "");
    orientation = vt_exif_hex_orientation((const uint8_t *)text, used);
    free(text);
    return orientation;
}

Test(exif, in_hexadecimal)
{
    static uint8_t large[5000];
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
    cr_expect_eq(orientation_of_text("\nexif\n 26\n", "\n", b.bytes, 5), 0);
    cr_expect_eq(orientation_of_text("", "", b.bytes, 0), 0);
    named[5] = 1;
    cr_expect_eq(orientation_of_text("\nexif\n 32\n", "\n", named, b.size + 6),
                 0);
    /* A directory within the first 4096 bytes is found, one behind is not. */
    for (uint32_t at = 4096 - 14; at <= 4096 - 13; at++) {
        memset(large, 0, sizeof large);
        memcpy(large, "MM\0*\0\0", 6);
        large[6] = (uint8_t)(at >> 8), large[7] = (uint8_t)at;
        memcpy(large + at, b.bytes + 8, 14);
        cr_expect_eq(orientation_of_text("\n\n\n", "\n", large, sizeof large),
                     at == 4096 - 14 ? 6 : 0);
    }
}
