/*
 * file.c - read files, and what is small about descriptors; newfile.c writes.
 */
#define _GNU_SOURCE /* syscall */
#include "base/file.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

vitcl_status vt_file_open(int *out, size_t *size, const char *path)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return vt_fail(VITCL_EIO, "%s: %s", path, strerror(errno));
    if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode)) {
        close(fd);
        return vt_fail(VITCL_EIO, "%s: not a regular file", path);
    }
    *out = fd;
    *size = (size_t)s.st_size;
    return VITCL_OK;
}

int vt_read_at(int fd, void *out, size_t n, uint64_t at)
{
    for (uint8_t *to = out; n > 0;) {
        const ssize_t got = pread(fd, to, n, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? errno : VT_SHORT;
        to += got, at += (uint64_t)got, n -= (size_t)got;
    }
    return 0;
}

int vt_write_at(int fd, const void *from, size_t n, uint64_t at)
{
    for (const uint8_t *p = from; n > 0;) {
        const ssize_t put = pwrite(fd, p, n, (off_t)at);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return put < 0 ? errno : VT_SHORT;
        p += put, at += (uint64_t)put, n -= (size_t)put;
    }
    return 0;
}

vitcl_status vt_file_read(vt_file *out, const char *path, size_t limit)
{
    vitcl_status st = VITCL_OK;
    uint8_t *data = NULL;
    size_t size = 0;
    int fd = -1, error;

    VT_TRY(vt_file_open(&fd, &size, path));
    if (size > limit) {
        st =
            vt_fail(VITCL_ECORRUPT, "%s: %zu bytes, more than the limit of %zu",
                    path, size, limit);
        goto done;
    }
    VT_TRY(VT_NEW(&data, size + 1));
    error = vt_read_at(fd, data, size, 0);
    if (error)
        VT_TRY(vt_fail(VITCL_EIO, "%s: %s", path,
                       error == VT_SHORT ? "the file shrank while it was read"
                                         : strerror(error)));
    *out = (vt_file){data, size}, data = NULL;
done:
    free(data);
    if (fd >= 0)
        close(fd);
    return st;
}

void vt_file_close(vt_file *f)
{
    free((void *)(uintptr_t)f->data);
    *f = (vt_file){0};
}

bool vt_path_is_folder(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

bool vt_path_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

void vt_close_from(int fd)
{
    struct rlimit limit = {1024, 1024};

#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)fd, ~0u, 0u) == 0)
        return;
#endif
    getrlimit(RLIMIT_NOFILE, &limit);
    for (; fd < (int)VT_MIN(limit.rlim_cur, 1 << 16); fd++)
        close(fd);
}

const char *vt_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

vitcl_status vt_path_beside(char **out, const char *path, const char *name)
{
    if (vt_path_is_folder(path))
        return vt_format(out, "%s/%s", path, name);
    return vt_format(out, "%.*s%s", (int)(vt_path_name(path) - path), path,
                     name);
}

bool vt_path_ends(const char *s, const char *ending)
{
    const size_t n = strlen(s), m = strlen(ending);

    return n > m && strcmp(s + n - m, ending) == 0;
}
