/*
 * thumbnail.h - small pictures in a page.
 */
#ifndef VT_CLI_THUMBNAIL_H
#define VT_CLI_THUMBNAIL_H
#include <stddef.h>
#include <stdint.h>

typedef struct thumbnail {
    uint8_t *jpeg;
    size_t size, room;
    uint32_t width, height;
} thumbnail;

/* The picture of a file as a JPEG whose longer side has at most `side` pixels.
 * Not VITCL_OK: vitcl_last_error() says why there is none. */
int thumbnail_make(thumbnail *out, const char *path, uint32_t side);
void thumbnail_free(thumbnail *t);

#endif
