/*
 * tally.c - counts by class in arrays; their JSON has those that are not 0.
 */
#include "parts/tally.h"

#include "base/checksum.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_print.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "vitcl scores 1"
enum { DEPTH = 5, CLASSES_MAX = 1 << 20 };
#define FILE_MAX ((size_t)256 << 20)
#define CELLS_MAX ((uint64_t)1 << 30)

vitcl_status vt_tally_new(vt_tally *out, uint32_t rows, uint32_t columns,
                          bool answers)
{
    vitcl_status st = VITCL_OK;
    vt_tally t = {.rows = rows, .columns = columns};
    size_t cells;

    VT_TRY(VT_NEW(&t.name, (size_t)rows + 1));
    VT_TRY(VT_NEW(&t.match, (size_t)rows + 1));
    VT_TRY(VT_NEW(&t.label, (size_t)columns + 1));
    if (answers) {
        if (!vt_mul(&cells, rows, columns))
            VT_TRY(vt_fail(VITCL_ENOMEM, "%u x %u classes are too many", rows,
                           columns));
        VT_TRY(VT_NEW(&t.answers, cells + 1));
    }
    *out = t, t = (vt_tally){.rows = 0};
done:
    vt_tally_free(&t);
    return st;
}

void vt_tally_free(vt_tally *t)
{
    for (uint32_t i = 0; t->name && i < t->rows; i++)
        free(t->name[i]);
    for (uint32_t k = 0; t->label && k < t->columns; k++)
        free(t->label[k]);
    free(t->name);
    free(t->match);
    free(t->label);
    free(t->answers);
    *t = (vt_tally){.rows = 0};
}

/* ---- writing ---- */

static uint32_t count_of(const vt_tally *t, uint32_t row, uint32_t column)
{
    return t->answers ? t->answers[(size_t)row * t->columns + column] : 0;
}

static void put_class(vt_json_writer *w, const vt_tally *t, uint32_t row)
{
    vt_json_put(w, "{name:%s model:%u answers:[", t->name[row], t->match[row]);
    for (uint32_t k = 0; k < t->columns; k++)
        if (count_of(t, row, k))
            vt_json_put(w, "%u %u", k, count_of(t, row, k));
    vt_json_put(w, "]}");
}

static void put_labels(vt_json_writer *w, const vt_tally *t)
{
    for (uint32_t k = 0; k < t->columns; k++) {
        bool answered = false;

        for (uint32_t i = 0; i < t->rows && t->label[k] && !answered; i++)
            answered = count_of(t, i, k) > 0;
        if (answered)
            vt_json_put(w, "{model:%u name:%s}", k, t->label[k]);
    }
}

void vt_tally_write(FILE *f, const vt_tally *t)
{
    vt_json_writer w = {.f = f};

    vt_json_put(&w,
                "{format:'" FORMAT "' pictures:%" PRIu64 " failed:%" PRIu64
                " right1:%" PRIu64 " right5:%" PRIu64
                " real:%i real_pictures:%" PRIu64 " real_right:%" PRIu64
                " columns:%u classes:[",
                t->pictures, t->failed, t->right1, t->right5, t->real != 0,
                t->real_pictures, t->real_right, t->columns);
    for (uint32_t i = 0; i < t->rows; i++)
        put_class(&w, t, i);
    vt_json_put(&w, "] bins:[");
    for (int i = 0; i < VT_BIN_COUNTS; i++)
        vt_json_put(&w, "%llu", (unsigned long long)t->bins[i]);
    vt_json_put(&w, "] labels:[");
    put_labels(&w, t);
    vt_json_put(&w, "]}\n");
}

/* ---- reading ---- */

static bool number(uint64_t *out, const vt_json *root, const char *key,
                   uint64_t most)
{
    return vt_json_uint(out, vt_json_get(root, key)) && *out <= most;
}

static bool keep_name(char **out, const vt_json *v)
{
    const char *s;

    return !*out && vt_json_string(&s, v) &&
           vt_format(out, "%s", s) == VITCL_OK;
}

/* Pairs of a class of the model and a count. */
static bool read_answers(vt_tally *t, uint32_t row, const vt_json *list)
{
    uint64_t k, n;

    if (!vt_json_is_array(list))
        return false;
    for (const vt_json *v = vt_json_first(list); v; v = vt_json_next(v)) {
        if (!vt_json_uint(&k, v) || k >= t->columns ||
            !vt_json_uint(&n, v = vt_json_next(v)) || n > t->pictures)
            return false;
        t->answers[(size_t)row * t->columns + k] = (uint32_t)n;
    }
    return true;
}

static bool read_classes(vt_tally *t, const vt_json *list)
{
    uint64_t model, sum = 0;
    uint32_t row = 0;

    for (const vt_json *v = vt_json_first(list); v; v = vt_json_next(v)) {
        if (!keep_name(&t->name[row], vt_json_get(v, "name")) ||
            !number(&model, v, "model", t->columns - 1) ||
            !read_answers(t, row, vt_json_get(v, "answers")))
            return false;
        t->match[row++] = (uint32_t)model;
    }
    for (size_t i = 0; i < (size_t)t->rows * t->columns; i++)
        sum += t->answers[i];
    return sum == t->pictures;
}

static bool read_labels(vt_tally *t, const vt_json *list)
{
    uint64_t k;

    for (const vt_json *v = vt_json_first(list); v; v = vt_json_next(v))
        if (!number(&k, v, "model", t->columns - 1) ||
            !keep_name(&t->label[k], vt_json_get(v, "name")))
            return false;
    return true;
}

/* There are none in files of vitcl 0.2.0. */
static bool read_bins(vt_tally *t, const vt_json *list)
{
    const vt_json *v = vt_json_first(list);

    if (list &&
        (!vt_json_is_array(list) || vt_json_count(list) != VT_BIN_COUNTS))
        return false;
    for (int i = 0; v; v = vt_json_next(v))
        if (!vt_json_uint(&t->bins[i++], v))
            return false;
    return true;
}

/* *damaged: it is no such text; else a failure is for lack of memory. */
static vitcl_status read_tally(vt_tally *out, bool *damaged,
                               const vt_json *root)
{
    const vt_json *classes = vt_json_get(root, "classes");
    const char *format;
    uint64_t columns = 0;
    vt_tally t = {.rows = 0}, head = {.rows = 0};
    vitcl_status st = VITCL_OK;

    *damaged = true;
    if (!vt_json_string(&format, vt_json_get(root, "format")) ||
        strcmp(format, FORMAT) != 0 || !vt_json_is_array(classes) ||
        vt_json_count(classes) > CLASSES_MAX ||
        !number(&head.pictures, root, "pictures", UINT32_MAX) ||
        !number(&head.failed, root, "failed", UINT32_MAX) ||
        !number(&head.right1, root, "right1", head.pictures) ||
        !number(&head.right5, root, "right5", head.pictures) ||
        !vt_json_bool(&head.real, vt_json_get(root, "real")) ||
        !number(&head.real_pictures, root, "real_pictures", head.pictures) ||
        !number(&head.real_right, root, "real_right", head.real_pictures) ||
        !number(&columns, root, "columns", CLASSES_MAX) || columns < 1 ||
        vt_json_count(classes) * columns > CELLS_MAX)
        goto done;
    VT_TRY(vt_tally_new(&t, (uint32_t)vt_json_count(classes), (uint32_t)columns,
                        true));
    t.pictures = head.pictures, t.failed = head.failed;
    t.right1 = head.right1, t.right5 = head.right5;
    t.real = head.real;
    t.real_pictures = head.real_pictures, t.real_right = head.real_right;
    if (!read_classes(&t, classes) ||
        !read_bins(&t, vt_json_get(root, "bins")) ||
        !read_labels(&t, vt_json_get(root, "labels")))
        goto done;
    *damaged = false;
    *out = t, t = (vt_tally){.rows = 0};
done:
    if (st != VITCL_OK)
        *damaged = false;
    vt_tally_free(&t);
    return st;
}

static vitcl_status load(vt_tally *out, const char *path, const vt_manifest *m)
{
    vitcl_status st = VITCL_OK;
    vt_json *root = NULL;
    vt_tally t = {.rows = 0};
    vt_file file = {0};
    bool damaged;

    VT_TRY(vt_file_read(&file, path, FILE_MAX));
    damaged = m->summed && vt_checksum(file.data, file.size) != m->sum;
    if (!damaged) {
        VT_TRY(vt_json_parse(&root, (const char *)file.data, file.size, DEPTH,
                             path));
        VT_TRY(read_tally(&t, &damaged, root));
    }
    if (damaged || t.pictures + t.failed != m->rows)
        VT_TRY(vt_fail(VITCL_ECORRUPT,
                       "%s: not counts of vitcl eval, or damaged; remove it "
                       "and run the shard again",
                       path));
    *out = t, t = (vt_tally){.rows = 0};
done:
    vt_json_free(root);
    vt_file_close(&file);
    vt_tally_free(&t);
    return st;
}

/* ---- adding ---- */

static bool same_classes(const vt_tally *a, const vt_tally *b)
{
    bool same =
        a->rows == b->rows && a->columns == b->columns && a->real == b->real;

    for (uint32_t i = 0; same && i < a->rows; i++)
        same =
            strcmp(a->name[i], b->name[i]) == 0 && a->match[i] == b->match[i];
    for (uint32_t k = 0; same && k < a->columns; k++)
        same = !a->label[k] || !b->label[k] ||
               strcmp(a->label[k], b->label[k]) == 0;
    return same;
}

static void add(vt_tally *sum, vt_tally *t)
{
    sum->pictures += t->pictures, sum->failed += t->failed;
    sum->right1 += t->right1, sum->right5 += t->right5;
    sum->real_pictures += t->real_pictures;
    sum->real_right += t->real_right;
    for (int i = 0; i < VT_BIN_COUNTS; i++)
        sum->bins[i] += t->bins[i];
    for (size_t i = 0; i < (size_t)t->rows * t->columns; i++)
        sum->answers[i] += t->answers[i];
    for (uint32_t k = 0; k < t->columns; k++)
        if (!sum->label[k])
            sum->label[k] = t->label[k], t->label[k] = NULL;
}

vitcl_status vt_tally_sum(vt_tally *out, const vt_parts *p)
{
    vitcl_status st = VITCL_OK;
    vt_tally sum = {.rows = 0}, t = {.rows = 0};

    for (uint32_t i = 0; i < p->of; i++) {
        VT_TRY(load(&t, p->path[i], &p->part[i]));
        if (i == 0) {
            sum = t, t = (vt_tally){.rows = 0};
            continue;
        }
        if (sum.pictures + t.pictures > UINT32_MAX)
            VT_TRY(vt_fail(VITCL_EINVAL,
                           "%s: more than 2^32 - 1 pictures in all",
                           p->path[i]));
        if (!same_classes(&sum, &t))
            VT_TRY(vt_fail(VITCL_EINVAL, "%s: has other classes than %s",
                           p->path[i], p->path[0]));
        add(&sum, &t);
        vt_tally_free(&t);
    }
    *out = sum, sum = (vt_tally){.rows = 0};
done:
    vt_tally_free(&sum);
    vt_tally_free(&t);
    return st;
}
