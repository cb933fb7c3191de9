/*
 * run.c - bind every step once, then run them in a loop.
 *
 * Binding only records the kernels, so that all programs of a plan are built
 * together.
 *
 * After vt_plan_finish() nothing is allocated, built or looked up: a run is
 * launches and one wait. Only a plan that runs once also reads weights during
 * the run.
 */
#include "base/clock.h"
#include "base/environment.h"
#include "base/half.h"
#include "base/memory.h"
#include "plan/plan_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- binding ---- */

vitcl_status vt_bind(vt_buf **out, vt_plan *p, vt_val v)
{
    vt_value *x = v == VT_NONE ? NULL : p->value[v];

    if (x && !x->buf && x->kind == VT_PARAM) {
        if (!p->o.store)
            return vt_fail(VITCL_EINVAL, "%s: the plan has no store", x->name);
        VT_RET(vt_store_raw(&x->buf, p->o.store, x->name, vt_elements(p, v)));
    }
    if (x && !x->buf)
        return vt_fail(VITCL_EINVAL, "%s: no memory was placed for it",
                       x->name);
    *out = x ? x->buf : NULL;
    return VITCL_OK;
}

/* ---- weights of a plan that runs once ----
 *
 * Each is read before its launch, into one of two slots alternately: the device
 * works on one while the other is filled. Nothing is kept, so the system does
 * not have to clear pages for 300 MB that are read once.
 */

#define STREAMED_MIN 256u /* elements; smaller ones are uploaded */

static void make_slots(vt_plan *p)
{
    uint64_t most = 0;
    size_t bytes = 0;

    for (size_t i = 0; i < p->values && p->o.once && p->o.store; i++)
        if (p->value[i]->kind == VT_PARAM)
            most = VT_MAX(most, vt_elements(p, (vt_val)i));
    if (most < STREAMED_MIN || most > SIZE_MAX ||
        !vt_mul(&bytes, (size_t)most, sizeof(float)))
        return;
    p->streams = true;
    for (int i = 0; i < VT_SLOTS; i++)
        p->streams = p->streams && vt_slot_new(&p->slot[i], p->queue, bytes);
}

vitcl_status vt_bind_weight(vt_buf **out, vt_plan *p, vt_step *s, vt_val w)
{
    if (!p->streams || p->value[w]->kind != VT_PARAM || p->value[w]->buf ||
        vt_elements(p, w) < STREAMED_MIN)
        return vt_bind(out, p, w);
    s->streamed = w;
    s->slot = p->next_slot++ % VT_SLOTS;
    *out = vt_slot_buf(p->slot[s->slot]);
    return VITCL_OK;
}

vitcl_status vt_step_kernel(vt_kernel **out, vt_plan *p, vt_step *s,
                            const char *file, const char *name,
                            const char *defines)
{
    size_t n = 0, at;

    while (n < VT_COUNT(s->kernel) && s->kernel[n])
        n++;
    if (n == VT_COUNT(s->kernel))
        return vt_fail(VITCL_EINVAL, "%s: more than %zu kernels in a step",
                       name, n);
    VT_RET(vt_kernel_new(&s->kernel[n], p->o.dev, file, name, defines));
    at = strlen(s->note);
    snprintf(s->note + at, sizeof s->note - at, "%s%s", at ? " + " : "", name);
    *out = s->kernel[n];
    return VITCL_OK;
}

vitcl_status vt_args_of(vt_plan *p, vt_kernel *k, const char *format,
                        va_list args)
{
    vitcl_status st = VITCL_OK;
    vt_buf *b = NULL;

    for (unsigned i = 0; format[i] && st == VITCL_OK; i++) {
        switch (format[i]) {
        case 'v':
            st = vt_bind(&b, p, va_arg(args, vt_val));
            if (st == VITCL_OK)
                st = vt_kernel_buf(k, i, b);
            break;
        case 'b':
            st = vt_kernel_buf(k, i, va_arg(args, vt_buf *));
            break;
        case 'i':
            st = vt_kernel_int(k, i, va_arg(args, int));
            break;
        case 'f':
            st = vt_kernel_float(k, i, (float)va_arg(args, double));
            break;
        default:
            st = vt_fail(VITCL_EINVAL, "argument format '%c'", format[i]);
        }
    }
    return st;
}

vitcl_status vt_args(vt_plan *p, vt_kernel *k, const char *format, ...)
{
    vitcl_status st;
    va_list args;

    va_start(args, format);
    st = vt_args_of(p, k, format, args);
    va_end(args);
    return st;
}

/* ---- finishing ---- */

/* A buffer of its own for each place in the arena, in place of a sub-buffer.
 * The values that have the same place in turn share it. */
static vitcl_status claim_own(vt_plan *p, size_t at)
{
    vt_value *v = p->value[at];

    for (size_t i = 0; i < at; i++) {
        const vt_value *w = p->value[i];

        if (w->buf && (w->kind == VT_INPUT || w->kind == VT_RESULT) &&
            w->segment == v->segment && w->offset == v->offset &&
            w->bytes == v->bytes) {
            v->buf = vt_buf_ref(w->buf);
            return VITCL_OK;
        }
    }
    return vt_buf_new(&v->buf, p->o.dev, vt_arena_next(p, v->bytes));
}

/* For measuring what sub-buffers cost a driver. */
static vitcl_status own_buffers(bool *own)
{
    const char *word = vt_getenv("VITCL_ARENA");

    *own = word && strcmp(word, "own") == 0;
    return *own || !word || !word[0]
               ? VITCL_OK
               : vt_fail(VITCL_EINVAL,
                         "VITCL_ARENA is \"%.40s\"; it can be own", word);
}

static vitcl_status claim(vt_plan *p)
{
    bool own;
    const vitcl_device_info *info = vt_dev_info(p->o.dev);

    VT_RET(own_buffers(&own));
    if (!vt_dev_allows(p->o.dev, p->memory.segment))
        return vt_fail(VITCL_ENOMEM,
                       "activations need %.0f MB in one buffer, %s allows "
                       "%.0f MB; use a smaller batch or picture",
                       (double)p->memory.segment / 1e6, info->name,
                       (double)info->max_alloc_bytes / 1e6);
    for (size_t i = 0; i < VT_SEGMENTS && !own; i++)
        if (p->segment_bytes[i])
            VT_RET(vt_buf_new(&p->arena[i], p->o.dev, p->segment_bytes[i]));
    for (size_t i = 0; i < p->values; i++) {
        vt_value *v = p->value[i];

        if (v->kind == VT_INPUT || (v->kind == VT_RESULT && v->first >= 0))
            VT_RET(own ? claim_own(p, i)
                       : vt_buf_view(&v->buf, p->arena[v->segment], v->offset,
                                     v->bytes));
        if (v->kind == VT_STATE && v->slab != (vt_val)i)
            p->memory.states += v->bytes;
        if (v->kind == VT_STATE &&
            (v->slab == VT_NONE || v->slab == (vt_val)i)) {
            VT_RET(vt_buf_new(&v->buf, p->o.dev, v->bytes));
            VT_RET(vt_buf_fill(p->queue, v->buf, 0));
        }
        if (v->kind == VT_CONST) {
            VT_RET(vt_buf_new(&v->buf, p->o.dev, v->bytes));
            VT_RET(vt_buf_write(p->queue, v->buf, 0, v->data, v->bytes));
            p->memory.consts += v->bytes;
            free(v->data), v->data = NULL;
        }
    }
    return vt_slabs_claim(p);
}

static vitcl_status ready(vt_step *s)
{
    for (size_t i = 0; i < VT_COUNT(s->kernel) && s->kernel[i]; i++)
        VT_RET(vt_kernel_ready(s->kernel[i]));
    if (s->gemm)
        VT_RET(vt_gemm_ready(s->gemm));
    return VITCL_OK;
}

vitcl_status vt_plan_place(vt_plan *p)
{
    VT_RET(vt_plan_status(p));
    VT_RET(vt_storage_choose(p));
    return vt_arena_place(p);
}

/* Steps count twice: when they are bound and when their kernels are built. */
static vitcl_status tell(const vt_plan *p, size_t done)
{
    return p->o.progress &&
                   p->o.progress(p->o.progress_context, done, 2 * p->steps)
               ? vt_fail(VITCL_ESTOPPED, "stopped by the caller")
               : VITCL_OK;
}

vitcl_status vt_plan_finish(vt_plan *p)
{
    const double from = vt_now_ms();
    vitcl_status st = VITCL_OK;

    VT_TRY(vt_plan_status(p));
    if (!p->o.dev)
        return vt_fail(VITCL_EINVAL, "the plan has no device");
    if (p->finished)
        return vt_fail(VITCL_EINVAL, "the plan is finished already");
    VT_TRY(vt_plan_place(p));
    VT_TRY(claim(p));
    make_slots(p);
    vt_kernels_defer(true);
    for (size_t i = 0; i < p->steps; i++) {
        vt_step *s = p->step[i];

        VT_TRY(vt_plan_in_step(p, i, s->op->prepare(p, s)));
        if (s->gemm) {
            size_t at = strlen(s->note);
            snprintf(s->note + at, sizeof s->note - at, "%s%s", at ? " + " : "",
                     vt_gemm_describe(s->gemm));
        }
        VT_TRY(tell(p, i + 1));
    }
    VT_TRY(vt_queue_finish(p->queue));
    vt_kernels_build(p->o.dev);
    for (size_t i = 0; i < p->steps; i++) {
        VT_TRY(vt_plan_in_step(p, i, ready(p->step[i])));
        VT_TRY(tell(p, p->steps + i + 1));
    }
    p->finished = true;
    vt_plan_tell(p, from);
done:
    if (p->o.store)
        vt_store_rest(p->o.store);
    vt_kernels_defer(false);
    vt_plan_fail(p, st);
    return st;
}

/* ---- running ---- */

static vitcl_status show(vt_plan *p, const vt_step *s)
{
    for (size_t i = 0; i < VT_COUNT(s->out); i++)
        if (s->out[i] != VT_NONE && p->value[s->out[i]]->watched)
            VT_RET(p->o.watcher(p->o.watcher_context, p, s->out[i]));
    return VITCL_OK;
}

vitcl_status vt_plan_run(vt_plan *p, int first)
{
    return vt_plan_run_part(p, first, (int)p->steps);
}

/* Some drivers report wrong times: rusticl's gave 4e16 operations a second.
 * Kernels take at most the time to launch them and wait for them, and over a
 * run at least a hundredth of it. Times outside of this are replaced by the
 * host's, which are too long by the launches. */
static void judge_times(vt_plan *p, size_t first, size_t end)
{
    double device = 0, host = 0;

    for (size_t i = first; i < end; i++)
        device += p->step[i]->time_ms, host += p->step[i]->host_ms;
    for (size_t i = first; i < end; i++)
        if (!(device <= 1.1 * host && device >= 0.01 * host))
            p->step[i]->time_ms = p->step[i]->host_ms;
}

static double ms_between(uint64_t from, uint64_t to)
{
    return to > from ? (double)(to - from) * 1e-6 : 0;
}

/* Of a run that was not waited for in between. */
static void read_times(vt_plan *p)
{
    const size_t all = vt_queue_launched(p->queue);
    uint64_t begin = 0;
    size_t next = 0;
    vt_span at;

    for (size_t i = 0; i < p->steps; i++) {
        vt_step *s = p->step[i];

        s->time_ms = s->from_ms = s->to_ms = 0;
        for (bool first = true; next < s->launched && next < all; next++) {
            if (!vt_queue_span(&at, p->queue, next))
                continue;
            begin = begin ? begin : VT_MIN(at.queued, at.from);
            s->time_ms += ms_between(at.from, at.to);
            s->to_ms = ms_between(begin, at.to);
            if (first)
                s->from_ms = ms_between(begin, at.from);
            first = false;
        }
        s->launched = 0; /* the next run may leave this step out */
    }
    vt_queue_forget(p->queue);
}

vitcl_status vt_plan_wait(vt_plan *p)
{
    VT_RET(vt_queue_finish(p->queue));
    if (p->o.times == VT_TIMES_RUN)
        read_times(p);
    if (p->runs < 2 && ++p->runs == 2) { /* more are likely */
        for (size_t i = 0; i < VT_SEGMENTS && p->arena[i]; i++)
            vt_buf_large_pages(p->arena[i]);
        for (size_t i = 0; i < p->values; i++)
            if (p->value[i]->slab == (vt_val)i)
                vt_buf_large_pages(p->value[i]->buf);
        if (p->o.store)
            vt_store_large_pages(p->o.store);
    }
    return VITCL_OK;
}

/* With the time of each, or a watcher. */
static vitcl_status step_by_step(vt_plan *p, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const double from = p->o.times ? vt_now_ms() : 0;

        VT_RET(vt_plan_launch(p, first, i, i + 1));
        if (p->o.times) {
            p->step[i]->time_ms = vt_queue_time_ms(p->queue);
            p->step[i]->host_ms = vt_now_ms() - from;
        }
        if (p->o.watcher)
            VT_RET(show(p, p->step[i]));
    }
    if (p->o.times)
        judge_times(p, first, end);
    return VITCL_OK;
}

vitcl_status vt_plan_run_part(vt_plan *p, int first, int end)
{
    if (!p->finished)
        return vt_fail(VITCL_EINVAL, "the plan is not finished");
    if (p->o.times != VT_TIMES_STEPS && !p->o.watcher)
        VT_RET(vt_plan_launch(p, (size_t)first, (size_t)first, (size_t)end));
    else
        VT_RET(step_by_step(p, (size_t)first, (size_t)end));
    return vt_plan_wait(p);
}

/* ---- running while the next input is sent ---- */

bool vt_plan_overlaps(const vt_plan *p)
{
    return vt_plan_class(p) == VT_CLASS_GPU && p->o.times != VT_TIMES_STEPS &&
           !p->o.watcher;
}

vitcl_status vt_plan_send(vt_plan *p, vt_val v, const void *data, size_t bytes)
{
    if (!p->upload)
        VT_RET(vt_upload_new(&p->upload, p->o.dev, p->value[v]->bytes));
    return vt_upload_send(p->upload, data, bytes);
}

vitcl_status vt_plan_start(vt_plan *p, vt_val v, int end)
{
    if (v != VT_NONE)
        VT_RET(vt_upload_take(p->queue, p->value[v]->buf, p->upload));
    VT_RET(vt_plan_launch(p, 0, 0, (size_t)end));
    return vt_queue_flush(p->queue);
}

/* ---- values ---- */

vitcl_status vt_plan_write(vt_plan *p, vt_val v, const void *data, size_t bytes)
{
    vt_value *x = v == VT_NONE ? NULL : p->value[v];

    if (!x || !x->buf || bytes > x->bytes)
        return vt_fail(VITCL_EINVAL, "%s: cannot write %zu bytes",
                       x ? x->name : "no value", bytes);
    return vt_buf_write(p->queue, x->buf, 0, data, bytes);
}

static void widen(float *out, const uint16_t *in, size_t n, vt_dtype t)
{
    for (size_t i = 0; i < n; i++)
        out[i] = t == VT_F16 ? vt_f16_to_f32(in[i]) : vt_bf16_to_f32(in[i]);
}

vitcl_status vt_plan_read(vt_plan *p, vt_val v, float *out, uint64_t count)
{
    vitcl_status st = VITCL_OK;
    vt_value *x = v == VT_NONE ? NULL : p->value[v];
    size_t row, each, bytes;
    uint8_t *raw = NULL;

    if (!x || !x->buf || count > vt_elements(p, v))
        return vt_fail(VITCL_EINVAL, "%s: cannot read %llu elements",
                       x ? x->name : "no value", (unsigned long long)count);
    row = (size_t)x->dim[x->rank - 1];
    each = vt_dtype_size(x->dtype);
    if (x->dtype == VT_F32 && (size_t)x->ld == row)
        return vt_buf_read(p->queue, x->buf, 0, out, (size_t)count * 4);
    if (x->dtype != VT_F32 && x->dtype != VT_F16 && x->dtype != VT_BF16)
        return vt_fail(VITCL_EINVAL, "%s is %s and cannot be read as f32",
                       x->name, vt_dtype_name(x->dtype));
    bytes = ((size_t)count + row - 1) / row * (size_t)x->ld * each;
    VT_TRY(vt_new(&raw, bytes, 1));
    VT_TRY(vt_buf_read(p->queue, x->buf, 0, raw, VT_MIN(bytes, x->bytes)));
    for (size_t at = 0, r = 0; at < count; at += row, r++) {
        size_t n = VT_MIN(row, (size_t)count - at);
        const uint8_t *from = raw + r * (size_t)x->ld * each;

        if (x->dtype == VT_F32)
            memcpy(out + at, from, n * 4);
        else
            widen(out + at, (const uint16_t *)(const void *)from, n, x->dtype);
    }
done:
    free(raw);
    return st;
}
