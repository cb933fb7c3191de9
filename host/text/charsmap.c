/*
 * charsmap.c - walks darts-clone's units; every index is checked, because the
 * file says them.
 */
#include "text/charsmap.h"

#include <string.h>

enum {
    CLUSTER = 6,    /* bytes; a longer cluster is mapped by characters */
    TEXT_MAX = 4096 /* bytes that take a character's place */
};

vitcl_status vt_charsmap_read(vt_charsmap *out, const void *data, size_t size,
                              const char *name)
{
    const uint8_t *b = data;
    vt_charsmap m = {0};
    vitcl_status st = VITCL_OK;
    uint32_t trie;

    if (size == 0)
        return VITCL_OK;
    if (size < 4)
        goto damaged;
    trie = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
           (uint32_t)b[3] << 24;
    if (trie == 0 || trie % 4 || trie >= size - 4 || b[size - 1] != 0)
        goto damaged;
    m.count = trie / 4;
    m.size = size - 4 - trie;
    VT_TRY(VT_NEW(&m.units, m.count));
    VT_TRY(VT_NEW(&m.texts, m.size));
    for (size_t i = 0; i < m.count; i++)
        for (size_t k = 0; k < 4; k++)
            m.units[i] |= (uint32_t)b[4 + 4 * i + k] << 8 * k;
    memcpy(m.texts, b + 4 + trie, m.size);
    for (size_t at = 0; at < m.size; at += strlen(m.texts + at) + 1)
        if (strlen(m.texts + at) > TEXT_MAX)
            goto damaged;
    *out = m;
    return VITCL_OK;
damaged:
    st = vt_fail(VITCL_ECORRUPT, "%s: the character map is damaged", name);
done:
    vt_charsmap_free(&m);
    return st;
}

static size_t offset(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & (1U << 9)) >> 6);
}

const char *vt_charsmap_find(size_t *size, const vt_charsmap *m, const char *s,
                             size_t n, bool longest)
{
    const char *found = NULL;
    size_t place;

    if (m->count == 0)
        return NULL;
    place = offset(m->units[0]);
    for (size_t i = 0; i < n && s[i]; i++) {
        uint32_t unit;

        place ^= (unsigned char)s[i];
        if (place >= m->count)
            break;
        unit = m->units[place];
        if ((unit & 0x800000FFu) != (unsigned char)s[i])
            break;
        place ^= offset(unit);
        if (unit & 1U << 8) {
            const size_t text =
                place < m->count ? m->units[place] & 0x7FFFFFFFu : m->size;

            if (text >= m->size)
                break;
            found = m->texts + text;
            *size = i + 1;
            if (!longest)
                break;
        }
    }
    return found;
}

vitcl_status vt_charsmap_apply(vt_chars *c, const vt_charsmap *m)
{
    vt_chars out = {.most = c->most};
    vitcl_status st = VITCL_OK;

    for (size_t at = 0, cluster; at < c->n; at += cluster) {
        const char *s = c->s + at, *text;
        size_t size;

        cluster = vt_chars_cluster(s, c->n - at);
        if (cluster < CLUSTER &&
            (text = vt_charsmap_find(&size, m, s, cluster, false))) {
            VT_TRY(vt_chars_add(&out, text, strlen(text)));
            continue;
        }
        for (size_t k = 0, length; k < cluster; k += length) {
            vt_chars_code(&length, s + k, cluster - k);
            text = vt_charsmap_find(&size, m, s + k, length, false);
            VT_TRY(vt_chars_add(&out, text ? text : s + k,
                                text ? strlen(text) : length));
        }
    }
    vt_chars_move(c, &out);
done:
    free(out.s);
    return st;
}

void vt_charsmap_free(vt_charsmap *m)
{
    free(m->units);
    free(m->texts);
    *m = (vt_charsmap){0};
}
