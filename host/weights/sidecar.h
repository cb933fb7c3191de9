/*
 * sidecar.h - the small files next to a checkpoint's weights: config.json and
 * the like.
 */
#ifndef VT_WEIGHTS_SIDECAR_H
#define VT_WEIGHTS_SIDECAR_H
#include "base/file.h"
#include "base/json.h"

/* Reads the file `name` of the checkpoint `path`, at most 128 MB. If it does
 * not exist, data is NULL and there is no error. Closed with vt_file_close().
 * `file`: its name in messages, freed by the caller; may be NULL. */
vitcl_status vt_sidecar_read(vt_file *out, char **file, const char *path,
                             const char *name);
/* The same, parsed; NULL: it does not exist. */
vitcl_status vt_sidecar_json(vt_json **out, const char *path, const char *name);

#endif
