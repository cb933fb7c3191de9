/*
 * webp.c - WebP through libwebp, with the same bytes as Pillow: the first frame
 * of an animation, laid on a transparent canvas.
 */
#include "image/decoders.h"

#include <stdlib.h>
#include <string.h>

#include <webp/decode.h>
#include <webp/demux.h>

static vitcl_status not_webp(VP8StatusCode code, const char *name)
{
    if (code == VP8_STATUS_OUT_OF_MEMORY)
        return vt_fail(VITCL_ENOMEM, "%s: out of memory", name);
    if (code == VP8_STATUS_NOT_ENOUGH_DATA)
        return vt_fail(VITCL_ECORRUPT, "%s: the WebP is truncated", name);
    return vt_fail(VITCL_ECORRUPT, "%s: not a valid WebP", name);
}

/* A still picture, without its alpha. */
static vitcl_status read_opaque(vt_picture *p, const WebPData *file,
                                const char *name)
{
    WebPDecoderConfig config;
    VP8StatusCode code;

    if (!WebPInitDecoderConfig(&config))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: libwebp is another version than at build time",
                       name);
    config.output.colorspace = MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = p->rgb;
    config.output.u.RGBA.stride = (int)(p->width * 3);
    config.output.u.RGBA.size = (size_t)p->width * p->height * 3;
    code = WebPDecode(file->bytes, file->size, &config);
    WebPFreeDecBuffer(&config.output);
    return code == VP8_STATUS_OK ? VITCL_OK : not_webp(code, name);
}

static vitcl_status read_frame(vt_picture *p, const WebPData *file,
                               const vt_decode_as *as, const char *name)
{
    WebPAnimDecoderOptions options;
    WebPAnimDecoder *decoder = NULL;
    const size_t n = (size_t)p->width * p->height;
    vitcl_status st = VITCL_OK;
    uint8_t *rgba, *to = p->rgb;
    int end;

    if (WebPAnimDecoderOptionsInit(&options)) {
        options.color_mode = MODE_RGBA;
        options.use_threads = 0;
        decoder = WebPAnimDecoderNew(file, &options);
    }
    if (!decoder || !WebPAnimDecoderGetNext(decoder, &rgba, &end)) {
        st = not_webp(VP8_STATUS_BITSTREAM_ERROR, name);
        goto done;
    }
    for (size_t i = 0; i < n; i++, to += 3, rgba += 4) {
        memcpy(to, rgba, 3);
        vt_opacity(to, as, i, rgba[3]);
    }
done:
    WebPAnimDecoderDelete(decoder);
    return st;
}

static unsigned find_orientation(const WebPData *file)
{
    WebPDemuxer *demuxer = WebPDemux(file);
    WebPChunkIterator chunk;
    unsigned orientation = 0;

    if (demuxer && WebPDemuxGetChunk(demuxer, "EXIF", 1, &chunk)) {
        orientation =
            vt_exif_orientation(chunk.chunk.bytes, chunk.chunk.size, 2);
        WebPDemuxReleaseChunkIterator(&chunk);
    }
    if (!orientation && demuxer &&
        WebPDemuxGetChunk(demuxer, "XMP ", 1, &chunk)) {
        orientation = vt_xmp_orientation(chunk.chunk.bytes, chunk.chunk.size);
        WebPDemuxReleaseChunkIterator(&chunk);
    }
    WebPDemuxDelete(demuxer);
    return orientation;
}

vitcl_status vt_decode_webp(vt_picture *out, unsigned *orientation,
                            const uint8_t *data, size_t size,
                            const vt_decode_as *as, const char *name)
{
    const WebPData file = {data, size};
    WebPBitstreamFeatures features;
    vt_decode_as rgb = {false, NULL};
    vt_picture p = {0};
    VP8StatusCode code;
    vitcl_status st;

    code = WebPGetFeatures(data, size, &features);
    if (code != VP8_STATUS_OK)
        return not_webp(code, name);
    VT_TRY(vt_picture_new(&p, (uint32_t)features.width,
                          (uint32_t)features.height, name));
    if (!features.has_alpha)
        rgb.on_white = as->on_white, as = &rgb;
    VT_TRY(vt_own_new(as->own, VT_OWN_ALPHA, p.width, p.height, name));
    VT_TRY(features.has_animation ||
                   (features.has_alpha && (as->on_white || as->own))
               ? read_frame(&p, &file, as, name)
               : read_opaque(&p, &file, name));
    *orientation = find_orientation(&file);
    *out = p, p = (vt_picture){0};
done:
    vt_picture_free(&p);
    return st;
}
