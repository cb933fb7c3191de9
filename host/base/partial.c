/*
 * partial.c - keeps what a run that failed or was stopped has written, under a
 * name of its own: the older file stays, and nobody takes the part for the
 * whole.
 */
#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 16 };

vitcl_status vt_partial_name(char **out, const char *path, unsigned number)
{
    char *target = NULL, digits[16] = "";
    const char *name, *dot;
    vitcl_status st;
    int n;

    VT_TRY(vt_newfile_target(&target, path));
    name = vt_path_name(target), dot = strrchr(name, '.');
    n = (int)(dot && dot != name ? (size_t)(dot - target) : strlen(target));
    if (number > 1)
        snprintf(digits, sizeof digits, "%u", number);
    st = vt_format(out, "%.*s.partial%s%s", n, target, digits, target + n);
done:
    free(target);
    return st;
}

static vitcl_status write_error(const char *path)
{
    return vt_fail(VITCL_EIO, "%s: cannot write: %s", path, strerror(errno));
}

/* ---- what is in the file ---- */

vitcl_status vt_partial_size(uint64_t *out, vt_newfile *n)
{
    struct stat file;

    if (fflush(n->f) != 0 || ferror(n->f)) {
        __fpurge(n->f);
        clearerr(n->f);
    }
    if (fstat(fileno(n->f), &file) != 0)
        return write_error(n->path);
    *out = (uint64_t)file.st_size;
    return VITCL_OK;
}

vitcl_status vt_partial_count(vt_partial_rows *out, vt_newfile *n, bool quoted,
                              uint64_t most)
{
    vt_partial_rows whole = {0, 0};
    bool between = false; /* quotes */
    vitcl_status st;
    char *piece = NULL;
    uint64_t size;

    VT_TRY(vt_partial_size(&size, n));
    VT_TRY(VT_NEW(&piece, PIECE));
    for (uint64_t at = 0; at < size && whole.rows < most; at += PIECE) {
        const size_t some = (size_t)VT_MIN(size - at, (uint64_t)PIECE);

        if (vt_read_at(fileno(n->f), piece, some, at) != 0)
            VT_TRY(vt_fail(VITCL_EIO, "%s: cannot be read", n->path));
        for (size_t i = 0; i < some && whole.rows < most; i++) {
            between ^= quoted && piece[i] == '"';
            if (piece[i] == '\n' && !between)
                whole = (vt_partial_rows){whole.rows + 1, at + i + 1};
        }
    }
    *out = whole;
done:
    free(piece);
    return st;
}

/* ---- its name ---- */

/* False: errno. */
static bool give_name(vt_newfile *n, const char *name, bool replace)
{
    if (!replace)
        return vt_newfile_name(n, name);
    if (rename(n->temporary, name) != 0)
        return false;
    free(n->temporary), n->temporary = NULL;
    return true;
}

/* *taken: a file has a name of this number. Who has the first of two names has
 * both. */
static vitcl_status give_names(char **name, bool *taken, vt_newfile *n,
                               vt_newfile *beside, unsigned number,
                               bool replace)
{
    vitcl_status st = VITCL_OK;
    char *first = NULL, *second = NULL;
    struct stat file;

    VT_TRY(vt_partial_name(&first, n->path, number));
    if (beside)
        VT_TRY(vt_partial_name(&second, beside->path, number));
    *taken = !replace && second && lstat(second, &file) == 0;
    if (!*taken && !give_name(n, first, replace)) {
        *taken = errno == EEXIST;
        st = *taken ? VITCL_OK : write_error(first);
    }
    if (st != VITCL_OK || *taken)
        goto done;
    *name = first, first = NULL;
    if (second && !give_name(beside, second, true))
        st = write_error(second);
done:
    free(first);
    free(second);
    return st;
}

/* A disk that fails now has the file in memory all the same. */
static vitcl_status cut(vt_newfile *n, uint64_t bytes)
{
    if (fflush(n->f) != 0 || ftruncate(fileno(n->f), (off_t)bytes) != 0)
        return write_error(n->path);
    vt_newfile_rights(n);
    (void)fsync(fileno(n->f));
    return VITCL_OK;
}

vitcl_status vt_partial_keep(char **name, vt_newfile *n, uint64_t bytes,
                             vt_newfile *beside, uint64_t beside_bytes,
                             bool replace)
{
    vitcl_status st;
    bool taken = true;

    *name = NULL;
    VT_TRY(cut(n, bytes));
    if (beside)
        VT_TRY(cut(beside, beside_bytes));
    for (unsigned i = 1; taken && i <= VT_PARTIAL_MOST; i++)
        VT_TRY(give_names(name, &taken, n, beside, i, replace));
    if (taken)
        st = vt_fail(VITCL_EIO,
                     "%s: there are too many .partial files beside "
                     "it",
                     n->path);
done:
    if (st != VITCL_OK) {
        free(*name);
        *name = NULL;
    }
    vt_newfile_discard(n);
    if (beside)
        vt_newfile_discard(beside);
    return st;
}
