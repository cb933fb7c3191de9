/*
 * newfile.c - the one way to write a file: whole or not at all.
 *
 * The bytes go to .NAME.vitcl-part, beside the file. Its lock (flock) says that
 * its writer lives: the kernel drops the lock of a process that was killed, and
 * the next writer of NAME removes what that left. If several write NAME at
 * once, the next one takes .NAME.vitcl-part2, and so on. Where the file system
 * has no flock(), nothing is removed.
 */
#define _GNU_SOURCE /* renameat2 */
#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART ".vitcl-part"
#define HOLD ".vitcl-hold"
enum {
    PARTS = 100,    /* that may be there at once */
    NAME_CUT = 200, /* a name may have 255 bytes; part of it will do */
    LINKS = 40      /* as the kernel has it */
};

/* ---- links ---- */

static size_t folder_length(const char *path)
{
    return (size_t)(vt_path_name(path) - path);
}

/* As fs.protected_symlinks has it, which the kernel checks for open() alone:
 * in a folder like /tmp, only links of its owner and our own are followed. */
static bool may_follow(const char *path)
{
    const size_t n = folder_length(path);
    struct stat link, folder;
    char *name = NULL;
    bool good;

    if (vt_format(&name, "%.*s.", (int)n, path) != VITCL_OK)
        return false;
    good = lstat(path, &link) == 0 && stat(name, &folder) == 0 &&
           (!(folder.st_mode & S_ISVTX) || !(folder.st_mode & S_IWOTH) ||
            link.st_uid == geteuid() || link.st_uid == folder.st_uid);
    free(name);
    return good;
}

vitcl_status vt_newfile_target(char **out, const char *path)
{
    vitcl_status st;
    char *at = NULL, *next = NULL, to[4096];

    VT_TRY(vt_strdup(&at, path));
    for (int links = 0;; links++) {
        const ssize_t n = readlink(at, to, sizeof to - 1);

        if (n < 0)
            break;
        to[n] = '\0';
        if (links == LINKS || (size_t)n == sizeof to - 1 || !may_follow(at))
            VT_TRY(vt_fail(VITCL_EIO, "%s: cannot write: %s", path,
                           links == LINKS ? strerror(ELOOP)
                                          : "another user's link"));
        VT_TRY(vt_format(&next, "%.*s%s",
                         to[0] == '/' ? 0 : (int)folder_length(at), at, to));
        free(at);
        at = next, next = NULL;
    }
    *out = at, at = NULL;
done:
    free(at);
    return st;
}

/* ---- temporary files ---- */

static vitcl_status part_name(char **out, const char *target, int number)
{
    const size_t folder = folder_length(target);
    const char *name = target + folder;
    const size_t n = VT_MAX(vt_utf8_cut(name, NAME_CUT), (size_t)1);
    char digits[16] = "";

    if (number > 1)
        snprintf(digits, sizeof digits, "%d", number);
    return vt_format(out, "%.*s.%.*s" PART "%s", (int)folder, target, (int)n,
                     name, digits);
}

bool vt_newfile_is_part(const char *name, const char *of)
{
    const size_t n = strlen(of), part = sizeof PART - 1;

    return name[0] == '.' && strncmp(name + 1, of, n) == 0 &&
           strncmp(name + 1 + n, PART, part) == 0 &&
           strspn(name + 1 + n + part, "0123456789") ==
               strlen(name + 1 + n + part);
}

static bool is_named(const struct stat *st, const char *name)
{
    struct stat named;

    return lstat(name, &named) == 0 && named.st_ino == st->st_ino &&
           named.st_dev == st->st_dev;
}

/* Removes a file that no living process writes. Under our lock it keeps its
 * name: only its writer would rename it. */
static bool remove_left(const char *name)
{
    const int fd = open(name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    bool removed;

    if (fd < 0)
        return false;
    removed = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
              st.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
              is_named(&st, name) && unlink(name) == 0;
    close(fd);
    errno = EEXIST;
    return removed;
}

/* Creates and locks the file. -1: errno; EEXIST: another process has it. A new
 * file has the rights of the umask, which a library cannot read without
 * changing it; one that replaces another is private until it is complete. */
static int create(const char *name, bool replaces)
{
    struct stat st;
    int fd = -1;

    for (int tries = 0; fd < 0 && tries < 10; tries++) {
        fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                  replaces ? 0600 : 0666);
        if (fd < 0 && (errno != EEXIST || !remove_left(name)))
            break;
        while (fd >= 0 && flock(fd, LOCK_EX) != 0 && errno == EINTR)
            ;
        /* Another process may have removed it before the lock. */
        if (fd >= 0 && fstat(fd, &st) == 0 && st.st_nlink == 0 &&
            !is_named(&st, name)) {
            close(fd);
            fd = -1, errno = EEXIST;
        }
    }
    return fd;
}

/* -1: errno; EWOULDBLOCK: another process holds it, and we do not wait. */
static int hold(const char *name, bool wait)
{
    struct stat st;
    int fd, why;

    for (;;) {
        fd = create(name, true);
        if (fd >= 0 || errno != EEXIST)
            return fd;
        fd = open(name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT)
            continue; /* it has just ended */
        if (fd < 0)
            return -1;
        if (flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB)) != 0)
            break;
        if (fstat(fd, &st) == 0 && is_named(&st, name))
            return fd; /* of a process that was killed meanwhile */
        close(fd);
    }
    if (errno != EWOULDBLOCK && errno != EINTR)
        return fd; /* a file system without locks */
    why = errno;
    close(fd);
    errno = why;
    return -1;
}

/* n, whose temporary file is open as fd, becomes *out. */
static vitcl_status give(vt_newfile *out, vt_newfile *n, int fd)
{
    n->f = fdopen(fd, "wb");
    if (!n->f) {
        const int why = errno;

        close(fd);
        return vt_fail(VITCL_EIO, "%s: %s", n->path, strerror(why));
    }
    *out = *n, *n = (vt_newfile){0};
    return VITCL_OK;
}

vitcl_status vt_newfile_hold(bool *busy, vt_newfile *out, const char *path,
                             bool wait)
{
    vitcl_status st;
    vt_newfile n = {0};
    int fd = -1;

    *busy = false;
    VT_TRY(vt_newfile_target(&n.target, path));
    VT_TRY(vt_strdup(&n.path, path));
    VT_TRY(vt_format(&n.temporary, "%.*s.%.*s" HOLD,
                     (int)folder_length(n.target), n.target, NAME_CUT,
                     n.target + folder_length(n.target)));
    fd = hold(n.temporary, wait);
    if (fd < 0) {
        *busy = errno == EWOULDBLOCK && !wait;
        st = *busy ? VITCL_OK
                   : vt_fail(VITCL_EIO, "%s: cannot write: %s", path,
                             strerror(errno));
        free(n.temporary), n.temporary = NULL; /* it is another's */
        goto done;
    }
    st = give(out, &n, fd);
done:
    vt_newfile_discard(&n);
    return st;
}

/* Opens n->temporary, and removes what others left. */
static vitcl_status open_part(int *out, vt_newfile *n, bool replaces)
{
    vitcl_status st = VITCL_OK;
    char *more = NULL;
    int fd = -1, i;

    for (i = 1; fd < 0 && i <= PARTS; i++) {
        free(n->temporary), n->temporary = NULL;
        VT_TRY(part_name(&n->temporary, n->target, i));
        fd = create(n->temporary, replaces);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0) {
        st = vt_fail(VITCL_EIO, "%s: cannot write: %s", n->path,
                     errno == EEXIST ? "too many " PART " files beside it"
                                     : strerror(errno));
        free(n->temporary), n->temporary = NULL; /* it is another's */
        goto done;
    }
    *out = fd;
    for (bool is_there = true; is_there && i <= PARTS; i++) {
        free(more), more = NULL;
        VT_TRY(part_name(&more, n->target, i));
        is_there = remove_left(more) || errno != ENOENT;
    }
done:
    if (st != VITCL_OK && fd >= 0)
        close(fd);
    free(more);
    return st;
}

vitcl_status vt_newfile_open(vt_newfile *out, const char *path)
{
    vitcl_status st = VITCL_OK;
    vt_newfile n = {0};
    struct stat old;
    bool replaces;
    int fd = -1;

    VT_TRY(vt_newfile_target(&n.target, path));
    replaces = stat(n.target, &old) == 0;
    if (replaces && !S_ISREG(old.st_mode))
        VT_TRY(
            vt_fail(VITCL_EIO, "%s: exists and is not a regular file", path));
    VT_TRY(vt_strdup(&n.path, path));
    VT_TRY(open_part(&fd, &n, replaces));
    st = give(out, &n, fd);
done:
    vt_newfile_discard(&n);
    return st;
}

/* ---- the end ---- */

/* Does not open it to another group than the older file was open to. */
void vt_newfile_rights(vt_newfile *n)
{
    const int fd = fileno(n->f);
    struct stat old, new;
    mode_t mode;

    if (stat(n->target, &old) != 0 || fstat(fd, &new) != 0)
        return;
    mode = old.st_mode & 0777;
    if ((old.st_uid != new.st_uid || old.st_gid != new.st_gid) &&
        fchown(fd, old.st_uid, old.st_gid) != 0 && old.st_gid != new.st_gid &&
        fchown(fd, (uid_t)-1, old.st_gid) != 0)
        mode &= ~(mode_t)070;
    (void)fchmod(fd, mode); /* not on every file system */
}

/* It is open and locked until it has its name. */
static vitcl_status sync_part(vt_newfile *n)
{
    const int fd = fileno(n->f);

    errno = 0;
    if (fflush(n->f) == 0 && !ferror(n->f)) {
        vt_newfile_rights(n);
        if (fsync(fd) == 0)
            return VITCL_OK;
    }
    return vt_fail(VITCL_EIO, "%s: cannot write: %s", n->path,
                   errno ? strerror(errno) : "an earlier write failed");
}

static vitcl_status rename_part(vt_newfile *n)
{
    if (rename(n->temporary, n->target) != 0)
        return vt_fail(VITCL_EIO, "%s: %s", n->path, strerror(errno));
    free(n->temporary), n->temporary = NULL;
    return VITCL_OK;
}

vitcl_status vt_newfile_finish(vt_newfile *n)
{
    VT_RET(sync_part(n));
    VT_RET(rename_part(n));
    vt_newfile_discard(n);
    return VITCL_OK;
}

vitcl_status vt_newfile_commit(vt_newfile *n)
{
    const vitcl_status st = vt_newfile_finish(n);

    vt_newfile_discard(n);
    return st;
}

vitcl_status vt_newfile_finish_both(vt_newfile *a, vt_newfile *b)
{
    vitcl_status st;
    bool swapped = false, is_new = false;

    VT_TRY(sync_part(a));
    VT_TRY(sync_part(b));
    /* The temporary name keeps the older file of a. */
    swapped = renameat2(AT_FDCWD, a->temporary, AT_FDCWD, a->target,
                        RENAME_EXCHANGE) == 0;
    is_new = !swapped && errno == ENOENT;
    if (!swapped && rename(a->temporary, a->target) != 0)
        VT_TRY(vt_fail(VITCL_EIO, "%s: %s", a->path, strerror(errno)));
    st = rename_part(b);
    if (st != VITCL_OK && swapped)
        (void)renameat2(AT_FDCWD, a->temporary, AT_FDCWD, a->target,
                        RENAME_EXCHANGE);
    else if (st != VITCL_OK && is_new)
        (void)unlink(a->target);
    if (!swapped)
        free(a->temporary), a->temporary = NULL;
done:
    if (st == VITCL_OK || !a->temporary) {
        vt_newfile_discard(a);
        vt_newfile_discard(b);
    }
    return st;
}

bool vt_newfile_name(vt_newfile *n, const char *name)
{
    if (renameat2(AT_FDCWD, n->temporary, AT_FDCWD, name, RENAME_NOREPLACE) ==
        0) {
        free(n->temporary), n->temporary = NULL;
        return true;
    }
    return errno != EEXIST && /* a file system without it */
           link(n->temporary, name) == 0;
}

vitcl_status vt_newfile_commit_new(bool *taken, vt_newfile *n)
{
    vitcl_status st = VITCL_OK;

    *taken = false;
    if (fflush(n->f) != 0 || ferror(n->f) || !vt_newfile_name(n, n->target)) {
        *taken = errno == EEXIST;
        if (!*taken)
            st = vt_fail(VITCL_EIO, "%s: cannot write: %s", n->path,
                         strerror(errno));
    }
    vt_newfile_discard(n);
    return st;
}

void vt_newfile_forget(vt_newfile *n)
{
    if (n->f)
        __fpurge(n->f); /* the parent has the same bytes */
    free(n->temporary), n->temporary = NULL;
    vt_newfile_discard(n);
}

void vt_newfile_discard(vt_newfile *n)
{
    const int why = errno; /* of what failed before */

    if (n->temporary)
        unlink(n->temporary);
    if (n->f)
        fclose(n->f);
    free(n->temporary);
    free(n->target);
    free(n->path);
    *n = (vt_newfile){0};
    errno = why;
}
