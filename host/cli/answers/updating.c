/*
 * updating.c - lists what the command line names, for host/index/update.c.
 */
#include "updating.h"

#include <string.h>

/* Two runs at once would lose the rows of one. */
static int hold(updating *u, const char *index)
{
    bool busy;

    RET(vt_newfile_hold(&busy, &u->held, index, false));
    if (!busy)
        return EXIT_OK;
    note("%s: another run updates it; waiting for it to end", index);
    return code_of(vt_newfile_hold(&busy, &u->held, index, true));
}

int updating_open(updating *u, const char *index)
{
    *u = (updating){.cut = false};
    RET(hold(u, index));
    return code_of(vt_update_open(&u->rows, index));
}

static int name_all(updating *u, const words *operands,
                    const picture_options *how)
{
    picture_paths *s = paths_open(operands, how);
    const char *path, *error = NULL;
    size_t size;
    int code = EXIT_OK;

    if (!s)
        return fail("out of memory");
    while ((path = paths_next(s, &error))) {
        if (paths_picture(s, &size)) {
            TRY(fail("standard input is a picture, which --update would not "
                     "find again; name files, or - for a list of them"));
        } else if (error && strcmp(path, "-") == 0) { /* the list's own error */
            fail("%s", error);
            u->rows.broken = u->cut = true;
        } else {
            TRY(vt_update_name(&u->rows, path, error));
        }
    }
    if (error)
        code = fail("%s", error);
done:
    paths_left(&u->left, s);
    paths_close(s);
    return code;
}

int updating_list(updating *u, const words *operands,
                  const picture_options *how, bool prune)
{
    RET(name_all(u, operands, how));
    RET(vt_update_list(&u->rows, prune));
    u->todo = (words){u->rows.todo, u->rows.todos};
    return EXIT_OK;
}

int updating_take_over(updating *u)
{
    RET(vt_update_take_over(&u->rows));
    u->todo = (words){u->rows.todo, u->rows.todos};
    return EXIT_OK;
}

void updating_close(updating *u)
{
    vt_update_close(&u->rows);
    if (u->held.path)
        vt_newfile_discard(&u->held);
}
