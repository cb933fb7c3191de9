/*
 * labels.h - several correct classes per picture, from a JSON file.
 *
 * The file has one of two forms:
 *   [[12, 34], [], ..]         ImageNet's ReaL labels (arXiv 2006.07159,
 *                              real.json): entry n belongs to the picture whose
 *                              name ends in number n, from 1
 *                              (ILSVRC2012_val_00000001..); if pictures are not
 *                              files: one entry for each picture, in order
 *   {"cat/1.jpg": [12], ..}    keys are class folder and file name, file name,
 *                              or file name without its extension; every
 *                              picture needs an entry
 * A class is a number, which is the model's index, or a name, which is matched
 * with the model's classes (classes.h). A picture with an empty list is not
 * scored. For a regression the numbers are the right answers.
 */
#ifndef VT_DATA_LABELS_H
#define VT_DATA_LABELS_H
#include "data/classes.h"

typedef struct vt_labels vt_labels;

vitcl_status vt_labels_load(vt_labels **out, const char *path,
                            const vt_dataset *d);
void vt_labels_free(vt_labels *l);
/* The model's class of each entry, in order; the caller frees it.
 * VITCL_ECORRUPT: a number that the model does not have; VITCL_EINVAL: such a
 * name. */
vitcl_status vt_labels_resolve(uint32_t **out, const vt_labels *l,
                               const vt_classes *model);
/* [pictures * width], for a regression of `width` numbers: each picture has so
 * many. The caller frees it. VITCL_ECORRUPT: names, or another count. */
vitcl_status vt_labels_numbers(double **out, const vt_labels *l,
                               uint32_t width);
/* A picture's entries: the index of the first; *count: how many. */
size_t vt_labels_of(uint32_t *count, const vt_labels *l, uint32_t picture);
/* Whether any entry is a number. */
bool vt_labels_numbered(const vt_labels *l);

#endif
