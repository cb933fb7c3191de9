/*
 * tiles.h - products of two tiles of rows on a device, and which of the scores
 * are large.
 */
#ifndef VT_INDEX_TILES_H
#define VT_INDEX_TILES_H
#include "product/product.h"

/* C = A B^T of A[tile, width] and B[tile, width]. All zero: nothing to free. */
typedef struct vt_tiles {
    int tile, width;
    vt_timed t;
    vt_kernel *most; /* of each row of C */
    vt_buf *largest;
    float *host, *scores; /* [tile], [tile, tile] */
    bool all;             /* scores has all rows of C */
} vt_tiles;

vitcl_status vt_tiles_new(vt_tiles *s, vt_dev *dev, int tile, int width);
/* rows[tile, width] */
vitcl_status vt_tiles_rows(vt_tiles *s, const float *rows);
vitcl_status vt_tiles_columns(vt_tiles *s, const float *rows);
/* Multiplies, and counts the rows of C with a number of at least `least`. */
vitcl_status vt_tiles_run(int *hits, vt_tiles *s, float least);
/* Is there such a number in this row? */
static inline bool vt_tiles_hit(const vt_tiles *s, int row, float least)
{
    return s->host[row] >= least;
}
/* A row of C, until the next call. */
vitcl_status vt_tiles_scores(const float **out, vt_tiles *s, int row);
void vt_tiles_free(vt_tiles *s);

#endif
