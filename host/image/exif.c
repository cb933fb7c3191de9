/*
 * exif.c - the orientation of a picture, from the same sources as in Pillow:
 * tag 0x112 of the first directory of the EXIF block, else tiff:Orientation in
 * XMP.
 *
 * A damaged block counts as absent; it is never an error.
 */
#include "image/decoders.h"

#include <string.h>

enum { ORIENTATION = 0x112, ENTRY = 12 };

unsigned vt_exif_orientation(const uint8_t *tiff, size_t size)
{
    unsigned orientation = 0;
    uint32_t at, n;
    bool big;

    if (size < 8 || (memcmp(tiff, "II", 2) != 0 && memcmp(tiff, "MM", 2) != 0))
        return 0;
    big = tiff[0] == 'M';
    if (vt_number(tiff + 2, 2, big) != 42)
        return 0;
    at = vt_number(tiff + 4, 4, big);
    if (at > size || size - at < 2)
        return 0;
    n = vt_number(tiff + at, 2, big);
    for (size_t p = (size_t)at + 2; n > 0 && p + ENTRY <= size;
         p += ENTRY, n--) {
        /* tag, type, count, value: a byte, short or long is stored inline */
        uint32_t type = vt_number(tiff + p + 2, 2, big);
        unsigned bytes = type == 1 ? 1 : type == 3 ? 2 : type == 4 ? 4 : 0;

        if (vt_number(tiff + p, 2, big) == ORIENTATION && bytes > 0 &&
            vt_number(tiff + p + 4, 4, big) == 1) {
            orientation = vt_number(tiff + p + 8, bytes, big);
            if (orientation < 1 || orientation > 8)
                orientation = 1; /* Pillow turns nothing, and asks no XMP */
        }
    }
    return orientation;
}

bool vt_tiff_is_raw(const uint8_t *tiff, size_t size)
{
    enum {
        SUBFILE = 254,
        COMPRESSION = 259,
        COLOUR = 262,
        PARTS = 330,
        DNG = 50706
    };
    bool reduced = false, parts = false;
    uint32_t at, n;
    bool big;

    if (size < 10 || vt_number(tiff + 2, 2, tiff[0] == 'M') != 42)
        return false;
    big = tiff[0] == 'M';
    if (memcmp(tiff + 8, "CR", 2) == 0) /* Canon CR2 */
        return true;
    at = vt_number(tiff + 4, 4, big);
    if (at > size || size - at < 2)
        return false;
    n = vt_number(tiff + at, 2, big);
    for (size_t p = (size_t)at + 2; n > 0 && p + ENTRY <= size;
         p += ENTRY, n--) {
        const uint32_t tag = vt_number(tiff + p, 2, big);
        const uint32_t value = vt_number(
            tiff + p + 8, vt_number(tiff + p + 2, 2, big) == 3 ? 2 : 4, big);

        if (tag == DNG)
            return true;
        if (tag == COMPRESSION && /* Sony, Samsung, Nikon, Pentax */
            (value == 32767 || value == 32770 || value == 34713 ||
             value == 65535))
            return true;
        if (tag == COLOUR && (value == 32803 || value == 34892))
            return true; /* a colour filter array, or linear raw */
        reduced = reduced || (tag == SUBFILE && value & 1);
        parts = parts || tag == PARTS;
    }
    return reduced && parts; /* a preview, the picture is elsewhere */
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

unsigned vt_exif_hex_orientation(const uint8_t *text, size_t size)
{
    uint8_t block[4096]; /* enough for the first directory */
    size_t n = 0, at = 0;
    int high = -1;

    /* "\nexif\n    length\n", then hex digits with line ends between */
    for (unsigned lines = 0; at < size && lines < 3; at++)
        lines += text[at] == '\n';
    for (; at < size && n < sizeof block; at++) {
        int d = hex_digit(text[at]);

        if (d < 0)
            continue;
        if (high < 0) {
            high = d;
        } else {
            block[n++] = (uint8_t)(high * 16 + d);
            high = -1;
        }
    }
    if (n >= 6 && memcmp(block, "Exif\0", 6) == 0)
        return vt_exif_orientation(block + 6, n - 6);
    return vt_exif_orientation(block, n);
}

unsigned vt_xmp_orientation(const uint8_t *text, size_t size)
{
    static const char key[] = "tiff:Orientation";
    const size_t n = sizeof key - 1;

    for (size_t i = 0; i + n + 3 <= size; i++) {
        const uint8_t *p = text + i + n;
        size_t skip;

        if (text[i] != 't' || memcmp(text + i, key, n) != 0)
            continue;
        skip = p[0] == '>' ? 1 : p[0] == '=' && p[1] == '"' ? 2 : 0;
        if (skip && p[skip] >= '0' && p[skip] <= '9')
            return p[skip] <= '8' ? (unsigned)(p[skip] - '0') : 0;
    }
    return 0;
}
