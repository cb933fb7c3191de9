/*
 * export.h - what was tuned for CLBlast as a file for its database.
 */
#ifndef VT_TUNE_EXPORT_H
#define VT_TUNE_EXPORT_H
#include "ocl/ocl.h"

/* Writes what the user's file has for CLBlast on this device to `path`, in the
 * JSON of CLBlast's own tuners, which its database reads
 * (scripts/database/database.py) from files such as clblast_xgemm_2_32.json.
 * Times a product of 1024 x 1024 x 1024 with these parameters and with those
 * built in, each in a process of vitcl-try: *tuned and *built_in, in ms, equal
 * if the parameters are. VITCL_EINVAL: the file has nothing for it. */
vitcl_status vt_tuned_export(double *tuned, double *built_in, vt_dev *dev,
                             const char *path, vitcl_progress progress,
                             void *context);

#endif
