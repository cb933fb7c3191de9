/*
 * no_clblast.c - in place of clblast.c in a build without CLBlast: a provider
 * that is usable nowhere, as CLBlast itself is on some devices.
 */
#include "gemm/provider.h"

static bool usable(vt_dev *dev)
{
    (void)dev;
    return false;
}

const vt_provider vt_gemm_clblast = {
    .name = "clblast", .form = "clblast", .usable = usable};
