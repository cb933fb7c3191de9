/*
 * fields.c - each function is a loop over the rows of a class.
 */
#include "models/fields.h"

#include "base/json_types.h"
#include "base/memory.h"
#include "models/config.h"

#include <string.h>

#define EACH(f, k)                                                             \
    for (const vt_field *f = (k) ? (k)->fields : NULL; f && f->key; f++)

bool vt_field_known(const char **only, const vt_keys *k, const vt_json *v)
{
    const char *key = vt_json_key(v);

    *only = NULL;
    EACH(f, k) {
        if (strcmp(f->key, key) == 0) {
            *only = f->kind == VT_IS_ONLY ? f->words : NULL;
            return true;
        }
    }
    if (k && k->none && vt_one_of(k->none, key))
        *only = "";
    return *only || (k && k->idle && vt_one_of(k->idle, key));
}

vitcl_status vt_fields_check(const vt_keys *k, const vt_json *o,
                             const char *path)
{
    static const int types[] = {
        [VT_IS_SIZE] = VT_JSON_COUNT,
        [VT_IS_COUNT] = VT_JSON_COUNT,
        [VT_IS_SIDES] = VT_JSON_COUNT | VT_JSON_LIST,
        [VT_IS_REAL] = VT_JSON_NUMBER,
        [VT_IS_FLAG] = VT_JSON_FLAG,
        [VT_IS_TEXT] = VT_JSON_TEXT,
        [VT_IS_WORD] = VT_JSON_TEXT,
        [VT_IS_ACT] = VT_JSON_TEXT,
        [VT_IS_SAME] = VT_JSON_FLAG,
        [VT_IS_SCALE] = VT_JSON_NUMBER,
        [VT_IS_ONLY] = 0, /* with the other keys */
    };

    EACH(f, k) {
        const vt_json_row row = {f->key, types[f->kind]};

        if (row.types)
            VT_RET(vt_json_types(o, &row, 1, "the config's", path));
    }
    return VITCL_OK;
}

static void *member(vt_config *c, const vt_field *f)
{
    return (char *)c + f->at;
}

static vitcl_status unsupported(const vt_field *f, const char *word,
                                const char *path)
{
    return vt_fail(VITCL_EUNSUPPORTED, "%s: %s \"%s\" is not supported", path,
                   f->key, word);
}

static vitcl_status read_text(vt_config *c, const vt_field *f, const char *word,
                              const char *path)
{
    if (f->kind == VT_IS_TEXT) {
        *(const char **)member(c, f) = word;
    } else if (f->kind == VT_IS_ACT) {
        if (word[0] && !vt_act_parse(member(c, f), word))
            return unsupported(f, word, path);
    } else {
        const int place = vt_word_place(f->words, word);

        if (place < 0)
            return unsupported(f, word, path);
        *(int *)member(c, f) = place;
    }
    return VITCL_OK;
}

vitcl_status vt_fields_read(vt_config *c, const vt_keys *k, const vt_json *o,
                            const char *path)
{
    const char *bad = NULL, *word = "";

    EACH(f, k) {
        const vt_json *v = vt_json_get(o, f->key);
        int *n = member(c, f);
        double d = 0;

        switch (f->kind) {
        case VT_IS_SIZE:
            vt_config_number(n, o, f->key, (int)f->high, &bad);
            break;
        case VT_IS_COUNT:
            if (f->usual >= 0)
                *n = f->usual;
            vt_config_count(n, o, f->key, (int)f->high, &bad);
            break;
        case VT_IS_SIDES:
            vt_config_pair(n, n + 1, o, f->key, &bad);
            break;
        case VT_IS_REAL:
            if (!vt_json_number(&d, v))
                break;
            if (!(d >= f->low && d <= f->high))
                bad = f->key;
            *(float *)member(c, f) = (float)d;
            break;
        case VT_IS_FLAG:
            if (f->usual >= 0)
                *(bool *)member(c, f) = f->usual;
            vt_json_bool(member(c, f), v);
            break;
        case VT_IS_TEXT:
        case VT_IS_WORD:
        case VT_IS_ACT:
            if (vt_json_string(&word, v))
                VT_RET(read_text(c, f, word, path));
            break;
        default:
            break;
        }
    }
    return bad ? vt_bad_number(path, bad) : VITCL_OK;
}

vitcl_status vt_fields_agree(const vt_config *c, const vt_keys *k,
                             const vt_json *o, const char *path)
{
    EACH(f, k) {
        const vt_json *v = vt_json_get(o, f->key);
        const int wide = c->heads ? c->width / c->heads : 0;
        bool said = f->usual > 0;
        uint64_t n = 0;
        double d;

        if (f->kind == VT_IS_HEAD && v &&
            (!vt_json_uint(&n, v) || n != (uint64_t)wide))
            return vt_fail(VITCL_EUNSUPPORTED,
                           "%s: the config's head_dim is supported only if it "
                           "is hidden_size / num_attention_heads, here %d",
                           path, wide);
        if (f->kind == VT_IS_SCALE && vt_json_number(&d, v))
            said = d > 0;
        vt_json_bool(&said, v);
        if ((f->kind == VT_IS_SAME || f->kind == VT_IS_SCALE) &&
            said != *(const bool *)((const char *)c + f->at))
            return vt_fail(VITCL_EUNSUPPORTED,
                           "%s: the config's %s does not belong to these "
                           "weights",
                           path, f->key);
    }
    return VITCL_OK;
}

void vt_put_sides(vt_json_writer *w, const char *key, int h, int w_px)
{
    if (h == w_px)
        vt_json_put(w, "\n  %s:%d", key, h);
    else
        vt_json_put(w, "\n  %s:[%d %d]", key, h, w_px);
}

int vt_mlp_ratio(const vt_config *c)
{
    if (!c->swiglu)
        return c->mlp % c->width ? 0 : c->mlp / c->width;
    for (int r = 1; r * 2 / 3 <= c->mlp / c->width + 1; r++)
        if ((c->width * r * 2 / 3 + 7) / 8 * 8 == c->mlp)
            return r;
    return 0;
}

void vt_fields_put(vt_json_writer *w, const vt_keys *k, const vt_config *model)
{
    vt_config c = *model;

    c.said =
        (vt_said){.registers = c.registers,
                  .projection = c.projection + c.classes,
                  .head = c.attn_pool,
                  .mean = c.pool == VT_POOL_MEAN,
                  .rows = c.pos_embed,
                  .tables = c.rel_pos && (!c.rel_pos_shared || c.rel_pos_both),
                  .shared = c.rel_pos_shared};
    EACH(f, k) {
        const int *n = member(&c, f);
        const bool *on = member(&c, f);

        switch (f->kind) {
        case VT_IS_SIZE:
        case VT_IS_COUNT:
            if (*n)
                vt_json_put(w, "\n  %s:%d", f->key, *n);
            break;
        case VT_IS_SIDES:
            vt_put_sides(w, f->key, n[0], n[1]);
            break;
        case VT_IS_REAL:
            vt_json_put(w, "\n  %s:", f->key);
            vt_json_put_float(w, *(const float *)member(&c, f));
            break;
        case VT_IS_FLAG:
        case VT_IS_SAME:
            vt_json_put(w, "\n  %s:%i", f->key, *on);
            break;
        case VT_IS_SCALE:
            vt_json_put(w, "\n  %s:%g", f->key, *on ? 0.1 : 0);
            break;
        case VT_IS_ACT:
            vt_json_put(w, "\n  %s:%s", f->key, vt_act_hf(c.act));
            break;
        case VT_IS_RATIO:
            vt_json_put(w, "\n  %s:%d", f->key, vt_mlp_ratio(&c));
            break;
        case VT_IS_FIXED:
            vt_json_put(w, "\n  %s:", f->key);
            fputs(f->words, vt_json_raw(w));
            break;
        default:
            break;
        }
    }
}
