/*
 * memory.h - overflow-checked sizes and zeroed allocations.
 */
#ifndef VT_BASE_MEMORY_H
#define VT_BASE_MEMORY_H
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* *out = a * b or a + b; returns false (*out unchanged) on overflow. */
bool vt_mul(size_t *out, size_t a, size_t b);
bool vt_sum(size_t *out, size_t a, size_t b);

/* Allocates n zeroed elements of `size` bytes into *out: VT_NEW(&ptr, n). */
vitcl_status vt_new(void *out, size_t n, size_t size);
#ifdef __clang_analyzer__ /* it does not see stores made in another file */
#define VT_NEW(ptr, n)                                                         \
    ((*(ptr) = calloc((n), sizeof **(ptr))) ? VITCL_OK : VITCL_ENOMEM)
#else
#define VT_NEW(ptr, n) vt_new((ptr), (n), sizeof **(ptr))
#endif
/* Resizes *ptr to hold at least `need` elements and updates *cap. New elements
 * are zero. */
vitcl_status vt_grow(void *ptr, size_t *cap, size_t need, size_t size);
vitcl_status vt_strdup(char **out, const char *s);
/* printf into a new string. */
vitcl_status vt_format(char **out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define VT_MIN(a, b) ((a) < (b) ? (a) : (b))
#define VT_MAX(a, b) ((a) > (b) ? (a) : (b))
#define VT_COUNT(array) (sizeof(array) / sizeof *(array))

#endif
