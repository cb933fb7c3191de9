/*
 * magic.h - the first bytes of pictures, for files whose names do not say that
 * they are pictures.
 */
#ifndef VT_WALK_MAGIC_H
#define VT_WALK_MAGIC_H
#include <stdbool.h>
#include <stddef.h>

/* So many first bytes are enough. */
enum { VT_MAGIC_BYTES = 32 };
bool vt_begins_picture(const char *head, size_t size);

#endif
