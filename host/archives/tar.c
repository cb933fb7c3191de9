/*
 * tar.c - start vitcl-unpack and read its frames. It may have been taken
 * over by the archive: each number is checked.
 */
#define _GNU_SOURCE /* pipe2 */
#include "archives/tar.h"

#include "archives/frames.h"
#include "base/file.h"
#include "base/helper.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

struct vt_tar {
    vt_process process;
    int pipe;
    bool ended;
    char name[VT_MEMBER_NAME], error[256];
    char *bytes;
    size_t size, cap;
    uint64_t left[2]; /* members: no pictures, hidden */
};

static atomic_bool unlocked;

bool vt_tar_unlocked(void)
{
    return atomic_load(&unlocked);
}

static vitcl_status start(vt_tar *a, int in, vt_shard s, uint64_t first)
{
    char program[PATH_MAX], k[16], n[16], position[24], word[] = "vitcl-unpack";
    char *argv[] = {word, k, n, position, NULL};
    vitcl_status st;
    int ends[2] = {-1, -1}, error;

#ifndef VT_WITH_ARCHIVE
    return vt_fail(VITCL_EUNSUPPORTED, "archives are not read: this build "
                                       "lacks libarchive");
#endif
    VT_TRY(vt_helper_find(program, sizeof program, "vitcl-unpack",
                          "VITCL_UNPACK", "reads archives"));
    snprintf(k, sizeof k, "%u", s.k);
    snprintf(n, sizeof n, "%u", s.n);
    snprintf(position, sizeof position, "%" PRIu64, first);
    if (pipe2(ends, O_CLOEXEC) != 0)
        VT_TRY(vt_fail(VITCL_ENOMEM, "cannot start %s: %s", program,
                       strerror(errno)));
    vt_above_two(&ends[0]);
    vt_above_two(&ends[1]);
    error =
        ends[0] < 0 || ends[1] < 0
            ? EMFILE
            : vt_process_start_bare(&a->process, program, in, ends[1], argv);
    if (error)
        VT_TRY(vt_fail(VITCL_EIO, "cannot start %s: %s", program,
                       strerror(error)));
    a->pipe = ends[0], ends[0] = -1;
done:
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    return st;
}

vitcl_status vt_tar_open(vt_tar **out, const char *path, vt_shard s,
                         uint64_t first)
{
    vitcl_status st;
    vt_tar *a = NULL;
    int in = STDIN_FILENO;

    VT_TRY(VT_NEW(&a, 1));
    a->process = VT_PROCESS_NONE, a->pipe = -1;
    if (path) {
        in = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (in < 0)
            VT_TRY(vt_fail(VITCL_EIO, "%s", strerror(errno)));
        vt_above_two(&in);
        if (vt_path_is_folder(path))
            VT_TRY(vt_fail(VITCL_EIO, "a folder, not an archive"));
    }
    VT_TRY(start(a, in, s, first));
    *out = a, a = NULL;
done:
    if (path && in >= 0)
        close(in);
    vt_tar_close(a);
    return st;
}

void vt_tar_close(vt_tar *a)
{
    if (!a)
        return;
    if (a->pipe >= 0)
        close(a->pipe);
    if (a->process.pid)
        vt_process_end(&a->process);
    free(a->bytes);
    free(a);
}

void vt_tar_left(vt_left *sum, const vt_tar *a)
{
    sum->others += a->left[0];
    sum->hidden += a->left[1];
}

bool vt_tar_ready(const vt_tar *a, int ms)
{
    struct pollfd input = {.fd = a->pipe, .events = POLLIN};

    return a->ended || poll(&input, 1, ms) != 0;
}

/* ---- frames ---- */

static bool get(vt_tar *a, void *out, size_t size)
{
    char *at = out;

    while (size) {
        const ssize_t n = read(a->pipe, at, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n, size -= (size_t)n;
    }
    return true;
}

static bool text(vt_tar *a, char *out, size_t room, size_t size)
{
    char *bytes = NULL;
    bool good = size < VT_MEMBER_NAME &&
                vt_new(&bytes, size + 1, 1) == VITCL_OK && get(a, bytes, size);

    if (good)
        snprintf(out, room, "%s", bytes);
    free(bytes);
    return good;
}

static bool data(vt_tar *a, size_t size)
{
    if (size > VT_FRAME_MAX || a->size + size > (size_t)VT_MEMBER_MIB << 20 ||
        vt_grow(&a->bytes, &a->cap, a->size + size, 1) != VITCL_OK ||
        !get(a, a->bytes + a->size, size))
        return false;
    a->size += size;
    return true;
}

static bool give(vt_member *out, vt_tar *a, vt_frame_kind kind)
{
    *out = (vt_member){.name = a->name};
    if (kind == VT_FRAME_ERROR) {
        out->error = a->error;
    } else if (kind == VT_FRAME_OTHER) {
        out->other = true;
    } else if (a->size == 0) {
        out->error = "the file is empty";
    } else {
        out->bytes = a->bytes, out->size = a->size;
        a->bytes = NULL, a->cap = 0;
    }
    return true;
}

bool vt_tar_next(vt_member *out, vt_tar *a)
{
    vt_frame f;

    a->name[0] = '\0';
    a->size = 0;
    while (!a->ended && get(a, &f, sizeof f))
        switch (f.kind) {
        case VT_FRAME_NAME:
            if (!text(a, a->name, sizeof a->name, f.size))
                goto lost;
            break;
        case VT_FRAME_DATA:
            if (!data(a, f.size))
                goto lost;
            break;
        case VT_FRAME_ERROR:
            if (!text(a, a->error, sizeof a->error, f.size))
                goto lost;
            return give(out, a, VT_FRAME_ERROR);
        case VT_FRAME_PICTURE:
        case VT_FRAME_OTHER:
            if (f.size)
                goto lost;
            return give(out, a, (vt_frame_kind)f.kind);
        case VT_FRAME_LEFT:
            if (f.size != sizeof a->left || !get(a, a->left, sizeof a->left))
                goto lost;
            break;
        case VT_FRAME_UNLOCKED:
            atomic_store(&unlocked, true);
            break;
        case VT_FRAME_END:
            a->ended = true;
            return false;
        default:
            goto lost;
        }
lost:
    if (a->ended)
        return false;
    a->ended = true;
    snprintf(a->error, sizeof a->error,
             "the process that reads archives has ended early");
    return give(out, a, VT_FRAME_ERROR);
}
