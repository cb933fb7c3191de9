/*
 * mojibake.c - text that was decoded wrongly is decoded again, as
 * ftfy.fix_encoding() does it.
 *
 * A step looks for characters in a row that are hardly meant. If there are any,
 * the text, or a part of it, is encoded in the first of ten encodings whose
 * bytes are UTF-8.
 */
#include "base/stop.h"
#include "base/utf8.h"
#include "text/clean.h"
#include "text/mojibake_table.h"

#include <string.h>

enum { DEEPEST = 32 }; /* parts in parts; each is shorter */

uint32_t vt_windows_1252(uint32_t code)
{
    static const uint16_t codes[32] = {
        0x20ac, 0x81,   0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021,
        0x2c6,  0x2030, 0x160,  0x2039, 0x152,  0x8d,   0x17d,  0x8f,
        0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
        0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0x9d,   0x17e,  0x178};

    return code >= 0x80 && code < 0xa0 ? codes[code - 0x80] : code;
}

typedef struct codes { /* a text */
    uint32_t *code;
    uint8_t *sort; /* of each, for the rules */
    size_t n;
} codes;

static void codes_free(codes *t)
{
    free(t->code);
    free(t->sort);
    *t = (codes){0};
}

static uint8_t sort_of(uint32_t code)
{
    const vt_code_range *r = vt_code_find(sorts, VT_COUNT(sorts), code);

    if (r)
        return r->sort;
    return vt_is_python_space(code)                   ? REST_SPACE
           : vt_is_letter(code) || vt_is_number(code) ? REST_WORD
                                                      : REST_OTHER;
}

static vitcl_status decode(codes *out, const char *s, size_t n)
{
    VT_RET(VT_NEW(&out->code, n));
    VT_RET(VT_NEW(&out->sort, n));
    for (size_t at = 0, length; at < n; at += length) {
        out->code[out->n] = vt_chars_code(&length, s + at, n - at);
        out->sort[out->n] = sort_of(out->code[out->n]);
        out->n++;
    }
    return vt_stop_look();
}

/* ---- rules ---- */

/* How many characters or bytes from `at` the first rule that holds has; 0:
 * none does. */
static size_t holds(const pattern *rules, size_t count, const uint8_t *sort,
                    size_t n, size_t at)
{
    for (const pattern *r = rules; r < rules + count; r++) {
        size_t i = 0;

        if (r->n > n - at || (r->begin && at > 0))
            continue;
        while (i < r->n &&
               r->set[i][sort[at + i] / 64] >> sort[at + i] % 64 & 1)
            i++;
        if (i == r->n)
            return i;
    }
    return 0;
}
#define HOLDS(rules, sort, n, at) holds(rules, VT_COUNT(rules), sort, n, at)

static bool is_bad(const uint8_t *sort, size_t n)
{
    for (size_t at = 0; at < n; at++)
        if (HOLDS(bad_rules, sort, n, at))
            return true;
    return false;
}

/* Replaces in `c` what the rules about bytes find: spaces in it become U+00A0
 * or, with `lost`, all of it U+FFFD. */
static vitcl_status replace_bytes(vt_chars *c, const pattern *rules,
                                  size_t count, bool lost)
{
    vt_chars out = {0};
    uint8_t *sort = NULL;
    vitcl_status st = VITCL_OK;

    VT_TRY(VT_NEW(&sort, c->n));
    for (size_t i = 0; i < c->n; i++)
        sort[i] = byte_sorts[(unsigned char)c->s[i]];
    for (size_t at = 0, size; at < c->n; at += size) {
        size = holds(rules, count, sort, c->n, at);
        if (size && lost) {
            VT_TRY(vt_chars_add(&out, "\xef\xbf\xbd", 3));
            continue;
        }
        for (size_t i = 0; i < size; i++)
            VT_TRY(vt_chars_add(
                &out, c->s[at + i] == ' ' ? "\xa0" : c->s + at + i, 1));
        if (size == 0)
            VT_TRY(vt_chars_add(&out, c->s + at, size = 1));
    }
    vt_chars_move(c, &out);
done:
    free(out.s);
    free(sort);
    return st;
}

/* "à" as a word of its own keeps its space. */
static vitcl_status restore_words(vt_chars *c)
{
    static const char *const words[] = {" ", "quele", "quela", "quilo", "s "};
    vt_chars out = {0};
    vitcl_status st = VITCL_OK;

    for (size_t at = 0; at < c->n; at++) {
        const char *s = c->s + at;
        bool alone = c->n - at >= 2 && memcmp(s, "\xc3 ", 2) == 0;

        for (size_t i = 0; i < VT_COUNT(words); i++) {
            const size_t size = strlen(words[i]);

            alone = alone && !(c->n - at >= 2 + size &&
                               memcmp(s + 2, words[i], size) == 0);
        }
        VT_TRY(vt_chars_add(&out, alone ? "\xc3\xa0" : s, alone ? 2 : 1));
    }
    vt_chars_move(c, &out);
done:
    free(out.s);
    return st;
}

/* ---- one encoding ---- */

/* False: it has not all characters. */
static bool encode(char *out, const codes *t, size_t e)
{
    for (size_t i = 0; i < t->n; i++) {
        const uint32_t code = t->code[i];
        size_t b = 0;

        if (code < 0x80 && !(code == 0x1a && encodings[e].sloppy)) {
            out[i] = (char)code;
            continue;
        }
        if (code == 0xfffd && encodings[e].sloppy) {
            out[i] = 0x1a;
            continue;
        }
        while (b < 128 && encodings[e].code[b] != code)
            b++;
        if (b == 128)
            return false;
        out[i] = (char)(128 + b);
    }
    return true;
}

/* Six bytes: two surrogates, each in three. */
static bool two_surrogates(uint32_t *code, const char *s, size_t n)
{
    uint8_t b[6];

    if (n < 6)
        return false;
    memcpy(b, s, 6);
    *code = 0x10000u + ((b[1] & 0x0fu) << 16 | (b[2] & 0x3fu) << 10 |
                        (b[4] & 0x0fu) << 6 | (b[5] & 0x3fu));
    return b[0] == 0xed && b[1] >> 4 == 0xa && b[2] >> 6 == 2 && b[3] == 0xed &&
           b[4] >> 4 == 0xb && b[5] >> 6 == 2;
}

/* Bytes as UTF-8, or as what is like it; *good: they are. */
static vitcl_status read_bytes(vt_chars *out, bool *good, const vt_chars *c)
{
    const bool like =
        c->n && (memchr(c->s, 0xed, c->n) || memchr(c->s, 0xc0, c->n));
    uint32_t code;

    *good = like || vt_utf8(c->s, c->n);
    for (size_t at = 0, size; at < c->n && *good; at += size) {
        const char *s = c->s + at;

        if (like && two_surrogates(&code, s, c->n - at)) {
            size = 6;
            VT_RET(vt_chars_put(out, code));
        } else if (like && c->n - at >= 2 && memcmp(s, "\xc0\x80", 2) == 0) {
            size = 2;
            VT_RET(vt_chars_add(out, "", 1));
        } else {
            size = vt_utf8_length(s, c->n - at);
            *good = size > 0;
            VT_RET(vt_chars_add(out, s, size));
        }
    }
    return VITCL_OK;
}

/* The text as the bytes of encoding e, decoded again. */
static vitcl_status try_encoding(vt_chars *out, bool *possible, bool *good,
                                 const codes *t, size_t e)
{
    vt_chars c = {0};
    vitcl_status st = VITCL_OK;

    *good = false;
    VT_TRY(vt_stop_look());
    VT_TRY(vt_grow(&c.s, &c.cap, t->n, 1));
    c.n = t->n;
    if (!(*possible = encode(c.s, t, e)))
        goto done;
    if (!encodings[e].macroman && memchr(c.s, ' ', c.n)) {
        VT_TRY(restore_words(&c));
        VT_TRY(
            replace_bytes(&c, altered_rules, VT_COUNT(altered_rules), false));
    }
    if (encodings[e].sloppy)
        VT_TRY(replace_bytes(&c, lossy_rules, VT_COUNT(lossy_rules), true));
    out->n = 0;
    VT_TRY(read_bytes(out, good, &c));
done:
    free(c.s);
    return st;
}

/* ---- a step ---- */

static vitcl_status fix(vt_chars *c, int depth);

/* Parts that look like UTF-8 by themselves. */
static vitcl_status fix_parts(vt_chars *out, const codes *t, int depth)
{
    vt_chars part = {0};
    vitcl_status st = VITCL_OK;

    for (size_t at = 0, size; at < t->n; at += size) {
        size_t more;

        size = 0;
        if (at == 0 || !HOLDS(before_unit, t->sort, t->n, at - 1))
            while (at + size < t->n &&
                   (more = HOLDS(unit_rules, t->sort, t->n, at + size)))
                size += more;
        if (size == 0) {
            VT_TRY(vt_chars_put(out, t->code[at]));
            size = 1;
            continue;
        }
        part.n = 0;
        for (size_t i = 0; i < size; i++)
            VT_TRY(vt_chars_put(&part, t->code[at + i]));
        if (size < t->n && depth < DEEPEST && is_bad(t->sort + at, size))
            VT_TRY(fix(&part, depth + 1));
        VT_TRY(vt_chars_add(out, part.s, part.n));
    }
done:
    free(part.s);
    return st;
}

/* Control characters of Latin-1 as those of Windows' encoding. strict: only if
 * it has all of them. */
static vitcl_status fix_controls(vt_chars *out, const codes *t, bool strict)
{
    for (size_t i = 0; i < t->n && strict; i++)
        if (t->code[i] > 0xff ||
            (t->code[i] >= 0x80 && vt_windows_1252(t->code[i]) < 0xa0))
            return VITCL_OK;
    for (size_t i = 0; i < t->n; i++)
        VT_RET(vt_chars_put(out, vt_windows_1252(t->code[i])));
    return VITCL_OK;
}

static bool same(const vt_chars *a, const vt_chars *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->s, b->s, a->n) == 0);
}

/* *changed: `c` has another text now. */
static vitcl_status step(vt_chars *c, bool *changed, int depth)
{
    codes t = {0};
    vt_chars out = {0};
    vitcl_status st = VITCL_OK;
    bool possible, good = false;

    *changed = false;
    VT_TRY(decode(&t, c->s, c->n));
    if (!is_bad(t.sort, t.n))
        goto done;
    for (size_t e = 0; e < VT_COUNT(encodings) && !good; e++)
        VT_TRY(try_encoding(&out, &possible, &good, &t, e));
    if (!good) {
        out.n = 0;
        VT_TRY(fix_parts(&out, &t, depth));
        for (int strict = 1; strict >= 0 && same(&out, c); strict--) {
            out.n = 0;
            VT_TRY(fix_controls(&out, &t, strict));
            if (out.n == 0)
                VT_TRY(vt_chars_add(&out, c->s, c->n));
        }
    }
    *changed = !same(&out, c);
    if (*changed)
        vt_chars_move(c, &out);
done:
    codes_free(&t);
    free(out.s);
    return st;
}

static vitcl_status fix(vt_chars *c, int depth)
{
    bool changed = true;

    while (changed && c->n && !vt_is_ascii(c->s, c->n))
        VT_RET(step(c, &changed, depth));
    return VITCL_OK;
}

vitcl_status vt_decode_again(vt_chars *c)
{
    return fix(c, 0);
}
