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
    const vitcl_image *images;
    uint32_t n, prepared, answered;
    float *out;       /* features */
    vitcl_class *top; /* NULL: no classes */
    uint32_t k;
    vitcl_status bad; /* of the first picture without an answer */
} asking;

/* Prepares the next batch. */
static vitcl_status next_batch(void *context, vitcl_batch *batch, int wait)
{
    vitcl_status st = VITCL_OK;
    asking *a = context;
    vitcl_session *s = a->s;
    const uint32_t n = VT_MIN(a->n - a->prepared, s->batch);

    (void)wait;
    if (n == 0)
        return VITCL_OK;
    for (uint32_t i = 0; i < n; i++)
        VT_TRY(place_picture(s, &a->images[a->prepared + i], i));
    *batch = (vitcl_batch){
        .rgb = s->picture,
        .n = n,
        .out = a->top ? s->logits : a->out + (size_t)a->prepared * s->features,
        .own = a};
    a->prepared += n;
done:
    return st;
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
    return vt_session_tell(s, a->answered, a->n);
}

static vitcl_status take_features(void *context, const vitcl_batch *b)
{
    asking *a = context;
    const size_t width = a->s->features;

    for (uint32_t i = 0; i < b->n; i++)
        if (!vt_all_finite(b->out + i * width, width))
            explain(&a->bad, a->s, a->answered, i);
    a->answered += b->n;
    return vt_session_tell(a->s, a->answered, a->n);
}

static vitcl_status ask(asking *a, const char *tensor, size_t each,
                        vitcl_sink take)
{
    vitcl_status st;

    VT_TRY(vt_session_batches(a->s, tensor, each, next_batch, take, a));
    st = a->bad;
done:
    return st;
}

vitcl_status vitcl_classify(vitcl_class *top, uint32_t k,
                            vitcl_session *session, const vitcl_image *images,
                            uint32_t n)
{
    vitcl_session *s = session;
    asking a = {.s = s, .images = images, .n = n, .top = top, .k = k};

    VT_GIVEN(top);
    VT_GIVEN(session);
    VT_GIVEN(images);
    if (!s->classes)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "this model has no classifier; vitcl_embed() gives its "
                       "features");
    if (k < 1 || k > s->classes)
        return vt_fail(VITCL_EINVAL, "the %u best of %u classes were asked for",
                       k, s->classes);
    VT_RETURN_ALONE(session, "session",
                    ask(&a, "logits", s->classes, take_classes));
}

vitcl_status vitcl_embed(float *out, vitcl_session *session,
                         const vitcl_image *images, uint32_t n)
{
    asking a = {.s = session, .images = images, .n = n, .out = out};

    VT_GIVEN(out);
    VT_GIVEN(session);
    VT_GIVEN(images);
    VT_RETURN_ALONE(session, "session",
                    ask(&a, "features", session->features, take_features));
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
