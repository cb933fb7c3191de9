/*
 * blob.c - download a file into blobs/HASH.incomplete, go on with what is
 * there, and give it its name when its size and hash are right.
 */
#include "pull/blob.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIALS = 4, CHUNK = 1 << 20 };

vitcl_status vt_path(char out[VT_PULL_PATH], const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(out, VT_PULL_PATH, format, args);
    va_end(args);
    return n > 0 && n < VT_PULL_PATH
               ? VITCL_OK
               : vt_fail(VITCL_EINVAL, "%.200s..: the path is too long", out);
}

vitcl_status vt_folders(const char *path)
{
    char part[VT_PULL_PATH];

    VT_RET(vt_path(part, "%s", path));
    for (char *at = part + 1;; at++) {
        const char end = *at;

        if (end && end != '/')
            continue;
        *at = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return vt_fail(VITCL_EIO, "%s: cannot be created: %s", part,
                           strerror(errno));
        if (!end)
            break;
        *at = end;
    }
    if (!vt_path_is_folder(path))
        return vt_fail(VITCL_EIO, "%s: is not a folder", path);
    return VITCL_OK;
}

/* ---- the state of one download ---- */

typedef struct fetch {
    const vt_pull *p;
    vt_pull_progress *tally;
    const vt_remote *r;
    char blob[VT_PULL_PATH], part[VT_PULL_PATH];
    bool sha256;
    vt_sha256_state two;
    void *one; /* SHA-1, if not sha256 */
    int lock, fd;
    uint64_t have;       /* bytes in the part, which the hash has seen */
    vitcl_status failed; /* of writing */
    bool begun;          /* a body has come */
    bool misplaced;      /* it begins elsewhere, or is too long */
} fetch;

static void end_hash(fetch *f, char hex[65])
{
    if (f->sha256)
        vt_sha256_end_hex(&f->two, hex);
    else if (f->one)
        vt_pull_module_calls()->sha1_end(f->one, hex);
    f->one = NULL;
}

static void add_hash(fetch *f, const void *data, size_t size)
{
    if (f->sha256)
        vt_sha256_add(&f->two, data, size);
    else
        vt_pull_module_calls()->sha1_add(f->one, data, size);
}

static vitcl_status begin_hash(fetch *f)
{
    char head[65];

    end_hash(f, head);
    f->sha256 = strlen(f->r->hash) == 64;
    if (f->sha256) {
        vt_sha256_begin(&f->two);
        return VITCL_OK;
    }
    f->one = vt_pull_module_calls()->sha1_new();
    if (!f->one)
        return vt_fail(VITCL_ENOMEM, "out of memory");
    /* git hashes a head before the contents */
    add_hash(f, head,
             (size_t)snprintf(head, sizeof head, "blob %llu",
                              (unsigned long long)f->r->size) +
                 1);
    return VITCL_OK;
}

/* Hashes `size` bytes of a file. */
static vitcl_status hash_file(fetch *f, int fd, const char *path, uint64_t size)
{
    vitcl_status st = VITCL_OK;
    uint8_t *chunk = NULL;

    VT_TRY(begin_hash(f));
    VT_TRY(VT_NEW(&chunk, CHUNK));
    for (uint64_t at = 0; at < size;) {
        const size_t n = (size_t)VT_MIN(size - at, (uint64_t)CHUNK);
        const int error = vt_read_at(fd, chunk, n, at);

        if (error)
            VT_TRY(vt_fail(VITCL_EIO, "%s: cannot be read: %s", path,
                           error > 0 ? strerror(error) : "it became shorter"));
        if (f->p->stopped())
            VT_TRY(vt_fail(VITCL_ESTOPPED, "stopped"));
        add_hash(f, chunk, n);
        at += n;
    }
done:
    free(chunk);
    return st;
}

static bool hash_is_right(fetch *f, char found[65])
{
    end_hash(f, found);
    return strcmp(found, f->r->hash) == 0;
}

/* ---- what is there ---- */

static int open_regular(const char *path, int flags, uint64_t *size)
{
    const int fd =
        open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0666);
    struct stat st;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    *size = (uint64_t)st.st_size;
    return fd;
}

uint64_t vt_blob_present(const char *folder, const vt_remote *r)
{
    char path[VT_PULL_PATH];
    struct stat st;

    for (int i = 0; i < 2; i++)
        if (vt_path(path, "%s/blobs/%s%s", folder, r->hash,
                    i ? ".incomplete" : "") == VITCL_OK &&
            stat(path, &st) == 0 && st.st_size >= 0)
            return VT_MIN((uint64_t)st.st_size, r->size);
    return 0;
}

/* Is the blob there, as it must be? */
static vitcl_status look(bool *present, fetch *f)
{
    vitcl_status st = VITCL_OK;
    char found[65];
    uint64_t size;
    const int fd = open_regular(f->blob, O_RDONLY, &size);

    *present = false;
    if (fd < 0)
        return errno == ENOENT
                   ? VITCL_OK
                   : vt_fail(VITCL_EIO, "%s: %s", f->blob, strerror(errno));
    if (size == f->r->size) {
        VT_TRY(hash_file(f, fd, f->blob, size));
        *present = hash_is_right(f, found);
    }
    if (!*present)
        f->p->say(f->p->context, VT_PULL_DAMAGED, f->r->file, size);
done:
    close(fd);
    return st;
}

static vitcl_status take_lock(fetch *f, const char *locks)
{
    char path[VT_PULL_PATH];
    uint64_t size;

    VT_RET(vt_path(path, "%s/%s.lock", locks, f->r->hash));
    f->lock = open_regular(path, O_RDWR | O_CREAT, &size);
    if (f->lock < 0)
        return vt_fail(VITCL_EIO, "%s: cannot be locked: %s", path,
                       strerror(errno));
    for (bool said = false; flock(f->lock, LOCK_EX | LOCK_NB) != 0;
         said = true) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return vt_fail(VITCL_EIO, "%s: cannot be locked: %s", path,
                           strerror(errno));
        if (!said)
            f->p->say(f->p->context, VT_PULL_WAITING, f->r->file, f->r->size);
        VT_RET(vt_http_pause(f->p, 1));
    }
    return VITCL_OK;
}

/* ---- the download ---- */

static void tell(const fetch *f)
{
    f->p->moved(f->p->context, f->r->file, f->tally->done + f->have,
                f->tally->total);
}

static vitcl_status start_over(fetch *f)
{
    f->have = 0;
    if (ftruncate(f->fd, 0) != 0)
        return vt_fail(VITCL_EIO, "%s: cannot be written: %s", f->part,
                       strerror(errno));
    return begin_hash(f);
}

/* The first part of a body: where does it begin? */
static bool place(fetch *f, const vt_answer *head)
{
    f->begun = true;
    if (head->status == 200 && f->have > 0)
        f->failed = start_over(f);
    else if (head->status == 206)
        f->misplaced = !head->has_from || head->from != f->have;
    return f->failed == VITCL_OK && !f->misplaced;
}

static bool write_part(void *context, const vt_answer *head, const void *data,
                       size_t size)
{
    fetch *f = context;
    int error;

    if (!f->begun && !place(f, head))
        return false;
    if (size > f->r->size - f->have) {
        f->misplaced = true;
        return false;
    }
    error = vt_write_at(f->fd, data, size, f->have);
    if (error) {
        f->failed =
            vt_fail(VITCL_EIO, "%s: cannot be written: %s%s", f->part,
                    error > 0 ? strerror(error) : "short write",
                    error == ENOSPC || error == EDQUOT
                        ? "; free some space, the same command continues from "
                          "there"
                        : "");
        return false;
    }
    add_hash(f, data, size);
    f->have += size;
    tell(f);
    return true;
}

/* One request for what is missing. *over: no use in another one. */
static vitcl_status get(bool *over, vt_answer *a, fetch *f, const char *url)
{
    const vt_request r = {.url = url,
                          .from = f->have,
                          .etag = f->r->hash,
                          .body = write_part,
                          .context = f};
    vitcl_status st = VITCL_OK;

    *over = false;
    f->begun = f->misplaced = false, f->failed = VITCL_OK;
    st = vt_http(a, f->p, &r);
    *over = st != VITCL_OK || f->failed != VITCL_OK;
    VT_TRY(st);
    VT_TRY(f->failed);
    if (f->misplaced || a->status == 416) {
        f->misplaced = true;
        VT_TRY(start_over(f));
    } else if (!a->why[0] && (a->status == 200 || a->status == 206) &&
               f->have < f->r->size) {
        snprintf(a->why, sizeof a->why,
                 "the file ended after %llu of %llu "
                 "bytes",
                 (unsigned long long)f->have, (unsigned long long)f->r->size);
    }
done:
    return st;
}

static vitcl_status download(fetch *f, const char *commit)
{
    static char url[VT_URL];
    static vt_answer a;
    vitcl_status st = VITCL_OK;
    uint64_t most = f->have;
    bool over;

    VT_TRY(vt_remote_url(url, f->p, commit, f->r->file));
    for (int trial = 1; f->have < f->r->size; trial++) {
        VT_TRY(get(&over, &a, f, url));
        if (f->have == f->r->size)
            break;
        if (f->have > most)
            most = f->have, trial = 1;
        a.unreachable = false; /* it was reachable before */
        st = f->misplaced ? vt_fail(VITCL_EIO,
                                    "%s: the hub announced %llu bytes and "
                                    "sends others; try again later",
                                    f->r->file, (unsigned long long)f->r->size)
                          : vt_refused(f->p, &a, f->r->file);
        if (over || trial == TRIALS || !(f->misplaced || vt_http_transient(&a)))
            goto done;
        f->p->say(f->p->context, VT_PULL_AGAIN, f->r->file, f->have);
        VT_TRY(vt_http_pause(f->p, trial));
    }
done:
    return st;
}

/* Opens the part, and hashes what it has. */
static vitcl_status open_part(fetch *f)
{
    struct stat named;
    uint64_t size;

    /* A second name of the file would be that of somebody else's. */
    if (lstat(f->part, &named) == 0 && named.st_nlink > 1)
        (void)unlink(f->part);
    f->fd = open_regular(f->part, O_RDWR | O_CREAT, &size);
    if (f->fd < 0)
        return vt_fail(VITCL_EIO, "%s: cannot be opened: %s", f->part,
                       strerror(errno));
    if (size > f->r->size)
        return start_over(f);
    VT_RET(hash_file(f, f->fd, f->part, size));
    f->have = size;
    return VITCL_OK;
}

/* Downloads until the hash is right. A part of an earlier try may be wrong:
 * then once more without it. */
static vitcl_status complete(fetch *f, const char *commit)
{
    char found[65];

    for (bool resumed = f->have > 0;; resumed = false) {
        tell(f);
        VT_RET(download(f, commit));
        if (hash_is_right(f, found))
            break;
        VT_RET(start_over(f));
        if (!resumed) {
            (void)unlink(f->part);
            return vt_fail(VITCL_EIO,
                           "%s: the %s is %.16s.., not %.16s..: it was damaged "
                           "on its way and is not kept; try again",
                           f->r->file,
                           strlen(found) == 64 ? "SHA-256" : "SHA-1", found,
                           f->r->hash);
        }
    }
    if (fsync(f->fd) != 0 || rename(f->part, f->blob) != 0)
        return vt_fail(VITCL_EIO, "%s: cannot be written: %s", f->blob,
                       strerror(errno));
    return VITCL_OK;
}

vitcl_status vt_blob_fetch(const vt_pull *p, vt_pull_progress *tally,
                           const char *folder, const char *locks,
                           const char *commit, const vt_remote *r)
{
    fetch f = {.p = p, .tally = tally, .r = r, .lock = -1, .fd = -1};
    vitcl_status st = VITCL_OK;
    char unused[65];
    bool present;

    VT_TRY(vt_path(f.blob, "%s/blobs/%s", folder, r->hash));
    VT_TRY(vt_path(f.part, "%s/blobs/%s.incomplete", folder, r->hash));
    VT_TRY(take_lock(&f, locks));
    VT_TRY(look(&present, &f));
    if (!present) {
        VT_TRY(open_part(&f));
        VT_TRY(complete(&f, commit));
    }
    tally->done += r->size;
    p->say(p->context, present ? VT_PULL_PRESENT : VT_PULL_FETCHED, r->file,
           r->size);
done:
    end_hash(&f, unused);
    if (f.fd >= 0)
        close(f.fd);
    if (f.lock >= 0)
        close(f.lock);
    return st;
}
