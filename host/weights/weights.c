/*
 * weights.c - chooses the file and the reader, and holds the tensors read.
 *
 * A folder may hold a checkpoint in several formats; candidates[] gives the
 * order of preference. An index (".index.json") names shards, which must be in
 * its folder.
 */
#include "base/file.h"
#include "base/half.h"
#include "base/memory.h"
#include "weights/builtin.h"
#include "weights/reader.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

static const vt_reader *const readers[] = {
    &vt_read_safetensors, /* also what is only called so: first */ &vt_read_npz,
    &vt_read_torch, /* any zip file: last */
};

static const char *const candidates[] = {
    "model.safetensors",
    "model.safetensors.index.json",
    "model.npz",
    "open_clip_model.safetensors",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
    "open_clip_pytorch_model.bin",
    "model.pth",
};
static const char *const endings[] = {".safetensors", ".npz", ".bin", ".pth",
                                      ".pt"};

#define INDEX_MAX (64 << 20)
#define HEAD (1 << 17) /* bytes to sniff: enough for a zip's first name */
#define SHARDS_MAX 1000

vitcl_status vt_tensors_keep(vt_tensors *t, void *block)
{
    vitcl_status st = vt_grow(&t->blocks, &t->block_cap, t->block_count + 1,
                              sizeof *t->blocks);
    if (st == VITCL_OK)
        t->blocks[t->block_count++] = block;
    else
        free(block);
    return st;
}

static vitcl_status check_name(const char *file, const char *name)
{
    size_t n = strlen(name);

    if (n == 0 || n > VT_NAME_MAX)
        return vt_fail(VITCL_ECORRUPT, "%s: a tensor's name has %zu bytes",
                       file, n);
    if (!vt_utf8(name, n))
        return vt_fail(VITCL_ECORRUPT, "%s: a tensor's name is not UTF-8",
                       file);
    return VITCL_OK;
}

vitcl_status vt_tensors_add(vt_tensors *t, const char *file, const char *name,
                            const vt_element *element, uint32_t rank,
                            const uint64_t *shape, const uint8_t *data,
                            size_t size)
{
    vitcl_status st;
    vt_tensor x = {.dtype = element->dtype, .rank = rank, .data = data};
    size_t count = 1, bytes = 0;
    char *copy = NULL;

    VT_TRY(check_name(file, name));
    if (t->count == VT_TENSORS_MAX)
        return vt_fail(VITCL_ECORRUPT, "%s: more than %d tensors", file,
                       VT_TENSORS_MAX);
    if (rank > VT_RANK_MAX)
        return vt_fail(VITCL_ECORRUPT, "%s: %.100s: more than %d axes", file,
                       name, VT_RANK_MAX);
    for (uint32_t i = 0; i < rank; i++) {
        x.shape[i] = shape[i];
        if (shape[i] > SIZE_MAX || !vt_mul(&count, count, (size_t)shape[i]))
            return vt_fail(VITCL_ECORRUPT, "%s: %.100s: shape is too large",
                           file, name);
    }
    if (!vt_mul(&bytes, count, element->size) || bytes != size)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: %.100s: %zu elements of %s do not fit %zu bytes",
                       file, name, count, element->name, size);
    x.count = count;
    x.size = size;
    VT_TRY(vt_grow(&t->items, &t->cap, t->count + 1, sizeof *t->items));
    VT_TRY(vt_strdup(&copy, name));
    x.name = copy;
    t->items[t->count++] = x;
done:
    return st;
}

static bool ends(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n > m && strcmp(s + n - m, end) == 0;
}

vitcl_status vt_input_read(void *out, const vt_input *in, uint64_t at, size_t n)
{
    int error;

    if (!in->source) {
        if (n)
            memcpy(out, in->bytes + at, n);
        return VITCL_OK;
    }
    error = vt_read_at(in->source->fd, out, n, at);
    return error ? vt_fail(VITCL_EIO, "%s: %s", in->source->path,
                           error == VT_SHORT
                               ? "the file was truncated while in use"
                               : strerror(error))
                 : VITCL_OK;
}

vitcl_status vt_tensor_bytes(void *out, const vt_tensor *t, size_t first,
                             size_t n)
{
    const vt_input in = {.bytes = t->data, .source = t->source};

    return vt_input_read(out, &in, (t->source ? t->offset : 0) + first, n);
}

static vitcl_status read_input(vt_tensors *t, const vt_input *in)
{
    vitcl_status st = VITCL_OK;
    const size_t size = VT_MIN(in->size, (size_t)HEAD);
    const char *file = in->file;
    uint8_t *head = NULL;

    VT_TRY(VT_NEW(&head, size));
    VT_TRY(vt_input_read(head, in, 0, size));
    for (size_t i = 0; i < VT_COUNT(readers); i++)
        if (readers[i]->sniff(head, size) ||
            (i == 0 && ends(file, ".safetensors"))) {
            t->format = readers[i]->format;
            st = readers[i]->open(t, in);
            goto done;
        }
    if (size >= 7 && memcmp(head, "version", 7) == 0)
        st = vt_fail(VITCL_EUNSUPPORTED,
                     "%s: this is a Git LFS pointer, not the file itself: run "
                     "git lfs pull",
                     file);
    else if (size >= 2 && head[0] == 0x80 && head[1] <= 5)
        st = vt_fail(
            VITCL_EUNSUPPORTED,
            "%s: the format of PyTorch before 1.6 is not supported: save it "
            "again with a newer PyTorch",
            file);
    else if (!in->source && size >= 1 && head[0] == '{')
        st = vt_fail(VITCL_EUNSUPPORTED,
                     "%s: this is JSON, perhaps an index of shards; weights in "
                     "memory must be one file",
                     file);
    else
        st = vt_fail(VITCL_EUNSUPPORTED,
                     "%s: not a safetensors, .npz or PyTorch zip file", file);
done:
    free(head);
    return st;
}

static void close_source(vt_weight_file *s)
{
    if (!s)
        return;
    if (s->fd >= 0)
        close(s->fd);
    free(s->path);
    free(s);
}

/* Read on demand, never mapped: truncating a mapped file would kill us. */
static vitcl_status read_file(vt_tensors *t, const char *path)
{
    vitcl_status st;
    vt_weight_file *s = NULL;
    size_t size = 0;

    VT_TRY(vt_grow(&t->sources, &t->source_cap, t->source_count + 1,
                   sizeof *t->sources));
    VT_TRY(VT_NEW(&s, 1));
    s->fd = -1;
    VT_TRY(vt_strdup(&s->path, path));
    VT_TRY(vt_file_open(&s->fd, &size, path));
    t->sources[t->source_count++] = s;
    const vt_input in = {.source = s, .size = size, .file = s->path};
    s = NULL;
    VT_TRY(read_input(t, &in));
done:
    close_source(s);
    return st;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const vt_tensor *)a)->name, ((const vt_tensor *)b)->name);
}

static vitcl_status sort_names(vt_tensors *t, const char *path)
{
    if (t->count)
        qsort(t->items, t->count, sizeof *t->items, by_name);
    for (size_t i = 1; i < t->count; i++)
        if (strcmp(t->items[i - 1].name, t->items[i].name) == 0)
            return vt_fail(VITCL_ECORRUPT, "%s: duplicate tensor %.100s", path,
                           t->items[i].name);
    return VITCL_OK;
}

/* ---- shards ---- */

typedef struct entry {
    const char *name, *shard;
} entry;

static int by_entry(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

static int by_shard(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->shard, ((const entry *)b)->shard);
}

static bool is_plain(const char *file)
{
    return *file && *file != '.' && !strchr(file, '/') && !strchr(file, '\\');
}

/* The tensors from `before` on are from `shard`: does the index agree? */
static vitcl_status check_shard(const vt_tensors *t, size_t before,
                                const entry *map, size_t n, const char *shard,
                                const char *path)
{
    for (size_t i = before; i < t->count; i++) {
        entry key = {t->items[i].name, NULL};
        const entry *e = bsearch(&key, map, n, sizeof *map, by_entry);
        if (!e || strcmp(e->shard, shard) != 0)
            return vt_fail(VITCL_ECORRUPT,
                           "%s: %.100s is in %.100s, but the index does not "
                           "say",
                           path, t->items[i].name, shard);
    }
    return VITCL_OK;
}

static vitcl_status read_shards(vt_tensors *t, entry *map, size_t n,
                                const char *path)
{
    vitcl_status st;
    const char *slash = strrchr(path, '/');
    entry *shards = NULL;
    char *file = NULL;
    size_t opened = 0;

    VT_TRY(VT_NEW(&shards, n));
    memcpy(shards, map, n * sizeof *map);
    qsort(shards, n, sizeof *shards, by_shard);
    qsort(map, n, sizeof *map, by_entry);
    for (size_t i = 0; i < n; i++) {
        size_t before = t->count;
        const char *shard = shards[i].shard;

        if (i && strcmp(shard, shards[i - 1].shard) == 0)
            continue;
        if (++opened > SHARDS_MAX) {
            st = vt_fail(VITCL_ECORRUPT, "%s: more than %d shards", path,
                         SHARDS_MAX);
            goto done;
        }
        free(file), file = NULL;
        VT_TRY(vt_format(&file, "%.*s%s", slash ? (int)(slash + 1 - path) : 0,
                         path, shard));
        VT_TRY(read_file(t, file));
        VT_TRY(check_shard(t, before, map, n, shard, path));
    }
    if (t->count != n)
        st = vt_fail(VITCL_ECORRUPT,
                     "%s: it names %zu tensors, but the shards hold "
                     "%zu",
                     path, n, t->count);
done:
    free(file);
    free(shards);
    return st;
}

static vitcl_status read_index(vt_tensors *t, const char *path)
{
    vitcl_status st;
    vt_json *root = NULL;
    const vt_json *map;
    entry *entries = NULL;
    size_t n, i = 0;

    VT_TRY(vt_json_load(&root, path, INDEX_MAX, 8));
    map = vt_json_get(root, "weight_map");
    n = vt_json_count(map);
    if (!vt_json_is_object(map) || n == 0 || n > VT_TENSORS_MAX) {
        st = vt_fail(VITCL_ECORRUPT, "%s: \"weight_map\" is missing or invalid",
                     path);
        goto done;
    }
    VT_TRY(VT_NEW(&entries, n));
    for (const vt_json *m = vt_json_first(map); m; m = vt_json_next(m), i++) {
        entries[i].name = vt_json_key(m);
        if (!vt_json_string(&entries[i].shard, m) ||
            !is_plain(entries[i].shard)) {
            st = vt_fail(
                VITCL_ECORRUPT,
                "%s: the shard of %.100s is not a file in the same folder",
                path, entries[i].name);
            goto done;
        }
    }
    VT_TRY(read_shards(t, entries, n, path));
done:
    free(entries);
    vt_json_free(root);
    return st;
}

/* ---- folders ---- */

/* The only weight file of a folder without a file of the usual names. */
static vitcl_status find_single(char **out, const char *folder)
{
    vitcl_status st = VITCL_OK;
    DIR *dir = opendir(folder);
    const struct dirent *e;
    char *found = NULL;
    size_t n = 0;

    while (dir && (e = readdir(dir)))
        for (size_t i = 0; i < VT_COUNT(endings); i++)
            if (ends(e->d_name, endings[i]) && n++ == 0)
                VT_TRY(vt_format(&found, "%s/%s", folder, e->d_name));
    if (n != 1) {
        st = vt_fail(VITCL_EIO,
                     n ? "%s: several weight files: pass the path of one"
                       : "%s: no model.safetensors, .npz or PyTorch file",
                     folder);
        goto done;
    }
    *out = found, found = NULL;
done:
    free(found);
    if (dir)
        closedir(dir);
    return st;
}

static vitcl_status find_file(char **out, const char *path)
{
    vitcl_status st = VITCL_OK;
    char *file = NULL;

    if (!vt_path_is_folder(path))
        return vt_strdup(out, path);
    for (size_t i = 0; i < VT_COUNT(candidates); i++) {
        VT_TRY(vt_format(&file, "%s/%s", path, candidates[i]));
        if (vt_path_exists(file)) {
            *out = file, file = NULL;
            goto done;
        }
        free(file), file = NULL;
    }
    VT_TRY(find_single(out, path));
done:
    free(file);
    return st;
}

/* ---- interface (weights.h) ---- */

vitcl_status vt_tensors_open(vt_tensors **out, const char *path)
{
    vitcl_status st;
    vt_tensors *t = NULL;
    vt_builtin own;

    if (vt_builtin_find(&own, path))
        return vt_tensors_open_memory(out, own.weights, own.weights_size, path);
    VT_TRY(VT_NEW(&t, 1));
    VT_TRY(find_file(&t->path, path));
    VT_TRY(ends(t->path, ".index.json") ? read_index(t, t->path)
                                        : read_file(t, t->path));
    VT_TRY(sort_names(t, t->path));
    *out = t, t = NULL;
done:
    vt_tensors_free(t);
    return st;
}

vitcl_status vt_tensors_open_memory(vt_tensors **out, const void *bytes,
                                    size_t size, const char *name)
{
    vitcl_status st;
    vt_tensors *t = NULL;

    VT_TRY(VT_NEW(&t, 1));
    VT_TRY(vt_strdup(&t->path, name));
    const vt_input in = {.bytes = bytes, .size = size, .file = t->path};
    VT_TRY(read_input(t, &in));
    VT_TRY(sort_names(t, name));
    *out = t, t = NULL;
done:
    vt_tensors_free(t);
    return st;
}

void vt_tensors_free(vt_tensors *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->count; i++)
        free((char *)(uintptr_t)t->items[i].name);
    for (size_t i = 0; i < t->source_count; i++)
        close_source(t->sources[i]);
    for (size_t i = 0; i < t->block_count; i++)
        free(t->blocks[i]);
    free(t->items);
    free(t->sources);
    free(t->blocks);
    free(t->path);
    free(t);
}

size_t vt_tensors_count(const vt_tensors *t)
{
    return t->count;
}

const vt_tensor *vt_tensors_at(const vt_tensors *t, size_t index)
{
    return index < t->count ? &t->items[index] : NULL;
}

const vt_tensor *vt_tensors_get(const vt_tensors *t, const char *name)
{
    vt_tensor key = {.name = name};
    return t->count
               ? bsearch(&key, t->items, t->count, sizeof *t->items, by_name)
               : NULL;
}

const char *vt_tensors_format(const vt_tensors *t)
{
    return t->format;
}

const char *vt_tensors_path(const vt_tensors *t)
{
    return t->path;
}

static size_t size_of(vt_file_dtype t)
{
    return t == VT_FILE_F64 || t == VT_FILE_I64    ? 8
           : t == VT_FILE_F32 || t == VT_FILE_I32  ? 4
           : t == VT_FILE_F16 || t == VT_FILE_BF16 ? 2
                                                   : 1;
}

/* Elements may be misaligned: each one is copied from its bytes. */
#define CONVERT(type, expression)                                              \
    for (size_t i = 0; i < n; i++) {                                           \
        type v;                                                                \
        memcpy(&v, from + i * sizeof v, sizeof v);                             \
        out[i] = expression;                                                   \
    }                                                                          \
    break

static void convert(float *out, const uint8_t *from, size_t n, vt_file_dtype t)
{
    switch (t) {
    case VT_FILE_F16:
        CONVERT(uint16_t, vt_f16_to_f32(v));
    case VT_FILE_BF16:
        CONVERT(uint16_t, vt_bf16_to_f32(v));
    case VT_FILE_F64:
        CONVERT(double, (float)v);
    case VT_FILE_I64:
        CONVERT(int64_t, (float)v);
    case VT_FILE_I32:
        CONVERT(int32_t, (float)v);
    case VT_FILE_U8:
        CONVERT(uint8_t, (float)v);
    case VT_FILE_F32:
    case VT_FILE_OTHER:
        break;
    }
}

vitcl_status vt_tensor_f32(float *out, const vt_tensor *t)
{
    vitcl_status st = VITCL_OK;
    uint8_t piece[1 << 14];
    const size_t each = size_of(t->dtype);

    if (t->dtype == VT_FILE_OTHER)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%.100s: its element type cannot be read as numbers",
                       t->name);
    if (t->dtype == VT_FILE_F32)
        return vt_tensor_bytes(out, t, 0, (size_t)t->count * each);
    for (size_t at = 0, n; at < t->count; at += n) {
        n = VT_MIN(sizeof piece / each, (size_t)t->count - at);
        VT_TRY(vt_tensor_bytes(piece, t, at * each, n * each));
        convert(out + at, piece, n, t->dtype);
    }
done:
    return st;
}
