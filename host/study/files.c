/*
 * files.c - paths and files of the output folder.
 */
#include "base/file.h"
#include "study/private.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

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
