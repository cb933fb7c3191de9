/*
 * json_print.h - write values as JSON text. Errors stay in the stream.
 */
#ifndef VT_BASE_JSON_PRINT_H
#define VT_BASE_JSON_PRINT_H
#include "base/json.h"

#include <stdio.h>

/* On one line. */
void vt_json_print(FILE *f, const vt_json *v);
/* Quoted, and escaped where that is needed. */
void vt_json_print_string(FILE *f, const char *s);

#endif
