/*
 * row_files.c - looks up each row's file once, and tells files apart by
 * device and inode.
 */
#include "row_files.h"

#include "base/status.h"

#include <sys/stat.h>
#include <time.h>

enum { NAMED = 10 }; /* files that are named */

const char *row_path(const vitcl_index *index, uint64_t row)
{
    vitcl_row_info info = {.size = sizeof info, .path = ""};

    return vitcl_index_row(&info, index, row) == VITCL_OK ? info.path : "";
}

static uint64_t count(const vitcl_dupe *row, uint64_t rows,
                      vitcl_row_state state)
{
    uint64_t n = 0;

    for (uint64_t i = 0; i < rows; i++)
        n += row[i].state == state;
    return n;
}

row_counts row_files_tell(const vitcl_index *index, const vitcl_dupe *row,
                          uint64_t rows)
{
    const row_counts n = {.again = count(row, rows, VITCL_ROW_AGAIN),
                          .gone = count(row, rows, VITCL_ROW_GONE),
                          .empty = count(row, rows, VITCL_ROW_EMPTY)};

    if (n.again)
        note("%llu row%s of a file that another row names, too: each file is "
             "compared once",
             (unsigned long long)n.again, n.again == 1 ? " is" : "s are");
    if (count(row, rows, VITCL_ROW_LOST))
        note("none of the files is where the index says, so their sizes and "
             "links are not known");
    for (uint64_t i = 0, named = 0; named < n.gone && named < NAMED; i++)
        if (row[i].state == VITCL_ROW_GONE) {
            note("%s: the file is gone", row_path(index, i));
            named++;
        }
    if (n.gone)
        note("%llu picture%s of the index %s gone and left out",
             (unsigned long long)n.gone, vt_plural(n.gone),
             n.gone == 1 ? "is" : "are");
    return n;
}

/* ---- a file ---- */

void row_file_look(row_file *out, const char *path)
{
    vitcl_image image = {0, 0, NULL};
    struct stat st;

    *out = (row_file){.bytes = 0};
    if (stat(path, &st) != 0)
        return;
    out->bytes = (uint64_t)st.st_size;
    out->changed = (int64_t)st.st_mtim.tv_sec;
    if (vitcl_image_load(&image, path) == VITCL_OK) {
        out->width = image.width;
        out->height = image.height;
    }
    vitcl_image_free(&image);
}

static bool larger(const row_file *a, const row_file *b)
{
    const uint64_t x = (uint64_t)a->width * a->height,
                   y = (uint64_t)b->width * b->height;

    return x != y ? x > y : a->bytes > b->bytes;
}

size_t row_file_largest(const row_file *file, size_t n)
{
    size_t best = 0;

    for (size_t i = 1; i < n; i++)
        if (larger(&file[i], &file[best]))
            best = i;
    return n && file[best].bytes ? best : n;
}

void row_file_date(char text[ROW_FILE_TEXT], const row_file *f)
{
    const time_t t = (time_t)f->changed;
    struct tm local;

    if (!f->bytes || !localtime_r(&t, &local) ||
        !strftime(text, ROW_FILE_TEXT, "%Y-%m-%d %H:%M", &local))
        text[0] = '\0';
}
