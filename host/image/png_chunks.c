/*
 * png_chunks.c - the chunks of a PNG, walked as in Pillow before its pixels are
 * decoded: everything before the picture data must have a correct checksum, the
 * data itself need not, and later chunks may be broken.
 */
#include "image/decoders.h"

#include <string.h>

#include <zlib.h>

/* The text of a zTXt chunk, used for the orientation only. A text longer than
 * the buffer is truncated; the first directory still fits. */
static size_t inflate_some(uint8_t *out, size_t room, const uint8_t *in,
                           size_t size)
{
    z_stream z = {0};

    if (inflateInit(&z) != Z_OK)
        return 0;
    z.next_in = (uint8_t *)(uintptr_t)in;
    z.avail_in = (uInt)size;
    z.next_out = out;
    z.avail_out = (uInt)room;
    (void)inflate(&z, Z_SYNC_FLUSH);
    inflateEnd(&z);
    return room - z.avail_out;
}

typedef struct found {
    unsigned exif, xmp; /* orientations */
    bool got_exif;
} found;

static void look_for_orientation(found *s, const uint8_t *type,
                                 const uint8_t *body, size_t n)
{
    static const char hex[] = "Raw profile type exif";
    static const char xmp[] = "XML:com.adobe.xmp";
    uint8_t text[8192];

    if (memcmp(type, "eXIf", 4) == 0) {
        s->got_exif = true;
        s->exif = vt_exif_orientation(body, n);
    } else if (!s->got_exif && n > sizeof hex + 1 &&
               memcmp(body, hex, sizeof hex) == 0) {
        if (memcmp(type, "tEXt", 4) == 0)
            s->exif =
                vt_exif_hex_orientation(body + sizeof hex, n - sizeof hex);
        else if (memcmp(type, "zTXt", 4) == 0)
            s->exif = vt_exif_hex_orientation(
                text, inflate_some(text, sizeof text, body + sizeof hex + 1,
                                   n - sizeof hex - 1));
    } else if (memcmp(type, "iTXt", 4) == 0 && n > sizeof xmp + 4 &&
               memcmp(body, xmp, sizeof xmp) == 0 && body[sizeof xmp] == 0) {
        s->xmp = vt_xmp_orientation(body + sizeof xmp, n - sizeof xmp);
    }
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

    for (size_t at = 8;;) {
        const uint8_t *type = d + at + 4, *body = d + at + 8;
        uint32_t n;

        if (size - at < 12 || !is_chunk_name(type) ||
            (n = vt_number(d + at, 4, true)) > size - at - 12) {
            if (in_data || (size - at >= 8 && is_chunk_name(type) &&
                            memcmp(type, "IDAT", 4) == 0))
                break; /* the decoder checks the data */
            return vt_fail(VITCL_ECORRUPT, "%s: the PNG is truncated", name);
        }
        in_data = in_data || memcmp(type, "IDAT", 4) == 0;
        if (!in_data && crc32(0, type, n + 4) != vt_number(body + n, 4, true))
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
        look_for_orientation(&f, type, body, n);
        at += (size_t)n + 12;
    }
    out->orientation = f.exif ? f.exif : f.xmp;
    return VITCL_OK;
}
