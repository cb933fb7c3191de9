/*
 * cl_crash.c - makes a driver crash, as compilers of drivers do on some inline
 * assembly.
 *
 * Preloaded with VT_CL_CRASH="SIGNAL CALL N TEXT", it raises SIGNAL (a number)
 * at a process's N-th CALL and at all later ones, before the call is made. CALL
 * is load, for a driver's file that names this library, clCreateContext,
 * clReleaseContext, clCompileProgram, clLinkProgram or
 * clCreateProgramWithSource; of the last only those count whose source contains
 * TEXT (otherwise TEXT is -).
 * Each crash appends a byte to the file VT_CL_CRASH_LOG; with
 * VT_CL_CRASH_MOST=M there are no more crashes once it has M bytes.
 */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include "preload.h"

#include <CL/cl.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static void note_crash(void)
{
    const char *log = getenv("VT_CL_CRASH_LOG"),
               *most = getenv("VT_CL_CRASH_MOST");
    const int fd =
        log ? open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    struct stat s;

    if (fd < 0 || fstat(fd, &s) != 0 || (most && s.st_size >= atol(most)) ||
        write(fd, "x", 1) != 1) {
        if (fd >= 0)
            close(fd);
        return;
    }
    close(fd);
    if (atoi(getenv("VT_CL_CRASH")) == SIGABRT)
        abort();
    for (;;) /* LLVM's handler returns once, expecting the fault to recur */
        raise(atoi(getenv("VT_CL_CRASH")));
}

static void hit(const char *call, cl_uint n, const char **text,
                const size_t *size)
{
    static atomic_int calls;
    char name[64], wanted[64];
    int number, from;
    bool has = n == 0;

    if (!preload_told("VT_CL_CRASH", 4, "%d %63s %d %63s", &number, name, &from,
                      wanted) ||
        strcmp(name, call) != 0)
        return;
    for (cl_uint i = 0; i < n; i++)
        has =
            has || memmem(text[i], size && size[i] ? size[i] : strlen(text[i]),
                          wanted, strlen(wanted));
    if (has && preload_count(&calls) >= from)
        note_crash();
}

__attribute__((constructor)) static void loaded(void)
{
    hit("load", 0, NULL, NULL);
}

cl_program clCreateProgramWithSource(cl_context c, cl_uint n, const char **text,
                                     const size_t *size, cl_int *status)
{
    hit("clCreateProgramWithSource", n, text, size);
    REAL(clCreateProgramWithSource)
    return real(c, n, text, size, status);
}

typedef void(CL_CALLBACK *told)(const char *, const void *, size_t, void *);

cl_context clCreateContext(const cl_context_properties *what, cl_uint n,
                           const cl_device_id *devices, told tell,
                           void *context, cl_int *status)
{
    hit("clCreateContext", 0, NULL, NULL);
    REAL(clCreateContext)
    return real(what, n, devices, tell, context, status);
}

cl_int clReleaseContext(cl_context c)
{
    hit("clReleaseContext", 0, NULL, NULL);
    REAL(clReleaseContext)
    return real(c);
}

typedef void(CL_CALLBACK *done)(cl_program, void *);

cl_int clCompileProgram(cl_program p, cl_uint n, const cl_device_id *devices,
                        const char *options, cl_uint heads,
                        const cl_program *head, const char **names, done tell,
                        void *context)
{
    hit("clCompileProgram", 0, NULL, NULL);
    REAL(clCompileProgram)
    return real(p, n, devices, options, heads, head, names, tell, context);
}

cl_program clLinkProgram(cl_context c, cl_uint n, const cl_device_id *devices,
                         const char *options, cl_uint parts,
                         const cl_program *part, done tell, void *context,
                         cl_int *status)
{
    hit("clLinkProgram", 0, NULL, NULL);
    REAL(clLinkProgram)
    return real(c, n, devices, options, parts, part, tell, context, status);
}
