/*
 * suffix.h - which names are those of pictures.
 */
#ifndef VT_SCALE_SUFFIX_H
#define VT_SCALE_SUFFIX_H
#include <stdbool.h>

bool vt_is_picture_name(const char *name);

#endif
