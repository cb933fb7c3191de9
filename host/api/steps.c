/*
 * steps.c - describe a session: its sizes, and its plan's steps and memory.
 */
#include "api/handles.h"
#include "api/program.h"
#include "base/memory.h"

#include <stdio.h>

uint32_t vt_session_batch(const vitcl_session *session)
{
    return session->batch;
}

uint32_t vitcl_session_classes(const vitcl_session *session)
{
    return session ? session->classes : 0;
}

uint32_t vitcl_session_features(const vitcl_session *session)
{
    return session ? session->features : 0;
}

void vitcl_session_size(uint32_t *height, uint32_t *width,
                        const vitcl_session *session)
{
    if (session && height)
        *height = session->height;
    if (session && width)
        *width = session->width;
}

static void print_shape(char *out, size_t size, const vt_value *v)
{
    size_t at = 0;

    out[0] = '\0';
    for (int i = 0; v && i < v->rank && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%d", i ? "x" : "",
                               v->dim[i]);
}

bool vt_session_step(vt_step_info *out, const vitcl_session *session,
                     uint32_t index)
{
    const vt_step *s;
    const vt_value *v;

    if (index >= (uint32_t)vt_plan_steps(session->plan))
        return false;
    s = vt_plan_step(session->plan, (int)index);
    v = vt_value_of(session->plan, s->out[0]);
    *out = (vt_step_info){
        .gflop = s->op->macs ? 2e-9 * s->op->macs(session->plan, s) : 0,
        .time_ms = s->time_ms,
        .from_ms = s->from_ms,
        .to_ms = s->to_ms};
    snprintf(out->name, sizeof out->name, "%s", v ? v->name : "");
    snprintf(out->op, sizeof out->op, "%s", s->op->name);
    snprintf(out->kernel, sizeof out->kernel, "%s", s->note);
    print_shape(out->shape, sizeof out->shape, v);
    for (int i = 0; i < VT_OUTS; i++)
        if ((v = vt_value_of(session->plan, s->out[i])))
            out->memory_bytes += v->bytes;
    return true;
}

vt_session_info vt_session_describe(const vitcl_session *session)
{
    const vt_plan_memory memory = vt_plan_memory_of(session->plan);
    const vt_counters counters = vt_dev_counters(session->model->dev);
    vt_session_info info = {
        .arena_bytes = memory.arena,
        .activation_bytes = memory.arena + memory.states + memory.consts,
        .weights_bytes = vt_store_bytes(session->model->store),
        .kernels_built = counters.programs_built,
        .buffers_made = counters.buffers_made,
        .lookups = counters.lookups,
        .overlaps = vt_session_overlaps(session),
        .launches = vt_plan_launches(session->plan)};

    vt_plan_gemms(info.gemm, sizeof info.gemm, session->plan);
    snprintf(info.precision, sizeof info.precision, "%s",
             vt_precision_name(vt_plan_settings(session->plan)->precision));
    return info;
}
