/*
 * text_rows.h - vectors of the lines of a file: embed --text.
 */
#ifndef VT_CLI_TEXT_ROWS_H
#define VT_CLI_TEXT_ROWS_H
#include "texts.h"

typedef struct text_rows {
    const model_options *common;
    const text_options *how;
    const char *file;              /* a text a line; "-": standard input */
    const char *output;            /* NULL: JSON lines on standard output */
    bool normalize, half, counted; /* counted: --summary */
} text_rows;
/* One row for each line, in order; one that text_wrong() refuses fails. */
int text_rows_write(const text_rows *r);

#endif
