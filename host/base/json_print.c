/*
 * json_print.c - values as JSON text, with a point in every locale.
 */
#include "base/json_print.h"

#include "base/base64.h"
#include "base/number.h"
#include "base/utf8.h"

#include <string.h>

static void json_escape(FILE *f, const char *text, size_t n)
{
    const uint32_t c = vt_utf8_code(text, n);

    if (c < 0x10000)
        fprintf(f, "\\u%04x", (unsigned)c);
    else /* a pair of UTF-16 */
        fprintf(f, "\\u%04x\\u%04x", (unsigned)(0xD7C0 + (c >> 10)),
                (unsigned)(0xDC00 + (c & 0x3FF)));
}

void vt_json_print_string(FILE *f, const char *text)
{
    size_t n;

    putc('"', f);
    for (const char *s = text; *s; s += n) {
        n = vt_utf8_character(s);
        if (n == 0)
            n = 1, fputs("\xEF\xBF\xBD", f);
        else if (*s == '"' || *s == '\\')
            fprintf(f, "\\%c", *s);
        else if (*s == '\n')
            fputs("\\n", f);
        else if (*s == '\t')
            fputs("\\t", f);
        else if (vt_utf8_steers(s, n))
            json_escape(f, s, n);
        else
            fwrite(s, 1, n, f);
    }
    putc('"', f);
}

void vt_json_print_path(FILE *f, const char *key, const char *bytes,
                        const char *path)
{
    size_t at = 0, n;

    fprintf(f, "\"%s\":", key);
    vt_json_print_string(f, path);
    while (path[at] && (n = vt_utf8_character(path + at)) > 0)
        at += n;
    if (!path[at])
        return;
    fprintf(f, ",\"%s\":\"", bytes);
    vt_base64_put(f, path, strlen(path));
    putc('"', f);
}

void vt_json_print(FILE *f, const vt_json *v)
{
    const char *s, *comma = "";
    double d;
    bool b, object = vt_json_is_object(v);

    if (object || vt_json_is_array(v)) {
        fputc(object ? '{' : '[', f);
        for (const vt_json *m = vt_json_first(v); m; m = vt_json_next(m)) {
            fputs(comma, f);
            if (object) {
                vt_json_print_string(f, vt_json_key(m));
                fputs(": ", f);
            }
            vt_json_print(f, m);
            comma = ", ";
        }
        fputc(object ? '}' : ']', f);
    } else if (vt_json_string(&s, v)) {
        vt_json_print_string(f, s);
    } else if (vt_json_bool(&b, v)) {
        fputs(b ? "true" : "false", f);
    } else if (vt_json_number(&d, v)) {
        vt_print(f, "%.17g", d);
    } else {
        fputs("null", f);
    }
}
