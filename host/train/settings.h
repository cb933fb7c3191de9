/*
 * settings.h - what a training was asked for, kept as training.json in its
 * folder so that it can go on with the same.
 */
#ifndef VT_TRAIN_SETTINGS_H
#define VT_TRAIN_SETTINGS_H
#include "data/augment.h"
#include "data/dataset.h"
#include "train/schedule.h"
#include "train/trainer.h"

#include <vitcl_train.h>

typedef struct vt_settings {
    vt_json *json; /* owns the strings */
    const char *preset, *config, *model, *data, *split, *augment;
    const char *objective; /* NULL: the classes */
    bool masked;           /* it is masked patch prediction */
    const char **freeze;   /* NULL-ended, or NULL */
    uint32_t epochs, batch, micro, height, width, hold_out;
    uint32_t pictures, classes; /* of the data, when it began */
    double lr;
    uint64_t random_state;
    vitcl_precision precision;
} vt_settings;
void vt_settings_free(vt_settings *s);

/* A new training's, with defaults put in; d: its data. */
vitcl_status vt_settings_new(vt_settings *out, const vitcl_train_options *o,
                             const vt_dataset *d);
/* An old one's; what `o` gives must agree (but for where the data lies). */
vitcl_status vt_settings_load(vt_settings *out, const vitcl_train_options *o);
vitcl_status vt_settings_save(const vt_settings *s, const char *folder);

/* The optimiser and the schedule that they ask for, over `steps`. */
vitcl_status vt_settings_optimizer(vt_optimizer_config *recipe,
                                   vt_schedule *schedule, const vt_settings *s,
                                   long steps);

#endif
