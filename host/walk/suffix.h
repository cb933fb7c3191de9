/*
 * suffix.h - which names are those of pictures.
 */
#ifndef VT_WALK_SUFFIX_H
#define VT_WALK_SUFFIX_H
#include <stdbool.h>

bool vt_is_picture_name(const char *name);

#endif
