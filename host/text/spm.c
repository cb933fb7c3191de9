/*
 * spm.c - a bounded reader of the few fields of sentencepiece_model.proto that
 * decide about ids, and the library's normalizer.
 */
#include "text/spm.h"

#include <math.h>
#include <string.h>

#define SPACE "\xe2\x96\x81" /* U+2581 */

typedef struct part { /* of a message: what is left of it */
    const uint8_t *s;
    size_t n;
} part;

typedef struct value {
    uint32_t field;
    uint64_t number; /* or the bits of a float */
    part bytes;
} value;

static bool varint(uint64_t *out, part *p)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && p->n > 0; shift += 7) {
        const uint8_t b = *p->s++;

        p->n--;
        *out |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80)
            return true;
    }
    return false;
}

/* Reads the next field; false at the end and, with *damaged, at nonsense. */
static bool next(value *out, part *p, bool *damaged)
{
    uint64_t key, size = 0;

    *out = (value){0};
    if (p->n == 0 || *damaged)
        return false;
    *damaged = true;
    if (!varint(&key, p) || key >> 3 == 0 || key >> 3 > 1U << 29)
        return false;
    out->field = (uint32_t)(key >> 3);
    switch (key & 7) {
    case 0:
        if (!varint(&out->number, p))
            return false;
        break;
    case 1:
        size = 8;
        break;
    case 2:
        if (!varint(&size, p))
            return false;
        break;
    case 5:
        size = 4;
        break;
    default: /* groups are in none */
        return false;
    }
    if (size > p->n)
        return false;
    out->bytes = (part){p->s, (size_t)size};
    if ((key & 7) == 5)
        for (unsigned i = 0; i < 4; i++)
            out->number |= (uint64_t)p->s[i] << 8 * i;
    p->s += size;
    p->n -= (size_t)size;
    *damaged = false;
    return true;
}

static vitcl_status damage(const char *name)
{
    return vt_fail(VITCL_ECORRUPT, "%s: not a SentencePiece model, or damaged",
                   name);
}

static vitcl_status read_piece(vt_spm *m, part p, const char *name)
{
    const size_t id = m->vocab.count;
    part text = {0};
    uint32_t bits = 0;
    uint64_t type = VT_SPM_NORMAL;
    bool damaged = false;
    float score;
    value v;

    while (next(&v, &p, &damaged))
        if (v.field == 1)
            text = v.bytes;
        else if (v.field == 2)
            bits = (uint32_t)v.number;
        else if (v.field == 3)
            type = v.number;
    memcpy(&score, &bits, sizeof score);
    if (damaged || type < VT_SPM_NORMAL || type > VT_SPM_BYTE ||
        !isfinite(score))
        return damage(name);
    if (type == VT_SPM_UNUSED)
        return vt_fail(VITCL_EUNSUPPORTED, "%s: pieces of type UNUSED", name);
    VT_RET(vt_vocab_add(&m->vocab, (const char *)text.s, text.n, id, name));
    VT_RET(vt_grow(&m->scores, &m->score_cap, id + 1, sizeof *m->scores));
    VT_RET(vt_grow(&m->doubles, &m->double_cap, id + 1, sizeof *m->doubles));
    VT_RET(vt_grow(&m->types, &m->type_cap, id + 1, sizeof *m->types));
    m->scores[id] = score;
    m->doubles[id] = (double)score;
    m->types[id] = (uint8_t)type;
    if (type == VT_SPM_UNKNOWN)
        m->unknown = (int32_t)id;
    if (type == VT_SPM_USER)
        VT_RET(vt_vocab_add(&m->user, (const char *)text.s, text.n, id, name));
    return VITCL_OK;
}

static int32_t id_of(uint64_t number)
{
    return number < VT_PIECES_MAX ? (int32_t)number : -1;
}

static vitcl_status read_trainer(vt_spm *m, part p, const char *name)
{
    bool damaged = false;
    uint64_t kind = 1;
    value v;

    while (next(&v, &p, &damaged)) {
        switch (v.field) {
        case 3:
            kind = v.number;
            break;
        case 24:
            m->suffix = v.number != 0;
            break;
        case 35:
            m->fallback = v.number != 0;
            break;
        case 41:
            m->begin = id_of(v.number);
            break;
        case 42:
            m->end = id_of(v.number);
            break;
        case 43:
            m->pad = id_of(v.number);
            break;
        default:
            break;
        }
    }
    if (damaged)
        return damage(name);
    if (kind != 1 && kind != 2)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: a SentencePiece model that is neither unigram nor "
                       "BPE",
                       name);
    m->bpe = kind == 2;
    return VITCL_OK;
}

static vitcl_status read_normalizer(vt_spm *m, part p, const char *name)
{
    bool damaged = false;
    part map = {0};
    value v;

    while (next(&v, &p, &damaged)) {
        switch (v.field) {
        case 2:
            map = v.bytes;
            break;
        case 3:
            m->dummy_prefix = v.number != 0;
            break;
        case 4:
            m->remove_spaces = v.number != 0;
            break;
        case 5:
            m->escape = v.number != 0;
            break;
        default:
            break;
        }
    }
    if (damaged)
        return damage(name);
    vt_charsmap_free(&m->map);
    return vt_charsmap_read(&m->map, map.s, map.n, name);
}

/* What the pieces say together. */
static vitcl_status finish(vt_spm *m, const char *name)
{
    double least = INFINITY, most = -INFINITY;
    const int32_t count = (int32_t)m->vocab.count;

    if (m->unknown < 0)
        return damage(name);
    for (int32_t i = 0; i < count; i++) {
        if (m->types[i] == VT_SPM_NORMAL) {
            least = fmin(least, m->doubles[i]);
            most = fmax(most, m->doubles[i]);
        }
    }
    m->begin = m->begin < count ? m->begin : -1;
    m->end = m->end < count ? m->end : -1;
    m->pad = m->pad < count ? m->pad : -1;
    m->unigram = (vt_unigram){.vocab = &m->vocab,
                              .scores = m->doubles,
                              .types = m->types,
                              .least = isfinite(least) ? least : 0,
                              .most = isfinite(most) ? most : 0,
                              .unknown = m->unknown,
                              .fallback = m->fallback};
    m->merging = (vt_bpe){.vocab = &m->vocab,
                          .unknown = m->unknown,
                          .fallback = m->fallback,
                          .scores = m->scores,
                          .types = m->types,
                          .user = &m->user};
    if (m->fallback && !vt_bpe_bytes(m->unigram.byte, &m->vocab))
        return vt_fail(VITCL_ECORRUPT, "%s: pieces of bytes are missing", name);
    memcpy(m->merging.byte, m->unigram.byte, sizeof m->merging.byte);
    return VITCL_OK;
}

vitcl_status vt_spm_read(vt_spm *out, const void *data, size_t size,
                         const char *name)
{
    part p = {data, size};
    bool damaged = false;
    value v;

    out->unknown = -1;
    out->begin = 1;
    out->end = 2;
    out->pad = -1;
    out->dummy_prefix = out->remove_spaces = out->escape = true;
    while (next(&v, &p, &damaged)) {
        if (v.field == 1)
            VT_RET(read_piece(out, v.bytes, name));
        else if (v.field == 2)
            VT_RET(read_trainer(out, v.bytes, name));
        else if (v.field == 3)
            VT_RET(read_normalizer(out, v.bytes, name));
    }
    return damaged ? damage(name) : finish(out, name);
}

/* The normalized beginning of a text of n > 0 bytes: *size bytes of it become
 * the *made bytes that are returned. */
static const char *prefix(size_t *size, size_t *made, const vt_spm *m,
                          const char *s, size_t n)
{
    const char *text;

    if (vt_vocab_prefix(size, &m->user, s, n) >= 0) {
        *made = *size;
        return s;
    }
    text = vt_charsmap_find(size, &m->map, s, n, true);
    if (text) {
        *made = strlen(text);
        return text;
    }
    vt_chars_code(size, s, n);
    *made = *size;
    return s;
}

static vitcl_status normalize(vt_chars *out, const vt_spm *m, const char *s,
                              size_t n)
{
    const char *space = m->escape ? SPACE : " ", *text;
    const size_t wide = strlen(space);
    bool after_space = m->remove_spaces;
    size_t at = 0, size, made;

    while (m->remove_spaces && at < n) {
        text = prefix(&size, &made, m, s + at, n - at);
        if (made != 1 || *text != ' ')
            break;
        at += size;
    }
    if (at == n)
        return VITCL_OK;
    if (m->dummy_prefix && !m->suffix)
        VT_RET(vt_chars_add(out, space, wide));
    for (; at < n; at += size) {
        text = prefix(&size, &made, m, s + at, n - at);
        while (after_space && made > 0 && *text == ' ') {
            text++;
            made--;
        }
        if (made == 0)
            continue;
        for (size_t i = 0; i < made; i++)
            VT_RET(text[i] == ' ' ? vt_chars_add(out, space, wide)
                                  : vt_chars_add(out, text + i, 1));
        after_space = m->remove_spaces && text[made - 1] == ' ';
    }
    while (m->remove_spaces && out->n >= wide &&
           memcmp(out->s + out->n - wide, space, wide) == 0)
        out->n -= wide;
    if (m->dummy_prefix && m->suffix)
        VT_RET(vt_chars_add(out, space, wide));
    return VITCL_OK;
}

vitcl_status vt_spm_encode(vt_ids *out, const vt_spm *m, size_t *room,
                           const char *s, size_t n)
{
    vt_chars c = {.most = n + *room};
    vitcl_status st = VITCL_OK;

    VT_TRY(normalize(&c, m, s, n));
    *room -= c.n > n ? c.n - n : 0;
    VT_TRY(m->bpe ? vt_bpe_encode(out, &m->merging, c.s, c.n)
                  : vt_unigram_encode(out, &m->unigram, c.s, c.n));
done:
    free(c.s);
    return st;
}

void vt_spm_free(vt_spm *m)
{
    vt_vocab_free(&m->vocab);
    vt_vocab_free(&m->user);
    vt_charsmap_free(&m->map);
    free(m->scores);
    free(m->doubles);
    free(m->types);
    *m = (vt_spm){0};
}
