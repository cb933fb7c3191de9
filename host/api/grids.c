/*
 * grids.c - runs of pictures of any aspect ratio (NaFlex).
 *
 * The pictures of a batch that have the same grid of patches run together, by a
 * plan for that grid. Padding all to one length, as the libraries do, needs a
 * mask in each kernel and multiplies zeros; the features are the same. Plans
 * are kept, since photographs have few aspect ratios; they share the weights.
 * The number of pictures of a plan is a power of two, or the whole batch, so
 * that no plan runs on rows that nobody asked for.
 */
#include "api/handles.h"
#include "base/memory.h"
#include "models/preprocess.h"

#include <string.h>

enum { KEPT = 24 };

typedef struct grid {
    uint32_t rows, columns, batch;
    vt_plan *plan;
    vt_written w;
    uint64_t used; /* the number of the run */
} grid;

struct vt_grids {
    uint32_t rows, columns; /* of the session's own plan */
    grid kept[KEPT];
    uint32_t count;
    uint64_t runs;
    uint8_t *rgb; /* the pictures of a run, without what pads them */
    float *logits, *features; /* of the batch */
    float *some;              /* of a run */
};

void vt_grids_free(struct vt_grids *g)
{
    if (!g)
        return;
    for (uint32_t i = 0; i < g->count; i++)
        vt_plan_free(g->kept[i].plan);
    free(g->rgb);
    free(g->logits);
    free(g->features);
    free(g->some);
    free(g);
}

vitcl_status vt_grids_new(vitcl_session *s)
{
    vitcl_status st = VITCL_OK;
    struct vt_grids *g = NULL;
    const size_t most = VT_MAX(s->classes, s->features);
    size_t bytes = 0;

    VT_TRY(VT_NEW(&g, 1));
    vt_preprocess_any(&s->how,
                      (uint32_t)vt_model_config(s->model->model)->patch_h,
                      (uint32_t)vt_model_patches(s->model->model));
    g->rows = s->height / s->how.patch, g->columns = s->width / s->how.patch;
    s->height = s->how.height, s->width = s->how.width;
    if (!vt_mul(&bytes, (size_t)s->batch * s->height, (size_t)s->width * 3))
        VT_TRY(vt_fail(VITCL_ENOMEM, "a batch of %u is too large", s->batch));
    VT_TRY(VT_NEW(&g->rgb, bytes));
    VT_TRY(VT_NEW(&g->logits, (size_t)s->batch * s->classes + 1));
    VT_TRY(VT_NEW(&g->features, (size_t)s->batch * s->features + 1));
    VT_TRY(VT_NEW(&g->some, (size_t)s->batch * most + 1));
    s->options.progress = NULL;
    s->options.once = false; /* a plan may run again */
    s->grids = g, g = NULL;
done:
    vt_grids_free(g);
    return st;
}

/* Frees the plan that was not used for longest; false: there is none. */
static bool forget(struct vt_grids *g)
{
    uint32_t at = 0;

    if (!g->count)
        return false;
    for (uint32_t i = 1; i < g->count; i++)
        if (g->kept[i].used < g->kept[at].used)
            at = i;
    vt_plan_free(g->kept[at].plan);
    g->kept[at] = g->kept[--g->count];
    return true;
}

static double bytes_of(const vt_plan *p)
{
    const vt_plan_memory memory = vt_plan_memory_of(p);

    return (double)memory.arena + (double)memory.consts;
}

/* Beside the session's own plan and those that are kept. */
static bool fits(const vitcl_session *s, const vt_plan *p)
{
    const struct vt_grids *g = s->grids;
    double beside = bytes_of(s->plan);

    for (uint32_t i = 0; i < g->count; i++)
        beside += bytes_of(g->kept[i].plan);
    return vt_handle_fits(p, s->model, beside);
}

/* Makes a plan, in the place of those that were not used for longest if there
 * are KEPT or the memory is full. */
static vitcl_status make(grid **out, vitcl_session *s, uint32_t rows,
                         uint32_t columns, uint32_t batch)
{
    struct vt_grids *g = s->grids;
    const uint32_t patch = s->how.patch;
    grid new = {.rows = rows, .columns = columns, .batch = batch};
    vitcl_status st;

    if (g->count == KEPT) /* memory is free before it is asked for */
        forget(g);
    do {
        vt_plan_free(new.plan), new.plan = NULL;
        VT_TRY(vt_handle_plan(&new.plan, &new.w, s->model, &s->options, batch,
                              rows * patch, columns * patch, &s->how));
        while (!fits(s, new.plan) && forget(g))
            ;
        st = vt_plan_finish(new.plan);
    } while (st == VITCL_ENOMEM && forget(g));
    VT_TRY(st);
    *out = &g->kept[g->count++];
    **out = new, new.plan = NULL;
done:
    vt_plan_free(new.plan);
    return st;
}

static vitcl_status find(grid **out, vitcl_session *s, uint32_t rows,
                         uint32_t columns, uint32_t batch)
{
    struct vt_grids *g = s->grids;

    for (uint32_t i = 0; i < g->count; i++) {
        *out = &g->kept[i];
        if ((*out)->rows == rows && (*out)->columns == columns &&
            (*out)->batch == batch)
            return VITCL_OK;
    }
    return make(out, s, rows, columns, batch);
}

/* Puts the part of each picture where it belongs. */
static vitcl_status scatter(float *out, vt_plan *p, vt_val v, uint32_t each,
                            const uint32_t *which, uint32_t n, float *some)
{
    if (!each)
        return VITCL_OK;
    VT_RET(vt_plan_read(p, v, some, (uint64_t)n * each));
    for (uint32_t i = 0; i < n; i++)
        memcpy(out + (size_t)which[i] * each, some + (size_t)i * each,
               each * sizeof *out);
    return VITCL_OK;
}

/* n pictures of one grid, by their numbers. */
static vitcl_status run(vitcl_session *s, const uint8_t *rgb,
                        const uint32_t *which, uint32_t n, uint32_t rows,
                        uint32_t columns)
{
    struct vt_grids *g = s->grids;
    const size_t slot = (size_t)s->height * s->width * 3;
    const size_t bytes =
        (size_t)rows * columns * s->how.patch * s->how.patch * 3;
    const bool own = rows == g->rows && columns == g->columns && n == s->batch;
    grid mine = {.plan = s->plan,
                 .w = {s->rgb, s->values, s->out, s->seed, s->forward_end}};
    grid *x = &mine;

    if (!own)
        VT_RET(find(&x, s, rows, columns, n));
    x->used = ++g->runs;
    for (uint32_t i = 0; i < n; i++)
        memcpy(g->rgb + i * bytes, rgb + which[i] * slot, bytes);
    VT_RET(vt_plan_write(x->plan, x->w.rgb, g->rgb, n * bytes));
    VT_RET(vt_plan_run_part(x->plan, 0, x->w.forward_end));
    VT_RET(scatter(g->logits, x->plan, x->w.out.logits, s->classes, which, n,
                   g->some));
    return scatter(g->features, x->plan, x->w.out.features, s->features, which,
                   n, g->some);
}

/* As many as a plan takes of the n that are left. */
static uint32_t share(uint32_t n, uint32_t batch)
{
    uint32_t most = 1;

    while (most <= n / 2)
        most *= 2;
    return n == batch ? n : most;
}

vitcl_status vt_grids_run(vitcl_session *s, const uint8_t *rgb, uint32_t n)
{
    vitcl_status st = VITCL_OK;
    const size_t slot = (size_t)s->height * s->width * 3;
    uint32_t *which = NULL, *shape = NULL, rows = 0, columns = 0;

    VT_TRY(VT_NEW(&which, n));
    VT_TRY(VT_NEW(&shape, n));
    for (uint32_t i = 0; i < n; i++) {
        if (!vt_patches_grid(&rows, &columns, rgb + i * slot, &s->how))
            VT_TRY(vt_fail(VITCL_EINVAL,
                           "picture %u was not prepared for this session: "
                           "vitcl_image_prepare() does that",
                           i));
        shape[i] = rows << 16 | columns;
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t of = shape[i];
        uint32_t alike = 0;

        for (uint32_t k = i; of && k < n; k++)
            if (shape[k] == of)
                which[alike++] = k, shape[k] = 0;
        for (uint32_t k = 0, m; k < alike; k += m) {
            m = share(alike - k, s->batch);
            VT_TRY(run(s, rgb, which + k, m, of >> 16, of & 0xffff));
        }
    }
    s->from_rgb = false; /* no plan has all of them */
    s->ran = true;
done:
    free(which);
    free(shape);
    return st;
}

vitcl_status vt_grids_read(float *out, size_t room, const vitcl_session *s,
                           vt_val v, uint32_t n)
{
    const bool logits = v == s->out.logits;
    const size_t each = logits ? s->classes : s->features;

    if (v != s->out.logits && v != s->out.features)
        return vt_fail(VITCL_EINVAL, "no such tensor was kept");
    if (n * each > room)
        return vt_fail(VITCL_EINVAL,
                       "%u picture%s have %zu numbers, but the buffer holds "
                       "%zu",
                       n, vt_plural(n), n * each, room);
    memcpy(out, logits ? s->grids->logits : s->grids->features,
           n * each * sizeof *out);
    return VITCL_OK;
}
