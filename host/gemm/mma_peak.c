/*
 * mma_peak.c - a kernel of a matrix unit's instructions alone: cl/peak_mma.cl.
 */
#include "gemm/mma_training.h"
#include "ocl/precision.h"

#include <stdio.h>

/* KW of cl/common_units.cl: words of k of an instruction. */
static int deep(int kind, vt_dtype type)
{
    const bool whole = type == VT_I8;

    if (vt_mma_nvidia(kind) || vt_mma_intel(kind))
        return 8;
    if (kind == VT_MMA_WMMA11 || kind == VT_MMA_WMMA12)
        return whole ? 4 : 8;
    return whole && kind == VT_MMA_MFMA90A ? 2 : 4;
}

/* FM * FN instructions in flight; a strip of wgmma has two of 64 rows and 128
 * columns. */
vitcl_status vt_mma_peak(vt_kernel **out, double *flops, vt_dev *dev,
                         const vt_told *t)
{
    enum { PEAK_ITEMS = 256, FM = 2, FN = 4 };
    const vt_mma_kind *k = &vt_mma_kinds[t->unit.kind];
    const int words = t->d.type == VT_I8 ? 4 : 2; /* terms of one */
    char defines[96];

    if (t->unit.emulated || k->lanes >= PEAK_ITEMS ||
        vt_dev_group_max(dev) < PEAK_ITEMS)
        return VITCL_OK;
    *flops = 2.0 * (FM * FN) * k->rows * k->columns * words / k->lanes *
             deep(t->unit.kind, t->d.type);
    if (t->unit.groups)
        *flops = 2.0 * 64 * 128 * 16 * words / 128;
    snprintf(defines, sizeof defines, "-DKIND=%d%s%s -DTYPE=%d -DFM=%d -DFN=%d",
             t->unit.kind, vt_mma_flags(t->unit),
             t->unit.groups ? " -DWGMMA" : "", vt_type_number(t->d.type),
             t->unit.groups ? 1 : FM, t->unit.groups ? 16 : FN);
    return vt_kernel_new(out, dev, "peak_mma", "peak_mma", defines);
}
