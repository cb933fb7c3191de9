/*
 * host.c - a host program that multiplies in int8 while instructions are tried
 * (trial.sh).
 *   host PRECISION [ignore|reap|catch]
 * ignore: SIGCHLD is ignored; reap: a thread always waits for any child; catch:
 * signals are blocked, and descriptors 0 to 2 are closed.
 * Prints "form ...", "attention ..." (the form in bf16, which attention takes
 * in int8, too), "untried N", "answer ..." (a hash of the logits' bits), "log
 * ..." for log lines about trials, and anything left over: a child, pipes. Exit
 * status 77: the device has nothing to try.
 */
#include "api/program.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIDE = 64, CLASSES = 10 };

static atomic_bool over;
static FILE *out;

static void *reap(void *context)
{
    (void)context;
    while (!atomic_load(&over)) {
        if (waitpid(-1, NULL, 0) < 0)
            usleep(1000);
    }
    return NULL;
}

static void log_line(void *context, const char *line)
{
    (void)context;
    if (strstr(line, "tried") || strstr(line, "trial"))
        fprintf(out, "log %s\n", line);
}

/* Pipes and handles of processes that are open. */
static int pipes(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    for (struct dirent *e; d && (e = readdir(d));) {
        char link[300], to[300] = "";

        snprintf(link, sizeof link, "/proc/self/fd/%s", e->d_name);
        if (readlink(link, to, sizeof to - 1) > 0)
            n += strncmp(to, "pipe:", 5) == 0 || strstr(to, "pidfd") != NULL;
    }
    if (d)
        closedir(d);
    return n;
}

static int failed(const char *what)
{
    fprintf(stderr, "host: %s: %s\n", what, vitcl_last_error());
    return 1;
}

static int answer(vitcl_model *model, vitcl_precision precision)
{
    static uint8_t rgb[SIDE * SIDE * 3];
    static float logits[CLASSES];
    const vitcl_session_options o = {.size = sizeof o,
                                     .height = SIDE,
                                     .width = SIDE,
                                     .precision = precision};
    vitcl_session *s = NULL;
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = (uint8_t)(i * 2654435761u >> 13);
    if (vitcl_session_new(&s, model, &o) != VITCL_OK)
        return failed("session");
    if (vitcl_session_run_rgb(s, rgb, 1) != VITCL_OK ||
        vitcl_session_read(logits, CLASSES, s, "logits", 1) != VITCL_OK)
        return failed("run");
    for (size_t i = 0; i < sizeof logits; i++)
        hash = (hash ^ ((const unsigned char *)logits)[i]) * 16777619u;
    fprintf(out, "answer %08x %.2f\n", hash, (double)logits[0]);
    vitcl_session_free(s);
    return 0;
}

static int run(const char *word)
{
    const vitcl_precision precision = strcmp(word, "half") == 0   ? VITCL_HALF
                                      : strcmp(word, "bf16") == 0 ? VITCL_BF16
                                                                  : VITCL_INT8;
    const vitcl_precision named =
        precision == VITCL_HALF ? VITCL_BF16 : precision;
    vitcl_device *device = NULL;
    vitcl_model *model = NULL;
    char form[96];
    int code, before;

    if (vitcl_device_open(&device, NULL) != VITCL_OK ||
        vitcl_model_load(&model, device, VITCL_MODEL_BUILTIN) != VITCL_OK)
        return failed("model");
    if (vt_device_form(form, sizeof form, device, named) != VITCL_OK)
        return failed("form");
    fprintf(out, "before %s\n", form);
    before = pipes();
    code = answer(model, precision);
    if (pipes() != before)
        code = failed("a descriptor was left open");
    if (vt_device_form(form, sizeof form, device, named) != VITCL_OK)
        return failed("form");
    fprintf(out, "form %s\nuntried %d\n", form,
            vt_device_untried(device, precision));
    if (vt_device_form(form, sizeof form, device, VITCL_BF16) != VITCL_OK)
        return failed("form");
    fprintf(out, "attention %s\n", form);
    vitcl_model_free(model);
    vitcl_device_free(device);
    return code;
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "";
    struct sigaction ignore = {.sa_handler = SIG_IGN}, now;
    sigset_t all, mask;
    pthread_t reaper;
    int code;

    out = fdopen(fcntl(1, F_DUPFD_CLOEXEC, 10), "w");
    if (!out || argc < 2)
        return 2;
    setvbuf(out, NULL, _IOLBF, 4096);
    if (strcmp(how, "ignore") == 0)
        sigaction(SIGCHLD, &ignore, NULL);
    if (strcmp(how, "reap") == 0 &&
        pthread_create(&reaper, NULL, reap, NULL) != 0)
        return 2;
    sigfillset(&all);
    if (strcmp(how, "catch") == 0) {
        sigaction(SIGABRT, &ignore, NULL);
        pthread_sigmask(SIG_BLOCK, &all, NULL);
        for (int fd = 0; fd < 3; fd++)
            close(fd);
    }
    vitcl_log_set(log_line, NULL);
    code = run(argv[1]);
    atomic_store(&over, true);
    if (strcmp(how, "reap") == 0)
        pthread_join(reaper, NULL);
    if (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD)
        code = failed("a child was left");
    sigaction(SIGCHLD, NULL, &now);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    if ((now.sa_handler == SIG_IGN) != (strcmp(how, "ignore") == 0) ||
        sigismember(&mask, SIGCHLD) != (strcmp(how, "catch") == 0))
        code = failed("signals are not the host's");
    fprintf(out, "end %d\n", code);
    return fclose(out) == 0 ? code : 1;
}
