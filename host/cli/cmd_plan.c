/*
 * cmd_plan.c - prints the steps that run on the device, one per line.
 */
#include "cmd.h"

#include <stdlib.h>

typedef struct plan {
    model_options common;
    words keep;
    const char *trace, *kernels;
    bool json, time;
} plan;

static const opt options[] = {
    OPT_MODEL(plan),
    OPT_DEVICE(plan),
    OPT_BATCH(plan, "pictures at a time (default 1)"),
    OPT_SIDES(plan),
    OPT_RUN(plan),
    {0, "keep", OPT_LIST, "PATTERN",
     "keep tensors whose names match, such as 'attention.*'",
     offsetof(plan, keep)},
    {0, "time", OPT_FLAG, NULL, "run it, and show each step's milliseconds",
     offsetof(plan, time)},
    {0, "trace", OPT_FILE, "FILE.json",
     "with --time: also write the steps for chrome://tracing and Perfetto",
     offsetof(plan, trace)},
    {0, "dump-kernels", OPT_TEXT, "DIR",
     "also write each kernel's source and options", offsetof(plan, kernels)},
    {0, "json", OPT_FLAG, NULL, "one JSON object a line", offsetof(plan, json)},
    OPT_DONE};

static void print_json(uint32_t i, const vitcl_step_info *s, bool time)
{
    printf("{\"step\":%u,\"op\":", i);
    json_string(s->op);
    printf(",\"output\":");
    json_string(s->name);
    printf(",\"shape\":");
    json_string(s->shape);
    printf(",\"kernel\":");
    json_string(s->kernel);
    printf(",\"gflop\":%.6f,\"bytes\":%llu", s->gflop,
           (unsigned long long)s->memory_bytes);
    if (time)
        printf(",\"ms\":%.4f", s->time_ms);
    printf("}\n");
}

static void print_steps(const plan *o, const vitcl_session *session)
{
    vitcl_step_info s = {.size = sizeof s};
    double total_ms = 0, gflop = 0;
    uint32_t i;

    if (!o->json)
        printf("%4s  %-12s %-20s %-18s %9s %9s%s  %s\n", "step", "op", "output",
               "shape", "GFLOP", "MB", o->time ? "        ms" : "", "kernel");
    for (i = 0; vitcl_session_step(&s, session, i) == VITCL_OK; i++) {
        if (o->json) {
            print_json(i, &s, o->time);
            continue;
        }
        printf("%4u  %-12s %-20s %-18s %9.4f %9.3f", i, s.op, s.name, s.shape,
               s.gflop, (double)s.memory_bytes / 1e6);
        if (o->time)
            printf(" %9.3f", s.time_ms);
        printf("  %s\n", s.kernel);
        total_ms += s.time_ms, gflop += s.gflop;
    }
    if (!o->json && o->time)
        printf("\n%u step%s, %.3f GFLOP, %.2f ms\n", i, plural(i), gflop,
               total_ms);
    else if (!o->json)
        printf("\n%u step%s, %.3f GFLOP\n", i, plural(i), gflop);
}

static int print_memory(const vitcl_session *session)
{
    vitcl_session_info m = {.size = sizeof m};

    if (vitcl_session_describe(&m, session) != VITCL_OK)
        return failed();
    printf("activations ");
    print_bytes((double)m.activation_bytes);
    printf(" (one arena of ");
    print_bytes((double)m.arena_bytes);
    printf("), weights ");
    print_bytes((double)m.weights_bytes);
    printf(", GEMM %s, %s\n", m.gemm, m.precision);
    return EXIT_OK;
}

static int run_once(vitcl_session *session)
{
    uint32_t height, width;
    uint8_t *rgb;
    size_t bytes;
    vitcl_status st;

    vitcl_session_size(session, &height, &width);
    bytes = (size_t)vitcl_session_batch(session) * height * width * 3;
    rgb = calloc(bytes, 1);
    if (!rgb)
        return fail("out of memory");
    st = vitcl_run_rgb(session, rgb, vitcl_session_batch(session));
    if (st == VITCL_OK) /* the first run may still warm caches */
        st = vitcl_run_rgb(session, rgb, vitcl_session_batch(session));
    free(rgb);
    return st == VITCL_OK ? EXIT_OK : failed();
}

static int write_trace(const plan *o, vitcl_device *device,
                       const vitcl_session *session)
{
    vitcl_device_info info = {.size = sizeof info};

    if (vitcl_device_describe(&info, device) != VITCL_OK)
        return failed();
    return trace_write(o->trace, session, model_name(&o->common), info.name);
}

static int run(void *into, const words *operands)
{
    const plan *o = into;
    vitcl_device *device = NULL;
    vitcl_model *model = NULL;
    vitcl_session *session = NULL;
    words keep = {NULL, 0};
    int code;

    if (operands->count)
        return usage("unexpected argument '%s'; name the model with -m DIR",
                     operands->item[0]);
    if (o->trace && !o->time)
        return usage("--trace needs --time");
    code = open_model(&device, &model, &o->common);
    if (code == EXIT_OK)
        code = keep_open(&keep, &o->keep);
    if (code == EXIT_OK)
        code = open_session(&session, device, model, &o->common, keep.item,
                            o->time);
    if (code == EXIT_OK)
        code = keep_check(&keep, &o->keep, session);
    if (code == EXIT_OK && o->time)
        code = run_once(session);
    if (code == EXIT_OK && o->trace)
        code = write_trace(o, device, session);
    if (code == EXIT_OK && o->kernels &&
        vitcl_device_save_kernels(device, o->kernels) != VITCL_OK)
        code = failed();
    if (code == EXIT_OK) {
        guard_end(); /* do not restart after printing */
        print_steps(o, session);
        if (!o->json)
            code = print_memory(session);
    }
    keep_close(&keep);
    vitcl_session_free(session);
    vitcl_model_free(model);
    vitcl_device_free(device);
    return code;
}

const command cmd_plan = {
    "plan",
    "",
    "Print the steps that run on the device",
    "Each step with its output's name (what --keep and `vitcl forward` call "
    "it), shape,\nwork, memory, and the kernel that was chosen for this "
    "device.",
    options,
    sizeof(plan),
    run};
