/*
 * sandbox.c - the programs vitcl-decode and vitcl-decode-all, which can only
 * read, write, allocate memory and exit. They alone are linked with the picture
 * codecs.
 *
 * If a hostile picture takes over a decoder, no file, network or other process
 * is within reach. The decoder has two descriptors (a socket to the parent, and
 * its own shared memory for finished pixels), a seccomp filter that answers
 * EPERM to everything not listed here, no way to gain privileges, limits on
 * memory and on what it writes, and a limit on processor time per picture.
 * Where seccomp is refused the other limits still hold, and each reply says so.
 *
 * Some libraries of vitcl-decode-all decode in threads, and wait for ever where
 * none can be started. So that program (VT_DECODE_ALL) may also start threads,
 * which are under the same filter; no other process is possible. What a library
 * loads from files is loaded before the sandbox closes.
 *
 * Under a sanitizer, neither the filter nor the memory limit is set: it maps
 * terabytes and needs more system calls.
 */
#include "image/sandbox.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/seccomp.h"
#include "image/decoders.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    FILE_MAX = 1 << 30, /* bytes of a picture file */
    SOCKET = 0,         /* the two descriptors that are kept */
    PIXELS = 1
};

typedef struct limits { /* sandbox.h: the arguments */
    unsigned long long room, written, seconds, pixels;
} limits;

/* ---- allowed system calls ---------------------------------------------- */

#if defined(ARCH) && !SANITIZED
static const struct sock_filter filter[] = {
    USUAL_CALLS,
    MAY(pread64),
    MAY(recvmsg),
    MAY(close),
    MAY(setitimer),
#ifdef VT_DECODE_ALL
    /* clone3's flags are in memory, out of reach: the caller falls back */
    UNLESS(__NR_clone3, 1),
    ABSENT,
    UNLESS(__NR_clone, 4),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
    ALLOW,
    DENY,
    MAY(set_robust_list),
    MAY(rseq),
    MAY(sched_yield),
    MAY(sched_getaffinity),
    MAY(gettid),
#endif
    /* only the socket and the shared memory may be written */
    UNLESS(__NR_write, 3),
    LOAD(args[0]),
    UNLESS(SOCKET, 1),
    ALLOW,
    UNLESS(__NR_pwrite64, 3),
    LOAD(args[0]),
    UNLESS(PIXELS, 1),
    ALLOW,
    DENY,
};
#endif

/* The bytes that the process maps now. */
static rlim_t mapped_now(void)
{
    char text[64] = "";
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && read(fd, text, sizeof text - 1) < 0)
        text[0] = 0;
    if (fd >= 0)
        close(fd);
    return (rlim_t)strtoull(text, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* Ctrl-C, a hangup and the signal of timeout(1) reach the whole process group:
 * the parent decides, and we end when its socket closes. */
static void set_signals(void)
{
    struct sigaction usual = {0};
    sigset_t none;

    usual.sa_handler = SIG_DFL;
    for (int s = 1; s < NSIG; s++)
        if (s != SIGKILL && s != SIGSTOP)
            sigaction(s, &usual, NULL);
    usual.sa_handler = SIG_IGN;
    sigaction(SIGHUP, &usual, NULL);
    sigaction(SIGTERM, &usual, NULL);
    sigaction(SIGINT, &usual, NULL);
    sigaction(SIGPIPE, &usual, NULL);
    sigaction(SIGXFSZ, &usual, NULL); /* write() fails instead */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* What the codecs load or set up from files. */
static void prepare_codecs(void)
{
#ifdef VT_DECODE_ALL
    /* one heap for all threads: each further one would take 128 MiB of the
     * limit on memory */
    mallopt(M_ARENA_MAX, 1);
#ifdef VT_WITH_HEIF
    vt_heif_start();
#endif
#endif
}

/* Gives up all rights except reading, writing and exiting. False: without the
 * seccomp filter. */
static bool enter(const limits *l)
{
    set_signals();
    prepare_codecs();
    /* a sanitizer writes its report to 2 */
    vt_close_from(SANITIZED ? 3 : 2);
    vt_lower_limit(RLIMIT_CORE, 0);
    vt_lower_limit(RLIMIT_FSIZE, (rlim_t)l->written);
    if (!SANITIZED)
        vt_lower_limit(RLIMIT_AS, mapped_now() + (rlim_t)l->room);
    vt_picture_limit(l->pixels);
    return LOCK_UP(filter);
}

/* ---- orders ------------------------------------------------------------- */

/* Receives the next order with its file; false: the parent is gone. */
static bool receive(vt_decode_order *order, int *file)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {order, sizeof *order};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    const struct cmsghdr *c;
    ssize_t n;

    do {
        n = recvmsg(SOCKET, &message, 0);
    } while (n < 0 && errno == EINTR);
    c = n == (ssize_t)sizeof *order ? CMSG_FIRSTHDR(&message) : NULL;
    if (!c || c->cmsg_type != SCM_RIGHTS ||
        c->cmsg_len != CMSG_LEN(sizeof(int)))
        return false;
    memcpy(file, CMSG_DATA(c), sizeof(int));
    order->name[VT_NAME_ROOM - 1] = 0;
    return true;
}

/* ---- work --------------------------------------------------------------- */

static vitcl_status read_file(uint8_t **out, const vt_decode_order *order,
                              int file)
{
    vitcl_status st = VITCL_OK;
    uint8_t *bytes = NULL;
    int error;

    if (order->size > FILE_MAX)
        return vt_fail(VITCL_ECORRUPT, "%s: the file is larger than 1 GiB",
                       order->name);
    st = vt_new(&bytes, (size_t)order->size, 1);
    if (st != VITCL_OK)
        return vt_fail_in(st, "%s", order->name);
    error = vt_read_at(file, bytes, (size_t)order->size, 0);
    if (error)
        VT_TRY(vt_fail(VITCL_EIO, "%s: %s", order->name,
                       error == VT_SHORT ? "the file shrank while it was read"
                                         : "cannot be read"));
    *out = bytes, bytes = NULL;
done:
    free(bytes);
    return st;
}

static vitcl_status write_pixels(const vt_picture *p, uint64_t offset,
                                 const char *name)
{
    const int error =
        vt_write_at(PIXELS, p->rgb, (size_t)p->width * p->height * 3, offset);
    const bool full = error == ENOMEM || error == ENOSPC || error == EFBIG;

    if (full)
        vt_picture_note(VT_NOTE_NO_ROOM);
    if (error)
        return vt_fail(full ? VITCL_ENOMEM : VITCL_EIO,
                       "%s: cannot return the pixels: %s%s", name,
                       error == VT_SHORT ? "wrote nothing" : strerror(error),
                       error == EFBIG ? " (ulimit -f)" : "");
    return VITCL_OK;
}

static vitcl_status write_thumb(vt_decode_reply *reply, const vt_picture *in,
                                const vt_decode_order *order)
{
    vt_picture thumb = {0};
    vitcl_status st = VITCL_OK;

    if (!order->side)
        goto done;
    VT_TRY(vt_shrink(&thumb, in, order->side));
    VT_TRY(write_pixels(&thumb, order->thumb_offset, order->name));
    reply->thumb_width = thumb.width, reply->thumb_height = thumb.height;
done:
    vt_picture_free(&thumb);
    return st;
}

static vitcl_status decode(vt_decode_reply *reply, const vt_decode_order *order,
                           int file)
{
    vt_picture in = {0}, out = {0};
    vt_own own = {.mode = VT_OWN_RGB};
    uint8_t *bytes = NULL;
    vitcl_status st;

    VT_TRY(read_file(&bytes, order, file));
    if (!order->whole && order->how.own_mode)
        VT_TRY(vt_image_decode_own(&in, &own, bytes, (size_t)order->size,
                                   order->name));
    else
        VT_TRY(
            (order->how.on_white ? vt_image_decode_on_white : vt_image_decode)(
                &in, bytes, (size_t)order->size, order->name));
    VT_TRY(write_thumb(reply, &in, order));
    if (!order->whole && !order->how.width)
        goto done;
    if (order->whole) {
        out = in, in = (vt_picture){0};
    } else {
        st = vt_prepare_own(&out, &in, &own, &order->how);
        if (st != VITCL_OK)
            VT_TRY(vt_fail_in(st, "%s", order->name));
    }
    reply->width = out.width, reply->height = out.height;
    VT_TRY(write_pixels(&out, order->offset, order->name));
done:
    free(bytes);
    vt_own_free(&own);
    vt_picture_free(&in);
    vt_picture_free(&out);
    return st;
}

static void set_timer(long seconds)
{
    const struct itimerval t = {{0, 0}, {seconds, 0}};

    /* Processor time: a slow machine must not cause errors. */
    (void)setitimer(ITIMER_PROF, &t, NULL);
}

static void work(const limits *l, bool locked)
{
    vt_decode_order order;
    int file;

    while (receive(&order, &file)) {
        vt_decode_reply reply = {.id = order.id, .locked = locked};

        set_timer((long)l->seconds);
        reply.status = decode(&reply, &order, file);
        reply.notes = vt_picture_notes();
        set_timer(0);
        close(file);
        if (reply.status != VITCL_OK)
            snprintf(reply.message, sizeof reply.message, "%s", vt_message());
        if (write(SOCKET, &reply, sizeof reply) != (ssize_t)sizeof reply)
            break;
    }
}

int main(int argc, char **argv)
{
    unsigned long long n[4];
    struct stat s;

    if (argc != 5 || fstat(SOCKET, &s) != 0 || !S_ISSOCK(s.st_mode)) {
        dprintf(2, "vitcl-decode and vitcl-decode-all are started by libvitcl, "
                   "see vitcl(1)\n");
        return 2;
    }
    for (int i = 0; i < 4; i++)
        n[i] = strtoull(argv[i + 1], NULL, 10);
    const limits l = {n[0], n[1], n[2], n[3]};
    work(&l, enter(&l));
    _exit(0);
}
