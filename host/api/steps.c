/*
 * steps.c - describe a session: its sizes, and its plan's steps and memory.
 */
#include "api/handles.h"
#include "base/memory.h"

#include <stdio.h>

const vitcl_model *vitcl_session_model(const vitcl_session *session)
{
    return session ? session->model : NULL;
}

uint32_t vitcl_session_batch(const vitcl_session *session)
{
    return session ? session->batch : 0;
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

vitcl_status vitcl_session_step(vitcl_step_info *out,
                                const vitcl_session *session, uint32_t index)
{
    const vt_step *s;
    const vt_value *v;
    vitcl_step_info info = {.size = sizeof info};

    VT_SIZED(out, vitcl_step_info);
    VT_GIVEN(session);
    if (index >= (uint32_t)vt_plan_steps(session->plan))
        return vt_fail(VITCL_EINVAL, "the plan has no step %u", index);
    s = vt_plan_step(session->plan, (int)index);
    v = vt_value_of(session->plan, s->out[0]);
    snprintf(info.name, sizeof info.name, "%s", v ? v->name : "");
    snprintf(info.op, sizeof info.op, "%s", s->op->name);
    snprintf(info.kernel, sizeof info.kernel, "%s", s->note);
    print_shape(info.shape, sizeof info.shape, v);
    if (s->op->macs)
        info.gflop = 2e-9 * s->op->macs(session->plan, s);
    info.time_ms = s->time_ms;
    info.from_ms = s->from_ms;
    info.to_ms = s->to_ms;
    for (int i = 0; i < VT_OUTS; i++)
        if ((v = vt_value_of(session->plan, s->out[i])))
            info.memory_bytes += v->bytes;
    vt_sized_give(out, &info, sizeof info);
    return VITCL_OK;
}

vitcl_status vitcl_session_describe(vitcl_session_info *out,
                                    const vitcl_session *session)
{
    vitcl_session_info info = {.size = sizeof info};
    vt_plan_memory memory;
    vt_counters counters;

    VT_SIZED(out, vitcl_session_info);
    VT_GIVEN(session);
    memory = vt_plan_memory_of(session->plan);
    counters = vt_dev_counters(session->model->dev);
    info.arena_bytes = memory.arena;
    info.activation_bytes = memory.arena + memory.states + memory.consts;
    info.weights_bytes = vt_store_bytes(session->model->store);
    info.kernels_built = counters.programs_built;
    info.buffers_made = counters.buffers_made;
    info.lookups = counters.lookups;
    info.overlaps = vt_session_overlaps(session);
    info.launches = vt_plan_launches(session->plan);
    vt_plan_gemms(info.gemm, sizeof info.gemm, session->plan);
    snprintf(info.precision, sizeof info.precision, "%s",
             vt_precision_name(vt_plan_settings(session->plan)->precision));
    vt_sized_give(out, &info, sizeof info);
    return VITCL_OK;
}
