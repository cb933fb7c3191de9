/*
 * device.h - devices with what units, parameters and products keep with them.
 */
#ifndef VT_PRODUCT_DEVICE_H
#define VT_PRODUCT_DEVICE_H
#include "ocl/ocl.h"

/* Opens a device with the user's parameters; vt_dev_info() has their number. */
vitcl_status vt_product_open(vt_dev **out, const char *select);
vitcl_status vt_product_list(vitcl_device_info *out, uint32_t index);
/* How many products were timed since this device was opened. */
uint32_t vt_product_count(const vt_dev *dev);

#endif
