/*
 * sums.c - see sums.h.
 */
#include "index/sums.h"

#include "base/checksum.h"
#include "base/memory.h"

#include <string.h>

enum { BLOCK = 256 * 1024 };

uint64_t vt_sums_block(uint64_t count)
{
    uint64_t rows = 1;

    while (2 * rows * count * sizeof(float) <= BLOCK)
        rows *= 2;
    return rows;
}

static vitcl_status damaged(const char *path, const char *what)
{
    return vt_fail(VITCL_ECORRUPT,
                   "%s: is damaged: the checksum of its %s differs; remove it "
                   "and write it anew",
                   path, what);
}

vitcl_status vt_sums_load(vt_sums *out, const vt_tensors *raw, uint64_t block,
                          uint64_t rows)
{
    const char *path = vt_tensors_path(raw);
    const vt_tensor *t = vt_tensors_get(raw, "checksums");
    vt_sums s = {.path = path,
                 .features = vt_tensors_get(raw, "features"),
                 .rows = rows,
                 .block = block};
    vitcl_status st = VITCL_OK;

    if (!t && !block)
        goto done; /* of an older version */
    if (block)
        s.blocks = rows / block + (rows % block != 0);
    if (!t || !block || t->dtype != VT_FILE_I64 || t->rank != 1 ||
        t->count < VT_SUM_KINDS || t->count - VT_SUM_KINDS != s.blocks) {
        st = damaged(path, "head");
        goto done;
    }
    VT_TRY(VT_NEW(&s.sum, (size_t)t->count));
    VT_TRY(VT_NEW(&s.checked, (size_t)s.blocks + 1));
    VT_TRY(vt_tensor_bytes(s.sum, t, 0, t->size));
done:
    if (st == VITCL_OK)
        *out = s, s = (vt_sums){.sum = NULL};
    vt_sums_free(&s);
    return st;
}

/* bytes: of the rows from `first` on; a block that is not all there is read. */
static vitcl_status check_block(const vt_sums *s, uint64_t block,
                                const char *bytes, uint64_t first, uint64_t n)
{
    const uint64_t from = block * s->block,
                   to = VT_MIN(from + s->block, s->rows);
    const size_t row = s->features->size / (size_t)s->rows,
                 size = (size_t)(to - from) * row;
    const char *all = NULL;
    char *scratch = NULL;
    vitcl_status st = VITCL_OK;

    if (from >= first && to <= first + n) {
        all = bytes + (size_t)(from - first) * row;
    } else {
        VT_TRY(vt_new(&scratch, size, 1));
        VT_TRY(vt_tensor_bytes(scratch, s->features, (size_t)from * row, size));
        all = scratch;
    }
    if (vt_checksum(all, size) != s->sum[block])
        VT_TRY(damaged(s->path, "vectors"));
    atomic_store(&s->checked[block], 1);
done:
    free(scratch);
    return st;
}

vitcl_status vt_sums_rows(const vt_sums *s, const void *bytes, uint64_t first,
                          uint64_t n)
{
    if (!s->sum || !n)
        return VITCL_OK;
    for (uint64_t b = first / s->block; b <= (first + n - 1) / s->block; b++)
        if (!atomic_load(&s->checked[b]))
            VT_RET(check_block(s, b, bytes, first, n));
    return VITCL_OK;
}

vitcl_status vt_sums_part(const vt_sums *s, vt_sum_part part, uint64_t sum)
{
    static const char *const names[] = {"stamps", "paths", "head"};

    return !s->sum || sum == s->sum[s->blocks + part]
               ? VITCL_OK
               : damaged(s->path, names[part]);
}

void vt_sums_free(vt_sums *s)
{
    free(s->sum);
    free(s->checked);
    *s = (vt_sums){.sum = NULL};
}
