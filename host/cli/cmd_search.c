/*
 * cmd_search.c - the pictures of an index that are nearest to others, or to
 * texts.
 *
 * In a pipe there is one line per hit: picture or text, rank, cosine, path,
 * separated by tabs.
 */
#include "cli/answers/embedding.h"
#include "cli/answers/html.h"
#include "cli/pictures/row_files.h"
#include "cli/texts/texts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct find {
    model_options common;
    uint32_t k;
    cosine least;
    bool json;
    const char *html;
    picture_options pictures;
    words text;
    text_options texts;
} find;

static const opt options[] = {
    OPT_ROW(find, 0, "text", OPT_LIST, "TEXT",
            "look for what this says, such as \"a dog on a beach\"; may be "
            "repeated",
            text),
    OPT_LOWER(find, NULL),
    OPT_ROW(find, 'k', "top", OPT_COUNT, "N",
            "pictures to find for each (default 10)", k),
    OPT_ROW(find, 0, "threshold", OPT_COSINE, "COSINE",
            "only pictures with at least this cosine, from -1 to 1", least),
    OPT_ROW(find, 0, "json", OPT_FLAG, NULL, "one JSON object per line", json),
    OPT_ROW(find, 0, "html", OPT_FILE, "FILE.html",
            "also write a page of the pictures", html),
    OPT_ROW(find, 'm', "model", OPT_TEXT, "DIR",
            "the index's model, if it is no longer where it was", common.model),
    OPT_DEVICE(find),
    OPT_BATCH(find, "pictures at a time (default: 8 on a CPU, 32 on a GPU, "
                    "fewer for few)"),
    OPT_RUN(find),
    OPT_ANY_BATCH(find),
    OPT_PICTURES(find),
    OPT_DONE};

enum { GROUP = 64 }; /* pictures or texts that are looked for at a time */

/* What is looked for. */
typedef struct query {
    const char *name; /* its path, or the text; NULL: there are no more */
    const float *numbers;
    const answer *picture; /* NULL: a text */
    bool waits;            /* for the next one the program would wait */
} query;

typedef struct work work;
/* Where queries come from: pictures, or texts. */
typedef struct source {
    int (*open)(work *w);
    int (*next)(query *out, work *w);
} source;

struct work {
    embedding e;
    const find *o;
    const source *from;
    const char *name; /* of the index */
    vitcl_index *index;
    vitcl_index_info info;
    html_page *page; /* NULL: none */
    bool pretty;
    uint32_t k, count;        /* count: queries that wait */
    char *path[GROUP];        /* or texts */
    vitcl_image small[GROUP]; /* thumbnails, for the page */
    float *queries;
    vitcl_hit *hits;
    uint32_t found[GROUP];
    /* of texts */
    text_list texts;
    size_t next;
    vitcl_device *device;
    vitcl_text *text;
};

/* ---- printing ---- */

static void print_json(work *w, uint32_t q, const vitcl_hit *hits)
{
    json_put("{");
    if (w->texts.count)
        json_put("text:%s", w->path[q]);
    else
        json_path(w->path[q]);
    json_put("nearest:[");
    for (uint32_t i = 0; i < w->found[q]; i++) {
        json_put("{");
        json_path(row_path(w->index, hits[i].row));
        json_put("cosine:%.9g}", (double)hits[i].cosine);
    }
    json_put("]}\n");
}

static void print_tsv(work *w, uint32_t q, const vitcl_hit *hits)
{
    for (uint32_t i = 0; i < w->found[q]; i++) {
        tsv_text(w->path[q]);
        printf("\t%u\t%.6f\t", i + 1, (double)hits[i].cosine);
        tsv_text(row_path(w->index, hits[i].row));
        printf("\n");
    }
}

static void print_pretty(work *w, uint32_t q, const vitcl_hit *hits)
{
    tsv_title(w->path[q]);
    printf("%s\n", w->found[q] ? "" : "  nothing is near enough");
    for (uint32_t i = 0; i < w->found[q]; i++) {
        printf("  %.3f  ", (double)hits[i].cosine);
        tsv_text(row_path(w->index, hits[i].row));
        printf("\n");
    }
}

static void print_error(const work *w, const answer *a)
{
    if (w->o->json)
        (void)json_picture(a);
    if (w->page) {
        html_section(w->page, a->path);
        html_add(w->page, &(html_item){.path = a->path, .error = a->error});
    }
}

static void add_to_page(work *w, uint32_t q, const vitcl_hit *hits)
{
    html_section(w->page, w->path[q]);
    if (!w->texts.count)
        html_add(w->page, &(html_item){.path = w->path[q],
                                       .small = &w->small[q],
                                       .title = "looked for"});
    for (uint32_t i = 0; i < w->found[q]; i++) {
        char title[16];
        const html_item item = {.path = row_path(w->index, hits[i].row),
                                .title = title};

        snprintf(title, sizeof title, "%.3f", (double)hits[i].cosine);
        html_add(w->page, &item);
    }
}

/* ---- searching ---- */

static void forget(work *w, uint32_t q)
{
    free(w->path[q]);
    w->path[q] = NULL;
    free(w->small[q].rgb);
    w->small[q] = (vitcl_image){0, 0, NULL};
}

/* Without memory, the page decodes the picture again. */
static vitcl_image copy(const vitcl_image *small)
{
    const size_t n = (size_t)small->width * small->height * 3;
    vitcl_image out = {small->width, small->height, NULL};

    if (small->rgb && (out.rgb = malloc(n)))
        memcpy(out.rgb, small->rgb, n);
    return out;
}

/* Looks for all that wait in one pass over the index. */
static int look(work *w)
{
    const double least = w->o->least.given ? w->o->least.value : -1;

    if (w->count)
        RET(vitcl_index_search(w->hits, w->found, w->index, w->queries,
                               w->count, w->k, least, NULL, NULL));
    for (uint32_t q = 0; q < w->count; q++) {
        (w->o->json  ? print_json
         : w->pretty ? print_pretty
                     : print_tsv)(w, q, w->hits + (size_t)q * w->k);
        if (w->page)
            add_to_page(w, q, w->hits + (size_t)q * w->k);
        forget(w, q);
    }
    w->count = 0;
    return EXIT_OK;
}

static int finish(work *w)
{
    html_page *page;

    RET(look(w));
    page = w->page, w->page = NULL;
    return page ? html_close(page, "Nearest pictures and their cosines")
                : EXIT_OK;
}

static bool is_zero(const float *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i] != 0)
            return false;
    return true;
}

static int take(work *w, const query *q)
{
    const size_t n = w->info.width;
    float *to = w->queries + w->count * n;
    int code = EXIT_OK;

    if (!q->numbers) { /* in input order */
        code = look(w);
        print_error(w, q->picture);
        return code;
    }
    memmove(to, q->numbers, n * sizeof *to); /* a text's are there */
    w->path[w->count] = strdup(q->name);
    if (!w->path[w->count])
        return fail("out of memory");
    if (q->picture)
        w->small[w->count] = copy(&q->picture->small);
    if (++w->count == GROUP || q->waits)
        code = look(w);
    return code;
}

static int check_model(const work *w, const vitcl_model *model)
{
    return vitcl_index_check(w->index, model) == VITCL_OK
               ? EXIT_OK
               : fail("%s; name its model with -m", vitcl_last_error());
}

/* ---- pictures ---- */

static int open_pictures(work *w)
{
    RET(embedding_open(&w->e));
    RET(check_model(w, w->e.on.model));
    if (w->info.width != w->e.on.used)
        RET(fail("the index has vectors of %u numbers, this model of %zu",
                 w->info.width, w->e.on.used));
    if (w->o->html)
        batches_thumbnails(w->e.on.batches, HTML_SIDE);
    return answering_start(&w->e.on);
}

static int next_picture(query *out, work *w)
{
    answer *a = answering_next(&w->e.on);

    if (a && !a->error && is_zero(a->numbers, w->e.on.used)) {
        a->error = "its vector is zero, and has no direction";
        say_failure(a);
    }
    *out = (query){.name = NULL};
    if (a)
        *out = (query){a->path, a->error ? NULL : a->numbers, a,
                       answering_waits(&w->e.on)};
    return EXIT_OK;
}

/* ---- texts ---- */

static int open_texts(work *w)
{
    const model_options *common = w->e.on.common;
    vitcl_text_info info = {.size = sizeof info};
    vitcl_model *model = NULL;
    int code;

    if (strcmp(w->info.feature, "pooled") != 0)
        TRY(fail("%s: its vectors are --features %s, with which texts cannot "
                 "be compared; embed the pictures without --features",
                 w->name, w->info.feature));
    TRY(open_model(NULL, &model, common));
    TRY(check_model(w, model));
    TRY(open_device(&w->device, common->device));
    TRY(tower_open(&w->text, w->device, common, &w->o->texts, "--text",
                   w->texts.count));
    TRY(vitcl_text_describe(&info, w->text));
    if (info.features != w->info.width)
        TRY(fail("the index has %u numbers a vector, this model's texts %u",
                 w->info.width, info.features));
    catch_stop();
done:
    vitcl_model_free(model);
    return code;
}

/* As many are embedded at a time as are looked for. */
static int next_text(query *out, work *w)
{
    const size_t width = w->info.width, at = w->next % GROUP;
    const size_t left = w->texts.count - w->next;
    const char *const *text = (const char *const *)w->texts.item + w->next;

    *out = (query){.name = NULL};
    if (!left)
        return EXIT_OK;
    if (at == 0) {
        RET(vitcl_text_embed(w->queries, w->text, text,
                             (uint32_t)(left < GROUP ? left : GROUP)));
        guard_end(); /* do not restart after printing */
    }
    *out = (query){*text, w->queries + at * width, NULL, left == 1};
    w->next++;
    if (is_zero(out->numbers, width))
        return fail("'%.80s': its vector is zero, and has no direction", *text);
    return EXIT_OK;
}

/* ---- either ---- */

static const source of_pictures = {open_pictures, next_picture},
                    of_texts = {open_texts, next_text};

static int answer_all(work *w)
{
    const bool pictures = w->from == &of_pictures;
    query q = {.name = ""};
    bool taken;
    int code = EXIT_OK;

    /* where a stop is caught, and so removes the file */
    if (w->o->html && !(w->page = html_open(w->o->html, "vitcl search")))
        return EXIT_FAILED;
    while (q.name) {
        TRY(w->from->next(&q, w));
        if (q.name)
            TRY(take(w, &q));
    }
done:
    taken = code == EXIT_OK;
    if (pictures)
        code = answering_end(&w->e.on, code);
    /* after Ctrl-C or a broken list, too, what there is */
    if (taken && (code == EXIT_OK || w->e.on.count) && finish(w) != EXIT_OK)
        code = EXIT_FAILED;
    return code == EXIT_OK && pictures ? answering_failures(&w->e.on) : code;
}

/* A file's name may have spaces, too: one that looks like it is a picture that
 * is not there. */
static bool is_text(const char *word)
{
    const char *dot = strrchr(word, '.');
    const size_t n = dot ? strlen(dot + 1) : 0;

    return strchr(word, ' ') && !strchr(word, '/') && (n < 2 || n > 4) &&
           access(word, F_OK) != 0;
}

/* The texts among the operands, and those of --text. */
static int find_texts(text_list *out, const find *o, const words *operands)
{
    const char *wrong;
    bool fine = true;

    for (size_t i = 0; i < o->text.count; i++)
        fine = fine && lines_add(out, o->text.item[i], strlen(o->text.item[i]));
    for (size_t i = 0; i < operands->count; i++) {
        const char *word = operands->item[i];

        if (is_text(word))
            fine = fine && lines_add(out, word, strlen(word));
    }
    if (!fine)
        return fail("out of memory");
    for (size_t i = 0; i < out->count; i++)
        if ((wrong = text_wrong(out->item[i], strlen(out->item[i]))))
            return usage("the text '%.80s' %s", out->item[i], wrong);
    if (out->count && out->count < o->text.count + operands->count)
        return usage("one search cannot mix pictures and texts ('%.80s' "
                     "is a text)",
                     out->item[0]);
    return EXIT_OK;
}

/* What only pictures have, and what only texts. */
static int check(const find *o, const text_list *texts)
{
    const picture_options *p = &o->pictures;
    const char *other = paths_option(p);

    if (!other && p->summary)
        other = "--summary";
    if (!texts->count && o->texts.lower)
        return usage("--lower-case belongs to texts, not to pictures");
    if (texts->count && other)
        return usage("texts are looked for, not pictures; leave %s out", other);
    return EXIT_OK;
}

static int search(work *w, const words *pictures)
{
    model_options common = w->o->common;
    int code;

    TRY(vitcl_index_open(&w->index, w->name));
    TRY(vitcl_index_describe(&w->info, w->index));
    if (w->info.rank > 1)
        TRY(fail("%s: the index has many vectors of each picture; search "
                 "needs one vector: embed --features pooled or class",
                 w->name));
    TRY(embedding_of_index(&common, &w->info, w->name));
    w->k = w->o->k ? w->o->k : 10;
    if (w->k > w->info.rows)
        w->k = w->info.rows ? (uint32_t)w->info.rows : 1;
    w->e.what = w->info.feature;
    w->e.on = (answering){.common = &common,
                          .operands = pictures,
                          .pictures = &w->o->pictures,
                          .done = "looked for",
                          .said = true}; /* by embed */
    w->queries = malloc((size_t)GROUP * w->info.width * sizeof *w->queries);
    w->hits = malloc((size_t)GROUP * w->k * sizeof *w->hits);
    if (!w->queries || !w->hits)
        TRY(fail("out of memory"));
    TRY(w->from->open(w));
    TRY(answer_all(w));
done:
    answering_close(&w->e.on);
    if (w->text)
        tower_say_cut(w->text);
    return code;
}

static int run(void *into, const words *operands)
{
    find *o = into;
    const words pictures = {.item = operands->item + 1,
                            .count = operands->count - 1};
    work w = {
        .o = o, .info.size = sizeof w.info, .pretty = is_terminal(stdout)};
    int code;

    o->pictures.absent = "words are looked for with --text";
    if (operands->count < 1 || (operands->count < 2 && !o->text.count))
        return usage("name an index (vitcl embed -o FILE.safetensors) and the "
                     "pictures to look for, or --text \"a dog on a beach\"");
    w.name = operands->item[0];
    TRY(find_texts(&w.texts, o, &pictures));
    TRY(check(o, &w.texts));
    w.from = w.texts.count ? &of_texts : &of_pictures;
    TRY(search(&w, &pictures));
done:
    vitcl_text_free(w.text);
    vitcl_device_free(w.device);
    lines_free(&w.texts);
    for (uint32_t i = 0; i < GROUP; i++)
        forget(&w, i);
    html_discard(w.page);
    free(w.queries);
    free(w.hits);
    vitcl_index_free(w.index);
    return code;
}

const command cmd_search = {
    "search",
    "INDEX PICTURE|FOLDER|-|TEXT...",
    "Find the nearest pictures of an index",
    "INDEX is a file of `vitcl embed -o FILE.safetensors`. The pictures are "
    "embedded by its model and compared with all of its vectors: the search is "
    "exact. A text needs a model of pictures and texts, such as CLIP; without "
    "--text, an operand with a space that is no file is one, too. The cosine "
    "of two vectors is 1 if they have the same direction. In "
    "a pipe each hit is a line: picture or text, rank, cosine, path, separated "
    "by tabs. A picture that cannot be read is reported on stderr, and the "
    "exit status is 1.",
    options,
    sizeof(find),
    run};
