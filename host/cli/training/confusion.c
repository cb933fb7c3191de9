/*
 * confusion.c - which classes are taken for which.
 */
#include "confusion.h"

#include "base/csv.h"
#include "cli/terminal/terminal.h"
#include "parts/partition.h"
#include "plot/figure.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAIRS_SHOWN = 20, NAME_MOST = 24 };

void confusion_free(confusion *c)
{
    free(c->name);
    free(c->number);
    free(c->count);
    free(c->score);
    *c = (confusion){0};
}

/* ---- counts ---- */

/* column[t->columns]: of each class of the model; UINT32_MAX: none. */
static uint32_t number_columns(uint32_t *column, const vt_tally *t)
{
    uint32_t columns = t->rows;

    for (uint32_t k = 0; k < t->columns; k++)
        column[k] = UINT32_MAX;
    for (uint32_t i = t->rows; i-- > 0;)
        column[t->match[i]] = i;
    for (uint32_t k = 0; k < t->columns; k++)
        for (uint32_t i = 0; i < t->rows && column[k] == UINT32_MAX; i++)
            if (t->answers[(size_t)i * t->columns + k] > 0)
                column[k] = columns++;
    return columns;
}

static void name_columns(confusion *c, const uint32_t *column,
                         const vt_tally *t)
{
    for (uint32_t i = 0; i < c->rows; i++)
        c->name[i] = t->name[i];
    for (uint32_t k = 0; k < t->columns; k++) {
        const uint32_t at = column[k];

        if (at == UINT32_MAX || at < c->rows)
            continue;
        c->name[at] = t->label[k];
        if (!c->name[at]) {
            snprintf(c->number[at], sizeof c->number[at], "%u", k);
            c->name[at] = c->number[at];
        }
    }
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static void score(confusion *c)
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < c->rows; i++) {
        class_score *s = &c->score[i];
        uint64_t answered = 0;

        s->right = c->count[(size_t)i * c->columns + i];
        for (uint32_t k = 0; k < c->columns; k++)
            s->pictures += c->count[(size_t)i * c->columns + k];
        for (uint32_t r = 0; r < c->rows; r++)
            answered += c->count[(size_t)r * c->columns + i];
        s->precision = share(s->right, answered);
        s->recall = share(s->right, s->pictures);
        s->f1 = share(2 * s->right, answered + s->pictures);
        if (s->pictures == 0)
            continue;
        used++;
        c->macro.pictures += s->pictures;
        c->macro.right += s->right;
        c->macro.precision += s->precision;
        c->macro.recall += s->recall;
        c->macro.f1 += s->f1;
    }
    if (used == 0)
        return;
    c->macro.precision /= used;
    c->macro.recall /= used;
    c->macro.f1 /= used;
}

int confusion_make(confusion *out, const vt_tally *t)
{
    confusion c = {.rows = t->rows};
    uint32_t *column = calloc((size_t)t->columns + 1, sizeof *column);
    int code;

    if (column) {
        const size_t n = number_columns(column, t);

        c.columns = (uint32_t)n;
        c.name = calloc(n + 1, sizeof *c.name);
        c.number = calloc(n + 1, sizeof *c.number);
        c.count = calloc((size_t)c.rows * n + 1, sizeof *c.count);
        c.score = calloc((size_t)c.rows + 1, sizeof *c.score);
    }
    if (!c.name || !c.number || !c.count || !c.score) {
        code = fail("out of memory for %u classes", c.rows);
        goto done;
    }
    for (uint32_t i = 0; i < c.rows; i++)
        for (uint32_t k = 0; k < t->columns; k++) {
            /* where two classes are one of the model's, each has its own */
            const uint32_t at = t->match[i] == k ? i : column[k];
            const uint32_t n = t->answers[(size_t)i * t->columns + k];

            if (n)
                c.count[(size_t)i * c.columns + at] = n;
        }
    name_columns(&c, column, t);
    score(&c);
    *out = c, c = (confusion){0};
    code = EXIT_OK;
done:
    confusion_free(&c);
    free(column);
    return code;
}

/* ---- pairs ---- */

typedef struct pair {
    unsigned count;
    uint32_t row, column;
} pair;

static int by_count(const void *a, const void *b)
{
    const pair *x = a, *y = b;

    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

/* Wrong answers, the most frequent first; NULL: none, or out of memory. */
static pair *make_pairs(size_t *n, const confusion *c)
{
    const size_t cells = (size_t)c->rows * c->columns;
    size_t count = 0;
    pair *p;

    *n = 0;
    for (size_t i = 0; i < cells; i++)
        count += c->count[i] > 0 && i / c->columns != i % c->columns;
    p = count ? calloc(count, sizeof *p) : NULL;
    if (!p)
        return NULL;
    for (size_t i = 0; i < cells; i++)
        if (c->count[i] > 0 && i / c->columns != i % c->columns)
            p[(*n)++] = (pair){c->count[i], (uint32_t)(i / c->columns),
                               (uint32_t)(i % c->columns)};
    qsort(p, *n, sizeof *p, by_count);
    return p;
}

/* ---- to a terminal ---- */

/* What fits into `most` columns, and spaces up to `wide`. */
static void put_name(const char *s, size_t most, size_t wide, bool right)
{
    int used;
    const size_t bytes = fitting(s, strlen(s), (int)most, &used);
    const int space = (int)wide - used;

    if (right)
        printf("%*s", space, "");
    put_text(s, bytes);
    if (!right)
        printf("%*s", space, "");
}

static size_t widest(const confusion *c, size_t n)
{
    size_t most = 5; /* "class", "macro" */

    for (size_t i = 0; i < n; i++) {
        const size_t w = (size_t)width_of(c->name[i], strlen(c->name[i]));

        most = w > most ? w : most;
    }
    return most < NAME_MOST ? most : NAME_MOST;
}

static void score_row(const char *name, const class_score *s, size_t wide)
{
    put_name(name, wide, wide, false);
    printf("  %8llu  %9.4f  %6.4f  %6.4f\n", (unsigned long long)s->pictures,
           s->precision, s->recall, s->f1);
}

static void show_scores(const confusion *c)
{
    const size_t wide = widest(c, c->rows);

    printf("\n%-*s  pictures  precision  recall      F1\n", (int)wide, "class");
    for (uint32_t i = 0; i < c->rows; i++)
        score_row(c->name[i], &c->score[i], wide);
    score_row("macro", &c->macro, wide);
}

/* The width of a cell; 0: the table does not fit. */
static size_t cell_width(const confusion *c, size_t names)
{
    const size_t width = (size_t)columns_of(stdout);
    char digits[16];
    size_t most = 1, least, room;

    for (size_t i = 0; i < (size_t)c->rows * c->columns; i++) {
        const size_t n =
            (size_t)snprintf(digits, sizeof digits, "%u", c->count[i]);

        most = n > most ? n : most;
    }
    least = (most > 3 ? most : 3) + 1; /* and some letters of the names */
    if (c->columns == 0 || names >= width)
        return 0;
    room = (width - names) / c->columns;
    if (room < least)
        return 0;
    most = widest(c, c->columns) + 2;
    return room < most ? room : most > least ? most : least;
}

static void show_matrix(const confusion *c, size_t names, size_t cell)
{
    printf("\nrows: class, columns: answer\n%*s", (int)names, "");
    for (uint32_t k = 0; k < c->columns; k++)
        put_name(c->name[k], cell - 1, cell, true);
    putchar('\n');
    for (uint32_t i = 0; i < c->rows; i++) {
        put_name(c->name[i], names, names, false);
        for (uint32_t k = 0; k < c->columns; k++) {
            const unsigned n = c->count[(size_t)i * c->columns + k];

            if (n)
                printf("%*u", (int)cell, n);
            else
                printf("%*s", (int)cell, ".");
        }
        putchar('\n');
    }
}

static void show_pairs(const confusion *c)
{
    const size_t wide = widest(c, c->columns);
    size_t n;
    pair *p = make_pairs(&n, c);

    if (n > 0)
        printf("\n%zu pair%s confused%s\n%-*s  %-*s  pictures\n", n,
               n == 1 ? " is" : "s are", n > PAIRS_SHOWN ? "; most often" : "",
               (int)wide, "class", (int)wide, "answer");
    for (size_t i = 0; i < n && i < PAIRS_SHOWN; i++) {
        put_name(c->name[p[i].row], wide, wide, false);
        printf("  ");
        put_name(c->name[p[i].column], wide, wide, false);
        printf("  %8u\n", p[i].count);
    }
    free(p);
}

/* ---- to a pipe ---- */

static void tsv_row(const char *name, const class_score *s)
{
    tsv_text(name);
    printf("\t%llu\t%.6f\t%.6f\t%.6f\n", (unsigned long long)s->pictures,
           s->precision, s->recall, s->f1);
}

static void print_tsv(const confusion *c)
{
    size_t n;
    pair *p = make_pairs(&n, c);

    printf("class\tpictures\tprecision\trecall\tf1\n");
    for (uint32_t i = 0; i < c->rows; i++)
        tsv_row(c->name[i], &c->score[i]);
    tsv_row("macro", &c->macro);
    printf("class\tanswer\tpictures\n");
    for (size_t i = 0; i < n; i++) {
        tsv_text(c->name[p[i].row]);
        putchar('\t');
        tsv_text(c->name[p[i].column]);
        printf("\t%u\n", p[i].count);
    }
    free(p);
}

void confusion_print(const confusion *c)
{
    const size_t names = widest(c, c->rows);
    size_t cell;

    if (!is_terminal(stdout)) {
        print_tsv(c);
        return;
    }
    show_scores(c);
    cell = cell_width(c, names);
    if (cell)
        show_matrix(c, names, cell);
    else
        show_pairs(c);
}

/* ---- JSON ---- */

static void json_scores(const class_score *s)
{
    json_put("precision:%.9g recall:%.9g f1:%.9g", s->precision, s->recall,
             s->f1);
}

static void json_class(const confusion *c, const vt_tally *t, uint32_t row)
{
    const class_score *s = &c->score[row];

    json_put("{class:%s pictures:%llu right:%llu", c->name[row],
             (unsigned long long)s->pictures, (unsigned long long)s->right);
    json_scores(s);
    json_put("answers:{"); /* by the model's numbers */
    for (uint32_t k = 0; k < t->columns; k++) {
        const uint32_t n = t->answers[(size_t)row * t->columns + k];

        if (n > 0)
            json_put("'%u':%u", k, n);
    }
    json_put("}}");
}

void confusion_json(const confusion *c, const vt_tally *t)
{
    size_t n;
    pair *p = make_pairs(&n, c);

    json_put("macro:{");
    json_scores(&c->macro);
    json_put("} per_class:[");
    for (uint32_t i = 0; i < c->rows; i++)
        json_class(c, t, i);
    json_put("] confused:[");
    for (size_t i = 0; i < n; i++)
        json_put("{class:%s answer:%s pictures:%u}", c->name[p[i].row],
                 c->name[p[i].column], p[i].count);
    json_put("]");
    free(p);
}

/* ---- files ---- */

static bool is_csv(const char *path)
{
    const size_t n = strlen(path);

    return n > 4 && strcmp(path + n - 4, ".csv") == 0;
}

int confusion_ready(const char *path)
{
    return is_csv(path) ? EXIT_OK : code_of(vt_figure_ready());
}

static int write_csv(const confusion *c, const char *path)
{
    vt_part *part = NULL;
    FILE *f;
    int code;

    RET(vt_part_open(&part, path));
    f = vt_part_stream(part);
    fputs("class", f);
    for (uint32_t k = 0; k < c->columns; k++) {
        fputc(',', f);
        vt_csv_put(f, c->name[k], VT_CSV_TEXT, false);
    }
    for (uint32_t i = 0; i < c->rows; i++) {
        fputc('\n', f);
        vt_csv_put(f, c->name[i], VT_CSV_TEXT, false);
        for (uint32_t k = 0; k < c->columns; k++)
            fprintf(f, ",%u", c->count[(size_t)i * c->columns + k]);
    }
    fputc('\n', f);
    code = code_of(vt_part_commit(part));
    vt_part_free(part);
    return code;
}

int confusion_write(const confusion *c, const char *path)
{
    const vt_matrix matrix = {.row_title = "class",
                              .column_title = "answer",
                              .row = c->name,
                              .column = c->name,
                              .rows = c->rows,
                              .columns = c->columns,
                              .count = c->count};

    if (is_csv(path))
        return write_csv(c, path);
    return code_of(vt_matrix_write(&matrix, path));
}
