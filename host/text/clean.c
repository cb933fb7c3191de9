/*
 * clean.c - ftfy.fix_text(), html.unescape() twice, and white space, as
 * open_clip applies them.
 *
 * Of ftfy all that changes well-formed text is done: entities, ligatures, wide
 * and narrow forms, quotes, escape sequences, control characters, NFC. What
 * guesses how text was decoded wrongly is not.
 */
#include "text/clean.h"

#include <string.h>

#define PASSES 8 /* ftfy repeats until nothing changes; entities may nest */

static uint32_t windows_1252(uint32_t c)
{
    static const uint16_t codes[32] = {
        0x20ac, 0x81,   0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021,
        0x2c6,  0x2030, 0x160,  0x2039, 0x152,  0x8d,   0x17d,  0x8f,
        0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
        0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0x9d,   0x17e,  0x178};

    return codes[c - 0x80];
}

static bool is_digit(int c, bool hex)
{
    return (c >= '0' && c <= '9') ||
           (hex && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
}

/* &#38; or &#x26; at s: its length and its character, which may be none (0). A
 * semicolon may be missing. */
static size_t reference(uint32_t *code, bool *closed, const char *s, size_t n)
{
    const bool hex = n > 2 && (s[2] | 32) == 'x';
    size_t at = hex ? 3 : 2;
    uint32_t v = 0;

    if (n < 3 || s[0] != '&' || s[1] != '#' || at >= n || !is_digit(s[at], hex))
        return 0;
    for (; at < n && is_digit(s[at], hex); at++) {
        const uint32_t digit = s[at] <= '9'
                                   ? (uint32_t)(s[at] - '0')
                                   : (uint32_t)((s[at] | 32) - 'a' + 10);

        v = v > 0x110000 ? v : v * (hex ? 16 : 10) + digit;
    }
    *closed = at < n && s[at] == ';';
    if (v == 0 || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
        v = 0xfffd;
    else if (v >= 0x80 && v < 0xa0)
        v = windows_1252(v);
    else if ((v < 0x20 && v != 9 && v != 10 && v != 12 && v != 13) ||
             v == 0x7f || (v >= 0xfdd0 && v <= 0xfdef) ||
             (v & 0xfffe) == 0xfffe)
        v = 0;
    *code = v;
    return at + *closed;
}

static bool is_alphanumeric(int c)
{
    return is_digit(c, false) || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

/* The entity at s, as ftfy takes it: closed, with a name in either case. */
static size_t strict_entity(uint32_t *code, const char *s, size_t n)
{
    char lower[9];
    bool legacy, upper = true, closed = false;
    size_t end = 1, size = reference(code, &closed, s, n);

    if (size)
        return closed ? size : 0;
    while (end < n && end < 10 && is_alphanumeric(s[end]))
        end++;
    if (end < 2 || end >= n || s[end] != ';')
        return 0;
    if ((*code = vt_entity(&legacy, s + 1, end - 1)))
        return end + 1;
    for (size_t i = 1; i < end; i++) {
        upper &= s[i] < 'a';
        lower[i - 1] = (char)(s[i] >= 'A' && s[i] <= 'Z' ? s[i] + 32 : s[i]);
    }
    if (!upper || !(*code = vt_entity(&legacy, lower, end - 1)))
        return 0;
    /* the name in capitals is the capital letter */
    if (*code >= 0xe0 && *code <= 0xfe && *code != 0xf7)
        *code -= 32;
    return end + 1;
}

/* The entity at s, as html.unescape() takes it: the longest known name. */
static size_t loose_entity(uint32_t *code, const char *s, size_t n)
{
    bool closed, legacy = false;
    size_t end = 1, size = reference(code, &closed, s, n);

    if (size)
        return size;
    while (end < n && end <= 32 && !strchr("\t\n\f <&#;", s[end]))
        end++;
    if (end < n && s[end] == ';' && end > 1 &&
        (*code = vt_entity(&legacy, s + 1, end - 1)))
        return end + 1;
    for (; end > 2; end--)
        if ((*code = vt_entity(&legacy, s + 1, end - 1)) && legacy)
            return end;
    return 0;
}

static vitcl_status unescape(vt_chars *c, bool strict)
{
    vt_chars out = {0};
    vitcl_status st = VITCL_OK;
    uint32_t code;

    if (!c->n || !memchr(c->s, '&', c->n))
        return VITCL_OK;
    for (size_t at = 0, size; at < c->n; at += size) {
        const char *s = c->s + at;

        size = *s != '&' ? 0
               : strict  ? strict_entity(&code, s, c->n - at)
                         : loose_entity(&code, s, c->n - at);
        if (size == 0)
            VT_TRY(vt_chars_add(&out, s, size = 1));
        else if (code)
            VT_TRY(vt_chars_put(&out, code));
    }
    vt_chars_move(c, &out);
done:
    free(out.s);
    return st;
}

static const char *ligature(uint32_t code)
{
    static const struct {
        uint16_t code;
        const char *text;
    } rows[] = {
        {0x132, "IJ"},        {0x133, "ij"},        {0x149, "\xca\xbcn"},
        {0x1f1, "DZ"},        {0x1f2, "Dz"},        {0x1f3, "dz"},
        {0x1c4, "D\xc5\xbd"}, {0x1c5, "D\xc5\xbe"}, {0x1c6, "d\xc5\xbe"},
        {0x1c7, "LJ"},        {0x1c8, "Lj"},        {0x1c9, "lj"},
        {0x1ca, "NJ"},        {0x1cb, "Nj"},        {0x1cc, "nj"},
        {0xfb00, "ff"},       {0xfb01, "fi"},       {0xfb02, "fl"},
        {0xfb03, "ffi"},      {0xfb04, "ffl"},      {0xfb05, "\xc5\xbft"},
        {0xfb06, "st"}};

    for (size_t i = 0; i < VT_COUNT(rows); i++)
        if (rows[i].code == code)
            return rows[i].text;
    return NULL;
}

/* ESC [ digits and semicolons, a letter. */
static size_t terminal_escape(const char *s, size_t n)
{
    size_t at = 2;

    if (n < 3 || s[0] != 27 || s[1] != '[')
        return 0;
    while (at < n && (is_digit(s[at], false) || s[at] == ';'))
        at++;
    return at < n && (s[at] | 32) >= 'a' && (s[at] | 32) <= 'z' ? at + 1 : 0;
}

static bool is_dropped(uint32_t c)
{
    return c < 9 || c == 11 || (c >= 14 && c < 32) || c == 127 ||
           (c >= 0x206a && c <= 0x206f) || c == 0xfeff ||
           (c >= 0xfff9 && c <= 0xfffc);
}

/* Appends a character as ftfy leaves it. */
static vitcl_status fix_character(vt_chars *out, uint32_t code)
{
    vt_chars wide = {0};
    vitcl_status st = VITCL_OK;
    const char *text;

    if (code >= 0x80 && code < 0xa0)
        code = windows_1252(code);
    if ((text = ligature(code)))
        return vt_chars_add(out, text, strlen(text));
    if (code == 0x3000)
        code = ' ';
    if (code == 0x2bc || (code >= 0x2018 && code <= 0x201b))
        code = '\'';
    if (code >= 0x201c && code <= 0x201f)
        code = '"';
    if (is_dropped(code))
        return VITCL_OK;
    if (code < 0xff01 || code > 0xffef)
        return vt_chars_put(out, code);
    VT_TRY(vt_chars_put(&wide, code));
    VT_TRY(vt_chars_normalise(&wide, VT_NFKC));
    VT_TRY(vt_chars_add(out, wide.s, wide.n));
done:
    free(wide.s);
    return st;
}

static vitcl_status fix_characters(vt_chars *c)
{
    vt_chars out = {0};
    vitcl_status st = VITCL_OK;

    for (size_t at = 0, length; at < c->n; at += length) {
        if ((length = terminal_escape(c->s + at, c->n - at)))
            continue;
        VT_TRY(
            fix_character(&out, vt_chars_code(&length, c->s + at, c->n - at)));
    }
    vt_chars_move(c, &out);
done:
    free(out.s);
    return st;
}

static vitcl_status fix_text(vt_chars *c)
{
    vitcl_status st = VITCL_OK;
    vt_chars before = {0};

    for (int i = 0; i < PASSES; i++) {
        before.n = 0;
        VT_TRY(vt_chars_add(&before, c->s, c->n));
        if (c->n && !memchr(c->s, '<', c->n))
            VT_TRY(unescape(c, true));
        VT_TRY(fix_characters(c));
        VT_TRY(vt_chars_normalise(c, VT_NFC));
        if (c->n == before.n && (!c->n || !memcmp(c->s, before.s, c->n)))
            break;
    }
done:
    free(before.s);
    return st;
}

/* Single spaces between words, none at the ends: " ".join(text.split()). */
static vitcl_status join_words(vt_chars *c)
{
    vt_chars out = {0};
    vitcl_status st = VITCL_OK;
    bool space = false;

    for (size_t at = 0, length; at < c->n; at += length) {
        if (vt_is_python_space(vt_chars_code(&length, c->s + at, c->n - at))) {
            space = true;
            continue;
        }
        if (space && out.n)
            VT_TRY(vt_chars_add(&out, " ", 1));
        space = false;
        VT_TRY(vt_chars_add(&out, c->s + at, length));
    }
    vt_chars_move(c, &out);
done:
    free(out.s);
    return st;
}

vitcl_status vt_canonicalize(vt_chars *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++)
        if (!strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", c->s[i]) ||
            c->s[i] == 0)
            c->s[n++] = c->s[i];
    c->n = n;
    return join_words(c);
}

vitcl_status vt_clean(vt_chars *c, vt_cleaning how)
{
    vitcl_status st = VITCL_OK;

    if (how == VT_CLEAN_NONE)
        return VITCL_OK;
    VT_TRY(fix_text(c));
    VT_TRY(unescape(c, false));
    VT_TRY(unescape(c, false));
    VT_TRY(join_words(c));
    if (how == VT_CLEAN_WHITESPACE)
        return VITCL_OK;
    if (how == VT_CLEAN_CANONICALIZE) {
        for (size_t i = 0; i < c->n; i++)
            if (c->s[i] == '_')
                c->s[i] = ' ';
        VT_TRY(vt_canonicalize(c));
    }
    VT_TRY(vt_chars_lower(c, true));
done:
    return st;
}
