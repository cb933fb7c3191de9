/*
 * evict.c - limits the size of the folder of built programs (cache.c), verdicts
 * (host/units/verdicts.c), lists of pictures that can be decoded
 * (host/data/check.c), labels' vectors (host/cli/texts/kept.c) and vocabularies
 * (host/text/kept.c).
 *
 * Files not used for three months are removed, then the least recently used
 * until the rest is within the limit; vt_user_used() sets their times.
 * Verdicts expire after the same time. Others may read and write
 * meanwhile: a file that disappears under them is built again, and the files
 * that they write are the newest and so the last to be removed. Files with
 * other names are never touched.
 */
#include "ocl/cache.h"

#include "base/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY ((time_t)86400)
#define UNUSED (90 * DAY)

typedef struct file {
    char name[88];
    time_t used;
    uint64_t bytes;
} file;

static int by_use(const void *a, const void *b)
{
    const time_t x = ((const file *)a)->used, y = ((const file *)b)->used;

    return (x > y) - (x < y);
}

/* 64 hex digits and one of the endings; a temporary name adds a process id. */
static bool is_ours(const char *name, bool *temporary)
{
    static const char *const ends[] = {".bin", ".choice", ".pictures",
                                       ".labels", ".words"};

    if (strspn(name, "0123456789abcdef") != 64)
        return false;
    for (size_t i = 0; i < VT_COUNT(ends); i++) {
        const size_t n = strlen(ends[i]);

        if (strncmp(name + 64, ends[i], n) == 0) {
            *temporary = name[64 + n] == '.';
            return *temporary || name[64 + n] == '\0';
        }
    }
    return false;
}

static size_t list(file **out, DIR *dir, int folder, time_t now)
{
    file *files = NULL;
    size_t n = 0, cap = 0;
    const struct dirent *e;
    struct stat st;
    bool temporary;

    while ((e = readdir(dir))) {
        if (!is_ours(e->d_name, &temporary) ||
            fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (temporary) { /* its writer no longer exists */
            if (st.st_mtime < now - DAY)
                unlinkat(folder, e->d_name, 0);
            continue;
        }
        if (vt_grow(&files, &cap, n + 1, sizeof *files) != VITCL_OK)
            break;
        snprintf(files[n].name, sizeof files[n].name, "%.80s", e->d_name);
        files[n].used = st.st_mtime;
        files[n++].bytes = (uint64_t)st.st_size;
    }
    *out = files;
    return n;
}

void vt_cache_evict(int folder, uint64_t most_bytes, time_t now)
{
    const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    file *files = NULL;
    uint64_t total = 0;
    size_t n;

    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    n = list(&files, dir, folder, now);
    for (size_t i = 0; i < n; i++)
        total += files[i].bytes;
    if (n)
        qsort(files, n, sizeof *files, by_use);
    for (size_t i = 0;
         i < n && (total > most_bytes || files[i].used < now - UNUSED); i++) {
        unlinkat(folder, files[i].name, 0);
        total -= files[i].bytes;
    }
    free(files);
    closedir(dir);
}
