/*
 * export.h - what was tuned for CLBlast as a file for its database.
 */
#ifndef VT_TUNE_EXPORT_H
#define VT_TUNE_EXPORT_H
#include "ocl/ocl.h"

/* See vitcl_tuned_export(). */
vitcl_status vt_tuned_export(double *tuned, double *built_in, vt_dev *dev,
                             const char *path, vitcl_progress progress,
                             void *context);

#endif
