/*
 * files.c - the files that an index's rows are of: which of them are gone, and
 * which rows are of one file.
 */
#include "index/index.h"
#include "walk/seen.h"

#include "base/status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Is this a picture in an archive, "pics.tar/a.jpg"? */
static bool in_archive(const char *path)
{
    char *part = strdup(path);
    bool found = false;
    struct stat st;

    for (char *slash = part; slash && !found;) {
        slash = strrchr(part, '/');
        if (slash)
            *slash = '\0';
        found = slash && part[0] && stat(part, &st) == 0 && S_ISREG(st.st_mode);
    }
    free(part);
    return found;
}

typedef enum { THERE, GONE, UNSEEN } presence;

/* UNSEEN: whether it is there is not known. */
static presence look(struct stat *st, const char *path)
{
    if (stat(path, st) == 0)
        return THERE;
    if (errno == ENOENT)
        return GONE;
    return errno == ENOTDIR && !in_archive(path) ? GONE : UNSEEN;
}

/* Is there a later row with the same path? */
static bool named_again(const vt_index *x, uint64_t row)
{
    return vt_index_find(x, vt_index_path(x, row)) != row;
}

static vitcl_status look_at(vitcl_row_state *out, vt_seen *seen,
                            const vt_places *p, uint64_t row)
{
    char path[VT_PLACE];
    struct stat file;
    uint32_t first;
    bool again = false, moved;
    const presence is = look(&file, vt_place(path, &moved, p, row));

    if (is == THERE)
        VT_RET(vt_seen_add(&again, &first, seen, &file, 0));
    else
        again = named_again(p->x, row);
    *out = again        ? VITCL_ROW_AGAIN
           : is == GONE ? VITCL_ROW_GONE
                        : VITCL_ROW_COMPARED;
    return VITCL_OK;
}

vitcl_status vt_index_files(vitcl_dupe *out, const vt_places *p,
                            vitcl_progress progress, void *context)
{
    const uint64_t rows = vt_index_count(p->x);
    vt_seen seen = {.count = 0};
    vitcl_status st = VITCL_OK;

    for (uint64_t i = 0; i < rows; i++) {
        VT_TRY(look_at(&out[i].state, &seen, p, i));
        if (progress && i % 64 == 0 && progress(context, 0, 0))
            VT_TRY(vt_fail(VITCL_ESTOPPED, "stopped by the caller"));
    }
    for (uint64_t i = 0; seen.count == 0 && i < rows; i++)
        if (out[i].state == VITCL_ROW_GONE)
            out[i].state = VITCL_ROW_LOST;
done:
    vt_seen_free(&seen);
    return st;
}
