/*
 * folders.c - the pictures of class folders, as the walker of all folders finds
 * them.
 */
#include "base/memory.h"
#include "data/dataset_private.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct names {
    char **name;
    size_t count;
} names;

static void free_names(names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->name[i]);
    free(n->name);
}

/* ---- pictures ---- */

/* Picture `path`, new in the last class, was found before in class `first`. */
static vitcl_status in_two_classes(const vt_dataset *d, const char *path,
                                   uint32_t first)
{
    const char *other = NULL;
    struct stat a, b;

    if (stat(path, &a) != 0)
        a.st_ino = 0;
    for (uint32_t i = 0; !other && i < d->count; i++)
        if (d->label[i] == first && stat(d->path[i], &b) == 0 &&
            a.st_ino == b.st_ino && a.st_dev == b.st_dev)
            other = d->path[i];
    return vt_fail(VITCL_EINVAL,
                   "%s: the same file as %s, in another class; a picture has "
                   "one class: remove one of the two names",
                   path,
                   other ? other + strlen(d->folder) + 1 : d->name[first]);
}

static vitcl_status add_picture(vt_dataset *d, const char *path)
{
    vitcl_status st;

    VT_TRY(vt_grow(&d->path, &d->path_cap, d->count + 1, sizeof *d->path));
    VT_TRY(vt_strdup(&d->path[d->count], path));
    st = vt_dataset_add_label(d, (uint32_t)d->classes - 1);
    if (st != VITCL_OK)
        free(d->path[d->count]);
done:
    return st;
}

/* A picture that cannot be read is one that cannot be decoded, later. */
static vitcl_status add_class(vt_dataset *d, vt_walk *w, const char *root,
                              const char *name)
{
    const uint32_t class = (uint32_t)d->classes;
    vitcl_status st = VITCL_OK;
    char *folder = NULL;
    vt_walk_found f;

    VT_TRY(vt_dataset_add_class(d, name));
    VT_TRY(vt_format(&folder, "%s/%s", root, name));
    VT_TRY(vt_walk_begin(w, folder, class));
    for (;;) {
        VT_TRY(vt_walk_next(&f, w));
        if (!f.path)
            break;
        if (f.error && f.folder)
            VT_TRY(vt_fail(VITCL_EIO, "%s: %s", f.path, f.error));
        if (f.again && f.mark != class)
            VT_TRY(in_two_classes(d, f.path, f.mark));
        if (!f.again)
            VT_TRY(add_picture(d, f.path));
    }
done:
    free(folder);
    return st;
}

/* ---- classes ---- */

static vitcl_status read_part(vt_dataset *d, const char *path,
                              const char *split, bool follow)
{
    vitcl_status st = VITCL_OK;
    vt_walk *w = NULL;
    names classes = {0};
    char *root = NULL;

    VT_TRY(
        vt_format(&root, "%s%s%s", path, split ? "/" : "", split ? split : ""));
    if (split && !vt_path_is_folder(root))
        VT_TRY(vt_fail(VITCL_EIO, "%s: no folder '%s' in it", path, split));
    VT_TRY(vt_strdup(&d->folder, root));
    VT_TRY(vt_walk_new(&w, false, follow));
    VT_TRY(vt_walk_folders(&classes.name, &classes.count, w, root));
    for (size_t i = 0; i < classes.count; i++)
        VT_TRY(add_class(d, w, root, classes.name[i]));
    vt_walk_left(&d->left, w);
    VT_TRY(vt_dataset_say_left(d, root));
    if (d->count == 0)
        st = vt_fail(VITCL_EIO,
                     "%s: contains neither class folders with pictures nor "
                     "CIFAR or MNIST files%s%s",
                     root, d->remark ? "; " : "",
                     d->remark ? d->remark + strlen(root) + 2 : "");
    snprintf(d->kind, sizeof d->kind, "folders");
done:
    vt_walk_free(w);
    free_names(&classes);
    free(root);
    return st;
}

/* ---- the part that is meant where none was named ---- */

/* Is path/name a part of the data? It has folders of its own. A class that
 * happens to be named so, such as the vehicle, has pictures. */
static vitcl_status is_part(bool *out, const char *path, const char *name,
                            bool follow)
{
    vitcl_status st = VITCL_OK;
    vt_walk *w = NULL;
    names classes = {0};
    char *full = NULL;

    *out = false;
    VT_TRY(vt_format(&full, "%s/%s", path, name));
    VT_TRY(vt_walk_new(&w, false, follow));
    if (vt_path_is_folder(full))
        VT_TRY(vt_walk_folders(&classes.name, &classes.count, w, full));
    *out = classes.count > 0;
done:
    vt_walk_free(w);
    free_names(&classes);
    free(full);
    return st;
}

/* The first of these parts (NULL-ended) that the folder has; NULL: none. */
static vitcl_status find_part(const char **out, const char *path,
                              const char *const *parts, bool follow)
{
    bool found = false;

    *out = NULL;
    for (; *parts && !found; parts++) {
        VT_RET(is_part(&found, path, *parts, follow));
        if (found)
            *out = *parts;
    }
    return VITCL_OK;
}

static vitcl_status choose_part(const char **split, const char *path,
                                const vt_dataset_options *how)
{
    static const char *const train[] = {"train", NULL};
    static const char *const test[] = {"test", "val", "validation", NULL};
    const char *other;

    VT_RET(find_part(split, path, how->training ? train : test, how->follow));
    if (*split)
        return VITCL_OK;
    VT_RET(find_part(&other, path, how->training ? test : train, how->follow));
    if (other)
        return vt_fail(VITCL_EINVAL,
                       "%s: has %s/, but no %s; name another folder, or "
                       "--split %s",
                       path, other, how->training ? "train/" : "test/ or val/",
                       other);
    return VITCL_OK;
}

vitcl_status vt_folders_open(vt_dataset *d, const char *path,
                             const vt_dataset_options *how)
{
    const char *split = how->split;

    if (!split)
        VT_RET(choose_part(&split, path, how));
    return read_part(d, path, split, how->follow);
}
