/*
 * json_scan.c - accepts exactly RFC 8259 within the limits: well-formed UTF-8,
 * a depth, a number of values, numbers that cJSON reads in full.
 */
#include "base/json_scan.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <string.h>

#define VALUES_MAX (1 << 21) /* one costs cJSON about 100 bytes */
#define NUMBER_MAX 63        /* cJSON truncates longer ones */

typedef struct vt_json_scan scan;

/* The scan ends here: whoever gets false returns it. */
static bool bad(scan *c, const char *why)
{
    c->why = why;
    return false;
}

static int peek(const scan *c)
{
    return c->at < c->size ? c->s[c->at] : -1;
}

static bool is_digit(int ch)
{
    return ch >= '0' && ch <= '9';
}

static void skip_white(scan *c)
{
    int ch;
    while ((ch = peek(c)) == ' ' || ch == '\n' || ch == '\r' || ch == '\t')
        c->at++;
}

/* Four hexadecimal digits at c->at. */
static bool scan_hex(scan *c, unsigned *out)
{
    unsigned v = 0;
    for (int i = 0; i < 4; i++, c->at++) {
        int ch = peek(c);
        int d = is_digit(ch)             ? ch - '0'
                : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10
                : ch >= 'A' && ch <= 'F' ? ch - 'A' + 10
                                         : -1;
        if (d < 0)
            return bad(c, "\\u without four hexadecimal digits");
        v = v << 4 | (unsigned)d;
    }
    *out = v;
    return true;
}

/* The part after the backslash. */
static bool scan_escape(scan *c)
{
    int ch = peek(c);
    unsigned hi, lo;

    c->at++;
    if (ch > 0 && strchr("\"\\/bfnrt", ch))
        return true;
    if (ch != 'u')
        return bad(c, "unknown escape in a string");
    if (!scan_hex(c, &hi))
        return false;
    if (hi == 0)
        return bad(c, "NUL in a string");
    if (hi < 0xd800 || hi > 0xdfff)
        return true;
    if (hi > 0xdbff || peek(c) != '\\')
        return bad(c, "unpaired surrogate in a string");
    c->at++;
    if (peek(c) != 'u')
        return bad(c, "unpaired surrogate in a string");
    c->at++;
    if (!scan_hex(c, &lo))
        return false;
    if (lo < 0xdc00 || lo > 0xdfff)
        return bad(c, "unpaired surrogate in a string");
    return true;
}

static bool scan_string(scan *c)
{
    if (peek(c) != '"')
        return bad(c, "expected a string");
    c->at++;
    while (c->at < c->size) {
        size_t n = vt_utf8_length(c->s + c->at, c->size - c->at);
        int ch = c->s[c->at];

        if (n == 0)
            return bad(c, "invalid UTF-8");
        if (ch < ' ')
            return bad(c, "control character in a string");
        c->at += n;
        if (ch == '"')
            return true;
        if (ch == '\\' && !scan_escape(c))
            return false;
    }
    return bad(c, "unterminated string");
}

static bool scan_digits(scan *c)
{
    if (!is_digit(peek(c)))
        return bad(c, "expected a digit");
    while (is_digit(peek(c)))
        c->at++;
    return true;
}

static bool scan_number(scan *c)
{
    size_t from = c->at;
    bool exact = true;

    if (peek(c) == '-')
        c->at++, exact = false;
    if (peek(c) == '0')
        c->at++;
    else if (!scan_digits(c))
        return false;
    if (is_digit(peek(c)))
        return bad(c, "number with leading zero");
    if (peek(c) == '.') {
        c->at++, exact = false;
        if (!scan_digits(c))
            return false;
    }
    if (peek(c) == 'e' || peek(c) == 'E') {
        c->at++, exact = false;
        if (peek(c) == '+' || peek(c) == '-')
            c->at++;
        if (!scan_digits(c))
            return false;
    }
    if (c->at - from > NUMBER_MAX)
        return bad(c, "number of more than 63 characters");
    c->memory = vt_grow(&c->exact, &c->cap, c->numbers + 1, 1);
    if (c->memory != VITCL_OK)
        return bad(c, "out of memory");
    c->exact[c->numbers++] = exact;
    return true;
}

static bool scan_word(scan *c, const char *word)
{
    size_t n = strlen(word);
    if (c->size - c->at < n || memcmp(c->s + c->at, word, n) != 0)
        return bad(c, "expected a value");
    c->at += n;
    return true;
}

static bool scan_value(scan *c);

/* The members of an object or array, starting at its opening bracket. */
static bool scan_members(scan *c, bool object)
{
    const int close = object ? '}' : ']';

    if (c->depth-- == 0)
        return bad(c, "nested too deeply");
    c->at++;
    skip_white(c);
    if (peek(c) != close) {
        for (;;) {
            if (object) {
                skip_white(c);
                if (!scan_string(c))
                    return false;
                skip_white(c);
                if (peek(c) != ':')
                    return bad(c, "expected ':'");
                c->at++;
            }
            if (!scan_value(c))
                return false;
            if (peek(c) != ',')
                break;
            c->at++;
        }
        if (peek(c) != close)
            return bad(c,
                       object ? "expected ',' or '}'" : "expected ',' or ']'");
    }
    c->at++;
    c->depth++;
    return true;
}

static bool scan_value(scan *c)
{
    bool ok;

    if (++c->values > VALUES_MAX)
        return bad(c, "too many values");
    skip_white(c);
    switch (peek(c)) {
    case '{':
        ok = scan_members(c, true);
        break;
    case '[':
        ok = scan_members(c, false);
        break;
    case '"':
        ok = scan_string(c);
        break;
    case 't':
        ok = scan_word(c, "true");
        break;
    case 'f':
        ok = scan_word(c, "false");
        break;
    case 'n':
        ok = scan_word(c, "null");
        break;
    case '-':
        ok = scan_number(c);
        break;
    default:
        ok = is_digit(peek(c))
                 ? scan_number(c)
                 : bad(c, c->at < c->size ? "expected a value"
                                          : "unexpected end of text");
    }
    if (ok)
        skip_white(c);
    return ok;
}

vitcl_status vt_json_scan_text(vt_json_scan *out, const char *text, size_t size,
                               int depth)
{
    *out = (scan){.s = (const unsigned char *)text,
                  .size = size,
                  .depth = VT_MIN(depth, VT_JSON_DEEPEST)};
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        out->at = 3;
    if (scan_value(out) && out->at < size)
        bad(out, "extra text after the value");
    return out->memory;
}
