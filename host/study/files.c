/*
 * files.c - paths and files of the output folder.
 */
#define _XOPEN_SOURCE 700 /* nftw() */
#include "base/environment.h"
#include "base/file.h"
#include "base/memory.h"
#include "study/private.h"

#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

vitcl_status vt_study_path(char out[VT_STUDY_PATH], const vt_experiment *e,
                           const char *format, ...)
{
    char name[512];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(name, sizeof name, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof name ||
        snprintf(out, VT_STUDY_PATH, "%s/%s", e->options.output, name) >=
            VT_STUDY_PATH)
        return vt_fail(VITCL_EINVAL, "%s: the path is too long",
                       e->options.output);
    return VITCL_OK;
}

vitcl_status vt_study_folder(const char *path)
{
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && vt_path_is_folder(path)))
        return VITCL_OK;
    return vt_fail(VITCL_EIO, "%s: %s", path, strerror(errno));
}

vitcl_status vt_study_write(const char *path, const char *text)
{
    vitcl_status st;
    vt_newfile file = {0};

    VT_TRY(vt_newfile_open(&file, path));
    if (fputs(text, file.f) < 0)
        VT_TRY(vt_fail(VITCL_EIO, "%s: %s", path, strerror(errno)));
    VT_TRY(vt_newfile_commit(&file));
done:
    vt_newfile_discard(&file);
    return st;
}

/* ---- a dry run ---- */

vitcl_status vt_scratch_make(vt_experiment *e)
{
    static const char *const kept[] = {"study.json", "runs", "files"};
    const char *temporary = vt_getenv("TMPDIR");
    char output[VT_STUDY_PATH], from[VT_STUDY_PATH], to[VT_STUDY_PATH];
    vitcl_status st = VITCL_OK;

    if (snprintf(e->scratch, VT_STUDY_PATH, "%.4000s/vitcl-study-XXXXXX",
                 temporary && temporary[0] ? temporary : "/tmp") >=
            VT_STUDY_PATH ||
        !mkdtemp(e->scratch)) {
        st = vt_fail(VITCL_EIO, "%s: %s", e->scratch, strerror(errno));
        e->scratch[0] = '\0';
        return st;
    }
    if (!realpath(e->options.output, output))
        goto done; /* a new study */
    /* what a plan only reads */
    for (size_t i = 0; i < VT_COUNT(kept); i++) {
        snprintf(from, sizeof from, "%.4000s/%s", output, kept[i]);
        snprintf(to, sizeof to, "%.4000s/%s", e->scratch, kept[i]);
        if (access(from, F_OK) == 0 && symlink(from, to) != 0)
            VT_TRY(vt_fail(VITCL_EIO, "%s: %s", to, strerror(errno)));
    }
done:
    e->options.output = e->scratch;
    return st;
}

static int remove_one(const char *path, const struct stat *st, int kind,
                      struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path) == 0 || errno == ENOENT ? 0 : -1;
}

void vt_scratch_remove(const vt_experiment *e)
{
    (void)nftw(e->scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

vitcl_status vt_study_remove(const char *path)
{
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0 ||
        errno == ENOENT)
        return VITCL_OK;
    return vt_fail(VITCL_EIO, "%s: %s", path, strerror(errno));
}
