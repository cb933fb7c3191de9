/*
 * row_files.h - the files that an index's rows are of, for search and dupes:
 * which are left out, and what else is known of a file.
 */
#ifndef VT_CLI_ROW_FILES_H
#define VT_CLI_ROW_FILES_H
#include "cli/terminal/terminal.h"

#include <vitcl_index.h>

/* The path of a row's picture from the current folder, until the next call. */
const char *row_path(const vitcl_index *index, uint64_t row);
/* Says which rows dupes has left out. */
typedef struct row_counts {
    uint64_t again, gone, empty; /* as in vitcl_row_state */
} row_counts;
row_counts row_files_tell(const vitcl_index *index, const vitcl_dupe *row,
                          uint64_t rows);

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
