/*
 * update.c - vitcl_index_update(): lists, decodes and embeds pictures, a batch
 * at a time; host/index/update.c knows which rows stay.
 */
#include "index/update.h"
#include "api/handles.h"
#include "api/program.h"
#include "base/file.h"
#include "base/memory.h"
#include "models/preprocess.h"
#include "walk/walk.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { AHEAD = 256 }; /* pictures that are pushed to the loader */

/* A picture of the batch. */
typedef struct taken {
    const char *path;
    bool good; /* it was decoded: the next row of the batch's pixels */
    vt_stamp stamp;
} taken;

typedef struct renewal {
    vitcl_session *s;
    vitcl_index_options o;
    vitcl_update_info info;
    vt_newfile held;
    vt_update rows;
    vt_about about;
    bool half;
    vt_vectors *to;
    bool broken; /* the new file cannot be completed */
    vitcl_loader *loader;
    size_t pushed, next; /* of rows.todo */
    taken *batch;        /* [session's batch] */
    uint32_t count, good;
    uint8_t *rgb;
    float *vectors;
    int64_t began; /* ns */
} renewal;

/* ---- the pictures ---- */

static vitcl_status walk(renewal *u, vt_walk *w, const char *folder)
{
    vt_walk_found f;
    bool any = false;

    VT_RET(vt_walk_begin(w, folder, 0));
    for (;;) {
        VT_RET(vt_walk_next(&f, w));
        if (!f.path)
            break;
        any = true;
        if (!f.again)
            VT_RET(vt_update_name(&u->rows, f.path, f.error));
    }
    if (!any)
        VT_RET(vt_update_name(&u->rows, folder, "no pictures in this folder"));
    return VITCL_OK;
}

static vitcl_status list(renewal *u, const char *const *pictures)
{
    struct stat file;
    vt_walk *w = NULL;
    vitcl_status st;

    VT_TRY(vt_walk_new(&w, false, u->o.follow != 0));
    for (; *pictures; pictures++) {
        const bool there = stat(*pictures, &file) == 0;

        if (there && S_ISDIR(file.st_mode)) {
            VT_TRY(walk(u, w, *pictures));
            continue;
        }
        if (there && S_ISREG(file.st_mode))
            VT_TRY(vt_walk_read(w, &file));
        VT_TRY(vt_update_name(&u->rows, *pictures, NULL));
    }
    VT_TRY(vt_update_list(&u->rows, u->o.prune != 0));
done:
    vt_walk_free(w);
    return st;
}

/* ---- what vectors depend on ---- */

static vitcl_status describe(renewal *u)
{
    const vitcl_session *s = u->s;
    const vt_index *old = u->rows.old;
    vt_about *a = &u->about;
    uint32_t height, width;
    bool sized;

    vt_model_input(&height, &width, s->model->model);
    sized = !s->grids && (s->height != height || s->width != width ||
                          vt_model_most_patches(s->model));
    VT_RET(vt_model_about(a, s->model, sized ? s->height : 0,
                          sized ? s->width : 0));
    memcpy(a->feature, "pooled", sizeof "pooled");
    if (s->model->path && strlen(s->model->path) < sizeof a->model)
        memcpy(a->model, s->model->path, strlen(s->model->path) + 1);
    a->normalized = u->o.normalize != 0;
    u->half = u->o.f16 != 0;
    if (old) {
        a->normalized = a->normalized || vt_index_about(old)->normalized;
        u->half = u->half || vt_index_half(old);
        VT_RET(vt_index_agrees(old, a));
        if (!vt_row_alike(vt_index_shape(old),
                          (vt_row_shape){.width = s->features}))
            VT_RET(vt_fail(VITCL_EINVAL,
                           "%s: its vectors have another shape than this "
                           "model's",
                           vt_index_file(old)));
    }
    if (u->rows.lost || u->rows.places.base[0])
        memcpy(a->folder, vt_index_about(old)->folder, sizeof a->folder);
    else
        vt_place_here(a->folder);
    return VITCL_OK;
}

/* ---- a batch ---- */

static vitcl_status push_ahead(renewal *u)
{
    while (u->pushed < u->rows.todos && vitcl_loader_pending(u->loader) < AHEAD)
        VT_RET(vitcl_loader_push(u->loader, u->rows.todo[u->pushed++]));
    return VITCL_OK;
}

/* A picture's failure is reported; others end the call. */
static vitcl_status take(renewal *u)
{
    const size_t bytes = (size_t)u->s->height * u->s->width * 3;
    taken *t = &u->batch[u->count];
    vitcl_status st;

    *t = (taken){u->rows.todo[u->next], true, {-1, -1}};
    st = vitcl_loader_next(u->rgb + u->good * bytes, u->loader);
    if (st == VITCL_ENOMEM || st == VITCL_EBUSY)
        return st;
    if (st != VITCL_OK) {
        t->good = false;
        if (u->o.report)
            u->o.report(u->o.context, vt_message());
    } else if (vt_loader_stamp(&t->stamp.size, &t->stamp.changed, u->loader) ==
               VITCL_OK) {
        t->stamp = vt_update_stamp(t->stamp.size, t->stamp.changed, u->began);
    }
    u->good += t->good;
    u->count++;
    u->next++;
    return VITCL_OK;
}

/* Embeds the first n pictures of u->rgb. */
static vitcl_status run(renewal *u, uint32_t n)
{
    vitcl_session *s = u->s;

    VT_RET(vt_session_run_rgb(s, u->rgb, n));
    return vt_session_read(u->vectors, (size_t)n * s->features, s,
                           s->out.features, n);
}

/* Decodes and embeds the next pictures of rows.todo. */
static vitcl_status embed(renewal *u)
{
    u->count = u->good = 0;
    while (u->count < u->s->batch && u->next < u->rows.todos) {
        VT_RET(push_ahead(u));
        VT_RET(take(u));
    }
    return u->good ? run(u, u->good) : VITCL_OK;
}

static vitcl_status add(renewal *u, const taken *t, float *vector)
{
    vt_vectors_row row = {.numbers = vector, .stamp = t->stamp};
    vitcl_status st;

    VT_TRY(vt_update_keep(&u->rows, u->to, t->path));
    row.path = u->rows.name;
    if (!vector) {
        row.error = "it has no vector";
        row.stamp = (vt_stamp){-1, -1};
    } else if (u->about.normalized) {
        vt_vector_unit(vector, u->s->features);
    }
    if (row.path)
        VT_TRY(vt_vectors_add(u->to, &row));
    u->info.embedded += vector != NULL;
    u->info.failed += !vector;
done:
    u->broken = st != VITCL_OK;
    return st;
}

static vitcl_status add_batch(renewal *u)
{
    const uint32_t width = u->s->features;
    uint32_t row = 0;

    for (uint32_t i = 0; i < u->count; i++) {
        float *vector = NULL;

        if (u->batch[i].good) {
            vector = u->vectors + (size_t)row * width;
            if (!vt_all_finite(vector, width)) {
                (void)vt_fail_in(vt_session_explain(u->s, row), "%s",
                                 u->batch[i].path);
                if (u->o.report)
                    u->o.report(u->o.context, vt_message());
                vector = NULL;
            }
            row++;
        }
        VT_RET(add(u, &u->batch[i], vector));
    }
    if (u->o.progress && u->o.progress(u->o.context, u->next, u->rows.todos))
        VT_RET(vt_fail(VITCL_ESTOPPED, "stopped by the caller"));
    return VITCL_OK;
}

/* ---- the whole ---- */

static vitcl_status prepare(renewal *u)
{
    const vitcl_session *s = u->s;

    VT_RET(VT_NEW(&u->batch, s->batch));
    VT_RET(vt_new(&u->rgb, (size_t)s->batch * s->height * s->width, 3));
    VT_RET(VT_NEW(&u->vectors, (size_t)s->batch * s->features));
    return vitcl_loader_new(&u->loader, s, 0);
}

/* Renamed pictures keep their rows, if one that is embedded says so. */
static vitcl_status take_over(renewal *u)
{
    vt_update *r = &u->rows;
    const vt_update_entry *e = vt_update_probe(r);

    if (!e)
        return VITCL_OK;
    VT_RET(vitcl_loader_push(u->loader, e->path));
    if (vitcl_loader_next(u->rgb, u->loader) != VITCL_OK)
        return VITCL_OK; /* it is reported when its turn comes */
    VT_RET(run(u, 1));
    if (u->about.normalized)
        vt_vector_unit(u->vectors, u->s->features);
    VT_RET(vt_index_rows(r->row, r->narrow, r->old, e->from, 1));
    if (vt_update_same(u->vectors, r->row, u->s->features))
        VT_RET(vt_update_take_over(r));
    return VITCL_OK;
}

static vitcl_status complete(renewal *u)
{
    VT_RET(vt_update_keep(&u->rows, u->to, NULL));
    VT_RET(vt_vectors_finish(u->to));
    u->info.rows = vt_vectors_count(u->to);
    return VITCL_OK;
}

/* After a failure, too, what is done is in the index. */
static vitcl_status finish(renewal *u, vitcl_status st)
{
    char why[512];

    if (u->broken || !u->to)
        return st;
    if (st == VITCL_OK)
        return complete(u);
    snprintf(why, sizeof why, "%s", vt_message());
    return complete(u) == VITCL_OK ? vt_fail(st, "%s", why) : st;
}

static vitcl_status update(renewal *u, const char *path,
                           const char *const *pictures)
{
    vitcl_status st;
    bool busy;

    VT_TRY(vt_newfile_hold(&busy, &u->held, path, false));
    if (busy)
        return vt_fail(VITCL_EBUSY, "%s: another process updates it", path);
    VT_TRY(vt_update_open(&u->rows, path));
    VT_TRY(list(u, pictures));
    VT_TRY(describe(u));
    if (u->rows.todos) {
        VT_TRY(prepare(u));
        VT_TRY(take_over(u));
    }
    VT_TRY(vt_vectors_open(&u->to, path, &u->about,
                           (vt_row_shape){.width = u->s->features}, u->half));
    while (u->next < u->rows.todos) {
        VT_TRY(embed(u));
        VT_TRY(add_batch(u));
    }
done:
    return finish(u, st);
}

static vitcl_status begin(vitcl_update_info *out, const char *path,
                          vitcl_session *session, const char *const *pictures,
                          const vitcl_index_options *options)
{
    renewal *u = NULL;
    vitcl_status st;

    if (!vt_path_ends(path, ".safetensors") || !session->features)
        return vt_fail(VITCL_EINVAL,
                       "%s: the name of an index ends in .safetensors, and its "
                       "model has features",
                       path);
    VT_TRY(VT_NEW(&u, 1));
    u->s = session;
    u->began = vt_update_clock();
    VT_TRY(
        vt_sized_options(&u->o, sizeof u->o, options, "vitcl_index_options"));
    VT_TRY(update(u, path, pictures));
    u->info.renamed = u->rows.renamed;
    u->info.gone = u->rows.gone;
    u->info.pruned = u->rows.drop;
    u->info.spared = u->rows.spared;
    if (out)
        vt_sized_give(out, &u->info, sizeof u->info);
done:
    if (u) {
        vitcl_loader_free(u->loader);
        vt_vectors_free(u->to);
        vt_update_close(&u->rows);
        if (u->held.path)
            vt_newfile_discard(&u->held);
        free(u->batch);
        free(u->rgb);
        free(u->vectors);
    }
    free(u);
    return st;
}

vitcl_status vitcl_index_update(vitcl_update_info *out, const char *path,
                                vitcl_session *session,
                                const char *const *pictures,
                                const vitcl_index_options *options)
{
    if (out)
        VT_SIZED(out, vitcl_update_info);
    VT_GIVEN(path);
    VT_GIVEN(session);
    VT_GIVEN(pictures);
    VT_RETURN_ALONE(session, "session",
                    begin(out, path, session, pictures, options));
}
