/*
 * cmd_inspect.c - shows what a model looks at: attention rollout over each
 * picture, and the mean attention distance of each head.
 *
 * A layer's probabilities are shown during the run and not kept, so memory
 * holds those of one layer.
 */
#include "cmd.h"

#include "inspect/attention.h"
#include "plot/figure.h"
#include "plot/map.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct inspect {
    model_options common;
    const char *output, *heads;
    double residual, discard;
    picture_options pictures;
} inspect;

static const opt options[] = {
    OPT_MODEL(inspect),
    {'o', "output", OPT_TEXT, "DIR", "folder to write to; it is made",
     offsetof(inspect, output)},
    {0, "heads", OPT_CHOICE, "mean|max|min",
     "how a layer's heads become one in the rollout (default mean)",
     offsetof(inspect, heads)},
    {0, "residual", OPT_REAL, "R",
     "weight of the residual connection in the rollout (default 0.5)",
     offsetof(inspect, residual)},
    {0, "discard", OPT_REAL, "R",
     "share of a layer's smallest attention that the rollout leaves out",
     offsetof(inspect, discard)},
    OPT_DEVICE(inspect),
    OPT_SIDES(inspect),
    OPT_RUN(inspect),
    {0, "no-recursive", OPT_FLAG, NULL,
     "read only the named folders, not those in them",
     offsetof(inspect, pictures.flat)},
    {'0', "null", OPT_FLAG, NULL, "paths on stdin end with NUL, not newline",
     offsetof(inspect, pictures.nul)},
    OPT_DONE};

enum { MOST_LAYERS = 256, MOST_PATH = 4096 };

typedef struct work {
    const inspect *o;
    vitcl_device *device;
    vitcl_model *model;
    vitcl_session *session;
    picture_batches *batches;
    vitcl_model_info info;
    vt_patch_grid grid;
    uint32_t height, width, tokens;
    /* of the picture that runs */
    vt_rollout *rollout;
    int layer;
    bool broken;
    double *row, *one; /* [tokens] */
    /* over all pictures: sums, [layers, heads] */
    double *distance, *head;
    uint32_t heads, pictures;
} work;

/* ---- numbers ---- */

/* Patches have `patch` pixels a side; all other tokens come before them. */
static int find_grid(work *w)
{
    const uint32_t p = w->info.patch, columns = p ? w->width / p : 0,
                   rows = p ? w->height / p : 0;

    if (!w->info.layers || !w->info.heads || !rows || !columns ||
        w->info.tokens < rows * columns || w->info.layers > MOST_LAYERS)
        return fail("%s has no attention over patches", w->info.name);
    w->tokens = w->info.tokens;
    w->grid = (vt_patch_grid){.prefix = (int)(w->tokens - rows * columns),
                              .rows = (int)rows,
                              .columns = (int)columns,
                              .height_px = p,
                              .width_px = p};
    return EXIT_OK;
}

static int allocate(work *w)
{
    static const char *const names[] = {"mean", "max", "min"};
    static const vt_fuse fuses[] = {VT_FUSE_MEAN, VT_FUSE_MAX, VT_FUSE_MIN};
    vt_rollout_options o = {.residual =
                                w->o->residual > 0 ? w->o->residual : 0.5,
                            .discard = w->o->discard};

    for (size_t i = 0; w->o->heads && i < 3; i++)
        if (strcmp(w->o->heads, names[i]) == 0)
            o.heads = fuses[i];
    w->heads = w->info.heads;
    if (vt_rollout_new(&w->rollout, (int)w->info.layers, (int)w->tokens, &o) !=
        VITCL_OK)
        return failed();
    w->row = calloc(w->tokens, sizeof *w->row);
    w->one = calloc(w->tokens, sizeof *w->one);
    w->head = calloc(w->heads, sizeof *w->head);
    w->distance =
        calloc((size_t)w->info.layers * w->heads, sizeof *w->distance);
    return w->row && w->one && w->head && w->distance ? EXIT_OK
                                                      : fail("out of memory");
}

/* A vitcl_watcher: the next layer's probabilities [1, heads, T, T]. */
static int see(void *context, const vitcl_tensor_info *t, const float *probs)
{
    work *w = context;

    if (!w->rollout) /* the session tries itself */
        return 0;
    if (t->rank != 4 || t->shape[1] != w->heads || t->shape[2] != w->tokens ||
        t->shape[3] != w->tokens || w->layer >= (int)w->info.layers ||
        vt_rollout_add(w->rollout, probs, (int)w->heads) != VITCL_OK) {
        w->broken = true;
        return 1;
    }
    vt_attention_distance(w->head, probs, (int)w->heads, &w->grid);
    for (uint32_t h = 0; h < w->heads; h++)
        w->distance[(size_t)w->layer * w->heads + h] += w->head[h];
    w->layer++;
    return 0;
}

/* What the answer is read from: the class token, or the mean of all patches. */
static void roll_out(work *w)
{
    const int n = w->grid.rows * w->grid.columns;

    memset(w->row, 0, w->tokens * sizeof *w->row);
    if (w->grid.prefix) {
        vt_rollout_row(w->row, w->rollout, 0);
        return;
    }
    for (int q = 0; q < n; q++) {
        vt_rollout_row(w->one, w->rollout, q);
        for (uint32_t i = 0; i < w->tokens; i++)
            w->row[i] += w->one[i] / n;
    }
}

/* ---- files ---- */

/* DIR/NAME.ENDING; `number` keeps equal names apart, and 0 adds nothing. */
static int path_to(char out[MOST_PATH], const work *w, const char *name,
                   unsigned number, const char *ending)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    const int n = number ? snprintf(out, MOST_PATH, "%s/%s.%u.%s", w->o->output,
                                    base, number, ending)
                         : snprintf(out, MOST_PATH, "%s/%s.%s", w->o->output,
                                    base, ending);

    return n < MOST_PATH ? EXIT_OK : fail("%s: the path is too long", name);
}

static bool exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

static int write_rollout(work *w, const char *name, const uint8_t *rgb)
{
    const size_t n = (size_t)w->grid.rows * (size_t)w->grid.columns;
    const double *patches = w->row + w->grid.prefix;
    const vt_map map = {.rgb = rgb,
                        .width = (int)w->width,
                        .height = (int)w->height,
                        .value = patches,
                        .rows = w->grid.rows,
                        .columns = w->grid.columns,
                        .label = "attention rollout: share of each patch"};
    const vitcl_shape shape = {
        .name = "rollout",
        .rank = 2,
        .shape = {(uint64_t)w->grid.rows, (uint64_t)w->grid.columns}};
    char path[MOST_PATH];
    unsigned number = 0;
    float *values;
    int code;

    do /* pictures of several folders may have one name */
        code = path_to(path, w, name, number++, "rollout.png");
    while (code == EXIT_OK && exists(path));
    if (code != EXIT_OK)
        return code;
    if (vt_map_write(&map, path) != VITCL_OK)
        return failed();
    printf("%s\n", path);
    code = path_to(path, w, name, number - 1, "rollout.safetensors");
    values = calloc(n, sizeof *values);
    if (!values)
        return fail("out of memory");
    for (size_t i = 0; i < n; i++)
        values[i] = (float)patches[i];
    if (code == EXIT_OK &&
        vitcl_tensors_write(path, &shape, (const float *const[]){values}, 1) !=
            VITCL_OK)
        code = failed();
    free(values);
    return code == EXIT_OK ? flush_results() : code;
}

/* A line a head, so that it can be sorted and plotted by other tools. */
static int write_table(const work *w)
{
    char path[MOST_PATH];
    FILE *f;
    int code = path_to(path, w, "attention-distance", 0, "tsv");

    if (code != EXIT_OK)
        return code;
    f = fopen(path, "wx");
    if (!f)
        return fail("%s: %s", path, strerror(errno));
    fprintf(f, "layer\thead\tpixels\n");
    for (uint32_t l = 0; l < w->info.layers; l++)
        for (uint32_t h = 0; h < w->heads; h++)
            fprintf(f, "%u\t%u\t%.6g\n", l, h,
                    w->distance[(size_t)l * w->heads + h]);
    code = ferror(f) ? EXIT_FAILED : EXIT_OK;
    if (fclose(f) != 0 || code != EXIT_OK) {
        code = fail("%s: cannot write: %s", path, strerror(errno));
        remove(path);
        return code;
    }
    printf("%s\n", path);
    return EXIT_OK;
}

enum { NEAR, MEAN, FAR, LINES };

static int draw_distance(const work *w)
{
    static const char *const names[] = {"nearest head", "mean of the heads",
                                        "farthest head"};
    double x[MOST_LAYERS], y[LINES][MOST_LAYERS];
    vt_series series[LINES];
    const vt_figure figure = {
        .x = {.label = "layer", .from = NAN, .to = NAN, .whole = true},
        .left = {.label = "mean attention distance (pixels)",
                 .from = 0,
                 .to = NAN},
        .right = {.from = NAN, .to = NAN},
        .series = series,
        .count = LINES};
    static const char *const endings[] = {"png", "svg"};
    char path[MOST_PATH];
    int code = EXIT_OK;

    for (uint32_t l = 0; l < w->info.layers; l++) {
        const double *d = w->distance + (size_t)l * w->heads;

        x[l] = l;
        y[NEAR][l] = y[FAR][l] = d[0];
        y[MEAN][l] = 0;
        for (uint32_t h = 0; h < w->heads; h++) {
            y[NEAR][l] = fmin(y[NEAR][l], d[h]);
            y[FAR][l] = fmax(y[FAR][l], d[h]);
            y[MEAN][l] += d[h] / w->heads;
        }
    }
    for (int i = 0; i < LINES; i++) /* the farthest is drawn at the top */
        series[i] = (vt_series){.name = names[LINES - 1 - i],
                                .x = x,
                                .y = y[LINES - 1 - i],
                                .count = w->info.layers,
                                .dots = true};
    for (size_t i = 0; code == EXIT_OK && i < 2; i++) {
        code = path_to(path, w, "attention-distance", 0, endings[i]);
        if (code == EXIT_OK && vt_figure_write(&figure, path) != VITCL_OK)
            code = failed();
        if (code == EXIT_OK)
            printf("%s\n", path);
    }
    return code;
}

static int write_distance(work *w)
{
    int code;

    for (size_t i = 0; i < (size_t)w->info.layers * w->heads; i++)
        w->distance[i] /= w->pictures;
    code = write_table(w);
    return code == EXIT_OK ? draw_distance(w) : code;
}

/* ---- running ---- */

static int open_all(work *w, const words *operands)
{
    static const char *const attention[] = {"attention.*", NULL};
    vitcl_session_options session;
    int code = open_model(&w->device, &w->model, &w->o->common);

    if (code != EXIT_OK)
        return code;
    session = session_options(&w->o->common);
    session.batch = 1;
    session.watch = attention;
    session.watcher = see;
    session.watcher_context = w;
    code = start_session(&w->session, w->device, w->model, &session);
    if (code != EXIT_OK)
        return code;
    vitcl_session_size(w->session, &w->height, &w->width);
    w->info.size = sizeof w->info;
    if (vitcl_model_describe(&w->info, w->model, w->height, w->width, 1) !=
        VITCL_OK)
        return failed();
    code = find_grid(w);
    if (code == EXIT_OK)
        code = allocate(w);
    w->batches =
        code == EXIT_OK ? batches_open(operands, &w->o->pictures) : NULL;
    if (code == EXIT_OK)
        code = w->batches ? batches_start(w->batches, w->session) : EXIT_FAILED;
    return code;
}

static int look_at(work *w, const answer *a, const uint8_t *rgb)
{
    answer bad = *a;
    vitcl_status st;

    if (a->error) {
        say_failure(a);
        return EXIT_OK;
    }
    vt_rollout_clear(w->rollout);
    w->layer = 0;
    st = vitcl_run_rgb(w->session, rgb, 1);
    if (w->broken || (st == VITCL_OK && w->layer != (int)w->info.layers))
        return fail("%s: its attention is not over a grid of patches",
                    w->info.name);
    if (st != VITCL_OK)
        return failed();
    roll_out(w);
    for (uint32_t i = 0; i < w->tokens; i++)
        if (!isfinite(w->row[i])) {
            bad.error = "the attention is not finite";
            say_failure(&bad);
            return EXIT_FAILED;
        }
    w->pictures++;
    return write_rollout(w, a->path, rgb);
}

static int look_at_all(work *w, const words *operands)
{
    const answer *found;
    const uint8_t *rgb;
    uint32_t n, good;
    uint64_t done = 0;
    progress bar;
    int code = EXIT_OK;

    catch_stop();
    say_model(&w->o->common);
    progress_start(&bar, "pictures", batches_total(operands, &w->o->pictures));
    while (code == EXIT_OK &&
           (n = batches_next(&found, &rgb, &good, w->batches)) > 0) {
        guard_end();
        progress_clear(&bar);
        for (uint32_t i = 0; i < n && code == EXIT_OK; i++)
            code = look_at(w, &found[i], rgb);
        progress_show(&bar, done += n, NULL);
    }
    progress_clear(&bar);
    if (code == EXIT_OK)
        code = batches_broken(w->batches);
    if (code == EXIT_OK && w->pictures)
        code = write_distance(w);
    if (code == EXIT_OK && batches_cut(w->batches))
        code = EXIT_STOPPED;
    return code == EXIT_OK && batches_failures(w->batches) ? EXIT_FAILED : code;
}

/* Nothing is overwritten: the folder is new. */
static int make_folder(const inspect *o)
{
    if (vt_figure_ready() != VITCL_OK)
        return failed();
    if (mkdir(o->output, 0777) == 0)
        return EXIT_OK;
    return errno == EEXIST
               ? fail("%s exists already; name a new folder", o->output)
               : fail("%s: cannot make the folder: %s", o->output,
                      strerror(errno));
}

static int run(void *into, const words *operands)
{
    const inspect *o = into;
    work w = {.o = o};
    int code;

    if (!operands->count)
        return usage("no pictures given; name files or folders, or - for a "
                     "list on standard input");
    if (!o->output)
        return usage("--output DIR is required");
    if (o->residual >= 1 || o->discard >= 1)
        return usage("--residual and --discard are shares, below 1");
    code = make_folder(o);
    if (code == EXIT_OK)
        code = open_all(&w, operands);
    if (code == EXIT_OK)
        code = look_at_all(&w, operands);
    (void)rmdir(o->output); /* if nothing was written */
    batches_close(w.batches);
    vt_rollout_free(w.rollout);
    free(w.row);
    free(w.one);
    free(w.head);
    free(w.distance);
    vitcl_session_free(w.session);
    vitcl_model_free(w.model);
    vitcl_device_free(w.device);
    return code;
}

const command cmd_inspect = {
    "inspect",
    "PICTURE|FOLDER|-...",
    "Show what a model looks at",
    "For each picture, attention rollout over the photograph (.png) and its "
    "numbers\n(.safetensors). Over all pictures, the mean attention distance "
    "of each head (.tsv)\nand a chart of it (.png, .svg). The names of the "
    "files go to stdout.",
    options,
    sizeof(inspect),
    run};
