/*
 * chars.c - texts that grow, categories, lower case, normal forms.
 */
#include "text/chars.h"

#include "base/stop.h"
#include "base/utf8.h"
#include "text/unicode_gap.h"

#include <string.h>
#include <utf8proc.h>

enum { NEWER_MARK = 1, NEWER_LETTER = 2, NEWER_NUMBER = 4 }; /* in gaps[] */
enum {
    CHUNK = 1 << 16, /* bytes that are normalised at a time, or some more */
    MARKS_MAX = 1024 /* to sort, in a row: utf8proc's time is their square */
};

vitcl_status vt_chars_add(vt_chars *c, const char *s, size_t n)
{
    size_t need;

    if (!vt_sum(&need, c->n, n))
        return vt_fail(VITCL_ENOMEM, "out of memory for a text");
    if (c->most && need > c->most)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "the tokenizer makes a text too long: over %zu bytes",
                       c->most);
    VT_RET(vt_stop_look());
    VT_RET(vt_grow(&c->s, &c->cap, need, 1));
    if (n)
        memcpy(c->s + c->n, s, n);
    c->n = need;
    return VITCL_OK;
}

vitcl_status vt_chars_put(vt_chars *c, uint32_t code)
{
    utf8proc_uint8_t s[4];
    const utf8proc_ssize_t n = utf8proc_encode_char((utf8proc_int32_t)code, s);

    return vt_chars_add(c, (const char *)s, n > 0 ? (size_t)n : 0);
}

void vt_chars_move(vt_chars *c, vt_chars *from)
{
    free(c->s);
    *c = (vt_chars){from->s, from->n, from->cap, c->most};
    *from = (vt_chars){0};
}

vitcl_status vt_ids_add(vt_ids *ids, int32_t id)
{
    VT_RET(vt_stop_look());
    VT_RET(vt_grow(&ids->id, &ids->cap, ids->n + 1, sizeof *ids->id));
    ids->id[ids->n++] = id;
    return VITCL_OK;
}

uint32_t vt_chars_code(size_t *length, const char *s, size_t left)
{
    const size_t n = vt_utf8_length(s, left);

    *length = n ? n : 1;
    return n ? vt_utf8_code(s, n) : 0xFFFD;
}

const vt_code_range *vt_code_find(const vt_code_range *table, size_t n,
                                  uint32_t code)
{
    size_t low = 0, high = n;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (code > table[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && code >= table[low].first ? &table[low] : NULL;
}

static bool is_newer(uint32_t code, uint8_t sort)
{
    const vt_code_range *r = vt_code_find(gaps, VT_COUNT(gaps), code);

    return r && r->sort & sort;
}

static utf8proc_category_t category(uint32_t code)
{
    return utf8proc_category((utf8proc_int32_t)code);
}

bool vt_is_ascii(const char *s, size_t n)
{
    size_t at = 0;

    while (at < n && (unsigned char)s[at] < 0x80)
        at++;
    return at == n;
}

bool vt_is_letter(uint32_t code)
{
    const utf8proc_category_t c = category(code);

    return c ? c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO
             : is_newer(code, NEWER_LETTER);
}

bool vt_is_number(uint32_t code)
{
    const utf8proc_category_t c = category(code);

    return c ? c >= UTF8PROC_CATEGORY_ND && c <= UTF8PROC_CATEGORY_NO
             : is_newer(code, NEWER_NUMBER);
}

bool vt_is_digit(uint32_t code)
{
    return category(code) == UTF8PROC_CATEGORY_ND;
}

bool vt_is_space(uint32_t code)
{
    return (code >= 9 && code <= 13) || code == 0x85 || code == 0x2028 ||
           code == 0x2029 || category(code) == UTF8PROC_CATEGORY_ZS;
}

bool vt_is_python_space(uint32_t code)
{
    return vt_is_space(code) || (code >= 0x1c && code <= 0x1f);
}

/* Cased and not Case_Ignorable; the ranges have cased symbols and numbers. */
static bool is_cased(uint32_t code)
{
    const utf8proc_category_t c = category(code);

    return c == UTF8PROC_CATEGORY_LU || c == UTF8PROC_CATEGORY_LL ||
           c == UTF8PROC_CATEGORY_LT || code == 0xaa || code == 0xba ||
           (code >= 0x2160 && code <= 0x217f) ||
           (code >= 0x24b6 && code <= 0x24e9) ||
           (code >= 0x1f130 && code <= 0x1f149) ||
           (code >= 0x1f150 && code <= 0x1f169) ||
           (code >= 0x1f170 && code <= 0x1f189);
}

static bool is_case_ignorable(uint32_t code)
{
    static const uint16_t marks[] = {
        0x27,   0x2e,   0x3a,   0xb7,   0x387,  0x55f,  0x5f4,  0x2018, 0x2019,
        0x2024, 0x2027, 0xfe13, 0xfe52, 0xfe55, 0xff07, 0xff0e, 0xff1a};
    const utf8proc_category_t c = category(code);

    for (size_t i = 0; i < VT_COUNT(marks); i++)
        if (code == marks[i])
            return true;
    return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_ME ||
           c == UTF8PROC_CATEGORY_CF || c == UTF8PROC_CATEGORY_LM ||
           c == UTF8PROC_CATEGORY_SK;
}

/* Does a cased letter follow, but for characters that do not count? */
static bool cased_follows(const char *s, size_t n)
{
    for (size_t at = 0, length; at < n; at += length) {
        const uint32_t code = vt_chars_code(&length, s + at, n - at);

        if (!is_case_ignorable(code))
            return is_cased(code);
    }
    return false;
}

uint32_t vt_code_upper(uint32_t code)
{
    return (uint32_t)utf8proc_toupper((utf8proc_int32_t)code);
}

vitcl_status vt_chars_lower(vt_chars *c, bool final_sigma)
{
    vitcl_status st = VITCL_OK;
    vt_chars out = {.most = c->most};
    bool cased = false; /* the last that is not ignorable */
    size_t ascii = 0;

    for (; ascii < c->n && (unsigned char)c->s[ascii] < 0x80; ascii++)
        if (c->s[ascii] >= 'A' && c->s[ascii] <= 'Z')
            c->s[ascii] = (char)(c->s[ascii] + 32);
    if (ascii == c->n)
        return VITCL_OK;
    for (size_t at = 0, length; at < c->n; at += length) {
        const uint32_t code = vt_chars_code(&length, c->s + at, c->n - at);

        if (code == 0x130) {
            VT_TRY(vt_chars_add(&out, "i\xcc\x87", 3));
        } else if (code == 0x3a3 && final_sigma && cased &&
                   !cased_follows(c->s + at + length, c->n - at - length)) {
            VT_TRY(vt_chars_put(&out, 0x3c2));
        } else {
            VT_TRY(vt_chars_put(
                &out, (uint32_t)utf8proc_tolower((utf8proc_int32_t)code)));
        }
        if (!is_case_ignorable(code))
            cased = is_cased(code);
    }
    vt_chars_move(c, &out);
done:
    free(out.s);
    return st;
}

/* By which a mark is sorted among its neighbours; 0: it is none. */
static int mark_class(uint32_t code)
{
    return utf8proc_get_property((utf8proc_int32_t)code)->combining_class;
}

/* It becomes one or two marks. */
static bool is_made_of_marks(uint32_t code)
{
    return code == 0xf73 || code == 0xf75 || code == 0xf81 || code == 0xff9e ||
           code == 0xff9f;
}

/* Nothing in front of such a character changes with it. */
static bool stands_alone(uint32_t code)
{
    return code < 0x80 || (code >= 0x4e00 && code <= 0x9fff) ||
           (code >= 0xac00 && code <= 0xd7a3);
}

/* The bytes of s that are normalised at a time. *as_is: one character of the
 * gap, which nothing around it changes with. */
static vitcl_status chunk(size_t *size, bool *as_is, const char *s, size_t n,
                          bool older)
{
    size_t marks = 0, length;
    int last = 0;
    bool sorted = true;

    *as_is = false;
    for (*size = 0; *size < n; *size += length) {
        const uint32_t code = vt_chars_code(&length, s + *size, n - *size);

        if (*size >= CHUNK && stands_alone(code))
            break;
        if (older && is_newer(code, NEWER_MARK)) {
            *as_is = *size == 0;
            *size += *as_is ? length : 0;
            break;
        }
        sorted = !is_made_of_marks(code) && mark_class(code) >= last &&
                 (sorted || !marks);
        marks = mark_class(code) || is_made_of_marks(code) ? marks + 1 : 0;
        last = mark_class(code);
        if (marks > MARKS_MAX && !sorted)
            return vt_fail(VITCL_EUNSUPPORTED,
                           "a text has over %d combining marks in a row, and "
                           "not in the order of normal forms",
                           MARKS_MAX);
    }
    return VITCL_OK;
}

static vitcl_status normalise(vt_chars *c, vt_nf form, bool older)
{
    static const int options[] = {
        [VT_NFC] = UTF8PROC_COMPOSE,
        [VT_NFD] = UTF8PROC_DECOMPOSE,
        [VT_NFKC] = UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
        [VT_NFKD] = UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT,
    };
    vt_chars out = {.most = c->most};
    utf8proc_uint8_t *part = NULL;
    vitcl_status st = VITCL_OK;

    if (vt_is_ascii(c->s, c->n))
        return VITCL_OK;
    for (size_t at = 0, size; at < c->n; at += size) {
        utf8proc_ssize_t n;
        bool as_is;

        VT_TRY(chunk(&size, &as_is, c->s + at, c->n - at, older));
        if (as_is) {
            VT_TRY(vt_chars_add(&out, c->s + at, size));
            continue;
        }
        n = utf8proc_map((const utf8proc_uint8_t *)c->s + at,
                         (utf8proc_ssize_t)size, &part,
                         (utf8proc_option_t)(UTF8PROC_STABLE | options[form]));
        if (n == UTF8PROC_ERROR_NOMEM)
            VT_TRY(vt_fail(VITCL_ENOMEM, "out of memory for a text"));
        if (n < 0) /* not UTF-8 after a character map of a file: as it is */
            goto done;
        VT_TRY(vt_chars_add(&out, (const char *)part, (size_t)n));
        free(part);
        part = NULL;
    }
    vt_chars_move(c, &out);
done:
    free(part);
    free(out.s);
    return st;
}

vitcl_status vt_normal_form(char **out, const char *text, bool composed)
{
    vt_chars c = {0};
    vitcl_status st;

    VT_TRY(vt_chars_add(&c, text, strlen(text)));
    VT_TRY(vt_chars_normalise(&c, composed ? VT_NFC : VT_NFD));
    VT_TRY(vt_chars_add(&c, "", 1));
    *out = c.s, c.s = NULL;
done:
    free(c.s);
    return st;
}

vitcl_status vt_chars_normalise(vt_chars *c, vt_nf form)
{
    return normalise(c, form, false);
}

vitcl_status vt_chars_normalise_older(vt_chars *c, vt_nf form)
{
    return normalise(c, form, true);
}

size_t vt_chars_cluster(const char *s, size_t n)
{
    utf8proc_int32_t state = 0;
    size_t at, length;
    uint32_t before = vt_chars_code(&at, s, n);

    for (; at < n; at += length) {
        const uint32_t code = vt_chars_code(&length, s + at, n - at);

        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)before,
                                             (utf8proc_int32_t)code, &state))
            break;
        before = code;
    }
    return at;
}
