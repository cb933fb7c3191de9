/*
 * pairs.c - the cosines of all pairs of rows, tile by tile, as products on a
 * device; groups by union and find.
 *
 * Memory is that of a tile and of a few numbers a row. Rows that are not
 * finite, or zero, become zero, so that they have no pair.
 */
#include "base/memory.h"
#include "gemm/measure.h"
#include "index/index.h"

#include <math.h>
#include <string.h>

enum { TILE = 2048 };

typedef struct tiles {
    const vt_index *x;
    vt_dev *dev;
    const char *provider;
    vt_gemm_desc d;
    vt_timed t;
    float *rows, *cosine; /* [TILE, width], [TILE, TILE] */
    uint16_t *narrow;
    int width, tile; /* tile: rows, TILE or fewer */
    float least;
    vt_pairs *out;
} tiles;

/* ---- groups ---- */

static uint64_t root(uint64_t *group, uint64_t i)
{
    while (group[i] != i)
        i = group[i] = group[group[i]];
    return i;
}

/* The first row of a group is its root. */
static void join(uint64_t *group, uint64_t i, uint64_t j)
{
    i = root(group, i);
    j = root(group, j);
    if (i < j)
        group[j] = i;
    else
        group[i] = j;
}

static void closer(vt_pairs *p, uint64_t i, uint64_t j, float cosine)
{
    if (cosine > p->cosine[i] ||
        (cosine == p->cosine[i] && j < p->near_row[i])) {
        p->cosine[i] = cosine;
        p->near_row[i] = j;
    }
}

static void pair(vt_pairs *p, uint64_t i, uint64_t j, float cosine)
{
    cosine = VT_MIN(cosine, 1.0f); /* rounding */
    p->pairs++;
    join(p->group, i, j);
    closer(p, i, j, cosine);
    closer(p, j, i, cosine);
}

/* ---- a tile ---- */

static void unit(float *v, int width)
{
    const float length = sqrtf(vt_dot(v, v, (size_t)width));

    if (!(length > 0) || !isfinite(length)) {
        memset(v, 0, (size_t)width * sizeof *v);
        return;
    }
    for (int i = 0; i < width; i++)
        v[i] /= length;
}

/* Writes rows from `first` on, and zeros after the last, to a buffer. */
static vitcl_status load(tiles *s, vt_buf *to, uint64_t first)
{
    const uint64_t n = VT_MIN((uint64_t)s->tile, vt_index_count(s->x) - first);
    const size_t all = (size_t)s->tile * (size_t)s->width,
                 used = (size_t)n * (size_t)s->width;
    vitcl_status st;

    VT_TRY(vt_index_rows(s->rows, s->narrow, s->x, first, n));
    for (size_t i = 0; i < n; i++)
        unit(s->rows + i * (size_t)s->width, s->width);
    memset(s->rows + used, 0, (all - used) * sizeof *s->rows);
    st = vt_buf_write(s->t.q, to, 0, s->rows, all * sizeof *s->rows);
done:
    return st;
}

static vitcl_status load_columns(tiles *s, uint64_t first)
{
    vitcl_status st;

    VT_TRY(load(s, s->t.rows, first));
    if (s->t.bufs.b != s->t.rows)
        st = vt_gemm_pack(s->t.q, s->provider, &s->d, s->t.bufs.b, s->t.rows);
done:
    return st;
}

/* Without a branch for each element, so that compilers use vectors: few rows of
 * a tile have a pair. */
static bool any(const float *c, int n, float least)
{
    int found = 0;

    for (int i = 0; i < n; i++)
        found |= c[i] >= least;
    return found != 0;
}

/* Pairs of rows from `row` on with earlier ones from `column` on. */
static vitcl_status compare(tiles *s, uint64_t row, uint64_t column)
{
    vitcl_status st;

    VT_TRY(load(s, s->t.bufs.a, row));
    VT_TRY(vt_gemm_launch(s->t.q, s->t.g));
    VT_TRY(vt_timed_read(s->cosine, &s->t));
    for (int i = 0; i < s->tile; i++) {
        const float *c = s->cosine + (size_t)i * (size_t)s->tile;

        if (!any(c, s->tile, s->least))
            continue;
        for (int j = 0; j < s->tile; j++)
            if (c[j] >= s->least && column + (uint64_t)j < row + (uint64_t)i)
                pair(s->out, row + (uint64_t)i, column + (uint64_t)j, c[j]);
    }
done:
    return st;
}

static vitcl_status compare_all(tiles *s, vitcl_progress progress,
                                void *context)
{
    const uint64_t rows = vt_index_count(s->x), tile = (uint64_t)s->tile,
                   blocks = (rows + tile - 1) / tile;
    const uint64_t total = blocks * (blocks + 1) / 2;
    vitcl_status st = VITCL_OK;
    uint64_t done_ = 0;

    for (uint64_t j = 0; j < blocks; j++) {
        VT_TRY(load_columns(s, j * tile));
        for (uint64_t i = j; i < blocks; i++) {
            VT_TRY(compare(s, i * tile, j * tile));
            if (progress && progress(context, ++done_, total))
                VT_TRY(vt_fail(VITCL_ESTOPPED, "stopped"));
        }
    }
done:
    return st;
}

/* ---- the whole ---- */

static vitcl_status prepare(tiles *s, const char *device)
{
    const size_t rows = (size_t)vt_index_count(s->x);
    vitcl_status st;
    size_t numbers;

    s->width = (int)vt_index_width(s->x);
    s->tile = (int)VT_MIN(VT_MAX(rows, 1), TILE);
    numbers = (size_t)s->tile * (size_t)s->width;
    VT_TRY(VT_NEW(&s->out->group, rows + 1));
    VT_TRY(VT_NEW(&s->out->near_row, rows + 1));
    VT_TRY(VT_NEW(&s->out->cosine, rows + 1));
    for (size_t i = 0; i < rows; i++)
        s->out->group[i] = s->out->near_row[i] = i;
    VT_TRY(VT_NEW(&s->rows, numbers));
    VT_TRY(VT_NEW(&s->narrow, vt_index_half(s->x) ? numbers : 1));
    VT_TRY(VT_NEW(&s->cosine, (size_t)s->tile * (size_t)s->tile));
    VT_TRY(vt_gemm_dev_open(&s->dev, device));
    VT_TRY(vt_gemm_provider(&s->provider, s->dev, NULL));
    s->d = vt_timed_desc(s->dev, VT_F32, s->tile, s->tile, s->width);
    VT_TRY(vt_timed_new(&s->t, s->dev, s->provider, &s->d, NULL, NULL));
done:
    return st;
}

vitcl_status vt_index_pairs(vt_pairs *out, const vt_index *x,
                            const char *device, float least,
                            vitcl_progress progress, void *context)
{
    vt_pairs p = {.pairs = 0};
    tiles s = {.x = x, .least = least, .out = &p};
    vitcl_status st;

    VT_TRY(prepare(&s, device));
    VT_TRY(compare_all(&s, progress, context));
    for (uint64_t i = 0; i < vt_index_count(x); i++)
        p.group[i] = root(p.group, i);
    *out = p, p = (vt_pairs){.pairs = 0};
done:
    vt_timed_free(&s.t);
    vt_dev_free(s.dev);
    free(s.rows);
    free(s.narrow);
    free(s.cosine);
    vt_pairs_free(&p);
    return st;
}

void vt_pairs_free(vt_pairs *p)
{
    free(p->group);
    free(p->near_row);
    free(p->cosine);
    *p = (vt_pairs){.pairs = 0};
}
