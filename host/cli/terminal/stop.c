/*
 * stop.c - Ctrl-C, and a terminal that closes.
 */
#include "base/stop.h"
#include "base/clock.h"
#include "terminal.h"

#include <signal.h>

double now(void)
{
    return vt_now_ms() / 1000;
}

static volatile sig_atomic_t raised; /* the first signal */

static void raise_flag(int signal)
{
    if (!raised)
        raised = signal;
    vt_stop_asked = 1;
}

/* A second one kills, but for SIGHUP: a terminal may raise that twice. */
static const struct {
    int signal, flags;
} stops[] = {
    {SIGINT, (int)SA_RESETHAND}, {SIGTERM, (int)SA_RESETHAND}, {SIGHUP, 0}};
enum { STOPS = sizeof stops / sizeof *stops };

/* By nohup, or in a shell's background. A driver's compiler may set a handler
 * later, so that this is asked before one is loaded. */
static bool ignored[STOPS];

void note_signals(void)
{
    struct sigaction before;

    for (int i = 0; i < STOPS; i++)
        ignored[i] = sigaction(stops[i].signal, NULL, &before) == 0 &&
                     before.sa_handler == SIG_IGN;
}

void catch_stop(void)
{
    struct sigaction action = {.sa_handler = raise_flag};

    sigemptyset(&action.sa_mask);
    for (int i = 0; i < STOPS; i++) {
        action.sa_flags = stops[i].flags;
        action.sa_handler = ignored[i] ? SIG_IGN : raise_flag;
        sigaction(stops[i].signal, &action, NULL);
    }
}

int exit_status(int code)
{
    return code == EXIT_STOPPED && raised ? 128 + raised : code;
}

bool stopped(void)
{
    return raised != 0;
}
