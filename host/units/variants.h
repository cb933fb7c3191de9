/*
 * variants.h - kernels that are used only where VITCL_VARIANTS names them,
 * until a GPU has shown which are faster.
 */
#ifndef VT_UNITS_VARIANTS_H
#define VT_UNITS_VARIANTS_H
#include "base/status.h"

#include <stdbool.h>

typedef enum {
    VT_VARIANT_NORM,    /* layer norm by a sub-group a row */
    VT_VARIANT_TAIL,    /* attention leaves out keys behind the last */
    VT_VARIANT_HEADS7,  /* attention by 7 sub-groups */
    VT_VARIANT_HEADS13, /* or by 13 */
    VT_VARIANT_COLUMNS, /* sums of few columns in parts */
    VT_VARIANT_PARTS,   /* a product's parts are added by its last groups */
    VT_VARIANT_ROWS,    /* layer norm rounds its rows for int8 products */
    VT_VARIANT_LAST,    /* the last groups of rows round them for these, in
                         * products and attention */
    VT_VARIANT_FAR,     /* Intel's dpas16 reads A past local memory */
    VT_VARIANT_PIXELS,  /* pixels to patches in one kernel */
    VT_VARIANT_EMBED,   /* products with residuals that lie otherwise than their
                         * results: of the patches, and in the last block */
    VT_VARIANTS
} vt_variant;

/* Does VITCL_VARIANTS, words with commas between them, name it? */
bool vt_variant_wanted(vt_variant v);
const char *vt_variant_name(vt_variant v);
/* VITCL_EINVAL if it has another word. */
vitcl_status vt_variant_setting(void);

#endif
