/*
 * evaluate.c - evaluation and few-shot tests: runs a dataset's pictures through
 * a session.
 */
#include "api/dataset.h"
#include "api/handles.h"
#include "api/program.h"
#include "base/memory.h"

#include <pthread.h>
#include <string.h>

static vt_labelled labelled(const vitcl_dataset *dataset)
{
    return (vt_labelled){.d = dataset->d,
                         .labels = dataset->labels,
                         .by_number = dataset->by_number};
}

/* ---- running pictures through a session ---- */

typedef struct running {
    vitcl_session *session;
    vitcl_progress progress;
    void *context; /* for progress */
    const vitcl_dataset *dataset[2];
} running;

/* The positions of a batch's pictures in its pass. */
typedef struct batch {
    size_t *position, end; /* end: of those that failed, too */
} batch;

typedef struct passing {
    const running *r;
    const vt_pass *s;
    vitcl_loader *loader; /* NULL: of records */
    uint8_t *rgb;
    float *rows;
    batch batch[2]; /* one is computed, one is sent */
    size_t at;      /* positions that are in batches, or were */
    int batches;
} passing;

/* Of whose pictures this is a pass. */
static const vitcl_dataset *owner(const running *r, const vt_pass *s)
{
    return r->dataset[r->dataset[0]->d != s->d];
}

static vitcl_status next_record(uint8_t *rgb, vitcl_session *session,
                                const vt_pass *s, size_t position)
{
    vitcl_status st = VITCL_OK;
    vt_picture p = {0};
    vitcl_image ready = {0};

    VT_TRY(vt_dataset_picture(&p, s->d, vt_pass_picture(s, position)));
    VT_TRY(vitcl_image_prepare(&ready, session,
                               &(vitcl_image){p.width, p.height, p.rgb}));
    memcpy(rgb, ready.rgb, (size_t)ready.width * ready.height * 3);
done:
    vt_picture_free(&p);
    vitcl_image_free(&ready);
    return st;
}

/* Ends the evaluation: a score of the other pictures would mislead. */
static vitcl_status no_answer(vitcl_session *session, const vt_pass *s,
                              size_t position, uint32_t row)
{
    const uint32_t picture = vt_pass_picture(s, position);
    const char *path = vt_dataset_path(s->d, picture);
    const vitcl_status st = vt_session_explain(session, row);

    return path ? vt_fail_in(st, "%s", path)
                : vt_fail_in(st, "picture %u", picture);
}

static vitcl_status start_loader(vitcl_loader **out, vitcl_session *session,
                                 const vt_pass *s)
{
    vitcl_status st = VITCL_OK;
    vitcl_loader *loader = NULL;

    if (s->count == 0 || !vt_dataset_path(s->d, 0))
        return VITCL_OK;
    VT_TRY(vitcl_loader_new(&loader, session, 0));
    for (size_t i = 0; i < s->count; i++)
        VT_TRY(vitcl_loader_push(loader,
                                 vt_dataset_path(s->d, vt_pass_picture(s, i))));
    *out = loader, loader = NULL;
done:
    vitcl_loader_free(loader);
    return st;
}

/* A picture that cannot be read or decoded is counted as failed. Threads may
 * share the dataset, but it takes one report at a time. */
static void leave_out(const vitcl_dataset *dataset, const vt_pass *s,
                      size_t position)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

    if (dataset->broken) {
        pthread_mutex_lock(&one);
        dataset->broken(dataset->broken_context, vt_message());
        pthread_mutex_unlock(&one);
    }
    s->take(s->context, position, NULL);
}

/* The loader's processes decode files ahead. Records only need resizing, on a
 * GPU while it computes. */
static vitcl_status next_batch(void *context, vitcl_batch *out, int wait)
{
    vitcl_status st = VITCL_OK;
    passing *p = context;
    const vt_pass *s = p->s;
    vitcl_session *session = p->r->session;
    batch *b = &p->batch[p->batches++ % 2];
    const uint32_t most = vt_session_batch(session);
    uint32_t n = 0, height, width;

    (void)wait;
    if (p->at == s->count)
        return VITCL_OK;
    vitcl_session_size(&height, &width, session);
    while (n < most && p->at < s->count) {
        uint8_t *rgb = p->rgb + (size_t)n * height * width * 3;

        st = p->loader ? vitcl_loader_next(rgb, p->loader)
                       : next_record(rgb, session, s, p->at);
        if (st == VITCL_OK)
            b->position[n++] = p->at;
        else if (vt_picture_broken(st) && !owner(p->r, s)->strict)
            leave_out(owner(p->r, s), s, p->at);
        else
            goto done;
        st = VITCL_OK;
        p->at++;
    }
    b->end = p->at;
    *out = (vitcl_batch){.rgb = p->rgb, .n = n, .out = p->rows, .own = b};
done:
    return st;
}

static vitcl_status take_batch(void *context, const vitcl_batch *given)
{
    const passing *p = context;
    const running *r = p->r;
    const vt_pass *s = p->s;
    const batch *b = given->own;

    for (uint32_t i = 0; i < given->n; i++) {
        const float *row = given->out + i * s->width;

        if (!vt_all_finite(row, s->width))
            return no_answer(r->session, s, b->position[i], i);
        s->take(s->context, b->position[i], row);
    }
    if (r->progress && r->progress(r->context, s->before + b->end, s->total))
        return vt_fail(VITCL_ESTOPPED, "stopped by the caller");
    return VITCL_OK;
}

static vitcl_status run(void *context, const vt_pass *s)
{
    vitcl_status st = VITCL_OK;
    passing p = {.r = context, .s = s};
    vitcl_session *session = p.r->session;
    uint32_t most = vt_session_batch(session), height, width;

    vitcl_session_size(&height, &width, session);
    VT_TRY(vt_new(&p.rgb, most, (size_t)height * width * 3));
    VT_TRY(vt_new(&p.rows, most * s->width, sizeof *p.rows));
    for (int i = 0; i < 2; i++)
        VT_TRY(VT_NEW(&p.batch[i].position, most));
    VT_TRY(start_loader(&p.loader, session, s));
    VT_TRY(vt_session_batches(session, s->tensor, s->width, next_batch,
                              take_batch, &p));
done:
    vitcl_loader_free(p.loader);
    free(p.rgb);
    free(p.rows);
    free(p.batch[0].position);
    free(p.batch[1].position);
    return st;
}

/* ---- what is public ---- */

static void release(const running *r, int datasets)
{
    while (datasets > 0)
        vt_dataset_leave(r->dataset[--datasets], false);
    atomic_store(&r->session->busy, false);
}

/* For the whole call, not only for its runs. */
static vitcl_status hold(const running *r)
{
    if (atomic_exchange(&r->session->busy, true))
        return vt_in_use("an evaluation", "session");
    for (int i = 0; i < 2; i++)
        if (vt_dataset_enter(r->dataset[i], false) != VITCL_OK) {
            release(r, i);
            return VITCL_EBUSY;
        }
    return VITCL_OK;
}

vitcl_status vitcl_evaluate(vitcl_scores *out, uint32_t *confusion,
                            vitcl_session *session,
                            const vitcl_dataset *dataset,
                            vitcl_progress progress, void *context)
{
    vitcl_scores scores;

    VT_SIZED(out, vitcl_scores);
    if (!session || !dataset)
        return vt_fail(VITCL_EINVAL, "evaluation needs a session and pictures");
    VT_RET(vt_evaluate_part(&scores, confusion, session, dataset, NULL, 1, 1,
                            progress, context));
    vt_sized_give(out, &scores, sizeof scores);
    return VITCL_OK;
}

vitcl_status vt_evaluate_part(vitcl_scores *out, uint32_t *confusion,
                              vitcl_session *session,
                              const vitcl_dataset *dataset,
                              const float *vectors, uint32_t part,
                              uint32_t parts, vitcl_progress progress,
                              void *context)
{
    vitcl_status st = VITCL_OK;
    running r = {session, progress, context, {dataset, dataset}};
    vitcl_model_info info = {.size = sizeof info};
    vitcl_scores scores = {.size = sizeof scores};
    const vitcl_model *model = session->model;
    vitcl_answer answer;
    vt_classes known;
    vt_vectors_runner by;
    vt_labelled pictures;

    VT_TRY(vitcl_model_describe(&info, model, 0, 0, 1));
    if (!vectors && info.classes == 0)
        return vt_fail(VITCL_EUNSUPPORTED, "%s has no classifier", info.name);
    answer = vectors ? VITCL_ONE_CLASS : vt_model_answer(model->model);
    if (confusion && answer != VITCL_ONE_CLASS)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s does not answer with one class per picture, so its "
                       "answers cannot be counted",
                       info.name);
    known = vectors ? vt_classes_of_data(dataset->d, "the pictures")
                    : vt_classes_of_model(model->model, info.classes);
    by = (vt_vectors_runner){.vectors = vectors,
                             .classes = known.count,
                             .width = vitcl_session_features(session),
                             .of = {run, &r}};
    VT_TRY(hold(&r));
    pictures = labelled(dataset);
    pictures.part = part, pictures.parts = parts;
    st = vt_evaluate(&scores, confusion, &pictures, &known, answer,
                     vectors ? 0 : vt_model_certainty(model->model).temperature,
                     vectors ? &(vt_runner){vt_run_vectors, &by} : &by.of);
    release(&r, 2);
    VT_TRY(st);
    *out = scores;
done:
    return st;
}

vitcl_status vt_dataset_match(uint32_t *out, const vitcl_dataset *dataset,
                              const vitcl_model *model)
{
    vitcl_status st = VITCL_OK;
    vitcl_model_info info = {.size = sizeof info};
    vt_classes data, known;
    uint32_t *found = NULL;

    VT_TRY(vitcl_model_describe(&info, model, 0, 0, 1));
    data = vt_classes_of_data(dataset->d, "the pictures");
    known = vt_classes_of_model(model->model, info.classes);
    VT_TRY(VT_NEW(&found, data.count));
    VT_TRY(vt_classes_match(found, &data, &known, dataset->by_number));
    memcpy(out, found, data.count * sizeof *out);
done:
    free(found);
    return st;
}

vitcl_status vt_fewshot_run(vt_fewshot_score *scores, uint32_t n,
                            uint32_t tries, uint64_t random_state,
                            vitcl_session *session, const vitcl_dataset *train,
                            const vitcl_dataset *test, vitcl_progress progress,
                            void *context)
{
    vitcl_status st = VITCL_OK;
    running r = {session, progress, context, {train, test}};
    vt_labelled known, asked;

    VT_TRY(hold(&r));
    known = labelled(train);
    asked = labelled(test);
    st = vt_fewshot(scores, n, tries, random_state, &known, &asked,
                    vitcl_session_features(session), &(vt_runner){run, &r});
    release(&r, 2);
done:
    return st;
}
