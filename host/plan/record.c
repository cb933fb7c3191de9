/*
 * record.c - a plan's launches as one call.
 *
 * After some runs the launches are recorded, all but those of the first step,
 * which a run may leave out. The run in which that happens is repeated without
 * the recording: it is used only if every kept value has the same bits. That
 * costs a run, so a plan that runs rarely has none.
 */
#include "base/log.h"
#include "base/memory.h"
#include "plan/plan_private.h"

#include <string.h>

bool vt_plan_may_record(const vt_plan *p)
{
    if (p->o.profile || p->o.watcher || p->o.train || p->o.backward ||
        p->streams || p->steps < 2 || !vt_dev_records(p->o.dev))
        return false;
    for (size_t i = 1; i < p->steps; i++)
        if (p->step[i]->gemm && !vt_gemm_records(p->step[i]->gemm))
            return false;
    return true;
}

bool vt_plan_records(const vt_plan *p)
{
    return p->records;
}

void vt_plan_forget_record(vt_plan *p)
{
    if (!p->record)
        return;
    (void)vt_queue_finish(p->queue);
    vt_record_free(p->record);
    p->record = NULL;
}

/* Is v there before step 1, and read by it or a later one? */
static bool is_input(const vt_plan *p, size_t v)
{
    const vt_value *x = p->value[v];

    if (x->kind != VT_INPUT && (x->kind != VT_RESULT || x->first != 0))
        return false;
    for (size_t i = 1; i < p->steps; i++)
        for (size_t k = 0; k < VT_INS; k++)
            if (p->step[i]->in[k] == (vt_val)v)
                return true;
    return false;
}

static bool is_kept(const vt_plan *p, size_t v)
{
    return p->value[v]->kind == VT_RESULT && p->value[v]->keep &&
           p->value[v]->first > 0;
}

typedef struct saved {
    uint8_t *data;
    size_t bytes;
} saved;

/* Copies the values that `which` selects to the host. */
static vitcl_status save(saved *s, vt_plan *p,
                         bool (*which)(const vt_plan *p, size_t v))
{
    vitcl_status st = VITCL_OK;
    size_t at = 0;

    s->bytes = 0;
    for (size_t i = 0; i < p->values; i++)
        if (p->value[i]->buf && which(p, i))
            s->bytes += p->value[i]->bytes;
    VT_TRY(vt_new(&s->data, s->bytes, 1));
    for (size_t i = 0; i < p->values; i++)
        if (p->value[i]->buf && which(p, i)) {
            VT_TRY(vt_buf_read(p->queue, p->value[i]->buf, 0, s->data + at,
                               p->value[i]->bytes));
            at += p->value[i]->bytes;
        }
done:
    return st;
}

static vitcl_status restore_inputs(vt_plan *p, const saved *s)
{
    vitcl_status st = VITCL_OK;
    size_t at = 0;

    for (size_t i = 0; i < p->values; i++)
        if (p->value[i]->buf && is_input(p, i)) {
            VT_TRY(vt_buf_write(p->queue, p->value[i]->buf, 0, s->data + at,
                                p->value[i]->bytes));
            at += p->value[i]->bytes;
        }
done:
    return st;
}

/* A recording that does nothing must not leave what a run before left. */
static vitcl_status spoil_kept(vt_plan *p)
{
    vitcl_status st = VITCL_OK;

    for (size_t i = 0; i < p->values; i++)
        if (p->value[i]->buf && is_kept(p, i))
            VT_TRY(vt_buf_fill(p->queue, p->value[i]->buf, 0xffffffff));
done:
    return st;
}

static vitcl_status record(vt_plan *p)
{
    vitcl_status st = VITCL_OK, ended;

    VT_TRY(vt_record_begin(&p->record, p->queue));
    st = vt_plan_launch(p, 1, p->steps);
    ended = vt_record_end(p->queue);
    VT_TRY(st);
    VT_TRY(ended);
    VT_TRY(vt_record_launch(p->queue, p->record));
    VT_TRY(vt_queue_finish(p->queue));
done:
    return st;
}

vitcl_status vt_plan_record(vt_plan *p)
{
    vitcl_status st = VITCL_OK;
    saved inputs = {NULL, 0}, recorded = {NULL, 0}, launched = {NULL, 0};
    bool same = false;

    VT_TRY(save(&inputs, p, is_input));
    VT_TRY(spoil_kept(p));
    VT_TRY(restore_inputs(p, &inputs)); /* they may share memory */
    st = record(p);
    if (st == VITCL_OK)
        st = save(&recorded, p, is_kept);
    p->records = st == VITCL_OK;
    if (st != VITCL_OK) /* the run goes on without it */
        vt_log("launches are not recorded: %s", vt_message());
    VT_TRY(restore_inputs(p, &inputs));
    VT_TRY(vt_plan_launch(p, 1, p->steps));
    if (p->records) {
        VT_TRY(save(&launched, p, is_kept));
        same = recorded.data && launched.data &&
               memcmp(recorded.data, launched.data, launched.bytes) == 0;
        p->records = same;
        vt_log(same ? "plan: launches are recorded, one call from now on"
                    : "launches are not recorded: as one call they give other "
                      "results");
    }
done:
    if (!same)
        vt_plan_forget_record(p);
    free(inputs.data);
    free(recorded.data);
    free(launched.data);
    return st;
}
