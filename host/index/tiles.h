/*
 * tiles.h - products of two tiles of rows on a device, and which of the scores
 * are large.
 */
#ifndef VT_INDEX_TILES_H
#define VT_INDEX_TILES_H
#include "product/product.h"

/* C = A B^T of A[tile, width] and B[tile, width]. All zero: nothing to free. */
typedef struct vt_tile_product {
    int tile, width;
    vt_timed t;
    vt_kernel *most; /* of each row of C */
    vt_buf *largest;
    float *host, *scores; /* [tile], [tile, tile] */
    bool all;             /* scores has all rows of C */
} vt_tile_product;

vitcl_status vt_tile_product_new(vt_tile_product *s, vt_dev *dev, int tile,
                                 int width);
/* rows[tile, width] */
vitcl_status vt_tile_product_rows(vt_tile_product *s, const float *rows);
vitcl_status vt_tile_product_columns(vt_tile_product *s, const float *rows);
/* Multiplies, and counts the rows of C with a number of at least `least`. */
vitcl_status vt_tile_product_run(int *hits, vt_tile_product *s, float least);
/* Is there such a number in this row? */
static inline bool vt_tile_product_hit(const vt_tile_product *s, int row,
                                       float least)
{
    return s->host[row] >= least;
}
/* A row of C, until the next call. */
vitcl_status vt_tile_product_scores(const float **out, vt_tile_product *s,
                                    int row);
void vt_tile_product_free(vt_tile_product *s);

#endif
