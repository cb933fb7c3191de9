/*
 * cmd_classify.c - classifies pictures.
 *
 * Results are in input order, including failures. In a pipe there is one line
 * per class: picture, rank, label, name, probability, separated by tabs.
 */
#include "cmd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct classify {
    model_options common;
    uint32_t k;
    bool json, nul;
    const char *logits;
} classify;

static const opt options[] = {
    OPT_MODEL(classify),
    {'k', "top", OPT_COUNT, "N", "classes a picture (default 5)",
     offsetof(classify, k)},
    OPT_DEVICE(classify),
    OPT_BATCH(classify, "pictures at a time (default: 8 on a CPU, 32 on a GPU, "
                        "fewer for few)"),
    OPT_SIDES(classify),
    OPT_RUN(classify),
    {0, "json", OPT_FLAG, NULL, "one JSON object a line",
     offsetof(classify, json)},
    {0, "logits", OPT_FILE, "FILE.npy|FILE.safetensors",
     "also write logits [pictures, classes]", offsetof(classify, logits)},
    {'0', "null", OPT_FLAG, NULL, "paths on stdin end with NUL, not newline",
     offsetof(classify, nul)},
    OPT_DONE};

typedef struct work {
    const classify *o;
    vitcl_device *device;
    vitcl_model *model;
    vitcl_session *session;
    vitcl_rows *rows;
    picture_batches *batches;
    uint32_t classes, k;
    float *logits; /* of a batch, then a row of NaN */
    vitcl_class *top;
    progress progress;
    bool pretty;
} work;

/* ---- printing ---- */

static void print_json(const work *w, const answer *a)
{
    printf("{\"picture\":");
    json_string(a->path);
    if (a->error) {
        printf(",\"error\":");
        json_string(a->error);
        printf("}\n");
        return;
    }
    printf(",\"top\":[");
    for (uint32_t i = 0; i < w->k; i++) {
        printf("%s{\"index\":%u,\"label\":", i ? "," : "", w->top[i].label);
        json_string(vitcl_model_label(w->model, w->top[i].label));
        printf(",\"name\":");
        json_string(vitcl_model_name(w->model, w->top[i].label));
        printf(",\"probability\":");
        json_number((double)w->top[i].probability);
        printf("}");
    }
    printf("]}\n");
}

static void print_tsv(const work *w, const answer *a)
{
    for (uint32_t i = 0; i < w->k; i++) {
        const char *label = vitcl_model_label(w->model, w->top[i].label);

        tsv_text(a->path);
        printf("\t%u\t", i + 1);
        if (label)
            tsv_text(label);
        else
            printf("%u", w->top[i].label);
        printf("\t");
        tsv_text(vitcl_model_name(w->model, w->top[i].label));
        printf("\t%.6f\n", (double)w->top[i].probability);
    }
}

static void print_class(const work *w, const vitcl_class *c, bool brief)
{
    const char *name = vitcl_model_name(w->model, c->label);

    if (!name)
        name = vitcl_model_label(w->model, c->label);
    if (name)
        put_text(name, brief ? strcspn(name, ",") : SIZE_MAX);
    else
        printf("class %u", c->label);
    printf(c->probability < 0.0095f ? " %.1f %%" : " %.0f %%",
           100 * (double)c->probability);
}

/* The best class on one line, the other relevant ones on the next. */
static void print_pretty(const work *w, const answer *a)
{
    printf("\033[1m");
    tsv_text(a->path);
    printf("\033[0m  ");
    print_class(w, &w->top[0], false);
    for (uint32_t i = 1; i < w->k && w->top[i].probability >= 0.001f; i++) {
        printf("%s", i == 1 ? "\n    or " : ", ");
        print_class(w, &w->top[i], true);
    }
    printf("\n");
}

static int print_answer(work *w, const answer *given)
{
    const float *logits =
        w->logits + (size_t)(given->error ? 0 : given->row) * w->classes;
    const float *nan_row =
        w->logits + (size_t)vitcl_session_batch(w->session) * w->classes;
    const answer judged = batches_judge(w->batches, given, logits, w->classes,
                                        w->session, "logits"),
                 *a = &judged;

    if (a->error)
        say_failure(a);
    else
        vitcl_top(w->top, w->k, logits, w->classes);
    if (w->o->json)
        print_json(w, a);
    else if (!a->error && w->pretty)
        print_pretty(w, a);
    else if (!a->error)
        print_tsv(w, a);
    if (w->rows &&
        vitcl_rows_add(w->rows, a->error ? nan_row : logits, 1) != VITCL_OK)
        return failed();
    return EXIT_OK;
}

/* ---- running ---- */

static int prepare(work *w, const words *operands)
{
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
    code = open_session(&w->session, w->device, w->model, &common, NULL, 0);
    if (code != EXIT_OK)
        return code;
    w->classes = vitcl_session_classes(w->session);
    if (!w->classes)
        return fail("this model has no classifier; `vitcl embed` writes its "
                    "features");
    w->k = w->o->k ? w->o->k : 5;
    w->k = w->k < w->classes ? w->k : w->classes;
    batch = vitcl_session_batch(w->session);
    w->top = calloc(w->k, sizeof *w->top);
    w->logits = malloc((batch + 1) * (size_t)w->classes * sizeof(float));
    if (!w->top || !w->logits)
        return fail("out of memory");
    for (uint32_t i = 0; i < w->classes; i++)
        w->logits[(size_t)batch * w->classes + i] = NAN;
    return batches_start(w->batches, w->session);
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
        if (good &&
            (vitcl_run_rgb(w->session, rgb, good) != VITCL_OK ||
             vitcl_session_read(w->logits, (size_t)good * w->classes,
                                w->session, "logits", good) != VITCL_OK))
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
    const classify *o = into;
    work w = {.o = o, .pretty = is_terminal(stdout)};
    int code;

    if (!operands->count)
        return usage("no pictures given; name files or folders, or - for a "
                     "list on standard input");
    code = prepare(&w, operands);
    if (code == EXIT_OK && o->logits) {
        vitcl_shape row = {.name = "logits", .rank = 1, .shape = {w.classes}};
        if (vitcl_rows_open(&w.rows, o->logits, &row) != VITCL_OK)
            code = failed();
    }
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
    free(w.top);
    free(w.logits);
    vitcl_session_free(w.session);
    vitcl_model_free(w.model);
    vitcl_device_free(w.device);
    return code;
}

const command cmd_classify = {
    "classify",
    "PICTURE|FOLDER|-...",
    "Name what pictures show",
    "Folders are read in sorted order; - reads a list of paths from standard "
    "input.\nIn a pipe each class is a line: picture, rank, label, name, "
    "probability, separated\nby tabs. A picture that cannot be read is "
    "reported on stderr (its row of\n--logits is NaN), the others are "
    "answered, and the exit status is 1.",
    options,
    sizeof(classify),
    run};
