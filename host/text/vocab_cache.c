/*
 * vocab_cache.c - the key is the SHA-256 of the version and the tokenizer.json
 * (base/kept.h). Each number is checked before it is used, and whatever is
 * wrong, tokenizer.json is read.
 */
#include "text/vocab_cache.h"

#include "base/file.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

typedef struct head {
    uint64_t rest, bytes;
    uint32_t scored, pieces, slots, merges, merge_slots, zero;
} head;
#define SLOTS_MAX (4U * VT_PIECES_MAX)

enum { PARTS = 7, CHUNK = 1 << 18 };

typedef struct part { /* an array: the address of its pointer */
    void *pointer;
    size_t count, size;
} part;

static void parts_of(part out[PARTS], vt_chars *rest, vt_tokenizer *t,
                     const head *h)
{
    vt_vocab *v = &t->vocab;
    vt_bpe *b = &t->bpe;

    out[0] = (part){&rest->s, (size_t)h->rest, 1};
    out[1] = (part){&v->bytes.s, (size_t)h->bytes, 1};
    out[2] = (part){&v->pieces, h->pieces, sizeof *v->pieces};
    out[3] = (part){&v->table, h->slots, sizeof *v->table};
    out[4] = (part){&t->scores, h->scored ? h->pieces : 0, sizeof *t->scores};
    out[5] = (part){&b->merges, h->merges, sizeof *b->merges};
    out[6] = (part){&b->table, h->merge_slots, sizeof *b->table};
}

static void *data_of(const part *p)
{
    void *data;

    memcpy(&data, p->pointer, sizeof data);
    return data;
}

static bool is_power(uint32_t n)
{
    return n && (n & (n - 1)) == 0;
}

/* The counts fit each other and the `size` bytes, so that they are sizes. */
static bool fits(const head *h, uint64_t size)
{
    const vt_tokenizer *t = NULL;
    const uint64_t all = (uint64_t)h->pieces * sizeof *t->vocab.pieces +
                         (uint64_t)h->slots * sizeof *t->vocab.table +
                         (h->scored ? h->pieces * sizeof *t->scores : 0) +
                         (uint64_t)h->merges * sizeof *t->bpe.merges +
                         (uint64_t)h->merge_slots * sizeof *t->bpe.table;

    return h->scored <= 1 && h->pieces > 0 && h->pieces <= VT_PIECES_MAX &&
           h->merges <= VT_PIECES_MAX && h->slots <= SLOTS_MAX &&
           h->merge_slots <= SLOTS_MAX && is_power(h->slots) &&
           h->slots > h->pieces &&
           (h->scored
                ? h->merges == 0 && h->merge_slots == 0
                : is_power(h->merge_slots) && h->merge_slots > h->merges) &&
           h->rest > 0 && h->rest <= size && h->bytes <= size &&
           h->bytes <= UINT32_MAX && h->rest + h->bytes + all == size;
}

/* Lookups end, and find what is there: as many slots are full as there are
 * entries. */
static bool sound_vocab(vt_tokenizer *t)
{
    vt_vocab *v = &t->vocab;
    size_t full = 0;

    for (size_t i = 0; i < v->count; i++) {
        const struct vt_piece *p = &v->pieces[i];

        if (p->size == 0 || p->size > VT_PIECE_MAX || p->at > v->bytes.n ||
            p->size > v->bytes.n - p->at || p->id < 0 ||
            p->id >= (t->scores ? (int32_t)v->count : VT_PIECES_MAX) ||
            (t->scores && !isfinite(t->scores[i])))
            return false;
        vt_vocab_note(v, p);
    }
    for (size_t i = 0; i < v->slots; i++) {
        if (v->table[i] > v->count)
            return false;
        full += v->table[i] != 0;
    }
    return full == v->count;
}

static bool sound_merges(const vt_bpe *b)
{
    size_t full = 0;

    for (size_t i = 0; i < b->count; i++) {
        const struct vt_merge *m = &b->merges[i];

        if (m->left < 0 || m->left >= VT_PIECES_MAX || m->right < 0 ||
            m->right >= VT_PIECES_MAX || m->made < 0 ||
            m->made >= VT_PIECES_MAX)
            return false;
    }
    for (size_t i = 0; i < b->slots; i++) {
        if (b->table[i] > b->count)
            return false;
        full += b->table[i] != 0;
    }
    return full <= b->count;
}

static void clear(vt_chars *rest, vt_tokenizer *t)
{
    free(rest->s);
    *rest = (vt_chars){0};
    vt_vocab_free(&t->vocab);
    free(t->scores);
    t->scores = NULL;
    t->score_cap = 0;
    vt_bpe_free(&t->bpe);
}

bool vt_vocab_cache_read(vt_chars *rest, vt_tokenizer *t, vt_kept_file *f)
{
    part p[PARTS];
    head h;
    bool good = true;

    if (!vt_kept_read(f, &h, sizeof h) || !fits(&h, f->left))
        return false;
    parts_of(p, rest, t, &h);
    for (int i = 0; i < PARTS && good; i++)
        good = p[i].count == 0 ||
               (vt_new(p[i].pointer, p[i].count, p[i].size) == VITCL_OK &&
                vt_kept_read(f, data_of(&p[i]), p[i].count * p[i].size));
    if (good) {
        rest->n = rest->cap = p[0].count;
        t->vocab.bytes.n = t->vocab.bytes.cap = p[1].count;
        t->vocab.count = t->vocab.cap = h.pieces;
        t->vocab.slots = h.slots;
        t->score_cap = p[4].count;
        t->bpe.count = t->bpe.cap = h.merges;
        t->bpe.slots = h.merge_slots;
        good = sound_vocab(t) && sound_merges(&t->bpe);
    }
    if (!good)
        clear(rest, t);
    return good;
}

static vt_kept_key key_of(const vt_sha256_state *hash)
{
    vt_sha256_state s = *hash;
    vt_kept_key key = {{0}};

    vt_sha256_end(&s, key.hash);
    return key;
}

/* The hash behind the file; false: it is small, or cannot be read. */
static bool hash_file(vt_sha256_state *hash, const char *path)
{
    uint8_t *chunk = NULL;
    size_t size = 0, at = 0;
    bool good = false;
    int fd = -1;

    if (vt_file_open(&fd, &size, path) != VITCL_OK)
        return false;
    if (size >= VT_VOCAB_CACHED && VT_NEW(&chunk, CHUNK) == VITCL_OK) {
        for (good = true; good && at < size; at += CHUNK) {
            const size_t n = VT_MIN(size - at, (size_t)CHUNK);

            good = vt_read_at(fd, chunk, n, at) == 0;
            if (good)
                vt_sha256_add(hash, chunk, n);
        }
        free(chunk);
    }
    close(fd);
    return good;
}

void vt_vocab_cache_load(bool *found, vt_chars *rest, vt_tokenizer *t,
                         const char *path)
{
    vt_sha256_state hash = t->hash;
    vt_kept_file f;
    vt_kept_key key;

    *found = false;
    if (vt_kept_off() || !hash_file(&hash, path))
        return;
    key = key_of(&hash);
    if (!vt_kept_open(&f, VT_KEPT_WORDS, &key))
        return;
    *found = vt_vocab_cache_read(rest, t, &f);
    if (vt_kept_close(&f, *found)) {
        t->hash = hash;
    } else if (*found) {
        clear(rest, t);
        *found = false;
    }
}

void vt_vocab_cache_save(const vt_chars *rest, const vt_tokenizer *t)
{
    const head h = {.scored = t->scores != NULL,
                    .rest = rest->n,
                    .bytes = t->vocab.bytes.n,
                    .pieces = (uint32_t)t->vocab.count,
                    .slots = (uint32_t)t->vocab.slots,
                    .merges = (uint32_t)t->bpe.count,
                    .merge_slots = (uint32_t)t->bpe.slots};
    const vt_kept_key key = key_of(&t->hash);
    vt_tokenizer shown = *t; /* whose arrays are only read */
    vt_chars text = *rest;
    vt_user_part all[1 + PARTS] = {{&h, sizeof h}};
    part p[PARTS];

    parts_of(p, &text, &shown, &h);
    for (int i = 0; i < PARTS; i++)
        all[1 + i] = (vt_user_part){data_of(&p[i]), p[i].count * p[i].size};
    vt_kept_put(VT_KEPT_WORDS, &key, all, 1 + PARTS);
}
