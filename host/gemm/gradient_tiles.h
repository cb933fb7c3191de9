/*
 * gradient_tiles.h - attention's gradients in tiles of f32
 * (cl/attention_grad_tiles.cl): what a work-group computes. For
 * ops/attention_grad.c, and for the trial of those on matrix units.
 */
#ifndef VT_GEMM_GRADIENT_TILES_H
#define VT_GEMM_GRADIENT_TILES_H
#include "ocl/ocl.h"

/* A work-group of `items` owns `rows` queries or keys, and takes `others` at a
 * time; items 0: the device's work-groups are too small. */
typedef struct vt_gradient_tiles {
    size_t rows, others, items;
    char defines[64];
} vt_gradient_tiles;
/* d: numbers of a head. wide: vectors of four may be read and written at once.
 */
vt_gradient_tiles vt_gradient_tiles_of(const vt_dev *dev, int d, bool wide);

#endif
