/*
 * attention_heads.c - attention and its gradients on matrix units
 * (cl/attention_mma.cl, cl/attention_grad_mma.cl): what a work-group computes.
 */
#include "ops/attention_heads.h"

#include "ocl/precision.h"

#include <stdio.h>

enum { ITEMS = 128, KEYS = 64, SCRATCH = 4096, LEAST = 16, MOST = 128 };

/* Of common_units_rows.cl: rows are a chunk of 16 bytes longer, or spans of 16
 * numbers a row. */
static size_t places(vt_mma_choice c, int rows, int chunks)
{
    return (size_t)(16 * (!vt_mma_intel(c.kind) ? rows * (chunks + 1)
                                                : (rows + 1) * chunks));
}

static size_t rows_bytes(vt_mma_choice c, int keys, int d)
{
    return places(c, keys, (d + 15) / 16 * 2);
}

static size_t turned_bytes(vt_mma_choice c, int keys, int d)
{
    const int n = vt_mma_kinds[c.kind].rows;

    return places(c, (d + n - 1) / n * n, keys / 8);
}

/* Local memory: `rows` tiles of rows of keys, on AMD `turned` more with the
 * same in rows of numbers, and what an emulation needs. */
static size_t tiles_bytes(vt_mma_choice c, int keys, int d, int rows,
                          int turned)
{
    return (size_t)rows * rows_bytes(c, keys, d) +
           (size_t)turned *
               (vt_mma_nvidia(c.kind) ? 0 : turned_bytes(c, keys, d)) +
           (c.emulated ? SCRATCH : 0);
}

/* Of rows of one tensor that are kept. */
static size_t kept_bytes(const vt_mma_heads *h, int d)
{
    return h->kept ? (size_t)(h->queries * ((d + 15) / 16) * 32) : 0;
}

bool vt_mma_heads_take(int d)
{
    return d >= LEAST && d <= MOST && d % 8 == 0;
}

/* Keys at a time: what registers allow. */
static int most_keys(vt_mma_choice c, int d, bool bias, bool full)
{
    if (full)
        return vt_mma_intel(c.kind) ? KEYS / 4 : KEYS / 2;
    if (!vt_mma_intel(c.kind))
        return d > 64 ? KEYS / 2 : KEYS;
    return d <= 32 ? KEYS : d <= (bias ? 72 : 80) ? KEYS / 2 : KEYS / 4;
}

vt_mma_heads vt_mma_heads_of(const vt_dev *dev, vt_mma_choice c, int d,
                             int queries, bool bias, bool full)
{
    const vt_mma_kind *k = &vt_mma_kinds[c.kind];
    const int least = vt_mma_nvidia(c.kind) || vt_mma_intel(c.kind) ? 16 : 32;
    const int tiles = !vt_mma_nvidia(c.kind)         ? 1
                      : c.kind == VT_MMA_16 && !full ? 4
                                                     : 2;
    vt_mma_heads h = {.subgroups = c.emulated ? 2 : ITEMS / k->lanes,
                      .fragments = 1,
                      .kept = vt_mma_intel(c.kind) && d > (full ? 32 : 64),
                      .keys = most_keys(c, d, bias, full)};

    while (h.keys > least &&
           tiles_bytes(c, h.keys, d, tiles, 1) > vt_dev_info(dev)->local_bytes)
        h.keys /= 2;
    h.queries = h.subgroups * (vt_mma_nvidia(c.kind) ? k->rows : k->columns);
    /* a bias needs the registers; smaller heads wait for powers of 2 */
    if (d >= 64 && d <= k->twice && !bias && !full && queries > h.queries)
        h.fragments = 2, h.queries *= 2;
    h.items = (size_t)(h.subgroups * k->lanes);
    h.local_bytes = tiles_bytes(c, h.keys, d, tiles, 1) + kept_bytes(&h, d);
    return h;
}

size_t vt_mma_heads_items(const vt_mma_heads *h, int rows, int heads)
{
    const size_t n = (size_t)h->queries;

    return ((size_t)rows + n - 1) / n * (size_t)heads * h->items;
}

void vt_mma_heads_define(char *out, size_t size, const vt_mma_heads *h,
                         vt_mma_choice c, vt_dtype type, int d)
{
    snprintf(out, size,
             "-DKIND=%d%s%s -DTYPE=%d -DD=%d -DWM=%d -DFQ=%d -DKEYS=%d", c.kind,
             h->kept ? " -DKEPT" : "", vt_mma_flags(c), vt_type_number(type), d,
             h->subgroups, h->fragments, h->keys);
}

/* ---- gradients ---- */

bool vt_mma_gradient_takes(vt_mma_choice c, int d)
{
    const vt_mma_kind *k = &vt_mma_kinds[c.kind];

    /* With half a fragment at the end of 16 lanes, PoCL's optimiser makes the
     * emulation's dk and dv wrong. Without it, and on llvmpipe, they are right,
     * but a kernel that is hard to test is not used. */
    if (vt_mma_intel(c.kind) && k->lanes == 16 && d % 16 != 0)
        return false;
    return c.kind != VT_MMA_NONE && vt_mma_heads_take(d) && d <= k->gradients;
}

vt_mma_heads vt_mma_gradient_of(vt_mma_choice c, int d)
{
    const vt_mma_kind *k = &vt_mma_kinds[c.kind];
    const bool intel = vt_mma_intel(c.kind);
    /* AMD's pairs need 32; with them, others' registers would not last */
    const int least = vt_mma_nvidia(c.kind) || intel ? 16 : 32;
    vt_mma_heads h = {.keys = d > 64 || intel ? least
                              : d > 32        ? 32
                                              : 64,
                      .fragments = 1,
                      .kept = intel && d > 32,
                      .subgroups = c.emulated ? 2 : ITEMS / k->lanes};

    h.queries = h.subgroups * (vt_mma_nvidia(c.kind) ? k->rows : k->columns);
    h.items = (size_t)(h.subgroups * k->lanes);
    /* two tensors, on AMD their transposes, and what belongs to rows */
    h.local_bytes =
        tiles_bytes(c, h.keys, d, 2, 2) + 8 * ITEMS + 2 * kept_bytes(&h, d);
    return h;
}

size_t vt_mma_gradient_groups(vt_mma_choice c)
{
    return !vt_mma_intel(c.kind) ? 1 : 2;
}
