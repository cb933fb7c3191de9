/*
 * base64.h - bytes as text (RFC 4648, section 4).
 */
#ifndef VT_BASE_BASE64_H
#define VT_BASE_BASE64_H
#include <stddef.h>
#include <stdio.h>

void vt_base64_put(FILE *f, const void *data, size_t size);

#endif
