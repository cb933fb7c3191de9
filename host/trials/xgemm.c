/*
 * xgemm.c - how long CLBlast's own example of a product takes.
 */
#include "trials/trials.h"

#include "tune/params.h"

vitcl_status vt_trial_xgemm(double *ms, vt_dev *dev, const char *entry)
{
    vt_number number[VT_NUMBERS];

    VT_RET(vt_params_use(dev, entry));
    vt_params_numbers(number, dev, VT_PARAMS_CLBLAST);
    return vt_clblast_time(ms, dev, number);
}
