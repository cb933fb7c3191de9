/*
 * attention_tiles.c - attention and its gradients without matrix units: what a
 * work-group computes.
 */
#include "ops/attention_tiles.h"

#include "base/memory.h"

#include <stdio.h>

/* Local memory that every GPU has, and llvmpipe. */
#define LOCAL ((size_t)32 << 10)

static size_t local_bytes(size_t d, size_t n, size_t m)
{
    const size_t vectors = (d + 3) / 4, strip = n * ((m >= 16 ? m / 4 : 4) | 1),
                 p = m * (n / 4 + 1);

    return 16 * (2 * m * (vectors | 1) + 2 * VT_MAX(strip, p)) + 44 * n;
}

vt_query_tiles vt_query_tiles_of(const vt_dev *dev, int d)
{
    const size_t most = vt_dev_group_max(dev);
    vt_query_tiles t = {.items = 64, .keys = VT_MAX(1, VT_MIN(32, 2048 / d))};

    while (t.items > most)
        t.items /= 2;
    snprintf(t.defines, sizeof t.defines, "-DD=%d -DWG=%zu -DKT=%d", d, t.items,
             t.keys);
    return t;
}

/* Groups own 32 queries or keys, or fewer where heads are wide or groups small,
 * and take as many of the others at once as fit into local memory. */
vt_gradient_tiles vt_gradient_tiles_of(const vt_dev *dev, int d, bool wide)
{
    const size_t most = vt_dev_group_max(dev);
    const size_t room = (size_t)vt_dev_info(dev)->local_bytes;
    const size_t vectors = ((size_t)d + 3) / 4;
    size_t n = 32, m = 32, wg;
    vt_gradient_tiles t = {.items = 0};

    if (most < 16)
        return t;
    while (n > 8 && 2 * n > most)
        n /= 2;
    while (m > 8 && local_bytes((size_t)d, n, m) > VT_MIN(room, LOCAL))
        m /= 2;
    /* two blocks of four rows and four columns a work-item */
    wg = VT_MIN(VT_MAX(n * vectors / 8, 2 * n), most);
    wg = VT_MIN((wg + 31) / 32 * 32, most);
    t = (vt_gradient_tiles){.rows = n, .others = m, .items = wg};
    snprintf(t.defines, sizeof t.defines, "-DWG=%zu -DD=%d -DN=%zu -DM=%zu%s",
             wg, d, n, m, wide ? " -DWIDE" : "");
    return t;
}
