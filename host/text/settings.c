/*
 * settings.c - tokenizer_config.json, special_tokens_map.json,
 * added_tokens.json and config.json: the class and its arguments.
 *
 * As _from_pretrained() of transformers reads them: special_tokens_map.json
 * and added_tokens.json count only where tokenizer_config.json has no
 * added_tokens_decoder, and then the former comes first.
 */
#include "base/file.h"
#include "text/token_keys.h"
#include "text/tokenizer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const named[VT_NAMED] = {
    "bos_token", "eos_token", "unk_token",  "sep_token",
    "pad_token", "cls_token", "mask_token",
};

typedef struct files {
    vt_json *config, *map, *added, *model;
    char *path[4];
} files;

static vitcl_status load_all(files *f, const char *folder)
{
    VT_RET(vt_token_file(&f->config, &f->path[0], folder,
                         "tokenizer_config.json"));
    VT_RET(
        vt_token_file(&f->map, &f->path[1], folder, "special_tokens_map.json"));
    VT_RET(vt_token_file(&f->added, &f->path[2], folder, "added_tokens.json"));
    VT_RET(vt_token_file(&f->model, &f->path[3], folder, "config.json"));
    VT_RET(vt_token_keys_config(f->config, false, f->path[0]));
    if (vt_json_get(f->config, "added_tokens_decoder")) {
        vt_json_free(f->map);
        vt_json_free(f->added);
        f->map = f->added = NULL;
    }
    VT_RET(vt_token_keys_config(f->map, true, f->path[1]));
    if (f->added && !vt_json_is_object(f->added))
        return vt_fail(VITCL_ECORRUPT, "%s: the file is not an object",
                       f->path[2]);
    return VITCL_OK;
}

static void free_all(files *f)
{
    vt_json_free(f->config);
    vt_json_free(f->map);
    vt_json_free(f->added);
    vt_json_free(f->model);
    for (size_t i = 0; i < VT_COUNT(f->path); i++)
        free(f->path[i]);
}

static const vt_json *value(const files *f, const char *key)
{
    const vt_json *v = vt_json_get(f->map, key);

    return v ? v : vt_json_get(f->config, key);
}

/* What is not true is false: also null. */
static bool flag(const files *f, const char *key, bool otherwise)
{
    const vt_json *v = value(f, key);
    bool b = false;

    if (!v)
        return otherwise;
    vt_json_bool(&b, v);
    return b;
}

static void read_flag(int *out, const vt_json *root, const char *key)
{
    bool b;

    if (vt_json_bool(&b, vt_json_get(root, key)))
        *out = b;
}

static vitcl_status read_class(vt_tokenizer *t, const files *f)
{
    const vt_json *map = vt_json_get(f->config, "auto_map");
    const vt_json *code = vt_json_get(map, "AutoTokenizer");
    const char *written = NULL, *config = NULL, *type = NULL;

    if (vt_json_count(vt_json_is_array(map) ? map : NULL) ||
        (code && !vt_json_is_null(code)))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: auto_map asks for code of its own, which is not "
                       "run",
                       f->path[0]);
    vt_json_string(&written, vt_json_get(f->config, "tokenizer_class"));
    vt_json_string(&config, vt_json_get(f->model, "tokenizer_class"));
    vt_json_string(&type, vt_json_get(f->model, "model_type"));
    return vt_token_class_choose(&t->class, written, config, type,
                                 f->path[written ? 0 : 3]);
}

/* A special token is a string, or an object of the type AddedToken; one of
 * special_tokens_map.json has no type. */
static vitcl_status read_special(vt_token *out, const vt_json *v, bool map,
                                 const char *name)
{
    const char *type = "", *s;

    vt_json_string(&type, vt_json_get(v, "__type"));
    if (!vt_json_string(&s, v) &&
        (!vt_json_is_object(v) || (strcmp(type, "AddedToken") == 0) == map))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: a special token is neither a string nor an "
                       "AddedToken",
                       name);
    return vt_token_read(out, v, map || vt_json_string(&s, v), name);
}

static vitcl_status add_special(vt_token_list *l, const vt_json *v, bool map,
                                const char *name)
{
    vt_token token = {0};
    vitcl_status st = VITCL_OK;

    VT_TRY(read_special(&token, v, map, name));
    VT_TRY(vt_token_list_add(l, &token, name));
done:
    free(token.s);
    return st;
}

static vitcl_status read_named(vt_token_settings *s, const files *f,
                               const vt_token_class *class)
{
    for (size_t i = 0; i < VT_NAMED; i++) {
        const vt_json *v = value(f, named[i]);
        const bool map = vt_json_get(f->map, named[i]) != NULL;

        if (v && !vt_json_is_null(v))
            VT_RET(read_special(&s->named[i], v, map, f->path[map]));
        else if (!v && class->named[i])
            VT_RET(vt_strdup(&s->named[i].s, class->named[i]));
        if (s->named[i].s && !s->named[i].whole) {
            s->named[i].special = true;
            s->named[i].normal = 0;
        }
    }
    return VITCL_OK;
}

static bool is_specific(const char *key)
{
    const size_t n = strlen(key);

    for (size_t i = 0; i < VT_NAMED; i++)
        if (strcmp(named[i], key) == 0)
            return false;
    return n > 6 && strcmp(key + n - 6, "_token") == 0 &&
           strcmp(key, "add_bos_token") != 0 &&
           strcmp(key, "add_eos_token") != 0;
}

/* Has extra_special_tokens, an object, a token of this name? It counts. */
static bool is_extra(const vt_json *root, const char *key)
{
    const vt_json *v = vt_json_get(root, "extra_special_tokens");

    return vt_json_is_object(v) && vt_json_get(v, key);
}

/* Such as "image_token": "<image>"; strings, or objects. */
static vitcl_status read_specific(vt_token_settings *s, const files *f,
                                  bool strings, bool map)
{
    const char *text;

    for (const vt_json *v = vt_json_first(map ? f->map : f->config); v;
         v = vt_json_next(v)) {
        const char *key = vt_json_key(v);
        const vt_json *other = vt_json_get(map ? f->config : f->map, key);
        /* the string of the config, else what the map has */
        const bool counts = (!other || (map ? !vt_json_string(&text, other)
                                            : vt_json_string(&text, v))) &&
                            !is_extra(f->config, key) && !is_extra(f->map, key);

        if (counts && is_specific(key) &&
            (strings ? vt_json_string(&text, v) : vt_json_is_object(v)))
            VT_RET(add_special(&s->specific, v, map, f->path[map]));
    }
    return VITCL_OK;
}

/* In the order in which transformers adds them. */
static vitcl_status read_all_specific(vt_token_settings *s, const files *f)
{
    VT_RET(read_specific(s, f, false, false));
    VT_RET(read_specific(s, f, false, true));
    VT_RET(read_specific(s, f, true, true));
    return read_specific(s, f, true, false);
}

static vitcl_status read_list(vt_token_list *l, const vt_json *v, bool map,
                              const char *name)
{
    for (const vt_json *m = vt_json_first(v); m; m = vt_json_next(m))
        VT_RET(add_special(l, m, map, name));
    return VITCL_OK;
}

/* extra_special_tokens: a list, or an object of tokens with names. */
static vitcl_status read_extra(vt_token_settings *s, const files *f)
{
    static const char extra[] = "extra_special_tokens",
                      older[] = "additional_special_tokens";
    const vt_json *v = vt_json_get(f->config, extra);
    const vt_json *old = vt_json_get(f->config, older);

    s->extra_given = v || old;
    if (old && vt_json_count(v) == 0)
        v = old;
    VT_RET(read_list(vt_json_is_object(v) ? &s->specific : &s->extra, v, false,
                     f->path[0]));
    v = vt_json_get(f->map, extra);
    old = vt_json_get(f->map, older);
    if (v && !vt_json_is_array(v))
        vt_token_list_free(&s->extra);
    if (v)
        VT_RET(read_list(vt_json_is_object(v) ? &s->specific : &s->extra, v,
                         vt_json_is_array(v), f->path[1]));
    else if (!s->extra_given)
        VT_RET(read_list(&s->extra, old, false, f->path[1]));
    s->extra_given |= v != NULL;
    return VITCL_OK;
}

/* A named token is as the files of added tokens have it, even where another
 * one has taken its number there. */
static void keep_named(vt_token_settings *s, const vt_token *lost)
{
    for (size_t i = 0; i < VT_NAMED; i++) {
        char *own = s->named[i].s;

        if (!own || strcmp(own, lost->s) != 0)
            continue;
        s->named[i] = *lost;
        s->named[i].s = own;
        s->named[i].whole = true;
        if (lost->normal < 0)
            s->named[i].normal = !lost->special;
    }
}

/* Takes the place of another with the same number. */
static vitcl_status set_added(vt_token_settings *s, const vt_token *token,
                              const char *name)
{
    vt_token_list *l = &s->added;
    size_t at = l->n;
    vt_token last;

    while (at > 0 && l->list[at - 1].id > token->id)
        at--;
    VT_RET(vt_token_list_add(l, token, name));
    last = l->list[l->n - 1];
    if (at > 0 && l->list[at - 1].id == token->id) {
        keep_named(s, &l->list[at - 1]);
        free(l->list[at - 1].s);
        l->list[at - 1] = last;
        l->n--;
    } else {
        memmove(l->list + at + 1, l->list + at,
                (l->n - 1 - at) * sizeof *l->list);
        l->list[at] = last;
    }
    return VITCL_OK;
}

vitcl_status vt_token_settings_put(vt_token_settings *s, const vt_json *v,
                                   uint64_t id, const char *name)
{
    vt_token token = {0};
    vitcl_status st = VITCL_OK;

    if (id >= VT_PIECES_MAX || !vt_json_is_object(v))
        return vt_fail(VITCL_ECORRUPT, "%s: an added token is damaged", name);
    VT_TRY(vt_token_read(&token, v, false, name));
    token.id = (int32_t)id;
    VT_TRY(set_added(s, &token, name));
done:
    free(token.s);
    return st;
}

/* added_tokens_decoder: the keys are numbers. */
static vitcl_status read_decoder(vt_token_settings *s, const vt_json *decoder,
                                 const char *name)
{
    for (const vt_json *m = vt_json_first(decoder); m; m = vt_json_next(m)) {
        const char *key = vt_json_key(m);
        uint64_t id = 0;

        for (; key && *key >= '0' && *key <= '9' && id < VT_PIECES_MAX; key++)
            id = id * 10 + (uint64_t)(*key - '0');
        if (!key || *key)
            id = VT_PIECES_MAX;
        VT_RET(vt_token_settings_put(s, m, id, name));
    }
    return VITCL_OK;
}

static bool is_special(const vt_token_settings *s, const char *text)
{
    for (size_t i = 0; i < VT_NAMED; i++)
        if (s->named[i].s && strcmp(s->named[i].s, text) == 0)
            return true;
    return vt_token_list_find(&s->specific, text) ||
           vt_token_list_find(&s->extra, text);
}

/* added_tokens.json: numbers by text. */
static vitcl_status read_added(vt_token_settings *s, const vt_json *root,
                               const char *name)
{
    uint64_t id;

    for (const vt_json *m = vt_json_first(root); m; m = vt_json_next(m)) {
        vt_token token = {.s = (char *)(uintptr_t)vt_json_key(m)};

        if (!vt_json_uint(&id, m) || id >= VT_PIECES_MAX)
            return vt_fail(VITCL_ECORRUPT,
                           "%s: the number of an added token is damaged", name);
        token.id = (int32_t)id;
        token.special = is_special(s, token.s);
        token.normal = !token.special;
        VT_RET(set_added(s, &token, name));
    }
    return VITCL_OK;
}

static vitcl_status read_context(vt_token_settings *s, const files *f,
                                 const vt_token_class *class)
{
    const vt_json *v = value(f, "model_max_length");
    double n;

    v = v ? v : value(f, "max_len");
    s->context = v ? 0 : class->context;
    if (!vt_json_number(&n, v) || n > VT_CONTEXT_MAX)
        return VITCL_OK;
    if (!(n >= 1) || floor(n) < n)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: model_max_length is %g, not a number of tokens",
                       f->path[0], n);
    s->context = (uint32_t)n;
    return VITCL_OK;
}

/* Does the model get the attention mask? */
static vitcl_status read_inputs(vt_tokenizer *t, const files *f)
{
    const vt_json *v = value(f, "model_input_names");
    const char *s;

    t->mask = !vt_json_is_array(v);
    for (const vt_json *m = vt_json_first(v); m; m = vt_json_next(m)) {
        if (!vt_json_string(&s, m))
            return vt_fail(VITCL_ECORRUPT,
                           "%s: model_input_names has what is not a string",
                           f->path[0]);
        t->mask |= strcmp(s, "attention_mask") == 0;
    }
    if (v && !vt_json_is_null(v) &&
        (!vt_json_string(&s, vt_json_at(v, 0)) || strcmp(s, "input_ids") != 0))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: model_input_names does not begin with input_ids",
                       f->path[0]);
    return VITCL_OK;
}

/* T5Tokenizer's, unless there are other extra tokens; those of
 * special_tokens_map.json may be these. */
static vitcl_status read_extra_ids(vt_token_settings *s, const files *f,
                                   const vt_token_class *class)
{
    uint64_t n = class->extra_ids, have = 0;

    vt_json_uint(&n, value(f, "extra_ids"));
    for (size_t i = 0; i < s->extra.n; i++)
        have += strstr(s->extra.list[i].s, "<extra_id_") != NULL;
    if (!class->extra_ids || s->extra_given)
        n = 0;
    else if (n > VT_ADDED_MAX || (have && n && n != have))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: extra_ids is not the number of <extra_id_0> and "
                       "so on",
                       f->path[0]);
    s->extra_ids = have ? 0 : (uint32_t)n;
    return VITCL_OK;
}

static void read_sides(vt_token_settings *s, const files *f)
{
    const char *side;

    s->left = s->cut_left = -1;
    if (vt_json_string(&side, value(f, "padding_side")))
        s->left = strcmp(side, "left") == 0;
    if (vt_json_string(&side, value(f, "truncation_side")))
        s->cut_left = strcmp(side, "left") == 0;
}

static vitcl_status read_hf(vt_tokenizer *t, const char *folder)
{
    vt_token_settings *s = &t->settings;
    files f = {0};
    vitcl_status st = VITCL_OK;

    VT_TRY(load_all(&f, folder));
    VT_TRY(read_class(t, &f));
    VT_TRY(read_named(s, &f, t->class));
    VT_TRY(read_all_specific(s, &f));
    VT_TRY(read_extra(s, &f));
    s->decoder = vt_json_get(f.config, "added_tokens_decoder") != NULL;
    VT_TRY(read_decoder(s, vt_json_get(f.config, "added_tokens_decoder"),
                        f.path[0]));
    VT_TRY(read_added(s, f.added, f.path[2]));
    VT_TRY(read_context(s, &f, t->class));
    VT_TRY(read_inputs(t, &f));
    read_sides(s, &f);
    read_flag(&s->add_begin, f.config, "add_bos_token");
    read_flag(&s->add_end, f.config, "add_eos_token");
    s->lower = flag(&f, "do_lower_case", true);
    s->dummy_prefix = flag(&f, "legacy", true);
    s->prefix_space = flag(&f, "add_prefix_space", true);
    t->split_special = flag(&f, "split_special_tokens", false);
    VT_TRY(read_extra_ids(s, &f, t->class));
done:
    free_all(&f);
    return st;
}

vitcl_status vt_token_settings_read(vt_tokenizer *t, const char *folder,
                                    bool open_clip)
{
    t->settings.add_begin = t->settings.add_end = -1;
    if (open_clip)
        VT_RET(vt_open_clip_settings(t, &open_clip, folder));
    if (t->class != &vt_class_simple)
        VT_RET(read_hf(t, folder));
    if (open_clip)
        t->mask = false; /* it takes the ids alone */
    else
        t->context = t->settings.context;
    return VITCL_OK;
}

void vt_token_settings_free(vt_token_settings *s)
{
    for (size_t i = 0; i < VT_NAMED; i++)
        free(s->named[i].s);
    vt_token_list_free(&s->specific);
    vt_token_list_free(&s->extra);
    vt_token_list_free(&s->added);
    *s = (vt_token_settings){0};
}
