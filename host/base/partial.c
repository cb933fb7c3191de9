/*
 * partial.c - keeps what a run that was stopped has written, under a name of
 * its own: the older file stays, and nobody takes the part for the whole.
 */
#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

vitcl_status vt_partial_name(char **out, const char *path, unsigned number)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path,
               *dot = strrchr(name, '.');
    const int n =
        (int)(dot && dot != name ? (size_t)(dot - path) : strlen(path));
    char digits[16] = "";

    if (number > 1)
        snprintf(digits, sizeof digits, "%u", number);
    return vt_format(out, "%.*s.partial%s%s", n, path, digits, path + n);
}

vitcl_status vt_partial_free_name(char **out, const char *path)
{
    enum { MOST = 1000 };
    vitcl_status st = VITCL_OK;
    char *name = NULL;

    for (unsigned i = 1; i <= MOST; i++) {
        free(name), name = NULL;
        VT_TRY(vt_partial_name(&name, path, i));
        if (access(name, F_OK) != 0 && errno == ENOENT) {
            *out = name, name = NULL;
            goto done;
        }
    }
    st = vt_fail(VITCL_EIO, "%s: there are too many .partial files beside it",
                 path);
done:
    free(name);
    return st;
}

vitcl_status vt_newfile_keep(vt_newfile *n, const char *name)
{
    vitcl_status st = VITCL_OK;

    if (fflush(n->f) != 0 || ferror(n->f) || fsync(fileno(n->f)) != 0 ||
        rename(n->temporary, name) != 0)
        st = vt_fail(VITCL_EIO, "%s: cannot write: %s", name, strerror(errno));
    vt_newfile_discard(n);
    return st;
}
