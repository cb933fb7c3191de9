/*
 * send.c - runs whose pictures are sent before, on GPUs while the run before
 * computes.
 */
#include "api/handles.h"

vitcl_status vitcl_send_rgb(vitcl_session *session, const uint8_t *rgb,
                            uint32_t n)
{
    vitcl_session *s = session;
    vitcl_status st = VITCL_OK;

    VT_GIVEN(s);
    VT_GIVEN(rgb);
    VT_TRY(vt_session_takes_rgb(s, n));
    s->sent = 0;
    s->waiting = rgb;
    if (vt_plan_overlaps(s->plan))
        VT_TRY(vt_plan_send(s->plan, s->rgb, rgb,
                            (size_t)n * s->height * s->width * 3));
    s->sent = n;
done:
    return st;
}

vitcl_status vitcl_run_sent(vitcl_session *session)
{
    vitcl_session *s = session;
    vitcl_status st = VITCL_OK;
    uint32_t n;

    VT_GIVEN(s);
    n = s->sent;
    if (n == 0)
        return vt_fail(VITCL_EINVAL, "no pictures were sent");
    s->sent = 0;
    if (!vt_plan_overlaps(s->plan))
        return vitcl_run_rgb(s, s->waiting, n);
    VT_TRY(vt_session_begin(s));
    s->from_rgb = true;
    VT_TRY(vt_plan_start(s->plan, s->rgb, s->forward_end));
    s->running = true;
done:
    return st;
}
