/*
 * dataset.c - open labelled pictures.
 *
 * Of class folders (folders.c) and tables (table.c) only the paths are read.
 */
#include "base/memory.h"
#include "data/dataset_private.h"

#include <stdlib.h>
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
    free(d->folder);
    free(d->label);
    free(d->name);
    free(d->remark);
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

const char *vt_dataset_remark(const vt_dataset *d)
{
    return d->remark;
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

/* ---- all formats ---- */

static vitcl_status open_folder(vt_dataset *d, const char *path,
                                const vt_dataset_options *how)
{
    bool records;

    if (how->columns)
        return vt_fail(VITCL_EINVAL,
                       "%s: is a folder; only a table has columns (--column, "
                       "--sep)",
                       path);
    if (!vt_path_is_folder(path))
        return vt_fail(VITCL_EIO,
                       vt_path_exists(path)
                           ? "%s: is a file; give a folder with a folder of "
                             "pictures for each class, or a table FILE.csv"
                           : "%s: no such folder",
                       path);
    VT_RET(
        vt_records_open(&records, d, path,
                        how->split || !how->training ? how->split : "train"));
    if (!records)
        VT_RET(vt_folders_open(d, path, how));
    return VITCL_OK;
}

static bool is_table(const char *path, const char *columns)
{
    return !vt_path_is_folder(path) && (columns || vt_path_ends(path, ".csv") ||
                                        vt_path_ends(path, ".tsv"));
}

vitcl_status vt_dataset_open(vt_dataset **out, const char *path,
                             const vt_dataset_options *how)
{
    vitcl_status st = VITCL_OK;
    vt_dataset *d = NULL;

    VT_TRY(VT_NEW(&d, 1));
    if (is_table(path, how->columns))
        VT_TRY(vt_table_open(d, path, how));
    else
        VT_TRY(open_folder(d, path, how));
    if (d->count > UINT32_MAX / 2)
        VT_TRY(vt_fail(VITCL_EUNSUPPORTED, "%s: too many pictures", path));
    *out = d, d = NULL;
done:
    vt_dataset_free(d);
    return st;
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
    const char *path = vt_dataset_path(d, index);
    const size_t n = path ? strlen(d->folder) : 0;

    return path && strncmp(path, d->folder, n) == 0 && path[n] == '/'
               ? path + n + 1
               : path;
}
