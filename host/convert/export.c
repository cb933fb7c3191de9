/*
 * export.c - applies the tables of dialects.c in reverse.
 *
 * Every canonical weight is first changed where the two libraries differ in
 * more than names (`form`), then cut into the pieces that rows ask for; pieces
 * of one name are joined again. A part that no row takes must be zeros, such as
 * a key bias that a family does not have. One tensor is in memory at a time.
 */
#include "convert/export.h"

#include "base/half.h"
#include "base/memory.h"
#include "weights/reader.h"
#include "weights/save.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum { WHOLE, PAD, FOLD, ADD_ROW, WIDEN, NARROW, ZEROS } form;

typedef struct source {
    const vt_weight *weight; /* NULL: ZEROS */
    const char *name;
    form form;
    uint32_t rank;
    uint64_t shape[VT_RANK_MAX], count; /* after the form */
} source;

typedef struct piece {
    char *name;
    uint8_t position; /* among the pieces of its name */
    uint32_t source;
    uint32_t rank;
    uint64_t first, count, shape[VT_RANK_MAX];
} piece;

typedef struct job {
    const char *path;
    const vt_weights *w;
    const vt_export *how;
    source *sources;
    size_t source_count;
    piece *pieces; /* by name and position */
    size_t piece_count, piece_cap;
    vt_tensor *tensors; /* of the file */
    size_t *first;      /* piece of each tensor */
    size_t count;
    float *scratch, *line; /* a source; a tensor */
} job;

/* ---- differences beyond names ---- */

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static vitcl_status set_form(const job *j, source *s)
{
    const vt_export *how = j->how;

    if (is(s->name, "pos_embed") && s->rank == 3) {
        if (how->pad_positions)
            s->form = PAD, s->shape[1]++, s->count += s->shape[2];
        else if (how->fold_positions && s->shape[1])
            s->form = FOLD, s->shape[1]--, s->count -= s->shape[2];
    } else if (is(s->name, "cls_token") && how->fold_positions) {
        const vt_weight *p = vt_weights_get(j->w, "pos_embed");
        if (!p || p->rank != 3 || p->shape[1] == 0 || p->shape[2] != s->count)
            return vt_fail(VITCL_ECORRUPT, "%s: no pos_embed of the same width",
                           s->name);
        s->form = ADD_ROW;
    } else if (is(s->name, "head.weight") && s->rank == 2) {
        if (how->widen_head)
            s->form = WIDEN, s->shape[1] *= 2, s->count *= 2;
        else if (how->narrow_head && s->shape[1] % 2 == 0)
            s->form = NARROW, s->shape[1] /= 2, s->count /= 2;
    }
    return VITCL_OK;
}

static vitcl_status list_sources(job *j)
{
    const vt_weight *head = vt_weights_get(j->w, "head.weight");
    const uint64_t width = (uint64_t)j->how->mask_token;

    VT_RET(VT_NEW(&j->sources, vt_weights_count(j->w) + 2));
    for (size_t i = 0; i < vt_weights_count(j->w); i++) {
        const vt_weight *t = vt_weights_at(j->w, i);
        source *s = &j->sources[j->source_count];

        if (j->how->drop &&
            strncmp(t->name, j->how->drop, strlen(j->how->drop)) == 0)
            continue;
        if (j->how->drop_head_bias && is(t->name, "head.bias")) {
            bool zero = false;
            VT_RET(vt_weight_is_zero(&zero, j->w, t->name, t->count));
            if (!zero)
                return vt_fail(VITCL_EUNSUPPORTED,
                               "%s: head.bias is not zero, but this family "
                               "has none in HF transformers",
                               j->path);
            continue;
        }
        *s = (source){
            .weight = t, .name = t->name, .rank = t->rank, .count = t->count};
        memcpy(s->shape, t->shape, sizeof s->shape);
        VT_RET(set_form(j, s));
        j->source_count++;
    }
    if (j->how->add_head_bias && head && !vt_weights_get(j->w, "head.bias"))
        j->sources[j->source_count++] = (source){.name = "head.bias",
                                                 .form = ZEROS,
                                                 .rank = 1,
                                                 .shape = {head->shape[0]},
                                                 .count = head->shape[0]};
    if (width)
        j->sources[j->source_count++] =
            (source){.name = "embeddings.mask_token",
                     .form = ZEROS,
                     .rank = 2,
                     .shape = {1, width},
                     .count = width};
    return VITCL_OK;
}

/* out: s->count elements. */
static vitcl_status read_source(float *out, const job *j, const source *s)
{
    vitcl_status st;
    const vt_weight *t = s->weight, *p;
    const uint64_t rows = s->shape[0], row = s->rank == 2 ? s->shape[1] : 0;
    float *in = NULL;

    if (s->form == ZEROS) {
        memset(out, 0, (size_t)s->count * sizeof *out);
        return VITCL_OK;
    }
    if (s->form == WHOLE)
        return vt_weight_f32(out, j->w, t);
    VT_TRY(VT_NEW(&in, (size_t)t->count));
    VT_TRY(vt_weight_f32(in, j->w, t));
    switch (s->form) {
    case PAD: /* with minus zeros: adding them changes no bit */
        for (uint64_t i = 0; i < s->shape[2]; i++)
            out[i] = -0.0f;
        memcpy(out + s->shape[2], in, (size_t)t->count * sizeof *in);
        break;
    case FOLD:
        memcpy(out, in + s->shape[2], (size_t)s->count * sizeof *in);
        break;
    case ADD_ROW:
        memcpy(out, in, (size_t)s->count * sizeof *in);
        free(in), in = NULL;
        p = vt_weights_get(j->w, "pos_embed");
        VT_TRY(VT_NEW(&in, (size_t)p->count));
        VT_TRY(vt_weight_f32(in, j->w, p));
        for (uint64_t i = 0; i < s->count; i++)
            out[i] += in[i];
        break;
    case WIDEN:
        memset(out, 0, (size_t)s->count * sizeof *out);
        for (uint64_t r = 0; r < rows; r++)
            memcpy(out + r * row, in + r * row / 2,
                   (size_t)(row / 2) * sizeof *in);
        break;
    case NARROW:
        for (uint64_t r = 0; r < rows; r++)
            for (uint64_t i = 0; i < 2 * row; i++) {
                float v = in[r * 2 * row + i];
                if (i < row)
                    out[r * row + i] = v;
                else if (v != 0)
                    VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                                   "%s: the head reads the mean of the "
                                   "patches, but timm's does not",
                                   j->path));
            }
        break;
    case WHOLE:
    case ZEROS:
        break;
    }
done:
    free(in);
    return st;
}

/* ---- from names to pieces ---- */

static vitcl_status add_piece(job *j, size_t index, const vt_row *r,
                              const char *name)
{
    const source *s = &j->sources[index];
    const bool head = strncmp(s->name, "head.", 5) == 0 ||
                      strncmp(s->name, "head_dist.", 10) == 0;
    piece p = {.source = (uint32_t)index, .rank = s->rank, .count = s->count};

    memcpy(p.shape, s->shape, sizeof p.shape);
    if (r && r->parts > 1) {
        if (s->shape[0] % r->parts)
            return vt_fail(VITCL_ECORRUPT,
                           "%s: %s has a number of rows that cannot be split",
                           j->path, s->name);
        p.shape[0] /= r->parts;
        p.count /= r->parts;
        p.first = p.count * r->part;
    }
    if (r && r->of)
        p.position = r->first;
    if (r && r->layout == VT_TOKEN && s->rank == 3)
        p.rank = 1, p.shape[0] = s->shape[2];
    if (r && r->layout == VT_TABLE && s->rank == 3)
        p.rank = 2, p.shape[0] = s->shape[1], p.shape[1] = s->shape[2];
    VT_RET(vt_grow(&j->pieces, &j->piece_cap, j->piece_count + 1,
                   sizeof *j->pieces));
    VT_RET(vt_format(&p.name, "%s%s",
                     head || !j->how->prefix ? "" : j->how->prefix, name));
    j->pieces[j->piece_count++] = p;
    return VITCL_OK;
}

/* Parts of a source that no row took must be zeros. */
static vitcl_status check_rest(job *j, const source *s, unsigned taken,
                               unsigned parts)
{
    uint64_t n = s->count / parts;

    VT_RET(read_source(j->scratch, j, s));
    for (unsigned k = 0; k < parts; k++)
        for (uint64_t i = 0; i < n && !(taken >> k & 1); i++)
            if (j->scratch[k * n + i] != 0)
                return vt_fail(VITCL_EUNSUPPORTED,
                               "%s: the target format has no tensor for %s, "
                               "which is not zero",
                               j->path, s->name);
    return VITCL_OK;
}

static vitcl_status cut(job *j, size_t index)
{
    const source *s = &j->sources[index];
    unsigned numbers[2] = {0}, taken = 0, parts = 0;
    char name[VT_NAME_MAX + 64];
    const char *word;

    for (const vt_row *const *list = j->how->names; list && *list; list++)
        for (const vt_row *r = *list; r->from; r++) {
            if (!r->to || !vt_name_fits(r->to, s->name, numbers, &word))
                continue;
            if (!vt_name_make(name, sizeof name, r->from, numbers, word))
                return vt_fail(VITCL_ECORRUPT, "%s: name too long", s->name);
            VT_RET(add_piece(j, index, r, name));
            parts = r->parts ? r->parts : 1;
            taken |= 1u << r->part;
        }
    if (parts && taken != (1u << parts) - 1)
        VT_RET(check_rest(j, s, taken, parts));
    if (!parts && j->how->hf && s->form != ZEROS)
        return vt_fail(
            VITCL_EUNSUPPORTED,
            "%s: HF transformers has no tensor for %s in this family", j->path,
            s->name);
    if (!parts && strncmp(s->name, "pooler.", 7) != 0) /* timm has none */
        VT_RET(add_piece(j, index, NULL, s->name));
    return VITCL_OK;
}

static int by_name(const void *a, const void *b)
{
    const piece *x = a, *y = b;
    int c = strcmp(x->name, y->name);
    return c ? c : (int)x->position - (int)y->position;
}

/* ---- from pieces to a file ---- */

static vt_file_dtype type_of(vt_file_dtype stored, vt_file_dtype wanted)
{
    bool kept = stored == VT_FILE_F32 || stored == VT_FILE_F16 ||
                stored == VT_FILE_BF16;
    return wanted != VT_FILE_OTHER ? wanted : kept ? stored : VT_FILE_F32;
}

static size_t size_of(vt_file_dtype dtype)
{
    return dtype == VT_FILE_F32 ? 4 : 2;
}

static vitcl_status join_all(job *j)
{
    VT_RET(VT_NEW(&j->tensors, j->piece_count));
    VT_RET(VT_NEW(&j->first, j->piece_count + 1));
    if (j->piece_count)
        qsort(j->pieces, j->piece_count, sizeof *j->pieces, by_name);
    for (size_t i = 0; i < j->piece_count; i++) {
        const piece *p = &j->pieces[i];
        const vt_weight *from = j->sources[p->source].weight;
        vt_tensor *t = &j->tensors[j->count];

        if (i && is(p->name, p[-1].name)) {
            t--;
            t->shape[0] += p->shape[0];
            t->count += p->count;
        } else {
            j->first[j->count++] = i;
            *t = (vt_tensor){
                .name = p->name, .rank = p->rank, .count = p->count};
            memcpy(t->shape, p->shape, sizeof t->shape);
            t->dtype =
                type_of(from ? vt_weight_dtype(j->w, from) : VT_FILE_OTHER,
                        j->how->dtype);
        }
        t->size = (size_t)t->count * size_of(t->dtype);
    }
    j->first[j->count] = j->piece_count;
    return VITCL_OK;
}

static vitcl_status put(uint8_t *out, const float *in, const vt_tensor *t)
{
    const bool half = t->dtype == VT_FILE_F16;

    for (uint64_t i = 0; i < t->count; i++) {
        if (t->dtype == VT_FILE_F32) {
            memcpy(out + 4 * i, &in[i], 4);
            continue;
        }
        uint16_t h = half ? vt_f32_to_f16(in[i]) : vt_f32_to_bf16(in[i]);
        if (isfinite(in[i]) && (h & 0x7fff) == (half ? 0x7c00 : 0x7f80))
            return vt_fail(VITCL_EUNSUPPORTED, "%s: %g is too large for %s",
                           t->name, (double)in[i],
                           half ? "f16: use bf16" : "bf16: use f32");
        memcpy(out + 2 * i, &h, 2);
    }
    return VITCL_OK;
}

static vitcl_status fill(void *context, size_t index, uint8_t *out)
{
    job *j = context;
    float *line = j->line;

    for (size_t i = j->first[index]; i < j->first[index + 1]; i++) {
        const piece *p = &j->pieces[i];
        const source *s = &j->sources[p->source];
        VT_RET(read_source(j->scratch, j, s));
        memcpy(line, j->scratch + p->first, (size_t)p->count * sizeof *line);
        line += p->count;
    }
    return put(out, j->line, &j->tensors[index]);
}

vitcl_status vt_weights_export(const char *path, const vt_weights *w,
                               const vt_export *how)
{
    vitcl_status st;
    job j = {.path = path, .w = w, .how = how};
    uint64_t most = 0;

    VT_TRY(list_sources(&j));
    for (size_t i = 0; i < j.source_count; i++)
        most = VT_MAX(most, j.sources[i].count);
    VT_TRY(VT_NEW(&j.scratch, (size_t)most));
    for (size_t i = 0; i < j.source_count; i++)
        VT_TRY(cut(&j, i));
    VT_TRY(join_all(&j));
    most = 0;
    for (size_t i = 0; i < j.count; i++)
        most = VT_MAX(most, j.tensors[i].count);
    VT_TRY(VT_NEW(&j.line, (size_t)most));
    VT_TRY(vt_safetensors_fill(path, j.tensors, j.count, how->metadata, false,
                               fill, &j));
done:
    for (size_t i = 0; i < j.piece_count; i++)
        free(j.pieces[i].name);
    free(j.pieces);
    free(j.sources);
    free(j.tensors);
    free(j.first);
    free(j.scratch);
    free(j.line);
    return st;
}

vitcl_status vt_weight_is_zero(bool *out, const vt_weights *w, const char *name,
                               uint64_t n)
{
    vitcl_status st = VITCL_OK;
    const vt_weight *t = vt_weights_get(w, name);
    float *f = NULL;
    bool zero = t && t->count >= n;

    if (zero) {
        VT_TRY(VT_NEW(&f, (size_t)t->count));
        VT_TRY(vt_weight_f32(f, w, t));
        for (uint64_t i = 0; i < n && zero; i++)
            zero = f[i] == 0;
    }
    *out = zero;
done:
    free(f);
    return st;
}

/* ---- unchanged names ---- */

static vitcl_status copy(void *context, size_t index, uint8_t *out)
{
    job *j = context;

    VT_RET(vt_tensor_f32(j->line, &j->tensors[index]));
    return put(out, j->line, &j->tensors[j->count + index]);
}

vitcl_status vt_tensors_export(const char *path, const vt_tensors *t,
                               const vt_weights *w, vt_file_dtype dtype,
                               const char *const *metadata)
{
    vitcl_status st;
    job j = {.path = path, .count = vt_tensors_count(t)};
    uint64_t most = 0;
    size_t n = 0;

    VT_TRY(VT_NEW(&j.tensors, 2 * j.count));
    for (size_t i = 0; i < j.count; i++) {
        const vt_tensor *from = vt_tensors_at(t, i);
        const char *name = w ? vt_weights_raw_name(w, i) : from->name;
        vt_tensor *to = &j.tensors[j.count + n];

        if (!*name)
            continue;
        j.tensors[n++] = *to = *from;
        to->name = name;
        if (from->dtype == VT_FILE_OTHER)
            VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                           "%s: %.100s: its element type cannot be written",
                           vt_tensors_path(t), from->name));
        if (from->dtype > VT_FILE_F64 ||
            type_of(from->dtype, dtype) == from->dtype)
            continue; /* bytes unchanged */
        to->dtype = type_of(from->dtype, dtype);
        to->size = (size_t)to->count * size_of(to->dtype);
        to->data = NULL, to->source = NULL;
        most = VT_MAX(most, to->count);
    }
    VT_TRY(VT_NEW(&j.line, (size_t)most));
    VT_TRY(vt_safetensors_fill(path, j.tensors + j.count, n, metadata, false,
                               copy, &j));
done:
    free(j.tensors);
    free(j.line);
    return st;
}
