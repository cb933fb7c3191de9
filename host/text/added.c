/*
 * added.c - added tokens: which there are, and by which text each is found.
 */
#include "text/tokenizer.h"

#include <string.h>

vitcl_status vt_added_add(vt_tokenizer *t, const char *s, int32_t id,
                          struct vt_added_token flags, const char *name)
{
    vt_added *a = &t->added;
    vitcl_status st = VITCL_OK;

    if (!*s)
        return VITCL_OK;
    for (size_t i = 0; i < a->n; i++)
        if (a->list[i].id == id && strcmp(a->list[i].s, s) == 0)
            return VITCL_OK;
    if (a->n >= VT_ADDED_MAX)
        return vt_fail(VITCL_EUNSUPPORTED, "%s: more than %d added tokens",
                       name, VT_ADDED_MAX);
    VT_TRY(vt_grow(&a->list, &a->cap, a->n + 1, sizeof *a->list));
    VT_TRY(vt_strdup(&flags.s, s));
    flags.id = id;
    a->list[a->n++] = flags;
done:
    return st;
}

vitcl_status vt_added_read(vt_tokenizer *t, const vt_json *v, uint64_t id,
                           const char *name)
{
    struct vt_added_token flags = {.normal = true};
    const char *s;

    if (!vt_json_string(&s, vt_json_get(v, "content")) || id >= VT_PIECES_MAX)
        return vt_fail(VITCL_ECORRUPT, "%s: an added token is damaged", name);
    vt_json_bool(&flags.left, vt_json_get(v, "lstrip"));
    vt_json_bool(&flags.right, vt_json_get(v, "rstrip"));
    vt_json_bool(&flags.single, vt_json_get(v, "single_word"));
    vt_json_bool(&flags.normal, vt_json_get(v, "normalized"));
    return vt_added_add(t, s, (int32_t)id, flags, name);
}

vitcl_status vt_added_finish(vt_tokenizer *t, const char *name)
{
    vt_added *a = &t->added;
    vt_chars c = {0};
    vitcl_status st = VITCL_OK;

    for (size_t i = 0; i < a->n; i++) {
        vt_vocab *v = a->list[i].normal ? &a->normal : &a->raw;

        c.n = 0;
        VT_TRY(vt_chars_add(&c, a->list[i].s, strlen(a->list[i].s)));
        if (a->list[i].normal)
            for (size_t k = 0; k < t->normalizer_count; k++)
                VT_TRY(vt_normalize(&c, &t->normalizers[k], &t->map));
        if (c.n && vt_vocab_find(v, c.s, c.n) < 0)
            VT_TRY(vt_vocab_add(v, c.s, c.n, i, name));
    }
done:
    free(c.s);
    return st;
}

void vt_added_free(vt_added *a)
{
    for (size_t i = 0; i < a->n; i++)
        free(a->list[i].s);
    free(a->list);
    vt_vocab_free(&a->raw);
    vt_vocab_free(&a->normal);
    *a = (vt_added){0};
}

int32_t vt_token_id(const vt_tokenizer *t, const char *s)
{
    if (!s)
        return -1;
    for (size_t i = 0; i < t->added.n; i++)
        if (strcmp(t->added.list[i].s, s) == 0)
            return t->added.list[i].id;
    return vt_vocab_find(t->model == VT_MODEL_SPM ? &t->spm.vocab : &t->vocab,
                         s, strlen(s));
}
