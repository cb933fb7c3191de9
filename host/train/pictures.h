/*
 * pictures.h - the pictures that a training uses: all of its data but the files
 * that cannot be decoded. Which were left out is kept in the run folder, so
 * that a resumed training has the same pictures, and the same bits.
 */
#ifndef VT_TRAIN_PICTURES_H
#define VT_TRAIN_PICTURES_H
#include "data/dataset.h"

#include <vitcl_train.h>

#define VT_LEFT_OUT "left_out.txt"

typedef struct vt_left_out {
    char **name; /* [count], "class/file" */
    size_t count;
} vt_left_out;
void vt_left_out_free(vt_left_out *l);

/* Says what was left out of folders. */
/* Says how many of the pictures to score are among those to train. */
vitcl_status vt_pictures_shared(const vt_dataset *d, const vt_dataset *val,
                                const vitcl_train_options *o, void *context);
void vt_pictures_remark(const vt_dataset *d, const vitcl_train_options *o,
                        void *context);
/* Takes what cannot be decoded out of d and tells o->note about the first of
 * it; with o->strict that is an error. */
/* out NULL: pictures that are only scored, which no list has to keep. */
vitcl_status vt_pictures_check(vt_left_out *out, vt_dataset *d,
                               const vitcl_train_options *o, void *context);
/* Writes the list of a new training; without names, removes an old one. */
vitcl_status vt_left_out_save(const vt_left_out *l, const char *folder);
/* Reads a list, sorted. */
vitcl_status vt_left_out_load(vt_left_out *out, const char *path);
/* Takes the pictures of the folder's list out of d. */
vitcl_status vt_pictures_again(vt_dataset *d, const char *folder);

/* VITCL_EINVAL for class folders from which nothing can be learnt. */
vitcl_status vt_pictures_judge(const vt_dataset *d,
                               const vitcl_train_options *o);
/* The augmentation of a training that was not told one; *asymmetry: why. */
vitcl_status vt_pictures_augment(const char **out, double *asymmetry,
                                 const vt_dataset *d);
/* Tells o->note what was chosen and what is odd about the data. asymmetry: NAN
 * if nothing was chosen. */
vitcl_status vt_pictures_tell(const vt_dataset *d, const vitcl_train_options *o,
                              double asymmetry, void *context);
/* Tells o->note what a resumed training changes; NULL: nothing. */
void vt_pictures_changed(const char *what, const vitcl_train_options *o,
                         void *context);

#endif
