/*
 * faults.c - make the n-th call of a kind fail.
 *
 * Preloaded, and controlled by the environment:
 *
 *   VITCL_FAULT=KIND:N   the N-th call of that kind fails, counted from 1 in
 *                        each process (a fork continues the count)
 *   VITCL_FAULT_LOG=FILE gets a line and the callers' addresses when it fails;
 *                        no file: there were fewer than N calls. With N 0 it
 *                        gets the count of each kind at the end
 *   VITCL_FAULT_LOCALE=1 the process sets the environment's locale, as some
 *                        drivers do
 *
 * It acts only in programs whose name begins with vitcl: a driver may start a
 * linker.
 *
 * Kinds: malloc, mmap, open, read, short (half of a read or write), write,
 * sync, rename, fork. Counted are the project's own calls, those of the
 * libraries that parse its files, and those the C library makes for them. An
 * OpenCL driver that aborts without memory is not the project's fault.
 */
#define _GNU_SOURCE
#include "preload.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <locale.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RANGES = 64, DEEP = 24 };

static struct {
    uintptr_t from, to;
    bool own; /* otherwise the C library's own */
} range[RANGES];
static int ranges;
static const char *const kinds[] = {"malloc", "mmap", "open",   "read", "short",
                                    "write",  "sync", "rename", "fork"};
enum { KINDS = sizeof kinds / sizeof *kinds };
static atomic_long seen[KINDS];
static char log_path[512];
static int kind = -1; /* none: nothing is counted */
static long wanted;
static _Thread_local bool inside; /* while this file calls something itself */

/* ---- whose call is it? ---- */

static int note_range(struct dl_phdr_info *info, size_t size, void *context)
{
    static const char *const own[] = {"/libvitcl", "/libcjson", "/libzip",
                                      "/libz.",    "/libpng",   "/libjpeg"};
    const char *name = info->dlpi_name;
    bool mine = ranges == 0; /* the program comes first */

    (void)size, (void)context;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        mine = mine || strstr(name, own[i]);
    if (!mine && !strstr(name, "/libc.so"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum && ranges < RANGES; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
            continue;
        range[ranges].from = info->dlpi_addr + p->p_vaddr;
        range[ranges].to = range[ranges].from + p->p_memsz;
        range[ranges++].own = mine;
    }
    return 0;
}

/* 1: the project's, 0: the C library's, -1: another's. */
static int owner(const void *address)
{
    const uintptr_t a = (uintptr_t)address;

    for (int i = 0; i < ranges; i++)
        if (a >= range[i].from && a < range[i].to)
            return range[i].own;
    return -1;
}

static bool ours(const void *caller)
{
    const int direct = owner(caller);
    void *frame[DEEP];
    int n;

    if (direct != 0)
        return direct > 0;
    n = backtrace(frame, DEEP);
    for (int i = 0; i < n; i++)
        if (frame[i] == caller) /* the first caller outside of the C library */
            for (i++; i < n; i++)
                if (owner(frame[i]) != 0)
                    return owner(frame[i]) > 0;
    return false;
}

static int open_log(void)
{
    return open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

static void tell(int what, long n, bool callers)
{
    const int fd = open_log();
    void *frame[DEEP];

    if (fd < 0)
        return;
    dprintf(fd, "%s %ld\n", kinds[what], n);
    if (callers)
        backtrace_symbols_fd(frame, backtrace(frame, DEEP), fd);
    close(fd);
}

static int kind_of(const char *name, size_t n)
{
    for (int i = 0; i < KINDS; i++)
        if (strncmp(kinds[i], name, n) == 0 && !kinds[i][n])
            return i;
    return -1;
}

/* Is this the call that fails? */
static bool fails(const char *name, const void *caller)
{
    const int what = kind < 0 || inside ? -1 : kind_of(name, strlen(name));
    bool now = false;

    if (what < 0 || (wanted && what != kind))
        return false;
    inside = true;
    if (ours(caller)) {
        const long n = ++seen[what];

        now = n == wanted;
        if (now)
            tell(what, n, true);
    }
    inside = false;
    return now;
}

/* Is this process the program, or its decoder? */
static bool of_ours(void)
{
    char exe[4096];
    const ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    const char *name;

    if (n <= 0)
        return false;
    exe[n] = '\0';
    name = strrchr(exe, '/');
    return name && strncmp(name + 1, "vitcl", 5) == 0;
}

__attribute__((constructor)) static void begin(void)
{
    const char *fault = getenv("VITCL_FAULT"),
               *path = getenv("VITCL_FAULT_LOG");
    const char *colon = fault ? strchr(fault, ':') : NULL;
    void *frame[2];

    inside = true;
    if (getenv("VITCL_FAULT_LOCALE"))
        setlocale(LC_ALL, "");
    if (colon && path && of_ours()) {
        snprintf(log_path, sizeof log_path, "%s", path);
        backtrace(frame, 2); /* so that it loads its libraries now */
        dl_iterate_phdr(note_range, NULL);
        wanted = strtol(colon + 1, NULL, 10);
        kind = kind_of(fault, (size_t)(colon - fault));
    }
    inside = false;
}

__attribute__((destructor)) static void end(void)
{
    inside = true;
    for (int i = 0; i < KINDS && kind >= 0 && wanted == 0; i++)
        tell(i, seen[i], false);
    inside = false;
}

/* ---- the calls ---- */

#define CALLER __builtin_return_address(0)

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t size)
{
    return fails("malloc", CALLER) ? no_memory() : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails("malloc", CALLER) ? no_memory() : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    return fails("malloc", CALLER) ? no_memory() : __libc_realloc(p, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
    REAL(posix_memalign)
    return fails("malloc", CALLER) ? ENOMEM : real(out, align, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    REAL(aligned_alloc)
    return fails("malloc", CALLER) ? no_memory() : real(align, size);
}

static int error(int code)
{
    errno = code;
    return -1;
}

void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
    REAL(mmap)
    if (fails("mmap", CALLER)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return real(at, size, prot, flags, fd, offset);
}

#define OPEN(name)                                                             \
    int name(const char *path, int flags, ...)                                 \
    {                                                                          \
        va_list args;                                                          \
        mode_t mode;                                                           \
        REAL(name)                                                             \
        va_start(args, flags);                                                 \
        mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(args, mode_t) : 0;     \
        va_end(args);                                                          \
        return fails("open", CALLER) ? error(EMFILE)                           \
                                     : real(path, flags, mode);                \
    }
OPEN(open)
OPEN(open64)

#define FOPEN(name)                                                            \
    FILE *name(const char *path, const char *mode)                             \
    {                                                                          \
        REAL(name)                                                             \
        if (!fails("open", CALLER))                                            \
            return real(path, mode);                                           \
        errno = EMFILE;                                                        \
        return NULL;                                                           \
    }
FOPEN(fopen)
FOPEN(fopen64)

int mkstemp(char *path)
{
    REAL(mkstemp)
    return fails("open", CALLER) ? error(EMFILE) : real(path);
}

int mkdir(const char *path, mode_t mode)
{
    REAL(mkdir)
    return fails("open", CALLER) ? error(ENOSPC) : real(path, mode);
}

ssize_t read(int fd, void *out, size_t n)
{
    REAL(read)
    if (fails("read", CALLER))
        return error(EIO);
    return real(fd, out, n > 1 && fails("short", CALLER) ? n / 2 : n);
}

ssize_t pread(int fd, void *out, size_t n, off_t at)
{
    REAL(pread)
    if (fails("read", CALLER))
        return error(EIO);
    return real(fd, out, n > 1 && fails("short", CALLER) ? n / 2 : n, at);
}

/* As a hardened program calls them: `room` is that of the buffer. */
extern int __open_2(const char *path, int flags);
extern ssize_t __read_chk(int fd, void *out, size_t n, size_t room);
extern ssize_t __pread_chk(int fd, void *out, size_t n, off_t at, size_t room);

int __open_2(const char *path, int flags)
{
    REAL(__open_2)
    return fails("open", CALLER) ? error(EMFILE) : real(path, flags);
}

ssize_t __read_chk(int fd, void *out, size_t n, size_t room)
{
    REAL(__read_chk)
    if (fails("read", CALLER))
        return error(EIO);
    return real(fd, out, n > 1 && fails("short", CALLER) ? n / 2 : n, room);
}

ssize_t __pread_chk(int fd, void *out, size_t n, off_t at, size_t room)
{
    REAL(__pread_chk)
    if (fails("read", CALLER))
        return error(EIO);
    return real(fd, out, n > 1 && fails("short", CALLER) ? n / 2 : n, at, room);
}

ssize_t write(int fd, const void *data, size_t n)
{
    REAL(write)
    if (fails("write", CALLER))
        return error(ENOSPC);
    return real(fd, data, n > 1 && fails("short", CALLER) ? n / 2 : n);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    REAL(pwrite)
    if (fails("write", CALLER))
        return error(ENOSPC);
    return real(fd, data, n > 1 && fails("short", CALLER) ? n / 2 : n, at);
}

/* What the stream has buffered is lost, as on a full disk. */
int fflush(FILE *f)
{
    REAL(fflush)
    if (!f || !fails("write", CALLER))
        return real(f);
    (void)real(f);
    f->_flags |= 0x20; /* glibc's flag that ferror() asks */
    errno = ENOSPC;
    return EOF;
}

int fclose(FILE *f)
{
    REAL(fclose)
    if (!fails("write", CALLER))
        return real(f);
    (void)real(f);
    errno = ENOSPC;
    return EOF;
}

int fsync(int fd)
{
    REAL(fsync)
    return fails("sync", CALLER) ? error(EIO) : real(fd);
}

int rename(const char *from, const char *to)
{
    REAL(rename)
    return fails("rename", CALLER) ? error(EIO) : real(from, to);
}

pid_t fork(void)
{
    REAL(fork)
    return fails("fork", CALLER) ? error(EAGAIN) : real();
}

int posix_spawn(pid_t *pid, const char *path,
                const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const argv[],
                char *const envp[])
{
    REAL(posix_spawn)
    return fails("fork", CALLER)
               ? EAGAIN
               : real(pid, path, actions, attributes, argv, envp);
}
