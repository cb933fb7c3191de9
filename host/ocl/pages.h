/*
 * pages.h - our own host memory. For buffer.c.
 */
#ifndef VT_OCL_PAGES_H
#define VT_OCL_PAGES_H
#include <stddef.h>

/* Zeroed memory, aligned to 2 MiB; NULL: out of memory. The system provides
 * pages on first use. */
void *vt_pages_new(size_t bytes);
/* For memory that is used for long: makes its pages large now. */
void vt_pages_make_large(void *pages, size_t bytes);
void vt_pages_free(void *pages, size_t bytes); /* the same size */

#endif
