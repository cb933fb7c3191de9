/*
 * cmd_dupes.c - groups of pictures of an index that are nearly the same.
 *
 * A file that is named twice is compared once: who deletes one of a group must
 * not delete the only copy.
 */
#include "base/json_print.h"
#include "base/status.h"
#include "cli/answers/html.h"
#include "cli/pictures/pictures.h"
#include "cli/pictures/row_files.h"

#include <stdlib.h>
#include <string.h>

typedef struct dupes {
    model_options common;
    double least;
    bool json;
    const char *html;
} dupes;

static const opt options[] = {
    OPT_ROW(dupes, 0, "threshold", OPT_REAL, "X",
            "smallest cosine of a pair (default 0.85); 1: the same vectors",
            least),
    OPT_ROW(dupes, 0, "json", OPT_FLAG, NULL,
            "one JSON object per line for each group", json),
    OPT_ROW(dupes, 0, "html", OPT_FILE, "FILE.html",
            "also write a page of the groups", html),
    OPT_DEVICE(dupes), OPT_DONE};

typedef struct work {
    vitcl_index *index;
    vitcl_dupe *row;
    uint64_t rows;
    uint64_t *next; /* the next row of the same group; the row itself: none */
    progress bar;
    html_page *page; /* NULL: none */
    row_counts left;
    row_file *file; /* of the group that is printed, in order */
    size_t room, largest;
    uint64_t looked; /* pictures of groups */
    bool json, pretty;
} work;

static int tell(void *context, uint64_t done, uint64_t total)
{
    work *w = context;

    if (total) { /* the device computes */
        w->bar.total = total;
        progress_show(&w->bar, done, NULL);
        guard_end(); /* do not start again after so much work */
    }
    return stopped();
}

/* ---- printing ---- */

/* Measures the files of the group of row `first`. False: out of memory. */
static bool look_at(work *w, uint64_t first)
{
    size_t n = 1;

    for (uint64_t i = first; w->next[i] != i; i = w->next[i])
        n++;
    if (n > w->room) {
        row_file *more = realloc(w->file, n * sizeof *more);

        if (!more)
            return false;
        w->file = more, w->room = n;
    }
    n = 0;
    for (uint64_t i = first;; i = w->next[i]) {
        row_file_look(&w->file[n++], row_path(w->index, i));
        progress_show(&w->bar, ++w->looked, NULL);
        if (w->next[i] == i)
            break;
    }
    w->largest = row_file_largest(w->file, n);
    progress_clear(&w->bar);
    return true;
}

static void print_json(work *w, uint64_t group, uint64_t first)
{
    size_t n = 0;

    json_put("{group:%llu pictures:[", (unsigned long long)group);
    for (uint64_t i = first;; i = w->next[i], n++) {
        const row_file *f = &w->file[n];
        char date[ROW_FILE_TEXT];

        row_file_date(date, f);
        json_put("{");
        json_path(row_path(w->index, i));
        json_put("cosine:%.9g", (double)w->row[i].cosine);
        vt_json_put_path(&json_results, "nearest", "nearest_bytes",
                         row_path(w->index, w->row[i].nearest));
        if (f->bytes)
            json_put("bytes:%llu changed:%s", (unsigned long long)f->bytes,
                     date);
        if (f->width)
            json_put("width:%u height:%u", f->width, f->height);
        json_put("largest:%i}", n == w->largest);
        if (w->next[i] == i)
            break;
    }
    json_put("]}\n");
}

/* What is known of a file, in columns. */
static void file_text(char size[ROW_FILE_TEXT], char bytes[BYTES_TEXT],
                      char date[ROW_FILE_TEXT], const row_file *f)
{
    size[0] = bytes[0] = '\0';
    if (f->width)
        snprintf(size, ROW_FILE_TEXT, "%ux%u", f->width, f->height);
    if (f->bytes)
        bytes_text(bytes, (double)f->bytes);
    row_file_date(date, f);
}

/* Has each path of the group room behind the columns? */
static bool beside(work *w, uint64_t first)
{
    enum { COLUMNS = 56 };

    for (uint64_t i = first;; i = w->next[i]) {
        const char *path = row_path(w->index, i);

        if (width_of(path, strlen(path)) > terminal_columns() - COLUMNS)
            return false;
        if (w->next[i] == i)
            return true;
    }
}

static void print_text(work *w, uint64_t group, uint64_t first)
{
    const bool below = w->pretty && !beside(w, first);
    char size[ROW_FILE_TEXT], bytes[BYTES_TEXT], date[ROW_FILE_TEXT];
    size_t n = 0;

    if (w->pretty && group > 1)
        printf("\n");
    for (uint64_t i = first;; i = w->next[i], n++) {
        const char *largest = n == w->largest ? "largest" : "";

        file_text(size, bytes, date, &w->file[n]);
        if (w->pretty)
            printf("%.3f  ", (double)w->row[i].cosine);
        if (w->pretty && !below)
            printf("%11s  %7s  %16s  %7s  ", size, bytes, date, largest);
        if (!w->pretty)
            printf("%llu\t%.6f\t", (unsigned long long)group,
                   (double)w->row[i].cosine);
        tsv_text(row_path(w->index, i));
        if (below && w->file[n].bytes)
            printf("\n%18s  %7s  %16s  %s", size, bytes, date, largest);
        if (!w->pretty) {
            printf("\t%s\t", size);
            if (w->file[n].bytes)
                printf("%llu", (unsigned long long)w->file[n].bytes);
            printf("\t%s\t%s", date, largest);
        }
        printf("\n");
        if (w->next[i] == i)
            break;
    }
}

static void add_to_page(work *w, uint64_t group, uint64_t first)
{
    char size[ROW_FILE_TEXT], bytes[BYTES_TEXT], date[ROW_FILE_TEXT];
    char text[32], more[128];
    size_t n = 0;

    snprintf(text, sizeof text, "group %llu", (unsigned long long)group);
    html_section(w->page, text);
    for (uint64_t i = first;; i = w->next[i], n++) {
        const html_item item = {.path = row_path(w->index, i),
                                .title = text,
                                .more = w->file[n].bytes ? more : NULL};

        file_text(size, bytes, date, &w->file[n]);
        snprintf(text, sizeof text, "%.3f", (double)w->row[i].cosine);
        snprintf(more, sizeof more, "%s %s %s%s", size, bytes, date,
                 n == w->largest ? ", the largest" : "");
        html_add(w->page, &item);
        if (w->next[i] == i)
            break;
    }
}

/* Links the rows of each group, in order. */
static int link_rows(work *w)
{
    uint64_t *last = calloc(w->rows + 1, sizeof *last);
    int code = EXIT_OK;

    w->next = calloc(w->rows + 1, sizeof *w->next);
    if (!last || !w->next) {
        code = fail("out of memory");
        goto done;
    }
    for (uint64_t i = 0; i < w->rows; i++) {
        const uint64_t first = w->row[i].group;

        w->next[last[first]] = first == i ? w->next[last[first]] : i;
        w->next[i] = last[first] = i;
    }
done:
    free(last);
    return code;
}

static void tell_counts(const work *w, uint64_t pictures, uint64_t groups)
{
    const uint64_t out = w->left.empty;
    char left[64] = "";

    if (out)
        snprintf(left, sizeof left, "; %llu without a vector left out",
                 (unsigned long long)out);
    note("%llu picture%s in %llu group%s, of %llu compared%s",
         (unsigned long long)pictures, vt_plural(pictures),
         (unsigned long long)groups, vt_plural(groups),
         (unsigned long long)(w->rows - out - w->left.again - w->left.gone),
         left);
}

static int print(work *w)
{
    uint64_t groups = 0, pictures = 0;
    html_page *page;

    RET(link_rows(w));
    for (uint64_t i = 0; i < w->rows; i++)
        pictures += w->row[i].nearest != i;
    progress_start(&w->bar, "pictures", pictures);
    for (uint64_t i = 0; i < w->rows; i++) {
        if (w->row[i].group != i || w->next[i] == i)
            continue;
        if (stopped())
            return EXIT_STOPPED;
        if (!look_at(w, i))
            return fail("out of memory");
        groups++;
        (w->json ? print_json : print_text)(w, groups, i);
        if (w->page)
            add_to_page(w, groups, i);
    }
    if (w->pretty || is_terminal(stderr))
        tell_counts(w, pictures, groups);
    page = w->page, w->page = NULL;
    return page ? html_close(page,
                             "Near-duplicates, and the cosine of each with "
                             "the nearest in its group")
                : EXIT_OK;
}

/* ---- running ---- */

static int compare(work *w, const dupes *o)
{
    vitcl_device *device = NULL;
    int code;

    catch_stop();
    guard_begin();
    TRY(vitcl_device_open(&device, o->common.device));
    progress_start(&w->bar, "tiles", 0);
    TRY(code_of(vitcl_index_dupes(w->row, w->index, device,
                                  o->least > 0 ? o->least : VITCL_DUPES_LEAST,
                                  tell, w)));
done:
    progress_clear(&w->bar);
    guard_end();
    vitcl_device_free(device);
    return code;
}

static int run(void *into, const words *operands)
{
    const dupes *o = into;
    work w = {.json = o->json, .pretty = is_terminal(stdout)};
    vitcl_index_info info = {.size = sizeof info};
    int code;

    if (operands->count != 1)
        return usage("name one index (vitcl embed -o FILE.safetensors)");
    if (o->least > 1)
        return usage("--threshold must be at most 1, the cosine of equal "
                     "vectors");
    TRY(vitcl_index_open(&w.index, operands->item[0]));
    TRY(vitcl_index_describe(&info, w.index));
    if (info.rank > 1)
        TRY(fail("%s: the index has many vectors of each picture; dupes "
                 "needs one vector: embed --features pooled or class",
                 operands->item[0]));
    w.rows = info.rows;
    w.row = calloc(w.rows + 1, sizeof *w.row);
    if (!w.row)
        TRY(fail("out of memory"));
    TRY(compare(&w, o));
    w.left = row_files_tell(w.index, w.row, w.rows);
    if (o->html && !(w.page = html_open(o->html, "vitcl dupes")))
        TRY(EXIT_FAILED);
    TRY(print(&w));
done:
    html_discard(w.page);
    free(w.next);
    free(w.file);
    free(w.row);
    vitcl_index_free(w.index);
    return code;
}

const command cmd_dupes = {
    "dupes",
    "INDEX",
    "Find groups of near-duplicate pictures",
    "INDEX is a file of `vitcl embed -o FILE.safetensors`. All pairs of its "
    "vectors are compared, each file once, however many names it has; files "
    "that no longer exist are left out. Two pictures are in a group if their "
    "cosine is at least the threshold, or if others connect them. In a pipe "
    "each picture is a line: group, cosine with the nearest picture, path, "
    "resolution, bytes, date and \"largest\" for the largest of the group, "
    "separated by tabs.",
    options,
    sizeof(dupes),
    run};
