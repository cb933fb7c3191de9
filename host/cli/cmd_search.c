/*
 * cmd_search.c - the pictures of an index that are nearest to others, or to
 * texts.
 *
 * In a pipe there is one line per hit: picture or text, rank, cosine, path,
 * separated by tabs.
 */
#include "cli/answers/embedding.h"
#include "cli/answers/html.h"
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

typedef struct work {
    embedding e;
    const find *o;
    vt_index *index;
    html_page *page; /* NULL: none */
    bool pretty;
    uint32_t k, count;        /* count: queries that wait */
    char *path[GROUP];        /* or texts */
    vitcl_image small[GROUP]; /* thumbnails, for the page */
    float *queries;
    vt_hit *hits;
    uint32_t found[GROUP];
    bool broken; /* an answer could not be taken */
    vt_places places;
    /* of texts */
    text_list texts;
    size_t next;
    vitcl_device *device;
    vitcl_text *text;
} work;

static const char *path_of(work *w, uint64_t row)
{
    bool moved;

    return vt_place(&w->places, row, &moved);
}

/* ---- printing ---- */

static void print_json(work *w, uint32_t q, const vt_hit *hits)
{
    json_put("{");
    if (w->texts.count)
        json_put("text:%s", w->path[q]);
    else
        json_path(w->path[q]);
    json_put("nearest:[");
    for (uint32_t i = 0; i < w->found[q]; i++) {
        json_put("{");
        json_path(path_of(w, hits[i].row));
        json_put("cosine:%.9g}", (double)hits[i].cosine);
    }
    json_put("]}\n");
}

static void print_tsv(work *w, uint32_t q, const vt_hit *hits)
{
    for (uint32_t i = 0; i < w->found[q]; i++) {
        tsv_text(w->path[q]);
        printf("\t%u\t%.6f\t", i + 1, (double)hits[i].cosine);
        tsv_text(path_of(w, hits[i].row));
        printf("\n");
    }
}

static void print_pretty(work *w, uint32_t q, const vt_hit *hits)
{
    printf("\033[1m");
    tsv_text(w->path[q]);
    printf("\033[0m%s\n", w->found[q] ? "" : "  nothing is near enough");
    for (uint32_t i = 0; i < w->found[q]; i++) {
        printf("  %.3f  ", (double)hits[i].cosine);
        tsv_text(path_of(w, hits[i].row));
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

static void add_to_page(work *w, uint32_t q, const vt_hit *hits)
{
    html_section(w->page, w->path[q]);
    if (!w->texts.count)
        html_add(w->page, &(html_item){.path = w->path[q],
                                       .small = &w->small[q],
                                       .title = "looked for"});
    for (uint32_t i = 0; i < w->found[q]; i++) {
        char title[16];
        const html_item item = {.path = path_of(w, hits[i].row),
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
    if (w->count &&
        vt_index_nearest(
            w->hits, w->found, w->index, w->queries, w->count, w->k,
            w->o->least.given ? vt_cosine_threshold(w->o->least.value) : -2) !=
            VITCL_OK)
        return failed();
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
    html_page *page = w->page;
    int code = look(w);

    if (code != EXIT_OK || !page)
        return code;
    w->page = NULL;
    return html_close(page, "Nearest pictures and their cosines");
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
    const size_t n = vt_index_width(w->index);
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

/* May the index be compared with vectors of this model, NULL: the open one? */
static int agree(work *w, const vt_about *a, const vitcl_model *model)
{
    vt_about own;
    int code;

    TRY(embedding_about(&own, &w->e, model, a->normalized));
    if (vt_index_agrees(w->index, &own) != VITCL_OK)
        TRY(fail("%s; name its model with -m", vitcl_last_error()));
done:
    return code;
}

/* ---- pictures ---- */

static int open_pictures(work *w, const vt_about *a)
{
    int code;

    TRY(embedding_open(&w->e));
    TRY(agree(w, a, NULL));
    if (vt_index_width(w->index) != w->e.on.used)
        TRY(fail("the index has vectors of %u numbers, this model of %zu",
                 vt_index_width(w->index), w->e.on.used));
    if (w->o->html)
        batches_thumbnails(w->e.on.batches, HTML_SIDE);
    TRY(answering_start(&w->e.on));
done:
    return code;
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

static int open_texts(work *w, const vt_about *a)
{
    const uint32_t width = vt_index_width(w->index);
    const model_options *common = w->e.on.common;
    vitcl_text_info info = {.size = sizeof info};
    vitcl_model *model = NULL;
    int code;

    if (strcmp(a->feature, "pooled") != 0)
        TRY(fail("%s: its vectors are --features %s, with which texts cannot "
                 "be compared; embed the pictures without --features",
                 vt_index_file(w->index), a->feature));
    TRY(open_model(NULL, &model, common));
    TRY(agree(w, a, model));
    TRY(open_device(&w->device, common->device));
    TRY(tower_open(&w->text, w->device, common, &w->o->texts, "--text",
                   w->texts.count));
    TRY_VT(vitcl_text_describe(&info, w->text));
    if (info.features != width)
        TRY(fail("the index has %u numbers a vector, this model's texts %u",
                 width, info.features));
    catch_stop();
done:
    vitcl_model_free(model);
    return code;
}

/* As many are embedded at a time as are looked for. */
static int next_text(query *out, work *w)
{
    const size_t width = vt_index_width(w->index), at = w->next % GROUP;
    const size_t left = w->texts.count - w->next;
    const char *const *text = (const char *const *)w->texts.item + w->next;
    vitcl_status st = VITCL_OK;

    *out = (query){.name = NULL};
    if (left && at == 0) {
        st = vitcl_text_embed(w->queries, w->text, text,
                              (uint32_t)(left < GROUP ? left : GROUP));
        guard_end(); /* do not restart after printing */
    }
    if (st != VITCL_OK || !left)
        return code_of(st);
    *out = (query){*text, w->queries + at * width, NULL, left == 1};
    w->next++;
    return is_zero(out->numbers, width)
               ? fail("'%.80s': its vector is zero, and has no direction",
                      *text)
               : EXIT_OK;
}

static int answer_all(work *w)
{
    const bool texts = w->texts.count != 0;
    query q = {.name = NULL};
    int code;

    /* where a stop is caught, and so removes the file */
    if (w->o->html && !(w->page = html_open(w->o->html, "vitcl search")))
        return EXIT_FAILED;
    while ((code = (texts ? next_text : next_picture)(&q, w)) == EXIT_OK &&
           q.name && (code = take(w, &q)) == EXIT_OK)
        ;
    w->broken = code != EXIT_OK;
    TRY(texts ? code : answering_end(&w->e.on, code));
    TRY(finish(w));
    if (!texts)
        code = answering_failures(&w->e.on);
done:
    return code;
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

static int search(work *w, const char *name, const words *pictures)
{
    const vt_about *a = vt_index_about(w->index);
    const uint64_t rows = vt_index_count(w->index);
    model_options common = w->o->common;
    int code;

    if (vt_index_shape(w->index).columns)
        return fail("%s: the index has many vectors of each picture; search "
                    "needs one vector: embed --features pooled or class",
                    name);
    TRY(embedding_of_index(&common, a, name));
    vt_places_open(&w->places, w->index);
    w->k = w->o->k ? w->o->k : 10;
    w->k = w->k < rows ? w->k : rows ? (uint32_t)rows : 1;
    w->e.what = a->feature;
    w->e.on = (answering){.common = &common,
                          .operands = pictures,
                          .pictures = &w->o->pictures,
                          .done = "looked for",
                          .said = true}; /* by embed */
    w->queries =
        malloc((size_t)GROUP * vt_index_width(w->index) * sizeof *w->queries);
    w->hits = malloc((size_t)GROUP * w->k * sizeof *w->hits);
    if (!w->queries || !w->hits)
        return fail("out of memory");
    code = (w->texts.count ? open_texts : open_pictures)(w, a);
    if (code == EXIT_OK)
        code = answer_all(w);
    /* what there is after Ctrl-C or a failure */
    if (code != EXIT_OK && w->e.on.count && !w->broken &&
        (w->count || w->page) && finish(w) != EXIT_OK)
        code = EXIT_FAILED;
    answering_close(&w->e.on);
    if (w->text)
        tower_say_cut(w->text);
    vitcl_text_free(w->text);
    vitcl_device_free(w->device);
done:
    return code;
}

static int run(void *into, const words *operands)
{
    find *o = into;
    const words pictures = {.item = operands->item + 1,
                            .count = operands->count - 1};
    work w = {.o = o, .pretty = is_terminal(stdout)};
    int code;

    o->pictures.absent = "words are looked for with --text";
    if (operands->count < 1 || (operands->count < 2 && !o->text.count))
        return usage("name an index (vitcl embed -o FILE.safetensors) and the "
                     "pictures to look for, or --text \"a dog on a beach\"");
    TRY(find_texts(&w.texts, o, &pictures));
    TRY(check(o, &w.texts));
    TRY_VT(vt_index_open(&w.index, operands->item[0]));
    TRY(search(&w, operands->item[0], &pictures));
done:
    lines_free(&w.texts);
    for (uint32_t i = 0; i < GROUP; i++)
        forget(&w, i);
    html_discard(w.page);
    free(w.queries);
    free(w.hits);
    vt_index_free(w.index);
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
