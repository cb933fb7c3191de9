/*
 * dialects.h - tables that map the names of other libraries to timm's: for
 * host/weights and host/convert. The tables are in dialects.c; canonical.c
 * applies them, export.c in reverse. A prefix that all names of a file share is
 * in the dialect's prefixes. What wrappers add to names is removed before
 * (canonical.c).
 *
 * A name or pattern may contain
 *     #   a block's number; in `to` the same number
 *     @   in `to`: the next number minus one
 *     %   last: weight or bias, and in .npz files kernel (a
 *         weight), scale (a weight) or bias
 *     *   last in `from`: any rest
 */
#ifndef VT_WEIGHTS_DIALECTS_H
#define VT_WEIGHTS_DIALECTS_H
#include "weights/weights.h"

/* How a weight's axes change; a bias becomes a vector in all but SAME. */
typedef enum {
    VT_SAME,
    VT_FLAT,      /* [1,1,1,C] -> [C] */
    VT_LINEAR,    /* [in,out] -> [out,in] */
    VT_CONV,      /* [h,w,in,out] -> [out,in,h,w] */
    VT_HEADS_IN,  /* [D,H,hd] -> [H hd,D] */
    VT_HEADS_OUT, /* [H,hd,D] -> [D,H hd] */
    VT_TOKEN,     /* [D] -> [1,1,D] */
    VT_TABLE,     /* [N,D] -> [1,N,D] */
    VT_PATCH,     /* [D,3PP] -> [D,3,P,P] */
    VT_PATCH_LAST /* [D,PP3] -> [D,3,P,P]; other ranks stay */
} vt_layout;

/* Model types of HF transformers whose names a row gives when names are made
 * from canonical ones (export.c); reading uses every row. */
enum {
    VT_HF_VIT = 1,
    VT_HF_DEIT = 2,
    VT_HF_DINOV2 = 4,
    VT_HF_BEIT = 8,
    VT_HF_CLIP = 16,
    VT_HF_SIGLIP = 32,
    VT_TIMM_BEIT = 64, /* timm's BEiT and EVA */
    VT_HF_DINOV2_GLU = 128
};

typedef struct vt_row {
    const char *from;
    const char *to; /* NULL: dropped */
    vt_layout layout;
    uint8_t part, parts;     /* number `part` of `parts` joined along axis 0 */
    uint8_t first, last, of; /* takes shares first..last of `of` of axis 0 */
    bool whole;              /* `from` includes the prefix */
    uint8_t types;           /* VT_HF_*; 0: not used for writing */
} vt_row;

typedef struct vt_dialect {
    const char *name;
    const char *const *marks;    /* prefix + any of these identifies it */
    const char *const *prefixes; /* NULL-ended, in the order they are tried */
    bool strict;                 /* names without the prefix are dropped */
    const vt_row *rows;          /* ended by from == NULL */
} vt_dialect;

/* Ends with name == NULL. */
extern const vt_dialect vt_dialects[];
extern const vt_dialect vt_text_dialects[]; /* of text towers */

/* The names of all tensors without what wrappers add, ended by NULL; the caller
 * frees each, and the list, also after an error. */
vitcl_status vt_names_unwrap(char ***out, const vt_tensors *raw);
/* The first dialect that has a mark among the names, or NULL. *prefix: its
 * own; *head: a name, of which *outer bytes precede the prefix. */
const vt_dialect *vt_dialect_find(const char **prefix, const char **head,
                                  size_t *outer, const vt_dialect *dialects,
                                  const char *const *names);

/* Does `name` match `pattern`? The numbers and the word that matches '%' are
 * stored in numbers[2] and *word (NULL: none). */
bool vt_name_fits(const char *pattern, const char *name, unsigned numbers[2],
                  const char **word);
/* The reverse: makes a name; false: longer than `size`. */
bool vt_name_make(char *out, size_t size, const char *pattern,
                  const unsigned numbers[2], const char *word);

#endif
