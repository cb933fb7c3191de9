/*
 * certainty.c - fit a temperature, a threshold and a range of detail, and keep
 * them in the config.
 */
#define _GNU_SOURCE /* memmem */
#include "train/certainty.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FEWEST 50      /* pictures; with less these numbers would be chance */
#define MOST (1 << 22) /* logits: a fit goes over them forty times */

/* Held-out pictures that are all answered right would ask for none at all. */
#define COLDEST 0.2
#define HOTTEST 5.0
#define WANTED 0.95 /* of the answers that are sure */
#define LEAST 0.5   /* below it another answer is likelier than this one */
#define ODD 0.005   /* of the pictures: above the range, and below it */

typedef struct judged {
    double probability;
    bool right;
} judged;

/* The softmax of a row at this temperature: its largest probability, whether it
 * is the label's, and the logits' mean under it. */
static judged judge(double *mean, const float *row, uint32_t classes,
                    uint32_t label, double temperature)
{
    uint32_t best = 0;
    double sum = 0, weighted = 0;

    for (uint32_t c = 1; c < classes; c++)
        if (row[c] > row[best])
            best = c;
    for (uint32_t c = 0; c < classes; c++) {
        const double e =
            exp(((double)row[c] - (double)row[best]) / temperature);

        sum += e;
        weighted += e * (double)row[c];
    }
    *mean = weighted / sum;
    return (judged){.probability = 1 / sum, .right = best == label};
}

/* d NLL / d (1 / temperature), over the pictures: it falls as the temperature
 * rises, because NLL is convex in 1 / temperature. */
static double slope(const float *logits, const uint32_t *label, size_t n,
                    uint32_t classes, double temperature)
{
    double total = 0, mean;

    for (size_t i = 0; i < n; i++) {
        const float *row = logits + i * classes;

        (void)judge(&mean, row, classes, label[i], temperature);
        total += mean - (double)row[label[i]];
    }
    return total;
}

static double fit_temperature(const float *logits, const uint32_t *label,
                              size_t n, uint32_t classes)
{
    double low = COLDEST, high = HOTTEST;

    for (int i = 0; i < 40; i++) {
        const double middle = sqrt(low * high);

        if (slope(logits, label, n, classes, middle) > 0)
            low = middle; /* too sure of itself */
        else
            high = middle;
    }
    return sqrt(low * high);
}

static int by_probability(const void *a, const void *b)
{
    const judged *x = a, *y = b;

    return (x->probability < y->probability) -
           (x->probability > y->probability);
}

/* all[]: likeliest first. */
static double find_threshold(const judged *all, size_t n)
{
    size_t right = 0;
    double found = 1;

    for (size_t i = 0; i < n; i++) {
        right += all[i].right;
        if (i + 1 < n && all[i + 1].probability == all[i].probability)
            continue; /* both are on the same side */
        if ((double)right >= WANTED * (double)(i + 1))
            found = all[i].probability;
    }
    return found > LEAST ? found : LEAST;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static vitcl_status find_range(double out[2], const double *detail, size_t n)
{
    vitcl_status st = VITCL_OK;
    const size_t odd = (size_t)(ODD * (double)n);
    double *sorted = NULL;

    VT_TRY(VT_NEW(&sorted, n));
    memcpy(sorted, detail, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_size);
    out[0] = sorted[odd];
    out[1] = sorted[n - 1 - odd];
done:
    free(sorted);
    return st;
}

vitcl_status vt_certainty_fit(vt_certainty *out, const float *logits,
                              const uint32_t *label, const double *detail,
                              size_t n, uint32_t classes)
{
    vitcl_status st = VITCL_OK;
    vt_certainty c;
    judged *all = NULL;
    double mean;

    VT_TRY(VT_NEW(&all, n));
    VT_TRY(find_range(c.detail, detail, n));
    c.temperature = fit_temperature(logits, label, n, classes);
    for (size_t i = 0; i < n; i++)
        all[i] = judge(&mean, logits + i * classes, classes, label[i],
                       c.temperature);
    qsort(all, n, sizeof *all, by_probability);
    c.threshold = find_threshold(all, n);
    *out = c;
done:
    free(all);
    return st;
}

/* ---- config.json ---- */

#define KEY ",\n  \"vitcl_certainty\": {"

/* The length of the text without its last "}" and without the certainty, which
 * is the last member, as this file writes it. 0: not such a text. */
static size_t body(const char *text, size_t size)
{
    const char *old;

    while (size && strchr(" \n", text[size - 1]))
        size--;
    if (!size || text[size - 1] != '}')
        return 0;
    size--;
    while (size && strchr(" \n", text[size - 1]))
        size--;
    old = memmem(text, size, KEY, strlen(KEY)); /* no string holds a newline */
    return old ? (size_t)(old - text) : size;
}

vitcl_status vt_certainty_write(const char *folder, const vt_certainty *c)
{
    vitcl_status st = VITCL_OK;
    vt_newfile file = {0};
    vt_file old = {0};
    char *path = NULL;
    size_t size;

    VT_TRY(vt_format(&path, "%s/config.json", folder));
    VT_TRY(vt_file_read(&old, path, 64u << 20));
    size = body((const char *)old.data, old.size);
    if (!size)
        VT_TRY(vt_fail(VITCL_ECORRUPT, "%s: is not an object", path));
    VT_TRY(vt_newfile_open(&file, path));
    fwrite(old.data, 1, size, file.f);
    vt_print(file.f,
             KEY "\"temperature\": %.4g, \"threshold\": %.4g, "
                 "\"detail\": [%.4g, %.4g]}\n}\n",
             c->temperature, c->threshold, c->detail[0], c->detail[1]);
    VT_TRY(vt_newfile_commit(&file));
done:
    vt_newfile_discard(&file);
    vt_file_close(&old);
    free(path);
    return st;
}

/* ---- held-out pictures ---- */

vitcl_status vt_evidence_new(vt_evidence *out, size_t pictures,
                             uint32_t classes)
{
    vitcl_status st = VITCL_OK;
    vt_evidence e = {.classes = classes, .pictures = pictures};

    if (pictures >= FEWEST && classes > 1 && classes <= MOST / FEWEST)
        e.room = VT_MIN(pictures, (size_t)MOST / classes);
    if (e.room) {
        VT_TRY(vt_new(&e.logits, (uint64_t)e.room * classes, sizeof(float)));
        VT_TRY(VT_NEW(&e.label, e.room));
        VT_TRY(VT_NEW(&e.detail, e.room));
    }
    *out = e, e = (vt_evidence){0};
done:
    vt_evidence_free(&e);
    return st;
}

void vt_evidence_add(vt_evidence *e, const float *logits, uint32_t label,
                     double detail)
{
    const uint64_t at = e->seen++;

    /* where there are more than fit: evenly spaced ones, for they may come
     * class by class */
    if (e->n == e->room ||
        at * e->room / e->pictures == (at + 1) * e->room / e->pictures)
        return;
    memcpy(e->logits + e->n * e->classes, logits, e->classes * sizeof *logits);
    e->detail[e->n] = detail;
    e->label[e->n++] = label;
}

vitcl_status vt_evidence_save(const vt_evidence *e, const char *folder)
{
    vt_certainty c;

    for (size_t i = 0; i < e->n * e->classes; i++)
        if (!isfinite(e->logits[i]))
            return VITCL_OK; /* nothing can be fitted to it */
    if (!e->n)
        return VITCL_OK;
    VT_RET(
        vt_certainty_fit(&c, e->logits, e->label, e->detail, e->n, e->classes));
    return vt_certainty_write(folder, &c);
}

void vt_evidence_free(vt_evidence *e)
{
    free(e->logits);
    free(e->label);
    free(e->detail);
    *e = (vt_evidence){0};
}
