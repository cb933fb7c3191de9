/*
 * parts.h - a range of a tensor with its axes permuted: for host/weights only.
 */
#ifndef VT_WEIGHTS_PARTS_H
#define VT_WEIGHTS_PARTS_H
#include "weights/dialects.h"

#define VT_PART_AXES 4

typedef struct vt_tensor_part {
    const vt_tensor *tensor;     /* NULL: zeros */
    uint64_t first, count;       /* elements */
    uint64_t dim[VT_PART_AXES];  /* in the file's order */
    uint8_t order[VT_PART_AXES]; /* axis i of the result is order[i] */
    uint8_t axes;                /* 0: as in the file */
    uint32_t rank;               /* of the result */
    uint64_t shape[VT_RANK_MAX];
} vt_tensor_part;

/* Changes the part's shape from the file's to the canonical one. `file` is used
 * in messages. */
vitcl_status vt_tensor_part_lay_out(vt_tensor_part *p, vt_layout layout,
                                    const char *file);
vitcl_status vt_tensor_part_read(float *out, const vt_tensor_part *p);

#endif
