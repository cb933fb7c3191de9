/*
 * parts.c - K in parts.
 */
#include "gemm/parts.h"
#include "base/memory.h"
#include "gemm/common.h"

long vt_tile_count(int rows, int columns, int high, int wide)
{
    return (long)vt_divide_up(rows, high) * vt_divide_up(columns, wide);
}

long vt_processors(const vt_dev *dev, const vt_told *t, int engines)
{
    const long all = (long)vt_dev_info(dev)->compute_units / engines;

    return t->units ? t->units : VT_MAX(all, 1);
}

int vt_part_terms(const vt_told *t, long parts, int most)
{
    enum { LEAST = 256, STEP = 64 };
    const int K = t->d.K, asked = t->parts;
    const int n = asked ? asked : (int)VT_MIN(VT_MAX(parts, 1), most);
    const int terms = vt_divide_up(vt_divide_up(K, n), STEP) * STEP;

    return VT_MIN(K, asked ? terms : VT_MAX(terms, LEAST));
}
