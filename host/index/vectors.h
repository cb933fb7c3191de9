/*
 * vectors.h - vectors being written: shared by write.c, which writes rows, and
 * complete.c, which writes what is around them.
 */
#ifndef VT_INDEX_VECTORS_H
#define VT_INDEX_VECTORS_H
#include "base/checksum.h"
#include "base/file.h"
#include "index/index.h"

enum { VT_HEAD = 32768, VT_NPY_HEAD = 512 }; /* bytes before the rows */

typedef enum {
    VT_AS_SAFETENSORS,
    VT_AS_NPY,
    VT_AS_JSONL,
    VT_AS_CSV,
    VT_FORMATS
} vt_vectors_format;

struct vt_vectors {
    vt_newfile file, names; /* names: the .paths file beside .npy */
    vt_vectors_format format;
    vt_about about;
    vt_row_shape shape;
    size_t count; /* numbers a row */
    bool half;
    uint64_t rows, unfit;
    uint16_t *narrow; /* a row as f16 */
    float *nan;
    vt_stamp *stamps; /* and paths, until the end of a safetensors file */
    char *paths;
    size_t stamp_cap, path_cap, path_bytes;
    vt_summing *summing; /* the block of rows that is not complete */
    uint64_t *sums, block;
    size_t sum_cap, sum_count;
};

vitcl_status vt_vectors_put(vt_newfile *f, const void *data, size_t size,
                            size_t n);
vitcl_status vt_vectors_add_sum(vt_vectors *v, uint64_t sum);
/* A write that failed. */
vitcl_status vt_vectors_error(const vt_newfile *f);

#endif
