/*
 * normalize.c - normalizers: each changes a text in place.
 */
#include "text/split.h"

#include <string.h>

static vitcl_status replace(vt_chars *c, const char *from, const char *to)
{
    const size_t size = strlen(from), made = strlen(to);
    vt_chars out = {.most = c->most};
    vitcl_status st = VITCL_OK;

    for (size_t i = 0; i < c->n;) {
        const bool here = c->n - i >= size && memcmp(c->s + i, from, size) == 0;

        VT_TRY(vt_chars_add(&out, here ? to : c->s + i, here ? made : 1));
        i += here ? size : 1;
    }
    vt_chars_move(c, &out);
done:
    free(out.s);
    return st;
}

static vitcl_status replace_spaces(vt_chars *c, const vt_normalizer *how)
{
    const bool blanks = how->kind == VT_CHANGE_BLANKS;
    vt_chars out = {.most = c->most};
    vitcl_status st = VITCL_OK;

    for (size_t at = 0, end, length, count; at < c->n; at = end) {
        count = 0;
        for (end = at; end < c->n; end += length, count++) {
            const uint32_t code =
                vt_chars_code(&length, c->s + end, c->n - end);

            if (blanks ? code != ' ' : !vt_is_space(code))
                break;
        }
        if (count >= how->least) {
            VT_TRY(vt_chars_add(&out, how->to, strlen(how->to)));
            continue;
        }
        if (end == at)
            end += length;
        VT_TRY(vt_chars_add(&out, c->s + at, end - at));
    }
    vt_chars_move(c, &out);
done:
    free(out.s);
    return st;
}

static void strip(vt_chars *c, bool left, bool right)
{
    size_t from = 0, end = c->n, length, solid = 0;

    for (size_t at = 0; at < c->n; at += length)
        if (!vt_is_space(vt_chars_code(&length, c->s + at, c->n - at)))
            solid = at + length;
    end = right ? solid : end;
    while (left && from < end &&
           vt_is_space(vt_chars_code(&length, c->s + from, end - from)))
        from += length;
    if (end > from)
        memmove(c->s, c->s + from, end - from);
    c->n = end - from;
}

static vitcl_status prepend(vt_chars *c, const char *s)
{
    vt_chars out = {.most = c->most};
    vitcl_status st = VITCL_OK;

    if (c->n == 0)
        return VITCL_OK;
    VT_TRY(vt_chars_add(&out, s, strlen(s)));
    VT_TRY(vt_chars_add(&out, c->s, c->n));
    vt_chars_move(c, &out);
done:
    free(out.s);
    return st;
}

vitcl_status vt_normalize(vt_chars *c, const vt_normalizer *how,
                          const vt_charsmap *map)
{
    switch (how->kind) {
    case VT_CHANGE_FORM:
        return vt_chars_normalise_older(c, how->form);
    case VT_CHANGE_LOWER:
        return vt_chars_lower(c, false);
    case VT_CHANGE_REPLACE:
        return replace(c, how->from, how->to);
    case VT_CHANGE_SPACES:
    case VT_CHANGE_BLANKS:
        return replace_spaces(c, how);
    case VT_CHANGE_STRIP:
        strip(c, how->left, how->right);
        break;
    case VT_CHANGE_PREPEND:
        return prepend(c, how->to);
    case VT_CHANGE_MAP:
        return vt_charsmap_apply(c, map);
    }
    return VITCL_OK;
}
