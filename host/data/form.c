/*
 * form.c - are pictures and their mirror images alike?
 *
 * d is the difference between a picture and its mirror image. Where a class is
 * seen from both sides, d of one picture says nothing about d of another: the
 * mean of d1 . d2 over pairs of pictures of a class is zero. Where the side
 * belongs to the class, as for the digit 7, it approaches d . d. The result is
 * the ratio of the two.
 */
#include "data/form.h"

#include "base/memory.h"
#include "data/thumbs.h"

enum {
    PICTURES = 512,
    CLASSES = 32,
    HALF = VT_THUMB_SIDE * VT_THUMB_SIDE / 2 /* the other half is minus it */
};

typedef struct form {
    const vt_dataset *d;
    double *sum; /* [classes][HALF] */
    double *squares, *count;
} form;

static vitcl_status take(void *context, uint32_t picture, const uint8_t *rgb)
{
    form *f = context;
    const uint32_t label = vt_dataset_label(f->d, picture);
    double *sum = f->sum + (size_t)label * HALF;
    size_t at = 0;

    if (!rgb)
        return VITCL_OK;
    f->count[label]++;
    for (size_t y = 0; y < VT_THUMB_SIDE; y++)
        for (size_t x = 0; x < VT_THUMB_SIDE / 2; x++) {
            const uint8_t *a = rgb + 3 * (y * VT_THUMB_SIDE + x);
            const uint8_t *b =
                rgb + 3 * (y * VT_THUMB_SIDE + VT_THUMB_SIDE - 1 - x);
            const double d = a[0] + a[1] + a[2] - b[0] - b[1] - b[2];

            sum[at++] += d;
            f->squares[label] += d * d;
        }
    return VITCL_OK;
}

/* Pictures of evenly spaced classes, and evenly spaced ones of each: of the
 * class's pictures, those at multiples of the step. */
static size_t choose(uint32_t *chosen, const vt_dataset *d, uint32_t *seen,
                     const uint32_t *pictures)
{
    const uint32_t classes = vt_dataset_classes(d);
    const uint32_t step = (classes + CLASSES - 1) / CLASSES;
    const uint32_t used = (classes + step - 1) / step;
    const uint32_t each = PICTURES / used;
    size_t n = 0;

    for (uint32_t i = 0; i < vt_dataset_count(d) && n < PICTURES; i++) {
        const uint32_t label = vt_dataset_label(d, i);
        const uint32_t apart = (pictures[label] + each - 1) / each;

        if (label % step == 0 && seen[label]++ % apart == 0)
            chosen[n++] = i;
    }
    return n;
}

static double ratio(const form *f)
{
    double pairs = 0, all = 0;

    for (uint32_t c = 0; c < vt_dataset_classes(f->d); c++) {
        double square = 0;

        if (f->count[c] < 2)
            continue;
        for (size_t i = 0; i < HALF; i++)
            square +=
                f->sum[c * (size_t)HALF + i] * f->sum[c * (size_t)HALF + i];
        pairs += square - f->squares[c];
        all += (f->count[c] - 1) * f->squares[c];
    }
    return all > 0 ? pairs / all : 0;
}

vitcl_status vt_dataset_asymmetry(double *out, const vt_dataset *d)
{
    vitcl_status st = VITCL_OK;
    const size_t classes = (size_t)vt_dataset_classes(d) + 1;
    uint32_t *chosen = NULL, *seen = NULL, *pictures = NULL;
    form f = {.d = d};
    size_t n;

    VT_TRY(VT_NEW(&chosen, PICTURES));
    VT_TRY(VT_NEW(&seen, classes));
    VT_TRY(VT_NEW(&pictures, classes));
    VT_TRY(vt_new(&f.sum, classes * HALF, sizeof *f.sum));
    VT_TRY(VT_NEW(&f.squares, classes));
    VT_TRY(VT_NEW(&f.count, classes));
    for (uint32_t i = 0; i < vt_dataset_count(d); i++)
        pictures[vt_dataset_label(d, i)]++;
    n = choose(chosen, d, seen, pictures);
    VT_TRY(vt_thumbs(d, chosen, n, take, &f));
    *out = ratio(&f);
done:
    free(chosen);
    free(seen);
    free(pictures);
    free(f.sum);
    free(f.squares);
    free(f.count);
    return st;
}
