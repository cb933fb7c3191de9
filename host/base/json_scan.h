/*
 * json_scan.h - a strict scan of a JSON text: for json.c.
 */
#ifndef VT_BASE_JSON_SCAN_H
#define VT_BASE_JSON_SCAN_H
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

#define VT_JSON_DEEPEST 64 /* the scan recurses */

typedef struct vt_json_scan {
    const unsigned char *s;
    size_t size, at;
    int depth;       /* levels left */
    const char *why; /* of the first error; NULL: the text is valid */
    size_t values, numbers, cap;
    uint8_t *exact; /* one per number, in text order: a plain integer? */
    vitcl_status memory;
} vt_json_scan;

/* Scans the whole text; free(out->exact). Not VITCL_OK: out of memory. */
vitcl_status vt_json_scan_text(vt_json_scan *out, const char *text, size_t size,
                               int depth);

#endif
