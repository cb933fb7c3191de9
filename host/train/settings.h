/*
 * settings.h - a training's settings, kept as training.json in the run folder
 * so that it can be resumed.
 */
#ifndef VT_TRAIN_SETTINGS_H
#define VT_TRAIN_SETTINGS_H
#include "data/augment.h"
#include "data/dataset.h"
#include "train/schedule.h"
#include "train/trainer.h"

#include <vitcl_train.h>

typedef struct vt_settings {
    vt_json *json;         /* owns the texts */
    char *changed;         /* what a resumed training changes; NULL: nothing */
    vitcl_train_options o; /* those that are kept, defaults filled in */
    const char **freeze;   /* o.freeze */
    const vt_json *file;   /* what o.settings held; NULL: none */
    uint32_t pictures, classes; /* of the data at the start */
    bool masked;                /* o.objective is "masked-patch" */
    bool renewed;               /* the file does not have all of this yet */
    bool other_val;             /* than the file has */
} vt_settings;
void vt_settings_free(vt_settings *s);

/* Settings of a new training, defaults filled in; d: its data. */
vitcl_status vt_settings_new(vt_settings *out, const vitcl_train_options *o,
                             const vt_dataset *d);
/* Settings of a training to resume, with the changes that `o` gives
 * (changes.h). */
vitcl_status vt_settings_load(vt_settings *out, const vitcl_train_options *o);
vitcl_status vt_settings_save(const vt_settings *s, const char *folder);

/* The optimiser settings and the schedule over `steps` steps. */
vitcl_status vt_settings_optimizer(vt_optimizer_config *optimizer,
                                   vt_schedule *schedule, const vt_settings *s,
                                   long steps);

#endif
