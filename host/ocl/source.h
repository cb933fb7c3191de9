/*
 * source.h - the kernels that are embedded in the library (made from cl/).
 */
#ifndef VT_OCL_SOURCE_H
#define VT_OCL_SOURCE_H
#include "base/status.h"

#include <stddef.h>

typedef struct vt_cl_source {
    const char *name, *text;
    size_t size;
} vt_cl_source;

extern const vt_cl_source vt_cl_sources[]; /* ends with a NULL name */

/* Blanks out all kernels but the n named ones, and what follows these, keeping
 * the line numbers. */
void vt_source_keep(char *text, const char *const *names, unsigned n);

#endif
