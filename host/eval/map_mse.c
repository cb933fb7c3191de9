/*
 * map_mse.c - the scores of models that do not answer with one class: the mean
 * average precision, and the mean squared error of a regression.
 *
 * The average precision of a class is the area below precision over recall, in
 * steps, as in scikit-learn: the sum over distinct scores of (R_n - R_{n-1})
 * P_n. Classes without a picture have none.
 */
#include "eval/evaluate.h"

#include "base/memory.h"
#include "base/number.h"

#include <math.h>
#include <string.h>

/* The logits of pictures, in the order in which they were read. */
typedef struct keeping {
    const vt_pass *pass;
    float *row;
    uint32_t *picture;
    size_t n, failed;
} keeping;

static void keep(void *context, size_t position, const float *row)
{
    keeping *k = context;
    const size_t width = k->pass->width;

    if (!row) {
        k->failed++;
        return;
    }
    memcpy(k->row + k->n * width, row, width * sizeof *row);
    k->picture[k->n++] = vt_pass_picture(k->pass, position);
}

/* ---- mean average precision ---- */

typedef struct scored {
    float score;
    bool right;
} scored;

static int by_score(const void *a, const void *b)
{
    const float x = ((const scored *)a)->score, y = ((const scored *)b)->score;

    return (x < y) - (x > y);
}

/* Sorts s; NAN if nothing is right. */
static double average_precision(scored *s, size_t n)
{
    size_t right = 0, before = 0;
    double sum = 0;

    qsort(s, n, sizeof *s, by_score);
    for (size_t i = 0; i < n; i++) {
        right += s[i].right;
        if (i + 1 < n && by_score(&s[i], &s[i + 1]) == 0)
            continue;
        sum += (double)(right - before) * (double)right / (double)(i + 1);
        before = right;
    }
    return right ? sum / (double)right : (double)NAN;
}

/* right[picture][class] from the labels, else from the folders. A folder that
 * is no class of the model holds pictures without any. */
static vitcl_status find_right(uint8_t **out, const vt_labelled *pictures,
                               const vt_classes *known)
{
    vitcl_status st = VITCL_OK;
    const vt_dataset *d = pictures->d;
    const vt_classes data = vt_classes_of_data(d, "the pictures");
    const uint32_t count = vt_dataset_count(d);
    uint32_t *answers = NULL, *wanted = NULL;
    uint8_t *right = NULL;
    size_t cells;

    if (!vt_mul(&cells, (size_t)count + 1, known->count))
        return vt_fail(VITCL_ENOMEM, "%u pictures of %u classes are too many",
                       count, known->count);
    VT_TRY(VT_NEW(&right, cells));
    if (pictures->labels) {
        VT_TRY(vt_labels_resolve(&answers, pictures->labels, known));
    } else {
        VT_TRY(VT_NEW(&wanted, (size_t)data.count + 1));
        VT_TRY(
            vt_classes_match_some(wanted, &data, known, pictures->by_number));
    }
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *row = right + (size_t)i * known->count;
        const uint32_t folder = wanted ? wanted[vt_dataset_label(d, i)] : 0;
        uint32_t n = 0;
        size_t first = 0;

        if (pictures->labels)
            first = vt_labels_of(&n, pictures->labels, i);
        else if (folder != UINT32_MAX)
            row[folder] = 1;
        for (uint32_t k = 0; k < n; k++)
            row[answers[first + k]] = 1;
    }
    *out = right, right = NULL;
done:
    free(right);
    free(answers);
    free(wanted);
    return st;
}

static vitcl_status rank(vitcl_scores *out, const keeping *k,
                         const vt_labelled *pictures, const vt_classes *known)
{
    vitcl_status st = VITCL_OK;
    uint8_t *right = NULL;
    scored *s = NULL;
    double sum = 0;

    VT_TRY(find_right(&right, pictures, known));
    VT_TRY(VT_NEW(&s, k->n + 1));
    for (size_t c = 0; c < known->count; c++) {
        double one;

        for (size_t i = 0; i < k->n; i++)
            s[i] = (scored){k->row[i * known->count + c],
                            right[(size_t)k->picture[i] * known->count + c]};
        one = average_precision(s, k->n);
        if (isnan(one))
            continue;
        sum += one;
        out->ranked_classes++;
    }
    if (out->ranked_classes)
        out->average_precision = sum / out->ranked_classes;
done:
    free(right);
    free(s);
    return st;
}

/* ---- mean squared error ---- */

/* The numbers that folders are named by. */
static vitcl_status folder_numbers(double **out, const vt_dataset *d,
                                   size_t width)
{
    vitcl_status st = VITCL_OK;
    const uint32_t count = vt_dataset_count(d);
    double *value = NULL;

    if (width != 1)
        VT_TRY(vt_fail(VITCL_EINVAL,
                       "the model answers with %zu numbers, and a folder is "
                       "named by one; give them by --labels",
                       width));
    VT_TRY(vt_new(&value, (size_t)count + 1, sizeof *value));
    for (uint32_t i = 0; i < count; i++) {
        const char *name = vt_dataset_class(d, vt_dataset_label(d, i));
        const locale_t before = vt_point_begin();
        char *end = NULL;

        value[i] = strtod(name, &end);
        vt_point_end(before);
        if (end == name || *end || !isfinite(value[i]))
            VT_TRY(vt_fail(VITCL_EINVAL,
                           "class '%.80s' of the pictures is not a number; a "
                           "regression is scored by folders whose names are "
                           "numbers, or by --labels",
                           name));
    }
    *out = value, value = NULL;
done:
    free(value);
    return st;
}

static vitcl_status square(vitcl_scores *out, const keeping *k,
                           const vt_labelled *pictures, size_t width)
{
    vitcl_status st = VITCL_OK;
    double *value = NULL, sum = 0;

    if (pictures->labels)
        VT_TRY(vt_labels_numbers(&value, pictures->labels, (uint32_t)width));
    else
        VT_TRY(folder_numbers(&value, pictures->d, width));
    for (size_t i = 0; i < k->n * width; i++) {
        const double error = (double)k->row[i] -
                             value[k->picture[i / width] * width + i % width];
        sum += error * error;
    }
    if (k->n)
        out->squared_error = sum / (double)(k->n * width);
done:
    free(value);
    return st;
}

vitcl_status vt_evaluate_map_mse(vitcl_scores *out, const vt_labelled *pictures,
                                 const vt_classes *known, vitcl_answer answer,
                                 const vt_pass *of, const vt_runner *runner)
{
    vitcl_status st = VITCL_OK;
    vt_pass pass = *of;
    keeping k = {.pass = &pass};
    size_t cells;

    pass.take = keep;
    pass.context = &k;
    if (!vt_mul(&cells, pass.count + 1, pass.width))
        return vt_fail(VITCL_ENOMEM, "%zu pictures of %zu classes are too many",
                       pass.count, pass.width);
    VT_TRY(vt_new(&k.row, cells, sizeof *k.row));
    VT_TRY(VT_NEW(&k.picture, pass.count + 1));
    VT_TRY(runner->run(runner->context, &pass));
    out->pictures = (uint32_t)k.n;
    out->failed = (uint32_t)k.failed;
    if (answer == VITCL_NUMBERS)
        VT_TRY(square(out, &k, pictures, pass.width));
    else
        VT_TRY(rank(out, &k, pictures, known));
done:
    free(k.row);
    free(k.picture);
    return st;
}
