/*
 * open_clip.c - what open_clip_config.json says of texts: whose tokenizer it
 * is, and what is done to a text before.
 */
#include "base/json_types.h"
#include "text/token_keys.h"
#include "text/tokenizer.h"

#include <string.h>

static const vt_json_row open_clip_types[] = {
    {"context_length", VT_JSON_COUNT},
    {"hf_tokenizer_name|tokenizer_mode", VT_JSON_TEXT},
    {"tokenizer_kwargs", VT_JSON_OBJECT},
};

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

    t->clean =
        t->class == &vt_class_simple ? VT_CLEAN_LOWER : VT_CLEAN_WHITESPACE;
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

vitcl_status vt_open_clip_settings(vt_tokenizer *t, bool *found,
                                   const char *folder)
{
    vt_json *root = NULL;
    char *path = NULL;
    const vt_json *text;
    const char *hf = "";
    uint64_t context = 77;
    vitcl_status st = VITCL_OK;

    VT_TRY(vt_token_file(&root, &path, folder, "open_clip_config.json"));
    *found = root != NULL;
    if (!root)
        goto done;
    text = vt_json_get(vt_json_get(root, "model_cfg"), "text_cfg");
    VT_TRY(vt_json_types(text, open_clip_types, VT_COUNT(open_clip_types),
                         "the", path));
    vt_json_uint(&context, vt_json_get(text, "context_length"));
    if (context == 0 || context > VT_CONTEXT_MAX)
        st = vt_fail(VITCL_ECORRUPT, "%s: context_length is 0 or too large",
                     path);
    VT_TRY(st);
    t->context = (uint32_t)context;
    vt_json_string(&hf, vt_json_get(text, "hf_tokenizer_name"));
    if (!*hf)
        t->class = &vt_class_simple;
    VT_TRY(read_clean(t, text, path));
done:
    vt_json_free(root);
    free(path);
    return st;
}
