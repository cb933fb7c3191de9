/*
 * file.h - read a file as bytes, and write a file atomically.
 */
#ifndef VT_BASE_FILE_H
#define VT_BASE_FILE_H
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct vt_file {
    const uint8_t *data; /* malloc'd */
    size_t size;
} vt_file;

/* Opens a regular file for reading. Nothing is mapped: a file that is truncated
 * while we read it must give an error, not SIGBUS. */
vitcl_status vt_file_open(int *out, size_t *size, const char *path);
/* Read a whole file of at most `limit` bytes. */
vitcl_status vt_file_read(vt_file *out, const char *path, size_t limit);
void vt_file_close(vt_file *f);

/* Reads or writes all n bytes at an offset of a file. Returns 0, an errno, or
 * VT_SHORT if the file ends before. */
enum { VT_SHORT = -1 };
int vt_read_at(int fd, void *out, size_t n, uint64_t at);
int vt_write_at(int fd, const void *from, size_t n, uint64_t at);

/* Closes this descriptor and all above it, in a program of ours that a host
 * starts. */
void vt_close_from(int fd);

/* The files of a tokenizer in Hugging Face's folders. */
#define VT_TOKENIZER_FILES                                                     \
    "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",   \
        "tokenizer.json", "vocab.json", "merges.txt", "spiece.model",          \
        "tokenizer.model"

bool vt_path_is_folder(const char *path);
bool vt_path_exists(const char *path);
/* The path of `name`: in the folder `path`, or next to the file `path`. */
vitcl_status vt_path_beside(char **out, const char *path, const char *name);
/* What is behind the last slash. */
const char *vt_path_name(const char *path);
/* Does it end like this, with something before it? */
bool vt_path_ends(const char *path, const char *ending);

/* ---- writing (newfile.c) ---- */

/* A file being written: `f` writes to a hidden file beside it; commit() syncs
 * and renames that, discard() removes it. A link is followed, and a file that
 * is replaced passes on its permissions. */
typedef struct vt_newfile {
    FILE *f;
    char *path;               /* as it was given */
    char *target, *temporary; /* of the link at `path`; beside it */
} vt_newfile;
vitcl_status vt_newfile_open(vt_newfile *out, const char *path);
vitcl_status vt_newfile_commit(vt_newfile *n);
/* The same, but after a failure the file is still open: its rows can be kept
 * (partial.h). */
vitcl_status vt_newfile_finish(vt_newfile *n);
/* finish() for both or none: after a failure older files are as they were. Only
 * a process that is killed between two renames leaves one new and one old. */
vitcl_status vt_newfile_finish_both(vt_newfile *a, vt_newfile *b);
/* Without a sync, and only if nothing has the name; else *taken, and there is
 * no file. For a copy, whose original is there. */
vitcl_status vt_newfile_commit_new(bool *taken, vt_newfile *n);
void vt_newfile_discard(vt_newfile *n); /* after commit: does nothing */
/* In a child after fork(): the parent still writes the file. */
void vt_newfile_forget(vt_newfile *n);
/* Is `name` that of a temporary file of `of`? Both without their folder. */
bool vt_newfile_is_part(const char *name, const char *of);

/* Holds `path` until vt_newfile_discard(), by a hidden file beside it, against
 * others that do. *busy: another process holds it, and we were not to wait. */
vitcl_status vt_newfile_hold(bool *busy, vt_newfile *out, const char *path,
                             bool wait);
/* Of use to partial.c. */
/* The file that a chain of links leads to, which may not exist yet. */
vitcl_status vt_newfile_target(char **out, const char *path);
/* Gives it the permissions of the file that it would replace. */
void vt_newfile_rights(vt_newfile *n);
/* Gives it a name that no file has. False: errno. */
bool vt_newfile_name(vt_newfile *n, const char *name);

/* ---- what a run that failed or was stopped has written (partial.c) ---- */

/* x.partial.jsonl of x.jsonl; from number 2 on x.partial2.jsonl. Beside the
 * file that a link leads to. */
enum { VT_PARTIAL_MOST = 1000 }; /* the last number */
vitcl_status vt_partial_name(char **out, const char *path, unsigned number);
/* The bytes that are in the file. What could not be written, on a full disk, is
 * forgotten, so that more can be written. */
vitcl_status vt_partial_size(uint64_t *out, vt_newfile *n);
/* Of a text: how many whole rows it has, at most `most`, and their bytes.
 * quoted: a newline between double quotes ends no row. */
typedef struct vt_partial_rows {
    uint64_t rows, bytes;
} vt_partial_rows;
vitcl_status vt_partial_count(vt_partial_rows *out, vt_newfile *n, bool quoted,
                              uint64_t most);
/* Instead of commit(): the first `bytes` bytes get the first .partial name that
 * no file has, and `path` stays as it is; replace: the first of these names,
 * whoever has it. *name: the caller frees it. beside: NULL, or a second file,
 * which gets the name of the same number. */
vitcl_status vt_partial_keep(char **name, vt_newfile *n, uint64_t bytes,
                             vt_newfile *beside, uint64_t beside_bytes,
                             bool replace);

#endif
