/*
 * vocab.c - a hash table with linear probing.
 */
#include "text/vocab.h"

#include "base/stop.h"

#include <string.h>

#define BASIS 0xcbf29ce484222325u
#define PROBES                                                                 \
    2000 /* of good hashes, a few; a file could be made of bad ones */

/* FNV-1a, whose high bits are good. */
static uint64_t hash_byte(uint64_t hash, char c)
{
    return (hash ^ (unsigned char)c) * 0x100000001b3u;
}

static size_t slot_of(const vt_vocab *v, uint64_t hash)
{
    hash ^= hash >> 32;
    return (size_t)(hash * 0x9e3779b97f4a7c15u >> 20) & (v->slots - 1);
}

static uint64_t hash_of(const char *s, size_t n)
{
    uint64_t hash = BASIS;

    for (size_t i = 0; i < n; i++)
        hash = hash_byte(hash, s[i]);
    return hash;
}

/* The slot that has the piece, or the empty one where it would be. */
static size_t look(const vt_vocab *v, uint64_t hash, const char *s, size_t n,
                   size_t *probes)
{
    size_t slot = slot_of(v, hash);

    for (; v->table[slot]; slot = (slot + 1) & (v->slots - 1), ++*probes) {
        const struct vt_piece *p = &v->pieces[v->table[slot] - 1];

        if (p->size == n && memcmp(v->bytes.s + p->at, s, n) == 0)
            break;
    }
    return slot;
}

vitcl_status vt_vocab_reserve(vt_vocab *v, size_t count)
{
    size_t slots = 64;
    uint32_t *table = NULL;

    count = VT_MIN(count, VT_PIECES_MAX);
    while (slots < count * 2)
        slots *= 2;
    if (slots <= v->slots)
        return VITCL_OK;
    VT_RET(VT_NEW(&table, slots));
    free(v->table);
    v->table = table;
    v->slots = slots;
    for (size_t i = 0; i < v->count; i++) {
        const struct vt_piece *p = &v->pieces[i];
        const char *s = v->bytes.s + p->at;
        size_t probes = 0;

        table[look(v, hash_of(s, p->size), s, p->size, &probes)] =
            (uint32_t)i + 1;
    }
    return VITCL_OK;
}

void vt_vocab_note(vt_vocab *v, const struct vt_piece *p)
{
    uint16_t *reach = &v->reach[(unsigned char)v->bytes.s[p->at]];

    v->longest = VT_MAX(v->longest, p->size);
    v->last = VT_MAX(v->last, p->id);
    *reach = VT_MAX(*reach, (uint16_t)p->size);
    v->sizes[p->size / 64] |= (uint64_t)1 << p->size % 64;
}

vitcl_status vt_vocab_add(vt_vocab *v, const char *s, size_t n, uint64_t id,
                          const char *name)
{
    size_t slot, probes = 0;

    VT_RET(vt_stop_look());
    if (id >= VT_PIECES_MAX || v->count >= VT_PIECES_MAX)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: a vocabulary of more than %d pieces", name,
                       VT_PIECES_MAX);
    if (n == 0 || n > VT_PIECE_MAX)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: a piece of the vocabulary has %zu bytes, not 1 to "
                       "%d",
                       name, n, VT_PIECE_MAX);
    if (v->slots < (v->count + 1) * 2)
        VT_RET(vt_vocab_reserve(v, VT_MAX(v->count * 2, 32)));
    slot = look(v, hash_of(s, n), s, n, &probes);
    if (v->table[slot])
        return vt_fail(VITCL_ECORRUPT,
                       "%s: two pieces of the vocabulary are the same", name);
    if (probes > PROBES)
        return vt_fail(VITCL_ECORRUPT, "%s: not the vocabulary of a language",
                       name);
    VT_RET(vt_grow(&v->pieces, &v->cap, v->count + 1, sizeof *v->pieces));
    if (v->bytes.n > UINT32_MAX - n)
        return vt_fail(VITCL_EUNSUPPORTED, "%s: a vocabulary of over 4 GB",
                       name);
    v->pieces[v->count] =
        (struct vt_piece){(uint32_t)v->bytes.n, (uint32_t)n, (int32_t)id};
    VT_RET(vt_chars_add(&v->bytes, s, n));
    vt_vocab_note(v, &v->pieces[v->count]);
    v->table[slot] = (uint32_t)++v->count;
    return VITCL_OK;
}

static int32_t at_hash(const vt_vocab *v, uint64_t hash, const char *s,
                       size_t n)
{
    size_t slot, probes = 0;

    if (v->slots == 0)
        return -1;
    slot = look(v, hash, s, n, &probes);
    return v->table[slot] ? v->pieces[v->table[slot] - 1].id : -1;
}

static bool has_size(const vt_vocab *v, size_t n)
{
    return v->sizes[n / 64] >> n % 64 & 1;
}

int32_t vt_vocab_find(const vt_vocab *v, const char *s, size_t n)
{
    return n > v->longest ? -1 : at_hash(v, hash_of(s, n), s, n);
}

vt_prefix vt_prefix_begin(const vt_vocab *v, const char *s)
{
    return (vt_prefix){v, s, 0, BASIS};
}

int32_t vt_prefix_next(vt_prefix *p)
{
    p->hash = hash_byte(p->hash, p->s[p->n++]);
    return has_size(p->v, p->n) ? at_hash(p->v, p->hash, p->s, p->n) : -1;
}

int32_t vt_vocab_prefix(size_t *size, const vt_vocab *v, const char *s,
                        size_t n)
{
    uint64_t hash = BASIS;
    int32_t best = -1;

    n = n ? VT_MIN(n, v->reach[(unsigned char)*s]) : 0;
    for (size_t k = 1; k <= n; k++) {
        int32_t id;

        hash = hash_byte(hash, s[k - 1]);
        if (has_size(v, k) && (id = at_hash(v, hash, s, k)) >= 0) {
            best = id;
            *size = k;
        }
    }
    return best;
}

void vt_vocab_free(vt_vocab *v)
{
    free(v->bytes.s);
    free(v->pieces);
    free(v->table);
    *v = (vt_vocab){0};
}
