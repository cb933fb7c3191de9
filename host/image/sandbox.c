/*
 * sandbox.c - the decoder process: it may read, write, take memory and exit.
 *
 * A decoder that is taken over by a hostile picture finds no file, no network
 * and no other process within reach: one descriptor (a socket to the parent),
 * a seccomp filter that answers EPERM to everything not listed here, no
 * privileges to gain, a ceiling on memory, and a processor-time limit for each
 * picture. Where a kernel has no seccomp the rest still holds.
 *
 * The parent may have threads (OpenCL runtimes do), so the child calls nothing
 * that another thread could have left locked, except malloc, which glibc
 * makes safe across fork. It ends with _exit: nothing of the parent's
 * buffered output is written twice.
 *
 * Under AddressSanitizer neither the filter nor the memory ceiling is set: it
 * maps terabytes and needs more system calls.
 */
#include "image/sandbox.h"

#include "base/memory.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) ||     \
    __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#if defined(__x86_64__) && !defined(__ILP32__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__i386__)
#define ARCH AUDIT_ARCH_I386
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define ARCH AUDIT_ARCH_AARCH64
#elif defined(__arm__)
#define ARCH AUDIT_ARCH_ARM
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCH AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define ARCH AUDIT_ARCH_PPC64LE
#endif

enum {
    SECONDS = 30,       /* of processor time a picture */
    FILE_MAX = 1 << 30, /* bytes of a picture file */
    MEMORY = 1100,      /* MiB beside three pictures of the largest size */
    SOCKET = 0          /* the one descriptor that is kept */
};

/* ---- what is allowed ---------------------------------------------------- */

#if defined(ARCH) && !SANITIZED
#define LOAD(field)                                                            \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define DENY BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
/* Skip n instructions unless the loaded word is v. */
#define UNLESS(v, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, v, 0, n)
#define MAY(call) UNLESS(__NR_##call, 1), ALLOW
/* Low word of an argument: offset of the word is that of little endian. */
#define MAPS(call)                                                             \
    UNLESS(__NR_##call, 4), LOAD(args[2]),                                     \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 4 /* PROT_EXEC */, 0, 1), DENY,   \
        ALLOW

static const struct sock_filter filter[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
    LOAD(nr),
    MAY(read),
    MAY(recvmsg),
    MAY(close),
    MAY(brk),
    MAY(munmap),
    MAY(mremap),
    MAY(madvise),
    MAY(futex),
    MAY(setitimer),
    MAY(rt_sigreturn),
    MAY(rt_sigprocmask), /* abort */
    MAY(clock_gettime),
    MAY(getrandom), /* malloc's first use */
    MAY(restart_syscall),
    MAY(exit),
    MAY(exit_group),
#ifdef __NR_futex_time64
    MAY(futex_time64),
    MAY(clock_gettime64),
#endif
#ifdef __NR_mmap2
    MAPS(mmap2),
#else
    MAPS(mmap),
#endif
    MAPS(mprotect),
    /* writes go to the socket alone */
    UNLESS(__NR_write, 3),
    LOAD(args[0]),
    UNLESS(SOCKET, 1),
    ALLOW,
    DENY,
};
#endif

static void lock_up(void)
{
#if defined(ARCH) && !SANITIZED
    struct sock_fprog program = {VT_COUNT(filter),
                                 (struct sock_filter *)(uintptr_t)filter};

    /* A kernel without seccomp refuses; the process still stands apart. */
    (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
#endif
}

#if !SANITIZED
/* What the process maps now, in bytes: the parent's memory is in it. */
static rlim_t mapped_now(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f) {
        if (fscanf(f, "%lu", &pages) != 1)
            pages = 0;
        fclose(f);
    }
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}
#endif

static void limit_memory(void)
{
#if !SANITIZED
    const rlim_t now = mapped_now();
    const rlim_t room = (rlim_t)VT_PIXELS_MAX * 3 * 3 + ((rlim_t)MEMORY << 20);
    struct rlimit limit = {now + room, now + room};

    if (now > 0)
        setrlimit(RLIMIT_AS, &limit);
#endif
}

static void close_all(int from)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)from, ~0u, 0u) == 0)
        return;
#endif
    struct rlimit limit = {1024, 1024};

    getrlimit(RLIMIT_NOFILE, &limit);
    for (int fd = from; fd < (int)VT_MIN(limit.rlim_cur, 1 << 16); fd++)
        close(fd);
}

/* The parent's signal handlers are not ours. Ctrl-C reaches the whole group:
 * the parent decides, and we end when its socket closes. */
static void reset_signals(void)
{
    struct sigaction usual = {0};
    sigset_t none;

    usual.sa_handler = SIG_DFL;
    for (int s = 1; s < NSIG; s++)
        if (s != SIGKILL && s != SIGSTOP)
            sigaction(s, &usual, NULL);
    usual.sa_handler = SIG_IGN;
    sigaction(SIGINT, &usual, NULL);
    sigaction(SIGPIPE, &usual, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void enter(int socket)
{
    const struct rlimit no_core = {0, 0};

    reset_signals();
    if (socket != SOCKET && dup2(socket, SOCKET) < 0)
        _exit(1);
    /* a sanitizer reports on 2 */
    if (SANITIZED) {
        close(1);
        close_all(3);
    } else {
        close_all(1);
    }
    setrlimit(RLIMIT_CORE, &no_core);
    limit_memory();
    (void)prctl(PR_SET_NAME, "vitcl-decode");
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    lock_up();
}

/* ---- orders ---------------------------------------------------------------
 */

int vt_sandbox_send(int socket, const vt_job_order *order, int file)
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
        n = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof *order ? 0 : n < 0 ? errno : EIO;
}

/* The next order and the file that came with it; false: the parent is gone. */
static bool receive(vt_job_order *order, int *file)
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

static vitcl_status read_file(uint8_t **out, const vt_job_order *order,
                              int file)
{
    vitcl_status st = VITCL_OK;
    uint8_t *bytes = NULL;
    size_t at = 0;

    if (order->size > FILE_MAX)
        return vt_fail(VITCL_ECORRUPT, "%s: a picture file of more than 1 GiB",
                       order->name);
    VT_TRY(vt_new(&bytes, (size_t)order->size, 1));
    while (at < order->size) {
        ssize_t n = read(file, bytes + at, (size_t)order->size - at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            st = vt_fail(VITCL_EIO, "%s: %s", order->name,
                         n < 0 ? "cannot be read" : "file shrank while read");
            goto done;
        }
        at += (size_t)n;
    }
    *out = bytes, bytes = NULL;
done:
    free(bytes);
    return st;
}

static vitcl_status decode(uint8_t *slot, const vt_job_order *order, int file,
                           const vt_preprocess *how)
{
    vt_picture in = {0}, out = {0};
    uint8_t *bytes = NULL;
    vitcl_status st;

    VT_TRY(read_file(&bytes, order, file));
    VT_TRY(vt_image_decode(&in, bytes, (size_t)order->size, order->name));
    st = vt_prepare(&out, &in, how);
    if (st != VITCL_OK) {
        st = vt_fail_in(st, "%s", order->name);
        goto done;
    }
    memcpy(slot, out.rgb, (size_t)out.width * out.height * 3);
done:
    free(bytes);
    vt_picture_free(&in);
    vt_picture_free(&out);
    return st;
}

static void set_timer(int seconds)
{
    const struct itimerval t = {{0, 0}, {seconds, 0}};

    /* Processor time: a stopped or crowded machine spoils no picture. */
    (void)setitimer(ITIMER_PROF, &t, NULL);
}

_Noreturn void vt_sandbox_work(int socket, uint8_t *slots,
                               const vt_preprocess *how)
{
    const size_t size = (size_t)how->height * how->width * 3;
    vt_job_order order;
    int file;

    enter(socket);
    while (receive(&order, &file)) {
        vt_job_reply reply = {0};

        set_timer(SECONDS);
        reply.id = order.id;
        reply.status = decode(slots + order.slot * size, &order, file, how);
        set_timer(0);
        close(file);
        if (reply.status != VITCL_OK)
            snprintf(reply.message, sizeof reply.message, "%s", vt_message());
        if (write(SOCKET, &reply, sizeof reply) != (ssize_t)sizeof reply)
            break;
    }
    _exit(0);
}
