/*
 * order.h - the order of lists of strings.
 */
#ifndef VT_BASE_ORDER_H
#define VT_BASE_ORDER_H

/* For qsort() and bsearch() of pointers to strings: by their bytes. */
int vt_by_text(const void *a, const void *b);

#endif
