/*
 * row_files.c - see row_files.h.
 */
#include "row_files.h"

#include "base/status.h"
#include "walk/seen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NAMED = 10 }; /* files that are named */

/* Is this a picture in an archive, "pics.tar/a.jpg"? */
static bool in_archive(const char *path)
{
    char *part = strdup(path);
    bool found = false;
    struct stat st;

    for (char *slash = part; slash && !found;) {
        slash = strrchr(part, '/');
        if (slash)
            *slash = '\0';
        found = slash && part[0] && stat(part, &st) == 0 && S_ISREG(st.st_mode);
    }
    free(part);
    return found;
}

typedef enum { THERE, GONE, UNSEEN } state;

/* UNSEEN: whether it is there is not known. */
static state look(struct stat *st, const char *path)
{
    if (stat(path, st) == 0)
        return THERE;
    if (errno == ENOENT)
        return GONE;
    return errno == ENOTDIR && !in_archive(path) ? GONE : UNSEEN;
}

/* Is there a later row with the same path? */
static bool named_again(const vt_index *x, uint64_t row)
{
    return vt_index_find(x, vt_index_path(x, row)) != row;
}

const char *row_files_path(row_files *f, uint64_t row)
{
    bool moved;

    return vt_place(&f->places, row, &moved);
}

int row_files_open(row_files *f, const vt_index *x)
{
    const uint64_t rows = vt_index_count(x);
    vt_seen seen = {.count = 0};
    int code = EXIT_OK;
    uint32_t first;

    *f = (row_files){.omit = calloc(rows + 1, sizeof *f->omit),
                     .gone = calloc(rows + 1, sizeof *f->gone)};
    if (!f->omit || !f->gone)
        code = fail("out of memory");
    vt_places_open(&f->places, x);
    for (uint64_t i = 0; code == EXIT_OK && i < rows; i++) {
        struct stat st;
        const state is = look(&st, row_files_path(f, i));

        if (is == THERE &&
            vt_seen_add(&f->omit[i], &first, &seen, &st, 0) != VITCL_OK)
            code = failed();
        if (is != THERE)
            f->omit[i] = named_again(x, i);
        f->again += f->omit[i];
        f->gone[i] = is == GONE && !f->omit[i];
        f->missing += f->gone[i];
        if (stopped())
            code = EXIT_STOPPED;
    }
    f->lost = f->missing > 0 && seen.count == 0;
    for (uint64_t i = 0; code == EXIT_OK && !f->lost && i < rows; i++)
        f->omit[i] = f->omit[i] || f->gone[i];
    vt_seen_free(&seen);
    return code;
}

void row_files_tell(row_files *f, const vt_index *x)
{
    uint64_t named = 0;

    if (f->again)
        note("%llu row%s of a file that another row names, too: each file is "
             "compared once",
             (unsigned long long)f->again, f->again == 1 ? " is" : "s are");
    if (f->lost)
        note("none of the files is where the index says, so their sizes and "
             "links are not known");
    if (f->lost || !f->missing)
        return;
    for (uint64_t i = 0; i < vt_index_count(x) && named < NAMED; i++)
        if (f->gone[i]) {
            note("%s: the file is gone", row_files_path(f, i));
            named++;
        }
    note("%llu picture%s of the index %s gone and left out",
         (unsigned long long)f->missing, vt_plural(f->missing),
         f->missing == 1 ? "is" : "are");
}

void row_files_close(row_files *f)
{
    free(f->omit);
    free(f->gone);
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
