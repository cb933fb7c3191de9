/*
 * piped.h - reads stdin, and a picture on it.
 */
#ifndef VT_CLI_PIPED_H
#define VT_CLI_PIPED_H
#include "cli/setup/setup.h"

#include <sys/types.h>

/* read() of stdin, or of another file, that waits for bytes, even if it is set
 * not to. */
ssize_t piped_get(int fd, void *to, size_t room);
/* Are these the first bytes of a picture? */
bool piped_begins_picture(const char *head, size_t size);
/* Does this path name stdin, and is that a pipe, a socket or a terminal? */
bool piped_is_name(const char *path);
/* Is one of these "-", or such a path? */
bool piped_among(const words *operands);
/* Reads stdin to its end; its first n bytes were read before. Returns why that
 * failed, or NULL; the caller frees *out. */
const char *piped_read(char **out, size_t *size, const char *head, size_t n);

#endif
