/*
 * split.c - pre-tokenizers: the patterns of known models, in C.
 */
#include "text/split.h"

#include <string.h>

#define META "\xe2\x96\x81" /* U+2581 */

#define SPECIAL "<\\|startoftext\\|>|<\\|endoftext\\|>|"

const char vt_clip_pattern[] =
    SPECIAL "'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+";
const char *const vt_clip_older = vt_clip_pattern + sizeof SPECIAL - 1;

vitcl_status vt_words_begin(vt_words *w, const char *s, size_t n)
{
    w->text.n = 0;
    w->n = 0;
    if (n == 0)
        return VITCL_OK;
    VT_RET(vt_chars_add(&w->text, s, n));
    VT_RET(vt_grow(&w->ends, &w->cap, 1, sizeof *w->ends));
    w->ends[w->n++] = n;
    return VITCL_OK;
}

void vt_words_free(vt_words *w)
{
    free(w->text.s);
    free(w->ends);
    *w = (vt_words){0};
}

/* Ends a word of what was added since the last one; none if that is nothing. */
static vitcl_status end_word(vt_words *w)
{
    if (w->text.n == (w->n ? w->ends[w->n - 1] : 0))
        return VITCL_OK;
    VT_RET(vt_grow(&w->ends, &w->cap, w->n + 1, sizeof *w->ends));
    w->ends[w->n++] = w->text.n;
    return VITCL_OK;
}

static vitcl_status add_word(vt_words *w, const char *s, size_t n)
{
    VT_RET(vt_chars_add(&w->text, s, n));
    return end_word(w);
}

typedef enum sort { LETTER, NUMBER, SPACE, OTHER, END } sort;

static sort sort_of(size_t *length, const char *s, size_t n)
{
    uint32_t code;

    *length = 0;
    if (n == 0)
        return END;
    code = vt_chars_code(length, s, n);
    return vt_is_letter(code)   ? LETTER
           : vt_is_number(code) ? NUMBER
           : vt_is_space(code)  ? SPACE
                                : OTHER;
}

/* The same in CLIP's pattern. simple: open_clip ignores case in it, and by that
 * U+0345, whose capital letter is a letter, is in none of the sets. */
static sort clip_sort(size_t *length, const char *s, size_t n, bool simple)
{
    const sort what = sort_of(length, s, n);

    return simple && *length == 2 && memcmp(s, "\xcd\x85", 2) == 0 ? SPACE
                                                                   : what;
}

/* The bytes of the characters of one sort that s begins with. */
static size_t run(const char *s, size_t n, sort what, bool simple)
{
    size_t at = 0, length;

    while (clip_sort(&length, s + at, n - at, simple) == what)
        at += length;
    return at;
}

/* The bytes of 's, 't, 're, 've, 'm, 'll or 'd. folded: in any case, and U+017F
 * is an s. */
static size_t contraction(const char *s, size_t n, bool folded)
{
    static const char *const endings[] = {"s", "t", "re", "ve", "m", "ll", "d"};

    if (n < 2 || s[0] != '\'')
        return 0;
    for (size_t i = 0; i < VT_COUNT(endings); i++) {
        const size_t size = strlen(endings[i]);
        size_t same = 0;

        while (same < size && same + 1 < n &&
               (s[same + 1] | (folded ? 32 : 0)) == endings[i][same])
            same++;
        if (same == size)
            return size + 1;
    }
    return folded && n > 2 && memcmp(s + 1, "\xc5\xbf", 2) == 0 ? 3 : 0;
}

static size_t literal(const char *s, size_t n, const char *what, bool folded)
{
    const size_t size = strlen(what);

    if (n < size)
        return 0;
    for (size_t i = 0; i < size; i++) {
        const char c =
            folded && s[i] >= 'A' && s[i] <= 'Z' ? (char)(s[i] + 32) : s[i];
        if (c != what[i])
            return 0;
    }
    return size;
}

/* The special tokens, which CLIP's pattern names; open_clip's in any case. */
static size_t special(const char *s, size_t n, bool simple)
{
    size_t size =
        literal(s, n, simple ? "<start_of_text>" : "<|startoftext|>", simple);

    if (size == 0)
        size =
            literal(s, n, simple ? "<end_of_text>" : "<|endoftext|>", simple);
    return size;
}

static vitcl_status split_clip(vt_words *to, const char *s, size_t n,
                               const vt_splitter *how)
{
    const bool simple = how->kind == VT_PART_SIMPLE;

    for (size_t at = 0, size; at < n; at += size) {
        const sort what = clip_sort(&size, s + at, n - at, simple);
        const size_t one = size;

        if (what == SPACE)
            continue;
        size = how->split ? special(s + at, n - at, simple) : 0;
        if (size == 0 && (size = contraction(s + at, n - at, simple)) == 0)
            size = what == NUMBER ? one : run(s + at, n - at, what, simple);
        VT_RET(add_word(to, s + at, size));
    }
    return VITCL_OK;
}

/* The bytes of GPT-2's next word: contractions; letters, numbers or other
 * characters, with a space in front; spaces but for the last before a word. */
static size_t gpt2_word(const char *s, size_t n)
{
    size_t size = contraction(s, n, false), length, last = 0, blank;
    sort what;

    if (size)
        return size;
    blank = s[0] == ' ';
    what = sort_of(&length, s + blank, n - blank);
    if (what != SPACE && what != END)
        return blank + run(s + blank, n - blank, what, false);
    while (sort_of(&length, s + size, n - size) == SPACE) {
        last = length;
        size += length;
    }
    return size < n && size > last ? size - last : size;
}

size_t vt_byte_character(char out[2], unsigned char byte)
{
    unsigned code = byte;

    if (byte <= ' ')
        code = 256U + byte;
    else if (byte >= 0x7f && byte <= 0xa0)
        code = 256U + 33 + byte - 0x7f;
    else if (byte == 0xad)
        code = 256U + 67;
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    out[0] = (char)(0xc0 | code >> 6);
    out[1] = (char)(0x80 | (code & 0x3f));
    return 2;
}

static vitcl_status add_bytes(vt_words *to, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char c[2];
        const size_t size = vt_byte_character(c, (unsigned char)s[i]);

        VT_RET(vt_chars_add(&to->text, c, size));
    }
    return end_word(to);
}

static vitcl_status split_bytes(vt_words *to, const char *s, size_t n,
                                const vt_splitter *how)
{
    vt_chars c = {0};
    vitcl_status st = VITCL_OK;

    if (how->prefix && n && s[0] != ' ')
        VT_TRY(vt_chars_add(&c, " ", 1));
    VT_TRY(vt_chars_add(&c, s, n));
    for (size_t at = 0, size; at < c.n; at += size) {
        size = how->split ? gpt2_word(c.s + at, c.n - at) : c.n;
        VT_TRY(add_bytes(to, c.s + at, size));
    }
done:
    free(c.s);
    return st;
}

static vitcl_status split_spaces(vt_words *to, const char *s, size_t n)
{
    size_t from = 0;

    for (size_t at = 0, length; at < n; at += length)
        if (sort_of(&length, s + at, n - at) == SPACE) {
            VT_RET(add_word(to, s + from, at - from));
            from = at + length;
        }
    return add_word(to, s + from, n - from);
}

/* A word ends before each U+2581. */
static vitcl_status split_meta(vt_words *to, const char *s, size_t n,
                               const vt_splitter *how, bool first)
{
    const size_t wide = strlen(META);

    if (how->prefix && (first || !how->prefix_once) && n > 0 && s[0] != ' ' &&
        !literal(s, n, META, false))
        VT_RET(vt_chars_add(&to->text, META, wide));
    for (size_t i = 0; i < n;) {
        const bool blank = s[i] == ' ';
        const bool meta = blank || literal(s + i, n - i, META, false);

        if (meta && how->split && i > 0)
            VT_RET(end_word(to));
        VT_RET(meta ? vt_chars_add(&to->text, META, wide)
                    : vt_chars_add(&to->text, s + i, 1));
        i += meta && !blank ? wide : 1;
    }
    return end_word(to);
}

/* A word ends behind each space; further spaces are words of their own. */
static vitcl_status split_blanks(vt_words *to, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        VT_RET(vt_chars_add(&to->text, s + i, 1));
        if (s[i] == ' ')
            VT_RET(end_word(to));
    }
    return end_word(to);
}

vitcl_status vt_split(vt_words *w, const vt_splitter *how, bool first)
{
    vt_words to = {.text.most = w->text.most};
    vitcl_status st = VITCL_OK;

    for (size_t i = 0, from = 0; i < w->n; from = w->ends[i++]) {
        const char *s = w->text.s + from;
        const size_t n = w->ends[i] - from;

        switch (how->kind) {
        case VT_PART_CLIP:
        case VT_PART_SIMPLE:
            VT_TRY(split_clip(&to, s, n, how));
            break;
        case VT_PART_BYTES:
            VT_TRY(split_bytes(&to, s, n, how));
            break;
        case VT_PART_SPACES:
            VT_TRY(split_spaces(&to, s, n));
            break;
        case VT_PART_META:
            VT_TRY(split_meta(&to, s, n, how, first && i == 0));
            break;
        case VT_PART_BLANKS:
            VT_TRY(split_blanks(&to, s, n));
            break;
        }
    }
    free(w->text.s);
    free(w->ends);
    *w = to;
    to = (vt_words){0};
done:
    vt_words_free(&to);
    return st;
}
