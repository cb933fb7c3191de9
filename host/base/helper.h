/*
 * helper.h - the helper programs that the library starts: vitcl-decode,
 * vitcl-decode-all and vitcl-try. They are found, started and ended in the same
 * way. vitcl-unpack and vitcl-study, and the modules vitcl-plot.so and
 * vitcl-pull.so, are the program's and found like them.
 */
#ifndef VT_BASE_HELPER_H
#define VT_BASE_HELPER_H
#include "base/status.h"

#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Finds the path of a helper (of a module, if the name ends in .so): the value
 * of `variable`, else relative to the running program or to this library (a
 * build folder, PREFIX/bin, PREFIX/lib or PREFIX/lib/ARCHITECTURE), else the
 * folder it was installed in. In a program with more rights than its user, only
 * the last. purpose: for the message, "decodes pictures". */
vitcl_status vt_helper_find(char *out, size_t room, const char *name,
                            const char *variable, const char *purpose);
/* Reads a number from 1 to `most` from the environment; unset: *out stays. */
vitcl_status vt_helper_number(uint64_t *out, const char *variable,
                              uint64_t most);

typedef struct vt_process {
    pid_t pid;  /* 0: none */
    int handle; /* pidfd, immune to reuse of the pid; -1: none */
} vt_process;
#define VT_PROCESS_NONE ((vt_process){.handle = -1})
/* posix_spawn(): 0 or an errno. */
int vt_process_start(vt_process *out, const char *program,
                     const posix_spawn_file_actions_t *files,
                     const posix_spawnattr_t *how, char *const *argv,
                     char *const *environment);
/* Starts one that reads what others made, with these two as its descriptors 0
 * and 1: it inherits only the variables that the dynamic loader and the
 * sanitizers read, and all signals are blocked until it has set its own
 * handlers. 0 or an errno. */
int vt_process_start_bare(vt_process *out, const char *program, int zero,
                          int one, char *const *argv);
/* Kills the process if it still runs, and reaps it. Returns how it ended;
 * si_code is 0 where that is unknown (SIGCHLD is ignored, or the host reaped it
 * first). */
siginfo_t vt_process_end(vt_process *p);

/* Moves *fd above 2: descriptors 0 to 2 are replaced in the new process. */
void vt_above_two(int *fd);

#endif
