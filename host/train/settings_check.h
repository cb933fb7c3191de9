/*
 * settings_check.h - checks of what a training is given.
 */
#ifndef VT_TRAIN_SETTINGS_CHECK_H
#define VT_TRAIN_SETTINGS_CHECK_H
#include "base/json.h"
#include "base/status.h"
#include "data/dataset.h"

#include <vitcl_train.h>

#define VT_LR_MAX 1e6
#define VT_OBJECTIVE_MASKED "masked-patch"

/* Options with all defaults filled in. */
vitcl_status vt_settings_check(const vitcl_train_options *o);
/* Names that are kept in JSON must be UTF-8: those of the options and of the
 * classes of d, which may be NULL. */
vitcl_status vt_settings_check_names(const vitcl_train_options *o,
                                     const vt_dataset *d);
/* Refuses settings of a file that have no effect on masked patches. */
vitcl_status vt_settings_check_masked(const vt_json *file, const char *path);

#endif
