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
    {0, "text", OPT_LIST, "TEXT",
     "look for what this says, such as \"a dog on a beach\"; may be repeated",
     offsetof(find, text)},
    OPT_LOWER(find),
    {'k', "top", OPT_COUNT, "N", "pictures to find for each (default 10)",
     offsetof(find, k)},
    {0, "threshold", OPT_COSINE, "COSINE",
     "only pictures with at least this cosine, from -1 to 1",
     offsetof(find, least)},
    {0, "json", OPT_FLAG, NULL, "one JSON object per line",
     offsetof(find, json)},
    {0, "html", OPT_FILE, "FILE.html", "also write a page of the pictures",
     offsetof(find, html)},
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

typedef struct work {
    embedding e;
    const find *o;
    vt_index *index;
    html_page *page; /* NULL: none */
    bool pretty;
    uint32_t k, count; /* count: queries that wait */
    bool texts;        /* the queries are texts, which path[] has */
    char *path[GROUP];
    vitcl_image small[GROUP]; /* thumbnails, for the page */
    float *queries;
    vt_hit *hits;
    uint32_t found[GROUP];
    bool broken; /* an answer could not be taken */
    vt_places places;
} work;

static const char *path_of(work *w, uint64_t row)
{
    bool moved;

    return vt_place(&w->places, row, &moved);
}

/* ---- printing ---- */

static void print_json(work *w, uint32_t q, const vt_hit *hits)
{
    putchar('{');
    if (w->texts) {
        printf("\"text\":");
        json_string(w->path[q]);
    } else {
        json_path(w->path[q]);
    }
    printf(",\"nearest\":[");
    for (uint32_t i = 0; i < w->found[q]; i++) {
        printf("%s{", i ? "," : "");
        json_path(path_of(w, hits[i].row));
        printf(",\"cosine\":");
        json_number((double)hits[i].cosine);
        printf("}");
    }
    printf("]}\n");
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
    if (!w->texts)
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

/* Where a stop is caught, and so removes the file. */
static int open_page(work *w)
{
    return w->o->html && !(w->page = html_open(w->o->html, "vitcl search"))
               ? EXIT_FAILED
               : EXIT_OK;
}

static bool is_zero(const float *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i] != 0)
            return false;
    return true;
}

static int take(work *w, answer *a)
{
    const size_t n = w->e.on.used;
    int code = EXIT_OK;

    if (!a->error && is_zero(a->numbers, n)) {
        a->error = "its vector is zero, and has no direction";
        say_failure(a);
    }
    if (a->error) { /* in input order */
        code = look(w);
        print_error(w, a);
        return code;
    }
    memcpy(w->queries + w->count * n, a->numbers, n * sizeof *a->numbers);
    w->path[w->count] = strdup(a->path);
    if (!w->path[w->count])
        return fail("out of memory");
    w->small[w->count] = copy(&a->small);
    if (++w->count == GROUP || answering_waits(&w->e.on))
        code = look(w);
    return code;
}

static int answer_all(work *w)
{
    answer *a;
    int code = EXIT_OK;

    while (code == EXIT_OK && (a = answering_next(&w->e.on)))
        code = take(w, a);
    w->broken = code != EXIT_OK;
    code = answering_end(&w->e.on, code);
    if (code == EXIT_OK)
        code = finish(w);
    return code == EXIT_OK ? answering_failures(&w->e.on) : code;
}

/* ---- texts ---- */

static int look_for(work *w, vitcl_text *text, const text_list *texts)
{
    const size_t width = vt_index_width(w->index);
    int code;

    catch_stop();
    code = open_page(w);
    for (size_t i = 0; i < texts->count && code == EXIT_OK; i += GROUP) {
        const size_t n = texts->count - i < GROUP ? texts->count - i : GROUP;

        code = code_of(vitcl_text_embed(w->queries, text,
                                        (const char *const *)texts->item + i,
                                        (uint32_t)n));
        if (code != EXIT_OK)
            return code;
        guard_end(); /* do not restart after printing */
        for (size_t q = 0; q < n; q++) {
            if (is_zero(w->queries + q * width, width))
                return fail("'%.80s': its vector is zero, and has no direction",
                            texts->item[i + q]);
            w->path[w->count] = strdup(texts->item[i + q]);
            if (!w->path[w->count++])
                return fail("out of memory");
        }
        code = look(w);
    }
    return code == EXIT_OK ? finish(w) : code;
}

/* May the vectors of this model's texts be compared with the index? */
static int agree(work *w, const vt_about *a)
{
    vitcl_model *model = NULL;
    vt_about own;
    int code = open_model(NULL, &model, w->e.on.common);

    if (code == EXIT_OK)
        code = embedding_about(&own, &w->e, model, a->normalized);
    if (code == EXIT_OK && vt_index_agrees(w->index, &own) != VITCL_OK)
        code = fail("%s; name its model with -m", vitcl_last_error());
    vitcl_model_free(model);
    return code;
}

static int search_texts(work *w, const vt_about *a, const text_list *texts)
{
    const uint32_t width = vt_index_width(w->index);
    const model_options *common = w->e.on.common;
    vitcl_text_info info = {.size = sizeof info};
    vitcl_device *device = NULL;
    vitcl_text *text = NULL;
    int code;

    if (strcmp(a->feature, "pooled") != 0)
        return fail("%s: its vectors are --features %s, with which texts "
                    "cannot be compared; embed the pictures without --features",
                    vt_index_file(w->index), a->feature);
    w->texts = true;
    w->queries = malloc((size_t)GROUP * width * sizeof *w->queries);
    w->hits = malloc((size_t)GROUP * w->k * sizeof *w->hits);
    code = !w->queries || !w->hits ? fail("out of memory") : agree(w, a);
    if (code == EXIT_OK)
        code = open_device(&device, common->device);
    if (code == EXIT_OK)
        code = tower_open(&text, device, common, &w->o->texts, "--text",
                          texts->count);
    if (code == EXIT_OK && vitcl_text_describe(&info, text) != VITCL_OK)
        code = failed();
    if (code == EXIT_OK && info.features != width)
        code = fail("the index has %u numbers a vector, this model's texts %u",
                    width, info.features);
    if (code == EXIT_OK)
        code = look_for(w, text, texts);
    tower_say_cut(text);
    vitcl_text_free(text);
    vitcl_device_free(device);
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
    if (pictures_check(p) != EXIT_OK)
        return EXIT_USAGE;
    if (!texts->count && o->texts.lower)
        return usage("--lower-case belongs to texts, not to pictures");
    if (texts->count && other)
        return usage("texts are looked for, not pictures; leave %s out", other);
    return EXIT_OK;
}

/* ---- running ---- */

static int prepare(work *w, const vt_about *a)
{
    vt_about own;
    int code = embedding_open(&w->e);

    if (code == EXIT_OK)
        code = embedding_about(&own, &w->e, NULL, a->normalized);
    if (code != EXIT_OK)
        return code;
    if (vt_index_agrees(w->index, &own) != VITCL_OK)
        return fail("%s; name its model with -m", vitcl_last_error());
    if (vt_index_width(w->index) != w->e.on.used)
        return fail("the index has vectors of %u numbers, this model of %zu",
                    vt_index_width(w->index), w->e.on.used);
    if (w->o->html)
        batches_thumbnails(w->e.on.batches, HTML_SIDE);
    w->queries = malloc(GROUP * w->e.on.used * sizeof *w->queries);
    w->hits = malloc((size_t)GROUP * w->k * sizeof *w->hits);
    if (!w->queries || !w->hits)
        return fail("out of memory");
    code = answering_start(&w->e.on);
    return code == EXIT_OK ? open_page(w) : code;
}

static int search(work *w, const char *name, const words *pictures,
                  const text_list *texts)
{
    const vt_about *a = vt_index_about(w->index);
    const uint64_t rows = vt_index_count(w->index);
    model_options common = w->o->common;
    int code;

    if (vt_index_shape(w->index).columns)
        return fail("%s: the index has many vectors of each picture; search "
                    "needs one vector: embed --features pooled or class",
                    name);
    code = embedding_of_index(&common, a, name);
    if (code != EXIT_OK)
        return code;
    vt_places_open(&w->places, w->index);
    w->k = w->o->k ? w->o->k : 10;
    w->k = w->k < rows ? w->k : rows ? (uint32_t)rows : 1;
    w->e.what = a->feature;
    w->e.on = (answering){.common = &common,
                          .operands = pictures,
                          .pictures = &w->o->pictures,
                          .done = "looked for",
                          .said = true}; /* by embed */
    if (texts->count)
        return search_texts(w, a, texts);
    code = prepare(w, a);
    if (code == EXIT_OK)
        code = answer_all(w);
    /* what there is after Ctrl-C or a failure */
    if (code != EXIT_OK && w->e.on.count && !w->broken &&
        (w->count || w->page) && finish(w) != EXIT_OK)
        code = EXIT_FAILED;
    answering_close(&w->e.on);
    return code;
}

static int run(void *into, const words *operands)
{
    find *o = into;
    const words pictures = {.item = operands->item + 1,
                            .count = operands->count - 1};
    text_list texts = {NULL, 0};
    work w = {.o = o, .pretty = is_terminal(stdout)};
    int code;

    o->pictures.absent = "words are looked for with --text";
    if (operands->count < 1 || (operands->count < 2 && !o->text.count))
        return usage("name an index (vitcl embed -o FILE.safetensors) and the "
                     "pictures to look for, or --text \"a dog on a beach\"");
    code = find_texts(&texts, o, &pictures);
    if (code == EXIT_OK)
        code = check(o, &texts);
    if (code == EXIT_OK)
        code = vt_index_open(&w.index, operands->item[0]) == VITCL_OK
                   ? search(&w, operands->item[0], &pictures, &texts)
                   : failed();
    lines_free(&texts);
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
