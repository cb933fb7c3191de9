/*
 * file.c - read and write files; a file is written whole or not at all.
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
    if (error) {
        st = vt_fail(VITCL_EIO, "%s: %s", path,
                     error == VT_SHORT ? "the file shrank while it was read"
                                       : strerror(error));
        goto done;
    }
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

/* Creates a file whose name ends in XXXXXX, with the rights of the umask:
 * mkstemp() gives 0600, and a library cannot read the umask without changing
 * it. */
static int create(char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    char *end = name + strlen(name) - 6;
    unsigned char random[6];
    int fd;

    for (int tries = 0; tries < 100; tries++) {
        if (getentropy(random, sizeof random) != 0)
            return -1;
        for (size_t i = 0; i < sizeof random; i++)
            end[i] = letters[random[i] % 32];
        fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                  0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

vitcl_status vt_newfile_open(vt_newfile *out, const char *path)
{
    vitcl_status st = VITCL_OK;
    vt_newfile n = {0};
    struct stat old;
    int fd = -1;

    if (stat(path, &old) == 0 && !S_ISREG(old.st_mode))
        return vt_fail(VITCL_EIO, "%s: exists and is not a regular file", path);
    VT_TRY(vt_strdup(&n.path, path));
    VT_TRY(vt_format(&n.temporary, "%s.XXXXXX", path));
    fd = create(n.temporary);
    if (fd < 0) {
        st = vt_fail(VITCL_EIO, "%s: cannot write: %s", path, strerror(errno));
        free(n.temporary), n.temporary = NULL;
        goto done;
    }
    n.f = fdopen(fd, "wb");
    if (!n.f) {
        close(fd);
        st = vt_fail(VITCL_EIO, "%s: %s", path, strerror(errno));
        goto done;
    }
    *out = n, n = (vt_newfile){0};
done:
    vt_newfile_discard(&n);
    return st;
}

vitcl_status vt_newfile_commit(vt_newfile *n)
{
    vitcl_status st = VITCL_OK;
    FILE *f = n->f;

    n->f = NULL;
    if (fflush(f) != 0 || ferror(f) || fsync(fileno(f)) != 0)
        st = vt_fail(VITCL_EIO, "%s: cannot write: %s", n->path,
                     strerror(errno));
    if (fclose(f) != 0 && st == VITCL_OK)
        st = vt_fail(VITCL_EIO, "%s: cannot write: %s", n->path,
                     strerror(errno));
    if (st == VITCL_OK && rename(n->temporary, n->path) != 0)
        st = vt_fail(VITCL_EIO, "%s: %s", n->path, strerror(errno));
    if (st == VITCL_OK)
        free(n->temporary), n->temporary = NULL;
    vt_newfile_discard(n);
    return st;
}

void vt_newfile_discard(vt_newfile *n)
{
    if (n->f)
        fclose(n->f);
    if (n->temporary)
        unlink(n->temporary);
    free(n->temporary);
    free(n->path);
    *n = (vt_newfile){0};
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
