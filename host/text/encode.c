/*
 * encode.c - a text on its way to ids: cleaned, parted at added tokens,
 * normalized, split into words, encoded, cut and padded.
 */
#include "base/utf8.h"
#include "text/tokenizer.h"

#include <string.h>

#define TEXT_MAX ((size_t)16 << 20) /* bytes */
#define SPACE "\xe2\x96\x81"        /* U+2581 */

typedef struct job {
    const vt_tokenizer *t;
    vt_ids out;
    vt_words words;
    vt_chars piece; /* between two added tokens, normalized */
    bool first;     /* the piece begins the text */
} job;

static vitcl_status encode_word(job *j, const char *s, size_t n)
{
    const vt_tokenizer *t = j->t;

    return t->model == VT_MODEL_BPE
               ? vt_bpe_encode(&j->out, &t->bpe, s, n)
               : vt_unigram_encode(&j->out, &t->unigram, s, n);
}

static vitcl_status encode_words(job *j, const char *s, size_t n)
{
    const vt_tokenizer *t = j->t;
    vitcl_status st = VITCL_OK;

    if (n == 0)
        return VITCL_OK;
    VT_TRY(vt_words_begin(&j->words, s, n));
    for (size_t i = 0; i < t->splitter_count; i++)
        VT_TRY(vt_split(&j->words, &t->splitters[i], j->first));
    for (size_t i = 0, from = 0; i < j->words.n; from = j->words.ends[i++])
        VT_TRY(encode_word(j, j->words.text.s + from, j->words.ends[i] - from));
    j->first = false;
done:
    return st;
}

/* SiglipTokenizer: "<unk>" keeps the space in front, and its tokens are taken
 * away again. */
static vitcl_status encode_siglip(job *j, const char *s, size_t n)
{
    const vt_tokenizer *t = j->t;
    const char *unknown = t->settings.unknown ? t->settings.unknown : "<unk>";
    vt_chars c = {0}, whole = {0};
    vt_ids ids = {0};
    vitcl_status st = VITCL_OK;
    size_t skip;

    VT_TRY(vt_chars_add(&c, s, n));
    if (t->settings.lower)
        VT_TRY(vt_chars_lower(&c, true));
    VT_TRY(vt_canonicalize(&c));
    VT_TRY(vt_chars_add(&whole, unknown, strlen(unknown)));
    VT_TRY(vt_spm_encode(&ids, &t->spm, whole.s, whole.n));
    skip = ids.n;
    ids.n = 0;
    VT_TRY(vt_chars_add(&whole, c.s, c.n));
    VT_TRY(vt_spm_encode(&ids, &t->spm, whole.s, whole.n));
    for (size_t i = ids.n >= skip ? skip : 0; i < ids.n; i++)
        VT_TRY(vt_ids_add(&j->out, ids.id[i]));
done:
    free(c.s);
    free(whole.s);
    free(ids.id);
    return st;
}

static vitcl_status encode_spm(job *j, const char *s, size_t n)
{
    return j->t->siglip ? encode_siglip(j, s, n)
                        : vt_spm_encode(&j->out, &j->t->spm, s, n);
}

typedef vitcl_status (*between)(job *, const char *, size_t);

static bool is_word(uint32_t code)
{
    return vt_is_letter(code) || vt_is_number(code) || code == '_';
}

/* Does a word end at `at`, or (after) begin there? */
static bool touches(const char *s, size_t n, size_t at, bool after)
{
    size_t length, from = at;

    if (after)
        return at < n && is_word(vt_chars_code(&length, s + at, n - at));
    if (at == 0)
        return false;
    while (from > 0 && at - from < 4 && (s[--from] & 0xc0) == 0x80)
        ;
    return is_word(vt_chars_code(&length, s + from, at - from));
}

/* White space in front of `at`, but not before `least`: where it begins. */
static size_t spaces_before(const char *s, size_t at, size_t least)
{
    size_t begin = at, length;

    for (size_t i = least; i < at; i += length) {
        const bool space = vt_is_space(vt_chars_code(&length, s + i, at - i));

        if (!space)
            begin = at;
        else if (begin == at)
            begin = i;
    }
    return begin;
}

/* The tokens of a text by `rest`, and those that are in `v` as they are. */
static vitcl_status part(job *j, const char *s, size_t n, const vt_vocab *v,
                         between rest)
{
    vitcl_status st = VITCL_OK;
    size_t done = 0;

    for (size_t at = 0, size; at < n;) {
        const int32_t found = vt_vocab_prefix(&size, v, s + at, n - at);
        const struct vt_added_token *a;
        size_t from = at, to, length;

        if (found < 0) {
            vt_chars_code(&length, s + at, n - at);
            at += length;
            continue;
        }
        a = &j->t->added.list[found];
        at = to = from + size;
        if (a->single &&
            (touches(s, n, from, false) || touches(s, n, to, true)))
            continue;
        if (a->left)
            from = spaces_before(s, from, done);
        while (a->right && to < n &&
               vt_is_space(vt_chars_code(&length, s + to, n - to)))
            to += length;
        if (from > done)
            VT_TRY(rest(j, s + done, from - done));
        VT_TRY(vt_ids_add(&j->out, a->id));
        j->first = false;
        at = done = to;
    }
    if (done < n)
        st = rest(j, s + done, n - done);
done:
    return st;
}

static vitcl_status encode_piece(job *j, const char *s, size_t n)
{
    const vt_tokenizer *t = j->t;
    vitcl_status st = VITCL_OK;

    j->piece.n = 0;
    VT_TRY(vt_chars_add(&j->piece, s, n));
    if (t->lower_pieces)
        VT_TRY(vt_chars_lower(&j->piece, false));
    for (size_t i = 0; i < t->normalizer_count; i++)
        VT_TRY(vt_normalize(&j->piece, &t->normalizers[i], &t->map));
    VT_TRY(part(j, j->piece.s, j->piece.n, &t->added.normal, encode_words));
done:
    return st;
}

/* open_clip's tokenizer: its pattern has the special tokens. */
static vitcl_status encode_simple(job *j, const char *s, size_t n)
{
    static const vt_splitter bytes = {.kind = VT_PART_BYTES};
    static const vt_splitter pattern = {.kind = VT_PART_SIMPLE};
    const vt_tokenizer *t = j->t;
    vitcl_status st = VITCL_OK;

    VT_TRY(vt_words_begin(&j->words, s, n));
    VT_TRY(vt_split(&j->words, &pattern, true));
    VT_TRY(vt_split(&j->words, &bytes, true));
    for (size_t i = 0, from = 0; i < j->words.n; from = j->words.ends[i++]) {
        const char *w = j->words.text.s + from;
        const size_t size = j->words.ends[i] - from;

        if (size == 15 && memcmp(w, "<start_of_text>", size) == 0)
            VT_TRY(vt_ids_add(&j->out, t->begin));
        else if (size == 13 && memcmp(w, "<end_of_text>", size) == 0)
            VT_TRY(vt_ids_add(&j->out, t->end));
        else
            VT_TRY(encode_word(j, w, size));
    }
done:
    return st;
}

static vitcl_status encode_text(job *j, vt_chars *c)
{
    const vt_tokenizer *t = j->t;
    vt_chars whole = {0};
    vitcl_status st = VITCL_OK;

    if (t->lower)
        VT_TRY(vt_chars_lower(c, true));
    VT_TRY(vt_clean(c, t->clean));
    if (t->lower_pieces && t->model == VT_MODEL_SPM)
        VT_TRY(vt_chars_lower(c, false));
    if (t->simple)
        VT_TRY(encode_simple(j, c->s, c->n));
    else if (t->siglip) {
        VT_TRY(vt_chars_add(&whole, SPACE, strlen(SPACE)));
        for (size_t i = 0; i < c->n; i++) {
            const bool meta = c->n - i >= 3 && !memcmp(c->s + i, SPACE, 3);

            VT_TRY(vt_chars_add(&whole, meta ? " " : c->s + i, 1));
            i += meta ? 2 : 0;
        }
        VT_TRY(part(j, whole.s, whole.n, &t->added.raw, encode_spm));
    } else {
        VT_TRY(part(j, c->s, c->n, &t->added.raw,
                    t->model == VT_MODEL_SPM ? encode_spm : encode_piece));
    }
done:
    free(whole.s);
    return st;
}

/* Cut so that the special tokens fit, with them, and padded. */
static uint32_t place(int32_t *ids, uint32_t context, const vt_tokenizer *t,
                      const vt_ids *text)
{
    const size_t special = t->before_count + t->after_count;
    const size_t room = context > special ? context - special : 0;
    const size_t n = VT_MIN(text->n, room);
    const size_t first = t->cut_left ? text->n - n : 0;
    size_t after = t->after_count, at = 0, used;

    if (t->siglip && n && (n == text->n || t->cut_left) &&
        text->id[first + n - 1] == t->end)
        after = 0; /* SiglipTokenizer adds no second one */
    used = VT_MIN(t->before_count + n + after, context);
    if (t->left)
        for (; at < context - used; at++)
            ids[at] = t->pad;
    for (size_t i = 0; i < t->before_count && at < context; i++)
        ids[at++] = t->before[i];
    for (size_t i = 0; i < n && at < context; i++)
        ids[at++] = text->id[first + i];
    for (size_t i = 0; i < after && at < context; i++)
        ids[at++] = t->after[i];
    while (at < context)
        ids[at++] = t->pad;
    if (t->simple && used == context && context > 0)
        ids[context - 1] = t->end;
    return (uint32_t)used;
}

vitcl_status vt_tokenizer_encode(int32_t *ids, uint32_t *count,
                                 const vt_tokenizer *t, uint32_t context,
                                 const char *text, size_t bytes)
{
    job j = {.t = t, .first = true};
    vt_chars c = {0};
    vitcl_status st = VITCL_OK;

    if (bytes > TEXT_MAX)
        return vt_fail(VITCL_EINVAL, "a text has over %zu MB", TEXT_MAX >> 20);
    if (!vt_utf8(text, bytes))
        return vt_fail(VITCL_ECORRUPT, "a text is not UTF-8");
    VT_TRY(vt_chars_add(&c, text, bytes));
    VT_TRY(encode_text(&j, &c));
    *count = place(ids, context, t, &j.out);
done:
    free(c.s);
    free(j.piece.s);
    free(j.out.id);
    vt_words_free(&j.words);
    return st;
}
