/*
 * added.c - added tokens: which there are, and by which text each is found.
 *
 * As tokenizers 0.23 adds them: of a token that is there already, what was said
 * last counts, but for special, which it stays.
 */
#include "text/added.h"

#include "base/json_types.h"
#include "base/words.h"
#include "text/tokenizer.h"

#include <string.h>

static const vt_json_row rows[] = {
    {"content|__type", VT_JSON_TEXT},
    {"lstrip|rstrip|single_word|normalized|special", VT_JSON_FLAG},
    {"id", VT_JSON_COUNT},
};

vitcl_status vt_token_list_add(vt_token_list *l, const vt_token *token,
                               const char *name)
{
    vt_token copy = *token;

    if (l->n >= VT_ADDED_MAX)
        return vt_fail(VITCL_EUNSUPPORTED, "%s: more than %d added tokens",
                       name, VT_ADDED_MAX);
    VT_RET(vt_grow(&l->list, &l->cap, l->n + 1, sizeof *l->list));
    VT_RET(vt_strdup(&copy.s, token->s));
    l->list[l->n++] = copy;
    return VITCL_OK;
}

const vt_token *vt_token_list_find(const vt_token_list *l, const char *s)
{
    for (size_t i = l->n; i-- > 0;)
        if (strcmp(l->list[i].s, s) == 0)
            return &l->list[i];
    return NULL;
}

void vt_token_list_free(vt_token_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->list[i].s);
    free(l->list);
    *l = (vt_token_list){0};
}

vitcl_status vt_token_read(vt_token *out, const vt_json *v, bool special,
                           const char *name)
{
    const char *s = NULL;
    bool normal;

    *out = (vt_token){.normal = -1, .special = special};
    if (vt_json_string(&s, v))
        return vt_strdup(&out->s, s);
    for (const vt_json *m = vt_json_first(v); m; m = vt_json_next(m)) {
        size_t i = 0;

        while (i < VT_COUNT(rows) && !vt_one_of(rows[i].keys, vt_json_key(m)))
            i++;
        if (i == VT_COUNT(rows))
            return vt_fail(VITCL_EUNSUPPORTED,
                           "%s: an added token has \"%.40s\", which is unknown",
                           name, vt_json_key(m));
    }
    VT_RET(vt_json_types(v, rows, VT_COUNT(rows), "an added token's", name));
    if (!vt_json_string(&s, vt_json_get(v, "content")))
        return vt_fail(VITCL_ECORRUPT, "%s: an added token is damaged", name);
    vt_json_bool(&out->left, vt_json_get(v, "lstrip"));
    vt_json_bool(&out->right, vt_json_get(v, "rstrip"));
    vt_json_bool(&out->single, vt_json_get(v, "single_word"));
    if (!special)
        vt_json_bool(&out->special, vt_json_get(v, "special"));
    if (vt_json_bool(&normal, vt_json_get(v, "normalized")))
        out->normal = normal;
    out->whole = true;
    return vt_strdup(&out->s, s);
}

/* The id of what is not in the vocabulary: behind all others or, as
 * SentencePiece's classes have it, their number. */
static int64_t next_id(const vt_tokenizer *t)
{
    const int64_t count = (int64_t)vt_token_vocab(t)->count;
    int64_t last = -1, more = 0;

    for (size_t i = 0; i < t->added.all.n; i++) {
        last = VT_MAX(last, t->added.all.list[i].id);
        more += t->added.all.list[i].id >= count;
    }
    return t->model == VT_MODEL_SPM ? count + more : VT_MAX(last + 1, count);
}

static void update(vt_token *old, const vt_token *token)
{
    old->left = token->left;
    old->right = token->right;
    old->single = token->single;
    old->special |= token->special;
    old->normal = token->normal;
}

vitcl_status vt_added_add(vt_tokenizer *t, const vt_token *token,
                          const char *name)
{
    vt_added *a = &t->added;
    vt_token add = *token;
    const size_t n = strlen(token->s);
    int32_t at = vt_vocab_find(&a->names, token->s, n);
    int64_t id;

    if (n == 0)
        return VITCL_OK;
    if (add.normal < 0)
        add.normal = !add.special;
    if (at < 0) {
        id = add.id >= 0 ? add.id
                         : vt_vocab_find(vt_token_vocab(t), token->s, n);
        id = id >= 0 ? id : next_id(t);
        if (id >= VT_PIECES_MAX)
            return vt_fail(VITCL_ECORRUPT, "%s: an added token is damaged",
                           name);
        add.id = (int32_t)id;
        at = (int32_t)a->all.n;
        VT_RET(vt_vocab_add(&a->names, token->s, n, a->all.n, name));
        VT_RET(vt_token_list_add(&a->all, &add, name));
    }
    update(&a->all.list[at], &add);
    return VITCL_OK;
}

/* The text by which a token is found: two may have the same, and the first
 * counts. */
static vitcl_status find_by(vt_tokenizer *t, size_t number, size_t *room,
                            const char *name)
{
    const vt_token *token = &t->added.all.list[number];
    vt_vocab *v = token->normal ? &t->added.normal : &t->added.raw;
    vt_chars c = {0};
    vitcl_status st = VITCL_OK;

    VT_TRY(vt_chars_add(&c, token->s, strlen(token->s)));
    if (token->normal)
        st = vt_tokenizer_normalize(&c, t, room);
    if (st != VITCL_OK)
        VT_TRY(vt_fail_in(st, "%s: an added token", name));
    if (c.n && vt_vocab_find(v, c.s, c.n) < 0)
        VT_TRY(vt_vocab_add(v, c.s, c.n, number, name));
done:
    free(c.s);
    return st;
}

vitcl_status vt_added_finish(vt_tokenizer *t, const char *name)
{
    size_t room = 0;

    for (size_t i = 0; i < t->added.all.n; i++)
        room += strlen(t->added.all.list[i].s);
    room = vt_text_room(room);
    for (int special = 1; special >= 0; special--)
        for (size_t i = 0; i < t->added.all.n; i++)
            if (t->added.all.list[i].special == special)
                VT_RET(find_by(t, i, &room, name));
    return VITCL_OK;
}

void vt_added_free(vt_added *a)
{
    vt_token_list_free(&a->all);
    vt_vocab_free(&a->names);
    vt_vocab_free(&a->raw);
    vt_vocab_free(&a->normal);
}

const vt_vocab *vt_token_vocab(const vt_tokenizer *t)
{
    return t->model == VT_MODEL_SPM ? &t->spm.vocab : &t->vocab;
}

int32_t vt_token_id(const vt_tokenizer *t, const char *s)
{
    int32_t at;

    if (!s)
        return -1;
    at = vt_vocab_find(&t->added.names, s, strlen(s));
    return at >= 0 ? t->added.all.list[at].id
                   : vt_vocab_find(vt_token_vocab(t), s, strlen(s));
}
