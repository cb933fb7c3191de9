/*
 * race.c - time a product with several forms, of which only right ones count.
 *
 * On a GPU it has the rows of several pictures, so that it is busy. The factors
 * are whole numbers so small that every sum is exact in f32, f16 and bf16 hold
 * them, and a 127 in each row makes them steps of int8: so all forms' results
 * are the same but for the rounding of an epilogue and of C. Where they are
 * not, a driver has miscompiled one, and the simple form says which. Each form
 * must also have the same result for the rows of the product itself.
 */
#include "product/race.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "product/timed.h"
#include "product/told.h"

#include <math.h>
#include <string.h>

/* Of a product that is timed, about; and no more pictures than that. */
enum { ROWS = 1024, PICTURES = 64 };
#define MOST_MACS 2e9 /* unless one picture has more */

/* Several pictures' rows as those of one, and no strides. */
static vt_gemm_desc enlarged(const vt_gemm_desc *d)
{
    const double one = (double)d->M * d->N * d->K;
    const bool one_only = d->trans_a || d->device_class == VT_CLASS_CPU;
    int pictures = one_only ? 1 : VT_MIN(PICTURES, VT_MAX(1, ROWS / d->M));
    vt_gemm_desc e = *d;

    while (pictures > 1 && one * pictures > MOST_MACS)
        pictures /= 2;
    e.M *= pictures;
    e.batch = 1;
    e.sums = false;
    e.lda = d->trans_a ? e.M : e.K;
    e.ldb = d->trans_b ? e.N : e.K;
    e.ldc = e.N;
    return e;
}

/* The product's own rows, for which a form of a GPU can choose another program;
 * 0: that of d, which is timed. With so many elements that each unit has two of
 * the largest tiles, it is the same for all more. */
static int own_rows(const vt_dev *dev, const vt_gemm_desc *own,
                    const vt_gemm_desc *d)
{
    const double tiles = 2.0 * vt_dev_info(dev)->compute_units,
                 most = ceil(tiles * 128 * 128 / VT_MAX(own->N, 128)),
                 rows =
                     VT_MIN((double)own->batch * own->M, VT_MAX(most, own->M));

    return own->trans_a || own->device_class == VT_CLASS_CPU || rows == d->M
               ? 0
               : (int)rows;
}

/* ---- numbers ---- */

/* Few are negative sums, of which an activation would leave nothing. */
static vitcl_status matrix(float **out, int rows, int terms, bool outermost,
                           uint64_t seed)
{
    const size_t n = (size_t)rows * (size_t)terms;
    vt_random random = vt_random_new(seed, 0, 0);

    VT_RET(VT_NEW(out, n));
    for (size_t i = 0; i < n; i++)
        (*out)[i] = (float)(vt_random_next(&random) % 6) - 2;
    for (int r = 0; r < rows; r++) {
        const int k = r % terms;

        (*out)[outermost ? (size_t)k * (size_t)rows + (size_t)r
                         : (size_t)r * (size_t)terms + (size_t)k] = 127;
    }
    return VITCL_OK;
}

/* But for a step of C's type. `like` has so many rows, which repeat. */
static bool same(const float *c, const vt_gemm_desc *d, const float *like,
                 int rows)
{
    const size_t n = (size_t)d->M * (size_t)d->N,
                 period = (size_t)rows * (size_t)d->N;
    const double step = d->out == VT_BF16  ? 0x1p-7
                        : d->out == VT_F16 ? 0x1p-10
                                           : 1e-5;

    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)c[i] - (double)like[i % period]) <=
              step * fabs((double)like[i % period]) + 1e-3))
            return false;
    return true;
}

/* ---- rivals ---- */

typedef struct contest {
    vt_dev *dev;
    vt_gemm_desc d;
    int own; /* own_rows() */
    float *a, *b;
    vt_timed t[VT_FORMS];
    float *c[VT_FORMS]; /* its first result */
    int n;
} contest;

/* The product by this form, once; its result. */
static vitcl_status multiply(float **c, vt_timed *t, const contest *x,
                             const vt_form *form, const vt_gemm_desc *d)
{
    vt_told told;

    if (!vt_product_tell(&told, x->dev, form, d))
        return vt_fail(VITCL_EUNSUPPORTED, "it does not take so many rows");
    VT_RET(vt_timed_new(t, x->dev, form, &told, x->a, x->b));
    VT_RET(vt_timed_run(t)); /* builds its programs */
    VT_RET(VT_NEW(c, (size_t)d->M * (size_t)d->N));
    return vt_timed_read(*c, t);
}

/* The result that is surely right; NULL: there is none. */
static float *simple(const contest *x)
{
    vt_gemm_desc d = x->d;
    vt_timed t = {.q = NULL};
    float *c = NULL;

    if (d.type == VT_I8) /* which it does not have */
        d.type = VT_F32;
    if (multiply(&c, &t, x, &vt_form_plain, &d) != VITCL_OK) {
        vt_log("the results of a product were not compared: %s", vt_message());
        free(c);
        c = NULL;
    }
    vt_timed_free(&t);
    return c;
}

/* Of `own` rows, those of the product that is timed and then these again. */
static vitcl_status repeat(contest *x)
{
    const size_t terms = (size_t)x->d.K, rows = (size_t)x->d.M,
                 own = (size_t)x->own;
    float *a = NULL;

    if (own <= rows)
        return VITCL_OK;
    VT_RET(VT_NEW(&a, own * terms));
    for (size_t r = 0; r < own; r++)
        memcpy(a + r * terms, x->a + r % rows * terms, terms * sizeof *a);
    free(x->a);
    x->a = a;
    return VITCL_OK;
}

/* Has this form the same result for the product's own rows? */
static bool same_own(const contest *x, int i)
{
    vt_gemm_desc d = x->d;
    vt_timed t = {.q = NULL};
    float *c = NULL;
    bool good = true;

    if (!x->own)
        return true;
    d.M = x->own;
    if (multiply(&c, &t, x, x->t[i].form, &d) == VITCL_OK)
        good = same(c, &d, x->c[i], x->d.M);
    else
        vt_log("%s was not compared for %d rows: %s", x->t[i].form->name, d.M,
               vt_message());
    vt_timed_free(&t);
    free(c);
    return good;
}

/* Those that are alike are right; or else those that are like the simple
 * form's, or the first's if that one cannot run. */
static void judge(bool *right, const contest *x)
{
    float *sure = NULL;
    const float *like = x->c[0];
    bool alike = x->n > 1;

    for (int i = 1; i < x->n; i++)
        alike = alike && same(x->c[i], &x->d, like, x->d.M);
    if (!alike && (sure = simple(x)) != NULL)
        like = sure;
    for (int i = 0; i < x->n; i++) {
        right[i] =
            (alike || same(x->c[i], &x->d, like, x->d.M)) && same_own(x, i);
        if (!right[i])
            vt_log("%s is not used for a product %dx%dx%d: its result is wrong",
                   x->t[i].form->name, x->d.M, x->d.N, x->d.K);
    }
    free(sure);
}

static void time_right_ones(double *ms, contest *x)
{
    static const vt_rounds rounds = {
        .least = 2, .most = 12, .ms = 250, .almost = 1.05};
    vt_timed *all[VT_FORMS];
    bool right[VT_FORMS];
    int n = 0;

    if (!x->n)
        return;
    judge(right, x);
    for (int i = 0; i < x->n; i++)
        if (right[i])
            all[n++] = &x->t[i];
    if (n && vt_measure(all, n, &rounds) != VITCL_OK)
        return;
    for (int i = 0; i < x->n; i++)
        ms[i] = right[i] ? x->t[i].best : VT_RACE_WRONG;
}

void vt_race(double *ms, vt_dev *dev, const vt_gemm_desc *d,
             const vt_form *const *forms, int n)
{
    contest x = {.dev = dev, .d = enlarged(d)};
    double times[VT_FORMS] = {0};
    int which[VT_FORMS] = {0};

    for (int i = 0; i < n; i++)
        ms[i] = 0;
    x.own = own_rows(dev, d, &x.d);
    if (matrix(&x.a, x.d.M, x.d.K, x.d.trans_a, 1) != VITCL_OK ||
        matrix(&x.b, x.d.N, x.d.K, x.d.trans_b, 2) != VITCL_OK ||
        repeat(&x) != VITCL_OK) {
        vt_log("no form was timed: %s", vt_message());
        n = 0;
    }
    for (int i = 0; i < n; i++) {
        vt_timed *t = &x.t[x.n];
        float **c = &x.c[x.n];

        if (multiply(c, t, &x, forms[i], &x.d) == VITCL_OK) {
            which[x.n++] = i;
        } else {
            vt_log("%s was not timed: %s", forms[i]->name, vt_message());
            vt_timed_free(t);
            free(*c);
            *c = NULL;
        }
    }
    time_right_ones(times, &x);
    for (int i = 0; i < x.n; i++) {
        ms[which[i]] = times[i];
        vt_timed_free(&x.t[i]);
        free(x.c[i]);
    }
    free(x.a);
    free(x.b);
}
