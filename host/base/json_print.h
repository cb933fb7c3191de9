/*
 * json_print.h - write values as JSON text. Errors stay in the stream.
 */
#ifndef VT_BASE_JSON_PRINT_H
#define VT_BASE_JSON_PRINT_H
#include "base/json.h"

#include <stdio.h>

/* On one line. */
void vt_json_print(FILE *f, const vt_json *v);
/* A string, with U+FFFD in place of what is not UTF-8; what is unsafe to show
 * (utf8.h) is escaped. */
void vt_json_print_string(FILE *f, const char *text);
/* "KEY":PATH and, where that has to replace bytes of the path, "BYTES":"its
 * bytes in base64". */
void vt_json_print_path(FILE *f, const char *key, const char *bytes,
                        const char *path);

#endif
