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

/* Prepares the next of n pictures and sends them; *now: how many. */
static vitcl_status send_some(uint32_t *now, vitcl_session *s,
                              const vitcl_image *images, uint32_t n)
{
    vitcl_status st = VITCL_OK;
    const uint32_t some = VT_MIN(n, s->batch);

    for (uint32_t i = 0; i < some; i++)
        VT_TRY(place_picture(s, &images[i], i));
    VT_TRY(vitcl_send_rgb(s, s->picture, some));
    *now = some;
done:
    return st;
}

/* Runs the next of n pictures; *now: how many. On a GPU those after them,
 * *next, are prepared and sent meanwhile; it begins as 0. */
static vitcl_status run_some(uint32_t *now, uint32_t *next, vitcl_session *s,
                             const vitcl_image *images, uint32_t n)
{
    vitcl_status st = VITCL_OK;

    if (*next == 0)
        VT_TRY(send_some(next, s, images, n));
    *now = *next, *next = 0;
    VT_TRY(vitcl_run_sent(s));
    if (vt_plan_overlaps(s->plan) && *now < n)
        VT_TRY(send_some(next, s, images + *now, n - *now));
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

vitcl_status vitcl_classify(vitcl_class *top, uint32_t k,
                            vitcl_session *session, const vitcl_image *images,
                            uint32_t n)
{
    vitcl_status st = VITCL_OK, bad = VITCL_OK;
    vitcl_session *s = session;

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
    for (uint32_t at = 0, now, next = 0; at < n; at += now) {
        VT_TRY(run_some(&now, &next, s, images + at, n - at));
        VT_TRY(vt_session_read(s->logits, (size_t)s->batch * s->classes, s,
                               s->out.logits, now));
        for (uint32_t i = 0; i < now; i++) {
            float *logits = s->logits + (size_t)i * s->classes;
            vitcl_class *best = top + (size_t)(at + i) * k;

            calibrate(logits, s);
            if (vt_all_finite(logits, s->classes))
                vitcl_top(best, k, logits, s->classes);
            else
                no_answer(&bad, best, k, s, at, i);
        }
        VT_TRY(vt_session_tell(s, at + now, n));
    }
    st = bad;
done:
    return st;
}

vitcl_status vitcl_embed(float *out, vitcl_session *session,
                         const vitcl_image *images, uint32_t n)
{
    vitcl_status st = VITCL_OK, bad = VITCL_OK;
    size_t width;

    VT_GIVEN(out);
    VT_GIVEN(session);
    VT_GIVEN(images);
    width = session->features;
    for (uint32_t at = 0, now, next = 0; at < n; at += now) {
        VT_TRY(run_some(&now, &next, session, images + at, n - at));
        VT_TRY(vt_session_read(out + at * width, now * width, session,
                               session->out.features, now));
        for (uint32_t i = 0; i < now; i++)
            if (!vt_all_finite(out + (at + i) * width, width))
                explain(&bad, session, at, i);
        VT_TRY(vt_session_tell(session, at + now, n));
    }
    st = bad;
done:
    return st;
}

static bool better(const float *logits, uint32_t a, uint32_t b)
{
    if (isnan(logits[b]))
        return !isnan(logits[a]) || a < b;
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
}

void vitcl_top(vitcl_class *top, uint32_t k, const float *logits,
               uint32_t classes)
{
    uint32_t n = 0;
    double sum = 0, most;

    if (!top || !logits || k > classes || !k)
        return;
    for (uint32_t c = 0; c < classes; c++) { /* insertion sort: k is small */
        uint32_t at;

        if (n == k && !better(logits, c, top[k - 1].label))
            continue;
        at = n < k ? n++ : k - 1;
        for (; at > 0 && better(logits, c, top[at - 1].label); at--)
            top[at] = top[at - 1];
        top[at].label = c;
    }
    most = (double)logits[top[0].label];
    for (uint32_t c = 0; c < classes; c++)
        sum += exp((double)logits[c] - most);
    for (uint32_t i = 0; i < k; i++)
        top[i].probability =
            (float)(exp((double)logits[top[i].label] - most) / sum);
}
