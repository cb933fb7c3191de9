/*
 * cmd_inspect.c - shows what a model looks at: figures of the model's weights,
 * and of each picture's attention and tokens. A layer's probabilities are shown
 * during the run and not kept, so memory holds those of one layer.
 */
#include "api/program.h"
#include "base/file.h"
#include "cli/inspect/inspect.h"
#include "cli/inspect/together.h"
#include "cli/pictures/pictures.h"
#include "inspect/attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct inspect {
    model_options common;
    const char *output;
    inspect_choices show;
    bool together;
    picture_options pictures;
} inspect;

static const opt options[] = {
    OPT_MODEL(inspect),
    OPT_RULED(inspect, 'o', "output", OPT_TEXT, "DIR",
              "folder to write to; it must be new", output, .unless = ""),
    OPT_ROW(inspect, 0, "layer", OPT_TEXT, "N",
            "layer whose attention is drawn, from 0 (default: the last)",
            show.layer),
    OPT_ROW(inspect, 0, "head", OPT_TEXT, "N",
            "draw only this head's attention, from 0 (default: all)",
            show.head),
    OPT_ROW(
        inspect, 0, "query", OPT_TEXT, "X,Y",
        "draw the attention of the patch at these pixels of the picture as the "
        "model sees it (default: of the tokens that the head reads)",
        show.query),
    OPT_ROW(inspect, 0, "class", OPT_TEXT, "N|top",
            "draw the relevance for this class, by index, or for the best",
            show.class),
    OPT_ROW(inspect, 0, "together", OPT_FLAG, NULL,
            "colour the patch tokens of all pictures by the same components",
            together),
    OPT_ROW(inspect, 0, "heads", OPT_CHOICE, "mean|max|min",
            "how a layer's heads become one in the rollout (default mean)",
            show.heads),
    OPT_ROW(inspect, 0, "residual", OPT_REAL, "R",
            "weight of the residual connection in the rollout (default 0.5)",
            show.residual),
    OPT_ROW(inspect, 0, "discard", OPT_REAL, "R",
            "share of a layer's smallest attention that the rollout leaves out",
            show.discard),
    OPT_DEVICE(inspect),
    OPT_SIDES(inspect),
    OPT_PIXELS(inspect),
    OPT_RUN(inspect),
    OPT_ROW(inspect, 0, "no-recursive", OPT_FLAG, NULL,
            "read only the named folders, not those in them", pictures.flat),
    OPT_FOLLOW(inspect, pictures.follow),
    OPT_ROW(inspect, '0', "null", OPT_FLAG, NULL,
            "paths on stdin end with NUL, not newline", pictures.nul),
    OPT_DONE};

typedef struct work {
    const inspect *o;
    vitcl_device *device;
    vitcl_model *model;
    vitcl_session *session;
    picture_batches *batches;
    vitcl_model_info info;
    inspect_files files;
    vt_patch_grid grid;
    inspect_together all;
    uint32_t height, width, tokens, patches;
    uint32_t drawn, first, count; /* layer, first head and heads to draw */
    int query;                    /* patch, from 0; -1: none was named */
    uint32_t label;               /* class of the relevance ... */
    bool relevance, best;         /* is it drawn? For the best class? */
    char from[64], how[96];       /* in captions */
    char block[32];               /* name of the last block's tensor */
    /* of the picture that runs */
    vt_rollout *rollout;
    int layer;
    bool broken;
    float *dense;      /* [heads, tokens, tokens] of an axial layer, or NULL */
    double *row, *one; /* [tokens] */
    double *maps;      /* [count, patches] */
    float *seen;       /* [patches, info.width]: the last patch tokens */
    char seen_as[32];  /* their tensor; "": none */
    float *logits;     /* [classes], or NULL */
    double *relevant;  /* [tokens] */
    /* over all pictures: sums, [layers, heads] */
    double *distance, *head;
    uint32_t heads, pictures;
} work;

/* ---- numbers ---- */

static int find_grid(work *w)
{
    if (!inspect_grid(&w->grid, &w->info))
        return fail("%s has no attention over patches", w->info.name);
    w->tokens = w->info.tokens;
    w->patches = w->tokens - (uint32_t)w->grid.prefix;
    w->heads = w->info.heads;
    if (inspect_axial(&w->info) && w->o->show.class)
        return fail("%s: relevance is not available for axial attention; "
                    "leave out --class",
                    w->info.name);
    if (inspect_axial(&w->info) && w->o->show.discard > 0)
        return fail("%s: --discard is not available for axial attention, most "
                    "of which is always 0; leave it out",
                    w->info.name);
    return EXIT_OK;
}

static int read_query(work *w)
{
    int code = EXIT_OK;

    w->query = -1;
    if (w->o->show.query)
        code = inspect_query(&w->query, w->o->show.query, &w->info, &w->grid);
    if (w->query >= 0)
        snprintf(w->from, sizeof w->from, "the patch in row %d, column %d",
                 w->query / w->grid.columns + 1,
                 w->query % w->grid.columns + 1);
    else
        snprintf(w->from, sizeof w->from, "%s", inspect_read(&w->grid));
    return code;
}

/* What the options say of the attention to be drawn. */
static int choose(work *w)
{
    uint32_t head = 0;

    RET(inspect_number(&w->drawn, "layer", w->o->show.layer, w->info.layers,
                       w->info.layers - 1));
    RET(inspect_number(&head, "head", w->o->show.head, w->heads, 0));
    w->relevance = w->o->show.class != NULL;
    w->best = w->relevance && strcmp(w->o->show.class, "top") == 0;
    if (w->relevance && !w->info.classes)
        return fail("%s has no classes for --class", w->info.name);
    if (w->relevance && !w->best)
        RET(inspect_number(&w->label, "class", w->o->show.class,
                           w->info.classes, 0));
    w->first = head;
    w->count = w->o->show.head ? 1 : w->heads;
    snprintf(w->block, sizeof w->block, "block.%u", w->info.layers - 1);
    return read_query(w);
}

static int allocate(work *w)
{
    static const char *const names[] = {"mean", "max", "min"};
    static const vt_fuse fuses[] = {VT_FUSE_MEAN, VT_FUSE_MAX, VT_FUSE_MIN};
    vt_rollout_options o = {
        .residual = w->o->show.residual > 0 ? w->o->show.residual : 0.5,
        .discard = w->o->show.discard};

    for (size_t i = 0; w->o->show.heads && i < 3; i++)
        if (strcmp(w->o->show.heads, names[i]) == 0)
            o.heads = fuses[i];
    snprintf(w->how, sizeof w->how,
             "%s of the heads, residual %g, discarded "
             "%g",
             names[o.heads], o.residual, o.discard);
    RET(vt_rollout_new(&w->rollout, (int)w->info.layers, (int)w->tokens, &o));
    if (inspect_axial(&w->info) && !(w->dense = inspect_room(&w->info)))
        return fail("out of memory");
    w->row = calloc(w->tokens, sizeof *w->row);
    w->one = calloc(w->tokens, sizeof *w->one);
    w->relevant = calloc(w->tokens, sizeof *w->relevant);
    w->head = calloc(w->heads, sizeof *w->head);
    w->maps = calloc((size_t)w->count * w->patches, sizeof *w->maps);
    w->seen = calloc((size_t)w->patches * w->info.width, sizeof *w->seen);
    w->logits = calloc(w->info.classes + 1, sizeof *w->logits);
    w->distance =
        calloc((size_t)w->info.layers * w->heads, sizeof *w->distance);
    return w->row && w->one && w->relevant && w->head && w->maps && w->seen &&
                   w->logits && w->distance
               ? EXIT_OK
               : fail("out of memory");
}

/* ---- the watcher ---- */

/* The next layer's probabilities. */
static bool see_attention(work *w, const vitcl_tensor_info *t,
                          const float *probs)
{
    probs = inspect_layer(w->dense, t, probs, &w->info, &w->grid,
                          (uint32_t)w->layer);
    if (!probs || w->layer >= (int)w->info.layers ||
        vt_rollout_add(w->rollout, probs, (int)w->heads) != VITCL_OK)
        return false;
    vt_attention_distance(w->head, probs, (int)w->heads, &w->grid);
    for (uint32_t h = 0; h < w->heads; h++)
        w->distance[(size_t)w->layer * w->heads + h] += w->head[h];
    if (w->layer == (int)w->drawn)
        vt_attention_map(w->maps,
                         probs + (size_t)w->first * w->tokens * w->tokens,
                         (int)w->count, &w->grid, w->query);
    w->layer++;
    return true;
}

/* A vitcl_watcher. Tokens that are shown later are nearer to the answer. */
static int see(void *context, const vitcl_tensor_info *t, const float *data)
{
    work *w = context;

    if (!w->rollout) /* the session tries itself */
        return 0;
    if (strncmp(t->name, "attention.", 10) == 0) {
        w->broken |= !see_attention(w, t, data);
        return w->broken;
    }
    if (strncmp(t->name, "relevance.", 10) == 0) {
        if (t->rank != 4 || t->shape[1] != w->heads ||
            t->shape[2] != w->tokens || t->shape[3] != w->tokens)
            return w->broken = true;
        vt_relevance_step(w->relevant, w->one, data, (int)w->heads,
                          (int)w->tokens);
        return 0;
    }
    if (t->rank == 3 && t->shape[1] == w->tokens &&
        t->shape[2] == w->info.width) {
        memcpy(w->seen, data + (size_t)w->grid.prefix * w->info.width,
               (size_t)w->patches * w->info.width * sizeof *w->seen);
        snprintf(w->seen_as, sizeof w->seen_as, "%.31s", t->name);
    }
    return 0;
}

/* ---- running ---- */

/* The model, and what it is for pictures of this size. */
static int open_whole(work *w, bool runs)
{
    const frame_size size = w->o->common.size;

    RET(open_model(runs ? &w->device : NULL, &w->model, &w->o->common));
    w->info.size = sizeof w->info;
    RET(vitcl_model_describe(&w->info, w->model, size.height, size.width, 1));
    w->height = size.height ? size.height : w->info.input_height;
    w->width = size.width ? size.width : w->info.input_width;
    if (runs) {
        RET(find_grid(w));
        RET(choose(w));
    }
    return EXIT_OK;
}

static int open_run(work *w, const words *operands)
{
    const char *const watched[] = {"attention.*", "norm", w->block,
                                   "relevance.*", NULL};
    vitcl_session_options session = session_options(&w->o->common);

    session.batch = 1;
    session.watch = watched;
    session.gradients = w->relevance;
    session.watcher = see;
    session.watcher_context = w;
    RET(one_size(&session, w->model));
    RET(start_session(&w->session, w->device, w->model, &session));
    RET(allocate(w));
    if (!(w->batches = batches_open(operands, &w->o->pictures)))
        return EXIT_FAILED;
    return batches_start(w->batches, w->session);
}

static int open_folder(work *w, const answer *a)
{
    const uint32_t classes = vitcl_session_classes(w->session);
    uint32_t k = classes < INSPECT_TOP ? classes : INSPECT_TOP;
    vitcl_class top[INSPECT_TOP];

    if (classes) {
        if (vitcl_session_read(w->logits, classes, w->session, "logits", 1))
            return failed();
        for (uint32_t i = 0; i < classes; i++)
            w->logits[i] /= vitcl_model_temperature(w->model);
        vitcl_class_choose(top, k, w->logits, classes,
                           vitcl_model_answer(w->model));
        w->label = w->best ? top[0].label : w->label;
    }
    return inspect_of_picture(&w->files, a->path, w->model, top, k);
}

/* From what the answer is read from, as in vt_rollout_answer(). */
static int relate(work *w, const inspect_picture *p)
{
    vt_answer_row(w->relevant, &w->grid);
    if (vt_session_run_gradient(w->session, &w->label, 1) != VITCL_OK)
        return w->broken ? fail("%s: its attention is not over a grid of "
                                "patches",
                                w->info.name)
                         : failed();
    vt_answer_row(w->one, &w->grid); /* what each token began with */
    for (uint32_t i = 0; i < w->tokens; i++)
        w->relevant[i] -= w->one[i];
    return inspect_relevance(&w->files, p, w->relevant + w->grid.prefix,
                             vitcl_class_label(w->model, w->label),
                             vitcl_class_name(w->model, w->label), w->label);
}

static int draw(work *w, const answer *a, const uint8_t *rgb)
{
    const inspect_picture p = {.name = vt_path_name(a->path),
                               .rgb = rgb,
                               .height = (int)w->height,
                               .width = (int)w->width,
                               .rows = w->grid.rows,
                               .columns = w->grid.columns};

    RET(open_folder(w, a));
    RET(inspect_rollout(&w->files, &p, w->row + w->grid.prefix, w->how,
                        &w->grid));
    RET(inspect_attention(&w->files, &p, w->maps, w->drawn, w->first, w->count,
                          w->from, w->query + 1));
    if (*w->seen_as)
        RET(inspect_tokens(&w->files, &p, w->seen, w->info.width, w->seen_as,
                           &w->all));
    if (w->relevance)
        RET(relate(w, &p));
    return EXIT_OK;
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
    *w->seen_as = '\0';
    st = vitcl_session_run_rgb(w->session, rgb, 1);
    if (w->broken || (st == VITCL_OK && w->layer != (int)w->info.layers))
        return fail("%s: its attention is not over a grid of patches",
                    w->info.name);
    if (st != VITCL_OK)
        return failed();
    vt_rollout_answer(w->row, w->rollout, &w->grid);
    for (uint32_t i = 0; i < w->tokens; i++)
        if (!isfinite(w->row[i])) {
            bad.error = "the attention is not finite";
            say_failure(&bad);
            return EXIT_FAILED;
        }
    w->pictures++;
    return draw(w, a, rgb);
}

static int look_at_all(work *w, const words *operands)
{
    const answer *found;
    const uint8_t *rgb;
    uint32_t n, good;
    uint64_t done = 0;
    progress bar;
    int code = EXIT_OK;

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
    batches_say_left(w->batches);
    if (code == EXIT_OK)
        code = batches_broken(w->batches);
    for (size_t i = 0; i < (size_t)w->info.layers * w->heads; i++)
        w->distance[i] /= w->pictures ? w->pictures : 1;
    if (code == EXIT_OK && w->pictures)
        code = inspect_distance(&w->files, w->distance, w->info.layers,
                                w->heads, w->pictures);
    if (code == EXIT_OK && batches_cut(w->batches))
        code = EXIT_STOPPED;
    return code == EXIT_OK && batches_failures(w->batches) ? EXIT_FAILED : code;
}

static int find_together(work *w, const words *operands)
{
    w->all.device = w->device;
    w->all.model = w->model;
    w->all.info = &w->info;
    w->all.grid = &w->grid;
    w->all.block = w->block;
    return inspect_together_find(&w->all, &w->o->common, operands,
                                 &w->o->pictures);
}

/* Everything that is written. */
static int show(work *w, const words *operands)
{
    const bool runs = operands->count > 0;
    int code, end;

    TRY(open_whole(w, runs));
    if (runs)
        TRY(open_run(w, operands));
    catch_stop();
    if (w->o->together)
        TRY(find_together(w, operands));
    TRY(inspect_weights(&w->files, w->model, &w->info));
    if (runs)
        TRY(look_at_all(w, operands));
done: /* what there is after Ctrl-C or a failure is written, too */
    if (!w->files.pictures && !w->files.model)
        return code != EXIT_OK
                   ? code
                   : fail("%s has neither patch filters nor position "
                          "embeddings to show; name pictures",
                          w->info.name);
    end =
        inspect_finish(&w->files, &w->info, w->height, w->width,
                       (int[]){w->grid.prefix, w->grid.rows, w->grid.columns});
    if (end == EXIT_OK)
        end = inspect_report(w->o->output);
    if (code == EXIT_OK && end == EXIT_OK)
        say_model(&w->o->common);
    return code == EXIT_OK ? end : code;
}

static int run(void *into, const words *operands)
{
    const inspect *o = into;
    work w = {.o = o};
    int code;

    TRY(inspect_check(
        &o->show, o->common.pixels ? "--pixels" : paths_option(&o->pictures),
        operands));
    if (o->together && !inspect_together_can(operands))
        return EXIT_USAGE;
    TRY(inspect_open(&w.files, o->output));
    TRY(show(&w, operands));
done:
    inspect_close(&w.files);
    batches_close(w.batches);
    vt_rollout_free(w.rollout);
    inspect_together_close(&w.all);
    free(w.dense);
    free(w.row);
    free(w.one);
    free(w.maps);
    free(w.relevant);
    free(w.seen);
    free(w.logits);
    free(w.head);
    free(w.distance);
    vitcl_session_free(w.session);
    vitcl_model_free(w.model);
    vitcl_device_free(w.device);
    return code;
}

const command cmd_inspect = {
    "inspect",
    "[PICTURE|FOLDER|-...]",
    "Show what a model looks at",
    "Draws for each picture its attention rollout, the attention of a layer "
    "and the patch tokens as colours; for the model its patch filters, the "
    "similarity of its positions and, over all pictures, the mean attention "
    "distance of each head. DIR/inspect.json names all figures and their "
    "numbers. The names of the files go to stdout.",
    options,
    sizeof(inspect),
    run};
