/*
 * finite.c - find where NaN or infinity in an answer comes from: the first
 * weight that is not finite, else the first tensor of the plan.
 *
 * Costs nothing until it is needed. Then it reads all weights (once a session)
 * and repeats the run, checking the output of each step.
 */
#include "api/handles.h"
#include "api/program.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *word(float x)
{
    return isnan(x) ? "NaN" : x > 0 ? "infinity" : "minus infinity";
}

/* The index of the first value that is not finite; n if all are finite. */
static uint64_t first_wrong(const float *x, uint64_t n)
{
    uint64_t i = 0;

    while (i < n && isfinite(x[i]))
        i++;
    return i;
}

bool vt_all_finite(const float *x, size_t n)
{
    return first_wrong(x, n) == n;
}

/* Sets s->bad_weight: a sentence, or empty if all weights are finite. */
static vitcl_status look_at_weights(vitcl_session *s)
{
    vitcl_status st = VITCL_OK;
    float *data = NULL;
    uint64_t most = 0, count, at;

    for (vt_val v = 0; v < vt_plan_values(s->plan); v++)
        if (vt_value_of(s->plan, v)->kind == VT_PARAM)
            most = VT_MAX(most, vt_elements(s->plan, v));
    VT_TRY(vt_new(&data, most, sizeof *data));
    for (vt_val v = 0; v < vt_plan_values(s->plan) && !s->bad_weight[0]; v++) {
        const vt_value *x = vt_value_of(s->plan, v);

        if (x->kind != VT_PARAM)
            continue;
        count = vt_elements(s->plan, v);
        VT_TRY(vt_store_read(data, s->model->store, x->name, count));
        at = first_wrong(data, count);
        if (at < count)
            snprintf(s->bad_weight, sizeof s->bad_weight,
                     "weight %.*s is %s at element %llu",
                     (int)strcspn(x->name, "@"), x->name, word(data[at]),
                     (unsigned long long)at);
    }
    s->weights_looked_at = true;
done:
    free(data);
    return st;
}

/* A step's name: "linear with blocks.0.mlp.fc1.weight", or its output's. */
static void name_step(char *out, size_t size, const vt_plan *p,
                      const vt_step *step)
{
    const vt_value *v = vt_value_of(p, step->out[0]), *in = NULL;

    for (int i = 0; i < VT_INS; i++)
        if (!in && step->in[i] != VT_NONE &&
            vt_value_of(p, step->in[i])->kind == VT_PARAM)
            in = vt_value_of(p, step->in[i]);
    if (v->name[0] || !in)
        snprintf(out, size, "%s (%s)", step->op->name, v->name);
    else
        snprintf(out, size, "%s with %s", step->op->name, in->name);
}

/* Reads the picture's part of a step's output; room: at least for all of it. */
static vitcl_status look_at_step(float *bad, vitcl_session *s, vt_val v,
                                 uint32_t index, float *room)
{
    const bool shared = vt_dim(s->plan, v, 0) != (int)s->batch;
    const uint64_t count = vt_elements(s->plan, v),
                   each = shared ? count : count / s->batch,
                   from = shared ? 0 : each * index;
    uint64_t at;

    VT_RET(vt_plan_read(s->plan, v, room, from + each));
    at = first_wrong(room + from, each);
    *bad = at < each ? room[from + at] : 0.0f;
    return VITCL_OK;
}

/* Runs the plan again, step by step, on the pictures that are still in it. It
 * runs to the end because values share memory and other answers may still be
 * read. */
static vitcl_status look_at_steps(const vt_step **out, float *bad,
                                  vitcl_session *s, uint32_t index)
{
    vitcl_status st = VITCL_OK;
    const vt_plan *p = s->plan;
    float *room = NULL;
    uint64_t most = 0;

    *out = NULL;
    for (vt_val v = 0; v < vt_plan_values(p); v++)
        most = VT_MAX(most, vt_elements(p, v));
    VT_TRY(vt_new(&room, most, sizeof *room));
    s->ran = false;
    s->spent = s->seed != VT_NONE;
    for (int i = 0; i < vt_plan_steps(p); i++) {
        const vt_step *step = vt_plan_step(p, i);
        const vt_value *v = vt_value_of(p, step->out[0]);

        VT_TRY(vt_plan_run_part(s->plan, i, i + 1));
        /* integers have no NaN: a row's scale has it, and then what the next
         * product makes of them */
        if (*out || !v || !v->buf ||
            (v->dtype != VT_F32 && v->dtype != VT_F16 && v->dtype != VT_BF16))
            continue;
        VT_TRY(look_at_step(bad, s, step->out[0], index, room));
        if (!isfinite(*bad))
            *out = step;
    }
    s->ran = true;
done:
    free(room);
    return st;
}

vitcl_status vt_session_explain(vitcl_session *s, uint32_t index)
{
    const vt_step *step = NULL;
    bool f16 = vt_plan_settings(s->plan)->precision == VITCL_F16;
    char name[160];
    float bad = 0;

    if (!s->weights_looked_at)
        VT_RET(look_at_weights(s));
    if (s->bad_weight[0])
        return vt_fail(VITCL_ECORRUPT, "no answer: %s", s->bad_weight);
    if (s->from_rgb)
        VT_RET(look_at_steps(&step, &bad, s, index));
    if (!step)
        return vt_fail(
            VITCL_EUNSUPPORTED,
            "no answer: all weights are finite, but the answer is not");
    name_step(name, sizeof name, s->plan, step);
    f16 = f16 || vt_value_of(s->plan, step->out[0])->dtype == VT_F16;
    return vt_fail(
        VITCL_EUNSUPPORTED,
        "no answer: all weights are finite, but %s gives %s%s", name, word(bad),
        f16 ? " in f16, whose largest number is 65504; use bf16 or f32" : "");
    return VITCL_OK;
}

static vitcl_status check(vitcl_session *s, const char *name, uint32_t index)
{
    vitcl_status st = VITCL_OK;
    float *x = NULL, bad;
    const vt_val v = vt_session_value(s, name);

    if (v == VT_NONE || index >= s->batch)
        return vt_fail(VITCL_EINVAL, "no tensor %s was kept for picture %u",
                       name, index);
    VT_TRY(vt_session_ran(s));
    VT_TRY(vt_new(&x, vt_elements(s->plan, v), sizeof *x));
    if (s->grids) {
        const size_t each = (size_t)(vt_elements(s->plan, v) / s->batch);
        const float *row = x + each * index;

        VT_TRY(vt_session_read(x, each * (index + 1), s, v, index + 1));
        bad = vt_all_finite(row, each) ? 0 : NAN;
    } else {
        VT_TRY(look_at_step(&bad, s, v, index, x));
    }
    if (!isfinite(bad))
        st = vt_session_explain(s, index);
done:
    free(x);
    return st;
}

vitcl_status vt_session_check(vitcl_session *session, const char *name,
                              uint32_t index)
{
    vt_val given;

    VT_GIVEN(session);
    VT_GIVEN(name);
    given = vt_turns_given(session);
    if (given == VT_NONE)
        VT_RETURN_ALONE(session, "session", check(session, name, index));
    if (!session->running) /* a vitcl_sink may call this */
        return check(session, name, index);
    /* the next batch is computed already, because this one is finite */
    return vt_session_value(session, name) == given && index < session->batch
               ? VITCL_OK
               : vt_in_use(__func__, "session");
}
