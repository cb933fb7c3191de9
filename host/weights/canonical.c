/*
 * canonical.c - tensors by their canonical names.
 *
 * Each canonical weight is a join, along its first axis, of up to three parts.
 * A part is a range of a tensor in the file, with its axes permuted. Nothing is
 * copied until a weight is read.
 */
#include "base/memory.h"
#include "weights/parts.h"
#include "weights/reader.h"

#include <stdio.h>
#include <string.h>

#define PARTS 3
#define DEPTH_MAX 1024 /* of scanned blocks */
#define LISTS 32

/* One part and its position, before parts are joined. */
typedef struct piece {
    char *name;
    uint8_t number, of;
    vt_tensor_part part;
} piece;

typedef struct entry {
    vt_weight weight; /* first, so that a vt_weight * is an entry * */
    vt_tensor_part parts[PARTS];
    uint8_t count;
} entry;

struct vt_weights {
    vt_tensors *raw;
    char **names; /* of raw tensors, without what wrappers add; "": it is
                   * beside the model */
    const vt_dialect *dialect;
    const vt_row *rows[LISTS]; /* so many lists of rows */
    size_t lists;
    const char *prefix;
    const char *head; /* a name, of which so many bytes precede the prefix */
    size_t outer;
    piece *pieces;
    size_t piece_count, piece_cap;
    entry *entries; /* sorted by name; the pieces own the names */
    size_t count;
};

/* ---- from names to pieces ---- */

static vitcl_status misshapen(const vt_weights *w, const vt_tensor_part *p,
                              const char *wants)
{
    return vt_fail(VITCL_ECORRUPT, "%s: %.100s: its shape is not %s",
                   vt_tensors_path(w->raw), p->tensor->name, wants);
}

static vitcl_status take_share(const vt_weights *w, vt_tensor_part *p,
                               const vt_row *r)
{
    uint64_t shares = (uint64_t)(r->last - r->first + 1);

    if (r->of == 0)
        return VITCL_OK;
    if (p->rank == 0 || p->shape[0] % r->of)
        return misshapen(w, p, "divisible into equal shares");
    p->first += p->count / r->of * r->first;
    p->count = p->count / r->of * shares;
    p->shape[0] = p->shape[0] / r->of * shares;
    return VITCL_OK;
}

/* Adds a piece under the name `to`; r may be NULL for "unchanged". */
static vitcl_status add_piece(vt_weights *w, const vt_tensor_part *v,
                              const char *to, const vt_row *r, const char *word)
{
    piece p = {.of = 1, .part = *v};
    vt_layout layout = r ? r->layout : VT_SAME;

    if (r) {
        if (layout != VT_SAME && word &&
            (strcmp(word, "bias") == 0 || strcmp(word, "scale") == 0))
            layout = VT_FLAT;
        p.number = r->part;
        p.of = r->parts ? r->parts : 1;
        VT_RET(take_share(w, &p.part, r));
        VT_RET(
            vt_tensor_part_lay_out(&p.part, layout, vt_tensors_path(w->raw)));
    }
    VT_RET(vt_grow(&w->pieces, &w->piece_cap, w->piece_count + 1,
                   sizeof *w->pieces));
    VT_RET(vt_strdup(&p.name, to));
    w->pieces[w->piece_count++] = p;
    return VITCL_OK;
}

/* Tries every row on `name`, which is the tensor's without the prefix, or NULL
 * where it has none; whole: with the prefix. *known: one matched. */
static vitcl_status apply_rows(vt_weights *w, const vt_tensor_part *v,
                               const char *whole, const char *name, bool *known)
{
    char to[VT_NAME_MAX + 64];
    unsigned numbers[2] = {0};
    const char *word;

    *known = false;
    for (size_t i = 0; i < w->lists; i++)
        for (const vt_row *r = w->rows[i]; r->from; r++) {
            const char *what = r->whole ? whole : name;

            if (!what || !vt_name_fits(r->from, what, numbers, &word))
                continue;
            *known = true;
            if (!r->to)
                continue;
            if (!vt_name_make(to, sizeof to, r->to, numbers,
                              word && strcmp(word, "bias") ? "weight" : word))
                return vt_fail(VITCL_ECORRUPT, "%s: %.100s: name is too long",
                               vt_tensors_path(w->raw), what);
            VT_RET(add_piece(w, v, to, r, word));
        }
    return VITCL_OK;
}

/* Transformer/encoderblock/X [depth,...] -> depth blocks' X. */
static vitcl_status apply_scanned(vt_weights *w, const vt_tensor_part *v,
                                  const char *rest, bool *known)
{
    char name[VT_NAME_MAX + 64];

    if (v->rank == 0 || v->shape[0] == 0 || v->shape[0] > DEPTH_MAX)
        return misshapen(w, v, "[depth,...]");
    for (unsigned i = 0; i < v->shape[0]; i++) {
        vt_tensor_part one = *v;
        one.rank = v->rank - 1;
        memmove(one.shape, one.shape + 1, one.rank * sizeof *one.shape);
        one.count = v->count / v->shape[0];
        one.first = i * one.count;
        snprintf(name, sizeof name, "Transformer/encoderblock_%u/%s", i, rest);
        VT_RET(apply_rows(w, &one, name, name, known));
        if (!*known)
            break;
    }
    return VITCL_OK;
}

static vitcl_status map_tensor(vt_weights *w, size_t index)
{
    const vt_tensor *t = vt_tensors_at(w->raw, index);
    static const char scanned[] = "Transformer/encoderblock/";
    vt_tensor_part v = {.tensor = t, .count = t->count, .rank = t->rank};
    const size_t n = strlen(w->prefix);
    const char *whole = w->names[index], *name;
    bool known = false, inside;

    memcpy(v.shape, t->shape, sizeof v.shape);
    inside = strncmp(whole, w->head, w->outer) == 0;
    whole += inside ? w->outer : 0;
    name = whole;
    if (inside && strncmp(name, w->prefix, n) == 0)
        name += n;
    else if (!inside || w->dialect->strict)
        name = NULL;
    if (name && strncmp(name, scanned, sizeof scanned - 1) == 0)
        VT_RET(apply_scanned(w, &v, name + sizeof scanned - 1, &known));
    else
        VT_RET(apply_rows(w, &v, whole, name, &known));
    if (!known && name)
        VT_RET(add_piece(w, &v, name, NULL, NULL));
    if (!known && !inside)
        w->names[index][0] = 0;
    return VITCL_OK;
}

/* ---- from pieces to weights ---- */

static int by_name_and_number(const void *a, const void *b)
{
    const piece *x = a, *y = b;
    int c = strcmp(x->name, y->name);
    return c ? c : (int)x->number - (int)y->number;
}

/* Some families have no bias for k: use a part of zeros, as long as q's. */
static bool fill_key_bias(entry *e, const piece *p, size_t n)
{
    size_t len = strlen(p->name);

    if (n != 2 || p[0].of != 3 || p[0].number != 0 || p[1].number != 2 ||
        len < 9 || strcmp(p->name + len - 9, ".qkv.bias") != 0)
        return false;
    e->parts[0] = p[0].part;
    e->parts[1] = (vt_tensor_part){.count = p[0].part.count};
    e->parts[2] = p[1].part;
    e->count = 3;
    e->weight.shape[0] += p[0].part.shape[0];
    return true;
}

/* Joins n pieces of one name, in the order of their numbers. */
static vitcl_status join(const vt_weights *w, entry *e, const piece *p,
                         size_t n)
{
    const char *path = vt_tensors_path(w->raw);
    const vt_tensor_part *first = &p->part;

    e->weight.name = p->name;
    e->weight.rank = first->rank;
    memcpy(e->weight.shape, first->shape, sizeof e->weight.shape);
    for (size_t i = 1; i < n; i++) {
        const vt_tensor_part *next = &p[i].part;
        if (p[i].number == p[i - 1].number || p[i].of != p->of)
            return vt_fail(
                VITCL_ECORRUPT, "%s: %.100s and %.100s both map to %.100s",
                path, p[i - 1].part.tensor->name, next->tensor->name, p->name);
        if (next->rank != first->rank || first->rank == 0 ||
            memcmp(next->shape + 1, first->shape + 1,
                   (first->rank - 1) * sizeof *first->shape) != 0)
            return vt_fail(
                VITCL_ECORRUPT,
                "%s: %.100s and %.100s cannot be joined: their shapes differ",
                path, first->tensor->name, next->tensor->name);
        e->weight.shape[0] += next->shape[0];
    }
    if (!fill_key_bias(e, p, n)) {
        if (n != p->of)
            return vt_fail(VITCL_ECORRUPT,
                           "%s: %.100s is only part of %.100s: the rest is "
                           "missing",
                           path, p->part.tensor->name, p->name);
        for (size_t i = 0; i < n; i++)
            e->parts[i] = p[i].part;
        e->count = (uint8_t)n;
    }
    for (size_t i = 0; i < e->count; i++)
        e->weight.count += e->parts[i].count;
    return VITCL_OK;
}

static vitcl_status join_all(vt_weights *w)
{
    VT_RET(VT_NEW(&w->entries, w->piece_count));
    if (w->piece_count)
        qsort(w->pieces, w->piece_count, sizeof *w->pieces, by_name_and_number);
    for (size_t i = 0, n; i < w->piece_count; i += n) {
        for (n = 1; i + n < w->piece_count &&
                    strcmp(w->pieces[i].name, w->pieces[i + n].name) == 0;)
            n++;
        if (n > PARTS)
            return vt_fail(VITCL_ECORRUPT, "%s: %zu tensors map to %.100s",
                           vt_tensors_path(w->raw), n, w->pieces[i].name);
        VT_RET(join(w, &w->entries[w->count++], &w->pieces[i], n));
    }
    return VITCL_OK;
}

/* ---- which dialect ---- */

static vitcl_status no_dialect(const vt_tensors *raw, const vt_json *config,
                               bool text)
{
    const char *type = NULL;

    if (text)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: no text tower with known names among its %zu "
                       "tensors",
                       vt_tensors_path(raw), vt_tensors_count(raw));
    vt_json_string(&type, vt_json_get(config, "model_type"));
    return vt_fail(VITCL_EUNSUPPORTED,
                   "%s: no patch embedding with a known name among its "
                   "%zu tensors%s%.40s%s (the first is %.60s)",
                   vt_tensors_path(raw), vt_tensors_count(raw),
                   type ? "; config.json says " : "", type ? type : "", "",
                   vt_tensors_count(raw) ? vt_tensors_at(raw, 0)->name
                                         : "missing");
}

/* In timm, the stem of a hybrid without ResNet blocks has another name. */
static void rename_bare_stem(vt_weights *w)
{
    static const char stem[] = "patch_embed.backbone.stem.";
    const size_t n = sizeof stem - 1;

    for (size_t i = 0; i < w->piece_count; i++)
        if (strncmp(w->pieces[i].name, "patch_embed.backbone.stages.", 28) == 0)
            return;
    for (size_t i = 0; i < w->piece_count; i++) {
        char *s = w->pieces[i].name;
        if (strncmp(s, stem, n) == 0)
            memmove(s + n - 5, s + n, strlen(s + n) + 1);
    }
}

static void find(vt_weights *w, const vt_dialect *dialects)
{
    if (!w->dialect && dialects)
        w->dialect = vt_dialect_find(&w->prefix, &w->head, &w->outer, dialects,
                                     (const char *const *)w->names);
}

static void add_rows(vt_weights *w, const vt_row *const *lists)
{
    for (; lists && *lists && w->lists < LISTS; lists++)
        w->rows[w->lists++] = *lists;
}

static vitcl_status make(vt_weights **out, vt_tensors *raw,
                         const vt_json *config, const vt_dialect *dialects,
                         const vt_names *const *families)
{
    vitcl_status st;
    vt_weights *w = NULL;

    VT_TRY(VT_NEW(&w, 1));
    w->raw = raw;
    VT_TRY(vt_names_unwrap(&w->names, raw));
    for (const vt_names *const *f = families; f && *f; f++)
        find(w, (*f)->dialects);
    find(w, dialects);
    if (!w->dialect) {
        st = no_dialect(raw, config, dialects == vt_text_dialects);
        goto done;
    }
    add_rows(w, w->dialect->rows);
    for (; families && *families && w->dialect->more; families++)
        add_rows(w, (*families)->rows[w->dialect->more]);
    for (size_t i = 0; i < vt_tensors_count(raw); i++)
        VT_TRY(map_tensor(w, i));
    rename_bare_stem(w);
    VT_TRY(join_all(w));
    *out = w, w = NULL;
done:
    if (w)
        w->raw = NULL; /* the caller still owns it */
    vt_weights_free(w);
    return st;
}

vitcl_status vt_weights_new(vt_weights **out, vt_tensors *raw,
                            const vt_json *config,
                            const vt_names *const *families)
{
    return make(out, raw, config, vt_dialects, families);
}

vitcl_status vt_weights_new_text(vt_weights **out, vt_tensors *raw)
{
    return make(out, raw, NULL, vt_text_dialects, NULL);
}

void vt_weights_free(vt_weights *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->piece_count; i++)
        free(w->pieces[i].name);
    for (size_t i = 0; w->names && w->names[i]; i++)
        free(w->names[i]);
    free(w->names);
    free(w->pieces);
    free(w->entries);
    vt_tensors_free(w->raw);
    free(w);
}

/* ---- lookup ---- */

static int by_weight(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->weight.name,
                  ((const entry *)b)->weight.name);
}

const vt_weight *vt_weights_get(const vt_weights *w, const char *name)
{
    entry key = {.weight.name = name};
    return w->count ? bsearch(&key, w->entries, w->count, sizeof *w->entries,
                              by_weight)
                    : NULL;
}

size_t vt_weights_count(const vt_weights *w)
{
    return w->count;
}

const vt_weight *vt_weights_at(const vt_weights *w, size_t index)
{
    return index < w->count ? &w->entries[index].weight : NULL;
}

const char *vt_weights_dialect(const vt_weights *w)
{
    return w->dialect->name;
}

const vt_tensors *vt_weights_raw(const vt_weights *w)
{
    return w->raw;
}

const char *vt_weights_raw_name(const vt_weights *w, size_t index)
{
    const char *name = w->names[index];

    return name + (strncmp(name, w->head, w->outer) == 0 ? w->outer : 0);
}

static const entry *entry_of(const vt_weight *t)
{
    return (const entry *)(const void *)t;
}

vt_file_dtype vt_weight_dtype(const vt_weights *w, const vt_weight *t)
{
    const entry *e = entry_of(t);

    (void)w;
    return e->count && e->parts[0].tensor ? e->parts[0].tensor->dtype
                                          : VT_FILE_F32;
}

vitcl_status vt_weight_f32(float *out, const vt_weights *w, const vt_weight *t)
{
    vitcl_status st = VITCL_OK;
    const entry *e = entry_of(t);

    for (size_t i = 0; i < e->count; i++) {
        st = vt_tensor_part_read(out, &e->parts[i]);
        if (st == VITCL_EIO)
            return st; /* its message names the unreadable file */
        if (st != VITCL_OK)
            return vt_fail_in(st, "%s", vt_tensors_path(w->raw));
        out += e->parts[i].count;
    }
    return st;
}

vitcl_status vt_weight_rows(float *out, const vt_weight *t, uint64_t first,
                            uint64_t rows)
{
    const entry *e = entry_of(t);
    vt_tensor_part part = e->parts[0];
    const uint64_t wide = t->rank == 2 ? t->shape[1] : 0;

    if (!wide || e->count != 1 || part.axes || first > t->shape[0] ||
        rows > t->shape[0] - first)
        return vt_fail(VITCL_EINVAL, "%s: rows that it does not have", t->name);
    part.first += first * wide;
    part.count = rows * wide;
    return vt_tensor_part_read(out, &part);
}
