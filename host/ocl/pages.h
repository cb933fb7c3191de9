/*
 * pages.h - host memory of our own. For buffer.c.
 */
#ifndef VT_OCL_PAGES_H
#define VT_OCL_PAGES_H
#include <stddef.h>

/* Zeros, aligned to 2 MiB; NULL: none to be had. Nothing is taken from the
 * system before it is touched. */
void *vt_pages_new(size_t bytes);
/* It will be used for long: make the pages large now. */
void vt_pages_grow(void *pages, size_t bytes);
void vt_pages_free(void *pages, size_t bytes); /* of the size it was made */

#endif
