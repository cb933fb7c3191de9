/*
 * suffix.h - which names are those of pictures.
 */
#ifndef VT_WALK_SUFFIX_H
#define VT_WALK_SUFFIX_H
#include <stdbool.h>
#include <stddef.h>

/* Suffix number `at`, in lower case and without the dot; NULL: there are no
 * more. */
const char *vt_picture_suffix(size_t at);
bool vt_is_picture_name(const char *name);

#endif
