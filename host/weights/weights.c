/*
 * weights.c - chooses the file of a checkpoint and the reader of its format.
 *
 * A folder may hold a checkpoint in several formats; candidates[] gives the
 * order of preference. An index (".index.json") names shards, which must be in
 * its folder.
 */
#include "base/file.h"
#include "base/memory.h"
#include "weights/builtin.h"
#include "weights/reader.h"

#include <dirent.h>
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
    "open_clip_model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
    "open_clip_pytorch_model.bin",
    "open_clip_pytorch_model.bin.index.json",
    "model.pth",
};
static const char *const endings[] = {
    ".safetensors", ".npz", ".bin", ".pth", ".pt", ".pth.tar", ".ckpt"};

#define INDEX_MAX (64 << 20)
#define HEAD (1 << 17) /* bytes to sniff: enough for a zip's first name */
#define SHARDS_MAX 1000

static bool ends(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n > m && strcmp(s + n - m, end) == 0;
}

static vitcl_status read_input(vt_tensors *t, const vt_reader_input *in)
{
    static const char pointer[] = "version https://git-lfs";
    vitcl_status st = VITCL_OK;
    const size_t size = VT_MIN(in->size, (size_t)HEAD);
    const char *file = in->file;
    uint8_t *head = NULL;

    VT_TRY(VT_NEW(&head, size));
    VT_TRY(vt_reader_input_read(head, in, 0, size));
    if (size >= sizeof pointer - 1 &&
        memcmp(head, pointer, sizeof pointer - 1) == 0)
        VT_TRY(
            vt_fail(VITCL_EUNSUPPORTED,
                    "%s: this is a Git LFS pointer, not the file itself: run "
                    "git lfs pull",
                    file));
    for (size_t i = 0; i < VT_COUNT(readers); i++)
        if (readers[i]->sniff(head, size) ||
            (i == 0 && ends(file, ".safetensors"))) {
            t->format = readers[i]->format;
            st = readers[i]->open(t, in);
            goto done;
        }
    if (size >= 2 && head[0] == 0x80 && head[1] <= 5)
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

static vitcl_status read_file(vt_tensors *t, const char *path)
{
    vt_reader_input in;

    VT_RET(vt_tensors_file(&in, t, path));
    return read_input(t, &in);
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
            return vt_fail(
                VITCL_ECORRUPT,
                "%s: %.100s is in %.100s, but the index does not say so", path,
                t->items[i].name, shard);
    }
    return VITCL_OK;
}

static vitcl_status read_shards(vt_tensors *t, entry *map, size_t n,
                                const char *path)
{
    vitcl_status st;
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
        if (++opened > SHARDS_MAX)
            VT_TRY(vt_fail(VITCL_ECORRUPT, "%s: more than %d shards", path,
                           SHARDS_MAX));
        free(file), file = NULL;
        VT_TRY(vt_format(&file, "%.*s%s", (int)(vt_path_name(path) - path),
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
    if (!vt_json_is_object(map) || n == 0)
        VT_TRY(vt_fail(VITCL_ECORRUPT,
                       "%s: \"weight_map\" is missing or invalid", path));
    if (n > VT_TENSORS_MAX)
        VT_TRY(vt_fail(VITCL_ECORRUPT,
                       "%s: it names %zu tensors, more than the limit of %d",
                       path, n, VT_TENSORS_MAX));
    VT_TRY(VT_NEW(&entries, n));
    for (const vt_json *m = vt_json_first(map); m; m = vt_json_next(m), i++) {
        entries[i].name = vt_json_key(m); /* NOLINT: n > 0, checked above */
        if (!vt_json_string(&entries[i].shard, m) ||
            !is_plain(entries[i].shard))
            VT_TRY(vt_fail(
                VITCL_ECORRUPT,
                "%s: the shard of %.100s is not a file in the same folder",
                path, entries[i].name));
    }
    VT_TRY(read_shards(t, entries, n, path));
done:
    free(entries);
    vt_json_free(root);
    return st;
}

/* ---- folders ---- */

static bool named_weights(const char *name)
{
    for (size_t i = 0; i < VT_COUNT(endings); i++)
        if (ends(name, endings[i]))
            return true;
    return false;
}

/* Do the first bytes say so? */
static bool holds_weights(const char *path)
{
    uint8_t *head = NULL;
    bool yes = false;
    size_t size;
    int fd;

    if (ends(path, ".zip") || vt_file_open(&fd, &size, path) != VITCL_OK)
        return false;
    size = VT_MIN(size, (size_t)HEAD);
    if (VT_NEW(&head, size) == VITCL_OK && vt_read_at(fd, head, size, 0) == 0)
        for (size_t i = 0; !yes && i < VT_COUNT(readers); i++)
            yes = readers[i]->sniff(head, size);
    free(head);
    close(fd);
    return yes;
}

/* The only weight file of a folder without a file of the usual names, by its
 * ending; if no ending says so, by its first bytes. */
static vitcl_status find_single(char **out, const char *folder)
{
    vitcl_status st = VITCL_OK;
    DIR *dir = opendir(folder);
    char *found = NULL, *file = NULL;
    const struct dirent *e;
    size_t n = 0;

    for (int by_bytes = 0; dir && n == 0 && by_bytes < 2; by_bytes++) {
        rewinddir(dir);
        while ((e = readdir(dir))) {
            VT_TRY(vt_format(&file, "%s/%s", folder, e->d_name));
            if ((by_bytes ? e->d_name[0] != '.' && holds_weights(file)
                          : named_weights(e->d_name)) &&
                n++ == 0)
                found = file, file = NULL;
            free(file), file = NULL;
        }
    }
    if (n != 1)
        VT_TRY(vt_fail(VITCL_EIO,
                       n ? "%s: several weight files: pass the path of one"
                         : "%s: no model.safetensors, .npz or PyTorch file",
                       folder));
    *out = found, found = NULL;
done:
    free(found);
    free(file);
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
    VT_TRY(vt_tensors_sort(t, t->path));
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
    const vt_reader_input in = {.bytes = bytes, .size = size, .file = t->path};
    VT_TRY(read_input(t, &in));
    VT_TRY(vt_tensors_sort(t, name));
    *out = t, t = NULL;
done:
    vt_tensors_free(t);
    return st;
}
