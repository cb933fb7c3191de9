/*
 * classify.c - pictures in, answers out: classes and features of any number of
 * pictures, a batch at a time.
 */
#include "api/handles.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

static vitcl_status place_picture(vitcl_session *s, const vitcl_image *image,
                                  uint32_t at)
{
    vitcl_status st = VITCL_OK;
    const size_t bytes = (size_t)s->height * s->width * 3;
    vitcl_image ready = {.rgb = NULL};

    VT_TRY(vitcl_image_prepare(&ready, s, image));
    memcpy(s->picture + at * bytes, ready.rgb, bytes);
done:
    vitcl_image_free(&ready);
    return st;
}

/* What is asked, and how far it is answered. */
typedef struct asking {
    vitcl_session *s;
    vitcl_pictures of;
    uint32_t prepared, answered;
    float *out;       /* numbers of a tensor, `each` a picture */
    vitcl_class *top; /* NULL: no classes */
    uint32_t k;
    size_t each;
    vitcl_status bad; /* of the first picture without an answer */
} asking;

/* The next batch, without its pixels. */
static vitcl_batch cut_batch(const asking *a)
{
    const vitcl_session *s = a->s;
    const uint32_t n = VT_MIN(a->of.n - a->prepared, s->batch);

    return (vitcl_batch){.n = n,
                         .out = a->top ? s->logits
                                       : a->out + (size_t)a->prepared * a->each,
                         .own = n ? s->picture : NULL};
}

/* Prepares the next batch. */
static vitcl_status next_batch(void *context, vitcl_batch *batch, int wait)
{
    asking *a = context;
    vitcl_session *s = a->s;
    const size_t bytes = (size_t)s->height * s->width * 3;
    vitcl_batch b = cut_batch(a);

    (void)wait;
    b.rgb = a->of.rgb ? a->of.rgb + a->prepared * bytes : s->picture;
    for (uint32_t i = 0; a->of.images && i < b.n; i++)
        VT_RET(place_picture(s, &a->of.images[a->prepared + i], i));
    a->prepared += b.n;
    *batch = b;
    return VITCL_OK;
}

/* Keeps the first such picture's error message; the others continue. */
static void explain(vitcl_status *bad, vitcl_session *s, uint32_t at,
                    uint32_t i)
{
    if (*bad == VITCL_OK)
        *bad = vt_fail_in(vt_session_explain(s, i), "picture %u", at + i);
}

static void no_answer(vitcl_status *bad, vitcl_class *best, uint32_t k,
                      vitcl_session *s, uint32_t at, uint32_t i)
{
    for (uint32_t j = 0; j < k; j++)
        best[j] = (vitcl_class){.label = UINT32_MAX, .probability = NAN};
    explain(bad, s, at, i);
}

static void calibrate(float *logits, const vitcl_session *s)
{
    const float temperature = vitcl_model_temperature(s->model);

    for (uint32_t c = 0; temperature != 1 && c < s->classes; c++)
        logits[c] /= temperature;
}

static vitcl_status tell(const asking *a)
{
    if (!a->of.progress)
        return vt_session_tell(a->s, a->answered, a->of.n);
    return a->of.progress(a->of.context, a->answered, a->of.n)
               ? vt_fail(VITCL_ESTOPPED, "stopped by the caller")
               : VITCL_OK;
}

static vitcl_status take_classes(void *context, const vitcl_batch *b)
{
    asking *a = context;
    vitcl_session *s = a->s;

    for (uint32_t i = 0; i < b->n; i++) {
        float *logits = b->out + (size_t)i * s->classes;
        vitcl_class *best = a->top + (size_t)(a->answered + i) * a->k;

        calibrate(logits, s);
        if (vt_all_finite(logits, s->classes))
            vitcl_class_choose(best, a->k, logits, s->classes,
                               vitcl_model_answer(s->model));
        else
            no_answer(&a->bad, best, a->k, s, a->answered, i);
    }
    a->answered += b->n;
    return tell(a);
}

static vitcl_status take_numbers(void *context, const vitcl_batch *b)
{
    asking *a = context;

    for (uint32_t i = 0; i < b->n; i++)
        if (!vt_all_finite(b->out + i * a->each, a->each))
            explain(&a->bad, a->s, a->answered, i);
    a->answered += b->n;
    return tell(a);
}

/* Values are not sent in advance. */
static vitcl_status run_values(asking *a, const char *tensor, vitcl_sink take)
{
    vitcl_session *s = a->s;
    const size_t pixels = (size_t)s->height * s->width * 3;
    const vt_val v = vt_session_value(s, tensor);

    VT_RET(vt_session_each(s, tensor, a->each));
    while (a->prepared < a->of.n) {
        const vitcl_batch b = cut_batch(a);

        VT_RET(
            vt_session_run_values(s, a->of.values + a->prepared * pixels, b.n));
        VT_RET(vt_session_read(b.out, b.n * a->each, s, v, b.n));
        a->prepared += b.n;
        VT_RET(take(a, &b));
    }
    return VITCL_OK;
}

static vitcl_status ask(asking *a, const char *tensor)
{
    const vitcl_sink take = a->top ? take_classes : take_numbers;

    VT_RET(a->of.values ? run_values(a, tensor, take)
                        : vt_session_batches(a->s, tensor, a->each, next_batch,
                                             take, a));
    return a->bad;
}

static vitcl_status has_classes(const vitcl_session *s, uint32_t k)
{
    if (!s->classes)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "this model has no classifier; vitcl_embed() gives its "
                       "features");
    return k >= 1 && k <= s->classes
               ? VITCL_OK
               : vt_fail(VITCL_EINVAL,
                         "the %u best of %u classes were asked for", k,
                         s->classes);
}

static vitcl_status take_pictures(vitcl_pictures *out, const vitcl_pictures *p)
{
    VT_RET(vt_sized_options(out, sizeof *out, p, "vitcl_pictures"));
    if (!out->images + !out->rgb + !out->values != 2)
        return vt_fail(VITCL_EINVAL, "pictures are given as exactly one of "
                                     "images, rgb and values");
    return VITCL_OK;
}

vitcl_status vitcl_session_classify(vitcl_class *top, uint32_t k,
                                    vitcl_session *session,
                                    const vitcl_pictures *pictures)
{
    asking a = {.s = session, .top = top, .k = k};

    VT_GIVEN(top);
    VT_GIVEN(session);
    VT_GIVEN(pictures);
    VT_RET(take_pictures(&a.of, pictures));
    VT_RET(has_classes(session, k));
    a.each = session->classes;
    VT_RETURN_ALONE(session, "session", ask(&a, "logits"));
    return VITCL_OK;
}

vitcl_status vitcl_session_compute(float *out, size_t each,
                                   vitcl_session *session, const char *name,
                                   const vitcl_pictures *pictures)
{
    asking a = {.s = session, .out = out, .each = each};

    VT_GIVEN(out);
    VT_GIVEN(session);
    VT_GIVEN(name);
    VT_GIVEN(pictures);
    VT_RET(take_pictures(&a.of, pictures));
    VT_RETURN_ALONE(session, "session", ask(&a, name));
    return VITCL_OK;
}

vitcl_status vitcl_classify(vitcl_class *top, uint32_t k,
                            vitcl_session *session, const vitcl_image *images,
                            uint32_t n)
{
    const vitcl_pictures of = {.size = sizeof of, .n = n, .images = images};

    VT_GIVEN(images);
    return vitcl_session_classify(top, k, session, &of);
}

vitcl_status vitcl_embed(float *out, vitcl_session *session,
                         const vitcl_image *images, uint32_t n)
{
    const vitcl_pictures of = {.size = sizeof of, .n = n, .images = images};

    VT_GIVEN(session);
    VT_GIVEN(images);
    return vitcl_session_compute(out, session->features, session, "features",
                                 &of);
}

static bool better(const float *logits, uint32_t a, uint32_t b)
{
    if (isnan(logits[b]))
        return !isnan(logits[a]) || a < b;
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
}

/* The labels of the k largest. */
static void choose(vitcl_class *top, uint32_t k, const float *logits,
                   uint32_t classes)
{
    uint32_t n = 0;

    for (uint32_t c = 0; c < classes; c++) { /* insertion sort: k is small */
        uint32_t at;

        if (n == k && !better(logits, c, top[k - 1].label))
            continue;
        at = n < k ? n++ : k - 1;
        for (; at > 0 && better(logits, c, top[at - 1].label); at--)
            top[at] = top[at - 1];
        top[at].label = c;
    }
}

void vitcl_class_choose(vitcl_class *top, uint32_t k, const float *logits,
                        uint32_t classes, vitcl_answer answer)
{
    double sum = 0, most;

    if (!top || !logits || k > classes || !k)
        return;
    choose(top, k, logits, classes);
    most = (double)logits[top[0].label];
    for (uint32_t c = 0; c < classes; c++)
        sum += exp((double)logits[c] - most);
    for (uint32_t i = 0; i < k; i++) {
        const double x = (double)logits[top[i].label];

        top[i].probability =
            (float)(answer == VITCL_NUMBERS       ? x
                    : answer == VITCL_ANY_CLASSES ? 1 / (1 + exp(-x))
                                                  : exp(x - most) / sum);
    }
}

int vitcl_session_detail(const vitcl_session *session, const uint8_t *rgb)
{
    vt_certainty c;
    double detail;

    if (!session || !rgb)
        return 0;
    c = vt_model_certainty(session->model->model);
    if (c.detail[1] == 0 || session->grids)
        return 0;
    detail = vt_detail(rgb, session->height, session->width);
    return (detail > c.detail[1]) - (detail < c.detail[0]);
}
