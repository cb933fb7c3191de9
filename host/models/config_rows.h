/*
 * config_rows.h - which keys of a config are understood; for config_keys.c.
 */
#ifndef VT_MODELS_CONFIG_ROWS_H
#define VT_MODELS_CONFIG_ROWS_H
#include "models/model.h"

/* only: NULL: any value; "": no value (null, or nothing in it); else JSON
 * texts, separated by "|". */
typedef struct vt_config_row {
    const char *name, *only;
} vt_config_row;

/* End with a NULL name. Keys of every config of Hugging Face, those around a
 * tower's own config, and those of a family. */
extern const vt_config_row vt_config_hf_all[], vt_config_hf_towers[];
const vt_config_row *vt_config_rows(const vt_config *c, bool hf);

#endif
