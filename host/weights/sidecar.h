/*
 * sidecar.h - the small files that lie with a checkpoint's weights: config.json
 * and the like.
 */
#ifndef VT_WEIGHTS_SIDECAR_H
#define VT_WEIGHTS_SIDECAR_H
#include "base/file.h"

/* Where `name` belongs: in the folder `path`, or beside the file `path`. */
vitcl_status vt_sidecar_path(char **out, const char *path, const char *name);

/* The file `name` of the checkpoint `path`, 32 MB at most; one that is not
 * there has data NULL and is no error. Closed with vt_file_close(). `file`:
 * what messages call it, freed by the caller; may be NULL. */
vitcl_status vt_sidecar_read(vt_file *out, char **file, const char *path,
                             const char *name);

#endif
