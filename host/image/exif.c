/*
 * exif.c - the orientation of a picture, from the same sources as in Pillow:
 * tag 0x112 of the first directory of the EXIF block, else tiff:Orientation in
 * XMP.
 *
 * Odd directories are read as Pillow 13 reads them: an entry of an unknown
 * type, without values, or with more data than the block is passed over; an
 * offset behind the end of the block ends the directory; of two valid entries
 * with one tag the first counts, and of several values the first. A damaged
 * block is never an error.
 */
#include "image/decoders.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    PHOTOMETRIC = 0x106, /* whose value for colours by number is PALETTE */
    PALETTE = 3,
    ORIENTATION = 0x112,
    ENTRY = 12,
    BIG_ENTRY = 20
};

/* The types of TIFF 6.0, and 64-bit integers of BigTIFF. */
enum {
    BYTE = 1,
    ASCII,
    SHORT,
    LONG,
    RATIONAL,
    SBYTE,
    UNDEFINED,
    SSHORT,
    SLONG,
    SRATIONAL,
    FLOAT,
    DOUBLE,
    IFD,
    LONG8 = 16
};

static const uint8_t unit[] = {
    [BYTE] = 1,  [ASCII] = 1,     [SHORT] = 2,  [LONG] = 4,  [RATIONAL] = 8,
    [SBYTE] = 1, [UNDEFINED] = 1, [SSHORT] = 2, [SLONG] = 4, [SRATIONAL] = 8,
    [FLOAT] = 4, [DOUBLE] = 8,    [IFD] = 4,    [LONG8] = 8};

typedef struct block {
    const uint8_t *bytes;
    size_t size;
    bool big_endian, big_tiff;
} block;

static uint64_t number(const block *b, const uint8_t *p, unsigned bytes)
{
    uint64_t half[2];

    if (bytes <= 4)
        return vt_read_number(p, bytes, b->big_endian);
    half[0] = vt_read_number(p, 4, b->big_endian);
    half[1] = vt_read_number(p + 4, 4, b->big_endian);
    return b->big_endian ? half[0] << 32 | half[1] : half[1] << 32 | half[0];
}

static unsigned whole(double v)
{
    return v >= 1 && v <= 8 && v == (unsigned)v ? (unsigned)v : 1;
}

/* The orientation in an entry's first value. Every kind of number may hold it;
 * bytes and text do not: Pillow compares them with numbers. */
static unsigned value(const block *b, unsigned type, const uint8_t *data)
{
    const uint64_t bits = number(b, data, unit[type]);
    const uint32_t word = (uint32_t)bits;
    double real;
    float single;

    switch (type) {
    case BYTE:
    case ASCII:
    case UNDEFINED:
        return 1;
    case RATIONAL:
        return whole((double)number(b, data, 4) /
                     (double)number(b, data + 4, 4));
    case SRATIONAL:
        return whole((double)(int32_t)number(b, data, 4) /
                     (int32_t)number(b, data + 4, 4));
    case FLOAT:
        memcpy(&single, &word, sizeof single);
        return whole(single);
    case DOUBLE:
        memcpy(&real, &bits, sizeof real);
        return whole(real);
    default: /* negative numbers are far above 8 */
        return bits >= 1 && bits <= 8 ? (unsigned)bits : 1;
    }
}

/* The data of an entry of n bytes in all: in `field`, or where it points. NULL:
 * none that Pillow takes; *end: nor any entry behind. */
static const uint8_t *data_of(const block *b, const uint8_t *field, uint64_t n,
                              unsigned word, uint64_t *total, bool *end)
{
    uint64_t from;

    if (n <= word)
        return n > 0 ? field : NULL;
    from = number(b, field, word);
    if (from >> 63)
        return NULL;
    *total += VT_MIN(n, b->size + 1); /* of all that lie elsewhere */
    if (*total > b->size)
        return NULL;
    *end = from > b->size || n > b->size - from;
    return *end ? NULL : b->bytes + from;
}

/* The first value of a tag of the directory at byte `at`, as value() has it; 0:
 * it is not there. */
static unsigned directory(const block *b, uint64_t at, unsigned wanted)
{
    const unsigned word = b->big_tiff ? 8 : 4, head = b->big_tiff ? 8 : 2;
    const size_t size = b->big_tiff ? BIG_ENTRY : ENTRY;
    uint8_t seen[65536 / 8] = {0}; /* tags */
    uint64_t n, total = 0;
    bool end = false;

    if (at > b->size || b->size - at < head)
        return 0;
    n = number(b, b->bytes + at, head);
    for (size_t p = (size_t)at + head; !end && n > 0 && b->size - p >= size;
         p += size, n--) {
        /* tag, type, count, then the data or where they are */
        const unsigned tag = vt_read_number(b->bytes + p, 2, b->big_endian);
        const unsigned type =
            vt_read_number(b->bytes + p + 2, 2, b->big_endian);
        const uint64_t count = number(b, b->bytes + p + 4, word);
        const uint8_t *data;

        if (seen[tag / 8] & 1 << tag % 8 || type >= VT_COUNT(unit) ||
            unit[type] == 0)
            continue;
        data = data_of(b, b->bytes + p + 4 + word,
                       count > UINT64_MAX / 8 ? count : count * unit[type],
                       word, &total, &end);
        if (!data)
            continue;
        if (tag == wanted)
            return value(b, type, data);
        seen[tag / 8] |= (uint8_t)(1 << tag % 8);
    }
    return 0;
}

/* Is there a header of TIFF, or, if `big` is allowed, of BigTIFF? Like Pillow,
 * takes a version in the wrong byte order, and "MM\0+" as TIFF. */
static bool header(block *b, bool big)
{
    const uint8_t *p = b->bytes;
    unsigned version;

    if (b->size < 8 || (memcmp(p, "II", 2) != 0 && memcmp(p, "MM", 2) != 0))
        return false;
    b->big_endian = p[0] == 'M';
    version = vt_read_number(p + 2, 2, b->big_endian);
    b->big_tiff = big && version == 43;
    if (b->big_tiff)
        return b->size >= 16;
    return version == 42 || version == 42 << 8 ||
           (version == 43 && b->big_endian);
}

unsigned vt_exif_orientation(const uint8_t *exif, size_t size, unsigned names)
{
    block b = {.bytes = exif, .size = size};

    for (; names > 0 && b.size >= 6 && memcmp(b.bytes, "Exif\0", 6) == 0;
         names--)
        b.bytes += 6, b.size -= 6;
    if (b.size == 0)
        return 0;
    /* Pillow refuses a bad header or, in JPEG, looks no further. */
    return header(&b, false)
               ? directory(&b, number(&b, b.bytes + 4, 4), ORIENTATION)
               : 1;
}

static unsigned tiff_value(const uint8_t *tiff, size_t size, unsigned wanted)
{
    block b = {.bytes = tiff, .size = size};

    if (!header(&b, true))
        return 0;
    return directory(
        &b, b.big_tiff ? number(&b, tiff + 8, 8) : number(&b, tiff + 4, 4),
        wanted);
}

unsigned vt_tiff_orientation(const uint8_t *tiff, size_t size)
{
    return tiff_value(tiff, size, ORIENTATION);
}

bool vt_tiff_has_palette(const uint8_t *tiff, size_t size)
{
    return tiff_value(tiff, size, PHOTOMETRIC) == PALETTE;
}

vitcl_status vt_app1_add(vt_app1 *a, const uint8_t *body, size_t n)
{
    static const char exif[6] = "Exif\0",
                      xmp[] = "http://ns.adobe.com/xap/1.0/";

    if (n >= sizeof exif && memcmp(body, exif, sizeof exif) == 0) {
        const size_t more = n - sizeof exif;
        uint8_t *joined = realloc(a->exif, a->size + more + 1);

        if (!joined)
            return vt_fail(VITCL_ENOMEM, "out of memory");
        memcpy(joined + a->size, body + sizeof exif, more);
        a->exif = joined, a->size += more;
    }
    if (n >= sizeof xmp && memcmp(body, xmp, sizeof xmp) == 0)
        a->xmp = vt_xmp_orientation(body + sizeof xmp, n - sizeof xmp);
    return VITCL_OK;
}

unsigned vt_app1_orientation(vt_app1 *a)
{
    const unsigned orientation =
        a->exif ? vt_exif_orientation(a->exif, a->size, 1) : 0;

    free(a->exif);
    a->exif = NULL;
    return orientation ? orientation : a->xmp;
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

    if (size < 10 || vt_read_number(tiff + 2, 2, tiff[0] == 'M') != 42)
        return false;
    big = tiff[0] == 'M';
    if (memcmp(tiff + 8, "CR", 2) == 0) /* Canon CR2 */
        return true;
    at = vt_read_number(tiff + 4, 4, big);
    if (at > size || size - at < 2)
        return false;
    n = vt_read_number(tiff + at, 2, big);
    for (size_t p = (size_t)at + 2; n > 0 && p + ENTRY <= size;
         p += ENTRY, n--) {
        const uint32_t tag = vt_read_number(tiff + p, 2, big);
        const uint32_t value = vt_read_number(
            tiff + p + 8, vt_read_number(tiff + p + 2, 2, big) == 3 ? 2 : 4,
            big);

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

vitcl_status vt_exif_hex_orientation(unsigned *out, const uint8_t *text,
                                     size_t size)
{
    vitcl_status st;
    uint8_t *bytes = NULL;
    size_t n = 0, at = 0;
    int high = -1;

    /* "\nexif\n    length\n", then hex digits with line ends between */
    for (unsigned lines = 0; at < size && lines < 3; at++)
        lines += text[at] == '\n';
    VT_TRY(VT_NEW(&bytes, (size - at) / 2 + 1));
    for (; at < size; at++) {
        int d = hex_digit(text[at]);

        if (d < 0)
            continue;
        if (high < 0) {
            high = d;
        } else {
            bytes[n++] = (uint8_t)(high * 16 + d);
            high = -1;
        }
    }
    *out = vt_exif_orientation(bytes, n, 2);
done:
    free(bytes);
    return st;
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
