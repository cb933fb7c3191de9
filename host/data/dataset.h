/*
 * dataset.h - labelled pictures in several storage formats.
 *
 *   class folders    DIR/<class>/.../x.jpg, or DIR/<split>/<class>/...; classes
 *                    in the order of their sorted names
 *   table            FILE.csv with columns path, label and perhaps split;
 *                    classes in the order of the sorted labels of all rows
 *   CIFAR-10, -100   their own binary files (data_batch_1.bin ..,
 *                    test_batch.bin; train.bin, test.bin)
 *   MNIST            idx files (train-images-idx3-ubyte .., also Fashion-MNIST)
 *
 * The format is detected from the files that are present.
 */
#ifndef VT_DATA_DATASET_H
#define VT_DATA_DATASET_H
#include "base/sha256.h"
#include "image/image.h"

typedef struct vt_dataset vt_dataset;

/* split: "train", "test", "val", or NULL: the part to test on. For CIFAR and
 * MNIST that is "test"; for a folder with class folders in test/, val/ or
 * validation/ the first of these, and otherwise the class folders themselves;
 * for a table the same of its splits. With training it is the part to train on:
 * "train" if there is one, else the class folders themselves, or all of a table
 * without splits. validation: of a table with both, val precedes test. follow:
 * read links to folders, as walk/walk.h says. columns: NULL, or lines that say
 * how a table differs: path=NAME, label=NAME, split=NAME, sep=CHARACTER. A file
 * in two classes is VITCL_EINVAL, in a table VITCL_ECORRUPT. */
typedef struct vt_dataset_options {
    const char *split;
    bool training, validation, follow;
    const char *columns;
} vt_dataset_options;
vitcl_status vt_dataset_open(vt_dataset **out, const char *path,
                             const vt_dataset_options *how);
void vt_dataset_free(vt_dataset *d);
uint32_t vt_dataset_count(const vt_dataset *d);
uint32_t vt_dataset_classes(const vt_dataset *d);
const char *vt_dataset_class(const vt_dataset *d, uint32_t index);
/* How many pictures there are, and what was left out; NULL: nothing. */
const char *vt_dataset_remark(const vt_dataset *d);
const char *
vt_dataset_kind(const vt_dataset *d); /* "folders", "table", "cifar10" .. */
uint32_t vt_dataset_label(const vt_dataset *d, uint32_t index);
/* A picture's file; NULL if pictures are not files. */
const char *vt_dataset_path(const vt_dataset *d, uint32_t index);
/* The same as "class/file", or as the table has it. */
const char *vt_dataset_name(const vt_dataset *d, uint32_t index);
/* Adds the kind, the classes, each picture's label and name, and the size of
 * each picture file. */
void vt_dataset_hash_sizes(vt_sha256_state *s, const vt_dataset *d);
/* Of names and of contents: all of files of records; of picture files some, for
 * a comparison of copies that takes no longer with more of them. */
vitcl_status vt_dataset_hash(char out[65], const vt_dataset *d);
/* Removes these picture files, whose indices ascend. */
void vt_dataset_leave_out(vt_dataset *d, const uint32_t *index, size_t n);
/* Picture `index` of data whose pictures are not files. */
vitcl_status vt_dataset_picture(vt_picture *out, const vt_dataset *d,
                                uint32_t index);

#endif
