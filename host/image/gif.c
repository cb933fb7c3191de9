/*
 * gif.c - the first frame of a GIF through giflib, with the same bytes as
 * Pillow: on a canvas of the transparent colour, or of the first one.
 */
#include "image/decoders.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#include <gif_lib.h>

enum { GRAPHICS_CONTROL = 0xf9, NOTHING = -1 };

typedef struct gif_state {
    GifFileType *gif;
    const uint8_t *data;
    size_t size, at;
    const char *name;
    int transparent; /* a colour's number, or NOTHING */
    bool owed;       /* a block of one byte was begun */
    uint8_t *line;
    vt_picture picture;
} gif_state;

/* Where a file lacks its end, a zero ends the last row of blocks, as in Pillow:
 * all pixels may be there. Anywhere else a zero is an error, but as the only
 * byte of a block, which would become pixels. */
static int read_bytes(GifFileType *gif, GifByteType *out, int n)
{
    gif_state *s = gif->UserData;
    const size_t count = VT_MIN((size_t)n, s->size - s->at);

    if (count == 0 && n == 1 && !s->owed) {
        *out = 0;
        return 1;
    }
    memcpy(out, s->data + s->at, count);
    s->at += count;
    s->owed = !s->owed && n == 1 && count == 1 && *out == 1;
    return (int)count;
}

static vitcl_status broken(const gif_state *s)
{
    if (s->gif && s->gif->Error == D_GIF_ERR_NOT_ENOUGH_MEM)
        return vt_fail(VITCL_ENOMEM, "%s: out of memory", s->name);
    if (s->at == s->size)
        return vt_fail(VITCL_ECORRUPT, "%s: the GIF is truncated", s->name);
    return vt_fail(VITCL_ECORRUPT, "%s: not a valid GIF", s->name);
}

/* Reads up to the first picture; takes its transparent colour along. */
static vitcl_status find_frame(gif_state *s)
{
    GifRecordType type;
    GifByteType *block;
    int code;

    for (;;) {
        if (DGifGetRecordType(s->gif, &type) != GIF_OK)
            return broken(s);
        if (type == IMAGE_DESC_RECORD_TYPE)
            return DGifGetImageDesc(s->gif) == GIF_OK ? VITCL_OK : broken(s);
        if (type != EXTENSION_RECORD_TYPE)
            return vt_fail(VITCL_ECORRUPT, "%s: a GIF without a picture",
                           s->name);
        if (DGifGetExtension(s->gif, &code, &block) != GIF_OK)
            return broken(s);
        if (block && code == GRAPHICS_CONTROL && block[0] >= 4)
            s->transparent = block[1] & 1 ? block[4] : NOTHING;
        while (block)
            if (DGifGetExtensionNext(s->gif, &block) != GIF_OK)
                return broken(s);
    }
}

/* 256 colours. Those that the file lacks are black; where there are none, or
 * all are grey in order, a number is its grey. */
static void find_colours(uint8_t colours[256][4], const gif_state *s,
                         const vt_decode_as *as)
{
    const ColorMapObject *map = s->gif->Image.ColorMap;
    bool grey = true;

    if (!map)
        map = s->gif->SColorMap;
    memset(colours, 0, 256 * 4);
    for (int i = 0; map && i < map->ColorCount && i < 256; i++) {
        const GifColorType *c = &map->Colors[i];

        colours[i][0] = c->Red, colours[i][1] = c->Green;
        colours[i][2] = c->Blue;
        grey = grey && c->Red == i && c->Green == i && c->Blue == i;
    }
    for (int i = 0; grey && i < 256; i++)
        memset(colours[i], i, 3);
    for (int i = 0; as->own && i < 256; i++)
        memcpy(as->own->palette[i], colours[i], 3);
    if (as->own && !grey)
        as->own->mode = VT_OWN_NUMBERS;
    if (as->on_white && s->transparent != NOTHING)
        memset(colours[s->transparent], 255, 3);
}

static vitcl_status read_frame(gif_state *s, const vt_decode_as *as)
{
    static const struct {
        uint32_t first, step;
    } passes[] = {{0, 1}, {0, 8}, {4, 8}, {2, 4}, {1, 2}};
    const GifImageDesc *frame = &s->gif->Image;
    const uint32_t left = (uint32_t)frame->Left, top = (uint32_t)frame->Top;
    const uint32_t width = (uint32_t)frame->Width;
    const uint32_t height = (uint32_t)frame->Height;
    uint8_t colours[256][4], *to;
    vitcl_status st;
    size_t row;

    st = vt_picture_new(
        &s->picture, VT_MAX((uint32_t)s->gif->SWidth, left + width),
        VT_MAX((uint32_t)s->gif->SHeight, top + height), s->name);
    if (st != VITCL_OK)
        return st;
    row = 3 * (size_t)s->picture.width;
    s->line = malloc(width ? width : 1);
    if (!s->line)
        return vt_fail(VITCL_ENOMEM, "%s: out of memory", s->name);
    find_colours(colours, s, as);
    to = s->picture.rgb;
    for (uint32_t x = 0; x < s->picture.width; x++, to += 3)
        memcpy(to, colours[s->transparent == NOTHING ? 0 : s->transparent], 3);
    for (uint32_t y = 1; y < s->picture.height; y++, to += row)
        memcpy(to, s->picture.rgb, row);
    for (int pass = frame->Interlace ? 1 : 0; pass < 5; pass++) {
        for (uint32_t y = passes[pass].first; y < height;
             y += passes[pass].step) {
            if (DGifGetLine(s->gif, s->line, (int)width) != GIF_OK)
                return broken(s);
            to = s->picture.rgb +
                 3 * ((size_t)s->picture.width * (top + y) + left);
            for (uint32_t x = 0; x < width; x++, to += 3)
                memcpy(to, colours[s->line[x]], 3);
        }
        if (pass == 0)
            break;
    }
    return VITCL_OK;
}

vitcl_status vt_decode_gif(vt_picture *out, unsigned *orientation,
                           const uint8_t *data, size_t size,
                           const vt_decode_as *as, const char *name)
{
    gif_state s = {
        .data = data, .size = size, .name = name, .transparent = NOTHING};
    vitcl_status st = VITCL_OK;
    int error = 0;

    *orientation = 1;
    s.gif = DGifOpen(&s, read_bytes, &error);
    if (!s.gif)
        return error == D_GIF_ERR_NOT_ENOUGH_MEM
                   ? vt_fail(VITCL_ENOMEM, "%s: out of memory", name)
                   : broken(&s);
    VT_TRY(find_frame(&s));
    VT_TRY(read_frame(&s, as));
    *out = s.picture, s.picture = (vt_picture){0};
done:
    vt_picture_free(&s.picture);
    free(s.line);
    (void)DGifCloseFile(s.gif, &error);
    return st;
}
