/*
 * cmd_dupes.c - groups of pictures of an index that are nearly the same.
 *
 * In a pipe there is one line per picture: group, cosine, path, separated by
 * tabs.
 */
#include "cmd.h"
#include "html.h"
#include "index/index.h"

#include <stdlib.h>

/* docs/search.md has what it finds and what it misses. */
#define LEAST 0.85

typedef struct dupes {
    model_options common;
    double least;
    bool json;
    const char *html;
} dupes;

static const opt options[] = {
    {0, "threshold", OPT_REAL, "X",
     "smallest cosine of a pair (default 0.85); 1: the same vectors",
     offsetof(dupes, least)},
    {0, "json", OPT_FLAG, NULL, "one JSON object a line, a group each",
     offsetof(dupes, json)},
    {0, "html", OPT_FILE, "FILE.html", "also write a page of the groups",
     offsetof(dupes, html)},
    OPT_DEVICE(dupes),
    OPT_DONE};

typedef struct work {
    const vt_index *index;
    vt_pairs pairs;
    uint64_t *next; /* the next row of the same group; the row itself: none */
    progress bar;
    html_page *page; /* NULL: none */
    bool json, pretty;
} work;

static int tell(void *context, uint64_t done, uint64_t total)
{
    work *w = context;

    w->bar.total = total;
    progress_show(&w->bar, done, NULL);
    guard_end(); /* do not start again after so much work */
    return stopped();
}

/* ---- printing ---- */

static void print_json(const work *w, uint64_t group, uint64_t first)
{
    printf("{\"group\":%llu,\"pictures\":[", (unsigned long long)group);
    for (uint64_t i = first;; i = w->next[i]) {
        printf("%s{\"picture\":", i == first ? "" : ",");
        json_string(vt_index_path(w->index, i));
        printf(",\"cosine\":");
        json_number((double)w->pairs.cosine[i]);
        printf(",\"nearest\":");
        json_string(vt_index_path(w->index, w->pairs.near_row[i]));
        printf("}");
        if (w->next[i] == i)
            break;
    }
    printf("]}\n");
}

static void print_text(const work *w, uint64_t group, uint64_t first)
{
    if (w->pretty && group > 1)
        printf("\n");
    for (uint64_t i = first;; i = w->next[i]) {
        if (w->pretty)
            printf("%.3f  ", (double)w->pairs.cosine[i]);
        else
            printf("%llu\t%.6f\t", (unsigned long long)group,
                   (double)w->pairs.cosine[i]);
        tsv_text(vt_index_path(w->index, i));
        printf("\n");
        if (w->next[i] == i)
            break;
    }
}

static void add_to_page(const work *w, uint64_t group, uint64_t first)
{
    char text[32];

    snprintf(text, sizeof text, "group %llu", (unsigned long long)group);
    html_section(w->page, text);
    for (uint64_t i = first;; i = w->next[i]) {
        const html_item item = {.path = vt_index_path(w->index, i),
                                .title = text};

        snprintf(text, sizeof text, "%.3f", (double)w->pairs.cosine[i]);
        html_add(w->page, &item);
        if (w->next[i] == i)
            break;
    }
}

/* Links the rows of each group, in order. */
static int link_rows(work *w, uint64_t rows)
{
    uint64_t *last = calloc(rows + 1, sizeof *last);

    w->next = calloc(rows + 1, sizeof *w->next);
    if (!last || !w->next) {
        free(last);
        return fail("out of memory");
    }
    for (uint64_t i = 0; i < rows; i++) {
        const uint64_t first = w->pairs.group[i];

        w->next[last[first]] = first == i ? w->next[last[first]] : i;
        w->next[i] = last[first] = i;
    }
    free(last);
    return EXIT_OK;
}

static void tell_counts(const work *w, uint64_t pictures, uint64_t groups,
                        uint64_t rows)
{
    const uint64_t out = w->pairs.left_out, compared = rows - out;
    char left[64] = "";

    if (out)
        snprintf(left, sizeof left, "; %llu without a vector left out",
                 (unsigned long long)out);
    note("%llu picture%s in %llu group%s, of %llu compared%s",
         (unsigned long long)pictures, plural(pictures),
         (unsigned long long)groups, plural(groups),
         (unsigned long long)compared, left);
}

static int print(work *w, uint64_t rows)
{
    uint64_t groups = 0, pictures = 0;

    if (link_rows(w, rows) != EXIT_OK)
        return EXIT_FAILED;
    for (uint64_t i = 0; i < rows; i++) {
        pictures += w->pairs.near_row[i] != i;
        if (w->pairs.group[i] != i || w->next[i] == i)
            continue;
        groups++;
        (w->json ? print_json : print_text)(w, groups, i);
        if (w->page)
            add_to_page(w, groups, i);
    }
    if (w->pretty || is_terminal(stderr))
        tell_counts(w, pictures, groups, rows);
    if (w->page) {
        html_page *page = w->page;

        w->page = NULL;
        return html_close(page, "Near-duplicates, and the cosine of each with "
                                "the nearest in its group");
    }
    return EXIT_OK;
}

/* ---- running ---- */

static int compare(work *w, const dupes *o)
{
    const float least = vt_cosine_threshold(o->least > 0 ? o->least : LEAST);
    vitcl_status st;

    if (vt_index_given(w->index))
        return fail("the index has all tokens of each picture; dupes needs one "
                    "vector: embed --features pooled or class");
    catch_stop();
    guard_begin();
    progress_start(&w->bar, "tiles", 0);
    st = vt_index_pairs(&w->pairs, w->index, o->common.device, least, tell, w);
    progress_clear(&w->bar);
    guard_end();
    if (st == VITCL_ESTOPPED)
        return EXIT_STOPPED;
    if (st != VITCL_OK)
        return failed();
    if (o->html && !(w->page = html_open(o->html, "vitcl dupes")))
        return EXIT_FAILED;
    return print(w, vt_index_count(w->index));
}

static int run(void *into, const words *operands)
{
    const dupes *o = into;
    vt_index *index = NULL;
    work w = {.json = o->json, .pretty = is_terminal(stdout)};
    int code;

    if (operands->count != 1)
        return usage("name one index (vitcl embed -o FILE.safetensors)");
    if (o->least > 1)
        return usage("--threshold must be at most 1, the cosine of equal "
                     "vectors");
    if (vt_index_open(&index, operands->item[0]) != VITCL_OK)
        return failed();
    w.index = index;
    code = compare(&w, o);
    html_discard(w.page);
    free(w.next);
    vt_pairs_free(&w.pairs);
    vt_index_free(index);
    return code;
}

const command cmd_dupes = {
    "dupes",
    "INDEX",
    "Find groups of near-duplicate pictures",
    "INDEX is a file of `vitcl embed -o FILE.safetensors`. All pairs of its "
    "vectors are\ncompared. Two pictures are in a group if their cosine is at "
    "least the threshold, or\nif others connect them. In a pipe each picture "
    "is a line: group, cosine with the\nnearest picture, path, separated by "
    "tabs.",
    options,
    sizeof(dupes),
    run};
