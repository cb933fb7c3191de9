/*
 * tiles.c - products of two tiles of rows on a device, and which of the scores
 * are large.
 *
 * Few rows have a large score, so that a kernel looks for them, and the other
 * rows are not copied.
 */
#include "index/tiles.h"

#include "base/memory.h"

#include <stdio.h>

enum { SINGLY = 32 }; /* rows: copying more one by one takes longer than all */

static vitcl_status new_most(vt_tile_product *s, vt_dev *dev)
{
    const bool cpu = vt_dev_class(dev) == VT_CLASS_CPU;
    size_t wg = cpu ? 1 : 128;
    char defines[48];

    while (wg > 1 && wg > vt_dev_group_max(dev))
        wg /= 2;
    snprintf(defines, sizeof defines, "-DV=%d -DWG=%zu",
             cpu ? vt_dev_vector(dev) : 4, wg);
    VT_RET(vt_kernel_new(&s->most, dev, "row_max", "row_max", defines));
    VT_RET(vt_kernel_buf(s->most, 0, s->largest));
    VT_RET(vt_kernel_buf(s->most, 1, s->t.bufs.c));
    VT_RET(vt_kernel_int(s->most, 2, s->tile));
    vt_kernel_size(s->most, 1, (size_t[3]){(size_t)s->tile * wg, 1, 1},
                   (size_t[3]){wg, 1, 1});
    vt_kernel_groups(s->most, VT_GROUPS_WG);
    return VITCL_OK;
}

vitcl_status vt_tile_product_new(vt_tile_product *s, vt_dev *dev, int tile,
                                 int width)
{
    const vt_gemm_desc d = vt_timed_desc(dev, VT_F32, tile, tile, width);
    const size_t n = (size_t)tile;

    s->tile = tile;
    s->width = width;
    VT_RET(VT_NEW(&s->host, n));
    VT_RET(VT_NEW(&s->scores, n * n));
    VT_RET(vt_buf_new(&s->largest, dev, n * sizeof *s->host));
    VT_RET(vt_product_timed(&s->t, dev, NULL, &d, NULL, NULL));
    return new_most(s, dev);
}

static size_t bytes(const vt_tile_product *s)
{
    return (size_t)s->tile * (size_t)s->width * sizeof(float);
}

vitcl_status vt_tile_product_rows(vt_tile_product *s, const float *rows)
{
    return vt_buf_write(s->t.q, s->t.bufs.a, 0, rows, bytes(s));
}

vitcl_status vt_tile_product_columns(vt_tile_product *s, const float *rows)
{
    VT_RET(vt_buf_write(s->t.q, s->t.rows, 0, rows, bytes(s)));
    return vt_timed_pack(&s->t);
}

vitcl_status vt_tile_product_run(int *hits, vt_tile_product *s, float least)
{
    s->all = false;
    *hits = 0;
    VT_RET(vt_gemm_launch(s->t.q, s->t.g));
    VT_RET(vt_kernel_launch(s->t.q, s->most));
    VT_RET(vt_buf_read(s->t.q, s->largest, 0, s->host,
                       (size_t)s->tile * sizeof *s->host));
    for (int i = 0; i < s->tile; i++)
        *hits += vt_tile_product_hit(s, i, least);
    if (*hits > SINGLY) {
        VT_RET(vt_timed_read(s->scores, &s->t));
        s->all = true;
    }
    return VITCL_OK;
}

vitcl_status vt_tile_product_scores(const float **out, vt_tile_product *s,
                                    int row)
{
    const size_t n = (size_t)s->tile, at = (size_t)row * n;

    *out = s->scores + at;
    return s->all ? VITCL_OK
                  : vt_buf_read(s->t.q, s->t.bufs.c, at * sizeof *s->scores,
                                s->scores + at, n * sizeof *s->scores);
}

void vt_tile_product_free(vt_tile_product *s)
{
    vt_kernel_free(s->most);
    vt_buf_free(s->largest);
    vt_timed_free(&s->t);
    free(s->host);
    free(s->scores);
    *s = (vt_tile_product){.tile = 0};
}
