/*
 * clean.c - ftfy.fix_text(), html.unescape() twice, and white space, as
 * open_clip applies them.
 *
 * Of ftfy all that changes text is done: entities, text that was decoded
 * wrongly (mojibake.c), ligatures, wide and narrow forms, quotes, escape
 * sequences, control characters, NFC.
 */
#include "text/clean.h"

#include <string.h>

enum {
    ENTITY_MAX = 24,   /* characters of a name, for ftfy */
    LINE_MAX = 1000000 /* characters that ftfy looks at together */
};

static bool is_digit(int c, bool hex)
{
    return (c >= '0' && c <= '9') ||
           (hex && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
}

/* &#38; or &#x26; at s: its length and its character, which may be none (0). A
 * semicolon may be missing. */
static size_t reference(vt_entity_text *out, bool *closed, const char *s,
                        size_t n)
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
        v = vt_windows_1252(v);
    else if ((v < 0x20 && v != 9 && v != 10 && v != 12 && v != 13) ||
             v == 0x7f || (v >= 0xfdd0 && v <= 0xfdef) ||
             (v & 0xfffe) == 0xfffe)
        v = 0;
    *out = (vt_entity_text){.code = {v}};
    return at + *closed;
}

static bool is_alphanumeric(int c)
{
    return is_digit(c, false) || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

/* The capital letters, as Python's upper() has them. */
static bool make_upper(vt_entity_text *e)
{
    static const struct {
        uint16_t from, to[2];
    } rows[] = {{0xdf, {'S', 'S'}},
                {0x149, {0x2bc, 'N'}},
                {0xfb00, {'F', 'F'}},
                {0xfb01, {'F', 'I'}},
                {0xfb02, {'F', 'L'}}};

    for (size_t i = 0; i < VT_COUNT(rows); i++)
        if (e->code[0] == rows[i].from) {
            e->code[0] = rows[i].to[0];
            e->code[1] = rows[i].to[1];
            return true;
        }
    for (size_t i = 0; i < 2; i++)
        e->code[i] = e->code[i] ? vt_code_upper(e->code[i]) : 0;
    return true;
}

/* ftfy also takes the name in capitals of a name in small letters, but not
 * where html.unescape() would make something of it. */
static bool entity_in_capitals(vt_entity_text *out, const char *name, size_t n)
{
    char small[ENTITY_MAX];

    for (size_t i = 0; i < n; i++) {
        if (name[i] >= 'a')
            return false;
        small[i] = (char)(name[i] >= 'A' ? name[i] + 32 : name[i]);
    }
    for (size_t i = 2; i <= n; i++)
        if (vt_entity(out, name, i) && out->legacy)
            return false;
    return vt_entity(out, small, n) && make_upper(out);
}

/* The entity at s, as ftfy takes it: closed, with a name in either case. */
static size_t strict_entity(vt_entity_text *out, const char *s, size_t n)
{
    bool closed = false;
    size_t end = 1, size = reference(out, &closed, s, n);

    if (size)
        return closed && size <= ENTITY_MAX + 3 && out->code[0] != ';' ? size
                                                                       : 0;
    while (end < n && end <= ENTITY_MAX && is_alphanumeric(s[end]))
        end++;
    if (end < 2 || end >= n || s[end] != ';' ||
        !(vt_entity(out, s + 1, end - 1) ||
          entity_in_capitals(out, s + 1, end - 1)))
        return 0;
    return end + 1;
}

/* The entity at s, as html.unescape() takes it: the longest known name. */
static size_t loose_entity(vt_entity_text *out, const char *s, size_t n)
{
    bool closed;
    size_t end = 1, size = reference(out, &closed, s, n);

    if (size)
        return size;
    while (end < n && end <= 32 && !strchr("\t\n\f <&#;", s[end]))
        end++;
    if (end < n && s[end] == ';' && vt_entity(out, s + 1, end - 1))
        return end + 1;
    for (; end > 2; end--)
        if (vt_entity(out, s + 1, end - 1) && out->legacy)
            return end;
    return 0;
}

static vitcl_status unescape(vt_chars *c, bool strict)
{
    vt_chars out = {0};
    vitcl_status st = VITCL_OK;
    vt_entity_text e;

    if (!c->n || !memchr(c->s, '&', c->n))
        return VITCL_OK;
    for (size_t at = 0, size; at < c->n; at += size) {
        const char *s = c->s + at;

        size = *s != '&' ? 0
               : strict  ? strict_entity(&e, s, c->n - at)
                         : loose_entity(&e, s, c->n - at);
        for (size_t i = 0; i < 2 && size > 0 && e.code[i]; i++)
            VT_TRY(vt_chars_put(&out, e.code[i]));
        if (size == 0)
            VT_TRY(vt_chars_add(&out, s, size = 1));
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

/* ESC [ digits of any script and semicolons, a letter. */
static size_t terminal_escape(const char *s, size_t n)
{
    size_t at = 2, length;

    if (n < 3 || s[0] != 27 || s[1] != '[')
        return 0;
    while (at < n && (s[at] == ';' ||
                      vt_is_digit(vt_chars_code(&length, s + at, n - at))))
        at += s[at] == ';' ? 1 : length;
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

    code = vt_windows_1252(code);
    if ((text = ligature(code)))
        return vt_chars_add(out, text, strlen(text));
    if (code == 0x3000)
        code = ' ';
    if (code == 0x2bc || (code >= 0x2018 && code <= 0x201b))
        code = '\'';
    if (code >= 0x201c && code <= 0x201f)
        code = '"';
    if (code < 0xff01 || code > 0xffef)
        return vt_chars_put(out, code);
    VT_TRY(vt_chars_put(&wide, code));
    VT_TRY(vt_chars_normalise(&wide, VT_NFKC));
    VT_TRY(vt_chars_add(out, wide.s, wide.n));
done:
    free(wide.s);
    return st;
}

/* Replaces characters, or (drop) leaves some out. */
static vitcl_status fix_characters(vt_chars *c, bool drop)
{
    vt_chars out = {0};
    vitcl_status st = VITCL_OK;

    for (size_t at = 0, length, escape; at < c->n; at += length) {
        const char *s = c->s + at;
        const uint32_t code = vt_chars_code(&length, s, c->n - at);

        if (!drop)
            VT_TRY(fix_character(&out, code));
        else if ((escape = terminal_escape(s, c->n - at)))
            length = escape;
        else if (!is_dropped(code))
            VT_TRY(vt_chars_add(&out, s, length));
    }
    vt_chars_move(c, &out);
done:
    free(out.s);
    return st;
}

/* Until nothing changes: entities may nest. */
static vitcl_status fix_line(vt_chars *c, bool entities)
{
    vitcl_status st = VITCL_OK;
    vt_chars before = {0};

    do {
        before.n = 0;
        VT_TRY(vt_chars_add(&before, c->s, c->n));
        if (entities)
            VT_TRY(unescape(c, true));
        VT_TRY(vt_decode_again(c));
        VT_TRY(fix_characters(c, false));
        VT_TRY(fix_characters(c, true));
        VT_TRY(vt_chars_normalise(c, VT_NFC));
    } while (c->n && (c->n != before.n || memcmp(c->s, before.s, c->n) != 0));
done:
    free(before.s);
    return st;
}

/* The bytes of a line, or of LINE_MAX characters. */
static size_t line_size(const char *s, size_t n)
{
    size_t at = 0, length;

    for (size_t i = 0; at < n && i < LINE_MAX; i++) {
        vt_chars_code(&length, s + at, n - at);
        at += length;
        if (s[at - length] == '\n')
            break;
    }
    return at;
}

/* Line by line; from the first line with a "<" on, entities stay. */
static vitcl_status fix_text(vt_chars *c)
{
    vt_chars line = {0}, out = {0};
    vitcl_status st = VITCL_OK;
    bool entities = true;

    for (size_t at = 0, size; at < c->n; at += size) {
        size = line_size(c->s + at, c->n - at);
        entities = entities && !memchr(c->s + at, '<', size);
        line.n = 0;
        VT_TRY(vt_chars_add(&line, c->s + at, size));
        VT_TRY(fix_line(&line, entities));
        VT_TRY(vt_chars_add(&out, line.s, line.n));
    }
    vt_chars_move(c, &out);
done:
    free(line.s);
    free(out.s);
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
    if (how == VT_CLEAN_NONE)
        return VITCL_OK;
    VT_RET(fix_text(c));
    VT_RET(unescape(c, false));
    VT_RET(unescape(c, false));
    VT_RET(join_words(c));
    if (how == VT_CLEAN_WHITESPACE)
        return VITCL_OK;
    if (how == VT_CLEAN_CANONICALIZE) {
        for (size_t i = 0; i < c->n; i++)
            if (c->s[i] == '_')
                c->s[i] = ' ';
        VT_RET(vt_canonicalize(c));
    }
    return vt_chars_lower(c, true);
}
