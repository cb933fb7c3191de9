/*
 * dialects.h - tables that map the names of other libraries to timm's. Those of
 * whole libraries are in dialects.c; those of one family, in its file in
 * host/models, which gives them to the functions here. canonical.c applies
 * them, host/convert in reverse. A prefix that all names of a file share is in
 * the dialect's prefixes. What wrappers add to names is removed before
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
    VT_FLAT,       /* [1,1,1,C] -> [C] */
    VT_TRANSPOSED, /* [in,out] -> [out,in] */
    VT_CONV,       /* [h,w,in,out] -> [out,in,h,w] */
    VT_HEADS_IN,   /* [D,H,hd] -> [H hd,D] */
    VT_HEADS_OUT,  /* [H,hd,D] -> [D,H hd] */
    VT_TOKEN,      /* [D] -> [1,1,D] */
    VT_TABLE,      /* [N,D] -> [1,N,D] */
    VT_PATCH,      /* [D,3PP] -> [D,3,P,P] */
    VT_PATCH_LAST  /* [D,PP3] -> [D,3,P,P]; other ranks stay */
} vt_layout;

typedef struct vt_row {
    const char *from;
    const char *to; /* NULL: dropped */
    vt_layout layout;
    uint8_t part, parts;     /* number `part` of `parts` joined along axis 0 */
    uint8_t first, last, of; /* takes shares first..last of `of` of axis 0 */
    bool whole;              /* `from` includes the prefix */
} vt_row;

/* Libraries to whose names families add their own. */
typedef enum { VT_NAMES_ALL, VT_NAMES_HF, VT_NAMES_TIMM } vt_names_of;

typedef struct vt_dialect {
    const char *name;            /* the library's */
    const char *const *marks;    /* prefix + any of these identifies it */
    const char *const *prefixes; /* NULL-ended, in the order they are tried */
    bool strict;                 /* names without the prefix are dropped */
    const vt_row *const *rows;   /* NULL-ended lists of rows */
    vt_names_of more;            /* families have further rows for it */
} vt_dialect;

/* What a family adds. */
struct vt_names {
    const vt_row *const *rows[3]; /* by vt_names_of; as in a dialect, or NULL */
    const vt_dialect *dialects;   /* ends with name == NULL; or NULL */
};

/* Each ends with name == NULL. */
extern const vt_dialect vt_dialects[], vt_text_dialects[];
/* Rows of several families of HF, for writing. */
extern const vt_row vt_names_encoder[], vt_names_key_bias[],
    vt_names_classifier[], vt_names_layer[], vt_names_tower[];

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
