/*
 * torch.c - reads PyTorch's zip files: X/data.pkl, and one X/data/KEY per
 * storage.
 *
 * Also reads TorchScript archives such as OpenAI's CLIP, whose modules become
 * dotted names. From a training checkpoint, the model's state dict is taken.
 */
#include "base/memory.h"
#include "weights/archive.h"
#include "weights/pickle.h"

#include <stdio.h>
#include <string.h>

#define PICKLE_MAX ((size_t)64 << 20)
#define DEPTH_MAX 32
#define VISITS_MAX (4 * VT_TENSORS_MAX) /* shared dicts count each time */
#define COPIES_FREE ((size_t)64 << 20)

typedef struct storage {
    const uint8_t *data;
    size_t size;
    bool read;
} storage;

typedef struct torch_file {
    vt_tensors *out;
    const char *file;
    vt_archive *zip;
    char prefix[VT_NAME_MAX];
    vt_pickle pickle;
    storage *storages; /* indexed by zip entry */
    size_t visits, copies;
} torch_file;

/* ---- storages ---- */

/* The bytes of a storage; each is read only once. */
static vitcl_status read_storage(torch_file *f, const vt_pk_value *v,
                                 storage **out)
{
    char name[2 * VT_NAME_MAX];
    size_t index = 0, size = 0, bytes = 0;
    uint8_t *block = NULL;

    if (v->length > 64 || memchr(v->text, '/', v->length))
        return vt_fail(VITCL_ECORRUPT, "%s: a storage has an invalid name",
                       f->file);
    snprintf(name, sizeof name, "%sdata/%.*s", f->prefix, (int)v->length,
             v->text);
    if (!vt_archive_find(&index, f->zip, name))
        return vt_fail(VITCL_ECORRUPT, "%s: entry %.100s is missing", f->file,
                       name);
    *out = &f->storages[index];
    if (!(*out)->read) {
        VT_RET(vt_archive_read(&block, &size, f->zip, index));
        VT_RET(vt_tensors_keep(f->out, block));
        **out = (storage){block, size, true};
    }
    if (!vt_mul(&bytes, (size_t)v->number, vt_pickle_element(v)->size) ||
        bytes != (*out)->size)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: %.100s: %zu byte%s for %lld element%s of %s",
                       f->file, name, (*out)->size, vt_plural((*out)->size),
                       (long long)v->number, vt_plural((uint64_t)v->number),
                       vt_pickle_element(v)->name);
    return VITCL_OK;
}

/* ---- tensors ---- */

/* Number of elements, and the last one's index + 1; false: overflow. */
static bool extent(const vt_pk_tensor *t, size_t *count, size_t *end)
{
    size_t n = 1, last = (size_t)t->offset, step;

    for (uint32_t i = 0; i < t->rank; i++) {
        if (!vt_mul(&n, n, (size_t)t->shape[i]))
            return false;
        if (t->shape[i] == 0)
            continue;
        if (!vt_mul(&step, (size_t)t->shape[i] - 1, (size_t)t->stride[i]) ||
            !vt_sum(&last, last, step))
            return false;
    }
    *count = n;
    if (n == 0)
        *end = 0;
    return n == 0 || vt_sum(end, last, 1);
}

static bool is_contiguous(const vt_pk_tensor *t)
{
    uint64_t s = 1;

    for (uint32_t i = t->rank; i-- > 0; s *= t->shape[i])
        if (t->shape[i] != 1 && t->stride[i] != s)
            return false;
    return true;
}

static void gather(uint8_t *out, const uint8_t *in, const vt_pk_tensor *t,
                   size_t count, size_t size)
{
    uint64_t at[VT_RANK_MAX] = {0}, from = 0;

    for (size_t i = 0; i < count; i++, out += size) {
        memcpy(out, in + from * size, size);
        for (uint32_t d = t->rank; d-- > 0;) {
            from += t->stride[d];
            if (++at[d] < t->shape[d])
                break;
            from -= t->stride[d] * t->shape[d];
            at[d] = 0;
        }
    }
}

static vitcl_status add_tensor(torch_file *f, const char *name,
                               const vt_pk_tensor *t)
{
    const vt_pk_value *v = &f->pickle.values[t->storage];
    const vt_element *e = vt_pickle_element(v);
    storage *s = NULL;
    size_t count = 0, end = 0;
    const uint8_t *data;
    uint8_t *copy = NULL;

    VT_RET(read_storage(f, v, &s));
    if (!extent(t, &count, &end) || end > (size_t)v->number)
        return vt_fail(VITCL_ECORRUPT, "%s: %.100s extends beyond its storage",
                       f->file, name);
    data = s->data + (count ? (size_t)t->offset * e->size : 0);
    if (count && !is_contiguous(t)) {
        if (count > f->copies / e->size)
            return vt_fail(
                VITCL_ECORRUPT,
                "%s: %.100s: its views need much more memory than the file",
                f->file, name);
        f->copies -= count * e->size;
        VT_RET(VT_NEW(&copy, count * e->size));
        gather(copy, data, t, count, e->size);
        data = copy;
        VT_RET(vt_tensors_keep(f->out, copy));
    }
    return vt_tensors_add(f->out, f->file, name, e, t->rank, t->shape, data,
                          count * e->size);
}

/* ---- the tree ---- */

static bool is_key(const vt_pickle *p, vt_pk_ref key, const char *word)
{
    const vt_pk_value *v = &p->values[key];
    return v->kind == VT_PK_STRING && v->length == strlen(word) &&
           memcmp(v->text, word, v->length) == 0;
}

/* Where a training checkpoint keeps the state dict (timm: load_state_dict and
 * the families' checkpoint_filter_fn). */
static vt_pk_ref find_state(const vt_pickle *p, vt_pk_ref root)
{
    static const char *const words[] = {"state_dict_ema", "model_ema",
                                        "state_dict", "model", "module"};
    for (int depth = 0; depth < 4; depth++) {
        const vt_pk_value *v = &p->values[root];
        vt_pk_ref found = root;

        if (v->kind != VT_PK_DICT)
            break;
        for (size_t w = 0; w < VT_COUNT(words) && found == root; w++)
            for (uint32_t i = v->first; i; i = p->items[i].next) {
                const vt_pk_value *x = &p->values[p->items[i].value];
                if (is_key(p, p->items[i].key, words[w]) &&
                    x->kind == VT_PK_DICT && x->count)
                    found = p->items[i].value;
            }
        if (found == root)
            break;
        root = found;
    }
    return root;
}

/* Adds all tensors below `at`; name[0..n) is the prefix of their names. */
static vitcl_status flatten(torch_file *f, vt_pk_ref at, char *name, size_t n,
                            int depth)
{
    const vt_pickle *p = &f->pickle;

    if (depth == DEPTH_MAX)
        return vt_fail(VITCL_ECORRUPT, "%s: pickle: dicts nested too deeply",
                       f->file);
    for (uint32_t i = p->values[at].first; i; i = p->items[i].next) {
        const vt_pk_value *key = &p->values[p->items[i].key];
        const vt_pk_value *v = &p->values[p->items[i].value];
        size_t m = n + key->length;

        /* It may lie beside tensors, but not in place of one. */
        if (v->kind == VT_PK_FOREIGN && v->number)
            return vt_pickle_refuse_foreign(p, v->other);
        if (++f->visits > VISITS_MAX)
            return vt_fail(VITCL_ECORRUPT, "%s: pickle: too many names",
                           f->file);
        if (key->kind != VT_PK_STRING ||
            (v->kind != VT_PK_TENSOR && v->kind != VT_PK_DICT &&
             v->kind != VT_PK_OBJECT))
            continue;
        if (key->length > VT_NAME_MAX || m + 1 > VT_NAME_MAX ||
            memchr(key->text, '\0', key->length))
            return vt_fail(VITCL_ECORRUPT,
                           "%s: a tensor's name is too long "
                           "or has a NUL",
                           f->file);
        memcpy(name + n, key->text, key->length);
        name[m] = '\0';
        if (v->kind == VT_PK_TENSOR) {
            VT_RET(add_tensor(f, name, &p->tensors[v->other]));
        } else {
            name[m] = '.';
            VT_RET(flatten(f, p->items[i].value, name, m + 1, depth + 1));
        }
    }
    return VITCL_OK;
}

/* ---- the file ---- */

/* The index of X/data.pkl; its X/ becomes the prefix. */
static vitcl_status find_pickle(torch_file *f, size_t *index)
{
    for (size_t i = 0; i < vt_archive_count(f->zip); i++) {
        const char *name = vt_archive_name(f->zip, i);
        const char *slash = strchr(name, '/');
        size_t n = slash ? (size_t)(slash + 1 - name) : 0;
        if (strcmp(name + n, "data.pkl") == 0 && n < sizeof f->prefix) {
            memcpy(f->prefix, name, n);
            f->prefix[n] = '\0';
            *index = i;
            return VITCL_OK;
        }
    }
    return vt_fail(VITCL_EUNSUPPORTED,
                   "%s: a zip file without numpy arrays or PyTorch's "
                   "data.pkl",
                   f->file);
}

static vitcl_status check_order(torch_file *f)
{
    vitcl_status st = VITCL_OK;
    char name[VT_NAME_MAX + 16];
    uint8_t *text = NULL;
    size_t index, size = 0;

    snprintf(name, sizeof name, "%sbyteorder", f->prefix);
    if (!vt_archive_find(&index, f->zip, name))
        return VITCL_OK;
    VT_TRY(vt_archive_read(&text, &size, f->zip, index));
    if (size != 6 || memcmp(text, "little", 6) != 0)
        st = vt_fail(
            VITCL_EUNSUPPORTED,
            "%s: written on a big-endian machine, which is not supported",
            f->file);
done:
    free(text);
    return st;
}

static bool sniff(const uint8_t *bytes, size_t size)
{
    return vt_is_zip(bytes, size);
}

static vitcl_status open_torch(vt_tensors *t, const vt_reader_input *in)
{
    const char *file = in->file;
    vitcl_status st;
    torch_file f = {.out = t, .file = file};
    char name[VT_NAME_MAX + 8];
    uint8_t *program = NULL;
    size_t index = 0;
    vt_pk_ref root = 0;

    f.copies =
        in->size / 2 > SIZE_MAX / 8 ? SIZE_MAX : in->size * 4 + COPIES_FREE;
    VT_TRY(vt_archive_open(&f.zip, in));
    VT_TRY(VT_NEW(&f.storages, vt_archive_count(f.zip)));
    VT_TRY(find_pickle(&f, &index));
    VT_TRY(check_order(&f));
    VT_TRY(vt_archive_read(&program, &f.pickle.size, f.zip, index));
    if (f.pickle.size > PICKLE_MAX)
        VT_TRY(vt_fail(VITCL_ECORRUPT, "%s: a pickle of %zu bytes", file,
                       f.pickle.size));
    f.pickle.bytes = program;
    f.pickle.file = file;
    VT_TRY(vt_pickle_run(&f.pickle, &root));
    VT_TRY(flatten(&f, find_state(&f.pickle, root), name, 0, 0));
    if (t->count == 0 && f.pickle.foreign_count)
        st = vt_pickle_refuse_foreign(&f.pickle, 0); /* a whole model? */
    else if (t->count == 0)
        st =
            vt_fail(VITCL_EUNSUPPORTED, "%s: the file has no state dict", file);
done:
    vt_pickle_clear(&f.pickle);
    free(program);
    free(f.storages);
    vt_archive_free(f.zip);
    return st;
}

const vt_reader vt_read_torch = {"torch", sniff, open_torch};
