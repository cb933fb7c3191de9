/*
 * hf.c - tokenizer.json of Hugging Face's library, and vocab.json with
 * merges.txt.
 */
#include "base/file.h"
#include "base/number.h"
#include "text/stream.h"
#include "text/token_keys.h"
#include "text/tokenizer.h"
#include "text/vocab_cache.h"

#include <math.h>
#include <string.h>

#define FILE_MAX ((size_t)512 << 20)
#define DEPTH 32
#define BYTES_A_PIECE 16 /* in the text, about */

/* "piece": id, ... */
static vitcl_status read_ids(vt_tokenizer *t, vt_stream *r)
{
    bool more, first = true;

    for (;; first = false) {
        vt_stretch s;
        double id;

        VT_RET(vt_stream_more(&more, r, '}', first));
        if (!more)
            return VITCL_OK;
        VT_RET(vt_stream_string(&s, r, 0));
        if (!vt_stream_take(r, ':'))
            return vt_stream_damage(r);
        VT_RET(vt_stream_number(&id, r));
        if (!(id >= 0 && id <= VT_PIECES_MAX) || floor(id) < id)
            return vt_stream_damage(r);
        VT_RET(vt_vocab_add(&t->vocab, s.s, s.n, (uint64_t)id, r->name));
    }
    return VITCL_OK;
}

/* ["piece", score], ...: the ids are their places. */
static vitcl_status read_scores(vt_tokenizer *t, vt_stream *r)
{
    bool more, first = true;

    for (;; first = false) {
        const size_t id = t->vocab.count;
        vt_stretch s;
        double score;

        VT_RET(vt_stream_more(&more, r, ']', first));
        if (!more)
            return VITCL_OK;
        if (!vt_stream_take(r, '['))
            return vt_stream_damage(r);
        VT_RET(vt_stream_string(&s, r, 0));
        if (!vt_stream_take(r, ','))
            return vt_stream_damage(r);
        VT_RET(vt_stream_number(&score, r));
        if (!vt_stream_take(r, ']') || !isfinite(score))
            return vt_stream_damage(r);
        VT_RET(vt_vocab_add(&t->vocab, s.s, s.n, id, r->name));
        VT_RET(vt_grow(&t->scores, &t->score_cap, id + 1, sizeof *t->scores));
        t->scores[id] = score;
    }
    return VITCL_OK;
}

static vitcl_status read_vocab(vt_tokenizer *t, vt_stretch s, bool scores,
                               const char *begin, const char *name)
{
    vt_stream r = {.s = s.s, .end = s.s + s.n, .begin = begin, .name = name};
    const locale_t locale = vt_point_begin();
    vitcl_status st = VITCL_OK;

    VT_TRY(vt_vocab_reserve(&t->vocab, s.n / BYTES_A_PIECE));
    if (!vt_stream_take(&r, scores ? '[' : '{'))
        VT_TRY(vt_stream_damage(&r));
    VT_TRY(scores ? read_scores(t, &r) : read_ids(t, &r));
    if (r.s != r.end || t->vocab.count == 0)
        st = vt_stream_damage(&r);
done:
    vt_point_end(locale);
    vt_stream_free(&r);
    return st;
}

/* "a b", or ["a", "b"], ... */
static vitcl_status read_merges(vt_tokenizer *t, vt_stream *r)
{
    bool more, first = true;

    if (!vt_stream_take(r, '['))
        return vt_stream_damage(r);
    for (;; first = false) {
        vt_stretch a, b;
        const char *space;

        VT_RET(vt_stream_more(&more, r, ']', first));
        if (!more)
            break;
        if (vt_stream_take(r, '[')) {
            VT_RET(vt_stream_string(&a, r, 0));
            if (!vt_stream_take(r, ','))
                return vt_stream_damage(r);
            VT_RET(vt_stream_string(&b, r, 1));
            if (!vt_stream_take(r, ']'))
                return vt_stream_damage(r);
        } else {
            VT_RET(vt_stream_string(&a, r, 0));
            if (a.n == 0 || !(space = memchr(a.s, ' ', a.n)))
                return vt_stream_damage(r);
            b.s = space + 1;
            b.n = a.n - (size_t)(b.s - a.s);
            a.n -= b.n + 1;
        }
        VT_RET(vt_bpe_merge(&t->bpe, a.s, a.n, b.s, b.n, r->name));
    }
    if (r->s != r->end)
        return vt_stream_damage(r);
    return VITCL_OK;
}

static bool asks(const vt_json *model, const char *key)
{
    bool b = false;

    return vt_json_bool(&b, vt_json_get(model, key)) && b;
}

/* What a class of its own says of the BPE. */
static vitcl_status class_bpe(vt_tokenizer *t)
{
    const vt_token_class *c = t->class;
    const char *unknown = t->settings.named[VT_UNK].s;
    vt_bpe *b = &t->bpe;

    b->fuse = c->fuse;
    b->fallback = c->fallback;
    if (c->suffix)
        VT_RET(vt_strdup(&b->suffix, c->suffix));
    b->unknown =
        unknown ? vt_vocab_find(&t->vocab, unknown, strlen(unknown)) : -1;
    if (b->unknown < 0 && c != &vt_class_simple)
        b->unknown = VT_BPE_NO_UNKNOWN;
    return VITCL_OK;
}

static vitcl_status file_bpe(vt_tokenizer *t, const vt_json *model,
                             const char *name)
{
    vt_bpe *b = &t->bpe;
    const char *s = NULL;
    double dropout = 0;

    vt_json_number(&dropout, vt_json_get(model, "dropout"));
    if ((vt_json_string(&s, vt_json_get(model, "continuing_subword_prefix")) &&
         *s) ||
        fabs(dropout) > 0)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: a prefix of subwords, or dropout, is not supported",
                       name);
    b->unknown = -1;
    b->fuse = asks(model, "fuse_unk");
    b->whole = asks(model, "ignore_merges");
    b->fallback = asks(model, "byte_fallback");
    if (vt_json_string(&s, vt_json_get(model, "end_of_word_suffix")) && *s)
        VT_RET(vt_strdup(&b->suffix, s));
    if (b->suffix && b->fallback)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: byte_fallback with an end_of_word_suffix is not "
                       "supported",
                       name);
    if (vt_json_string(&s, vt_json_get(model, "unk_token"))) {
        b->unknown = vt_vocab_find(&t->vocab, s, strlen(s));
        if (b->unknown < 0)
            b->unknown = VT_BPE_NO_UNKNOWN;
    }
    return VITCL_OK;
}

static vitcl_status read_bpe(vt_tokenizer *t, const vt_json *model,
                             const vt_stream_parts *parts, const char *name)
{
    vt_stream r = {.s = parts->merges.s,
                   .end = parts->merges.s + parts->merges.n,
                   .begin = parts->begin,
                   .name = name};
    vt_bpe *b = &t->bpe;
    vitcl_status st = VITCL_OK;

    if (!t->vocab.count)
        VT_TRY(read_vocab(t, parts->vocab, false, parts->begin, name));
    b->vocab = &t->vocab;
    VT_TRY(t->class->steps ? class_bpe(t) : file_bpe(t, model, name));
    if (b->fallback)
        vt_bpe_bytes(b->byte, &t->vocab);
    if (!b->slots) {
        VT_TRY(read_merges(t, &r));
        VT_TRY(vt_bpe_finish(b, name));
    }
    t->model = VT_MODEL_BPE;
done:
    vt_stream_free(&r);
    return st;
}

static vitcl_status read_unigram(vt_tokenizer *t, const vt_json *model,
                                 const vt_stream_parts *parts, const char *name)
{
    const bool own = t->class->steps != NULL;
    uint64_t unknown = t->class->unknown;
    double least;

    if (!t->vocab.count)
        VT_RET(read_vocab(t, parts->vocab, true, parts->begin, name));
    if ((!own && !vt_json_uint(&unknown, vt_json_get(model, "unk_id"))) ||
        unknown >= t->vocab.count)
        return vt_fail(VITCL_ECORRUPT, "%s: unk_id is not in the vocabulary",
                       name);
    least = t->scores[0];
    for (size_t i = 1; i < t->vocab.count; i++)
        least = fmin(least, t->scores[i]);
    t->unigram = (vt_unigram){.vocab = &t->vocab,
                              .scores = t->scores,
                              .least = least,
                              .unknown = (int32_t)unknown};
    /* like the library, unknown where one of the bytes is no piece */
    t->unigram.fallback = !own && asks(model, "byte_fallback") &&
                          vt_bpe_bytes(t->unigram.byte, &t->vocab);
    t->model = VT_MODEL_UNIGRAM;
    return VITCL_OK;
}

/* What is kept of a vocabulary is in `t` already. A model without a type has
 * merges, or is a list of scores. */
static vitcl_status read_model(vt_tokenizer *t, const vt_json *model,
                               const vt_stream_parts *parts, const char *name)
{
    const bool scores = t->scores || (parts->vocab.n && *parts->vocab.s == '[');
    const char *type = scores                              ? "Unigram"
                       : parts->merges.n || t->vocab.count ? "BPE"
                                                           : "?";

    vt_json_string(&type, vt_json_get(model, "type"));
    if (t->class->steps &&
        strcmp(type, t->class->model == VT_MODEL_BPE ? "BPE" : "Unigram") != 0)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: the model is of type \"%.40s\", which is not that "
                       "of %s",
                       name, type, t->class->name);
    if (strcmp(type, "BPE") == 0)
        return read_bpe(t, model, parts, name);
    if (strcmp(type, "Unigram") == 0)
        return read_unigram(t, model, parts, name);
    return vt_fail(VITCL_EUNSUPPORTED,
                   "%s: a tokenizer of type \"%.40s\" is not supported, only "
                   "BPE and Unigram",
                   name, type);
}

/* truncation and padding: what tokenizer_config.json does not say. */
static vitcl_status read_sides(vt_token_settings *s, const vt_json *root)
{
    const vt_json *padding = vt_json_get(root, "padding");
    const char *side, *pad;
    vt_token *token = &s->named[VT_PAD];

    if (s->left < 0 && vt_json_string(&side, vt_json_get(padding, "direction")))
        s->left = strcmp(side, "Left") == 0;
    if (s->cut_left < 0 &&
        vt_json_string(
            &side, vt_json_get(vt_json_get(root, "truncation"), "direction")))
        s->cut_left = strcmp(side, "Left") == 0;
    if (!token->s && vt_json_string(&pad, vt_json_get(padding, "pad_token"))) {
        token->special = true;
        VT_RET(vt_strdup(&token->s, pad));
    }
    return VITCL_OK;
}

/* added_tokens: the file's tokenizer has them; the others know them from
 * tokenizer_config.json if that has a list, too. */
static vitcl_status read_added(vt_tokenizer *t, const vt_json *root,
                               const char *name)
{
    vitcl_status st = VITCL_OK;
    vt_token token = {0};
    uint64_t id;

    for (const vt_json *m = vt_json_first(vt_json_get(root, "added_tokens")); m;
         m = vt_json_next(m)) {
        if (!vt_json_uint(&id, vt_json_get(m, "id")))
            id = VT_PIECES_MAX;
        if (!t->settings.decoder)
            VT_TRY(vt_token_settings_put(&t->settings, m, id, name));
        if (t->class->steps)
            continue;
        free(token.s);
        VT_TRY(vt_token_read(&token, m, false, name));
        token.id = -1;
        VT_TRY(vt_added_add(t, &token, name));
    }
done:
    free(token.s);
    return st;
}

/* What the class takes of the file. */
static vitcl_status read_rest(vt_tokenizer *t, const vt_json *root,
                              const char *name)
{
    vt_steps *s = &t->steps;

    if (t->class == &vt_class_simple)
        return vt_steps_class(t, NULL, name);
    VT_RET(t->class->steps ? vt_steps_class(t, root, name)
                           : vt_steps_read(s, root, name));
    if (t->class->steps && !t->class->both && !t->class->end_only)
        VT_RET(
            vt_steps_processor(s, vt_json_get(root, "post_processor"), name));
    VT_RET(read_sides(&t->settings, root));
    return read_added(t, root, name);
}

vitcl_status vt_read_tokenizer_json(vt_tokenizer *t, const char *folder,
                                    const char *path)
{
    vt_file file = {0};
    vt_stream_parts parts = {.vocab = {"", 0}, .merges = {"", 0}};
    vt_json *root = NULL;
    vitcl_status st = VITCL_OK;

    (void)folder;
    if (!t->fresh)
        vt_vocab_cache_load(&t->kept, &parts.rest, t, path);
    if (!t->kept) {
        VT_TRY(vt_file_read(&file, path, FILE_MAX));
        vt_sha256_add(&t->hash, file.data, file.size);
        VT_TRY(vt_stream_cut(&parts, (const char *)file.data, file.size, path));
    }
    VT_TRY(vt_json_parse_cut(&root, parts.rest.s, parts.rest.n, DEPTH, path,
                             parts.cuts, parts.count));
    VT_TRY(vt_token_keys_json(root, path));
    VT_TRY(read_model(t, vt_json_get(root, "model"), &parts, path));
    VT_TRY(read_rest(t, root, path));
    if (file.size >= VT_VOCAB_CACHED)
        vt_vocab_cache_save(&parts.rest, t);
done:
    vt_json_free(root);
    free(parts.rest.s);
    vt_file_close(&file);
    return st;
}

/* merges.txt: a line for each, "a b". */
static vitcl_status read_merge_lines(vt_tokenizer *t, const char *s, size_t n,
                                     const char *name)
{
    static const char version[] = "#version";

    for (size_t at = 0, size; at < n; at += size + 1) {
        const char *line = s + at, *end = memchr(line, '\n', n - at), *space;
        size_t left;

        size = end ? (size_t)(end - line) : n - at;
        left = size && line[size - 1] == '\r' ? size - 1 : size;
        if (left == 0 || (left >= strlen(version) &&
                          memcmp(line, version, strlen(version)) == 0))
            continue;
        if (!(space = memchr(line, ' ', left)))
            return vt_fail(VITCL_ECORRUPT, "%s: a line is no merge", name);
        VT_RET(vt_bpe_merge(&t->bpe, line, (size_t)(space - line), space + 1,
                            left - (size_t)(space - line) - 1, name));
    }
    return vt_bpe_finish(&t->bpe, name);
}

vitcl_status vt_read_vocab_json(vt_tokenizer *t, const char *folder,
                                const char *path)
{
    vt_file file = {0}, lines = {0};
    char *merges = NULL;
    vitcl_status st = VITCL_OK;

    if (t->class != &vt_class_clip && t->class != &vt_class_simple)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: only CLIPTokenizer reads it, and this is a %s",
                       path, t->class->name);
    VT_TRY(vt_format(&merges, "%s/merges.txt", folder));
    VT_TRY(vt_file_read(&file, path, FILE_MAX));
    VT_TRY(vt_file_read(&lines, merges, FILE_MAX));
    vt_sha256_add(&t->hash, file.data, file.size);
    vt_sha256_add(&t->hash, lines.data, lines.size);
    VT_TRY(read_vocab(t, (vt_stretch){(const char *)file.data, file.size},
                      false, (const char *)file.data, path));
    t->bpe = (vt_bpe){.vocab = &t->vocab};
    VT_TRY(class_bpe(t));
    VT_TRY(read_merge_lines(t, (const char *)lines.data, lines.size, merges));
    t->model = VT_MODEL_BPE;
    VT_TRY(vt_steps_class(t, NULL, path));
done:
    free(merges);
    vt_file_close(&file);
    vt_file_close(&lines);
    return st;
}
