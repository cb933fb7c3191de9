/*
 * nearest.c - exact search: every row, in pieces that fit a core's cache, by
 * one thread a core.
 *
 * Each thread keeps the best rows that it has seen. A row is better if its
 * cosine is larger, or if it is as large and comes first, so that the result
 * does not depend on which thread saw which row.
 */
#include "base/clock.h"
#include "base/cores.h"
#include "base/log.h"
#include "base/memory.h"
#include "index/index.h"
#include "index/sums.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 64, TELL_MS = 50 };

typedef struct search {
    const vt_index *x;
    const float *queries; /* of length 1 */
    uint32_t n, k, width;
    float least;
    uint64_t piece; /* rows at a time */
    atomic_uint_fast64_t next;
    vitcl_progress progress;
    void *context;
    double told; /* ms: when progress was called last */
} search;

typedef struct worker {
    pthread_t thread;
    search *s;
    vitcl_hit *heap; /* [n][k]; the worst is first */
    uint32_t *found; /* [n] */
    float *rows;
    uint16_t *narrow;
    bool tells; /* it is the caller's thread */
    vitcl_status st;
    char message[512];
} worker;

/* ---- the best k ---- */

static bool worse(vitcl_hit a, vitcl_hit b)
{
    return a.cosine < b.cosine || (a.cosine == b.cosine && a.row > b.row);
}

static void swap(vitcl_hit *a, vitcl_hit *b)
{
    const vitcl_hit t = *a;

    *a = *b;
    *b = t;
}

static void sink(vitcl_hit *heap, uint32_t n)
{
    for (uint32_t i = 0, c; (c = 2 * i + 1) < n; i = c) {
        if (c + 1 < n && worse(heap[c + 1], heap[c]))
            c++;
        if (!worse(heap[c], heap[i]))
            return;
        swap(&heap[i], &heap[c]);
    }
}

static void offer(vitcl_hit *heap, uint32_t *found, uint32_t k, vitcl_hit hit)
{
    if (*found == k) {
        if (!worse(heap[0], hit))
            return;
        heap[0] = hit;
        sink(heap, k);
        return;
    }
    heap[*found] = hit;
    for (uint32_t i = (*found)++; i && worse(heap[i], heap[(i - 1) / 2]);
         i = (i - 1) / 2)
        swap(&heap[i], &heap[(i - 1) / 2]);
}

static int best_first(const void *a, const void *b)
{
    const vitcl_hit *x = a, *y = b;

    return worse(*x, *y) ? 1 : worse(*y, *x) ? -1 : 0;
}

/* ---- threads ---- */

static void take(worker *w, uint32_t q, uint64_t row, float cosine)
{
    const search *s = w->s;

    if (cosine >= s->least) /* false for NaN */
        offer(w->heap + (size_t)q * s->k, &w->found[q], s->k,
              (vitcl_hit){.row = row, .cosine = cosine});
}

static void look_at(worker *w, uint64_t row, float *v)
{
    const search *s = w->s;
    float length, cosine = vt_cosine(&length, v, s->queries, s->width);

    for (uint32_t q = 0; q < s->n && length > 0; q++) {
        if (q > 0)
            cosine =
                vt_dot(v, s->queries + (size_t)q * s->width, s->width) / length;
        take(w, q, row, cosine);
    }
}

/* With one query, numbers in 16 bits are read once, and not written as f32. */
static void look_at_f16(worker *w, uint64_t row, const uint16_t *v)
{
    const search *s = w->s;
    float length;
    const float cosine =
        vt_cosine_f16(&length, w->rows, v, s->queries, s->width);

    if (length > 0)
        take(w, 0, row, cosine);
}

static vitcl_status look_at_all(worker *w, uint64_t at, uint64_t n)
{
    const search *s = w->s;
    const bool narrow = w->narrow && s->n == 1;

    VT_RET(narrow ? vt_index_stored(w->narrow, s->x, at, n)
                  : vt_index_rows(w->rows, w->narrow, s->x, at, n));
    for (uint64_t i = 0; i < n; i++)
        if (narrow)
            look_at_f16(w, at + i, w->narrow + (size_t)i * s->width);
        else
            look_at(w, at + i, w->rows + (size_t)i * s->width);
    return VITCL_OK;
}

/* Of the caller's thread alone. The others end, too, if it is stopped. */
static vitcl_status tell(search *s)
{
    const uint64_t rows = vt_index_count(s->x),
                   done = VT_MIN(atomic_load(&s->next), rows);
    const double now = s->progress ? vt_now_ms() : 0;

    if (!s->progress || (now < s->told + TELL_MS && done < rows))
        return VITCL_OK;
    s->told = now;
    if (!s->progress(s->context, done, rows))
        return VITCL_OK;
    atomic_store(&s->next, rows);
    return vt_fail(VITCL_ESTOPPED, "stopped by the caller");
}

static vitcl_status work(worker *w)
{
    search *s = w->s;
    const uint64_t rows = vt_index_count(s->x);
    uint64_t at;

    while ((at = atomic_fetch_add(&s->next, s->piece)) < rows) {
        VT_RET(look_at_all(w, at, VT_MIN(s->piece, rows - at)));
        if (w->tells)
            VT_RET(tell(s));
    }
    return VITCL_OK;
}

static void *run(void *context)
{
    worker *w = context;

    w->st = work(w);
    if (w->st != VITCL_OK)
        snprintf(w->message, sizeof w->message, "%s", vt_message());
    return NULL;
}

static vitcl_status prepare(worker *w, search *s)
{
    const size_t piece = (size_t)s->piece * s->width;

    w->s = s;
    VT_RET(VT_NEW(&w->heap, (size_t)s->n * s->k));
    VT_RET(VT_NEW(&w->found, s->n));
    VT_RET(VT_NEW(&w->rows, piece));
    if (vt_index_half(s->x))
        VT_RET(VT_NEW(&w->narrow, piece));
    return VITCL_OK;
}

static vitcl_status run_all(worker *w, size_t threads)
{
    bool started[THREADS] = {false};

    for (size_t i = 1; i < threads; i++)
        started[i] = pthread_create(&w[i].thread, NULL, run, &w[i]) == 0;
    w[0].tells = true;
    run(&w[0]); /* takes what no other thread takes */
    for (size_t i = 1; i < threads; i++)
        if (started[i])
            pthread_join(w[i].thread, NULL);
    for (size_t i = 0; i < threads; i++)
        if (w[i].st != VITCL_OK)
            return vt_fail(w[i].st, "%s", w[i].message);
    return VITCL_OK;
}

static void collect(vitcl_hit *hits, uint32_t *found, const search *s,
                    const worker *w, size_t threads)
{
    for (uint32_t q = 0; q < s->n; q++) {
        vitcl_hit *best = hits + (size_t)q * s->k;

        found[q] = 0;
        for (size_t i = 0; i < threads; i++)
            for (uint32_t j = 0; j < w[i].found[q]; j++)
                offer(best, &found[q], s->k, w[i].heap[(size_t)q * s->k + j]);
        qsort(best, found[q], sizeof *best, best_first);
    }
}

static vitcl_status unit(float *out, const float *query, uint32_t width)
{
    double sum = 0;

    for (uint32_t i = 0; i < width; i++)
        sum += (double)query[i] * (double)query[i];
    if (!(sum > 0) || !isfinite(sum))
        return vt_fail(VITCL_EINVAL,
                       "the query is zero or not finite: it has no direction");
    for (uint32_t i = 0; i < width; i++)
        out[i] = (float)((double)query[i] / sqrt(sum));
    return VITCL_OK;
}

vitcl_status vt_index_nearest(vitcl_hit *hits, uint32_t *found,
                              const vt_index *x, const float *queries,
                              uint32_t n, uint32_t k, float least,
                              vitcl_progress progress, void *context)
{
    search s = {.x = x,
                .n = n,
                .k = (uint32_t)VT_MIN(k, VT_MAX(vt_index_count(x), 1)),
                .width = vt_index_width(x),
                .least = least,
                .progress = progress,
                .context = context};
    const size_t threads = VT_MIN(vt_cores(), (unsigned)THREADS);
    const double from = vt_now_ms();
    worker *w = NULL;
    float *of_unit = NULL;
    vitcl_status st;

    VT_TRY(VT_NEW(&w, threads));
    VT_TRY(VT_NEW(&of_unit, (size_t)n * s.width));
    for (uint32_t q = 0; q < n; q++)
        VT_TRY(unit(of_unit + (size_t)q * s.width,
                    queries + (size_t)q * s.width, s.width));
    s.queries = of_unit;
    s.piece = vt_sums_block(s.width);
    atomic_init(&s.next, 0);
    for (size_t i = 0; i < threads; i++)
        VT_TRY(prepare(&w[i], &s));
    VT_TRY(run_all(w, threads));
    collect(hits, found, &s, w, threads);
    vt_log("search: %" PRIu32 " of %" PRIu64 " vectors of %" PRIu32
           " in %.0f ms, %zu threads",
           n, vt_index_count(x), s.width, vt_now_ms() - from, threads);
    for (uint32_t q = n; s.k < k && q-- > 1;) /* rows of k, as promised */
        memmove(hits + (size_t)q * k, hits + (size_t)q * s.k,
                found[q] * sizeof *hits);
done:
    for (size_t i = 0; w && i < threads; i++) {
        free(w[i].heap);
        free(w[i].found);
        free(w[i].rows);
        free(w[i].narrow);
    }
    free(w);
    free(of_unit);
    return st;
}
