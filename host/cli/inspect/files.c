/*
 * files.c - the folder that `vitcl inspect` writes, and its index.
 *
 * The index is written while pictures are looked at, so memory does not grow
 * with their number, and gets its name at the end.
 */
#include "api/program.h"
#include "base/file.h"
#include "base/json_print.h"
#include "base/utf8.h"
#include "inspect.h"
#include "inspect/report.h"
#include "parts/partition.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* With more numbers, JSON refers to the .safetensors. */
enum { VALUES_MOST = 65536 };

static int too_long(const char *name)
{
    return fail("%s: the path is too long", name);
}

void inspect_say(const char *path)
{
    put_text(path, SIZE_MAX);
    putchar('\n');
}

static bool join(char out[INSPECT_PATH], const char *root, const char *name)
{
    const int n = snprintf(out, INSPECT_PATH, "%s/%s", root, name);

    return n >= 0 && n < INSPECT_PATH;
}

bool inspect_path(char out[INSPECT_PATH], const inspect_files *f,
                  const char *name, const char *ending)
{
    const int n = snprintf(out, INSPECT_PATH, "%s/%s/%s.%s", f->root, f->folder,
                           name, ending);

    if (n >= 0 && n < INSPECT_PATH)
        return true;
    too_long(f->folder);
    return false;
}

int inspect_open(inspect_files *f, const char *root)
{
    *f = (inspect_files){.root = root};
    if (vt_figure_ready() != VITCL_OK)
        return failed();
    if (mkdir(root, 0777) == 0)
        return EXIT_OK;
    f->root = NULL;
    return errno == EEXIST
               ? fail("%s exists already; name a new folder", root)
               : fail("%s: cannot make the folder: %s", root, strerror(errno));
}

/* ---- the index ---- */

static int index_begin(inspect_files *f)
{
    char path[INSPECT_PATH];

    if (f->index.f)
        return EXIT_OK;
    if (!join(path, f->root, "inspect.json"))
        return too_long(f->root);
    if (vt_part_open(&f->part, path) != VITCL_OK)
        return failed();
    f->index = (vt_json_writer){.f = vt_part_stream(f->part), .spaced = true};
    vt_json_put(&f->index, "{version:1\npictures:[");
    return EXIT_OK;
}

static void index_figure(vt_json_writer *w, const inspect_files *f,
                         const inspect_figure *g)
{
    const char *const folder = f->folder, *const kind = g->kind;

    vt_json_put(w,
                "\n  {figure:%s title:%s\n   alt:%s\n   caption:%s"
                " png:'%s/%s.png' svg:'%s/%s.svg'"
                " tensors:'%s/%s.safetensors' numbers:'%s/%s.json'}",
                kind, g->title, g->alt, g->caption, folder, kind, folder, kind,
                folder, kind, folder, kind);
}

/* Adds to a JSON list in memory, which the index has after all pictures. */
static int append(char **list, const inspect_files *f, const inspect_figure *g,
                  const char *kind, const char *why)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    vt_json_writer w = {
        .f = out, .spaced = true, .more = *list != NULL, .depth = 1};

    if (!out)
        return fail("out of memory");
    if (*list)
        fputs(*list, out);
    if (g)
        index_figure(&w, f, g);
    else if (kind && why)
        vt_json_put(&w, "\n  {figure:%s why:%s}", kind, why);
    if (fclose(out) != 0) {
        free(text);
        return fail("out of memory");
    }
    free(*list);
    *list = text;
    return EXIT_OK;
}

int inspect_left_out(inspect_files *f, const char *kind, const char *why)
{
    note("%s: %s", kind, why);
    return append(&f->left_out, f, NULL, kind, why);
}

static void end_picture(inspect_files *f)
{
    if (f->index.f && f->pictures && !f->in_model)
        vt_json_put(&f->index, "]}");
}

/* ---- folders ---- */

/* ROOT/NAME, or the first of NAME.1, NAME.2 and so on that is free. Of a name,
 * what fits into that of a folder, without bytes that JSON cannot express. */
static int make_folder(inspect_files *f, const char *name)
{
    enum { NUMBER = sizeof ".999999" - 1 };
    const size_t room = strlen(name) + 16;
    char path[INSPECT_PATH], *folder = malloc(room);
    unsigned number =
        strcmp(name, "inspect.json") == 0 || strcmp(name, "report.html") == 0;
    int made;

    if (!folder)
        return fail("out of memory");
    free(f->folder);
    f->folder = folder;
    do {
        snprintf(folder, room, number ? "%.*s.%u" : "%.*s",
                 (int)vt_utf8_cut(name, NAME_MAX - (number ? NUMBER : 0)), name,
                 number);
        make_text(folder);
        number++;
        if (!join(path, f->root, folder))
            return too_long(name);
        made = mkdir(path, 0777);
    } while (made != 0 && errno == EEXIST && number < 1000000);
    return made == 0
               ? EXIT_OK
               : fail("%s: cannot make the folder: %s", path, strerror(errno));
}

int inspect_of_model(inspect_files *f)
{
    char path[INSPECT_PATH];
    struct stat st;

    if (index_begin(f) != EXIT_OK)
        return EXIT_FAILED;
    end_picture(f);
    f->in_model = true;
    if (!join(path, f->root, "model"))
        return too_long(f->root);
    if (lstat(path, &st) != 0)
        return make_folder(f, "model");
    free(f->folder);
    f->folder = strdup("model");
    return f->folder ? EXIT_OK : fail("out of memory");
}

int inspect_of_picture(inspect_files *f, const char *path,
                       const vitcl_model *model, const vitcl_class *top,
                       uint32_t count)
{
    const char *name = vt_path_name(path);
    vt_json_writer *w = &f->index;

    if (strcmp(name, "-") == 0 || !*name)
        name = "stdin";
    if (index_begin(f) != EXIT_OK || make_folder(f, name) != EXIT_OK)
        return EXIT_FAILED;
    end_picture(f);
    f->in_model = false;
    f->pictures++;
    vt_json_put(w, "\n {");
    vt_json_put_path(w, "picture", "path_bytes", path);
    vt_json_put(w, "folder:%s classes:[", f->folder);
    for (uint32_t i = 0; i < count; i++)
        vt_json_put(w, "{index:%u label:%s name:%s %s:%.9g}", top[i].label,
                    vitcl_class_label(model, top[i].label),
                    vitcl_class_name(model, top[i].label),
                    vitcl_model_answer(model) == VITCL_NUMBERS ? "number"
                                                               : "probability",
                    (double)top[i].probability);
    vt_json_put(w, "]\n  figures:[");
    return EXIT_OK;
}

/* ---- figures ---- */

static size_t elements(const vitcl_shape *s)
{
    size_t n = 1;

    for (uint32_t i = 0; i < s->rank; i++)
        n *= (size_t)s->shape[i];
    return n;
}

static int write_tensor(const inspect_figure *g, const char *path)
{
    const size_t n = elements(g->shape);
    float *values = malloc((n ? n : 1) * sizeof *values);
    int code;

    if (!values)
        return fail("out of memory");
    for (size_t i = 0; i < n; i++)
        values[i] = (float)g->value[i];
    code = code_of(
        vt_tensors_write(path, g->shape, (const float *const[]){values}, 1));
    free(values);
    return code;
}

static int write_numbers(const inspect_figure *g, const char *path)
{
    const size_t n = elements(g->shape);
    double least = INFINITY, most = -INFINITY;
    vt_part *part = NULL;
    vt_json_writer w = {.spaced = true};
    int code;

    if (vt_part_open(&part, path) != VITCL_OK)
        return failed();
    w.f = vt_part_stream(part);
    for (size_t i = 0; i < n; i++) {
        least = fmin(least, g->value[i]);
        most = fmax(most, g->value[i]);
    }
    vt_json_put(&w, "{name:%s unit:%s shape:[", g->shape->name, g->unit);
    for (uint32_t i = 0; i < g->shape->rank; i++)
        vt_json_put(&w, "%llu", (unsigned long long)g->shape->shape[i]);
    vt_json_put(&w, "] least:%.9g most:%.9g\n values:", least, most);
    vt_json_put(&w, n <= VALUES_MOST ? "[" : "null}\n");
    for (size_t i = 0; n <= VALUES_MOST && i < n; i++)
        vt_json_put(&w, i && i % 8 == 0 ? "\n  %.9g" : "%.9g", g->value[i]);
    if (n <= VALUES_MOST)
        vt_json_put(&w, "]}\n");
    code = code_of(vt_part_commit(part));
    vt_part_free(part);
    return code;
}

static int write_as(inspect_files *f, const inspect_figure *g,
                    const char *ending)
{
    char path[INSPECT_PATH];

    if (!inspect_path(path, f, g->kind, ending))
        return EXIT_FAILED;
    if (strcmp(ending, "safetensors") == 0)
        return write_tensor(g, path);
    if (strcmp(ending, "json") == 0)
        return write_numbers(g, path);
    RET(g->sheet ? vt_contact_sheet_write(g->sheet, path)
                 : vt_figure_write(g->chart, path));
    if (strcmp(ending, "png") == 0)
        inspect_say(path);
    return EXIT_OK;
}

int inspect_write(inspect_files *f, const inspect_figure *g)
{
    static const char *const endings[] = {"safetensors", "json", "svg", "png"};

    for (size_t i = 0; i < 4; i++)
        RET(write_as(f, g, endings[i]));
    if (f->in_model)
        RET(append(&f->model, f, g, NULL, NULL));
    else
        index_figure(&f->index, f, g);
    return flush_results();
}

/* ---- the end ---- */

int inspect_finish(inspect_files *f, const vitcl_model_info *m, uint32_t height,
                   uint32_t width, const int grid[3])
{
    char path[INSPECT_PATH];
    vt_json_writer *w = &f->index;

    if (index_begin(f) != EXIT_OK)
        return EXIT_FAILED;
    end_picture(f);
    vt_json_put(w, "]\nfigures:[");
    fputs(f->model ? f->model : "", w->f);
    vt_json_put(w, "]\nleft_out:[");
    fputs(f->left_out ? f->left_out : "", w->f);
    vt_json_put(w,
                "]\nmodel:{name:%s family:%s layers:%u heads:%u width:%u "
                "patch:%u\n picture_height:%u picture_width:%u tokens:%u "
                "prefix:%d rows:%d columns:%d}}\n",
                m->name, m->family, m->layers, m->heads, m->width, m->patch,
                height, width, m->tokens, grid[0], grid[1], grid[2]);
    w->f = NULL;
    if (vt_part_commit(f->part) != VITCL_OK)
        return failed();
    join(path, f->root, "inspect.json");
    inspect_say(path);
    return flush_results();
}

void inspect_close(inspect_files *f)
{
    char path[INSPECT_PATH];

    vt_part_free(f->part);
    if (f->root && f->folder && join(path, f->root, f->folder))
        (void)rmdir(path); /* if nothing was written */
    if (f->root)
        (void)rmdir(f->root);
    free(f->folder);
    free(f->model);
    free(f->left_out);
}

int inspect_report(const char *folder)
{
    char path[INSPECT_PATH];

    if (vt_inspect_report(folder) != VITCL_OK)
        return failed();
    if (join(path, folder, "report.html"))
        inspect_say(path);
    return flush_results();
}

bool inspect_grid(vt_patch_grid *out, const vitcl_model_info *m)
{
    if (!m->layers || !m->heads || !m->rows ||
        m->tokens < m->rows * m->columns || m->layers > INSPECT_LAYERS)
        return false;
    *out = (vt_patch_grid){.prefix = (int)(m->tokens - m->rows * m->columns),
                           .rows = (int)m->rows,
                           .columns = (int)m->columns,
                           .height_px = m->patch,
                           .width_px = m->patch,
                           .read_first = (int)m->read_first,
                           .read_count = (int)m->read_count};
    return true;
}

const char *inspect_read(const vt_patch_grid *grid)
{
    return grid->read_first == grid->prefix ? "all patches"
           : grid->read_count == 1          ? "the class token"
           : grid->read_count == grid->prefix + grid->rows * grid->columns
               ? "all tokens"
               : "the class and distillation tokens";
}

bool inspect_axial(const vitcl_model_info *m)
{
    return strcmp(m->family, "axial") == 0;
}

float *inspect_room(const vitcl_model_info *m)
{
    return calloc((size_t)m->heads * m->tokens * m->tokens, sizeof(float));
}

const float *inspect_layer(float *room, const vitcl_tensor_info *t,
                           const float *probs, const vitcl_model_info *m,
                           const vt_patch_grid *grid, uint32_t layer)
{
    const bool axial = inspect_axial(m), by_column = layer % 2 == 1;
    const uint32_t n = !axial      ? m->tokens
                       : by_column ? (uint32_t)grid->rows
                                   : (uint32_t)grid->columns;

    if (t->rank != 4 || t->shape[1] != m->tokens / n * m->heads ||
        t->shape[2] != n || t->shape[3] != n)
        return NULL;
    if (!axial)
        return probs;
    vt_attention_of_lines(room, probs, (int)m->heads, grid->rows, grid->columns,
                          by_column);
    return room;
}
