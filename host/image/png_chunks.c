/*
 * png_chunks.c - the chunks of a PNG, walked as in Pillow before its pixels are
 * decoded: everything before the picture data must have a correct checksum, the
 * data itself need not, and later chunks may be broken.
 */
#include "image/decoders.h"

#include "base/memory.h"

#include <string.h>

#include <zlib.h>

/* The longest text that is read for its orientation; Pillow refuses longer ones
 * if they are compressed. */
enum { TEXT_MAX = 1 << 20 };

/* Inflates a text into new memory; a broken one is empty. */
static vitcl_status inflate_text(uint8_t **out, size_t *n, const uint8_t *in,
                                 size_t size)
{
    z_stream z = {0};
    vitcl_status st = VT_NEW(out, TEXT_MAX);
    int result;

    *n = 0;
    if (st != VITCL_OK || inflateInit(&z) != Z_OK)
        return st;
    z.next_in = (uint8_t *)(uintptr_t)in;
    z.avail_in = (uInt)size;
    z.next_out = *out;
    z.avail_out = TEXT_MAX;
    result = inflate(&z, Z_SYNC_FLUSH);
    if (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR)
        *n = TEXT_MAX - z.avail_out;
    inflateEnd(&z);
    return VITCL_OK;
}

/* Where the text of a chunk tEXt, zTXt or iTXt starts behind its keyword, and
 * is it compressed? False: it has none. */
static bool find_text(const uint8_t **text, size_t *n, bool *compressed,
                      const uint8_t *type, const uint8_t *body, size_t size)
{
    const uint8_t *p = body, *end = body + size;

    *compressed = memcmp(type, "tEXt", 4) != 0;
    if (memcmp(type, "zTXt", 4) == 0) { /* a method, always 0 */
        if (p < end && *p++ != 0)
            return false;
    } else if (memcmp(type, "iTXt", 4) == 0) { /* two flags, two words */
        if (size < 2)
            return false;
        *compressed = p[0] != 0;
        if (*compressed && p[1] != 0)
            return false;
        p += 2;
        for (int words = 0; words < 2; words++) {
            p = memchr(p, 0, (size_t)(end - p));
            if (!p++)
                return false;
        }
    } else if (memcmp(type, "tEXt", 4) != 0) {
        return false;
    }
    *text = p;
    *n = (size_t)(end - p);
    return true;
}

typedef struct found {
    unsigned exif, xmp; /* orientations */
    bool got_exif;
} found;

/* Of chunks of the same kind the last one counts, as in Pillow. */
static vitcl_status look_for_orientation(found *s, const uint8_t *type,
                                         const uint8_t *body, size_t size)
{
    static const char hex[] = "Raw profile type exif";
    static const char xmp[] = "XML:com.adobe.xmp";
    const bool is_hex =
        size >= sizeof hex && memcmp(body, hex, sizeof hex) == 0;
    const bool is_xmp =
        size >= sizeof xmp && memcmp(body, xmp, sizeof xmp) == 0;
    const size_t key = is_hex ? sizeof hex : sizeof xmp;
    const uint8_t *text = NULL;
    uint8_t *inflated = NULL;
    bool compressed = false;
    vitcl_status st = VITCL_OK;
    size_t n = 0;

    if (memcmp(type, "eXIf", 4) == 0) {
        s->got_exif = true;
        s->exif = vt_exif_orientation(body, size, 1);
        return VITCL_OK;
    }
    if ((!is_hex && !is_xmp) ||
        !find_text(&text, &n, &compressed, type, body + key, size - key))
        return VITCL_OK;
    if (compressed) {
        VT_TRY(inflate_text(&inflated, &n, text, n));
        text = inflated;
    }
    if (is_xmp)
        s->xmp = vt_xmp_orientation(text, n);
    else if (!s->got_exif)
        VT_TRY(vt_exif_hex_orientation(&s->exif, text, n));
done:
    free(inflated);
    return st;
}

static bool is_chunk_name(const uint8_t *p)
{
    for (int i = 0; i < 4; i++)
        if (!((p[i] | 0x20) >= 'a' && (p[i] | 0x20) <= 'z'))
            return false;
    return true;
}

vitcl_status vt_png_walk(vt_png_chunks *out, const uint8_t *d, size_t size,
                         const char *name)
{
    bool in_data = false;
    found f = {.exif = 0};
    vitcl_status st;

    for (size_t at = 8;;) {
        const uint8_t *type = d + at + 4, *body = d + at + 8;
        uint32_t n;

        if (size - at < 12 || !is_chunk_name(type) ||
            (n = vt_read_number(d + at, 4, true)) > size - at - 12) {
            if (in_data || (size - at >= 8 && is_chunk_name(type) &&
                            memcmp(type, "IDAT", 4) == 0))
                break; /* the decoder checks the data */
            return vt_fail(VITCL_ECORRUPT, "%s: the PNG is truncated", name);
        }
        in_data = in_data || memcmp(type, "IDAT", 4) == 0;
        if (!in_data &&
            crc32(0, type, n + 4) != vt_read_number(body + n, 4, true))
            return vt_fail(VITCL_ECORRUPT,
                           "%s: wrong checksum in PNG chunk %.4s", name,
                           (const char *)type);
        if (memcmp(type, "PLTE", 4) == 0 && !in_data)
            memcpy(out->palette, body, n < 768 ? n / 3 * 3 : 768);
        if (memcmp(type, "tRNS", 4) == 0 && !in_data) {
            out->trns_size = n < sizeof out->trns ? n : sizeof out->trns;
            memcpy(out->trns, body, out->trns_size);
        }
        if (memcmp(type, "IEND", 4) == 0)
            break;
        st = look_for_orientation(&f, type, body, n);
        if (st != VITCL_OK)
            return st;
        at += (size_t)n + 12;
    }
    out->orientation = f.exif ? f.exif : f.xmp;
    return VITCL_OK;
}
