/*
 * table.c - the pictures that a table (CSV) names, with their labels and parts.
 *
 * The first row names the columns: path or file_name, label and, for data with
 * parts, split, or as vt_dataset_options says; others are passed over. Rows of
 * all parts are checked and give the classes; files are looked at only in the
 * part that is read.
 */
#include "base/csv.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/utf8.h"
#include "data/dataset_private.h"
#include "walk/seen.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define TABLE_MAX ((size_t)1 << 30)
enum { COLUMNS = 64, LABEL_MAX = 255 /* as for a folder's name */ };

enum { TRAIN, VAL, TEST, PARTS, NO_PARTS = PARTS };

typedef struct row {
    const char *path, *label;
    uint32_t line, part;
} row;

typedef struct table {
    const char *name; /* the file's, for messages */
    const char *form; /* lines such as label=NAME; NULL: as usual */
    char *folder;
    vt_file file;
    size_t path, label, split; /* columns; split may be COLUMNS: none */
    size_t columns;            /* that the first row names */
    row *row;
    size_t count, cap;
    size_t rows[PARTS + 1];
    vt_seen seen;
} table;

static void close_table(table *t)
{
    vt_seen_free(&t->seen);
    vt_file_close(&t->file);
    free(t->folder);
    free(t->row);
}

/* ---- rows ---- */

/* Of a text that may be long only what a message has room for. */
static vitcl_status wrong(const table *t, uint32_t line, const char *what,
                          const char *text, const char *why)
{
    return vt_fail(VITCL_ECORRUPT, "%.200s: line %u: %s '%.120s'%s", t->name,
                   line, what, text, why);
}

/* What the form says of this key, such as "label"; *n: its length. NULL:
 * nothing. */
static const char *told(size_t *n, const table *t, const char *key)
{
    const size_t k = strlen(key);
    const char *line = t->form;

    while (line && !(strncmp(line, key, k) == 0 && line[k] == '=')) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    line = line ? line + k + 1 : NULL;
    *n = line ? strcspn(line, "\n") : 0;
    return line;
}

/* other: a second name of the column, or NULL. *at: COLUMNS where it is
 * missing. */
static vitcl_status find_column(size_t *at, const table *t, char *const *field,
                                const char *name, const char *other,
                                uint32_t line)
{
    *at = COLUMNS;
    for (size_t i = 0; i < VT_MIN(t->columns, (size_t)COLUMNS); i++) {
        if (strcasecmp(field[i], name) != 0 &&
            !(other && strcasecmp(field[i], other) == 0))
            continue;
        if (*at != COLUMNS)
            return vt_fail(VITCL_ECORRUPT,
                           "line %u: two columns '%s'%s%s%s; leave one out",
                           line, name, other ? " or '" : "", other ? other : "",
                           other ? "'" : "");
        *at = i;
    }
    return VITCL_OK;
}

/* The first row has no such column. */
static vitcl_status no_column(const table *t, char *const *field,
                              const char *key, const char *name, uint32_t line)
{
    enum { SHOWN = 8, LONGEST = 32 };
    const size_t n = VT_MIN(t->columns, (size_t)SHOWN);
    char list[SHOWN * (LONGEST + 4) + 1] = "none";

    for (size_t i = 0, at = 0; i < n; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s'%.*s'",
                               i ? ", " : "", LONGEST, field[i]);
    return vt_fail(VITCL_ECORRUPT,
                   "line %u: no column '%.80s'; its columns: %s%s; --column "
                   "%s%sNAME names another, --sep what is between them",
                   VT_MAX(line, 1u), name, list, t->columns > n ? ", ..." : "",
                   strcmp(key, "label") == 0 ? "" : key,
                   strcmp(key, "label") == 0 ? "" : "=");
}

/* The column of this key. *at: COLUMNS if it is missing, and need not be
 * there. */
static vitcl_status take_column(size_t *at, const table *t, char *const *field,
                                const char *key, uint32_t line)
{
    size_t n;
    const char *name = told(&n, t, key), *other = NULL;
    vitcl_status st = VITCL_OK;
    char *given = NULL;

    if (name)
        VT_TRY(vt_format(&given, "%.*s", (int)n, name));
    else if (strcmp(key, "path") == 0)
        other = "file_name";
    VT_TRY(find_column(at, t, field, given ? given : key, other, line));
    if (*at == COLUMNS && (given || strcmp(key, "split") != 0))
        st = no_column(t, field, key, given ? given : key, line);
done:
    free(given);
    return st;
}

static vitcl_status read_header(table *t, vt_csv_text *text)
{
    char *field[COLUMNS];
    vitcl_status st;

    VT_TRY(vt_csv_row(field, &t->columns, COLUMNS, text));
    VT_TRY(take_column(&t->path, t, field, "path", text->line));
    VT_TRY(take_column(&t->label, t, field, "label", text->line));
    VT_TRY(take_column(&t->split, t, field, "split", text->line));
done:
    return st == VITCL_OK ? st : vt_fail_in(st, "%s", t->name);
}

/* PARTS: it is none. */
static uint32_t part_of(const char *split)
{
    static const struct {
        const char *name;
        uint32_t part;
    } all[] = {{"train", TRAIN},
               {"val", VAL},
               {"valid", VAL},
               {"validation", VAL},
               {"test", TEST}};

    for (size_t i = 0; i < VT_COUNT(all); i++)
        if (strcasecmp(split, all[i].name) == 0)
            return all[i].part;
    return PARTS;
}

static vitcl_status read_row(row *r, const table *t, char *const *field)
{
    r->path = field[t->path], r->label = field[t->label];
    r->part = NO_PARTS;
    if (!*r->path)
        return vt_fail(VITCL_ECORRUPT, "%.200s: line %u: no path", t->name,
                       r->line);
    if (!*r->label)
        return wrong(t, r->line, "no label for", r->path, "");
    if (strlen(r->label) > LABEL_MAX)
        return wrong(t, r->line, "label", r->label,
                     "... has more than 255 bytes");
    if (!vt_utf8(r->label, strlen(r->label)))
        return wrong(t, r->line, "label", r->label,
                     " is not UTF-8; save the table as UTF-8");
    if (t->split == COLUMNS)
        return VITCL_OK;
    r->part = part_of(field[t->split]);
    return r->part < PARTS
               ? VITCL_OK
               : wrong(t, r->line, "split", field[t->split],
                       " is none of train, val, valid, validation and test");
}

static vitcl_status read_rows(table *t, vt_csv_text *text)
{
    const size_t most =
        VT_MAX(VT_MAX(t->path, t->label), t->split == COLUMNS ? 0 : t->split);
    char *field[COLUMNS];
    vitcl_status st;
    size_t n;

    for (;;) {
        st = vt_csv_row(field, &n, COLUMNS, text);
        if (st != VITCL_OK)
            return vt_fail_in(st, "%s", t->name);
        if (n == 0)
            break;
        if (n <= most)
            VT_TRY(vt_fail(VITCL_ECORRUPT,
                           "%s: line %u: %zu field%s, fewer than the columns "
                           "that the first row names",
                           t->name, text->line, n, vt_plural(n)));
        if (n > t->columns)
            VT_TRY(vt_fail(VITCL_ECORRUPT,
                           "%s: line %u: %zu fields, more than the columns "
                           "that the first row names; put quotes around a "
                           "field with a comma",
                           t->name, text->line, n));
        VT_TRY(vt_grow(&t->row, &t->cap, t->count + 1, sizeof *t->row));
        t->row[t->count].line = text->line;
        VT_TRY(read_row(&t->row[t->count], t, field));
        t->rows[t->row[t->count++].part]++;
    }
done:
    return st;
}

/* ---- classes ---- */

static vitcl_status add_classes(vt_dataset *d, const table *t)
{
    const char **label = NULL;
    vitcl_status st;

    VT_TRY(vt_new(&label, t->count + 1, sizeof *label));
    for (size_t i = 0; i < t->count; i++)
        label[i] = t->row[i].label;
    qsort((void *)label, t->count, sizeof *label, vt_by_text);
    for (size_t i = 0; i < t->count; i++)
        if (i == 0 || strcmp(label[i], label[i - 1]) != 0)
            VT_TRY(vt_dataset_add_class(d, label[i]));
done:
    free((void *)label);
    return st;
}

static uint32_t class_of(const vt_dataset *d, const char *label)
{
    char *const *found =
        bsearch(&label, d->name, d->classes, sizeof *d->name, vt_by_text);

    return (uint32_t)(found - d->name);
}

/* ---- the part that is read ---- */

static vitcl_status no_part(const table *t, const char *split)
{
    if (t->split == COLUMNS)
        return vt_fail(VITCL_EINVAL,
                       "%s: has no column split, so that it has no part '%s'",
                       t->name, split);
    if (part_of(split) < PARTS)
        return vt_fail(VITCL_EINVAL, "%s: no row has the split '%s'", t->name,
                       split);
    return vt_fail(VITCL_EINVAL,
                   "%s: its splits are train, val, valid, validation and test, "
                   "not '%.80s'",
                   t->name, split);
}

static vitcl_status choose_part(uint32_t *out, const table *t,
                                const vt_dataset_options *how)
{
    uint32_t part = TRAIN;

    *out = NO_PARTS;
    if (how->split) {
        part = part_of(how->split);
        if (part == PARTS || t->rows[part] == 0)
            return no_part(t, how->split);
        *out = part;
        return VITCL_OK;
    }
    if (t->split == COLUMNS)
        return VITCL_OK;
    if (!how->training)
        part = t->rows[TEST] && !(how->validation && t->rows[VAL]) ? TEST : VAL;
    if (t->rows[part] == 0)
        return vt_fail(VITCL_EINVAL, "%s: no row has the split %s", t->name,
                       how->training ? "train" : "test or val");
    *out = part;
    return VITCL_OK;
}

/* ---- pictures ---- */

static vitcl_status look(vt_table_file *f, const table *t, const row *r,
                         const char *path)
{
    char why[160];

    if (strlen(path) >= PATH_MAX)
        return wrong(t, r->line, "path", r->path, "... is too long");
    VT_RET(vt_table_find(f, path));
    if (!f->path) {
        snprintf(why, sizeof why, ": %s%s", strerror(f->error),
                 strchr(r->path, '\\') ? "; write / between folders" : "");
        return wrong(t, r->line, "path", r->path, why);
    } else if (f->other) {
        snprintf(why, sizeof why,
                 " has no suffix, and there are files with %.20s and %.20s",
                 strrchr(f->path, '.'), strrchr(f->other, '.'));
        return wrong(t, r->line, "path", r->path, why);
    } else if (!S_ISREG(f->of.st_mode)) {
        return wrong(t, r->line, "path", r->path, " is not a file");
    }
    return VITCL_OK;
}

/* `first`: the line that has the file already. */
static vitcl_status in_two_classes(const table *t, const row *r, uint32_t first)
{
    char why[80];

    snprintf(why, sizeof why,
             " is the file of line %u, which has another label", first);
    return wrong(t, r->line, "path", r->path, why);
}

static vitcl_status add_picture(vt_dataset *d, table *t, const row *r)
{
    const uint32_t class = class_of(d, r->label);
    vitcl_status st;
    vt_table_file f = {.path = NULL};
    char *path = NULL;
    uint32_t first;
    bool again;

    VT_TRY(*r->path == '/' ? vt_strdup(&path, r->path)
                           : vt_format(&path, "%s/%s", t->folder, r->path));
    VT_TRY(look(&f, t, r, path));
    /* what is marked is the row */
    VT_TRY(
        vt_seen_add(&again, &first, &t->seen, &f.of, (uint32_t)(r - t->row)));
    if (again) {
        if (strcmp(t->row[first].label, r->label) != 0)
            st = in_two_classes(t, r, t->row[first].line);
        d->left.again++;
        goto done;
    }
    VT_TRY(vt_grow(&d->path, &d->path_cap, d->count + 1, sizeof *d->path));
    VT_TRY(vt_dataset_add_label(d, class));
    d->path[d->count - 1] = f.path, f.path = NULL;
done:
    vt_table_forget(&f);
    free(path);
    return st;
}

/* What is between columns: in FILE.tsv a tab, else a comma. */
static vitcl_status take_separator(char *out, const table *t)
{
    size_t n;
    const char *sep = told(&n, t, "sep");

    *out = sep ? *sep : vt_path_ends(t->name, ".tsv") ? '\t' : ',';
    if (sep && (n != 1 || strchr("\"\r", *sep)))
        return vt_fail(VITCL_EINVAL,
                       "between columns must be one character, not '%.*s'",
                       (int)VT_MIN(n, (size_t)20), sep);
    return VITCL_OK;
}

static vitcl_status open_table(table *t, const char *path)
{
    const char *slash = strrchr(path, '/');
    vt_csv_text text;

    t->name = path;
    VT_RET(vt_format(&t->folder, "%.*s", slash ? (int)(slash - path) : 1,
                     slash ? path : "."));
    VT_RET(vt_file_read(&t->file, path, TABLE_MAX));
    /* it has a byte more than its size */
    text = vt_csv_begin((char *)(uintptr_t)t->file.data, t->file.size);
    VT_RET(take_separator(&text.separator, t));
    VT_RET(read_header(t, &text));
    VT_RET(read_rows(t, &text));
    if (t->count == 0)
        return vt_fail(VITCL_ECORRUPT, "%s: names no pictures", path);
    return VITCL_OK;
}

vitcl_status vt_table_open(vt_dataset *d, const char *path,
                           const vt_dataset_options *how)
{
    vitcl_status st;
    table t = {.form = how->columns};
    uint32_t part;

    VT_TRY(open_table(&t, path));
    VT_TRY(choose_part(&part, &t, how));
    VT_TRY(add_classes(d, &t));
    VT_TRY(vt_strdup(&d->folder, t.folder));
    for (size_t i = 0; i < t.count; i++)
        if (t.row[i].part == part)
            VT_TRY(add_picture(d, &t, &t.row[i]));
    snprintf(d->kind, sizeof d->kind, "table");
    VT_TRY(vt_dataset_say_left(d, path));
done:
    close_table(&t);
    return st;
}
