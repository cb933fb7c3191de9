/*
 * session.c - a plan of one model at one size, ready to run.
 *
 * A run is a write, kernel launches and a read; all memory is allocated when
 * the session is made. Fewer pictures than the batch still run the whole plan:
 * rows are independent, so stale ones do no harm.
 */
#include "api/handles.h"
#include "api/program.h"
#include "base/memory.h"
#include "models/preprocess.h"
#include "product/half_choice.h"

#include <stdio.h>
#include <string.h>

/* ---- making ---- */

/* The checkpoint's preprocessing. A model with unknown preprocessing can still
 * be run on pixel values, so the error is kept until a picture is given. */
static void preprocessing(vitcl_session *s, bool any)
{
    const vt_model *m = s->model->model;

    s->how_status = vt_model_preprocess(&s->how, m, any ? 0 : s->height,
                                        any ? 0 : s->width);
    if (s->how_status != VITCL_OK) {
        snprintf(s->how_message, sizeof s->how_message, "%s", vt_message());
        vt_preprocess_default(&s->how, s->height, s->width);
    }
}

static vitcl_status prepares(const vitcl_session *s)
{
    return s->how_status == VITCL_OK
               ? VITCL_OK
               : vt_fail(s->how_status, "%s", s->how_message);
}

static bool batch_fits(const vitcl_session *s, const vt_plan_options *options,
                       uint32_t batch)
{
    vt_plan *p = NULL;
    vt_written w;
    bool ok = vt_handle_plan(&p, &w, s->model, options, batch, s->height,
                             s->width, &s->how) == VITCL_OK &&
              vt_handle_fits(p, s->model, 0);

    vt_plan_free(p);
    return ok;
}

static vitcl_status too_large(const vitcl_session *s,
                              const vt_plan_options *options, double bytes)
{
    const vitcl_device_info *info = vt_dev_info(s->model->dev);
    uint32_t low = 0, high = s->batch;
    char need[64] = "more elements than kernels can index";

    /* Each try writes a plan, so the answer is rough. */
    while (high - low > VT_MAX(low / 8, 1u)) {
        uint32_t middle = low + (high - low) / 2;

        if (batch_fits(s, options, middle))
            low = middle;
        else
            high = middle;
    }
    if (bytes > 0)
        snprintf(need, sizeof need, "%.0f MB besides the weights", bytes / 1e6);
    if (low == 0)
        return vt_fail(VITCL_ENOMEM,
                       "a picture of %ux%u needs %s and does not fit %s "
                       "(%.0f MB, %.0f MB a buffer)",
                       s->height, s->width, need, info->name,
                       (double)info->memory_bytes / 1e6,
                       (double)info->max_alloc_bytes / 1e6);
    return vt_fail(VITCL_ENOMEM,
                   "a batch of %u needs %s and does not fit %s (%.0f MB, %.0f "
                   "MB a buffer); a batch of %u fits",
                   s->batch, need, info->name, (double)info->memory_bytes / 1e6,
                   (double)info->max_alloc_bytes / 1e6, low);
}

static void describe(vitcl_tensor_info *info, const vt_value *v)
{
    *info = (vitcl_tensor_info){.size = sizeof *info};
    snprintf(info->name, sizeof info->name, "%s", v->name);
    info->rank = (uint32_t)v->rank;
    for (int i = 0; i < v->rank; i++)
        info->shape[i] = (uint32_t)v->dim[i];
}

static vitcl_status stopped(void)
{
    return vt_fail(VITCL_ESTOPPED, "stopped by the caller");
}

/* A vt_watcher: gives the caller's watcher the value as f32. */
static vitcl_status watch(void *context, vt_plan *p, vt_val v)
{
    vitcl_session *s = context;
    vitcl_tensor_info info;

    VT_RET(vt_plan_read(p, v, s->watched, vt_elements(p, v)));
    describe(&info, vt_value_of(p, v));
    if (s->watcher(s->watcher_context, &info, s->watched))
        return stopped();
    return VITCL_OK;
}

static vitcl_status make_watched(vitcl_session *s)
{
    uint64_t most = 0;

    for (int i = 0; i < vt_plan_values(s->plan); i++)
        if (vt_value_of(s->plan, i)->watched)
            most = VT_MAX(most, vt_elements(s->plan, i));
    return VT_NEW(&s->watched, (size_t)most);
}

static vitcl_status write_plan(vitcl_session *s, const vitcl_session_options *o)
{
    vitcl_status st = VITCL_OK;
    vt_written w;
    /* all but one: only gradients on the way to the first layer's attention are
     * computed, and those of that layer's queries, keys and values */
    static const char *const freeze[] = {"[!b]*",
                                         "blocks.[!0]*",
                                         "blocks.0.[!a]*",
                                         "blocks.0.attn.[!q]*",
                                         "blocks.0.attn.q_*",
                                         "blocks.0.attn.qkv.[!w]*",
                                         NULL};
    vt_plan_options options = {.dev = s->model->dev,
                               .backward = o->gradients != 0,
                               .train = o->gradients != 0,
                               .freeze = freeze,
                               .store = s->model->store,
                               .gemm = o->gemm,
                               .precision = o->precision,
                               .keep = o->keep,
                               .watch = o->watcher ? o->watch : NULL,
                               .watcher = o->watcher ? watch : NULL,
                               .watcher_context = s,
                               .once = o->once != 0,
                               .any_batch = o->any_batch != 0,
                               .progress = o->progress,
                               .progress_context = o->progress_context,
                               .times = o->profile == 2 ? VT_TIMES_RUN
                                        : o->profile    ? VT_TIMES_STEPS
                                                        : VT_TIMES_NONE};

    if (o->precision == VITCL_HALF)
        VT_TRY(vt_half_choose(&options.precision, s->model->dev, o->gemm));
    st = vt_handle_plan(&s->plan, &w, s->model, &options, s->batch, s->height,
                        s->width, &s->how);
    if (st == VITCL_EUNSUPPORTED && s->batch > 1) {
        char why[512]; /* the error, if the batch is not the cause */

        snprintf(why, sizeof why, "%s", vt_message());
        if (batch_fits(s, &options, 1))
            return too_large(s, &options, 0);
        return vt_fail(st, "%s", why);
    }
    VT_TRY(st);
    if (!vt_handle_fits(s->plan, s->model, 0))
        return too_large(s, &options, (double)vt_plan_memory_of(s->plan).arena);
    s->options = options; /* for plans of other grids, made later: without the
                           * caller's pointers */
    s->options.gemm = o->gemm ? vt_plan_settings(s->plan)->gemm : NULL;
    s->options.keep = s->options.watch = NULL;
    s->rgb = w.rgb, s->values = w.values, s->out = w.out;
    s->seed = w.seed, s->forward_end = w.forward_end;
    VT_TRY(make_watched(s));
    VT_TRY(vt_plan_finish(s->plan));
done:
    return st;
}

vitcl_status vitcl_session_new(vitcl_session **out, vitcl_model *model,
                               const vitcl_session_options *options)
{
    vitcl_status st = VITCL_OK;
    vitcl_session *s = NULL;
    vitcl_session_options o;
    size_t bytes = 0;
    bool any;

    VT_GIVEN(out);
    VT_GIVEN(model);
    if (!model->dev)
        return vt_fail(VITCL_EINVAL, "the model was loaded without a device");
    VT_TRY(vt_dev_alive(model->dev));
    VT_TRY(vt_sized_options(&o, sizeof o, options, "vitcl_session_options"));
    VT_TRY(vt_precision_known(o.precision));
    any =
        !o.height && !o.width && !o.gradients && vt_model_patches(model->model);
    if (any && ((o.keep && o.keep[0]) || o.watcher))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "pictures of any aspect ratio have no tensors of one "
                       "shape to keep or watch; choose one size (--size)");
    VT_TRY(VT_NEW(&s, 1));
    s->id = vt_turns_id();
    s->model = vt_handle_ref(model);
    s->batch = o.batch;
    s->height = o.height;
    s->width = o.width;
    s->progress = o.progress;
    s->progress_context = o.progress_context;
    s->watcher = o.watcher;
    s->watcher_context = o.watcher_context;
    VT_TRY(vt_handle_size(&s->height, &s->width, &s->batch, model));
    preprocessing(s, any);
    VT_TRY(write_plan(s, &o));
    s->classes = s->out.logits == VT_NONE
                     ? 0
                     : (uint32_t)vt_dim(s->plan, s->out.logits, -1);
    s->features = s->out.features == VT_NONE
                      ? 0
                      : (uint32_t)vt_dim(s->plan, s->out.features, -1);
    if (any)
        VT_TRY(vt_grids_new(s));
    if (!vt_mul(&bytes, (size_t)s->batch * s->height, (size_t)s->width * 3))
        VT_TRY(vt_fail(VITCL_ENOMEM, "a batch of %u is too large", s->batch));
    VT_TRY(VT_NEW(&s->picture, bytes));
    VT_TRY(VT_NEW(&s->logits, (size_t)s->batch * s->classes));
    *out = s, s = NULL;
done:
    vitcl_session_free(s);
    return st;
}

void vitcl_session_free(vitcl_session *session)
{
    if (!session)
        return;
    vt_grids_free(session->grids);
    vt_plan_free(session->plan);
    vitcl_model_free(session->model);
    free(session->picture);
    free(session->logits);
    free(session->watched);
    free(session);
}

/* ---- running ---- */

void vitcl_session_stop(vitcl_session *session)
{
    if (session)
        atomic_store(&session->stop, true);
}

vitcl_status vt_session_tell(const vitcl_session *s, uint64_t done,
                             uint64_t total)
{
    return s->progress && s->progress(s->progress_context, done, total)
               ? stopped()
               : VITCL_OK;
}

static vitcl_status count_fits(const vitcl_session *s, uint32_t n)
{
    return n > 0 && n <= s->batch
               ? VITCL_OK
               : vt_fail(VITCL_EINVAL, "%u pictures do not fit a batch of %u",
                         n, s->batch);
}

vitcl_status vt_session_takes_rgb(const vitcl_session *s, uint32_t n)
{
    VT_RET(count_fits(s, n));
    return prepares(s);
}

bool vt_session_overlaps(const vitcl_session *s)
{
    return !s->grids && vt_plan_overlaps(s->plan);
}

vitcl_status vt_session_begin(vitcl_session *s)
{
    s->ran = s->running = s->spent = false;
    vt_turns_run(s);
    return atomic_exchange(&s->stop, false) ? stopped() : VITCL_OK;
}

static vitcl_status run_from(vitcl_session *s, int first)
{
    vitcl_status st;

    s->from_rgb = first == 0;
    st = vt_plan_run_part(s->plan, first, s->forward_end);
    s->ran = st == VITCL_OK;
    return st;
}

static vitcl_status run_gradient(vitcl_session *s, const uint32_t *labels,
                                 uint32_t n)
{
    vitcl_status st = VITCL_OK;
    float *seed = NULL;

    if (s->seed == VT_NONE)
        return vt_fail(VITCL_EINVAL,
                       "the session was made without the option gradients");
    VT_TRY(count_fits(s, n));
    VT_TRY(vt_session_ran(s));
    if (s->spent)
        return vt_fail(VITCL_EINVAL,
                       "a backward pass uses up the activations of its run; "
                       "run the pictures again");
    VT_TRY(VT_NEW(&seed, (size_t)s->batch * s->classes));
    for (uint32_t i = 0; i < n; i++) {
        if (labels[i] >= s->classes)
            VT_TRY(vt_fail(VITCL_EINVAL,
                           "there is no class %u: the model has %u", labels[i],
                           s->classes));
        seed[(size_t)i * s->classes + labels[i]] = 1;
    }
    VT_TRY(vt_plan_write(s->plan, s->seed, seed,
                         (size_t)s->batch * s->classes * sizeof *seed));
    s->spent = true;
    VT_TRY(vt_plan_run_part(s->plan, s->forward_end, vt_plan_steps(s->plan)));
done:
    free(seed);
    return st;
}

vitcl_status vt_session_run_gradient(vitcl_session *session,
                                     const uint32_t *labels, uint32_t n)
{
    VT_RETURN_ALONE(session, "session", run_gradient(session, labels, n));
}

vitcl_status vt_session_ran(vitcl_session *s)
{
    VT_RET(vt_turns_read(s));
    if (s->running) {
        s->running = false;
        VT_RET(vt_plan_wait(s->plan));
        s->ran = true;
    }
    if (!s->ran)
        return vt_fail(VITCL_EINVAL, "there is no answer to read: the session "
                                     "has not run, or its last run failed");
    return VITCL_OK;
}

vitcl_status vt_session_run_rgb(vitcl_session *s, const uint8_t *rgb,
                                uint32_t n)
{
    VT_RET(vt_session_takes_rgb(s, n));
    VT_RET(vt_session_begin(s));
    if (s->grids)
        return vt_grids_run(s, rgb, n);
    if (rgb)
        VT_RET(vt_plan_write(s->plan, s->rgb, rgb,
                             (size_t)n * s->height * s->width * 3));
    return run_from(s, 0);
}

vitcl_status vitcl_session_run_rgb(vitcl_session *session, const uint8_t *rgb,
                                   uint32_t n)
{
    VT_GIVEN(session);
    VT_GIVEN(rgb);
    VT_RETURN_ALONE(session, "session", vt_session_run_rgb(session, rgb, n));
}

vitcl_status vt_session_run_values(vitcl_session *s, const float *values,
                                   uint32_t n)
{
    VT_RET(count_fits(s, n));
    if (s->grids)
        return vt_fail(VITCL_EINVAL,
                       "the session's pictures have any aspect ratio; for "
                       "pixel values choose one size (--size)");
    VT_RET(vt_session_begin(s));
    VT_RET(vt_plan_write(s->plan, s->values, values,
                         (size_t)n * s->height * s->width * 3 * sizeof(float)));
    return run_from(s, 1);
}

vitcl_status vitcl_session_run_values(vitcl_session *session,
                                      const float *values, uint32_t n)
{
    VT_GIVEN(session);
    VT_GIVEN(values);
    VT_RETURN_ALONE(session, "session",
                    vt_session_run_values(session, values, n));
}

vitcl_status vt_session_read(float *out, size_t room, vitcl_session *s,
                             vt_val v, uint32_t n)
{
    uint64_t count = vt_elements(s->plan, v);

    VT_RET(vt_session_ran(s));
    if (s->grids)
        return vt_grids_read(out, room, s, v, n);
    if (vt_dim(s->plan, v, 0) == (int)s->batch)
        count = count / s->batch * n;
    if (count > room)
        return vt_fail(VITCL_EINVAL,
                       "%s of %u picture%s has %llu elements, but the buffer "
                       "holds %zu",
                       vt_value_of(s->plan, v)->name, n, vt_plural(n),
                       (unsigned long long)count, room);
    return vt_plan_read(s->plan, v, out, count);
}

/* A kept tensor by name. The outputs have fixed names, whatever the family
 * calls them. */
vt_val vt_session_value(const vitcl_session *s, const char *name)
{
    vt_val v;

    for (uint32_t i = 0; (v = vt_plan_kept(s->plan, i)) != VT_NONE; i++)
        if (strcmp(vt_value_of(s->plan, v)->name, name) == 0)
            return v;
    if (strcmp(name, "logits") == 0)
        return s->out.logits;
    return strcmp(name, "features") == 0 ? s->out.features : VT_NONE;
}

static vitcl_status read_named(float *out, size_t count, vitcl_session *s,
                               const char *name, uint32_t n)
{
    vt_val v;

    VT_RET(count_fits(s, n));
    v = vt_session_value(s, name);
    if (v == VT_NONE)
        return vt_fail(VITCL_EINVAL,
                       "no tensor %s was kept: name it in the option keep",
                       name);
    return vt_session_read(out, count, s, v, n);
}

vitcl_status vitcl_session_read(float *out, size_t count,
                                vitcl_session *session, const char *name,
                                uint32_t n)
{
    VT_GIVEN(out);
    VT_GIVEN(session);
    VT_GIVEN(name);
    VT_RETURN_ALONE(session, "session",
                    read_named(out, count, session, name, n));
}

vitcl_status vitcl_session_tensor(vitcl_tensor_info *out,
                                  const vitcl_session *session, uint32_t index)
{
    const vt_value *v;
    vitcl_tensor_info info;

    VT_SIZED(out, vitcl_tensor_info);
    VT_GIVEN(session);
    v = vt_value_of(session->plan, vt_plan_kept(session->plan, index));
    if (!v)
        return vt_fail(VITCL_EINVAL, "there is no tensor %u", index);
    describe(&info, v);
    vt_sized_give(out, &info, sizeof info);
    return VITCL_OK;
}
