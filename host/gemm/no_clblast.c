/*
 * no_clblast.c - in place of clblast.c in a build without CLBlast: a provider
 * that is usable nowhere, as CLBlast itself is on some devices.
 */
#include "gemm/form.h"

static bool usable(vt_dev *dev, const vt_number *numbers)
{
    (void)dev, (void)numbers;
    return false;
}

vitcl_status vt_clblast_time(double *ms, vt_dev *dev, const vt_number *numbers)
{
    (void)ms, (void)dev, (void)numbers;
    return vt_fail(VITCL_EUNSUPPORTED, "vitcl was built without CLBlast");
}

const vt_form vt_form_clblast = {
    .provider = "clblast", .name = "clblast", .usable = usable};
