/*
 * thumbnail.c - decodes a picture in the decoder's process, averages its pixels
 * over squares, and writes a JPEG by stb_image_write, which is code of ours
 * here: no library is linked for it.
 */
#include "thumbnail.h"

#include <vitcl.h>

#include <stdlib.h>
#include <string.h>

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#define STBI_WRITE_NO_STDIO
/* Third-party code: our warnings do not apply. No pop at the end, because
 * unused functions are reported at the end of the file. */
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb_image_write.h>

enum { QUALITY = 80 };

/* The mean of the pixels from `left` and `top` to before `right` and `end`. */
static void mean(uint8_t out[3], const vitcl_image *in, uint64_t left,
                 uint64_t top, uint64_t right, uint64_t end)
{
    uint64_t sum[3] = {0, 0, 0}, n = 0;

    for (uint64_t v = top; v < end; v++)
        for (uint64_t u = left; u < right; u++, n++)
            for (uint64_t c = 0; c < 3; c++)
                sum[c] += in->rgb[(v * in->width + u) * 3 + c];
    for (int c = 0; c < 3; c++)
        out[c] = n ? (uint8_t)((sum[c] + n / 2) / n) : 0;
}

/* Each new pixel is the mean of the old ones that it covers. */
static void shrink(uint8_t *out, uint32_t width, uint32_t height,
                   const vitcl_image *in)
{
    for (uint64_t y = 0; y < height; y++)
        for (uint64_t x = 0; x < width; x++, out += 3)
            mean(out, in, x * in->width / width, y * in->height / height,
                 (x + 1) * in->width / width, (y + 1) * in->height / height);
}

static void collect(void *context, void *data, int size)
{
    thumbnail *t = context;
    const size_t n = (size_t)size;

    if (t->room - t->size < n) {
        const size_t room = 2 * (t->size + n);
        uint8_t *more = t->jpeg || !t->size ? realloc(t->jpeg, room) : NULL;

        if (!more) { /* stays without: an empty picture */
            free(t->jpeg);
            *t = (thumbnail){.size = 1};
            return;
        }
        t->jpeg = more, t->room = room;
    }
    memcpy(t->jpeg + t->size, data, n);
    t->size += n;
}

int thumbnail_make(thumbnail *out, const char *path, uint32_t side)
{
    vitcl_image image = {.rgb = NULL};
    const vitcl_status st = vitcl_image_load(&image, path);
    thumbnail t = {.jpeg = NULL};
    uint32_t longer;
    uint8_t *small;

    *out = t;
    if (st != VITCL_OK)
        return st;
    longer = image.width > image.height ? image.width : image.height;
    side = longer < side ? longer : side;
    t.width = (uint32_t)((uint64_t)image.width * side / longer);
    t.height = (uint32_t)((uint64_t)image.height * side / longer);
    t.width = t.width ? t.width : 1;
    t.height = t.height ? t.height : 1;
    *out = (thumbnail){.width = t.width, .height = t.height};
    small = malloc((size_t)t.width * t.height * 3);
    if (small) {
        shrink(small, t.width, t.height, &image);
        stbi_write_jpg_to_func(collect, &t, (int)t.width, (int)t.height, 3,
                               small, QUALITY);
        out->jpeg = t.jpeg, out->size = t.jpeg ? t.size : 0;
    }
    free(small);
    vitcl_image_free(&image);
    return st;
}

void thumbnail_free(thumbnail *t)
{
    free(t->jpeg);
    *t = (thumbnail){.jpeg = NULL};
}
