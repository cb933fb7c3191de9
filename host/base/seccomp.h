/*
 * seccomp.h - what the programs that read hostile files share: the words and
 * the usual calls of a filter of system calls, and limits.
 *
 * ARCH is not defined where filters are not known to work, and SANITIZED is 1
 * under a sanitizer, which needs more calls than a filter should allow.
 */
#ifndef VT_BASE_SECCOMP_H
#define VT_BASE_SECCOMP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
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

#define LOAD(field)                                                            \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define DENY BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
/* Skips n instructions unless the loaded word is v. */
#define UNLESS(v, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, v, 0, n)
#define MAY(call) UNLESS(__NR_##call, 1), ALLOW
#define ABSENT BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS)
/* Low word of an argument: its offset assumes little endian. */
#define MAPS(call)                                                             \
    UNLESS(__NR_##call, 4), LOAD(args[2]),                                     \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 4 /* PROT_EXEC */, 0, 1), DENY,   \
        ALLOW

#ifdef __NR_futex_time64
#define TIME64 MAY(futex_time64), MAY(clock_gettime64),
#else
#define TIME64
#endif
#ifdef __NR_mmap2
#define MAPPING MAPS(mmap2)
#else
#define MAPPING MAPS(mmap)
#endif
/* A filter's beginning: nothing of another architecture; reading, memory and
 * the end. rt_sigprocmask is of abort, which blocks signals; getrandom of
 * malloc's initialisation. */
#define USUAL_CALLS                                                            \
    LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),               \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL), LOAD(nr), MAY(read),      \
        MAY(brk), MAY(munmap), MAY(mremap), MAY(madvise), MAY(futex),          \
        MAY(rt_sigreturn), MAY(rt_sigprocmask), MAY(clock_gettime),            \
        MAY(getrandom), MAY(restart_syscall), MAY(exit), MAY(exit_group),      \
        TIME64 MAPPING, MAPS(mprotect)

/* Gives up all privileges and begins the filter. False: the kernel has no
 * seccomp, or its use is forbidden. Under a sanitizer: true, no filter. */
static inline bool vt_lock_up(const struct sock_filter *filter, size_t n)
{
    struct sock_fprog program = {(unsigned short)n,
                                 (struct sock_filter *)(uintptr_t)filter};

    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return n ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0
             : SANITIZED;
}
#if defined(ARCH) && !SANITIZED
#define LOCK_UP(filter) vt_lock_up(filter, sizeof(filter) / sizeof *(filter))
#else
#define LOCK_UP(filter) vt_lock_up(NULL, 0)
#endif

/* Lowers a limit to `most`; never raises it. */
static inline void vt_lower_limit(int what, rlim_t most)
{
    struct rlimit now;

    if (getrlimit(what, &now) != 0)
        return;
    if (now.rlim_max > most)
        now.rlim_max = most;
    now.rlim_cur = now.rlim_max;
    setrlimit(what, &now);
}

#endif
