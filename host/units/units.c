/*
 * units.c - what is known of a device's instructions, kept with it.
 */
#include "units/units.h"

#include "base/memory.h"

vitcl_status vt_units_open(vt_dev *dev)
{
    vt_units *u = NULL;
    const vitcl_status st = VT_NEW(&u, 1);

    if (st == VITCL_OK)
        vt_dev_attach(dev, VT_ATTACHED_UNITS, u, free);
    return st;
}

vt_units *vt_units_of(const vt_dev *dev)
{
    return vt_dev_attached(dev, VT_ATTACHED_UNITS);
}
