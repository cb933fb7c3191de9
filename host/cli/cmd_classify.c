/*
 * cmd_classify.c - classifies pictures.
 *
 * Results are in input order, including failures. In a pipe there is one line
 * per class: picture, rank, label, name, probability, separated by tabs.
 */
#include "api/program.h"
#include "base/file.h"
#include "base/utf8.h"
#include "cli/answers/html.h"
#include "cli/answers/naming.h"
#include "cli/answers/sharding.h"
#include "cli/answers/sorting.h"
#include "cli/inspect/explaining.h"
#include "cli/pictures/piped.h"
#include "cli/texts/label_set.h"
#include "parts/partition.h"

#include <stdlib.h>
#include <string.h>

typedef struct classify {
    model_options common;
    uint32_t k;
    picture_options pictures;
    double threshold;
    bool json, csv, explain;
    const char *output, *logits, *copy_to, *link_to, *html, *labels;
    text_options texts;
} classify;

static const opt options[] = {
    OPT_MODEL(classify),
    OPT_ROW(classify, 'k', "top", OPT_COUNT, "N",
            "classes per picture (default 5)", k),
    OPT_ROW(classify, 0, "labels", OPT_TEXT, "LIST|FILE|-",
            "instead of a classifier's: \"cat,dog,a red car\", or a file with "
            "one per "
            "line; for a model of pictures and texts, such as CLIP",
            labels),
    OPT_PROMPT(classify, "labels"),
    OPT_LOWER(classify, "labels"),
    OPT_DEVICE(classify),
    OPT_DEVICES(classify),
    OPT_BATCH(classify, "pictures at a time (default: 8 on a CPU, 32 on a GPU, "
                        "fewer for few)"),
    OPT_SIDES(classify),
    OPT_PATCHES(classify),
    OPT_PIXELS(classify),
    OPT_RUN(classify),
    OPT_ANY_BATCH(classify),
    OPT_ROW(classify, 'o', "output", OPT_FILE, "FILE.jsonl",
            "write JSON lines to a file; with --shard, {shard} in its name is "
            "00002-of-00007",
            output),
    OPT_ROW(classify, 0, "json", OPT_FLAG, NULL, "one JSON object per line",
            json),
    OPT_RULED(classify, 0, "csv", OPT_FLAG, NULL,
              "a table for spreadsheets: one row per picture", csv,
              .not_with = "json|output"),
    OPT_ROW(classify, 0, "threshold", OPT_REAL, "P",
            "less likely answers are \"not sure\" (default: the model's own, "
            "if any)",
            threshold),
    OPT_RULED(
        classify, 0, "explain", OPT_FLAG, NULL,
        "show classes as bars, and where the model looks over the picture",
        explain, .not_with = "csv|json|output|devices"),
    OPT_ROW(classify, 0, "logits", OPT_FILE, "FILE.npy|FILE.safetensors",
            "also write logits [pictures, classes]; with --shard, {shard} as "
            "for -o",
            logits),
    OPT_RULED(classify, 0, "copy-to", OPT_TEXT, "DIR/{label}",
              "copy each picture to the folder of its class", copy_to,
              .not_with = "link-to|tar"),
    OPT_RULED(classify, 0, "link-to", OPT_TEXT, "DIR/{label}",
              "the same with links to the pictures", link_to,
              .not_with = "tar"),
    OPT_ROW(
        classify, 0, "html", OPT_FILE, "FILE.html",
        "also write a page with thumbnails, answers and errors; with --shard, "
        "{shard} as for -o",
        html),
    OPT_PICTURES(classify),
    OPT_SHARD(classify),
    OPT_TAR(classify),
    OPT_DONE};

typedef struct work {
    answering on;
    const classify *o;
    naming naming;
    label_set set; /* of --labels */
    sorting sorting;
    html_page *page;
    explaining *explaining; /* NULL: --explain was not given */
    sharding part;
    /* the names of files, with the number of the shard */
    char *logits, *html;
    vitcl_rows *rows; /* of logits; NULL: none */
    bool json, pretty, told;
    bool told_detail[2]; /* coarser, finer */
} work;

/* What the model knows, once, where an answer was not sure. */
static void say_known(work *w)
{
    enum { FEW = 10 };
    char list[512] = "", room[CLASS_ROOM];
    const uint32_t n = w->naming.classes;

    if (w->told || is_quiet())
        return;
    w->told = true;
    for (uint32_t i = 0; i < n && i < FEW; i++) {
        const char *name = naming_class(&w->naming, i, room);
        const size_t used = strlen(list);

        snprintf(list + used, sizeof list - used, "%s%.*s", i ? ", " : "",
                 (int)naming_first(&w->naming, name), name);
    }
    note("not sure: the model knows %u class%s: %.*s%s", n, n == 1 ? "" : "es",
         (int)vt_utf8_cut(list, 480), list, n > FEW ? ", ..." : "");
}

/* Why a likely class is not sure, once for each reason. */
static void say_detail(work *w)
{
    const bool finer = w->naming.detail > 0;

    if (w->told_detail[finer] || is_quiet())
        return;
    w->told_detail[finer] = true;
    note("not sure: %s detail than in the training pictures",
         finer ? "finer" : "coarser");
}

static void add_to_page(work *w, const answer *a)
{
    char title[2048] = "", more[sizeof title] = "", room[CLASS_ROOM];
    html_item item = {.path = a->path, .small = &a->small, .error = a->error};

    if (!a->error) {
        naming_texts(title, more, sizeof title, &w->naming);
        item.title = title, item.more = more[0] ? more : NULL;
        item.group = naming_class(&w->naming, w->naming.top[0].label, room);
        item.unsure = !naming_sure(&w->naming);
    }
    html_add(w->page, &item);
}

static int print(work *w, const answer *a)
{
    int code = EXIT_OK;

    const float *logits =
        w->o->labels ? label_set_logits(&w->set, a->error ? NULL : a->numbers)
                     : a->numbers;

    if (!a->error)
        naming_judge(&w->naming, logits, w->on.session, a->rgb);
    if (w->json)
        naming_json(&w->naming, a);
    else if (w->o->csv)
        naming_csv(&w->naming, a);
    else if (!a->error && w->explaining)
        code = explaining_print(w->explaining, &w->naming, a);
    else if (!a->error)
        (w->pretty ? naming_pretty : naming_tsv)(&w->naming, a);
    if (!a->error && w->sorting.folder)
        sorting_put(&w->sorting, a, &w->naming);
    if (w->page)
        add_to_page(w, a);
    /* of the built-in model, say_model() says enough */
    if (!a->error && w->pretty && !naming_sure(&w->naming) &&
        !uses_builtin(&w->o->common)) {
        if (w->naming.detail)
            say_detail(w);
        else
            say_known(w);
    }
    if (code == EXIT_OK && w->rows &&
        vitcl_rows_add(w->rows, logits, 1) != VITCL_OK)
        code = failed();
    return code;
}

/* ---- running ---- */

static html_page *begin_page(const work *w)
{
    enum { MOST = 400 };
    const words *from = w->on.operands;
    const char *first =
        strcmp(from->item[0], "-") == 0 ? "Pictures" : from->item[0];
    const char *model = model_name(&w->o->common);
    char title[1024];

    snprintf(title, sizeof title, "%.*s%s, classified by %.*s",
             (int)vt_utf8_cut(first, MOST), first,
             from->count > 1 ? " and others" : "",
             (int)vt_utf8_cut(model, MOST), model);
    return html_open(w->html, title);
}

/* Why a model without a classifier does not name pictures. */
static int no_classes(const work *w)
{
    if (tower_is_there(w->on.device, &w->o->common))
        return usage("this model has no classes of its own: add --labels "
                     "\"cat,dog,a red car\", or a file with one per line");
    return fail("this model has no classifier; `vitcl embed` writes its "
                "features");
}

/* The classes, and the numbers of a picture that they follow from. */
static int open_classes(work *w, uint32_t *classes)
{
    const classify *o = w->o;

    *classes = vitcl_session_classes(w->on.session);
    w->on.share = w->on.used = *classes;
    if (!o->labels)
        return *classes ? EXIT_OK : no_classes(w);
    *classes = (uint32_t)w->set.labels.count;
    w->on.tensor = "features";
    w->on.share = w->on.used = vitcl_session_features(w->on.session);
    return label_set_open(&w->set, w->on.device, w->on.model, &o->common,
                          &o->texts, (uint32_t)w->on.used, "--labels");
}

static const char *sorted_into(const classify *o)
{
    return o->copy_to ? o->copy_to : o->link_to;
}

static int start(work *w)
{
    uint32_t classes;

    if (w->o->explain && !(w->explaining = explaining_open()))
        return EXIT_FAILED;
    RET(answering_open(&w->on));
    if (w->explaining)
        explaining_watch(w->explaining, &w->on.options);
    RET(answering_session(&w->on, NULL));
    RET(open_classes(w, &classes));
    RET(naming_open(&w->naming, w->on.model, classes, w->o->k ? w->o->k : 5,
                    w->o->threshold));
    if (w->o->labels)
        naming_words(&w->naming, (const char *const *)w->set.labels.item,
                     w->set.answer);
    if (sorted_into(w->o) && w->naming.answer == VITCL_NUMBERS)
        return usage("this model has no classes (regression); leave %s out",
                     w->o->copy_to ? "--copy-to" : "--link-to");
    if (sorted_into(w->o))
        RET(sorting_open(&w->sorting, sorted_into(w->o), !w->o->copy_to,
                         &w->naming));
    if (w->o->html && !(w->page = begin_page(w)))
        return EXIT_FAILED;
    if (w->page)
        batches_thumbnails(w->on.batches, HTML_SIDE);
    if (w->explaining)
        RET(explaining_start(w->explaining, w->on.model, w->on.session));
    RET(sharding_redirect(&w->part));
    if (w->o->csv)
        naming_csv_head(&w->naming);
    if (w->o->logits)
        RET(vitcl_rows_new(&w->rows, w->logits,
                           &(vitcl_shape){.name = "logits",
                                          .rank = 1,
                                          .shape = {w->naming.classes}}));
    return answering_start(&w->on);
}

static int answer_all(work *w)
{
    const answer *a;
    int code = EXIT_OK;

    while (code == EXIT_OK && (a = answering_next(&w->on)))
        code = print(w, a);
    RET(answering_end(&w->on, code));
    if (w->rows)
        RET(vitcl_rows_finish(w->rows));
    vitcl_rows_free(w->rows), w->rows = NULL;
    return answering_failures(&w->on);
}

/* Of a file of logits that was not completed. */
static void keep_rows(work *w, int code)
{
    char name[4096];
    uint64_t rows;

    if (!w->rows || !w->on.count || code == EXIT_OK)
        return;
    if (vt_rows_keep(name, sizeof name, &rows, w->rows) != VITCL_OK)
        say_not_kept(code);
    else if (rows)
        say_kept(code, rows, "row", name);
}

/* What there is after Ctrl-C or a failure is shown, too. */
static int end_page(work *w, int code)
{
    char counts[512];
    html_page *page = w->page;

    w->page = NULL;
    if (code != EXIT_OK && !w->on.count) {
        html_discard(page);
        return code;
    }
    answering_counts(counts, sizeof counts, &w->on, "");
    return html_close(page, counts) == EXIT_OK ? code : EXIT_FAILED;
}

static int check(const classify *o, const words *operands)
{
    if (!operands->count)
        return usage("no pictures given; name files or folders, or - for a "
                     "list on standard input");
    if (o->pictures.shard && !o->json && !o->output)
        return usage("--shard needs -o FILE.jsonl or --json, whose rows keep "
                     "the position");
    if (o->labels && lines_piped(o->labels) && piped_among(operands))
        return usage("standard input has the labels, so it cannot be a list of "
                     "pictures, too");
    if (o->explain && o->common.batch > 1)
        return usage("--explain looks at one picture at a time; leave --batch "
                     "out");
    if (o->threshold > 1)
        return usage("--threshold must be at most 1, not %g", o->threshold);
    if (sharding_named(o->logits, &o->pictures) != EXIT_OK)
        return EXIT_USAGE;
    return sharding_named(o->html, &o->pictures);
}

static int open_part(work *w)
{
    const classify *o = w->o;
    row_settings rows = {.command = "classify"};
    char common[SHARDING_COMMON], set[LABEL_SET_ID] = "";

    sharding_common(common, sizeof common, &o->common);
    if (o->labels)
        label_set_identity(set, &w->set);
    snprintf(rows.text, sizeof rows.text, "top=%u threshold=%g%s%s%.16s%s",
             o->k ? o->k : 5, o->threshold, common, set[0] ? " labels=" : "",
             set, o->texts.lower ? " lower-case" : "");
    return sharding_open(&w->part, &o->pictures, o->output, w->on.operands,
                         &o->common, &rows);
}

/* A part that is finished may be of a run without these files. */
static int check_finished(const work *w)
{
    const char *into = sorted_into(w->o);
    const char *lacks = w->logits && !vt_path_exists(w->logits) ? w->logits
                        : w->html && !vt_path_exists(w->html)   ? w->html
                                                                : NULL;

    if (w->part.finished && into &&
        (strncmp(into, w->part.found.sorted, VT_SETTINGS - 1) != 0 ||
         !sorting_there(into)))
        return fail("%s is finished, but its pictures are not all in %s; "
                    "remove the part's .manifest file to do both anew",
                    w->part.path, into);
    return w->part.finished && lacks
               ? fail("%s is finished, but %s is not there; remove the "
                      "part's .manifest file to write both anew",
                      w->part.path, lacks)
               : EXIT_OK;
}

/* The names of this shard's files. */
static int name_files(work *w)
{
    const classify *o = w->o;

    return (!o->logits || vt_partition_path(&w->logits, o->logits,
                                            w->part.shard) == VITCL_OK) &&
                   (!o->html || vt_partition_path(&w->html, o->html,
                                                  w->part.shard) == VITCL_OK)
               ? EXIT_OK
               : failed();
}

/* Names the pictures, and writes what there is after Ctrl-C or a failure. */
static int classify_all(work *w)
{
    const char *into = sorted_into(w->o);
    int code = start(w);

    if (code == EXIT_OK)
        code = answer_all(w);
    keep_rows(w, code);
    if (w->page) /* before the manifest, which says that all is written */
        code = end_page(w, code);
    if (into && !w->sorting.failures)
        snprintf(w->part.about.sorted, VT_SETTINGS, "%s", into);
    code = sharding_end(&w->part, code, &w->on);
    return code == EXIT_OK && w->sorting.failures ? EXIT_FAILED : code;
}

static int run(void *into, const words *operands)
{
    const classify *o = into;
    const bool json = o->json || o->output;
    work w = {.o = o,
              .on = {.common = &o->common,
                     .operands = operands,
                     .pictures = &o->pictures,
                     .done = "named",
                     .tensor = "logits",
                     .rows_tell = o->output != NULL},
              .part.stdout_fd = -1,
              .json = json,
              .pretty = is_terminal(stdout) && !json && !o->csv};
    int code;

    TRY(check(o, operands));
    if (o->labels) {
        TRY(tower_named(&o->common, "--labels"));
        TRY(label_set_read(&w.set, o->labels, &o->texts.prompts));
    }
    TRY(open_part(&w));
    TRY(name_files(&w));
    TRY(check_finished(&w));
    if (!w.part.finished)
        code = classify_all(&w);
done:
    vitcl_rows_free(w.rows);
    free(w.logits);
    free(w.html);
    answering_close(&w.on);
    explaining_close(w.explaining);
    sharding_close(&w.part);
    sorting_close(&w.sorting);
    naming_close(&w.naming);
    label_set_close(&w.set);
    return code;
}

const command cmd_classify = {
    "classify",
    "PICTURE|FOLDER|-...",
    "Name what pictures show",
    "Folders are read in sorted order; - reads a list of paths from standard "
    "input. In a pipe each class is a line: picture, rank, label, name, "
    "probability, separated by tabs. A picture that cannot be read is reported "
    "on stderr (its row of --logits is NaN), the others are answered, and the "
    "exit status is 1.",
    options,
    sizeof(classify),
    run};
