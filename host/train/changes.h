/*
 * changes.h - changes a training that is resumed, by the rules of
 * settings_rules.h.
 */
#ifndef VT_TRAIN_CHANGES_H
#define VT_TRAIN_CHANGES_H
#include "base/json.h"

#include <stdbool.h>

/* given: settings that were given to resume. *merged: old with the changes; to
 * be freed. *what: "epochs 4 -> 8, lr 0.1 -> 0.01"; NULL: the steps are those
 * of before. *any: merged differs from old. VITCL_EINVAL: a setting cannot be
 * changed; says which and why. */
vitcl_status vt_changes_apply(vt_json **merged, char **what, bool *any,
                              const vt_json *old, const vt_json *given,
                              const char *folder);

#endif
