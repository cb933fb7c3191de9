/*
 * verify.h - is what was written the same model? For this folder only.
 */
#ifndef VT_CONVERT_VERIFY_H
#define VT_CONVERT_VERIFY_H
#include "models/model.h"

/* Reads the folder again and compares its description with the source's, field
 * by field; VITCL_EUNSUPPORTED, and the field's name, where they differ. path:
 * the source; library: whose form the folder has; both for messages. */
vitcl_status vt_convert_verify(const vt_model *m, const char *path,
                               const char *folder, const char *library);

#endif
