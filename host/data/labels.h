/*
 * labels.h - several right classes a picture, from a file beside the data.
 *
 * JSON, in one of two forms:
 *   [[12, 34], [], ..]         as ImageNet's ReaL labels come (arXiv
 *                              2006.07159, real.json): of the validation
 *                              pictures in the order of their numbers, which
 *                              their names end in (ILSVRC2012_val_00000001..);
 *                              where pictures are no files, of all in order
 *   {"cat/1.jpg": [12], ..}    by class folder and name, name, or name without
 *                              what follows its last dot; of every picture
 * A class is a number, which is the model's, or a name, which is matched with
 * the model's (classes.h); a picture with none is not scored.
 */
#ifndef VT_DATA_LABELS_H
#define VT_DATA_LABELS_H
#include "data/classes.h"

typedef struct vt_labels vt_labels;

vitcl_status vt_labels_load(vt_labels **out, const char *path,
                            const vt_dataset *d);
void vt_labels_free(vt_labels *l);
/* The model's class of each entry, in order; free() it. VITCL_ECORRUPT for a
 * number that it does not have, VITCL_EINVAL for a name. */
vitcl_status vt_labels_resolve(uint32_t **out, const vt_labels *l,
                               const vt_classes *model);
/* The entries of a picture: *count from the returned one on. */
size_t vt_labels_of(uint32_t *count, const vt_labels *l, uint32_t picture);
/* Whether an entry is a number. */
bool vt_labels_numbered(const vt_labels *l);

#endif
