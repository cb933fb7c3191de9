/*
 * stream.c - strings, numbers and brackets of a JSON text.
 */
#include "text/stream.h"

#include "base/stop.h"

#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 63

vitcl_status vt_stream_damage(const vt_stream *r)
{
    return vt_fail(VITCL_ECORRUPT, "%s: the vocabulary is damaged at byte %zu",
                   r->name, (size_t)(r->s - r->begin));
}

static void skip_white(vt_stream *r)
{
    while (r->s < r->end &&
           (*r->s == ' ' || *r->s == '\n' || *r->s == '\r' || *r->s == '\t'))
        r->s++;
}

bool vt_stream_take(vt_stream *r, char c)
{
    skip_white(r);
    if (r->s == r->end || *r->s != c)
        return false;
    r->s++;
    skip_white(r);
    return true;
}

vitcl_status vt_stream_more(bool *more, vt_stream *r, char close, bool first)
{
    *more = false;
    if (vt_stream_take(r, close))
        return VITCL_OK;
    if (!first && !vt_stream_take(r, ','))
        return vt_stream_damage(r);
    *more = true;
    return VITCL_OK;
}

/* Four hexadecimal digits. */
static bool hex(uint32_t *out, vt_stream *r)
{
    *out = 0;
    for (int i = 0; i < 4; i++, r->s++) {
        const int c = r->s < r->end ? *r->s : 0, low = c | 32;

        if (c >= '0' && c <= '9')
            *out = *out << 4 | (uint32_t)(c - '0');
        else if (low >= 'a' && low <= 'f')
            *out = *out << 4 | (uint32_t)(low - 'a' + 10);
        else
            return false;
    }
    return true;
}

/* What follows a backslash. */
static vitcl_status escape(vt_chars *c, vt_stream *r)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *known;
    uint32_t code, low;

    if (r->s == r->end || !*r->s)
        return vt_stream_damage(r);
    if ((known = strchr(from, *r->s))) {
        r->s++;
        return vt_chars_add(c, to + (known - from), 1);
    }
    if (*r->s++ != 'u' || !hex(&code, r) || (code >= 0xdc00 && code < 0xe000))
        return vt_stream_damage(r);
    if (code >= 0xd800 && code < 0xdc00) {
        if (r->end - r->s < 6 || r->s[0] != '\\' || r->s[1] != 'u')
            return vt_stream_damage(r);
        r->s += 2;
        if (!hex(&low, r) || low < 0xdc00 || low > 0xdfff)
            return vt_stream_damage(r);
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    return vt_chars_put(c, code);
}

vitcl_status vt_stream_string(vt_stretch *out, vt_stream *r, unsigned which)
{
    vt_chars *c = &r->scratch[which];
    const char *from;

    if (r->s == r->end || *r->s != '"')
        return vt_stream_damage(r);
    from = ++r->s;
    while (r->s < r->end && *r->s != '"' && *r->s != '\\') {
        if ((unsigned char)*r->s < ' ')
            return vt_stream_damage(r);
        r->s++;
    }
    *out = (vt_stretch){from, (size_t)(r->s - from)};
    if (r->s < r->end && *r->s == '"') {
        r->s++;
        return VITCL_OK;
    }
    c->n = 0;
    VT_RET(vt_chars_add(c, from, out->n));
    while (r->s < r->end && *r->s != '"') {
        if (*r->s == '\\') {
            r->s++;
            VT_RET(escape(c, r));
        } else if ((unsigned char)*r->s < ' ') {
            return vt_stream_damage(r);
        } else {
            VT_RET(vt_chars_add(c, r->s++, 1));
        }
    }
    if (r->s == r->end)
        return vt_stream_damage(r);
    r->s++;
    *out = (vt_stretch){c->s, c->n};
    return VITCL_OK;
}

vitcl_status vt_stream_number(double *out, vt_stream *r)
{
    char text[NUMBER_MAX + 1], *end;
    size_t n = 0;

    while (r->s < r->end && n < NUMBER_MAX && *r->s &&
           strchr("0123456789+-.eE", *r->s))
        text[n++] = *r->s++;
    text[n] = 0;
    *out = strtod(text, &end);
    return n == 0 || *end ? vt_stream_damage(r) : VITCL_OK;
}

void vt_stream_free(vt_stream *r)
{
    free(r->scratch[0].s);
    free(r->scratch[1].s);
    r->scratch[0] = r->scratch[1] = (vt_chars){0};
}

/* Behind the string at s[at] == '"', or n. */
static size_t string_end(const char *s, size_t n, size_t at)
{
    for (at++; at < n; at++) {
        if (s[at] == '\\')
            at++;
        else if (s[at] == '"')
            return at + 1;
    }
    return n;
}

/* Behind the array, object or other value at s[at]. */
static size_t value_end(const char *s, size_t n, size_t at)
{
    size_t depth = 0;

    while (at < n) {
        if (s[at] == '"') {
            at = string_end(s, n, at);
        } else if (s[at] == '[' || s[at] == '{') {
            depth++;
            at++;
        } else if (s[at] == ']' || s[at] == '}') {
            if (depth == 0)
                return at;
            depth--;
            at++;
        } else if (depth == 0 && s[at] == ',') {
            return at;
        } else {
            at++;
            continue;
        }
        if (depth == 0)
            return at;
    }
    return n;
}

static bool is(const char *s, size_t n, const char *what)
{
    return n == strlen(what) + 2 && memcmp(s + 1, what, n - 2) == 0;
}

vitcl_status vt_stream_cut(vt_stream_parts *out, const char *s, size_t n,
                           const char *name)
{
    bool model = false;
    size_t depth = 0, at = 0, copied = 0;

    out->begin = s;
    out->vocab = out->merges = (vt_stretch){"", 0};
    while (at < n) {
        const size_t from = at;
        vt_stretch *cut = NULL;
        bool key;

        if (s[at] != '"') {
            depth += s[at] == '{' || s[at] == '[';
            depth -= depth && (s[at] == '}' || s[at] == ']');
            at++;
            continue;
        }
        VT_RET(vt_stop_look());
        at = string_end(s, n, at);
        key = depth == 1 || depth == 2;
        for (; key && at < n && strchr(" \n\r\t", s[at]) && s[at]; at++)
            ;
        key = key && at < n && s[at] == ':';
        if (key && depth == 1)
            model = is(s + from, string_end(s, n, from) - from, "model");
        if (key && depth == 2 && model) {
            const size_t size = string_end(s, n, from) - from;

            cut = is(s + from, size, "vocab")    ? &out->vocab
                  : is(s + from, size, "merges") ? &out->merges
                                                 : NULL;
        }
        if (!cut)
            continue;
        if (cut->n || out->count == VT_COUNT(out->cuts))
            return vt_fail(VITCL_ECORRUPT, "%s: duplicate key %.*s at byte %zu",
                           name, cut == &out->vocab ? 7 : 8, s + from, from);
        for (at++; at < n && strchr(" \n\r\t", s[at]) && s[at]; at++)
            ;
        VT_RET(vt_chars_add(&out->rest, s + copied, at - copied));
        copied = value_end(s, n, at);
        *cut = (vt_stretch){s + at, copied - at};
        at = copied;
        if (cut->n == 0)
            continue;
        VT_RET(vt_chars_add(&out->rest, "0", 1));
        out->cuts[out->count++] = (vt_json_cut){out->rest.n, cut->n - 1};
    }
    return vt_chars_add(&out->rest, s + copied, n - copied);
}
