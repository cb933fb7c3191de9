/*
 * dataset.c - open a folder of labelled pictures.
 *
 * Of class folders only the paths are read.
 */
#include "base/memory.h"
#include "data/dataset_private.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

void vt_dataset_free(vt_dataset *d)
{
    if (!d)
        return;
    for (size_t i = 0; d->path && i < d->count; i++)
        free(d->path[i]);
    for (size_t i = 0; i < d->classes; i++)
        free(d->name[i]);
    for (size_t i = 0; i < d->part_count; i++)
        vt_file_close(&d->parts[i].file);
    free(d->path);
    free(d->label);
    free(d->name);
    free(d);
}

uint32_t vt_dataset_count(const vt_dataset *d)
{
    return (uint32_t)d->count;
}

uint32_t vt_dataset_classes(const vt_dataset *d)
{
    return (uint32_t)d->classes;
}

const char *vt_dataset_class(const vt_dataset *d, uint32_t index)
{
    return index < d->classes ? d->name[index] : NULL;
}

const char *vt_dataset_kind(const vt_dataset *d)
{
    return d->kind;
}

uint32_t vt_dataset_label(const vt_dataset *d, uint32_t index)
{
    return d->label[index];
}

const char *vt_dataset_path(const vt_dataset *d, uint32_t index)
{
    return d->path ? d->path[index] : NULL;
}

/* ---- class folders ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

typedef struct names {
    char **name;
    size_t count, cap;
} names;

static void free_names(names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->name[i]);
    free(n->name);
}

/* Sorted entries of a folder; hidden ones are left out. */
static vitcl_status list(names *out, const char *path, bool folders)
{
    vitcl_status st = VITCL_OK;
    DIR *dir = opendir(path);
    char *full = NULL;

    if (!dir)
        return vt_fail(VITCL_EIO, "%s: %s", path, strerror(errno));
    for (struct dirent *e; (e = readdir(dir));) {
        if (e->d_name[0] == '.')
            continue;
        VT_TRY(vt_format(&full, "%s/%s", path, e->d_name));
        bool keep = vt_path_is_folder(full) == folders;
        free(full), full = NULL;
        if (!keep)
            continue;
        VT_TRY(
            vt_grow(&out->name, &out->cap, out->count + 1, sizeof *out->name));
        VT_TRY(vt_strdup(&out->name[out->count], e->d_name));
        out->count++;
    }
    if (out->count > 1)
        qsort(out->name, out->count, sizeof *out->name, by_name);
done:
    closedir(dir);
    return st;
}

static vitcl_status add_folder(vt_dataset *d, const char *root,
                               const char *class_name)
{
    vitcl_status st = VITCL_OK;
    names files = {0};
    char *folder = NULL;

    VT_TRY(vt_dataset_add_class(d, class_name));
    VT_TRY(vt_format(&folder, "%s/%s", root, class_name));
    VT_TRY(list(&files, folder, false));
    for (size_t i = 0; i < files.count; i++) {
        d->root = strlen(root);
        VT_TRY(vt_grow(&d->path, &d->path_cap, d->count + 1, sizeof *d->path));
        VT_TRY(vt_format(&d->path[d->count], "%s/%s", folder, files.name[i]));
        st = vt_dataset_add_label(d, (uint32_t)d->classes - 1);
        if (st != VITCL_OK)
            free(d->path[d->count]);
        VT_TRY(st);
    }
done:
    free_names(&files);
    free(folder);
    return st;
}

static vitcl_status open_folders(vt_dataset *d, const char *path,
                                 const char *split)
{
    vitcl_status st = VITCL_OK;
    names classes = {0};
    char *root = NULL;

    VT_TRY(
        vt_format(&root, "%s%s%s", path, split ? "/" : "", split ? split : ""));
    if (split && !vt_path_is_folder(root)) {
        st = vt_fail(VITCL_EIO, "%s: no folder '%s' in it", path, split);
        goto done;
    }
    VT_TRY(list(&classes, root, true));
    for (size_t i = 0; i < classes.count; i++)
        VT_TRY(add_folder(d, root, classes.name[i]));
    if (d->count == 0)
        st = vt_fail(VITCL_EIO,
                     "%s: contains neither class folders with pictures nor "
                     "CIFAR or MNIST files",
                     root);
    snprintf(d->kind, sizeof d->kind, "folders");
done:
    free_names(&classes);
    free(root);
    return st;
}

/* Is path/name a part of the data? It has folders of its own. A class that
 * happens to be named so, such as the vehicle, has pictures. */
static vitcl_status is_part(bool *out, const char *path, const char *name)
{
    vitcl_status st = VITCL_OK;
    names classes = {0};
    char *full = NULL;

    *out = false;
    VT_TRY(vt_format(&full, "%s/%s", path, name));
    if (vt_path_is_folder(full))
        VT_TRY(list(&classes, full, true));
    *out = classes.count > 0;
done:
    free_names(&classes);
    free(full);
    return st;
}

/* The first of these parts (NULL-ended) that the folder has; NULL: none. */
static vitcl_status find_part(const char **out, const char *path,
                              const char *const *parts)
{
    vitcl_status st = VITCL_OK;
    bool found = false;

    *out = NULL;
    for (; *parts && !found; parts++) {
        VT_TRY(is_part(&found, path, *parts));
        if (found)
            *out = *parts;
    }
done:
    return st;
}

/* *split: the part of class folders that is meant where none was named. */
static vitcl_status choose_part(const char **split, const char *path,
                                bool training)
{
    static const char *const train[] = {"train", NULL};
    static const char *const test[] = {"test", "val", "validation", NULL};
    vitcl_status st = VITCL_OK;
    const char *other;

    VT_TRY(find_part(split, path, training ? train : test));
    if (*split)
        return VITCL_OK;
    VT_TRY(find_part(&other, path, training ? test : train));
    if (other)
        st = vt_fail(VITCL_EINVAL,
                     "%s: has %s/, but no %s; name another folder, or "
                     "--split %s",
                     path, other, training ? "train/" : "test/ or val/", other);
done:
    return st;
}

/* ---- all formats ---- */

static vitcl_status open_data(vt_dataset **out, const char *path,
                              const char *split, bool training)
{
    vitcl_status st = VITCL_OK;
    vt_dataset *d = NULL;
    bool records;

    if (!vt_path_is_folder(path))
        return vt_fail(VITCL_EIO,
                       vt_path_exists(path)
                           ? "%s: is a file; give a folder with a folder of "
                             "pictures for each class"
                           : "%s: no such folder",
                       path);
    VT_TRY(VT_NEW(&d, 1));
    VT_TRY(vt_records_open(&records, d, path,
                           split || !training ? split : "train"));
    if (!records && !split)
        VT_TRY(choose_part(&split, path, training));
    if (!records)
        VT_TRY(open_folders(d, path, split));
    if (d->count > UINT32_MAX / 2) {
        st = vt_fail(VITCL_EUNSUPPORTED, "%s: too many pictures", path);
        goto done;
    }
    *out = d, d = NULL;
done:
    vt_dataset_free(d);
    return st;
}

vitcl_status vt_dataset_open(vt_dataset **out, const char *path,
                             const char *split)
{
    return open_data(out, path, split, false);
}

vitcl_status vt_dataset_open_training(vt_dataset **out, const char *path)
{
    return open_data(out, path, NULL, true);
}

void vt_dataset_leave_out(vt_dataset *d, const uint32_t *index, size_t n)
{
    size_t kept = 0, next = 0;

    for (size_t i = 0; d->path && i < d->count; i++) {
        if (next < n && index[next] == i) {
            free(d->path[i]);
            next++;
            continue;
        }
        d->path[kept] = d->path[i];
        d->label[kept++] = d->label[i];
    }
    if (d->path)
        d->count = kept;
}

const char *vt_dataset_name(const vt_dataset *d, uint32_t index)
{
    const char *name = d->path ? d->path[index] : NULL;

    return name ? name + d->root + 1 : NULL;
}
