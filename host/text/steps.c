/*
 * steps.c - the steps of a tokenizer.json that known models have; any other is
 * refused by its name.
 */
#include "base/log.h"
#include "text/token_keys.h"
#include "text/tokenizer.h"

#include <string.h>

#define NESTING 4 /* of Sequence */

static bool is(const vt_json *v, const char *key, const char *what)
{
    const char *s;

    return vt_json_string(&s, vt_json_get(v, key)) && strcmp(s, what) == 0;
}

static vitcl_status refuse(const vt_json *v, const char *kind, const char *name)
{
    const char *type = "?";

    vt_json_string(&type, vt_json_get(v, "type"));
    return vt_fail(VITCL_EUNSUPPORTED,
                   "%s: the %s \"%.40s\", or what it asks, "
                   "is not supported",
                   name, kind, type);
}

/* A standard base64 text. */
static vitcl_status decode64(vt_chars *out, const char *s, const char *name)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnop"
                                 "qrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    unsigned have = 0;

    for (; *s && *s != '='; s++) {
        const char *digit = strchr(digits, *s);
        char byte;

        if (!digit)
            return vt_fail(VITCL_ECORRUPT, "%s: the character map is damaged",
                           name);
        bits = bits << 6 | (uint32_t)(digit - digits);
        have += 6;
        if (have < 8)
            continue;
        have -= 8;
        byte = (char)(bits >> have & 0xff);
        VT_RET(vt_chars_add(out, &byte, 1));
    }
    return VITCL_OK;
}

static vitcl_status read_map(vt_steps *t, const vt_json *v, const char *name)
{
    vt_chars bytes = {0};
    const char *s = "";
    vitcl_status st = VITCL_OK;

    vt_json_string(&s, vt_json_get(v, "precompiled_charsmap"));
    if (t->map.count)
        return refuse(v, "second normalizer", name);
    VT_TRY(decode64(&bytes, s, name));
    VT_TRY(vt_charsmap_read(&t->map, bytes.s, bytes.n, name));
done:
    free(bytes.s);
    return st;
}

/* Replace: a text, or white space. */
static bool read_replace(vt_normalizer *to, const vt_json *v)
{
    const vt_json *pattern = vt_json_get(v, "pattern");
    const char *content, *s;

    if (!vt_json_string(&content, vt_json_get(v, "content")))
        return false;
    to->least = 1;
    if (vt_json_string(&s, vt_json_get(pattern, "String")) && *s &&
        strlen(s) <= VT_PIECE_MAX)
        to->kind = VT_CHANGE_REPLACE;
    else if (is(pattern, "Regex", "\\s+"))
        to->kind = VT_CHANGE_SPACES;
    else if (is(pattern, "Regex", " {2,}") || is(pattern, "Regex", " +"))
        to->kind = VT_CHANGE_BLANKS;
    else
        return false;
    if (is(pattern, "Regex", " {2,}"))
        to->least = 2;
    return true;
}

static vitcl_status read_normalizer(vt_steps *t, const vt_json *v, int depth,
                                    const char *name)
{
    static const char *const forms[] = {"NFC", "NFD", "NFKC", "NFKD"};
    vt_normalizer to = {.kind = VT_CHANGE_STRIP, .left = true, .right = true};
    const char *from = NULL, *made = NULL;
    bool known = false;

    if (!v || vt_json_is_null(v))
        return VITCL_OK;
    VT_RET(vt_token_keys_step(v, name));
    if (is(v, "type", "Sequence") && depth > 0) {
        for (const vt_json *m = vt_json_first(vt_json_get(v, "normalizers")); m;
             m = vt_json_next(m))
            VT_RET(read_normalizer(t, m, depth - 1, name));
        return VITCL_OK;
    }
    for (size_t i = 0; i < VT_COUNT(forms); i++)
        if (is(v, "type", forms[i])) {
            known = true;
            to.kind = VT_CHANGE_FORM;
            to.form = (vt_nf)i;
        }
    if (is(v, "type", "Lowercase")) {
        known = true;
        to.kind = VT_CHANGE_LOWER;
    } else if (is(v, "type", "Replace")) {
        known = read_replace(&to, v);
        vt_json_string(&from, vt_json_get(vt_json_get(v, "pattern"), "String"));
        vt_json_string(&made, vt_json_get(v, "content"));
    } else if (is(v, "type", "Strip")) {
        known = true;
        vt_json_bool(&to.left, vt_json_get(v, "strip_left"));
        vt_json_bool(&to.right, vt_json_get(v, "strip_right"));
    } else if (is(v, "type", "Prepend")) {
        known = vt_json_string(&made, vt_json_get(v, "prepend"));
        to.kind = VT_CHANGE_PREPEND;
    } else if (is(v, "type", "Precompiled")) {
        known = true;
        to.kind = VT_CHANGE_MAP;
        VT_RET(read_map(t, v, name));
    }
    if (!known || t->normalizer_count == VT_STEPS_MAX)
        return refuse(v, "normalizer", name);
    t->normalizers[t->normalizer_count] = to;
    if (from)
        VT_RET(vt_strdup(&t->normalizers[t->normalizer_count].from, from));
    if (made)
        VT_RET(vt_strdup(&t->normalizers[t->normalizer_count].to, made));
    t->normalizer_count++;
    return VITCL_OK;
}

/* Split at CLIP's pattern or at a space. */
static bool read_split(vt_splitter *to, const vt_json *v)
{
    const vt_json *pattern = vt_json_get(v, "pattern");
    bool invert = false;

    vt_json_bool(&invert, vt_json_get(v, "invert"));
    if (is(pattern, "Regex", vt_clip_pattern)) {
        to->kind = VT_PART_CLIP;
        to->split = true;
        return is(v, "behavior", "Removed") && invert;
    }
    if (is(pattern, "Regex", vt_clip_older)) {
        to->kind = VT_PART_CLIP;
        return is(v, "behavior", "Removed") && invert;
    }
    to->kind = VT_PART_BLANKS;
    return is(pattern, "String", " ") && !invert &&
           is(v, "behavior", "MergedWithPrevious");
}

static bool read_meta(vt_splitter *to, const vt_json *v)
{
    bool prefix = true;

    to->kind = VT_PART_META;
    to->split = true;
    vt_json_bool(&to->split, vt_json_get(v, "split"));
    if (vt_json_get(v, "prepend_scheme")) {
        to->prefix = !is(v, "prepend_scheme", "never");
        to->prefix_once = is(v, "prepend_scheme", "first");
    } else {
        vt_json_bool(&prefix, vt_json_get(v, "add_prefix_space"));
        to->prefix = prefix;
    }
    return is(v, "replacement", "\xe2\x96\x81");
}

static vitcl_status read_splitter(vt_steps *t, const vt_json *v, int depth,
                                  const char *name)
{
    vt_splitter to = {0};
    bool known = false;

    if (!v || vt_json_is_null(v))
        return VITCL_OK;
    VT_RET(vt_token_keys_step(v, name));
    if (is(v, "type", "Sequence") && depth > 0) {
        for (const vt_json *m = vt_json_first(vt_json_get(v, "pretokenizers"));
             m; m = vt_json_next(m))
            VT_RET(read_splitter(t, m, depth - 1, name));
        return VITCL_OK;
    }
    if (is(v, "type", "Split")) {
        known = read_split(&to, v);
    } else if (is(v, "type", "ByteLevel")) {
        known = true;
        to = (vt_splitter){VT_PART_BYTES, true, false, true};
        vt_json_bool(&to.prefix, vt_json_get(v, "add_prefix_space"));
        vt_json_bool(&to.split, vt_json_get(v, "use_regex"));
    } else if (is(v, "type", "WhitespaceSplit")) {
        known = true;
        to.kind = VT_PART_SPACES;
    } else if (is(v, "type", "Metaspace")) {
        known = read_meta(&to, v);
    }
    if (!known || t->splitter_count == VT_STEPS_MAX)
        return refuse(v, "pre-tokenizer", name);
    t->splitters[t->splitter_count++] = to;
    return VITCL_OK;
}

static bool add_special(vt_steps *t, const vt_json *v, bool after)
{
    uint64_t id;
    size_t *count = after ? &t->after_count : &t->before_count;

    if (!vt_json_uint(&id, v) || id >= VT_PIECES_MAX || *count == VT_STEPS_MAX)
        return false;
    (after ? t->after : t->before)[(*count)++] = (int32_t)id;
    return true;
}

/* TemplateProcessing: special tokens before and after the text. */
static bool read_template(vt_steps *t, const vt_json *v)
{
    const vt_json *tokens = vt_json_get(v, "special_tokens");
    bool after = false;

    for (const vt_json *m = vt_json_first(vt_json_get(v, "single")); m;
         m = vt_json_next(m)) {
        const vt_json *special = vt_json_get(m, "SpecialToken");
        const char *id = "";

        if (vt_json_get(m, "Sequence")) {
            after = true;
            continue;
        }
        vt_json_string(&id, vt_json_get(special, "id"));
        for (const vt_json *i =
                 vt_json_first(vt_json_get(vt_json_get(tokens, id), "ids"));
             special && i; i = vt_json_next(i))
            if (!add_special(t, i, after))
                return false;
    }
    return after;
}

static vitcl_status read_processor(vt_steps *t, const vt_json *v, int depth,
                                   const char *name)
{
    bool known = false;

    if (!v || vt_json_is_null(v))
        return VITCL_OK;
    VT_RET(vt_token_keys_step(v, name));
    if (is(v, "type", "ByteLevel"))
        return VITCL_OK;
    if (is(v, "type", "Sequence") && depth > 0) {
        for (const vt_json *m = vt_json_first(vt_json_get(v, "processors")); m;
             m = vt_json_next(m))
            VT_RET(read_processor(t, m, depth - 1, name));
        return VITCL_OK;
    }
    if (is(v, "type", "TemplateProcessing"))
        known = read_template(t, v);
    else if (is(v, "type", "RobertaProcessing") ||
             is(v, "type", "BertProcessing"))
        known = add_special(t, vt_json_at(vt_json_get(v, "cls"), 1), false) &&
                add_special(t, vt_json_at(vt_json_get(v, "sep"), 1), true);
    if (!known)
        return refuse(v, "post-processor", name);
    return VITCL_OK;
}

vitcl_status vt_steps_processor(vt_steps *s, const vt_json *v, const char *name)
{
    return read_processor(s, v, NESTING, name);
}

vitcl_status vt_steps_read(vt_steps *s, const vt_json *root, const char *name)
{
    VT_RET(read_normalizer(s, vt_json_get(root, "normalizer"), NESTING, name));
    VT_RET(read_splitter(s, vt_json_get(root, "pre_tokenizer"), NESTING, name));
    return vt_steps_processor(s, vt_json_get(root, "post_processor"), name);
}

/* ---- of a class ---- */

/* The first character map of a file, as transformers looks for it. */
static const vt_json *map_of(const vt_json *normalizer)
{
    if (is(normalizer, "type", "Precompiled"))
        return normalizer;
    if (!is(normalizer, "type", "Sequence"))
        return NULL;
    for (const vt_json *m =
             vt_json_first(vt_json_get(normalizer, "normalizers"));
         m; m = vt_json_next(m))
        if (is(m, "type", "Precompiled"))
            return m;
    return NULL;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same(const vt_steps *a, const vt_steps *b)
{
    if (a->normalizer_count != b->normalizer_count ||
        a->splitter_count != b->splitter_count)
        return false;
    for (size_t i = 0; i < a->normalizer_count; i++) {
        const vt_normalizer *x = &a->normalizers[i], *y = &b->normalizers[i];

        if (x->kind != y->kind || x->form != y->form || x->least != y->least ||
            x->left != y->left || x->right != y->right ||
            !same_text(x->from, y->from) || !same_text(x->to, y->to))
            return false;
    }
    for (size_t i = 0; i < a->splitter_count; i++) {
        const vt_splitter *x = &a->splitters[i], *y = &b->splitters[i];

        if (x->kind != y->kind || x->prefix != y->prefix ||
            x->prefix_once != y->prefix_once || x->split != y->split)
            return false;
    }
    return true;
}

/* Steps that are not understood are others, too. */
static void name_others(const vt_tokenizer *t, const vt_json *root,
                        const char *name)
{
    vt_steps file = {0};

    if (vt_steps_read(&file, root, name) != VITCL_OK || !same(&file, &t->steps))
        vt_log("tokenizer %s: its steps are not those of %s, which count", name,
               t->class->name);
    vt_steps_free(&file);
}

vitcl_status vt_steps_class(vt_tokenizer *t, const vt_json *root,
                            const char *name)
{
    const char *steps = t->class->steps;
    const vt_json *map = map_of(vt_json_get(root, "normalizer"));
    vt_json *own = NULL;
    vitcl_status st = VITCL_OK;

    VT_TRY(vt_json_parse(&own, steps, strlen(steps), NESTING + 8, name));
    if (t->class->map)
        VT_TRY(read_normalizer(&t->steps, map, 0, name));
    VT_TRY(vt_steps_read(&t->steps, own, name));
    if (t->class->prefix && !t->settings.prefix_space)
        for (size_t i = 0; i < t->steps.splitter_count; i++)
            t->steps.splitters[i].prefix = false;
    if (root && vt_logs())
        name_others(t, root, name);
done:
    vt_json_free(own);
    return st;
}

void vt_steps_free(vt_steps *s)
{
    for (size_t i = 0; i < VT_STEPS_MAX; i++) {
        free(s->normalizers[i].from);
        free(s->normalizers[i].to);
    }
    vt_charsmap_free(&s->map);
    *s = (vt_steps){0};
}
