/*
 * thumbs.c - decode pictures of a dataset to small squares.
 */
#include "data/thumbs.h"

#include "base/memory.h"

#include <string.h>

/* The next square; pool NULL: of a record. */
static vitcl_status next(uint8_t *rgb, vt_decoder_pool *pool,
                         const vt_dataset *d, uint32_t picture,
                         const vt_preprocess *how)
{
    vitcl_status st = VITCL_OK;
    vt_picture p = {0}, small = {0};

    if (pool)
        return vt_pool_next(rgb, pool);
    VT_TRY(vt_dataset_picture(&p, d, picture));
    VT_TRY(vt_prepare(&small, &p, how));
    memcpy(rgb, small.rgb, (size_t)VT_THUMB_SIDE * VT_THUMB_SIDE * 3);
done:
    vt_picture_free(&p);
    vt_picture_free(&small);
    return st;
}

vitcl_status vt_thumbs(const vt_dataset *d, const uint32_t *picture, size_t n,
                       vt_thumb take, void *context)
{
    const vt_preprocess how = {.fit = VT_FIT_SQUASH,
                               .filter = VT_BOX,
                               .resize_height = VT_THUMB_SIDE,
                               .resize_width = VT_THUMB_SIDE,
                               .height = VT_THUMB_SIDE,
                               .width = VT_THUMB_SIDE};
    vitcl_status st = VITCL_OK;
    vt_decoder_pool *pool = NULL;
    uint8_t rgb[VT_THUMB_SIDE * VT_THUMB_SIDE * 3];

    if (n > 0 && vt_dataset_path(d, picture[0])) {
        VT_TRY(vt_pool_new(&pool, &how, 0));
        for (size_t i = 0; i < n; i++)
            VT_TRY(vt_pool_push(pool, vt_dataset_path(d, picture[i])));
    }
    for (size_t i = 0; i < n; i++) {
        st = next(rgb, pool, d, picture[i], &how);
        if (st != VITCL_OK && !vt_picture_broken(st))
            goto done;
        VT_TRY(take(context, picture[i], st == VITCL_OK ? rgb : NULL));
    }
done:
    vt_pool_free(pool);
    return st;
}
