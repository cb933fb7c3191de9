/*
 * sums.h - checksums of an index: of each block of rows, of the stamps, of the
 * paths, and of the head. A block is checked when one of its rows is read for
 * the first time.
 */
#ifndef VT_INDEX_SUMS_H
#define VT_INDEX_SUMS_H
#include "weights/weights.h"

#include <stdatomic.h>
#include <stdbool.h>

typedef enum {
    VT_SUM_STAMPS,
    VT_SUM_PATHS,
    VT_SUM_HEAD,
    VT_SUM_KINDS
} vt_sum_part;

typedef struct vt_sums {
    const char *path; /* for messages */
    const vt_tensor *features;
    uint64_t *sum;                /* NULL: the file has none */
    atomic_uchar *checked;        /* [blocks] */
    uint64_t rows, blocks, block; /* block: rows of each */
} vt_sums;

/* Rows of a block, each of `count` numbers: a power of two, and with f32 at
 * most 256 KiB. */
uint64_t vt_sums_block(uint64_t count);
/* block: as the metadata have it; 0: they do not. */
vitcl_status vt_sums_load(vt_sums *out, const vt_tensors *raw, uint64_t block,
                          uint64_t rows);
/* Checks the blocks of n rows, whose bytes are read. By several threads. */
vitcl_status vt_sums_rows(const vt_sums *s, const void *bytes, uint64_t first,
                          uint64_t n);
/* Is this the checksum of another part of the file? */
vitcl_status vt_sums_part(const vt_sums *s, vt_sum_part part, uint64_t sum);
void vt_sums_free(vt_sums *s);

#endif
