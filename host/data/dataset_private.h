/*
 * dataset_private.h - a dataset's members: shared by dataset.c, folders.c,
 * which reads class folders, table.c, which reads a table of picture files, and
 * records.c, which reads files of records.
 */
#ifndef VT_DATA_DATASET_PRIVATE_H
#define VT_DATA_DATASET_PRIVATE_H
#include "base/file.h"
#include "data/dataset.h"
#include "walk/walk.h"

#include <sys/stat.h>

typedef struct vt_dataset_part {
    vt_file file;
    size_t first, records; /* first: its offset in bytes */
} vt_dataset_part;

struct vt_dataset {
    char kind[16];
    char **path;  /* of picture files: [count] */
    char *folder; /* in which names begin; one elsewhere is a whole path */
    uint32_t *label;
    size_t count, path_cap, label_cap;
    char **name; /* classes */
    size_t classes, name_cap;
    vt_left left;
    char *remark; /* on what was left out, or NULL */
    vt_dataset_part parts[8];
    size_t part_count;
    size_t record, header; /* bytes a record, and of its labels */
    uint32_t side_h, side_w;
};

vitcl_status vt_dataset_add_class(vt_dataset *d, const char *name);
vitcl_status vt_dataset_add_label(vt_dataset *d, uint32_t label);
/* Sets the remark on what was left out of `where`. */
vitcl_status vt_dataset_say_left(vt_dataset *d, const char *where);

/* Opens this part (NULL: the usual one) of a folder with class folders. */
vitcl_status vt_folders_open(vt_dataset *d, const char *path,
                             const vt_dataset_options *how);
/* Opens this part of a table. */
vitcl_status vt_table_open(vt_dataset *d, const char *path,
                           const vt_dataset_options *how);

/* The file that a path of a table means. If there is none of that name: one
 * whose letters are composed or decomposed (NFC, NFD) instead, and, for a path
 * without a picture's suffix, one with such a suffix. */
typedef struct vt_table_file {
    char *path;  /* NULL: there is none */
    char *other; /* one more with another suffix, or NULL */
    int error;   /* why the path itself leads nowhere, or 0 */
    struct stat of;
} vt_table_file;
vitcl_status vt_table_find(vt_table_file *f, const char *path);
void vt_table_forget(vt_table_file *f);

/* Opens this part of a folder with CIFAR's or MNIST's files. *records: whether
 * it is one. */
vitcl_status vt_records_open(bool *records, vt_dataset *d, const char *path,
                             const char *split);

#endif
