/*
 * trace.c - the steps of a timed run as a trace for chrome://tracing and
 * Perfetto (Trace Event Format, the JSON object form).
 *
 * The device runs one step after the other, so a step begins where the one
 * before it ends; the gaps between them are not known.
 */
#include "cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void text_of(FILE *f, const char *key, const char *value)
{
    fprintf(f, "\"%s\":", key);
    json_text(f, value);
}

/* The first provider in the kernel's description; NULL: no multiplication. */
static const char *provider_of(const char *kernel)
{
    static const char *const names[] = {"clblast", "native", "plain"};
    const char *first = NULL, *name = NULL;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *at = strstr(kernel, names[i]);

        if (at && (at == kernel || at[-1] == ' ') && (!first || at < first))
            first = at, name = names[i];
    }
    return name;
}

static void named(FILE *f, const char *what, const char *name)
{
    fprintf(f, "{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"%s\",\"args\":{",
            what);
    text_of(f, "name", name);
    fprintf(f, "}},\n");
}

static void event(FILE *f, uint32_t i, const vitcl_step_info *s, double from_ms)
{
    const double rate = s->time_ms > 0 ? s->gflop / s->time_ms * 1e3 : 0;
    const char *provider = provider_of(s->kernel);
    char name[sizeof s->op + sizeof s->name + 1];

    snprintf(name, sizeof name, "%s%s%s", s->op, s->name[0] ? " " : "",
             s->name);
    fprintf(f, "%s{\"ph\":\"X\",\"pid\":1,\"tid\":1,", i ? ",\n" : "");
    text_of(f, "name", name);
    fputc(',', f);
    text_of(f, "cat", s->op);
    fprintf(f, ",\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"step\":%u,",
            1e3 * from_ms, 1e3 * s->time_ms, (unsigned)i);
    text_of(f, "output", s->name);
    fputc(',', f);
    text_of(f, "shape", s->shape);
    fputc(',', f);
    text_of(f, "kernel", s->kernel);
    fputc(',', f);
    text_of(f, "provider", provider);
    fprintf(f, ",\"GFLOP\":%.6f,\"GFLOP/s\":%.3f,\"bytes\":%llu}}", s->gflop,
            rate, (unsigned long long)s->memory_bytes);
}

static void print(FILE *f, const vitcl_session *session, const char *model,
                  const char *device)
{
    vitcl_step_info s = {.size = sizeof s};
    double at = 0;

    fprintf(f, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    named(f, "process_name", model);
    named(f, "thread_name", device);
    for (uint32_t i = 0; vitcl_session_step(&s, session, i) == VITCL_OK; i++) {
        event(f, i, &s, at);
        at += s.time_ms;
    }
    fprintf(f, "\n]}\n");
}

/* The file is whole, or an older one stays. */
static bool store(const char *path, const char *data, size_t size)
{
    const size_t room = strlen(path) + 32;
    char *const made = malloc(room);
    int f = -1, error = 0;

    if (!made) {
        errno = ENOMEM;
        return false;
    }
    snprintf(made, room, "%s.%ld.part", path, (long)getpid());
    f = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (f < 0) {
        error = errno;
        free(made);
        errno = error;
        return false;
    }
    for (size_t at = 0; at < size && !error;) {
        const ssize_t n = write(f, data + at, size - at);

        if (n > 0)
            at += (size_t)n;
        else if (n == 0 || errno != EINTR)
            error = n == 0 ? EIO : errno;
    }
    if (fsync(f) != 0 && !error)
        error = errno;
    if (close(f) != 0 && !error)
        error = errno;
    if (!error && rename(made, path) != 0)
        error = errno;
    if (error)
        unlink(made);
    free(made);
    errno = error;
    return !error;
}

int trace_write(const char *path, const vitcl_session *session,
                const char *model, const char *device)
{
    char *data = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&data, &size);
    bool bad = !f;
    int code = EXIT_OK;

    if (f) {
        print(f, session, model, device);
        bad = ferror(f) != 0;
        bad = fclose(f) != 0 || bad;
    }
    if (bad)
        code = fail("%s: out of memory for a trace", path);
    else if (!store(path, data, size))
        code = fail("%s: cannot write: %s", path, strerror(errno));
    free(data);
    return code;
}
