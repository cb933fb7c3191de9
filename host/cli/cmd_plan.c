/*
 * cmd_plan.c - prints the steps that run on the device.
 */
#include "api/program.h"
#include "base/status.h"
#include "cli/inspect/trace.h"
#include "cli/setup/setup.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct plan {
    model_options common;
    words keep;
    const char *trace, *kernels;
    bool json, time, table;
} plan;

static const opt options[] = {
    OPT_MODEL(plan),
    OPT_DEVICE(plan),
    OPT_BATCH(plan, "pictures at a time (default 1)"),
    OPT_SIDES(plan),
    OPT_RUN(plan),
    OPT_ANY_BATCH(plan),
    OPT_ROW(plan, 0, "keep", OPT_LIST, "PATTERN",
            "keep tensors whose names match, such as 'attention.*'", keep),
    OPT_ROW(plan, 0, "time", OPT_FLAG, NULL,
            "run it, and show each step's milliseconds", time),
    OPT_RULED(
        plan, 0, "trace", OPT_FILE, "FILE.json",
        "with --time: also write the steps for chrome://tracing and Perfetto",
        trace, .needs = "time"),
    OPT_ROW(plan, 0, "dump-kernels", OPT_TEXT, "DIR",
            "also write each kernel's source and options", kernels),
    OPT_ROW(plan, 0, "table", OPT_FLAG, NULL,
            "one line per step, as wide as in a pipe, even on a terminal",
            table),
    OPT_RULED(plan, 0, "json", OPT_FLAG, NULL, "one JSON object per line", json,
              .not_with = "table"),
    OPT_DONE};

static void print_json(uint32_t i, const vt_step_info *s, bool time)
{
    json_put(
        "{step:%u op:%s output:%s shape:%s kernel:%s gflop:%.6f bytes:%llu", i,
        s->op, s->name, s->shape, s->kernel, s->gflop,
        (unsigned long long)s->memory_bytes);
    if (time)
        json_put("ms:%.4f", s->time_ms);
    json_put("}\n");
}

/* ---- text ---- */

enum { CELLS = 8, CELL = 128, OUTPUT = 2, MS = 6, KERNEL = 7, NAMES = 6 };
typedef char row[CELLS][CELL];

static const char *const titles[CELLS] = {"step",  "op", "output", "shape",
                                          "GFLOP", "MB", "ms",     "kernel"};

static bool is_number(int c)
{
    return c == 0 || (c >= 4 && c <= MS);
}

static void fill(row r, uint32_t i, const vt_step_info *s)
{
    snprintf(r[0], CELL, "%u", i);
    snprintf(r[1], CELL, "%s", s->op);
    snprintf(r[2], CELL, "%s", s->name);
    snprintf(r[3], CELL, "%s", s->shape);
    snprintf(r[4], CELL, "%.4f", s->gflop);
    snprintf(r[5], CELL, "%.3f", (double)s->memory_bytes / 1e6);
    snprintf(r[MS], CELL, "%.3f", s->time_ms);
    snprintf(r[KERNEL], CELL, "%s", s->kernel);
}

/* One line a step, in columns of fixed width. */
static void print_wide(const row r, bool time)
{
    printf("%4s  %-12s %-20s %-18s %9s %9s", r[0], r[1], r[2], r[3], r[4],
           r[5]);
    if (time)
        printf(" %9s", r[MS]);
    printf("  %s\n", r[KERNEL]);
}

/* Columns as wide as their cells need; a width of 0 leaves one out. */
static void print_narrow(const row r, const int wide[CELLS], int last)
{
    for (int c = 0; c < last; c++)
        if (wide[c])
            printf("%*s  ", is_number(c) ? wide[c] : -wide[c], r[c]);
    printf("%*s\n", is_number(last) ? wide[last] : 0, r[last]);
}

static void print_names(const row r)
{
    char text[2 * CELL + 3];

    snprintf(text, sizeof text, "%s%s%s", r[OUTPUT], r[OUTPUT][0] ? ": " : "",
             r[KERNEL]);
    printf("%*s", NAMES, "");
    put_wrapped(text, NAMES, NAMES, columns_of(stdout));
}

/* In a terminal. Where it is too narrow, output and kernel are in a second
 * line. */
static void print_fitting(row *rows, uint32_t n, bool time)
{
    int wide[CELLS] = {0}, sum = 0;
    bool below;

    for (int c = 0; c < CELLS; c++) {
        for (uint32_t i = 0; i <= n && (c != MS || time); i++) {
            const int k = (int)strlen(rows[i][c]);

            wide[c] = k > wide[c] ? k : wide[c];
        }
        sum += wide[c] ? wide[c] + (sum ? 2 : 0) : 0;
    }
    below = sum > columns_of(stdout);
    wide[OUTPUT] = below ? 0 : wide[OUTPUT];
    for (uint32_t i = 0; i <= n; i++) {
        print_narrow((const char(*)[CELL])rows[i], wide,
                     !below ? KERNEL
                     : time ? MS
                            : MS - 1);
        if (below)
            print_names((const char(*)[CELL])rows[i]);
    }
}

static int print_steps(const plan *o, const vitcl_session *session)
{
    vt_step_info s;
    double total_ms = 0, gflop = 0;
    row *rows;
    uint32_t n = 0, i = 0;

    while (vt_session_step(&s, session, n))
        n++;
    rows = calloc(n + 1u, sizeof *rows);
    if (!rows)
        return fail("out of memory");
    for (int c = 0; c < CELLS; c++)
        snprintf(rows[0][c], CELL, "%s", titles[c]);
    for (; vt_session_step(&s, session, i) && i < n; i++) {
        fill(rows[i + 1], i, &s);
        total_ms += s.time_ms, gflop += s.gflop;
    }
    if (is_terminal(stdout) && !o->table)
        print_fitting(rows, n, o->time);
    else
        for (i = 0; i <= n; i++)
            print_wide((const char(*)[CELL])rows[i], o->time);
    printf("\n%u step%s, %.3f GFLOP", n, vt_plural(n), gflop);
    if (o->time)
        printf(", %.2f ms", total_ms);
    putchar('\n');
    free(rows);
    return EXIT_OK;
}

static void print_json_steps(const plan *o, const vitcl_session *session)
{
    vt_step_info s;

    for (uint32_t i = 0; vt_session_step(&s, session, i); i++)
        print_json(i, &s, o->time);
}

static void print_memory(const vitcl_session *session, bool table)
{
    const vt_session_info m = vt_session_describe(session);
    char activations[BYTES_TEXT], arena[BYTES_TEXT], weights[BYTES_TEXT];
    char text[4 * CELL];

    bytes_text(activations, (double)m.activation_bytes);
    bytes_text(arena, (double)m.arena_bytes);
    bytes_text(weights, (double)m.weights_bytes);
    snprintf(
        text, sizeof text,
        "activations %s (an arena of %s), weights %s, %u launches, GEMM %s, "
        "%s",
        activations, arena, weights, m.launches, m.gemm, m.precision);
    put_wrapped(text, 0, 2, table ? INT_MAX : terminal_columns());
}

static int run_once(vitcl_session *session)
{
    uint32_t height, width;
    uint8_t *rgb;
    size_t bytes;
    vitcl_status st;

    vitcl_session_size(&height, &width, session);
    bytes = (size_t)vt_session_batch(session) * height * width * 3;
    rgb = calloc(bytes, 1);
    if (!rgb)
        return fail("out of memory");
    st = vitcl_session_run_rgb(session, rgb, vt_session_batch(session));
    if (st == VITCL_OK) /* the first run may still warm caches */
        st = vitcl_session_run_rgb(session, rgb, vt_session_batch(session));
    free(rgb);
    return code_of(st);
}

static int write_trace(const plan *o, vitcl_device *device,
                       const vitcl_session *session)
{
    vitcl_device_info info = {.size = sizeof info};

    RET(vitcl_device_describe(&info, device));
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

    (void)operands;
    if (o->kernels && place_folder(o->kernels) != EXIT_OK)
        return EXIT_FAILED;
    TRY(open_model(&device, &model, &o->common));
    TRY(keep_open(&keep, &o->keep));
    TRY(open_session(&session, device, model, &o->common, keep.item, o->time));
    TRY(keep_check(&keep, &o->keep, session));
    if (o->time)
        TRY(run_once(session));
    if (o->trace)
        TRY(write_trace(o, device, session));
    if (o->kernels)
        TRY(vt_device_save_kernels(device, o->kernels));
    guard_end(); /* do not restart after printing */
    if (o->json) {
        print_json_steps(o, session);
    } else {
        TRY(print_steps(o, session));
        print_memory(session, o->table);
    }
done:
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
    "it), shape, work, memory, and the kernel that was chosen for this device.",
    options,
    sizeof(plan),
    run};
