/*
 * send.c - runs whose pictures are sent before, on GPUs while the run before
 * computes: one by one, and of all batches that a function gives.
 */
#include "api/handles.h"
#include "api/program.h"

static vitcl_status send_rgb(vitcl_session *s, const uint8_t *rgb, uint32_t n)
{
    VT_RET(vt_session_takes_rgb(s, n));
    if (!rgb && (s->grids || !s->from_rgb))
        return vt_fail(VITCL_EINVAL, "no pictures were given to compute again");
    s->sent = 0;
    s->waiting = rgb;
    if (rgb && vt_session_overlaps(s))
        VT_RET(vt_plan_send(s->plan, s->rgb, rgb,
                            (size_t)n * s->height * s->width * 3));
    s->sent = n;
    return VITCL_OK;
}

vitcl_status vt_session_send_rgb(vitcl_session *session, const uint8_t *rgb,
                                 uint32_t n)
{
    VT_RETURN_ALONE(session, "session", send_rgb(session, rgb, n));
}

static vitcl_status run_sent(vitcl_session *s)
{
    const uint32_t n = s->sent;

    if (n == 0)
        return vt_fail(VITCL_EINVAL, "no pictures were sent");
    s->sent = 0;
    if (!vt_session_overlaps(s))
        return vt_session_run_rgb(s, s->waiting, n);
    VT_RET(vt_session_begin(s));
    s->from_rgb = true;
    VT_RET(
        vt_plan_start(s->plan, s->waiting ? s->rgb : VT_NONE, s->forward_end));
    s->running = true;
    return VITCL_OK;
}

vitcl_status vt_session_run_sent(vitcl_session *session)
{
    VT_RETURN_ALONE(session, "session", run_sent(session));
}

/* ---- all batches ---- */

typedef struct running {
    vitcl_session *session;
    vt_val v;    /* what is read */
    size_t each; /* of a picture */
    vitcl_source next;
    vitcl_sink take;
    void *context;
} running;

/* Asks for a batch and sends it. */
static vitcl_status fetch(vitcl_batch *b, const running *r, bool wait)
{
    *b = (vitcl_batch){.own = NULL};
    VT_RET(r->next(r->context, b, wait));
    if (b->own && b->n)
        VT_RET(send_rgb(r->session, b->rgb, b->n));
    return VITCL_OK;
}

static vitcl_status start(const running *r, const vitcl_batch *b)
{
    return b->own && b->n ? run_sent(r->session) : VITCL_OK;
}

static vitcl_status give_to_sink(const running *r, const vitcl_batch *b)
{
    const vt_given outer = vt_turns_give((vt_given){r->session, r->v});
    const vitcl_status st = r->take(r->context, b);

    vt_turns_give(outer);
    return st;
}

/* Gives b, which is computed now, while the device computes `next`. If b has a
 * number that is not finite, finding out why repeats its run: it is given
 * first. */
static vitcl_status give(const running *r, const vitcl_batch *b,
                         const vitcl_batch *next)
{
    const size_t numbers = b->n * r->each;
    bool good = true;

    if (b->n) {
        VT_RET(vt_session_read(b->out, numbers, r->session, r->v, b->n));
        good = vt_all_finite(b->out, numbers);
    }
    if (good)
        VT_RET(start(r, next));
    VT_RET(give_to_sink(r, b));
    if (!good)
        VT_RET(start(r, next));
    return VITCL_OK;
}

static vitcl_status run_all(const running *r)
{
    vitcl_status st = VITCL_OK;
    vitcl_batch now, next;

    VT_TRY(fetch(&now, r, true));
    VT_TRY(start(r, &now));
    for (; now.own; now = next) {
        next = (vitcl_batch){.own = NULL};
        if (vt_session_overlaps(r->session))
            VT_TRY(fetch(&next, r, false));
        VT_TRY(give(r, &now, &next));
        if (!next.own) {
            VT_TRY(fetch(&next, r, true));
            VT_TRY(start(r, &next));
        }
    }
done:
    r->session->sent = 0;
    return st;
}

vitcl_status vt_session_each(const vitcl_session *s, const char *name,
                             size_t each)
{
    const vt_val v = vt_session_value(s, name);

    if (v == VT_NONE || vt_dim(s->plan, v, 0) != (int)s->batch)
        return vt_fail(VITCL_EINVAL,
                       "no tensor %s with a part for each picture was kept",
                       name);
    if (vt_elements(s->plan, v) != (uint64_t)s->batch * each)
        return vt_fail(VITCL_EINVAL,
                       "%s does not have %zu numbers for each picture", name,
                       each);
    return VITCL_OK;
}

vitcl_status vt_session_batches(vitcl_session *s, const char *name, size_t each,
                                vitcl_source next, vitcl_sink take,
                                void *context)
{
    VT_RET(vt_session_each(s, name, each));
    return run_all(
        &(running){s, vt_session_value(s, name), each, next, take, context});
}

vitcl_status vitcl_session_run_batches(vitcl_session *session, const char *name,
                                       size_t each, vitcl_source next,
                                       vitcl_sink take, void *context)
{
    VT_GIVEN(session);
    VT_GIVEN(name);
    VT_GIVEN(next);
    VT_GIVEN(take);
    VT_RETURN_ALONE(
        session, "session",
        vt_session_batches(session, name, each, next, take, context));
}
