/*
 * json_print.h - write values as JSON text. Errors stay in the stream.
 */
#ifndef VT_BASE_JSON_PRINT_H
#define VT_BASE_JSON_PRINT_H
#include "base/json.h"

#include <stdarg.h>
#include <stdio.h>

/* On one line. */
void vt_json_print(FILE *f, const vt_json *v);
/* A string, with U+FFFD in place of what is not UTF-8; what is unsafe to show
 * (utf8.h) is escaped. */
void vt_json_print_string(FILE *f, const char *text);

typedef struct vt_json_writer {
    FILE *f;
    bool spaced; /* ", " and ": " */
    bool more;   /* a comma precedes the next member */
    int depth;   /* of open { and [ */
    int indent;  /* blanks in front of each line */
} vt_json_writer;

/* JSON by a format like that of printf, without quotes around keys, and with
 * blanks in place of commas; calls may end anywhere:
 *     vt_json_put(&w, "{name:%s sizes:[", name);
 *     vt_json_put(&w, "%u", size);
 *     vt_json_put(&w, "] good:%i}\n", good);
 * %s: a string, NULL: null. %i: false or true. A number that is not finite:
 * null. '..' is a string, in which conversions are those of printf. A line
 * break that is not the end comes behind the comma; its indentation is kept.
 */
void vt_json_put(vt_json_writer *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void vt_json_vput(vt_json_writer *w, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
/* A number with the fewest digits that are the same float again: of .3f .3, not
 * .300000012. */
void vt_json_put_float(vt_json_writer *w, float v);
/* For the next value, which the caller prints. */
FILE *vt_json_raw(vt_json_writer *w);
/* KEY:PATH and, where that has to replace bytes of the path, BYTES:its bytes in
 * base64. */
void vt_json_put_path(vt_json_writer *w, const char *key, const char *bytes,
                      const char *path);

#endif
