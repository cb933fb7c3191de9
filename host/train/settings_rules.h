/*
 * settings_rules.h - the settings of a training: one table that says where each
 * is, its limit, and whether a training that is resumed may change it; and what
 * must hold between them.
 */
#ifndef VT_TRAIN_SETTINGS_RULES_H
#define VT_TRAIN_SETTINGS_RULES_H
#include "base/json.h"
#include "train/settings.h"

#define VT_LR_MAX 1e6
#define VT_OBJECTIVE_MASKED "masked-patch"

typedef enum {
    VT_SETTING_TEXT,      /* const char * */
    VT_SETTING_COUNT,     /* uint32_t */
    VT_SETTING_FLAG,      /* int, 0 or 1 */
    VT_SETTING_RATE,      /* double */
    VT_SETTING_STATE,     /* uint64_t */
    VT_SETTING_PRECISION, /* vitcl_precision */
    VT_SETTING_PATTERNS,  /* const char *const *, NULL-ended */
    VT_SETTING_FILE       /* const vt_json * */
} vt_setting_kind;

/* What a training that is resumed may do. The number of epochs, the learning
 * rate, the augmentation and the size of a pass only concern the steps to come.
 * No step depends on the pictures that are scored, or on when to give up. What
 * the done steps depend on, or how they are counted, stays. */
typedef enum {
    VT_SETTING_KEEP,
    VT_SETTING_CHANGE, /* and it is said */
    VT_SETTING_RENEW,  /* without a word */
    VT_SETTING_IGNORE
} vt_setting_rule;

typedef struct vt_setting {
    const char *key; /* in training.json */
    vt_setting_kind kind;
    size_t at;     /* in vt_settings */
    uint32_t most; /* of a count; 0: 2^31 - 1 */
    vt_setting_rule rule;
    const char *why;   /* of KEEP */
    const char *unset; /* what a member that is not there means; NULL: unset */
} vt_setting;

/* In the order of training.json; ends with a NULL key. */
extern const vt_setting vt_setting_rows[];
/* The row of a key; one with KEEP for a key that has none. */
const vt_setting *vt_setting_find(const char *key);

/* With all defaults filled in, and o.output. */
vitcl_status vt_settings_check(const vt_settings *s);
/* What a resumed training scores, with what was given to resume it. */
vitcl_status vt_settings_check_scored(const vt_settings *s,
                                      const vitcl_train_options *given);
/* Names that are kept in JSON must be UTF-8: the settings and those of
 * the classes of d, which may be NULL. */
vitcl_status vt_settings_check_names(const vt_settings *s, const vt_dataset *d);
/* Refuses settings of a file that have no effect on masked patches. */
vitcl_status vt_settings_check_masked(const vt_json *file, const char *path);

#endif
