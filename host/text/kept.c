/*
 * kept.c - a file's name is the SHA-256 of the version and the tokenizer.json,
 * and ends in .words.
 *
 * The file holds that hash again and a checksum, and each number is checked
 * before it is used. Whatever is wrong, tokenizer.json is read, and the file
 * made again; host/ocl/evict.c removes what has not been used for long.
 */
#include "text/kept.h"

#include "base/checksum.h"
#include "base/file.h"
#include "base/user_dir.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct head {
    char format[16];
    uint32_t order; /* of the bytes in a number */
    uint32_t scored;
    uint8_t key[VT_KEPT_KEY];
    uint64_t sum; /* of what follows */
    uint64_t rest, bytes;
    uint32_t pieces, slots, merges, merge_slots;
} head;
static const char format[16] = "vitcl words 1\n";
#define ORDER 0x01020304U
#define SLOTS_MAX (4U * VT_PIECES_MAX)

enum { NAME = 80, PARTS = 7, CHUNK = 1 << 18 };

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

/* The counts fit each other and the file, so that they are sizes. */
static bool fits(const head *h, uint64_t size, const uint8_t key[VT_KEPT_KEY])
{
    const vt_tokenizer *t = NULL;
    const uint64_t all = (uint64_t)h->pieces * sizeof *t->vocab.pieces +
                         (uint64_t)h->slots * sizeof *t->vocab.table +
                         (h->scored ? h->pieces * sizeof *t->scores : 0) +
                         (uint64_t)h->merges * sizeof *t->bpe.merges +
                         (uint64_t)h->merge_slots * sizeof *t->bpe.table;

    return memcmp(h->format, format, sizeof format) == 0 && h->order == ORDER &&
           memcmp(h->key, key, VT_KEPT_KEY) == 0 && h->scored <= 1 &&
           h->pieces > 0 && h->pieces <= VT_PIECES_MAX &&
           h->merges <= VT_PIECES_MAX && h->slots <= SLOTS_MAX &&
           h->merge_slots <= SLOTS_MAX && is_power(h->slots) &&
           h->slots > h->pieces &&
           (h->scored
                ? h->merges == 0 && h->merge_slots == 0
                : is_power(h->merge_slots) && h->merge_slots > h->merges) &&
           h->rest > 0 && h->rest <= size && h->bytes <= size &&
           h->bytes <= UINT32_MAX &&
           sizeof *h + h->rest + h->bytes + all == size;
}

static bool read_parts(part *p, int fd, head *h)
{
    vt_summing *sum = NULL;
    bool good = vt_summing_new(&sum) == VITCL_OK;

    if (good)
        vt_summing_add(sum, &h->rest, sizeof *h - offsetof(head, rest));
    for (int i = 0; i < PARTS && good; i++) {
        const size_t n = p[i].count * p[i].size;

        if (n == 0)
            continue;
        good = vt_new(p[i].pointer, p[i].count, p[i].size) == VITCL_OK &&
               vt_user_read(fd, data_of(&p[i]), n);
        if (good)
            vt_summing_add(sum, data_of(&p[i]), n);
    }
    good = good && vt_summing_take(sum) == h->sum;
    vt_summing_free(sum);
    return good;
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

bool vt_kept_read(vt_chars *rest, vt_tokenizer *t, int fd,
                  const uint8_t key[VT_KEPT_KEY])
{
    part p[PARTS];
    struct stat st;
    head h;

    if (fstat(fd, &st) != 0 || st.st_size < (off_t)sizeof h ||
        !vt_user_read(fd, &h, sizeof h) || !fits(&h, (uint64_t)st.st_size, key))
        return false;
    parts_of(p, rest, t, &h);
    if (read_parts(p, fd, &h)) {
        rest->n = rest->cap = p[0].count;
        t->vocab.bytes.n = t->vocab.bytes.cap = p[1].count;
        t->vocab.count = t->vocab.cap = h.pieces;
        t->vocab.slots = h.slots;
        t->score_cap = p[4].count;
        t->bpe.count = t->bpe.cap = h.merges;
        t->bpe.slots = h.merge_slots;
        if (sound_vocab(t) && sound_merges(&t->bpe))
            return true;
    }
    free(rest->s);
    *rest = (vt_chars){0};
    vt_vocab_free(&t->vocab);
    free(t->scores);
    t->scores = NULL;
    t->score_cap = 0;
    vt_bpe_free(&t->bpe);
    return false;
}

static void key_of(uint8_t key[VT_KEPT_KEY], const vt_sha256_state *hash)
{
    vt_sha256_state s = *hash;

    vt_sha256_end(&s, key);
}

static void name_of(char out[NAME], const uint8_t key[VT_KEPT_KEY])
{
    char hex[65];

    vt_sha256_hex(hex, key);
    snprintf(out, NAME, "%s.words", hex);
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
    if (size >= VT_KEPT_LEAST && VT_NEW(&chunk, CHUNK) == VITCL_OK) {
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

void vt_kept_load(bool *found, vt_chars *rest, vt_tokenizer *t,
                  const char *path)
{
    const int folder = vt_user_cache();
    vt_sha256_state hash = t->hash;
    uint8_t key[VT_KEPT_KEY];
    char name[NAME];
    int fd = -1;

    *found = false;
    if (folder < 0)
        return;
    if (hash_file(&hash, path)) {
        key_of(key, &hash);
        name_of(name, key);
        fd = vt_user_open(folder, name);
    }
    if (fd >= 0) {
        *found = vt_user_file(fd) && vt_kept_read(rest, t, fd, key);
        if (*found) {
            t->hash = hash;
            vt_user_used(fd);
        }
        close(fd);
    }
    close(folder);
}

void vt_kept_save(const vt_chars *rest, const vt_tokenizer *t)
{
    const int folder = vt_user_cache();
    head h = {.order = ORDER,
              .scored = t->scores != NULL,
              .rest = rest->n,
              .bytes = t->vocab.bytes.n,
              .pieces = (uint32_t)t->vocab.count,
              .slots = (uint32_t)t->vocab.slots,
              .merges = (uint32_t)t->bpe.count,
              .merge_slots = (uint32_t)t->bpe.slots};
    vt_tokenizer shown = *t; /* whose arrays are only read */
    vt_chars text = *rest, body = {0};
    vt_summing *sum = NULL;
    part p[PARTS];
    char name[NAME];

    if (folder < 0)
        return;
    memcpy(h.format, format, sizeof format);
    key_of(h.key, &t->hash);
    name_of(name, h.key);
    parts_of(p, &text, &shown, &h);
    if (vt_summing_new(&sum) == VITCL_OK) {
        bool good = true;

        vt_summing_add(sum, &h.rest, sizeof h - offsetof(head, rest));
        for (int i = 0; i < PARTS && good; i++) {
            const size_t n = p[i].count * p[i].size;

            if (n == 0)
                continue;
            good = vt_chars_add(&body, data_of(&p[i]), n) == VITCL_OK;
            vt_summing_add(sum, data_of(&p[i]), n);
        }
        h.sum = vt_summing_take(sum);
        if (good)
            vt_user_write(folder, name, &h, sizeof h, body.s, body.n);
    }
    vt_summing_free(sum);
    free(body.s);
    close(folder);
}
