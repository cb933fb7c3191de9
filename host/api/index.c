/*
 * index.c - public handles of indexes. The work is done in host/index.
 */
#include "index/index.h"
#include "api/handles.h"
#include "api/program.h"
#include "base/memory.h"
#include "index/sums.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct vitcl_index {
    vt_index *x;
    vt_places places;
    pthread_mutex_t lock; /* held while it is sorted */
};

vitcl_status vitcl_index_open(vitcl_index **out, const char *path)
{
    vitcl_status st = VITCL_OK;
    vitcl_index *index = NULL;

    VT_GIVEN(out);
    VT_GIVEN(path);
    VT_TRY(VT_NEW(&index, 1));
    pthread_mutex_init(&index->lock, NULL);
    VT_TRY(vt_index_open(&index->x, path));
    vt_places_open(&index->places, index->x);
    *out = index, index = NULL;
done:
    vitcl_index_free(index);
    return st;
}

void vitcl_index_free(vitcl_index *index)
{
    if (!index)
        return;
    vt_index_free(index->x);
    pthread_mutex_destroy(&index->lock);
    free(index);
}

vitcl_status vitcl_index_describe(vitcl_index_info *out,
                                  const vitcl_index *index)
{
    vitcl_index_info info;

    VT_SIZED(out, vitcl_index_info);
    VT_GIVEN(index);
    vt_index_describe(&info, index->x);
    vt_sized_give(out, &info, sizeof info);
    return VITCL_OK;
}

vitcl_status vitcl_index_check(const vitcl_index *index,
                               const vitcl_model *model)
{
    const vt_about *a;
    vt_about own = {.height = 0};

    VT_GIVEN(index);
    VT_GIVEN(model);
    a = vt_index_about(index->x);
    VT_RET(vt_model_about(&own, model, a->height, a->width));
    memcpy(own.feature, a->feature, sizeof own.feature);
    own.normalized = a->normalized;
    return vt_index_agrees(index->x, &own);
}

/* ---- rows ---- */

static vitcl_status has_rows(const vitcl_index *index, uint64_t first,
                             uint64_t n)
{
    const uint64_t rows = vt_index_count(index->x);

    return first <= rows && n <= rows - first
               ? VITCL_OK
               : vt_fail(VITCL_EINVAL,
                         "%s: it has %llu rows; %llu from row %llu on were "
                         "asked for",
                         vt_index_file(index->x), (unsigned long long)rows,
                         (unsigned long long)n, (unsigned long long)first);
}

vitcl_status vitcl_index_row(vitcl_row_info *out, const vitcl_index *index,
                             uint64_t row)
{
    static _Thread_local char path[VT_PLACE];
    vitcl_row_info info = {.name = NULL};
    vt_stamp stamp;
    bool moved;

    VT_SIZED(out, vitcl_row_info);
    VT_GIVEN(index);
    VT_RET(has_rows(index, row, 1));
    stamp = vt_index_stamp(index->x, row);
    info.name = vt_index_path(index->x, row);
    info.path = vt_place(path, &moved, &index->places, row);
    info.bytes = stamp.size;
    info.changed_ns = stamp.changed;
    vt_sized_give(out, &info, sizeof info);
    return VITCL_OK;
}

vitcl_status vitcl_index_vectors(float *out, const vitcl_index *index,
                                 uint64_t first, uint64_t n)
{
    vitcl_status st = VITCL_OK;
    uint16_t *narrow = NULL;
    uint64_t width, piece;

    VT_GIVEN(out);
    VT_GIVEN(index);
    VT_TRY(has_rows(index, first, n));
    width = vt_index_width(index->x);
    piece = vt_sums_block(width);
    if (vt_index_half(index->x))
        VT_TRY(VT_NEW(&narrow, (size_t)(piece * width)));
    for (uint64_t at = 0; at < n; at += piece)
        VT_TRY(vt_index_rows(out + at * width, narrow, index->x, first + at,
                             VT_MIN(piece, n - at)));
done:
    free(narrow);
    return st;
}

/* ---- comparisons ---- */

static vitcl_status one_vector(const vitcl_index *index)
{
    return vt_index_shape(index->x).columns
               ? vt_fail(VITCL_EUNSUPPORTED,
                         "%s: the index has several vectors of each picture, "
                         "which cannot be compared; pooled and class features "
                         "can",
                         vt_index_file(index->x))
               : VITCL_OK;
}

vitcl_status vitcl_index_search(vitcl_hit *hits, uint32_t *found,
                                const vitcl_index *index, const float *queries,
                                uint32_t n, uint32_t k, double least,
                                vitcl_progress progress, void *context)
{
    VT_GIVEN(hits);
    VT_GIVEN(found);
    VT_GIVEN(index);
    VT_GIVEN(queries);
    if (!k || isnan(least))
        return vt_fail(VITCL_EINVAL, "no row was asked for, or the least "
                                     "cosine is not a number");
    VT_RET(one_vector(index));
    return vt_index_nearest(hits, found, index->x, queries, n, k,
                            least > -1 ? vt_cosine_threshold(least) : -2,
                            progress, context);
}

/* const is cast away for the lock, and for the order that is behind it. */
static vitcl_status sort(const vitcl_index *index)
{
    vitcl_index *own = (vitcl_index *)(uintptr_t)index;
    vitcl_status st;

    pthread_mutex_lock(&own->lock);
    st = vt_index_sort(own->x);
    pthread_mutex_unlock(&own->lock);
    return st;
}

vitcl_status vitcl_index_dupes(vitcl_dupe *out, const vitcl_index *index,
                               vitcl_device *device, double least,
                               vitcl_progress progress, void *context)
{
    VT_GIVEN(out);
    VT_GIVEN(index);
    VT_GIVEN(device);
    if (!(least >= -1 && least <= 1))
        return vt_fail(VITCL_EINVAL,
                       "a threshold of %g is no cosine, which is -1 to 1",
                       least);
    VT_RET(one_vector(index));
    VT_RET(vt_dev_alive(device->dev));
    VT_RET(sort(index));
    VT_RET(vt_index_files(out, &index->places, progress, context));
    return vt_index_pairs(out, NULL, index->x, device->dev,
                          vt_cosine_threshold(least), progress, context);
}
