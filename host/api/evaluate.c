/*
 * evaluate.c - public datasets, evaluation and few-shot tests.
 */
#include "api/handles.h"
#include "base/memory.h"
#include "data/labels.h"
#include "eval/fewshot.h"

#include <math.h>
#include <string.h>
#include <vitcl_train.h>

#define L2 1024.0 /* big_vision's l2_reg, 2^10 */

struct vitcl_dataset {
    vt_dataset *d;
    vt_labels *labels; /* NULL: none */
    bool by_number;
};

vitcl_status vitcl_dataset_open(vitcl_dataset **out, const char *path,
                                const char *split)
{
    vitcl_status st = VITCL_OK;
    vitcl_dataset *d = NULL;

    if (!out || !path)
        return vt_fail(VITCL_EINVAL, "a dataset needs a path");
    VT_TRY(VT_NEW(&d, 1));
    VT_TRY(vt_dataset_open(&d->d, path, split));
    *out = d, d = NULL;
done:
    vitcl_dataset_free(d);
    return st;
}

void vitcl_dataset_free(vitcl_dataset *dataset)
{
    if (!dataset)
        return;
    vt_dataset_free(dataset->d);
    vt_labels_free(dataset->labels);
    free(dataset);
}

vitcl_status vitcl_dataset_labels(vitcl_dataset *dataset, const char *path)
{
    vitcl_status st = VITCL_OK;
    vt_labels *labels = NULL;

    if (!dataset || !path)
        return vt_fail(VITCL_EINVAL, "labels need a dataset and a path");
    VT_TRY(vt_labels_load(&labels, path, dataset->d));
    vt_labels_free(dataset->labels);
    dataset->labels = labels;
done:
    return st;
}

vitcl_status vitcl_dataset_by_number(vitcl_dataset *dataset)
{
    VT_GIVEN(dataset);
    dataset->by_number = true;
    return VITCL_OK;
}

uint32_t vitcl_dataset_pictures(const vitcl_dataset *dataset)
{
    return dataset ? vt_dataset_count(dataset->d) : 0;
}

uint32_t vitcl_dataset_classes(const vitcl_dataset *dataset)
{
    return dataset ? vt_dataset_classes(dataset->d) : 0;
}

const char *vitcl_dataset_class(const vitcl_dataset *dataset, uint32_t index)
{
    return dataset ? vt_dataset_class(dataset->d, index) : NULL;
}

const char *vitcl_dataset_kind(const vitcl_dataset *dataset)
{
    return dataset ? vt_dataset_kind(dataset->d) : NULL;
}

/* ---- running pictures through a session ---- */

typedef struct pass {
    vitcl_session *session;
    const vt_dataset *d;
    const size_t *chosen; /* NULL: 0, 1, .. */
    size_t count;
    const char *tensor; /* tensor to read, `width` a picture */
    size_t width;
    /* row NULL: the picture could not be decoded */
    void (*take)(void *context, size_t position, const float *row);
    void *context;
    vitcl_progress progress;
    void *progress_context;
    uint64_t before, total; /* for progress over several passes */
} pass;

static uint32_t picture_of(const pass *s, size_t position)
{
    return (uint32_t)(s->chosen ? s->chosen[position] : position);
}

static vitcl_status next_record(uint8_t *rgb, const pass *s, size_t position)
{
    vitcl_status st = VITCL_OK;
    vt_picture p = {0};
    vitcl_image ready = {0};

    VT_TRY(vt_dataset_picture(&p, s->d, picture_of(s, position)));
    VT_TRY(vitcl_image_prepare(&ready, s->session,
                               &(vitcl_image){p.width, p.height, p.rgb}));
    memcpy(rgb, ready.rgb, (size_t)ready.width * ready.height * 3);
done:
    vt_picture_free(&p);
    vitcl_image_free(&ready);
    return st;
}

/* Ends the evaluation: a score of the other pictures would mislead. */
static vitcl_status no_answer(const pass *s, size_t position, uint32_t row)
{
    const uint32_t picture = picture_of(s, position);
    const char *path = vt_dataset_path(s->d, picture);
    const vitcl_status st = vt_session_explain(s->session, row);

    return path ? vt_fail_in(st, "%s", path)
                : vt_fail_in(st, "picture %u", picture);
}

static vitcl_status flush(const pass *s, const uint8_t *rgb, float *rows,
                          const size_t *position, uint32_t n)
{
    vitcl_status st = VITCL_OK;

    if (n == 0)
        return VITCL_OK;
    VT_TRY(vitcl_run_rgb(s->session, rgb, n));
    VT_TRY(vitcl_session_read(rows, n * s->width, s->session, s->tensor, n));
    for (uint32_t i = 0; i < n; i++) {
        const float *row = rows + i * s->width;

        if (!vt_all_finite(row, s->width)) {
            st = no_answer(s, position[i], i);
            goto done;
        }
        s->take(s->context, position[i], row);
    }
done:
    return st;
}

static vitcl_status start_loader(vitcl_loader **out, const pass *s)
{
    vitcl_status st = VITCL_OK;
    vitcl_loader *loader = NULL;

    if (s->count == 0 || !vt_dataset_path(s->d, 0))
        return VITCL_OK;
    VT_TRY(vitcl_loader_new(&loader, s->session, 0));
    for (size_t i = 0; i < s->count; i++)
        VT_TRY(
            vitcl_loader_push(loader, vt_dataset_path(s->d, picture_of(s, i))));
    *out = loader, loader = NULL;
done:
    vitcl_loader_free(loader);
    return st;
}

/* A picture that cannot be read or decoded is counted as failed. Any other
 * error, such as lack of memory, is not its fault and ends the evaluation. */
static bool is_the_pictures(vitcl_status st)
{
    return st == VITCL_EIO || st == VITCL_ECORRUPT || st == VITCL_EUNSUPPORTED;
}

/* The loader's processes decode files ahead. Records only need resizing, which
 * happens between two batches. */
static vitcl_status run(const pass *s)
{
    vitcl_status st = VITCL_OK;
    uint32_t batch = vitcl_session_batch(s->session), n = 0, height, width;
    vitcl_loader *loader = NULL;
    uint8_t *rgb = NULL;
    float *rows = NULL;
    size_t *position = NULL, bytes;

    vitcl_session_size(s->session, &height, &width);
    bytes = (size_t)height * width * 3;
    VT_TRY(vt_new(&rgb, batch, bytes));
    VT_TRY(vt_new(&rows, batch * s->width, sizeof *rows));
    VT_TRY(VT_NEW(&position, batch));
    VT_TRY(start_loader(&loader, s));
    for (size_t i = 0; i < s->count; i++) {
        st = loader ? vitcl_loader_next(rgb + n * bytes, loader)
                    : next_record(rgb + n * bytes, s, i);
        if (st == VITCL_OK)
            position[n++] = i;
        else if (is_the_pictures(st))
            s->take(s->context, i, NULL);
        else
            goto done;
        st = VITCL_OK;
        if (n < batch && i + 1 < s->count)
            continue;
        VT_TRY(flush(s, rgb, rows, position, n));
        n = 0;
        if (s->progress &&
            s->progress(s->progress_context, s->before + i + 1, s->total)) {
            st = vt_fail(VITCL_ESTOPPED, "stopped by the caller");
            goto done;
        }
    }
done:
    vitcl_loader_free(loader);
    free(rgb);
    free(rows);
    free(position);
    return st;
}

/* ---- evaluation ---- */

typedef struct scoring {
    const vt_dataset *d;
    const uint32_t *wanted; /* dataset's class -> model's class */
    uint32_t classes;       /* model's classes */
    uint32_t *confusion;
    vitcl_class *top;
    uint64_t right1, right5, scored, failed;
    const vt_labels *labels; /* or NULL */
    uint32_t *answers;       /* label entries as the model's classes */
    uint64_t real, real_scored;
} scoring;

/* Whether the answer is one of the picture's classes. */
static void score_real(scoring *s, uint32_t picture, uint32_t answer)
{
    uint32_t n = 0;
    const uint32_t *label = s->answers + vt_labels_of(&n, s->labels, picture);

    s->real_scored += n > 0;
    for (uint32_t i = 0; i < n; i++)
        if (label[i] == answer) {
            s->real++;
            return;
        }
}

static void score(void *context, size_t position, const float *row)
{
    scoring *s = context;
    uint32_t label = vt_dataset_label(s->d, (uint32_t)position);
    uint32_t k = VT_MIN(s->classes, 5u), want = s->wanted[label];

    if (!row) {
        s->failed++;
        return;
    }
    vitcl_top(s->top, k, row, s->classes);
    s->scored++;
    s->right1 += s->top[0].label == want;
    if (s->labels)
        score_real(s, (uint32_t)position, s->top[0].label);
    for (uint32_t i = 0; i < k; i++)
        s->right5 += s->top[i].label == want;
    if (s->confusion)
        s->confusion[(size_t)label * s->classes + s->top[0].label]++;
}

vitcl_status vitcl_evaluate(vitcl_scores *out, uint32_t *confusion,
                            vitcl_session *session,
                            const vitcl_dataset *dataset,
                            vitcl_progress progress, void *context)
{
    vitcl_status st = VITCL_OK;
    scoring s = {0};
    uint32_t *wanted = NULL;
    const vitcl_model *model;
    vitcl_model_info info = {.size = sizeof info};
    vitcl_scores scores = {.size = sizeof scores};
    vt_classes known, data;

    VT_SIZED(out, vitcl_scores);
    if (!session || !dataset)
        return vt_fail(VITCL_EINVAL, "evaluation needs a session and pictures");
    model = vitcl_session_model(session);
    VT_TRY(vitcl_model_describe(&info, model, 0, 0, 1));
    if (info.classes == 0)
        return vt_fail(VITCL_EUNSUPPORTED, "%s has no classifier", info.name);
    s.d = dataset->d;
    s.classes = info.classes;
    s.confusion = confusion;
    s.labels = dataset->labels;
    known = vt_classes_of_model(model->model, s.classes);
    data = vt_classes_of_data(s.d, "the pictures");
    if (s.labels)
        VT_TRY(vt_labels_resolve(&s.answers, s.labels, &known));
    VT_TRY(VT_NEW(&wanted, vt_dataset_classes(s.d)));
    VT_TRY(vt_new(&s.top, s.classes, sizeof *s.top));
    VT_TRY(vt_classes_match(wanted, &data, &known, dataset->by_number));
    s.wanted = wanted;
    VT_TRY(run(&(pass){.session = session,
                       .d = s.d,
                       .count = vt_dataset_count(s.d),
                       .tensor = "logits",
                       .width = s.classes,
                       .take = score,
                       .context = &s,
                       .progress = progress,
                       .progress_context = context,
                       .total = vt_dataset_count(s.d)}));
    scores.pictures = (uint32_t)s.scored;
    scores.failed = (uint32_t)s.failed;
    scores.real_pictures = (uint32_t)s.real_scored;
    if (s.scored) {
        scores.top1 = (double)s.right1 / (double)s.scored;
        scores.top5 = (double)s.right5 / (double)s.scored;
    }
    if (s.real_scored)
        scores.real = (double)s.real / (double)s.real_scored;
    scores.real_by_number = s.labels && vt_labels_numbered(s.labels);
    vt_sized_give(out, &scores, sizeof scores);
done:
    free(wanted);
    free(s.answers);
    free(s.top);
    return st;
}

/* ---- few-shot ---- */

#define UNREADABLE UINT32_MAX /* as a label, until close_gaps() */

static void keep_row(void *context, size_t position, const float *row)
{
    vt_features *f = context;

    if (row)
        memcpy(f->x + position * f->width, row, f->width * sizeof *row);
    else
        f->label[position] = UNREADABLE;
}

/* Removes the rows of pictures that could not be decoded; keeps the order. */
static void close_gaps(vt_features *f)
{
    size_t n = 0;

    for (size_t i = 0; i < f->count; i++) {
        if (f->label[i] == UNREADABLE)
            continue;
        memmove(f->x + n * f->width, f->x + i * f->width,
                f->width * sizeof *f->x);
        f->label[n++] = f->label[i];
    }
    f->count = n;
}

/* Adds the number of pictures that could not be decoded to *failed. */
static vitcl_status features(vt_features *out, pass *s, uint32_t *failed)
{
    vitcl_status st = VITCL_OK;
    vt_features f = {s->count, s->width, NULL, NULL};

    VT_TRY(vt_new(&f.x, s->count * s->width, sizeof *f.x));
    VT_TRY(vt_new(&f.label, s->count, sizeof *f.label));
    for (size_t i = 0; i < s->count; i++)
        f.label[i] = vt_dataset_label(s->d, picture_of(s, i));
    s->tensor = "features";
    s->take = keep_row;
    s->context = &f;
    VT_TRY(run(s));
    s->before += s->count;
    close_gaps(&f);
    *failed += (uint32_t)(s->count - f.count);
    *out = f, f = (vt_features){0};
done:
    vt_features_free(&f);
    s->context = NULL;
    return st;
}

/* The training pictures of one try. */
typedef struct choice {
    size_t *index, count;
} choice;

static vitcl_status choose(choice *plan, const vitcl_fewshot_score *scores,
                           uint32_t n, uint32_t tries, uint64_t random_state,
                           const vt_dataset *train, uint64_t *total)
{
    vitcl_status st = VITCL_OK;
    uint32_t count = vt_dataset_count(train), *label = NULL;
    uint32_t classes = vt_dataset_classes(train);

    VT_TRY(vt_new(&label, count, sizeof *label));
    for (uint32_t i = 0; i < count; i++)
        label[i] = vt_dataset_label(train, i);
    for (uint32_t i = 0; i < n * tries; i++) {
        uint32_t shots = scores[i / tries].shots;
        size_t most = VT_MIN((size_t)count, (size_t)shots * (size_t)classes);

        VT_TRY(vt_new(&plan[i].index, most, sizeof *plan[i].index));
        VT_TRY(vt_fewshot_choose(plan[i].index, &plan[i].count, label, count,
                                 classes, shots, random_state + i % tries));
        *total += plan[i].count;
    }
done:
    free(label);
    return st;
}

static void summarise(vitcl_fewshot_score *s, const double *accuracy,
                      uint32_t tries)
{
    double sum = 0, squares = 0;

    for (uint32_t t = 0; t < tries; t++)
        sum += accuracy[t];
    s->mean = sum / tries;
    for (uint32_t t = 0; t < tries; t++)
        squares += (accuracy[t] - s->mean) * (accuracy[t] - s->mean);
    s->sd = tries > 1 ? sqrt(squares / (tries - 1)) : 0;
}

static vitcl_status score_tries(vitcl_fewshot_score *scores, const choice *plan,
                                uint32_t n, uint32_t tries, pass *s,
                                const vt_dataset *train,
                                const vt_features *asked, uint32_t failed)
{
    vitcl_status st = VITCL_OK;
    vt_features known = {0};
    double *accuracy = NULL;

    VT_TRY(VT_NEW(&accuracy, tries));
    for (uint32_t i = 0; i < n * tries; i++) {
        if (i % tries == 0)
            scores[i / tries].failed = failed;
        s->d = train, s->chosen = plan[i].index, s->count = plan[i].count;
        VT_TRY(features(&known, s, &scores[i / tries].failed));
        VT_TRY(vt_ridge_accuracy(&accuracy[i % tries], &known, asked,
                                 vt_dataset_classes(train), L2));
        vt_features_free(&known);
        if (i % tries == tries - 1)
            summarise(&scores[i / tries], accuracy, tries);
    }
done:
    vt_features_free(&known);
    free(accuracy);
    return st;
}

vitcl_status vitcl_fewshot(vitcl_fewshot_score *scores, uint32_t n,
                           uint32_t tries, uint64_t random_state,
                           vitcl_session *session, const vitcl_dataset *train,
                           const vitcl_dataset *test, vitcl_progress progress,
                           void *context)
{
    vitcl_status st = VITCL_OK;
    vt_features asked = {0};
    vt_classes known, data;
    uint32_t *wanted = NULL, failed = 0;
    choice *plan = NULL;
    pass s = {
        .session = session, .progress = progress, .progress_context = context};

    if (!scores || !session || !train || !test || n == 0 || tries == 0 ||
        n > 1000 || tries > 1000)
        return vt_fail(VITCL_EINVAL,
                       "few-shot needs pictures and at least one try");
    known = vt_classes_of_data(train->d, "the training pictures");
    data = vt_classes_of_data(test->d, "the test pictures");
    VT_TRY(vt_new(&wanted, (size_t)data.count + 1, sizeof *wanted));
    VT_TRY(vt_classes_match(wanted, &data, &known,
                            train->by_number || test->by_number));
    VT_TRY(vt_new(&plan, (size_t)n * tries, sizeof *plan));
    s.width = vitcl_session_features(session);
    s.total = vt_dataset_count(test->d);
    VT_TRY(choose(plan, scores, n, tries, random_state, train->d, &s.total));
    s.d = test->d, s.count = vt_dataset_count(test->d);
    VT_TRY(features(&asked, &s, &failed));
    for (size_t i = 0; i < asked.count; i++)
        asked.label[i] = wanted[asked.label[i]];
    VT_TRY(score_tries(scores, plan, n, tries, &s, train->d, &asked, failed));
done:
    vt_features_free(&asked);
    for (uint32_t i = 0; plan && i < n * tries; i++)
        free(plan[i].index);
    free(plan);
    free(wanted);
    return st;
}
