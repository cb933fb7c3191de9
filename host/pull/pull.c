/*
 * pull.c - which files of a repository make a model, and their snapshot.
 */
#include "pull/pull.h"

#include "base/file.h"
#include "base/memory.h"
#include "pull/blob.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The time to read an index is limited by its length. One of 100000 tensors has
 * about 10 MB. */
enum { SHARDS_MAX = 1000, INDEX_MAX = 10 << 20, INDEX_DEPTH = 8 };

/* A config, and the first of its weights that a repository has. */
typedef struct form {
    const char *config;
    const char *weights[4];
} form;
/* Of several forms of a model the first is taken. */
static const form forms[] = {
    {"config.json",
     {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
      "pytorch_model.bin.index.json"}},
    {"open_clip_config.json",
     {"open_clip_model.safetensors", "open_clip_pytorch_model.bin"}},
};
/* What else is taken: of the preprocessing, and the tokenizer of a model of
 * pictures and texts. */
static const char *const beside[] = {
    "preprocessor_config.json",
    "processor_config.json",
    VT_TOKENIZER_FILES,
};

typedef struct work {
    const vt_pull *p;
    vt_repository repository;
    char folder[VT_PULL_PATH], locks[VT_PULL_PATH];
    vt_remote *file;
    size_t count, room;
    size_t index; /* file[index] is fetched before the others; 0: none */
    vt_pull_progress tally;
} work;

static vitcl_status add(work *w, vt_listed *l)
{
    if (l->chosen)
        return VITCL_OK;
    l->chosen = true;
    VT_RET(vt_grow(&w->file, &w->room, w->count + 1, sizeof *w->file));
    VT_RET(
        vt_remote_ask(&w->file[w->count], w->p, w->repository.commit, l->file));
    w->tally.total += w->file[w->count++].size;
    return VITCL_OK;
}

static vitcl_status fetch(work *w, size_t i)
{
    return vt_blob_fetch(w->p, &w->tally, w->folder, w->locks,
                         w->repository.commit, &w->file[i]);
}

/* ---- which files ---- */

static bool is_index(const char *file)
{
    const size_t n = strlen(file);

    return n > 11 && strcmp(file + n - 11, ".index.json") == 0;
}

/* The files that the index names; it is the last of the list. */
static vitcl_status add_shards(work *w)
{
    char path[VT_PULL_PATH];
    const vt_json *all;
    vitcl_status st = VITCL_OK;
    vt_json *index = NULL;
    size_t i = 0;

    VT_TRY(vt_path(path, "%s/blobs/%s", w->folder, w->file[w->count - 1].hash));
    VT_TRY(vt_json_load(&index, path, INDEX_MAX, INDEX_DEPTH));
    all = vt_json_get(index, "weight_map");
    for (const vt_json *at = vt_json_first(all); at; at = vt_json_next(at)) {
        const char *shard;
        vt_listed *l = vt_json_string(&shard, at)
                           ? vt_repository_find(&w->repository, shard)
                           : NULL;

        if (i++ % 1024 == 0 && w->p->stopped())
            VT_TRY(vt_fail(VITCL_ESTOPPED, "stopped"));
        if (!l || w->count >= SHARDS_MAX)
            VT_TRY(vt_fail(VITCL_ECORRUPT,
                           "%s/%s: the index of the weights names a file that "
                           "the repository does not have, or too many",
                           w->p->owner, w->p->name));
        VT_TRY(add(w, l));
    }
done:
    vt_json_free(index);
    return st;
}

static vt_listed *find_weights(const work *w, const form *f)
{
    vt_listed *l = NULL;

    for (size_t i = 0; i < VT_COUNT(f->weights) && f->weights[i] && !l; i++)
        l = vt_repository_find(&w->repository, f->weights[i]);
    return l;
}

/* The config comes first and is linked last: a snapshot with a config has
 * all. */
static vitcl_status choose(work *w)
{
    vt_listed *config = NULL, *l = NULL, *more;

    for (size_t i = 0; i < VT_COUNT(forms) && (!l || !config); i++) {
        config = vt_repository_find(&w->repository, forms[i].config);
        l = find_weights(w, &forms[i]);
    }
    if (!l || !config) {
        l = find_weights(w, &forms[0]);
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s/%s has no %s: it is not a model that vitcl reads",
                       w->p->owner, w->p->name,
                       !l ? "model.safetensors and no pytorch_model.bin"
                          : forms[0].config);
    }
    VT_RET(add(w, config));
    for (size_t k = 0; k < VT_COUNT(beside); k++)
        if ((more = vt_repository_find(&w->repository, beside[k])))
            VT_RET(add(w, more));
    VT_RET(add(w, l));
    if (is_index(l->file)) {
        w->index = w->count - 1; /* the config has 0 */
        VT_RET(fetch(w, w->index));
        VT_RET(add_shards(w));
    }
    return VITCL_OK;
}

/* ---- before and after the downloads ---- */

static vitcl_status make_folders(work *w)
{
    const vt_pull *p = w->p;
    char path[VT_PULL_PATH];

    VT_RET(
        vt_path(w->folder, "%s/models--%s--%s", p->cache, p->owner, p->name));
    VT_RET(vt_path(w->locks, "%s/.locks/models--%s--%s", p->cache, p->owner,
                   p->name));
    VT_RET(vt_folders(w->locks));
    VT_RET(vt_path(path, "%s/blobs", w->folder));
    return vt_folders(path);
}

static vitcl_status check_space(const work *w)
{
    uint64_t need = 0;
    struct statvfs v;

    for (size_t i = 0; i < w->count; i++)
        need += w->file[i].size - vt_blob_present(w->folder, &w->file[i]);
    if (need == 0 || statvfs(w->folder, &v) != 0 ||
        (double)v.f_bavail * (double)v.f_frsize >= (double)need)
        return VITCL_OK;
    return vt_fail(VITCL_EIO,
                   "%s/%s: %.1f MB are needed, but %s has room for %.1f MB; "
                   "HF_HUB_CACHE may name another disk",
                   w->p->owner, w->p->name, (double)need / 1e6, w->p->cache,
                   (double)v.f_bavail * (double)v.f_frsize / 1e6);
}

static bool is_link(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* The links in it are relative, and lead nowhere from another folder. */
static vitcl_status open_snapshot(char path[VT_PULL_PATH], const work *w)
{
    bool link;

    VT_RET(vt_path(path, "%s/snapshots", w->folder));
    link = is_link(path);
    if (!link) {
        VT_RET(
            vt_path(path, "%s/snapshots/%s", w->folder, w->repository.commit));
        link = is_link(path);
    }
    if (link)
        return vt_fail(
            VITCL_EIO,
            "%s: is a link to another folder, where the files cannot "
            "be linked; remove it and pull again",
            path);
    else
        VT_RET(vt_folders(path));
    return VITCL_OK;
}

/* A link is made elsewhere and renamed: it is there with its target, or not. */
static vitcl_status link_file(const work *w, const char *snapshot,
                              const vt_remote *r)
{
    char target[128], made[VT_PULL_PATH], path[VT_PULL_PATH], old[128];
    vitcl_status st = VITCL_OK;
    ssize_t n;

    snprintf(target, sizeof target, "../../blobs/%s", r->hash);
    VT_TRY(vt_path(path, "%s/%s", snapshot, r->file));
    n = readlink(path, old, sizeof old - 1);
    old[n > 0 ? n : 0] = '\0';
    if (strcmp(old, target) == 0)
        return VITCL_OK;
    VT_TRY(vt_path(made, "%s/.link-%ld", w->folder, (long)getpid()));
    if (symlink(target, made) != 0 || rename(made, path) != 0) {
        st = vt_fail(VITCL_EIO, "%s: cannot be linked: %s", path,
                     strerror(errno));
        (void)unlink(made);
    }
done:
    return st;
}

static vitcl_status write_ref(const work *w)
{
    const char *const revision = w->p->revision;
    char path[VT_PULL_PATH];
    vitcl_status st = VITCL_OK;
    vt_newfile file = {0};

    if (strcmp(revision, w->repository.commit) == 0)
        return VITCL_OK;
    VT_TRY(vt_path(path, "%s/refs/%s", w->folder, revision));
    *strrchr(path, '/') = '\0';
    VT_TRY(vt_folders(path));
    VT_TRY(vt_path(path, "%s/refs/%s", w->folder, revision));
    if (is_link(path)) /* a writer would follow it */
        (void)unlink(path);
    VT_TRY(vt_newfile_open(&file, path));
    fputs(w->repository.commit, file.f);
    VT_TRY(vt_newfile_commit(&file));
done:
    vt_newfile_discard(&file);
    return st;
}

vitcl_status vt_pull_model(char path[VT_PULL_PATH], const vt_pull *p)
{
    work w = {.p = p};
    vitcl_status st = VITCL_OK;

    VT_TRY(vt_pull_ready());
    VT_TRY(vt_repository_open(&w.repository, p));
    VT_TRY(make_folders(&w));
    VT_TRY(choose(&w));
    VT_TRY(check_space(&w));
    for (size_t i = 0; i < w.count; i++)
        if (i == 0 || i != w.index)
            VT_TRY(fetch(&w, i));
    VT_TRY(open_snapshot(path, &w));
    for (size_t i = w.count; i-- > 0;)
        VT_TRY(link_file(&w, path, &w.file[i]));
    VT_TRY(write_ref(&w));
done:
    free(w.file);
    vt_repository_close(&w.repository);
    return st;
}
