/*
 * text.h - a string that is written like a file.
 */
#ifndef VT_BASE_TEXT_H
#define VT_BASE_TEXT_H
#include "base/status.h"

#include <stdio.h>

typedef struct vt_text {
    FILE *f; /* write here; errors are found by vt_text_take() */
    char *s;
    size_t size;
} vt_text;
vitcl_status vt_text_open(vt_text *out);
/* Ends the text: *out is its string, to be freed. A failure leaves nothing. */
vitcl_status vt_text_take(char **out, vt_text *t);

#endif
