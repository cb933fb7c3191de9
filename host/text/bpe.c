/*
 * bpe.c - a heap has the pairs that can be merged, the first to merge on top.
 */
#include "text/bpe.h"

#include "base/stop.h"

#include <stdio.h>
#include <string.h>

#define PROBES 2000

typedef struct symbol { /* a part of the word, in a list */
    int32_t id;
    uint32_t at, size; /* size 0: merged into its left neighbour */
    int32_t before, after;
    bool frozen;
} symbol;

typedef struct pair {
    double rank; /* the lowest is merged first, then the leftmost */
    int32_t left, right;
    uint32_t size;
    int32_t made;
} pair;

typedef struct work {
    const vt_bpe *b;
    const char *s;
    symbol *symbols;
    size_t count, cap;
    pair *heap;
    size_t pairs, heap_cap;
} work;

static size_t merge_slot(const vt_bpe *b, int32_t left, int32_t right)
{
    const uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;

    return (size_t)((key ^ key >> 29) * 0x9e3779b97f4a7c15u >> 24) &
           (b->slots - 1);
}

/* The number of the merge of two ids, or -1. */
static int32_t find_merge(const vt_bpe *b, int32_t left, int32_t right)
{
    if (b->slots == 0)
        return -1;
    for (size_t slot = merge_slot(b, left, right); b->table[slot];
         slot = (slot + 1) & (b->slots - 1)) {
        const struct vt_merge *m = &b->merges[b->table[slot] - 1];

        if (m->left == left && m->right == right)
            return (int32_t)b->table[slot] - 1;
    }
    return -1;
}

static bool before(const pair *a, const pair *b)
{
    return a->rank < b->rank || (a->rank <= b->rank && a->left < b->left);
}

static vitcl_status push(work *w, pair p)
{
    size_t i = w->pairs;

    VT_RET(vt_stop_look());
    VT_RET(vt_grow(&w->heap, &w->heap_cap, w->pairs + 1, sizeof *w->heap));
    w->pairs++;
    for (; i > 0 && before(&p, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = p;
    return VITCL_OK;
}

static pair pop(work *w)
{
    const pair top = w->heap[0], last = w->heap[--w->pairs];
    size_t i = 0, child;

    while ((child = 2 * i + 1) < w->pairs) {
        if (child + 1 < w->pairs &&
            before(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!before(&w->heap[child], &last))
            break;
        w->heap[i] = w->heap[child];
        i = child;
    }
    w->heap[i] = last;
    return top;
}

/* Can the two neighbours be merged? Then their pair is on the heap. */
static vitcl_status offer(work *w, int32_t left, int32_t right)
{
    const vt_bpe *b = w->b;
    const symbol *l, *r;
    pair p = {0, left, right, 0, 0};

    if (left < 0 || right < 0)
        return VITCL_OK;
    l = &w->symbols[left];
    r = &w->symbols[right];
    p.size = l->size + r->size;
    if (b->scores) {
        if (l->frozen || r->frozen)
            return VITCL_OK;
        p.made = vt_vocab_find(b->vocab, w->s + l->at, p.size);
        if (p.made < 0 || b->types[p.made] == VT_SPM_UNKNOWN ||
            b->types[p.made] == VT_SPM_CONTROL ||
            b->types[p.made] == VT_SPM_BYTE)
            return VITCL_OK;
        p.rank = -(double)b->scores[p.made];
    } else {
        const int32_t merge = find_merge(b, l->id, r->id);

        if (merge < 0)
            return VITCL_OK;
        p.rank = merge;
        p.made = b->merges[merge].made;
    }
    return push(w, p);
}

/* Is the pair still as it was? */
static bool stands(const work *w, const pair *p)
{
    const symbol *l = &w->symbols[p->left];
    int32_t merge;

    if (l->size == 0 || l->after < 0)
        return false;
    if (w->b->scores)
        return l->after == p->right &&
               l->size + w->symbols[p->right].size == p->size;
    merge = find_merge(w->b, l->id, w->symbols[l->after].id);
    return merge >= 0 && w->b->merges[merge].made == p->made;
}

static vitcl_status merge_all(work *w)
{
    for (size_t i = 0; i + 1 < w->count; i++)
        VT_RET(offer(w, (int32_t)i, (int32_t)i + 1));
    while (w->pairs > 0) {
        const pair p = pop(w);
        symbol *l = &w->symbols[p.left], *r;

        if (!stands(w, &p))
            continue;
        r = &w->symbols[l->after];
        l->id = p.made;
        l->size += r->size;
        r->size = 0;
        l->after = r->after;
        if (r->after >= 0)
            w->symbols[r->after].before = p.left;
        VT_RET(offer(w, l->before, p.left));
        VT_RET(offer(w, p.left, l->after));
    }
    return VITCL_OK;
}

static vitcl_status add_symbol(work *w, int32_t id, size_t at, size_t size,
                               bool frozen)
{
    const int32_t number = (int32_t)w->count;

    VT_RET(vt_stop_look());
    VT_RET(vt_grow(&w->symbols, &w->cap, w->count + 1, sizeof *w->symbols));
    if (number)
        w->symbols[number - 1].after = number;
    w->symbols[w->count++] =
        (symbol){id, (uint32_t)at, (uint32_t)size, number - 1, -1, frozen};
    return VITCL_OK;
}

/* The id of the word's last character with the suffix. */
static vitcl_status last_id(int32_t *id, const vt_bpe *b, const char *s,
                            size_t n)
{
    vt_chars c = {0};
    vitcl_status st = VITCL_OK;

    VT_TRY(vt_chars_add(&c, s, n));
    VT_TRY(vt_chars_add(&c, b->suffix, strlen(b->suffix)));
    *id = vt_vocab_find(b->vocab, c.s, c.n);
done:
    free(c.s);
    return st;
}

static bool has_bytes(const vt_bpe *b, const char *s, size_t n)
{
    bool all = b->fallback;

    for (size_t i = 0; i < n; i++)
        all = all && b->byte[(unsigned char)s[i]] >= 0;
    return all;
}

/* The word's characters, as tokenizers takes them: those in the vocabulary,
 * else their bytes, else an unknown one, which is kept back for the next. */
static vitcl_status split_merged(work *w, size_t n)
{
    const vt_bpe *b = w->b;
    size_t waits = 0; /* bytes of the unknown one */

    for (size_t at = 0, size; at < n; at += size) {
        int32_t id;

        vt_chars_code(&size, w->s + at, n - at);
        if (b->suffix && at + size == n)
            VT_RET(last_id(&id, b, w->s + at, size));
        else
            id = vt_vocab_find(b->vocab, w->s + at, size);
        if (id >= 0) {
            if (waits)
                VT_RET(add_symbol(w, b->unknown, at, waits, false));
            waits = 0;
            VT_RET(add_symbol(w, id, at, size, false));
        } else if (has_bytes(b, w->s + at, size)) {
            for (size_t i = 0; i < size; i++)
                VT_RET(add_symbol(w, b->byte[(unsigned char)w->s[at + i]],
                                  at + i, 1, false));
        } else if (b->unknown == VT_BPE_NO_UNKNOWN) {
            return vt_fail(VITCL_EUNSUPPORTED,
                           "a text has a character that is not in the "
                           "vocabulary, nor is the token for unknown ones");
        } else if (b->unknown >= 0) {
            if (waits && !b->fuse) {
                VT_RET(add_symbol(w, b->unknown, at, waits, false));
                waits = 0;
            }
            waits += size;
        }
    }
    if (waits)
        VT_RET(add_symbol(w, b->unknown, n, waits, false));
    return VITCL_OK;
}

static vitcl_status split_pieces(work *w, size_t n)
{
    for (size_t at = 0, size; at < n; at += size) {
        const bool user =
            vt_vocab_prefix(&size, w->b->user, w->s + at, n - at) >= 0;

        if (!user)
            vt_chars_code(&size, w->s + at, n - at);
        VT_RET(add_symbol(w, vt_vocab_find(w->b->vocab, w->s + at, size), at,
                          size, user));
    }
    return VITCL_OK;
}

/* Appends a SentencePiece symbol; unknown: was the last one? Then it is no
 * other token. */
static vitcl_status add_piece(vt_ids *out, const work *w, const symbol *y,
                              bool *unknown)
{
    const vt_bpe *b = w->b;

    if (y->id >= 0 && b->types[y->id] != VT_SPM_UNKNOWN) {
        *unknown = false;
        return vt_ids_add(out, y->id);
    }
    if (b->fallback)
        for (uint32_t i = 0; i < y->size; i++)
            VT_RET(vt_ids_add(out, b->byte[(unsigned char)w->s[y->at + i]]));
    else if (!*unknown)
        VT_RET(vt_ids_add(out, b->unknown));
    *unknown = true;
    return VITCL_OK;
}

vitcl_status vt_bpe_encode(vt_ids *out, const vt_bpe *b, const char *s,
                           size_t n)
{
    work w = {.b = b, .s = s};
    vitcl_status st = VITCL_OK;
    bool unknown = false;
    int32_t id;

    if (n == 0)
        return VITCL_OK;
    if (b->whole && (id = vt_vocab_find(b->vocab, s, n)) >= 0)
        return vt_ids_add(out, id);
    if (b->scores)
        VT_TRY(split_pieces(&w, n));
    else
        VT_TRY(split_merged(&w, n));
    VT_TRY(merge_all(&w));
    for (int32_t i = w.count ? 0 : -1; i >= 0; i = w.symbols[i].after) {
        if (b->scores)
            VT_TRY(add_piece(out, &w, &w.symbols[i], &unknown));
        else
            VT_TRY(vt_ids_add(out, w.symbols[i].id));
    }
done:
    free(w.symbols);
    free(w.heap);
    return st;
}

vitcl_status vt_bpe_merge(vt_bpe *b, const char *left, size_t left_size,
                          const char *right, size_t right_size,
                          const char *name)
{
    struct vt_merge m = {vt_vocab_find(b->vocab, left, left_size),
                         vt_vocab_find(b->vocab, right, right_size), -1};
    char both[2 * VT_PIECE_MAX];

    if (m.left >= 0 && m.right >= 0) {
        memcpy(both, left, left_size);
        memcpy(both + left_size, right, right_size);
        m.made = vt_vocab_find(b->vocab, both, left_size + right_size);
    }
    if (m.made < 0)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: a merge of what is not in the vocabulary", name);
    if (b->count >= VT_PIECES_MAX)
        return vt_fail(VITCL_EUNSUPPORTED, "%s: more than %d merges", name,
                       VT_PIECES_MAX);
    VT_RET(vt_grow(&b->merges, &b->cap, b->count + 1, sizeof *b->merges));
    b->merges[b->count++] = m;
    return VITCL_OK;
}

vitcl_status vt_bpe_finish(vt_bpe *b, const char *name)
{
    size_t slots = 64;

    while (slots < b->count / 4 * 7)
        slots *= 2;
    VT_RET(VT_NEW(&b->table, slots));
    b->slots = slots;
    for (size_t i = 0; i < b->count; i++) {
        const struct vt_merge *m = &b->merges[i];
        size_t slot = merge_slot(b, m->left, m->right), probes = 0;

        while (b->table[slot] && probes++ < PROBES)
            slot = (slot + 1) & (b->slots - 1);
        if (b->table[slot])
            return vt_fail(VITCL_ECORRUPT, "%s: not the merges of a language",
                           name);
        b->table[slot] = (uint32_t)i + 1;
    }
    return VITCL_OK;
}

void vt_bpe_free(vt_bpe *b)
{
    free(b->merges);
    free(b->table);
    free(b->suffix);
    *b = (vt_bpe){0};
}

bool vt_bpe_bytes(int32_t id[256], const vt_vocab *v)
{
    bool all = true;

    for (int i = 0; i < 256; i++) {
        char piece[8];
        const int n = snprintf(piece, sizeof piece, "<0x%02X>", i);

        all &= (id[i] = vt_vocab_find(v, piece, (size_t)n)) >= 0;
    }
    return all;
}
