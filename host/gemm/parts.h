/*
 * parts.h - K in parts, where a picture gives a GPU too few tiles: for tile.c
 * and mma.c.
 *
 * The parts, and so the bits, depend on N, K and the device, never on the rows:
 * a picture is taken to have VT_PART_ROWS of them. In a gradient of weights the
 * pictures' rows are K.
 */
#ifndef VT_GEMM_PARTS_H
#define VT_GEMM_PARTS_H
#include "gemm/form.h"

enum { VT_PART_ROWS = 256 };
enum { VT_PARTS = 4 }; /* at most: tile.c has a kernel for each */

long vt_tile_count(int rows, int columns, int high, int wide);
/* The device's processors, of so many units that its driver reports each. */
long vt_processors(const vt_dev *dev, const vt_told *t, int engines);
/* The terms of one of about `parts` parts of K, at most `most` of them, a
 * multiple of 64 unless it is all of K. */
int vt_part_terms(const vt_told *t, long parts, int most);

#endif
