/*
 * json.c - a strict scan of the text, then cJSON, then a check of the tree.
 *
 * The scan accepts exactly RFC 8259 within the limits. cJSON is lenient (any
 * byte up to a space is white space, "01" is a number), but it only sees text
 * that is known to be valid; if it still fails, it ran out of memory. The scan
 * also notes which numbers are written as plain integers. The walk over the
 * tree visits numbers in the same order and marks them, in a bit of cJSON's
 * type field that cJSON masks out.
 */
#include "base/json.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#define DEEPEST 64           /* the scan recurses */
#define VALUES_MAX (1 << 21) /* one costs cJSON about 100 bytes */
#define NUMBER_MAX 63        /* cJSON truncates longer ones */
#define EXACT (1 << 16)      /* in cJSON's type: written as an integer */

typedef struct scan {
    const unsigned char *s;
    size_t size, at;
    int depth;       /* levels left */
    const char *why; /* of the first error */
    size_t values, numbers, cap;
    uint8_t *exact; /* one per number, in text order */
    vitcl_status memory;
} scan;

static bool bad(scan *c, const char *why)
{
    if (!c->why)
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

/* Length of the well-formed UTF-8 sequence at s; 0: none (RFC 3629). */
static size_t utf8_step(const uint8_t *s, size_t left)
{
    size_t n = s[0] < 0x80             ? 1
               : (s[0] & 0xe0) == 0xc0 ? 2
               : (s[0] & 0xf0) == 0xe0 ? 3
               : (s[0] & 0xf8) == 0xf0 ? 4
                                       : 0;
    uint32_t v;

    if (n <= 1)
        return n;
    if (n > left)
        return 0;
    v = s[0] & (0x7fU >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        v = v << 6 | (s[i] & 0x3fU);
    }
    if (v < (n == 2   ? 0x80U
             : n == 3 ? 0x800U
                      : 0x10000U) ||
        v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
        return 0;
    return n;
}

bool vt_utf8(const void *text, size_t size)
{
    const uint8_t *s = text;
    for (size_t at = 0, n; at < size; at += n)
        if ((n = utf8_step(s + at, size - at)) == 0)
            return false;
    return true;
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
        size_t n = utf8_step(c->s + c->at, c->size - c->at);
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

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static vitcl_status check_keys(const cJSON *object, const char *name)
{
    vitcl_status st;
    const char **keys = NULL;
    size_t n = 0;

    VT_TRY(VT_NEW(&keys, vt_json_count((const vt_json *)object)));
    for (const cJSON *m = object->child; m; m = m->next)
        keys[n++] = m->string;
    qsort(keys, n, sizeof *keys, by_text);
    for (size_t i = 1; i < n; i++)
        if (strcmp(keys[i - 1], keys[i]) == 0) {
            st = vt_fail(VITCL_ECORRUPT, "%s: duplicate key \"%s\"", name,
                         keys[i]);
            goto done;
        }
done:
    free(keys);
    return st;
}

/* Marks exact integers and rejects duplicate keys, at most DEEPEST levels. */
static vitcl_status walk(cJSON *v, scan *c, const char *name)
{
    vitcl_status st = VITCL_OK;

    if (cJSON_IsNumber(v) && c->exact[c->numbers++])
        v->type |= EXACT;
    if (cJSON_IsObject(v))
        VT_TRY(check_keys(v, name));
    for (cJSON *m = v->child; m; m = m->next)
        VT_TRY(walk(m, c, name));
done:
    return st;
}

vitcl_status vt_json_parse(vt_json **out, const char *text, size_t size,
                           int depth, const char *name)
{
    vitcl_status st = VITCL_OK;
    scan c = {.s = (const unsigned char *)text,
              .size = size,
              .depth = VT_MIN(depth, DEEPEST)};
    cJSON *root = NULL;
    locale_t before;

    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        c.at = 3;
    if (scan_value(&c) && c.at < size)
        bad(&c, "extra text after the value");
    VT_TRY(c.memory);
    if (c.why) {
        st = vt_fail(VITCL_ECORRUPT, "%s: invalid JSON at byte %zu: %s", name,
                     c.at, c.why);
        goto done;
    }
    before = vt_point_begin(); /* cJSON calls strtod() */
    root = cJSON_ParseWithLengthOpts(text, size, NULL, 0);
    vt_point_end(before);
    if (!root) {
        st = vt_fail(VITCL_ENOMEM, "%s: out of memory for %zu JSON values",
                     name, c.values);
        goto done;
    }
    c.numbers = 0;
    VT_TRY(walk(root, &c, name));
    *out = (vt_json *)root, root = NULL;
done:
    cJSON_Delete(root);
    free(c.exact);
    return st;
}

vitcl_status vt_json_load(vt_json **out, const char *path, size_t limit,
                          int depth)
{
    vitcl_status st;
    vt_file f = {0};

    VT_TRY(vt_file_read(&f, path, limit));
    VT_TRY(vt_json_parse(out, (const char *)f.data, f.size, depth, path));
done:
    vt_file_close(&f);
    return st;
}

void vt_json_free(vt_json *root)
{
    cJSON_Delete((cJSON *)root);
}

static const cJSON *tree(const vt_json *v)
{
    return (const cJSON *)v;
}

const vt_json *vt_json_get(const vt_json *object, const char *key)
{
    return vt_json_is_object(object)
               ? (const vt_json *)cJSON_GetObjectItemCaseSensitive(tree(object),
                                                                   key)
               : NULL;
}

const vt_json *vt_json_at(const vt_json *array, size_t index)
{
    const vt_json *m = vt_json_is_array(array) ? vt_json_first(array) : NULL;
    while (m && index-- > 0)
        m = vt_json_next(m);
    return m;
}

const vt_json *vt_json_first(const vt_json *container)
{
    return vt_json_is_object(container) || vt_json_is_array(container)
               ? (const vt_json *)tree(container)->child
               : NULL;
}

const vt_json *vt_json_next(const vt_json *member)
{
    return member ? (const vt_json *)tree(member)->next : NULL;
}

const char *vt_json_key(const vt_json *member)
{
    return member ? tree(member)->string : NULL;
}

size_t vt_json_count(const vt_json *container)
{
    size_t n = 0;
    for (const vt_json *m = vt_json_first(container); m; m = vt_json_next(m))
        n++;
    return n;
}

bool vt_json_is_object(const vt_json *v)
{
    return v && cJSON_IsObject(tree(v));
}

bool vt_json_is_array(const vt_json *v)
{
    return v && cJSON_IsArray(tree(v));
}

bool vt_json_is_null(const vt_json *v)
{
    return v && cJSON_IsNull(tree(v));
}

bool vt_json_string(const char **out, const vt_json *v)
{
    if (!v || !cJSON_IsString(tree(v)))
        return false;
    *out = tree(v)->valuestring;
    return true;
}

bool vt_json_number(double *out, const vt_json *v)
{
    if (!v || !cJSON_IsNumber(tree(v)) || !isfinite(tree(v)->valuedouble))
        return false;
    *out = tree(v)->valuedouble;
    return true;
}

vitcl_status vt_json_within(double *out, const vt_json *v, const char *key,
                            double low, double high, const char *name)
{
    double d;

    if (!v)
        return VITCL_OK;
    if (!vt_json_number(&d, v) || !(d >= low && d <= high))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: \"%s\" must be a number from %g to %g", name, key,
                       low, high);
    *out = d;
    return VITCL_OK;
}

bool vt_json_bool(bool *out, const vt_json *v)
{
    if (!v || !cJSON_IsBool(tree(v)))
        return false;
    *out = cJSON_IsTrue(tree(v));
    return true;
}

/* 2^53 + 1 rounds to 2^53, so 2^53 is the first value to be rejected. */
bool vt_json_uint(uint64_t *out, const vt_json *v)
{
    double d;
    if (!vt_json_number(&d, v) || !(tree(v)->type & EXACT) ||
        d >= 9007199254740992.0)
        return false;
    *out = (uint64_t)d;
    return true;
}
