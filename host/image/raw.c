/*
 * raw.c - the preview inside a camera's RAW file, found by libraw: a JPEG, or
 * plain pixels. The sensor's own data is not developed.
 */
#include "image/decoders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libraw/libraw.h>

static vitcl_status failed(int error, const char *name)
{
    if (error == LIBRAW_UNSUFFICIENT_MEMORY || error == ENOMEM)
        return vt_fail(VITCL_ENOMEM, "%s: out of memory", name);
    if (error == LIBRAW_NO_THUMBNAIL || error == LIBRAW_UNSUPPORTED_THUMBNAIL)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: a RAW file without a preview that libraw finds; "
                       "convert it to PNG or JPEG",
                       name);
    if (error == LIBRAW_FILE_UNSUPPORTED)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: a RAW file that libraw does not know; convert it "
                       "to PNG or JPEG",
                       name);
    return vt_fail(VITCL_ECORRUPT, "%s: not a valid RAW file: %.200s", name,
                   libraw_strerror(error));
}

static vitcl_status copy_bitmap(vt_picture *out, const libraw_thumbnail_t *t,
                                const char *name)
{
    const size_t n = (size_t)t->twidth * t->theight;
    const uint8_t *from = (const uint8_t *)t->thumb;
    const size_t bytes = t->tcolors == 1 ? 1 : 3;
    vitcl_status st;

    if ((t->tcolors != 1 && t->tcolors != 3) || t->tlength / bytes < n)
        return failed(LIBRAW_UNSUPPORTED_THUMBNAIL, name);
    st = vt_picture_new(out, t->twidth, t->theight, name);
    for (size_t i = 0; st == VITCL_OK && i < n; i++)
        for (size_t c = 0; c < 3; c++)
            out->rgb[3 * i + c] = from[i * bytes + c % bytes];
    return st;
}

/* libraw's number of quarter turns as an EXIF orientation. */
static unsigned orientation_of(int flip)
{
    return flip == 3 ? 3 : flip == 5 ? 8 : flip == 6 ? 6 : 1;
}

vitcl_status vt_decode_raw(vt_picture *out, unsigned *orientation,
                           const uint8_t *data, size_t size,
                           const vt_decode_as *as, const char *name)
{
    libraw_data_t *raw = libraw_init(LIBRAW_OPTIONS_NONE);
    vitcl_status st = VITCL_OK;
    unsigned own = 0;
    int error;

    if (!raw)
        return vt_fail(VITCL_ENOMEM, "%s: out of memory", name);
    libraw_set_dataerror_handler(raw, NULL, NULL); /* it would print */
    error = libraw_open_buffer(raw, (void *)(uintptr_t)data, size);
    if (error == LIBRAW_SUCCESS)
        error = libraw_unpack_thumb(raw);
    if (error != LIBRAW_SUCCESS)
        st = failed(error, name);
    else if (!raw->thumbnail.thumb)
        st = failed(LIBRAW_NO_THUMBNAIL, name);
    else if (raw->thumbnail.tformat == LIBRAW_THUMBNAIL_JPEG)
        st = vt_decode_jpeg(out, &own, (const uint8_t *)raw->thumbnail.thumb,
                            raw->thumbnail.tlength, as, name);
    else if (raw->thumbnail.tformat == LIBRAW_THUMBNAIL_BITMAP)
        st = copy_bitmap(out, &raw->thumbnail, name);
    else
        st = failed(LIBRAW_UNSUPPORTED_THUMBNAIL, name);
    *orientation = own ? own : orientation_of(raw->sizes.flip);
    libraw_close(raw);
    return st;
}
