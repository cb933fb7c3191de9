/*
 * cmd_embed.c - like classify, but writes features, batch by batch, so that the
 * number of pictures does not matter for memory.
 */
#include "cmd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct embed {
    model_options common;
    const char *output, *what;
    bool normalize, nul;
} embed;

static const opt options[] = {
    OPT_MODEL(embed),
    {'o', "output", OPT_FILE, "FILE.npy|FILE.safetensors",
     "write a file; without it, JSON lines on stdout", offsetof(embed, output)},
    {0, "features", OPT_CHOICE, "pooled|class|tokens",
     "which (default pooled: what the classifier reads)",
     offsetof(embed, what)},
    {0, "normalize", OPT_FLAG, NULL, "divide each vector by its length",
     offsetof(embed, normalize)},
    OPT_DEVICE(embed),
    OPT_BATCH(embed, "pictures at a time (default: 8 on a CPU, 32 on a GPU, "
                     "fewer for few)"),
    OPT_SIDES(embed),
    OPT_RUN(embed),
    {'0', "null", OPT_FLAG, NULL, "paths on stdin end with NUL, not newline",
     offsetof(embed, nul)},
    OPT_DONE};

typedef struct work {
    const embed *o;
    vitcl_device *device;
    vitcl_model *model;
    vitcl_session *session;
    vitcl_rows *rows;
    picture_batches *batches;
    char tensor[64];        /* the one that is read */
    uint32_t tokens, given; /* in that tensor; written (0: rank 1) */
    uint32_t width;
    float *batch, *nan_row;
    progress progress;
} work;

static size_t share(const work *w)
{
    return (size_t)w->tokens * w->width;
}

static size_t row_size(const work *w)
{
    return (size_t)(w->given ? w->given : 1) * w->width;
}

/* ---- which tensor ---- */

/* All tokens after the final norm, under this family's name for them. */
static int find_tokens(work *w)
{
    static const char *const names[] = {"norm", "last_hidden_state"};
    vitcl_tensor_info t = {.size = sizeof t};

    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        for (uint32_t i = 0;
             vitcl_session_tensor(&t, w->session, i) == VITCL_OK; i++)
            if (strcmp(t.name, names[n]) == 0 && t.rank == 3) {
                snprintf(w->tensor, sizeof w->tensor, "%s", t.name);
                w->tokens = t.shape[1], w->width = t.shape[2];
                w->given = strcmp(w->o->what, "tokens") == 0 ? w->tokens : 0;
                return EXIT_OK;
            }
    return fail("this model has no normalised tokens; use --features pooled");
}

static int choose(work *w)
{
    if (w->o->what && strcmp(w->o->what, "pooled") != 0)
        return find_tokens(w);
    snprintf(w->tensor, sizeof w->tensor, "features");
    w->tokens = 1;
    w->width = vitcl_session_features(w->session);
    return w->width ? EXIT_OK : fail("this model yields no features");
}

/* ---- printing ---- */

static void unit(float *v, uint32_t n)
{
    double sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += (double)v[i] * (double)v[i];
    for (uint32_t i = 0; i < n && sum > 0; i++)
        v[i] = (float)((double)v[i] / sqrt(sum));
}

static void print_json(const work *w, const answer *a, const float *v)
{
    printf("{\"picture\":");
    json_string(a->path);
    if (a->error) {
        printf(",\"error\":");
        json_string(a->error);
        printf("}\n");
        return;
    }
    printf(",\"features\":");
    if (w->given)
        printf("[");
    for (size_t i = 0; i < row_size(w); i++) {
        printf("%s", i % w->width ? "," : i ? "],[" : "[");
        json_number((double)v[i]);
    }
    printf(w->given ? "]]}\n" : "]}\n");
}

static int print_answer(work *w, const answer *given)
{
    const float *own = w->batch + (given->error ? 0 : given->row) * share(w);
    const answer judged = batches_judge(w->batches, given, own, row_size(w),
                                        w->session, w->tensor),
                 *a = &judged;
    float *v = a->error ? w->nan_row : w->batch + a->row * share(w);

    if (a->error)
        say_failure(a);
    else if (w->o->normalize)
        for (size_t i = 0; i < row_size(w); i += w->width)
            unit(v + i, w->width);
    if (!w->rows)
        print_json(w, a, v);
    else if (vitcl_rows_add(w->rows, v, 1) != VITCL_OK)
        return failed();
    return EXIT_OK;
}

/* ---- running ---- */

static int prepare(work *w, const words *operands)
{
    static const char *const keep[] = {"norm", "last_hidden_state", NULL};
    const bool inner = w->o->what && strcmp(w->o->what, "pooled") != 0;
    model_options common = w->o->common;
    vitcl_device_info info = {.size = sizeof info};
    uint32_t batch;
    int code = open_model(&w->device, &w->model, &common);

    if (code != EXIT_OK)
        return code;
    if (vitcl_device_describe(&info, w->device) != VITCL_OK)
        return failed();
    w->batches = batches_open(operands, w->o->nul);
    if (!w->batches)
        return EXIT_FAILED;
    batch = batches_batch(w->batches, strcmp(info.type, "cpu") == 0 ? 8 : 32);
    common.batch = common.batch ? common.batch : batch;
    common.once = batches_fits(w->batches, common.batch);
    code = open_session(&w->session, w->device, w->model, &common,
                        inner ? keep : NULL, 0);
    if (code == EXIT_OK)
        code = choose(w);
    if (code != EXIT_OK)
        return code;
    w->batch = malloc(common.batch * share(w) * sizeof(float));
    w->nan_row = malloc(row_size(w) * sizeof(float));
    if (!w->batch || !w->nan_row)
        return fail("out of memory");
    for (size_t i = 0; i < row_size(w); i++)
        w->nan_row[i] = NAN;
    return batches_start(w->batches, w->session);
}

static int open_rows(work *w)
{
    vitcl_shape row = {.name = "features",
                       .rank = w->given ? 2 : 1,
                       .shape = {w->given ? w->given : w->width, w->width}};

    return !w->o->output ||
                   vitcl_rows_open(&w->rows, w->o->output, &row) == VITCL_OK
               ? EXIT_OK
               : failed();
}

static int work_through(work *w)
{
    const answer *answers;
    const uint8_t *rgb;
    uint32_t n, good;
    uint64_t done = 0;
    int code = EXIT_OK;

    while (code == EXIT_OK &&
           (n = batches_next(&answers, &rgb, &good, w->batches)) > 0) {
        if (good && (vitcl_run_rgb(w->session, rgb, good) != VITCL_OK ||
                     vitcl_session_read(w->batch, good * share(w), w->session,
                                        w->tensor, good) != VITCL_OK))
            return failed();
        guard_end(); /* do not restart after printing */
        progress_clear(&w->progress);
        for (uint32_t i = 0; i < n && code == EXIT_OK; i++)
            code = print_answer(w, &answers[i]);
        done += n;
        if (flush_results() != EXIT_OK)
            return EXIT_FAILED;
        progress_show(&w->progress, done, NULL);
    }
    progress_clear(&w->progress);
    return code == EXIT_OK ? batches_broken(w->batches) : code;
}

static int run(void *into, const words *operands)
{
    const embed *o = into;
    work w = {.o = o};
    int code;

    if (!operands->count)
        return usage("no pictures given; name files or folders, or - for a "
                     "list on standard input");
    code = prepare(&w, operands);
    if (code == EXIT_OK)
        code = open_rows(&w);
    if (code == EXIT_OK) {
        catch_stop();
        say_model(&o->common);
        progress_start(&w.progress, "pictures", batches_total(operands));
        code = work_through(&w);
    }
    if (code == EXIT_OK && batches_cut(w.batches))
        code = EXIT_STOPPED;
    if (code == EXIT_OK && w.rows && vitcl_rows_finish(w.rows) != VITCL_OK)
        code = failed();
    if (code == EXIT_OK && batches_failures(w.batches))
        code = EXIT_FAILED;
    vitcl_rows_free(w.rows);
    batches_close(w.batches);
    free(w.batch);
    free(w.nan_row);
    vitcl_session_free(w.session);
    vitcl_model_free(w.model);
    vitcl_device_free(w.device);
    return code;
}

const command cmd_embed = {
    "embed",
    "PICTURE|FOLDER|-...",
    "Write the features of pictures",
    "Tensor `features` has one row for each picture, in input order; the row "
    "of a picture\nthat cannot be read is NaN (in JSON lines it has an "
    "`error`), and the exit\nstatus is 1. class is the class token, tokens "
    "are all tokens, both after the final\nnorm.",
    options,
    sizeof(embed),
    run};
