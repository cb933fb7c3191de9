/*
 * spawn.c - start, talk to and end the decoder programs vitcl-decode and
 * vitcl-decode-all.
 */
#define _GNU_SOURCE /* memfd_create */
#include "image/sandbox.h"

#include "base/cores.h"
#include "base/helper.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    SECONDS = 30,          /* of processor time per picture */
    LEAST_MIB = 512,       /* of memory, for all decoders */
    LEAST_EACH = 64 << 20, /* with less, start fewer decoders */
    BASE = 100 << 20       /* independent of the picture's size */
};

/* ---- limits ------------------------------------------------------------- */

vitcl_status vt_decode_limits_get(vt_decode_limits *out, unsigned workers)
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t mib = pages > 0 ? (uint64_t)pages * (uint64_t)size >> 22 : 0;
    uint64_t seconds = SECONDS, millions = VT_PIXELS_MAX / 1000000, all, most;
    vt_decode_limits l = {.workers = workers};

    mib = VT_MAX(mib, (uint64_t)LEAST_MIB); /* a quarter of RAM */
    VT_RET(vt_helper_number(&mib, "VITCL_DECODE_MEMORY", 1 << 30));
    VT_RET(vt_helper_number(&seconds, "VITCL_DECODE_SECONDS", 86400));
    VT_RET(vt_helper_number(&millions, "VITCL_DECODE_PIXELS", 1400));
    l.seconds = (unsigned)seconds;
    l.pixels = millions * 1000000;
    if (workers == 0)
        l.workers = vt_cores();
    l.workers = VT_MIN(l.workers, (unsigned)VT_WORKERS_MAX);
    all = mib << 20;
    /* CMYK of many scans: 8 bytes per pixel, the picture, its rotated copy */
    most = l.pixels * 15 + BASE;
    l.each = VT_MIN(all / l.workers, most);
    if (l.workers > 1 && l.each < most) {
        l.large = VT_MIN(all / 2, most);
        l.workers = (unsigned)VT_MIN((uint64_t)l.workers,
                                     VT_MAX((all - l.large) / LEAST_EACH, 1));
        l.each = VT_MIN((all - l.large) / l.workers, most);
    }
    *out = l;
    return VITCL_OK;
}

/* ---- the process -------------------------------------------------------- */

int vt_memory_file(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC);

    vt_above_two(&fd);
    return fd;
}

vitcl_status vt_decode_start(vt_decode_process *out, bool all, int memory,
                             uint64_t bytes, uint64_t room,
                             const vt_decode_limits *limits)
{
    vitcl_status st = VITCL_OK;
    vt_decode_process p = VT_DECODE_PROCESS_NONE;
    int pair[2] = {-1, -1}, error;
    const uint64_t value[] = {room, bytes, limits->seconds, limits->pixels};
    char program[PATH_MAX], number_text[4][24];
    char *argv[] = {program,        number_text[0], number_text[1],
                    number_text[2], number_text[3], NULL};

    if (all)
        VT_TRY(vt_helper_find(program, sizeof program, "vitcl-decode-all",
                              "VITCL_DECODE_ALL",
                              "decodes WebP, GIF, TIFF, AVIF, HEIC and RAW"));
    else
        VT_TRY(vt_helper_find(program, sizeof program, "vitcl-decode",
                              "VITCL_DECODE", "decodes pictures"));
    for (size_t i = 0; i < 4; i++)
        snprintf(number_text[i], sizeof number_text[i], "%llu",
                 (unsigned long long)value[i]);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        VT_TRY(vt_fail(VITCL_ENOMEM, "cannot start a decoder process: %s",
                       strerror(errno)));
    vt_above_two(&pair[0]);
    vt_above_two(&pair[1]);
    error = pair[0] < 0 || pair[1] < 0
                ? EMFILE
                : vt_process_start_bare(&p.os, program, pair[1], memory, argv);
    if (error) {
        st =
            vt_fail(VITCL_EIO, "cannot start %s: %s", program, strerror(error));
        goto done;
    }
    p.socket = pair[0], pair[0] = -1;
    *out = p;
done:
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
    return st;
}

bool vt_decode_end(vt_decode_process *p)
{
    siginfo_t end;

    if (p->socket >= 0)
        close(p->socket);
    end = vt_process_end(&p->os);
    *p = VT_DECODE_PROCESS_NONE;
    return end.si_code == CLD_KILLED && end.si_status == SIGPROF;
}

int vt_decode_send(const vt_decode_process *p, const vt_decode_order *order,
                   int file)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {{0}};
    struct iovec part = {(void *)(uintptr_t)order, sizeof *order};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    ssize_t n;

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &file, sizeof(int));
    do {
        n = sendmsg(p->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof *order ? 0 : n < 0 ? errno : EIO;
}
