/*
 * settings.c - tokenizer_config.json, special_tokens_map.json, config.json and
 * open_clip_config.json: which library's rules count, and its special tokens.
 */
#include "base/file.h"
#include "base/json_types.h"
#include "text/tokenizer.h"

#include <stdio.h>
#include <string.h>

#define CONFIG_MAX (16U << 20) /* added tokens can be many */
#define CONTEXT_MAX (1U << 20) /* larger: "no limit" */
#define DEPTH 32
#define TOKEN (VT_JSON_TEXT | VT_JSON_OBJECT)

static const vt_json_row class_types[] = {
    {"tokenizer_class", VT_JSON_TEXT},
    {"bos_token", TOKEN},
    {"eos_token", TOKEN},
    {"pad_token", TOKEN},
    {"unk_token", TOKEN},
    {"added_tokens_decoder", VT_JSON_OBJECT},
    {"add_bos_token", VT_JSON_FLAG},
    {"add_eos_token", VT_JSON_FLAG},
    {"do_lower_case", VT_JSON_FLAG},
    {"model_max_length", VT_JSON_NUMBER},
    {"padding_side", VT_JSON_TEXT},
    {"truncation_side", VT_JSON_TEXT},
};

static const vt_json_row open_clip_types[] = {
    {"context_length", VT_JSON_COUNT},
    {"hf_tokenizer_name", VT_JSON_TEXT},
    {"tokenizer_mode", VT_JSON_TEXT},
    {"tokenizer_kwargs", VT_JSON_OBJECT},
};

static vitcl_status check(const vt_json *o, const vt_json_row *rows, size_t n,
                          const char *path)
{
    return vt_json_types(o, rows, n, "the", path);
}

/* A JSON file of the folder: NULL if it has none. */
static vitcl_status load(vt_json **out, char **path, const char *folder,
                         const char *file)
{
    vitcl_status st = VITCL_OK;

    VT_TRY(vt_format(path, "%s/%s", folder, file));
    if (vt_path_exists(*path))
        st = vt_json_load(out, *path, CONFIG_MAX, DEPTH);
done:
    return st;
}

/* A token is a string, or an object that has it. The first file counts. */
static vitcl_status read_token(char **out, const vt_json *root, const char *key)
{
    const vt_json *v = vt_json_get(root, key);
    const char *s;

    if (*out || !(vt_json_string(&s, v) ||
                  vt_json_string(&s, vt_json_get(v, "content"))))
        return VITCL_OK;
    return vt_strdup(out, s);
}

static vitcl_status read_tokens(vt_token_settings *s, const vt_json *root)
{
    vitcl_status st = VITCL_OK;

    VT_TRY(read_token(&s->begin, root, "bos_token"));
    VT_TRY(read_token(&s->end, root, "eos_token"));
    VT_TRY(read_token(&s->pad, root, "pad_token"));
    VT_TRY(read_token(&s->unknown, root, "unk_token"));
done:
    return st;
}

static void read_flag(int *out, const vt_json *root, const char *key)
{
    bool b;

    if (vt_json_bool(&b, vt_json_get(root, key)))
        *out = b;
}

static bool is_class(const vt_token_settings *s, const char *name)
{
    return s->class_name && strcmp(s->class_name, name) == 0;
}

static vitcl_status read_class(vt_token_settings *s, const vt_json *root)
{
    const char *name;
    vitcl_status st = VITCL_OK;
    size_t n;

    if (!vt_json_string(&name, vt_json_get(root, "tokenizer_class")))
        return VITCL_OK;
    VT_TRY(vt_strdup(&s->class_name, name));
    n = strlen(name);
    if (n > 4 && strcmp(name + n - 4, "Fast") == 0)
        s->class_name[n - 4] = 0;
    s->clip = is_class(s, "CLIPTokenizer");
    s->siglip = is_class(s, "SiglipTokenizer");
done:
    return st;
}

/* added_tokens_decoder: the keys are ids. */
static vitcl_status read_added(vt_tokenizer *t, const vt_json *root,
                               const char *name)
{
    vitcl_status st = VITCL_OK;

    for (const vt_json *m =
             vt_json_first(vt_json_get(root, "added_tokens_decoder"));
         m; m = vt_json_next(m)) {
        const char *key = vt_json_key(m);
        uint64_t id = 0;

        for (; key && *key >= '0' && *key <= '9' && id < VT_PIECES_MAX; key++)
            id = id * 10 + (uint64_t)(*key - '0');
        if (!key || *key)
            id = VT_PIECES_MAX;
        VT_TRY(vt_added_read(t, m, id, name));
    }
done:
    return st;
}

static vitcl_status read_tokenizer_config(vt_tokenizer *t, const char *folder)
{
    vt_token_settings *s = &t->settings;
    vt_json *root = NULL;
    char *path = NULL;
    const char *side = NULL, *cut = "right";
    uint64_t context;
    vitcl_status st = VITCL_OK;

    s->add_begin = s->add_end = s->left = -1;
    s->lower = true;
    VT_TRY(load(&root, &path, folder, "tokenizer_config.json"));
    VT_TRY(check(root, class_types, VT_COUNT(class_types), path));
    if (root) {
        VT_TRY(read_class(s, root));
        VT_TRY(read_tokens(s, root));
        VT_TRY(read_added(t, root, path));
        read_flag(&s->add_begin, root, "add_bos_token");
        read_flag(&s->add_end, root, "add_eos_token");
        vt_json_bool(&s->lower, vt_json_get(root, "do_lower_case"));
        if (vt_json_uint(&context, vt_json_get(root, "model_max_length")) &&
            context <= CONTEXT_MAX)
            s->context = (uint32_t)context;
        vt_json_string(&side, vt_json_get(root, "padding_side"));
        vt_json_string(&cut, vt_json_get(root, "truncation_side"));
    }
    s->cut_left = strcmp(cut, "left") == 0;
    if (side)
        s->left = strcmp(side, "left") == 0;
    else if (is_class(s, "GemmaTokenizer") || is_class(s, "Siglip2Tokenizer"))
        s->left = true;
    vt_json_free(root);
    root = NULL;
    free(path);
    path = NULL;
    VT_TRY(load(&root, &path, folder, "special_tokens_map.json"));
    VT_TRY(check(root, class_types, VT_COUNT(class_types), path));
    VT_TRY(read_tokens(s, root));
done:
    vt_json_free(root);
    free(path);
    return st;
}

/* SigLIP 2 of any size: its own class makes texts lower case. */
static vitcl_status read_config(vt_tokenizer *t, const char *folder)
{
    vt_json *root = NULL;
    char *path = NULL;
    const char *type = "";
    vitcl_status st = VITCL_OK;

    VT_TRY(load(&root, &path, folder, "config.json"));
    vt_json_string(&type, vt_json_get(root, "model_type"));
    t->lower_pieces = strcmp(type, "siglip2") == 0 ||
                      is_class(&t->settings, "Siglip2Tokenizer");
done:
    vt_json_free(root);
    free(path);
    return st;
}

static vitcl_status read_clean(vt_tokenizer *t, const vt_json *text,
                               const char *name)
{
    static const char *const names[] = {
        [VT_CLEAN_WHITESPACE] = "whitespace",
        [VT_CLEAN_LOWER] = "lower",
        [VT_CLEAN_CANONICALIZE] = "canonicalize",
    };
    const vt_json *more = vt_json_get(text, "tokenizer_kwargs");
    const char *s, *mode;

    t->clean = t->simple ? VT_CLEAN_LOWER : VT_CLEAN_WHITESPACE;
    if (vt_json_string(&mode, vt_json_get(text, "tokenizer_mode")) && *mode)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: tokenizer_mode \"%.40s\" is not supported", name,
                       mode);
    for (const vt_json *m = vt_json_first(more); m; m = vt_json_next(m)) {
        size_t i = VT_CLEAN_WHITESPACE;

        if (strcmp(vt_json_key(m), "clean") == 0 && vt_json_string(&s, m)) {
            while (i < VT_COUNT(names) && strcmp(names[i], s) != 0)
                i++;
            t->clean = (vt_cleaning)i;
        } else {
            i = VT_COUNT(names);
        }
        if (i == VT_COUNT(names))
            return vt_fail(
                VITCL_EUNSUPPORTED,
                "%s: \"%.40s\" of tokenizer_kwargs, or its value, is "
                "not supported",
                name, vt_json_key(m));
    }
    return VITCL_OK;
}

/* *found: the folder is open_clip's. */
static vitcl_status read_open_clip(vt_tokenizer *t, bool *found,
                                   const char *folder)
{
    vt_json *root = NULL;
    char *path = NULL;
    const vt_json *text;
    const char *hf = "";
    uint64_t context = 77;
    vitcl_status st = VITCL_OK;

    VT_TRY(load(&root, &path, folder, "open_clip_config.json"));
    *found = root != NULL;
    if (!root)
        goto done;
    text = vt_json_get(vt_json_get(root, "model_cfg"), "text_cfg");
    VT_TRY(check(text, open_clip_types, VT_COUNT(open_clip_types), path));
    vt_json_uint(&context, vt_json_get(text, "context_length"));
    if (context == 0 || context > CONTEXT_MAX)
        st = vt_fail(VITCL_ECORRUPT, "%s: context_length is 0 or too large",
                     path);
    VT_TRY(st);
    t->context = (uint32_t)context;
    vt_json_string(&hf, vt_json_get(text, "hf_tokenizer_name"));
    t->simple = !*hf;
    VT_TRY(read_clean(t, text, path));
done:
    vt_json_free(root);
    free(path);
    return st;
}

vitcl_status vt_token_settings_read(vt_tokenizer *t, const char *folder,
                                    bool open_clip)
{
    vitcl_status st = VITCL_OK;

    VT_TRY(read_tokenizer_config(t, folder));
    if (open_clip)
        VT_TRY(read_open_clip(t, &open_clip, folder));
    if (!open_clip) {
        t->context = t->settings.context;
        VT_TRY(read_config(t, folder));
    }
    t->siglip = t->settings.siglip;
    t->left = t->settings.left == 1;
done:
    return st;
}

void vt_token_settings_free(vt_token_settings *s)
{
    free(s->class_name);
    free(s->begin);
    free(s->end);
    free(s->pad);
    free(s->unknown);
    *s = (vt_token_settings){0};
}
