/*
 * cmd_devices.c - lists OpenCL platforms and devices: a block of lines for
 * each, a table, or JSON lines.
 */
#include "api/program.h"
#include "base/status.h"
#include "cli/setup/setup.h"

#include <stdlib.h>
#include <string.h>

typedef struct devices {
    bool json, table;
} devices;

static const opt options[] = {
    OPT_ROW(devices, 0, "table", OPT_FLAG, NULL,
            "one line per device, as wide as it needs", table),
    OPT_RULED(devices, 0, "json", OPT_FLAG, NULL, "one JSON object per line",
              json, .not_with = "table"),
    OPT_DONE};

/* The known forms of a CPU's dot-product instructions. */
typedef struct forms {
    char bf16[96], f16[96], int8[96];
} forms;

static bool form_of(char out[96], const vitcl_device *device,
                    vitcl_precision precision)
{
    return vt_device_form(out, 96, device, precision) == VITCL_OK;
}

/* False: the device cannot be opened; prints why. */
static bool find_forms(forms *f, const vitcl_device_info *d)
{
    vitcl_device *device = NULL;
    bool good = true;

    *f = (forms){.bf16 = ""};
    if (d->error[0] || strcmp(d->type, "cpu") != 0)
        return true;
    guard_begin(); /* LLVM in a driver has set its own handlers */
    if (vitcl_device_open(&device, d->id) != VITCL_OK)
        good = failed() == EXIT_OK;
    else if (!form_of(f->bf16, device, VITCL_BF16) ||
             !form_of(f->f16, device, VITCL_F16) ||
             !form_of(f->int8, device, VITCL_INT8))
        *f = (forms){.bf16 = ""};
    vitcl_device_free(device);
    return good;
}

static void note_form(const char *id, const char *precision, const char *form)
{
    if (strchr(form, ';'))
        note("%s: %s by %s", id, precision, form);
}

/* ---- for which models it was the fastest ---- */

/* Of the kept choices, the next of this device from *index on. */
static bool next_choice(vt_device_choice *c, uint32_t *index,
                        const vitcl_device_info *d)
{
    while (vt_device_choice_at(c, (*index)++) == VITCL_OK)
        if (strcmp(c->id, d->id) == 0)
            return true;
    return false;
}

static void json_choices(const vitcl_device_info *d)
{
    vt_device_choice c;
    uint32_t i = 0;

    if (!next_choice(&c, &i, d))
        return;
    json_put("fastest:[");
    do
        json_put("{models:%s times:%s}", c.plans, c.times);
    while (next_choice(&c, &i, d));
    json_put("]");
}

static void print_json(const vitcl_device_info *d, const forms *f)
{
    json_put("{index:%s platform:%s", d->id, d->platform);
    if (d->error[0]) {
        json_put("error:%s}\n", d->error);
        return;
    }
    json_put("name:%s vendor:%s type:%s driver:%s version:%s opencl_c:%s",
             d->name, d->vendor, d->type, d->driver, d->version, d->opencl_c);
    json_put("compute_units:%u clock_mhz:%u memory_bytes:%llu local_bytes:%llu "
             "max_alloc_bytes:%llu",
             d->compute_units, d->clock_mhz,
             (unsigned long long)d->memory_bytes,
             (unsigned long long)d->local_bytes,
             (unsigned long long)d->max_alloc_bytes);
    json_put("fp16:%i fp64:%i subgroups:%i integer_dot:%i "
             "unified_memory:%i gemm:%s",
             d->fp16, d->fp64, d->subgroups, d->integer_dot, d->unified_memory,
             d->gemm);
    if (f->bf16[0])
        json_put("bf16:%s f16:%s int8:%s", f->bf16, f->f16, f->int8);
    json_put("tuned:%u", d->tuned);
    if (d->products[0])
        json_put("products:%s", d->products);
    json_choices(d);
    json_put("}\n");
}

enum { COLUMNS = 17, CELL = 256 };
typedef char row[COLUMNS][CELL];

static const char *const titles[COLUMNS] = {
    "index",  "name",   "vendor",  "type",  "driver", "OpenCL C",
    "units",  "MHz",    "memory",  "local", "fp16",   "fp64",
    "subgr.", "intdot", "unified", "GEMM",  "tuned"};

/* Local memory comes in powers of two. */
static void local_cell(char *cell, const vitcl_device_info *d)
{
    snprintf(cell, CELL, "%llu KiB", (unsigned long long)d->local_bytes / 1024);
}

/* "OpenCL C 1.2 PoCL" without the words around the number */
static void version_cell(char *cell, const vitcl_device_info *d)
{
    const char *version = d->opencl_c;

    if (strncmp(version, "OpenCL C ", 9) == 0)
        version += 9;
    snprintf(cell, CELL, "%.*s", (int)strcspn(version, " "), version);
}

static void fill(row r, const vitcl_device_info *d)
{
    const int flags[] = {d->fp16, d->fp64, d->subgroups, d->integer_dot,
                         d->unified_memory};

    snprintf(r[0], CELL, "%s", d->id);
    snprintf(r[1], CELL, "%s", d->name);
    snprintf(r[2], CELL, "%s", d->vendor);
    snprintf(r[3], CELL, "%s", d->type);
    snprintf(r[4], CELL, "%s", d->driver);
    version_cell(r[5], d);
    snprintf(r[6], CELL, "%u", d->compute_units);
    snprintf(r[7], CELL, "%u", d->clock_mhz);
    bytes_text(r[8], (double)d->memory_bytes);
    local_cell(r[9], d);
    for (int i = 0; i < 5; i++)
        snprintf(r[10 + i], CELL, "%s", flags[i] ? "yes" : "-");
    snprintf(r[15], CELL, "%s", d->gemm);
    snprintf(r[16], CELL, d->tuned ? "%u" : "-", d->tuned);
}

/* A driver that failed has a line with the error instead of cells. */
static int print_table(const vitcl_device_info *list, uint32_t n)
{
    row *rows = calloc(n + 1u, sizeof *rows);
    size_t wide[COLUMNS] = {0};

    if (!rows)
        return fail("out of memory");
    for (int c = 0; c < COLUMNS; c++)
        snprintf(rows[0][c], CELL, "%s", titles[c]);
    for (uint32_t i = 0; i < n; i++)
        if (!list[i].error[0])
            fill(rows[i + 1], &list[i]);
    for (uint32_t i = 0; i <= n; i++)
        for (int c = 0; c < COLUMNS; c++)
            if (strlen(rows[i][c]) > wide[c])
                wide[c] = strlen(rows[i][c]);
    for (uint32_t i = 0; i <= n; i++) {
        if (i && list[i - 1].error[0]) {
            printf("%-*s  %s%s%s\n", (int)wide[0], list[i - 1].id,
                   list[i - 1].platform, list[i - 1].platform[0] ? ": " : "",
                   list[i - 1].error);
            continue;
        }
        for (int c = 0; c < COLUMNS; c++)
            printf("%-*s%s", c == COLUMNS - 1 ? 0 : (int)wide[c], rows[i][c],
                   c == COLUMNS - 1 ? "\n" : "  ");
    }
    free(rows);
    return EXIT_OK;
}

/* ---- a block of lines ---- */

static void line(const char *key, const char *value)
{
    enum { VALUE = 13 };

    if (value[0]) {
        printf("  %-9s  ", key);
        put_wrapped(value, VALUE, VALUE, text_columns());
    }
}

static void print_choices(const vitcl_device_info *d)
{
    vt_device_choice c;
    char text[sizeof c.plans + sizeof c.times + 2];

    for (uint32_t i = 0; next_choice(&c, &i, d);) {
        snprintf(text, sizeof text, "%s: %s", c.plans, c.times);
        line("fastest", text);
    }
}

static void print_block(const vitcl_device_info *d)
{
    const bool has[] = {d->fp16, d->fp64, d->subgroups, d->integer_dot,
                        d->unified_memory};
    static const char *const names[] = {
        "fp16", "fp64", "subgroups", "integer dot products", "unified memory"};
    char text[CELL * 3], cell[CELL], memory[BYTES_TEXT];
    size_t used = 0;

    printf("%s  ", d->id);
    put_wrapped(d->error[0] ? d->platform : d->name, (int)strlen(d->id) + 2,
                (int)strlen(d->id) + 2, text_columns());
    if (d->error[0]) {
        line("error", d->error);
        return;
    }
    line("platform", d->platform);
    line("vendor", d->vendor);
    version_cell(cell, d);
    snprintf(text, sizeof text, "%s, OpenCL C %s", d->driver, cell);
    line("driver", text);
    snprintf(text, sizeof text, "%s, %u compute unit%s at %u MHz", d->type,
             d->compute_units, vt_plural(d->compute_units), d->clock_mhz);
    line("type", text);
    local_cell(cell, d);
    bytes_text(memory, (double)d->memory_bytes);
    snprintf(text, sizeof text, "%s, local %s", memory, cell);
    line("memory", text);
    text[0] = '\0';
    for (size_t i = 0; i < sizeof has / sizeof *has; i++)
        if (has[i])
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                     used ? ", " : "", names[i]);
    line("features", text);
    cell[0] = '\0';
    if (d->tuned)
        snprintf(cell, sizeof cell, ", tuned %u", d->tuned);
#ifdef VT_WITH_CLBLAST
    snprintf(text, sizeof text, "%s%s", d->gemm, cell);
#else
    snprintf(text, sizeof text, "%s%s (built without CLBlast)", d->gemm, cell);
#endif
    line("GEMM", text);
    if (d->products[0]) {
        snprintf(text, sizeof text, "fastest: %s", d->products);
        line("products", text);
    }
    print_choices(d);
}

static void print_blocks(const vitcl_device_info *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            putchar('\n');
        print_block(&list[i]);
    }
}

/* Lists all devices; returns the status that ended the list. */
static vitcl_status find_all(vitcl_device_info **list, uint32_t *n)
{
    vitcl_device_info one = {.size = sizeof one}, *more;
    vitcl_status st;

    while ((st = vitcl_device_at(&one, *n)) == VITCL_OK && *n < 1024) {
        more = realloc(*list, (*n + 1) * sizeof one);
        if (!more)
            return VITCL_ENOMEM;
        *list = more, more[(*n)++] = one;
    }
    return st;
}

static void print_all(const vitcl_device_info *list, const forms *f, uint32_t n,
                      bool json)
{
    bool warned = false;

    for (uint32_t i = 0; i < n; i++) {
        if (list[i].warning[0] && !warned)
            note("%s", list[i].warning);
        warned = warned || list[i].warning[0];
        if (json)
            print_json(&list[i], &f[i]);
        note_form(list[i].id, "bf16", f[i].bf16);
        note_form(list[i].id, "f16", f[i].f16);
        note_form(list[i].id, "int8", f[i].int8);
    }
}

static int run(void *into, const words *operands)
{
    const devices *o = into;
    vitcl_device_info *list = NULL;
    forms *f = NULL;
    uint32_t n = 0, usable = 0;
    int code = EXIT_OK;
    vitcl_status st;

    (void)operands;
    guard_begin();
    st = find_all(&list, &n);
    if (st != VITCL_ENOMEM)
        f = calloc(n + 1u, sizeof *f);
    if (!f || (st != VITCL_OK && (st != VITCL_ENODEVICE || n == 0))) {
        code = f ? failed() : fail("out of memory");
        goto done;
    }
    for (uint32_t i = 0; i < n; i++) {
        usable += !list[i].error[0];
        if (!find_forms(&f[i], &list[i]))
            code = EXIT_FAILED;
    }
    guard_end(); /* do not restart after printing */
    print_all(list, f, n, o->json);
    if (!o->json && !o->table)
        print_blocks(list, n);
    else if (!o->json && n && print_table(list, n) != EXIT_OK)
        code = EXIT_FAILED;
    if (!usable && code == EXIT_OK)
        code = fail("no usable OpenCL device; install a driver, for instance "
                    "pocl-opencl-icd for the CPU");
done:
    free(f);
    free(list);
    return code;
}

const command cmd_devices = {
    "devices",
    "",
    "List OpenCL devices",
    "GEMM is the matrix multiplication that classify uses there; tuned says "
    "how many entries of `vitcl tune` it uses. With several devices, each "
    "model's first run times them, unless one is named; fastest says for which "
    "models a device won, with the times of all. If a driver fails, only its "
    "own entry shows an error. --json also shows the instructions with which a "
    "CPU multiplies in bf16, f16 and int8, if they have been tried; those that "
    "failed or cannot be tried are named on stderr. `-d` of the other commands "
    "and VITCL_DEVICE take the index, part of a name, cpu, gpu or any.",
    options,
    sizeof(devices),
    run};
