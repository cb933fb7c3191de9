/*
 * peak.h - the peak speed of a device.
 */
#ifndef VT_PRODUCT_PEAK_H
#define VT_PRODUCT_PEAK_H
#include "ocl/ocl.h"

/* Of the instructions that compute products in this precision (not half). */
vitcl_status vt_peak_measure(double *gflops, vt_dev *dev,
                             vitcl_precision precision);

#endif
