/*
 * trace.c - the steps of a timed run as a trace for chrome://tracing and
 * Perfetto (Trace Event Format, the JSON object form).
 *
 * The device runs one step after the other, so a step begins where the one
 * before it ends; the gaps between them are not known.
 */
#include "trace.h"

#include "api/program.h"
#include "cli/terminal/terminal.h"
#include "parts/partition.h"

#include <string.h>

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

static void event(vt_json_writer *w, uint32_t i, const vt_step_info *s,
                  double from_ms)
{
    const double rate = s->time_ms > 0 ? s->gflop / s->time_ms * 1e3 : 0;
    const char *provider = provider_of(s->kernel);
    char name[sizeof s->op + sizeof s->name + 1];

    snprintf(name, sizeof name, "%s%s%s", s->op, s->name[0] ? " " : "",
             s->name);
    vt_json_put(w,
                "\n{ph:'X' pid:1 tid:1 name:%s cat:%s ts:%.3f dur:%.3f "
                "args:{step:%u output:%s shape:%s kernel:%s provider:%s "
                "GFLOP:%.6f GFLOP/s:%.3f bytes:%llu}}",
                name, s->op, 1e3 * from_ms, 1e3 * s->time_ms, (unsigned)i,
                s->name, s->shape, s->kernel, provider, s->gflop, rate,
                (unsigned long long)s->memory_bytes);
}

static void print(FILE *f, const vitcl_session *session, const char *model,
                  const char *device)
{
    vt_json_writer w = {.f = f};
    vt_step_info s;
    double at = 0;

    vt_json_put(&w,
                "{displayTimeUnit:'ms' traceEvents:["
                "\n{ph:'M' pid:1 tid:1 name:'process_name' args:{name:%s}}"
                "\n{ph:'M' pid:1 tid:1 name:'thread_name' args:{name:%s}}",
                model, device);
    for (uint32_t i = 0; vt_session_step(&s, session, i); i++) {
        event(&w, i, &s, at);
        at += s.time_ms;
    }
    vt_json_put(&w, "\n]}\n");
}

int trace_write(const char *path, const vitcl_session *session,
                const char *model, const char *device)
{
    vt_part *part = NULL;
    int code;

    RET(vt_part_open(&part, path));
    print(vt_part_stream(part), session, model, device);
    code = code_of(vt_part_commit(part));
    vt_part_free(part);
    return code;
}
