/*
 * row_files.h - the files that an index's rows are of, for dupes: which rows
 * are of one file, which files are gone, and what else is known of a file.
 */
#ifndef VT_CLI_ROW_FILES_H
#define VT_CLI_ROW_FILES_H
#include "cli/terminal/terminal.h"
#include "index/index.h"

typedef struct row_files {
    vt_places places;
    bool *omit; /* a row each: its file is gone, or another row's, too */
    bool *gone;
    uint64_t again, missing; /* how many rows */
    bool lost; /* no file is where the index says: only rows with the path of
                * another one are left out */
} row_files;

/* Looks at the files; the index is sorted. Prints why not. */
int row_files_open(row_files *f, const vt_index *x);
/* The path of a row's picture from the current folder, until the next call. */
const char *row_files_path(row_files *f, uint64_t row);
/* Says what is left out. */
void row_files_tell(row_files *f, const vt_index *x);
void row_files_close(row_files *f);

/* Of what cannot be known, such as a picture's in an archive: 0. */
typedef struct row_file {
    uint64_t bytes;
    int64_t changed; /* s since 1970 */
    uint32_t width, height;
} row_file;
/* Decodes the picture. */
void row_file_look(row_file *out, const char *path);
/* The one with the most pixels, of these with the most bytes; n: nothing is
 * known of any. */
size_t row_file_largest(const row_file *file, size_t n);
enum { ROW_FILE_TEXT = 32 };
/* "2024-05-31 17:02", the local time; "" if it is not known. */
void row_file_date(char text[ROW_FILE_TEXT], const row_file *f);

#endif
