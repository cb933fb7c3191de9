/*
 * pairs.c - the cosines of all pairs of rows, tile by tile, as products on a
 * device; groups by union and find.
 *
 * Of many rows, short vectors are compared first (screen.h): most pairs are so
 * far apart that this is enough. The other cosines are computed on the host, or
 * on the device for a tile that has many. Rows that are omitted, not finite, or
 * zero, become zero, so that they have no pair.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "index/index.h"
#include "index/screen.h"
#include "index/tiles.h"
#include "ocl/ocl.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* MANY: rows from which screening is worth its preparation. NEAR: pairs of a
 * tile that are computed on the host. */
enum { TILE = 2048, MANY = 16384, SAMPLE = 2048, NEAR = TILE * TILE / 256 };

typedef struct near {
    uint64_t row, column;
} near;

typedef struct work {
    const vt_index *x;
    vt_dev *dev;
    int width, tile; /* tile: rows, TILE or fewer */
    float least;
    vitcl_dupe *out;
    uint64_t pairs;
    float *rows, *columns, *row; /* of length 1: two tiles and a row */
    uint16_t *narrow;
    uint64_t columns_at, full_at; /* whose columns there are; NOWHERE */
    vt_tile_product full;         /* made when it is needed */
    vt_screen screen;
    vt_tile_product brief;
    float *short_rows;     /* [all, kept]; NULL: no screening */
    near *near;            /* [NEAR] */
    int close;             /* of them in use; NEAR + 1: too many */
    uint64_t exact, whole; /* cosines on the host, tiles on the device */
    vitcl_progress progress;
    void *context;
    uint64_t ended, total; /* of tiles: shortened, compared */
} work;

#define NOWHERE UINT64_MAX

/* ---- groups ---- */

static uint64_t root(vitcl_dupe *p, uint64_t i)
{
    while (p[i].group != i)
        i = p[i].group = p[p[i].group].group;
    return i;
}

/* The first row of a group is its root. */
static void join(vitcl_dupe *p, uint64_t i, uint64_t j)
{
    i = root(p, i);
    j = root(p, j);
    if (i < j)
        p[j].group = i;
    else
        p[i].group = j;
}

static void closer(vitcl_dupe *p, uint64_t i, uint64_t j, float cosine)
{
    if (p[i].nearest == i || cosine > p[i].cosine ||
        (cosine == p[i].cosine && j < p[i].nearest)) {
        p[i].cosine = cosine;
        p[i].nearest = j;
    }
}

static void pair(work *s, uint64_t i, uint64_t j, float cosine)
{
    cosine = VT_MIN(cosine, 1.0f); /* rounding */
    s->pairs++;
    join(s->out, i, j);
    closer(s->out, i, j, cosine);
    closer(s->out, j, i, cosine);
}

/* ---- progress ---- */

static uint64_t blocks_of(const work *s)
{
    const uint64_t tile = (uint64_t)s->tile;

    return (vt_index_count(s->x) + tile - 1) / tile;
}

static vitcl_status tile_ended(work *s)
{
    s->ended++;
    return s->progress && s->progress(s->context, s->ended, s->total)
               ? vt_fail(VITCL_ESTOPPED, "stopped")
               : VITCL_OK;
}

/* ---- rows ---- */

/* False: it has no direction, and becomes zero. */
static bool unit(float *v, int width)
{
    const float length = vt_length(v, (size_t)width);

    if (!(length > 0)) {
        memset(v, 0, (size_t)width * sizeof *v);
        return false;
    }
    for (int i = 0; i < width; i++)
        v[i] /= length;
    return true;
}

/* The n rows from `first` on, of length 1. */
static vitcl_status load_rows(float *out, work *s, uint64_t first, uint64_t n)
{
    VT_RET(vt_index_rows(out, s->narrow, s->x, first, n));
    for (size_t i = 0; i < n; i++) {
        vitcl_row_state *state = &s->out[first + i].state;
        float *row = out + i * (size_t)s->width;

        if (*state == VITCL_ROW_AGAIN || *state == VITCL_ROW_GONE)
            memset(row, 0, (size_t)s->width * sizeof *row);
        else if (!unit(row, s->width))
            *state = VITCL_ROW_EMPTY;
    }
    return VITCL_OK;
}

/* A tile, with zeros after the last row. */
static vitcl_status load(float *out, work *s, uint64_t first)
{
    const uint64_t n = VT_MIN((uint64_t)s->tile, vt_index_count(s->x) - first);
    const size_t all = (size_t)s->tile * (size_t)s->width,
                 used = (size_t)n * (size_t)s->width;

    memset(out + used, 0, (all - used) * sizeof *out);
    return load_rows(out, s, first, n);
}

static vitcl_status load_columns(work *s, uint64_t first)
{
    if (s->columns_at != first) {
        s->columns_at = NOWHERE;
        VT_RET(load(s->columns, s, first));
        s->columns_at = first;
    }
    return VITCL_OK;
}

enum { BLOCK = 32 };

/* Without a branch for each score, so that compilers use vectors: few scores of
 * a tile are large. */
static bool any(const float *c, float least)
{
    int found = 0;

    for (int i = 0; i < BLOCK; i++)
        found |= c[i] >= least;
    return found != 0;
}

/* The first score of at least `least` from j on; n: none. */
static int next_hit(const float *c, int j, int n, float least)
{
    for (; j < n; j++) {
        while (j % BLOCK == 0 && j + BLOCK <= n && !any(c + j, least))
            j += BLOCK;
        if (j < n && c[j] >= least)
            return j;
    }
    return n;
}

/* The columns of this tile that come before row i of that tile. */
static int earlier(const work *s, uint64_t row, int i, uint64_t column)
{
    return (int)VT_MIN(row + (uint64_t)i - column, (uint64_t)s->tile);
}

/* ---- a tile: pairs of rows from `row` on with earlier ones from `column` on
 * ---- */

/* False: no more of this tile. */
typedef bool add_hit(work *s, uint64_t i, uint64_t j, float cosine);

static bool add_pair(work *s, uint64_t i, uint64_t j, float cosine)
{
    pair(s, i, j, cosine);
    return true;
}

static bool add_near(work *s, uint64_t i, uint64_t j, float cosine)
{
    (void)cosine; /* of short vectors */
    if (s->close < NEAR)
        s->near[s->close] = (near){i, j};
    return s->close++ < NEAR;
}

/* Both tiles are there. The rows behind the last one of the index are zeros,
 * and no pairs, however small `least` is. */
static vitcl_status each_hit(work *s, vt_tile_product *t, float least,
                             uint64_t row, uint64_t column, add_hit *add)
{
    const int rows = (int)VT_MIN((uint64_t)s->tile, vt_index_count(s->x) - row);
    int hits;

    VT_RET(vt_tile_product_run(&hits, t, least));
    for (int i = 0; hits && i < rows; i++) {
        const int end = earlier(s, row, i, column);
        const float *c;
        int j = -1;

        if (!vt_tile_product_hit(t, i, least))
            continue;
        VT_RET(vt_tile_product_scores(&c, t, i));
        while ((j = next_hit(c, j + 1, end, least)) < end)
            if (!add(s, row + (uint64_t)i, column + (uint64_t)j, c[j]))
                return VITCL_OK;
    }
    return VITCL_OK;
}

static vitcl_status compare_whole(work *s, uint64_t row, uint64_t column)
{
    s->whole++;
    if (!s->full.tile)
        VT_RET(vt_tile_product_new(&s->full, s->dev, s->tile, s->width));
    if (s->full_at != column) {
        s->full_at = NOWHERE;
        VT_RET(load_columns(s, column));
        VT_RET(vt_tile_product_columns(&s->full, s->columns));
        s->full_at = column;
    }
    VT_RET(load(s->rows, s, row));
    VT_RET(vt_tile_product_rows(&s->full, s->rows));
    return each_hit(s, &s->full, s->least, row, column, add_pair);
}

/* Short vectors first. */
static vitcl_status compare(work *s, uint64_t row, uint64_t column)
{
    const size_t width = (size_t)s->width;
    uint64_t at = NOWHERE;

    s->close = 0;
    VT_RET(vt_tile_product_rows(&s->brief, s->short_rows +
                                               row * (uint64_t)s->brief.width));
    VT_RET(each_hit(s, &s->brief, s->least - VT_SCREEN_SLACK, row, column,
                    add_near));
    if (s->close > NEAR)
        return compare_whole(s, row, column);
    s->exact += (uint64_t)s->close;
    if (s->close)
        VT_RET(load_columns(s, column));
    for (int k = 0; k < s->close; k++) {
        const near p = s->near[k];
        float cosine;

        if (p.row != at)
            VT_RET(load_rows(s->row, s, p.row, 1));
        at = p.row;
        cosine =
            vt_dot(s->row, s->columns + (p.column - column) * width, width);
        if (cosine >= s->least)
            pair(s, p.row, p.column, cosine);
    }
    return VITCL_OK;
}

static vitcl_status compare_all(work *s)
{
    const uint64_t tile = (uint64_t)s->tile, blocks = blocks_of(s);

    for (uint64_t j = 0; j < blocks; j++) {
        if (s->short_rows)
            VT_RET(vt_tile_product_columns(
                &s->brief,
                s->short_rows + j * tile * (uint64_t)s->brief.width));
        for (uint64_t i = j; i < blocks; i++) {
            VT_RET((s->short_rows ? compare : compare_whole)(s, i * tile,
                                                             j * tile));
            VT_RET(tile_ended(s));
        }
    }
    return VITCL_OK;
}

/* ---- screening ---- */

/* Rows from the whole index, into s->rows. */
static vitcl_status load_sample(work *s)
{
    const uint64_t rows = vt_index_count(s->x);

    for (uint64_t i = 0; i < SAMPLE; i++)
        VT_RET(load_rows(s->rows + i * (uint64_t)s->width, s, i * rows / SAMPLE,
                         1));
    return VITCL_OK;
}

static vitcl_status shorten(work *s, vt_timed *t, uint64_t first)
{
    const size_t width = (size_t)s->width, kept = (size_t)s->screen.kept,
                 all = (size_t)s->tile * width;
    float *out = s->short_rows + first * kept;

    VT_RET(load(s->rows, s, first));
    VT_RET(vt_buf_write(t->q, t->bufs.a, 0, s->rows, all * sizeof *s->rows));
    VT_RET(vt_gemm_launch(t->q, t->g));
    VT_RET(vt_timed_read(out, t));
    for (size_t i = 0; i < (size_t)s->tile; i++)
        vt_screen_finish(out + i * kept, &s->screen, s->rows + i * width,
                         s->width);
    return VITCL_OK;
}

static vitcl_status shorten_all(work *s)
{
    const uint64_t tile = (uint64_t)s->tile, blocks = blocks_of(s);
    const vt_gemm_desc d =
        vt_timed_desc(s->dev, VT_F32, s->tile, s->screen.kept, s->width);
    vt_timed t = {.q = NULL};
    vitcl_status st;

    VT_TRY(VT_NEW(&s->near, NEAR));
    VT_TRY(VT_NEW(&s->short_rows,
                  (size_t)(blocks * tile) * (size_t)s->screen.kept));
    VT_TRY(vt_tile_product_new(&s->brief, s->dev, s->tile, s->screen.kept));
    VT_TRY(vt_product_timed(&t, s->dev, NULL, &d, NULL, s->screen.basis));
    s->total += blocks;
    for (uint64_t i = 0; i < blocks; i++) {
        VT_TRY(shorten(s, &t, i * tile));
        VT_TRY(tile_ended(s));
    }
done:
    vt_timed_free(&t);
    return st;
}

/* ---- the whole ---- */

static vitcl_status prepare(work *s)
{
    const size_t rows = (size_t)vt_index_count(s->x);
    size_t numbers;

    s->width = (int)vt_index_width(s->x);
    s->tile = (int)VT_MIN(VT_MAX(rows, 1), TILE);
    s->total = blocks_of(s) * (blocks_of(s) + 1) / 2;
    numbers = (size_t)s->tile * (size_t)s->width;
    for (size_t i = 0; i < rows; i++)
        s->out[i] = (vitcl_dupe){i, i, 0, s->out[i].state};
    VT_RET(VT_NEW(&s->rows, numbers));
    VT_RET(VT_NEW(&s->columns, numbers));
    VT_RET(VT_NEW(&s->row, (size_t)s->width));
    VT_RET(VT_NEW(&s->narrow, vt_index_half(s->x) ? numbers : 1));
    if (rows < MANY)
        return VITCL_OK;
    VT_RET(load_sample(s));
    VT_RET(vt_screen_new(&s->screen, s->rows, SAMPLE, s->width, s->least));
    if (s->screen.kept)
        VT_RET(shorten_all(s));
    return VITCL_OK;
}

static void free_all(work *s)
{
    vt_tile_product_free(&s->full);
    vt_tile_product_free(&s->brief);
    vt_screen_free(&s->screen);
    free(s->rows);
    free(s->columns);
    free(s->row);
    free(s->narrow);
    free(s->short_rows);
    free(s->near);
}

vitcl_status vt_index_pairs(vitcl_dupe *out, uint64_t *pairs, const vt_index *x,
                            vt_dev *dev, float least, vitcl_progress progress,
                            void *context)
{
    work s = {.x = x,
              .dev = dev,
              .least = least,
              .progress = progress,
              .context = context,
              .out = out,
              .columns_at = NOWHERE,
              .full_at = NOWHERE};
    const double from = vt_now_ms();
    double prepared;
    vitcl_status st;

    VT_TRY(prepare(&s));
    prepared = vt_now_ms();
    VT_TRY(compare_all(&s));
    vt_log("pairs: by %d of %d numbers first; %" PRIu64
           " cosines on the host, %" PRIu64
           " whole tiles; %.1f s to prepare, %.1f s to compare",
           s.screen.kept, s.width, s.exact, s.whole, 1e-3 * (prepared - from),
           1e-3 * (vt_now_ms() - prepared));
    for (uint64_t i = 0; i < vt_index_count(x); i++)
        out[i].group = root(out, i);
    if (pairs)
        *pairs = s.pairs;
done:
    free_all(&s);
    return st;
}
