/*
 * attention_tiles.h - attention and its gradients without matrix units
 * (cl/attention.cl, cl/attention_grad_tiles.cl): what a work-group computes.
 * For ops/attention.c and ops/attention_grad.c, and for the trials of those on
 * matrix units.
 */
#ifndef VT_OPS_ATTENTION_TILES_H
#define VT_OPS_ATTENTION_TILES_H
#include "ocl/ocl.h"

/* A work-group has a query in each of `items`, and takes `keys` at a time. */
typedef struct vt_query_tiles {
    size_t items;
    int keys;
    char defines[48];
} vt_query_tiles;
/* d: numbers of a head. */
vt_query_tiles vt_query_tiles_of(const vt_dev *dev, int d);

/* The gradients: a work-group of `items` owns `rows` queries or keys, and takes
 * `others` at a time; items 0: the device's work-groups are too small. */
typedef struct vt_gradient_tiles {
    size_t rows, others, items;
    char defines[64];
} vt_gradient_tiles;
/* wide: vectors of four may be read and written at once. */
vt_gradient_tiles vt_gradient_tiles_of(const vt_dev *dev, int d, bool wide);

#endif
