/*
 * helper.h - programs of ours that the library starts: vitcl-decode and
 * vitcl-try. They are found, started and ended in one way.
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

/* Its path: what `variable` says, else as the file of the program that runs or
 * of this code is placed: in a build's folder, in PREFIX/bin, in PREFIX/lib or
 * PREFIX/lib/ARCHITECTURE; else where it was installed. In a program that has
 * more rights than its user, there alone. purpose: for the message, "decodes
 * pictures". */
vitcl_status vt_helper_find(char *out, size_t room, const char *name,
                            const char *variable, const char *purpose);
/* A number from 1 to `most` that the environment has; else *out stays. */
vitcl_status vt_helper_number(uint64_t *out, const char *variable,
                              uint64_t most);

typedef struct vt_process {
    pid_t pid;  /* 0: none */
    int handle; /* of the process, so that no other is meant; -1: none */
} vt_process;
#define VT_PROCESS_NONE ((vt_process){.handle = -1})
/* posix_spawn(): 0 or an errno. */
int vt_process_start(vt_process *out, const char *program,
                     const posix_spawn_file_actions_t *files,
                     const posix_spawnattr_t *how, char *const *argv,
                     char *const *environment);
/* Kills it if it still runs, and waits for it. How it ended; si_code is 0 where
 * that is not to be had: SIGCHLD is ignored, or the host was first. */
siginfo_t vt_process_end(vt_process *p);

/* Descriptors 0 to 2 are what a process is started with: none of ours. */
void vt_above_two(int *fd);

#endif
