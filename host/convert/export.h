/*
 * export.h - write weights with the names of timm or HF transformers.
 */
#ifndef VT_CONVERT_EXPORT_H
#define VT_CONVERT_EXPORT_H
#include "weights/dialects.h"

/* Where the two libraries hold the same model in different tensors. Data that a
 * flag drops must be zeros, else writing fails with a message. */
typedef struct vt_export {
    bool hf;                    /* a weight without a name there is an error */
    const vt_row *const *names; /* lists of rows, ended by NULL; or NULL */
    const char *prefix;         /* of every name except the heads' */
    vt_file_dtype dtype;        /* VT_FILE_OTHER: as stored */
    bool pad_positions;         /* pos_embed gets a first row of zeros */
    bool fold_positions; /* cls_token += pos_embed's first row, then drop it */
    bool widen_head;     /* [K,D] -> [K,2D]: zero weights for the mean */
    bool narrow_head;    /* [K,2D] -> [K,D] */
    bool drop_head_bias;
    bool add_head_bias;
    int mask_token;   /* its width; 0: none. Zeros, for HF */
    const char *drop; /* omit names with this prefix; or NULL */
    const char *const *metadata;
} vt_export;

vitcl_status vt_weights_export(const char *path, const vt_weights *w,
                               const vt_export *how);
/* The same tensors; only the type of floats changes. w: made of t, gives the
 * names, without those of wrappers; NULL: the names stay. */
vitcl_status vt_tensors_export(const char *path, const vt_tensors *t,
                               const vt_weights *w, vt_file_dtype dtype,
                               const char *const *metadata);

/* Does the weight exist, and are its first n elements zeros? */
vitcl_status vt_weight_is_zero(bool *out, const vt_weights *w, const char *name,
                               uint64_t n);

#endif
