/*
 * blocks.h - pictures and bars made of characters.
 *
 * On a terminal they have colours: 24 bits where COLORTERM or TERM says so,
 * else the 256 of xterm. Elsewhere, with NO_COLOR or TERM=dumb, they are plain
 * ASCII.
 */
#ifndef VT_CLI_BLOCKS_H
#define VT_CLI_BLOCKS_H
#include "cli/answers/naming.h"

/* The classes of the last picture, a bar each. */
void blocks_classes(const naming *n, const answer *a);

typedef struct blocks_map { /* values over a picture, row by row */
    const uint8_t *rgb;     /* height * width * 3 bytes */
    uint32_t height, width;
    const double *value; /* rows * columns: shares */
    uint32_t rows, columns;
} blocks_map;
/* The picture, and beside it the same under the values; as ASCII the values
 * alone. Returns the exit status. */
int blocks_show(const blocks_map *m);

#endif
