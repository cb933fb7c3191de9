/*
 * json_print.c - values as JSON text, with a point in every locale.
 */
#include "base/json_print.h"

#include "base/base64.h"
#include "base/number.h"
#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>
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

/* Without the quotes. */
static void put_escaped(FILE *f, const char *text)
{
    size_t n;

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
}

void vt_json_print_string(FILE *f, const char *text)
{
    putc('"', f);
    put_escaped(f, text);
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

/* ---- by a format ---- */

/* Before a member or a value. */
static void comma(vt_json_writer *w)
{
    if (w->more)
        fputs(w->spaced ? ", " : ",", w->f);
    w->more = true;
}

/* Behind a string, which may be a key. */
static const char *colon(vt_json_writer *w, const char *s)
{
    if (*s != ':')
        return s;
    fputs(w->spaced ? ": " : ":", w->f);
    w->more = false;
    return s + 1;
}

static void put_real(FILE *f, char conversion, int digits, double v)
{
    if (!isfinite(v))
        fputs("null", f);
    else
        vt_print(f, conversion == 'f' ? "%.*f" : "%.*g", digits, v);
}

FILE *vt_json_raw(vt_json_writer *w)
{
    comma(w);
    return w->f;
}

/* A key, or a value as it is. */
static const char *put_word(vt_json_writer *w, const char *s)
{
    const size_t n = strcspn(s, ":]} \n");

    comma(w);
    fprintf(w->f, s[n] == ':' ? "\"%.*s\"" : "%.*s", (int)n, s);
    return colon(w, s + n);
}

/* Which of the signs between values, with what belongs to it. */
static const char *put_sign(vt_json_writer *w, const char *s)
{
    size_t n = 1;

    if (*s == '{' || *s == '[') {
        comma(w);
        w->depth++, w->more = false;
    } else if (*s == '}' || *s == ']') {
        w->depth--, w->more = true;
    } else {
        n += strspn(s + 1, " ");
        if (w->more && w->depth > 0 && s[n] != '}' && s[n] != ']')
            putc(',', w->f);
        w->more = false;
    }
    fwrite(s, 1, n, w->f);
    if (*s == '\n')
        fprintf(w->f, "%*s", w->indent, "");
    return s + n;
}

typedef struct arguments {
    va_list list;
} arguments;

static void put_whole(FILE *f, char conversion, int zeros, unsigned long long v)
{
    if (conversion == 'x')
        fprintf(f, "%0*llx", zeros, v);
    else
        fprintf(f, "%llu", v);
}

/* n: how many letters say its length. A size_t is as large as a long. */
static unsigned long long whole_of(size_t n, arguments *a)
{
    /* NOLINTBEGIN(bugprone-branch-clone): the types differ */
    if (n == 0)
        return va_arg(a->list, unsigned);
    if (n == 1)
        return va_arg(a->list, unsigned long);
    return va_arg(a->list, unsigned long long);
    /* NOLINTEND(bugprone-branch-clone) */
}

/* s: behind the percent sign. */
static const char *put_value(vt_json_writer *w, const char *s, bool quoted,
                             arguments *a)
{
    char *end;
    const int width = (int)strtol(s, &end, 10),
              digits = *end == '.' ? (int)strtol(end + 1, &end, 10) : 6;
    const size_t n = strspn(end, "lz");
    const char conversion = end[n], *text;

    if (!quoted)
        comma(w);
    if (conversion == 's') {
        text = va_arg(a->list, const char *);
        if (text && !quoted)
            vt_json_print_string(w->f, text);
        else
            put_escaped(w->f, text ? text : "null");
        return quoted ? end + 1 : colon(w, end + 1);
    }
    if (conversion == 'f' || conversion == 'g')
        put_real(w->f, conversion, digits, va_arg(a->list, double));
    else if (conversion == 'i')
        fputs(va_arg(a->list, int) ? "true" : "false", w->f);
    else if (conversion == 'd')
        fprintf(w->f, "%d", va_arg(a->list, int));
    else
        put_whole(w->f, conversion, width, whole_of(n, a));
    return end + n + 1;
}

void vt_json_vput(vt_json_writer *w, const char *format, va_list args)
{
    const char *s = format;
    bool quoted = false;
    arguments a;

    va_copy(a.list, args);
    while (*s) {
        if (*s == '\'') {
            if (!quoted)
                comma(w);
            putc('"', w->f);
            quoted = !quoted;
            s = quoted ? s + 1 : colon(w, s + 1);
        } else if (*s == '%') {
            s = put_value(w, s + 1, quoted, &a);
        } else if (quoted) {
            putc(*s++, w->f);
        } else if (*s == ' ') {
            s++;
        } else {
            s = strchr("{[]}\n", *s) ? put_sign(w, s) : put_word(w, s);
        }
    }
    va_end(a.list);
}

void vt_json_put(vt_json_writer *w, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vt_json_vput(w, format, args);
    va_end(args);
}

void vt_json_put_float(vt_json_writer *w, float v)
{
    const locale_t before = vt_point_begin();
    char text[32];
    int digits = 6;

    do
        snprintf(text, sizeof text, "%.*g", digits, (double)v);
    while (strtof(text, NULL) != v && digits++ < 9);
    vt_point_end(before);
    fputs(text, vt_json_raw(w));
}

void vt_json_put_path(vt_json_writer *w, const char *key, const char *bytes,
                      const char *path)
{
    size_t at = 0, n;

    vt_json_put(w, "%s:%s", key, path);
    while (path[at] && (n = vt_utf8_character(path + at)) > 0)
        at += n;
    if (!path[at])
        return;
    vt_json_put(w, "%s:'", bytes);
    vt_base64_put(w->f, path, strlen(path));
    putc('"', w->f);
    w->more = true;
}
