/*
 * thumbnail.c - writes a JPEG by stb_image_write, which is code of ours here:
 * no library is linked for it.
 */
#include "thumbnail.h"

#include <stdlib.h>
#include <string.h>
#include <vitcl.h>

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#define STBI_WRITE_NO_STDIO
/* gcc reports these at the end of the file, of system headers, too. */
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb_image_write.h>

enum { QUALITY = 80 };

static void collect(void *context, void *data, int size)
{
    thumbnail *t = context;
    const size_t n = (size_t)size;

    if (t->size + n > t->room) { /* without memory, size is above it */
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

void thumbnail_make(thumbnail *out, const vitcl_image *small)
{
    thumbnail t = {.jpeg = NULL};

    stbi_write_jpg_to_func(collect, &t, (int)small->width, (int)small->height,
                           3, small->rgb, QUALITY);
    *out = (thumbnail){.jpeg = t.jpeg,
                       .size = t.jpeg ? t.size : 0,
                       .width = small->width,
                       .height = small->height};
}

void thumbnail_free(thumbnail *t)
{
    free(t->jpeg);
    *t = (thumbnail){.jpeg = NULL};
}
