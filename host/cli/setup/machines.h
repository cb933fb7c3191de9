/*
 * machines.h - --devices: several devices, each with the model and a session.
 */
#ifndef VT_CLI_MACHINES_H
#define VT_CLI_MACHINES_H
#include "setup.h"

#include <pthread.h>

typedef struct machine {
    vitcl_device *device;
    vitcl_model *model;
    vitcl_session *session;
    vitcl_device_info info;
    bool lost;
    char why[512]; /* if lost */
} machine;
typedef struct machines {
    machine *item;
    size_t count;
} machines;

/* Opens the devices that o->devices names, and the model on each. Says if they
 * are of different kinds. */
int machines_open(machines *m, const model_options *o);
/* A session on each. A device on which that fails is left out with a warning;
 * without any other it is an error. */
int machines_start(machines *m, const vitcl_session_options *options);
/* Is one of them a CPU? */
bool machines_cpu(const machines *m);
/* Starts a device's thread; signals but those of a crash are the main thread's.
 * False: there can be no more threads. */
bool machine_thread(pthread_t *thread, void *(*run)(void *), void *context);
/* In a thread: keeps the library's last message as the reason. */
void machine_lose(machine *m);
/* Elsewhere: the warning. left: how many go on; 0: an error. */
void machine_say(const machine *m, size_t left);
/* The names of their kinds, for a manifest. */
void machines_text(char *out, size_t size, const machines *m);
void machines_close(machines *m);

#endif
