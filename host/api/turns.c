/*
 * turns.c - whose run a session's answers are of.
 *
 * A run and the reading of its answers are two calls. A thread whose run was
 * replaced by another thread's before any thread read it gets an error, and not
 * the other's answers. A session that is handed from thread to thread is right.
 * Not noticed: a second read of a run, a run before this thread ran another
 * session, and one that 64 others have replaced. Only a lock around both calls
 * is safe.
 */
#include "api/handles.h"

/* the last run that this thread began */
static _Thread_local struct {
    uint64_t session, run;
} mine;

static _Thread_local vt_given giving;

uint64_t vt_turns_id(void)
{
    static _Atomic uint64_t last;

    return atomic_fetch_add(&last, 1) + 1;
}

void vt_turns_run(vitcl_session *s)
{
    s->unread = s->unread << 1 | 1;
    s->run++;
    mine.session = s->id;
    mine.run = s->run;
}

vitcl_status vt_turns_read(vitcl_session *s)
{
    const uint64_t since = s->run - mine.run;

    if (mine.session == s->id && since > 0 && since < 64 &&
        (s->unread >> since & 1))
        return vt_fail(VITCL_EINVAL,
                       "there is no answer to read: another thread has run the "
                       "session since; give each thread its own");
    s->unread &= ~UINT64_C(1);
    return VITCL_OK;
}

vt_given vt_turns_give(vt_given given)
{
    const vt_given before = giving;

    giving = given;
    return before;
}

vt_val vt_turns_given(const vitcl_session *s)
{
    return giving.session == s ? giving.v : VT_NONE;
}
