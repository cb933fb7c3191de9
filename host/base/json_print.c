/*
 * json_print.c - values as JSON text, with a point in every locale.
 */
#include "base/json_print.h"

#include "base/number.h"

void vt_json_print_string(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            fputc('\\', f);
        if ((unsigned char)*s < ' ')
            fprintf(f, "\\u%04x", (unsigned)*s);
        else
            fputc(*s, f);
    }
    fputc('"', f);
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
