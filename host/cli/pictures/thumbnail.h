/*
 * thumbnail.h - small pictures in a page.
 */
#ifndef VT_CLI_THUMBNAIL_H
#define VT_CLI_THUMBNAIL_H
#include <stddef.h>
#include <stdint.h>
#include <vitcl.h>

typedef struct thumbnail {
    uint8_t *jpeg;
    size_t size, room;
    uint32_t width, height;
} thumbnail;

/* The pixels as a JPEG; without a size if memory is short. */
void thumbnail_make(thumbnail *out, const vitcl_image *small);
void thumbnail_free(thumbnail *t);

#endif
