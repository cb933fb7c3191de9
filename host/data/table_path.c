/*
 * table_path.c - the file that a path in a table means.
 */
#include "base/memory.h"
#include "data/dataset_private.h"
#include "text/text.h"
#include "walk/suffix.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static void make_upper(char *s)
{
    for (; *s; s++)
        *s = (char)toupper((unsigned char)*s);
}

/* Looks for `path` with each suffix, in lower and in upper case. */
static vitcl_status add_suffix(vt_table_file *f, const char *path)
{
    vitcl_status st = VITCL_OK;
    const char *suffix;
    char *longer = NULL;
    struct stat of;

    for (size_t i = 0; (suffix = vt_picture_suffix(i / 2)); i++) {
        free(longer), longer = NULL;
        VT_TRY(vt_format(&longer, "%s.%s", path, suffix));
        if (i % 2)
            make_upper(longer + strlen(path));
        if (stat(longer, &of) != 0 || !S_ISREG(of.st_mode))
            continue;
        if (!f->path) {
            f->path = longer, longer = NULL;
            f->of = of;
        } else if (!f->other && !is_same(&f->of, &of)) {
            f->other = longer, longer = NULL;
        }
    }
done:
    free(longer);
    return st;
}

static vitcl_status find(vt_table_file *f, const char *path)
{
    if (stat(path, &f->of) == 0)
        return vt_strdup(&f->path, path);
    if (!vt_is_picture_name(path))
        VT_RET(add_suffix(f, path));
    return VITCL_OK;
}

vitcl_status vt_table_find(vt_table_file *f, const char *path)
{
    vitcl_status st;
    char *form = NULL;

    *f = (vt_table_file){.path = NULL};
    f->error = stat(path, &f->of) == 0 ? 0 : errno;
    if (!f->error)
        return vt_strdup(&f->path, path);
    VT_TRY(find(f, path));
    for (int composed = 1; composed >= 0 && !f->path; composed--) {
        free(form), form = NULL;
        VT_TRY(vt_normal_form(&form, path, composed));
        if (strcmp(form, path) != 0)
            VT_TRY(find(f, form));
    }
done:
    free(form);
    if (st != VITCL_OK)
        vt_table_forget(f);
    return st;
}

void vt_table_forget(vt_table_file *f)
{
    free(f->path);
    free(f->other);
    *f = (vt_table_file){.path = NULL};
}
