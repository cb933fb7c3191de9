/*
 * run_dir.c - lock, clean and empty a run folder.
 *
 * The lock is flock()'s on the folder itself: the kernel releases it when the
 * process ends for any reason. On file systems without flock() there is no
 * lock.
 */
#include "train/run_dir.h"

#include "base/file.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *const files[] = {"config.json",    "model.safetensors",
                                    "training.json",  "training.safetensors",
                                    "training.jsonl", "left_out.txt",
                                    VT_RUN_DIR_MARK};
#define MODEL_FILES 2 /* the first ones */

static bool half_written(const char *name)
{
    for (size_t i = 0; i < VT_COUNT(files); i++)
        if (vt_newfile_is_part(name, files[i]))
            return true;
    return false;
}

/* Of this subfolder; NULL: of the folder itself. */
static void remove_partial(int folder, const char *sub)
{
    const int copy = openat(folder, sub ? sub : ".",
                            O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *e;

    if (!d) {
        if (copy >= 0)
            close(copy);
        return;
    }
    while ((e = readdir(d)) != NULL)
        if (half_written(e->d_name))
            unlinkat(copy, e->d_name, 0);
    closedir(d);
}

/* Removes a folder with a model of ours; one with other files stays. */
static void remove_model(int folder, const char *sub)
{
    const int fd =
        openat(folder, sub, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return;
    remove_partial(folder, sub);
    for (size_t i = 0; i < MODEL_FILES; i++)
        unlinkat(fd, files[i], 0);
    close(fd);
    unlinkat(folder, sub, AT_REMOVEDIR);
}

/* A training that was killed takes a moment to end, and holds the lock until
 * then. */
static bool locked_by_another(int folder)
{
    const struct timespec tenth = {.tv_nsec = 100 * 1000 * 1000};

    for (int i = 0; i < 20; i++) {
        if (flock(folder, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            return false;
        nanosleep(&tenth, NULL);
    }
    return true;
}

static vitcl_status has(bool *out, const char *folder, const char *file)
{
    vitcl_status st = VITCL_OK;
    char *path = NULL;

    VT_TRY(vt_format(&path, "%s/%s", folder, file));
    *out = vt_path_exists(path);
done:
    free(path);
    return st;
}

vitcl_status vt_run_dir_check(const char *path)
{
    bool begins, state, best, base, model, exists;

    VT_RET(has(&begins, path, VT_RUN_DIR_MARK));
    VT_RET(has(&state, path, "training.safetensors"));
    VT_RET(has(&best, path, "best"));
    VT_RET(has(&base, path, VT_RUN_DIR_BASE));
    model = state || best || (base && !begins);
    for (size_t i = 0; i < VT_COUNT(files) && !model && !begins; i++) {
        VT_RET(has(&exists, path, files[i]));
        model = exists && i < MODEL_FILES;
        if (exists && !model)
            return vt_fail(VITCL_EINVAL,
                           "%s/%s: a training run would overwrite this file; "
                           "move it or name another folder",
                           path, files[i]);
    }
    if (model)
        return vt_fail(VITCL_EINVAL,
                       "%s: a model exists already; resume it or name another "
                       "folder",
                       path);
    return VITCL_OK;
}

vitcl_status vt_run_dir_claim(vt_run_dir *out, const char *path, bool make)
{
    vitcl_status st = VITCL_OK;
    vt_run_dir f = {path, -1, false};

    if (make)
        f.made = mkdir(path, 0777) == 0;
    if (make && !f.made && errno != EEXIST)
        return vt_fail(VITCL_EIO, "%s: cannot create the folder: %s", path,
                       strerror(errno));
    f.lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f.lock < 0)
        return vt_fail(VITCL_EIO, "%s: %s", path, strerror(errno));
    if (locked_by_another(f.lock))
        VT_TRY(vt_fail(
            VITCL_EINVAL,
            "%s: another training run is using this folder; wait for it or "
            "name another folder",
            path));
    remove_partial(f.lock, NULL);
    remove_partial(f.lock, "best");
    remove_partial(f.lock, VT_RUN_DIR_BASE);
    remove_model(f.lock, "best.part");
    *out = f, f = (vt_run_dir){0};
done:
    vt_run_dir_leave(&f);
    return st;
}

vitcl_status vt_run_dir_begin(const char *path)
{
    vitcl_status st = VITCL_OK;
    vt_newfile file = {0};
    char *name = NULL;

    VT_TRY(vt_format(&name, "%s/" VT_RUN_DIR_MARK, path));
    VT_TRY(vt_newfile_open(&file, name));
    fputs("This training has no state yet.\n", file.f);
    VT_TRY(vt_newfile_commit(&file));
done:
    vt_newfile_discard(&file);
    free(name);
    return st;
}

vitcl_status vt_run_dir_begun(const char *path)
{
    vitcl_status st = VITCL_OK;
    char *name = NULL;

    VT_TRY(vt_format(&name, "%s/" VT_RUN_DIR_MARK, path));
    unlink(name);
done:
    free(name);
    return st;
}

void vt_run_dir_empty(const vt_run_dir *f)
{
    if (!f->path)
        return;
    for (size_t i = 0; i < VT_COUNT(files); i++)
        unlinkat(f->lock, files[i], 0);
    remove_model(f->lock, "best.part");
    remove_model(f->lock, "best");
    remove_model(f->lock, VT_RUN_DIR_BASE);
    if (f->made)
        rmdir(f->path); /* fails, as it should, if it has other files */
}

void vt_run_dir_leave(vt_run_dir *f)
{
    if (f->path && f->lock >= 0)
        close(f->lock);
    *f = (vt_run_dir){0};
}
