/*
 * encode.c - a text on its way to ids: cleaned, parted at added tokens,
 * normalized, split into words, encoded, cut and padded.
 */
#include "base/stop.h"
#include "base/utf8.h"
#include "text/tokenizer.h"

#include <string.h>

#define SPACE "\xe2\x96\x81" /* U+2581 */
#define LEAST_ROOM ((size_t)1 << 16)

typedef struct job {
    const vt_tokenizer *t;
    vt_ids out;
    vt_words words;
    vt_chars piece; /* between two added tokens, normalized */
    size_t room;    /* for what is made of the text beyond its bytes */
    bool first;     /* the piece begins the text */
    size_t special; /* where the first special token is, plus 1 */
} job;

/* A few characters may become many, all of a long text a few times as many:
 * U+2581 in place of a space is three times as long, a byte as a character
 * twice. */
size_t vt_text_room(size_t bytes)
{
    return LEAST_ROOM + 4 * bytes;
}

/* c may grow by *room until spend(). */
static void bound(vt_chars *c, const size_t *room)
{
    c->most = c->n + *room;
}

static void spend(size_t *room, vt_chars *c, size_t before)
{
    *room -= c->n > before ? c->n - before : 0;
    c->most = 0;
}

vitcl_status vt_tokenizer_normalize(vt_chars *c, const vt_tokenizer *t,
                                    size_t *room)
{
    const vt_steps *s = &t->steps;
    vitcl_status st = VITCL_OK;

    for (size_t i = 0; i < s->normalizer_count; i++) {
        const size_t before = c->n;

        bound(c, room);
        VT_TRY(vt_normalize(c, &s->normalizers[i], &s->map));
        spend(room, c, before);
    }
done:
    c->most = 0;
    return st;
}

static vitcl_status encode_word(job *j, const char *s, size_t n)
{
    const vt_tokenizer *t = j->t;
    const int32_t id = vt_vocab_find(&t->words, s, n);

    if (id >= 0)
        return vt_ids_add(&j->out, id);
    return t->model == VT_MODEL_BPE
               ? vt_bpe_encode(&j->out, &t->bpe, s, n)
               : vt_unigram_encode(&j->out, &t->unigram, s, n);
}

static vitcl_status encode_words(job *j, const char *s, size_t n)
{
    const vt_tokenizer *t = j->t;

    if (n == 0)
        return VITCL_OK;
    VT_RET(vt_words_begin(&j->words, s, n));
    for (size_t i = 0; i < t->steps.splitter_count; i++) {
        const size_t before = j->words.text.n;

        bound(&j->words.text, &j->room);
        VT_RET(vt_split(&j->words, &t->steps.splitters[i], j->first));
        spend(&j->room, &j->words.text, before);
    }
    for (size_t i = 0, from = 0; i < j->words.n; from = j->words.ends[i++])
        VT_RET(encode_word(j, j->words.text.s + from, j->words.ends[i] - from));
    j->first = false;
    return VITCL_OK;
}

/* A text in front keeps the space behind it, and its tokens are taken away
 * again. */
static vitcl_status encode_behind(job *j, const char *s, size_t n)
{
    const vt_tokenizer *t = j->t;
    vt_chars whole = {0};
    vt_ids ids = {0};
    vitcl_status st = VITCL_OK;
    size_t skip;

    VT_TRY(vt_chars_add(&whole, t->front, strlen(t->front)));
    VT_TRY(vt_spm_encode(&ids, &t->spm, &j->room, whole.s, whole.n));
    skip = ids.n;
    ids.n = 0;
    VT_TRY(vt_chars_add(&whole, s, n));
    VT_TRY(vt_spm_encode(&ids, &t->spm, &j->room, whole.s, whole.n));
    for (size_t i = ids.n >= skip ? skip : 0; i < ids.n; i++)
        VT_TRY(vt_ids_add(&j->out, ids.id[i]));
done:
    free(whole.s);
    free(ids.id);
    return st;
}

static vitcl_status encode_spm(job *j, const char *s, size_t n)
{
    const vt_tokenizer *t = j->t;
    vt_chars c = {0};
    vitcl_status st = VITCL_OK;

    if (!t->front)
        return vt_spm_encode(&j->out, &t->spm, &j->room, s, n);
    VT_TRY(vt_chars_add(&c, s, n));
    if (t->canonical && t->settings.lower)
        VT_TRY(vt_chars_lower(&c, true));
    if (t->canonical)
        VT_TRY(vt_canonicalize(&c));
    VT_TRY(encode_behind(j, c.s, c.n));
done:
    free(c.s);
    return st;
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
static size_t spaces_before(const char *s, size_t at, size_t least,
                            bool (*is_space)(uint32_t))
{
    size_t begin = at, length;

    for (size_t i = least; i < at; i += length) {
        const bool space = is_space(vt_chars_code(&length, s + i, at - i));

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
    bool (*const is_space)(uint32_t) =
        j->t->model == VT_MODEL_SPM ? vt_is_python_space : vt_is_space;
    size_t done = 0;

    for (size_t at = 0, size; at < n;) {
        const int32_t found = vt_vocab_prefix(&size, v, s + at, n - at);
        const vt_token *a;
        size_t from = at, to, length;

        if (found < 0) {
            vt_chars_code(&length, s + at, n - at);
            at += length;
            continue;
        }
        a = &j->t->added.all.list[found];
        at = to = from + size;
        if (j->t->split_special && a->special)
            continue;
        if (a->single &&
            (touches(s, n, from, false) || touches(s, n, to, true)))
            continue;
        if (a->left)
            from = spaces_before(s, from, done, is_space);
        while (a->right && to < n &&
               is_space(vt_chars_code(&length, s + to, n - to)))
            to += length;
        if (from > done)
            VT_RET(rest(j, s + done, from - done));
        VT_RET(vt_ids_add(&j->out, a->id));
        if (a->special && !j->special)
            j->special = j->out.n;
        j->first = false;
        at = done = to;
    }
    if (done < n)
        return rest(j, s + done, n - done);
    return VITCL_OK;
}

static vitcl_status encode_piece(job *j, const char *s, size_t n)
{
    const vt_tokenizer *t = j->t;

    j->piece.n = 0;
    VT_RET(vt_chars_add(&j->piece, s, n));
    VT_RET(vt_tokenizer_normalize(&j->piece, t, &j->room));
    return part(j, j->piece.s, j->piece.n, &t->added.normal, encode_words);
}

/* U+2581 in front, and spaces in place of any other. */
static vitcl_status put_meta(vt_chars *c)
{
    vt_chars out = {0};
    vitcl_status st = VITCL_OK;

    VT_TRY(vt_chars_add(&out, SPACE, strlen(SPACE)));
    for (size_t i = 0; i < c->n; i++) {
        const bool meta = c->n - i >= 3 && !memcmp(c->s + i, SPACE, 3);

        VT_TRY(vt_chars_add(&out, meta ? " " : c->s + i, 1));
        i += meta ? 2 : 0;
    }
    vt_chars_move(c, &out);
done:
    free(out.s);
    return st;
}

/* Does the second token have the text of a special one? An unknown one has its
 * own. */
static bool second_is_special(const job *j)
{
    const vt_token_list *l = &j->t->added.all;
    bool special = j->special == 2;

    for (size_t i = 0; i < l->n && j->out.n > 1; i++)
        special |= l->list[i].special && l->list[i].id == j->out.id[1] &&
                   l->list[i].id != j->t->spm.unknown;
    return special;
}

/* SiglipTokenizer takes away the U+2581 that it put in front of a token. */
static void drop_meta(job *j)
{
    const int32_t meta = vt_vocab_find(&j->t->spm.vocab, SPACE, strlen(SPACE));
    vt_ids *ids = &j->out;

    if (meta < 0 || !second_is_special(j) || ids->id[0] != meta)
        return;
    ids->n--;
    memmove(ids->id, ids->id + 1, ids->n * sizeof *ids->id);
}

static vitcl_status encode_text(job *j, vt_chars *c)
{
    const vt_tokenizer *t = j->t;
    const bool spm = t->model == VT_MODEL_SPM;

    if (t->lower)
        VT_RET(vt_chars_lower(c, true));
    VT_RET(vt_clean(c, t->clean));
    if (t->meta)
        VT_RET(put_meta(c));
    if (t->meta && t->split_special)
        VT_RET(encode_spm(j, c->s, c->n));
    else
        VT_RET(part(j, c->s, c->n, &t->added.raw,
                    spm ? encode_spm : encode_piece));
    if (t->meta)
        drop_meta(j);
    return VITCL_OK;
}

/* Cut so that the special tokens fit, with them, and padded. */
static uint32_t place(int32_t *ids, bool *cut, uint32_t context,
                      const vt_tokenizer *t, const vt_ids *text)
{
    const vt_steps *x = &t->steps;
    const size_t special = x->before_count + x->after_count;
    const size_t room = context > special ? context - special : 0;
    const size_t n = VT_MIN(text->n, room);
    const size_t first = t->cut_left ? text->n - n : 0;
    size_t after = x->after_count, at = 0, used;

    *cut = n < text->n;
    if (t->end_once && n && text->id[first + n - 1] == t->end)
        after = 0;
    used = VT_MIN(x->before_count + n + after, context);
    if (t->left)
        for (; at < context - used; at++)
            ids[at] = t->pad;
    for (size_t i = 0; i < x->before_count && at < context; i++)
        ids[at++] = x->before[i];
    for (size_t i = 0; i < n && at < context; i++)
        ids[at++] = text->id[first + i];
    for (size_t i = 0; i < after && at < context; i++)
        ids[at++] = x->after[i];
    while (at < context)
        ids[at++] = t->pad;
    if (t->keep_end && used == context && context > 0)
        ids[context - 1] = t->end;
    return (uint32_t)used;
}

vitcl_status vt_tokenizer_encode(int32_t *ids, uint32_t *count,
                                 const vt_tokenizer *t, uint32_t context,
                                 const char *text, size_t bytes)
{
    bool cut;

    return vt_tokenizer_fit(ids, count, &cut, t, context, text, bytes);
}

vitcl_status vt_tokenizer_fit(int32_t *ids, uint32_t *count, bool *cut,
                              const vt_tokenizer *t, uint32_t context,
                              const char *text, size_t bytes)
{
    job j = {.t = t, .first = true, .room = vt_text_room(bytes)};
    vt_chars c = {0};
    vitcl_status st = VITCL_OK;

    if (bytes > VT_TEXT_MAX)
        return vt_fail(VITCL_EINVAL, "a text has over %zu MB",
                       VT_TEXT_MAX >> 20);
    if (!vt_utf8(text, bytes))
        return vt_fail(VITCL_ECORRUPT, "a text is not UTF-8");
    VT_TRY(vt_stop_look());
    VT_TRY(vt_chars_add(&c, text, bytes));
    VT_TRY(encode_text(&j, &c));
    *count = place(ids, cut, context, t, &j.out);
done:
    free(c.s);
    free(j.piece.s);
    free(j.out.id);
    vt_words_free(&j.words);
    return st;
}
