/*
 * user_dir.h - the user's own folders for what vitcl keeps between runs, and
 * files in them that appear whole or not at all.
 *
 * Nobody else may have put anything there: a folder or file that is a link, or
 * another user's, or that others may write, is not used. Everything is opened
 * relative to the folder that was checked. Nothing here is an error: what
 * cannot be read is not there, what cannot be written is not kept.
 */
#ifndef VT_BASE_USER_DIR_H
#define VT_BASE_USER_DIR_H
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* The path of $variable/vitcl, else of ~/fallback/vitcl; false: neither. */
bool vt_user_path(char *out, size_t size, const char *variable,
                  const char *fallback);
/* That folder, opened, and made where `make`; -1: not there, or not to be
 * used. Then errno says why, 0 where it is not ours alone or has no path. */
int vt_user_folder(const char *variable, const char *fallback, bool make);
/* Is it a file (or folder) that only we can have written? */
bool vt_user_file(int fd);
bool vt_user_read(int fd, void *out, size_t size); /* all of it */

/* A text of at most `limit` bytes, without NULs, as a new string. False: not
 * there (then *why is NULL), or refused: *why says so. */
bool vt_user_text(char **out, const char **why, int folder, const char *name,
                  size_t limit);
/* The file of two parts, by a temporary name. False: errno says why. */
bool vt_user_write(int folder, const char *name, const void *head,
                   size_t head_size, const void *body, size_t size);

#endif
