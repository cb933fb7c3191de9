/*
 * parts.c - permute axes into the canonical order while reading.
 */
#include "weights/parts.h"

#include "base/memory.h"

#include <string.h>

static vitcl_status misshapen(const char *file, const vt_tensor_part *p,
                              const char *wants)
{
    return vt_fail(VITCL_ECORRUPT, "%s: %.100s: its shape is not %s", file,
                   p->tensor->name, wants);
}

static void set_shape(vt_tensor_part *p, uint32_t rank, const uint64_t *shape)
{
    p->rank = rank;
    memcpy(p->shape, shape, rank * sizeof *shape);
}

/* Permutes the file's axes `s` by `order`. Afterwards sets the result's shape,
 * where adjacent axes may be merged. */
static void permute(vt_tensor_part *p, uint8_t axes, const uint64_t *s,
                    const uint8_t *order, uint32_t rank, const uint64_t *shape)
{
    p->axes = axes;
    memcpy(p->dim, s, axes * sizeof *s);
    memcpy(p->order, order, axes);
    set_shape(p, rank, shape);
}

/* [D, 3 P P] -> [D, 3, P, P], for timm's oldest files. */
static void split_patch(vt_tensor_part *p)
{
    uint64_t side = 1;

    if (p->rank != 2 || p->shape[1] % 3 || p->shape[1] > 1 << 24)
        return;
    while (3 * side * side < p->shape[1])
        side++;
    if (3 * side * side == p->shape[1])
        set_shape(p, 4, (uint64_t[]){p->shape[0], 3, side, side});
}

/* NaFlex's linear layer on patches whose colours come last. */
static vitcl_status turn_patch(vt_tensor_part *p, const char *file)
{
    const uint64_t D = p->shape[0];

    if (p->rank != 2)
        return VITCL_OK;
    split_patch(p);
    if (p->rank != 4)
        return misshapen(file, p, "[width,3*patch*patch]");
    permute(p, 4, (uint64_t[]){D, p->shape[2], p->shape[2], 3},
            (uint8_t[]){0, 3, 1, 2}, 4,
            (uint64_t[]){D, 3, p->shape[2], p->shape[2]});
    return VITCL_OK;
}

/* p->shape is the file's; changes it to the canonical one. */
vitcl_status vt_tensor_part_lay_out(vt_tensor_part *p, vt_layout layout,
                                    const char *file)
{
    const uint64_t *s = p->shape;
    uint64_t d[VT_PART_AXES] = {0};

    memcpy(d, s, VT_MIN(p->rank, VT_PART_AXES) * sizeof *d);
    switch (layout) {
    case VT_SAME:
        break;
    case VT_FLAT:
        set_shape(p, 1, &p->count);
        break;
    case VT_TRANSPOSED:
        if (p->rank != 2)
            return misshapen(file, p, "[in,out]");
        permute(p, 2, d, (uint8_t[]){1, 0}, 2, (uint64_t[]){d[1], d[0]});
        break;
    case VT_CONV:
        if (p->rank != 4)
            return misshapen(file, p, "[height,width,in,out]");
        permute(p, 4, d, (uint8_t[]){3, 2, 0, 1}, 4,
                (uint64_t[]){d[3], d[2], d[0], d[1]});
        break;
    case VT_HEADS_IN:
        if (p->rank != 3)
            return misshapen(file, p, "[width,heads,head width]");
        permute(p, 3, d, (uint8_t[]){1, 2, 0}, 2,
                (uint64_t[]){d[1] * d[2], d[0]});
        break;
    case VT_HEADS_OUT:
        if (p->rank != 3)
            return misshapen(file, p, "[heads,head width,width]");
        permute(p, 3, d, (uint8_t[]){2, 0, 1}, 2,
                (uint64_t[]){d[2], d[0] * d[1]});
        break;
    case VT_TOKEN:
        if (p->rank == 1)
            set_shape(p, 3, (uint64_t[]){1, 1, d[0]});
        break;
    case VT_TABLE:
        if (p->rank == 2)
            set_shape(p, 3, (uint64_t[]){1, d[0], d[1]});
        break;
    case VT_PATCH:
        split_patch(p);
        break;
    case VT_PATCH_LAST:
        return turn_patch(p, file);
    }
    return VITCL_OK;
}

/* The bytes in the file that the part reads. */
static vt_tensor range_of(const vt_tensor_part *p)
{
    vt_tensor r = *p->tensor;
    size_t step = r.count ? r.size / (size_t)r.count : 0;

    if (r.source)
        r.offset += p->first * step;
    else if (r.data)
        r.data += p->first * step;
    r.count = p->count;
    r.size = (size_t)p->count * step;
    r.summed = false;
    return r;
}

/* out[i] = in[file order], in steps of the last axis of the result. */
static void reorder(float *out, const float *in, const vt_tensor_part *p)
{
    uint64_t stride[VT_PART_AXES], step[VT_PART_AXES] = {0},
                                   size[VT_PART_AXES] = {1, 1, 1, 1};
    unsigned shift = VT_PART_AXES - p->axes;
    uint64_t s = 1;

    for (unsigned i = p->axes; i-- > 0; s *= p->dim[i])
        stride[i] = s;
    for (unsigned i = 0; i < p->axes; i++) {
        size[shift + i] = p->dim[p->order[i]];
        step[shift + i] = stride[p->order[i]];
    }
    for (uint64_t a = 0; a < size[0]; a++)
        for (uint64_t b = 0; b < size[1]; b++)
            for (uint64_t c = 0; c < size[2]; c++) {
                const float *from =
                    in + a * step[0] + b * step[1] + c * step[2];
                for (uint64_t d = 0; d < size[3]; d++)
                    *out++ = from[d * step[3]];
            }
}

vitcl_status vt_tensor_part_read(float *out, const vt_tensor_part *p)
{
    vitcl_status st;
    float *in = NULL;
    vt_tensor t;

    if (!p->tensor) {
        memset(out, 0, (size_t)p->count * sizeof *out);
        return VITCL_OK;
    }
    t = range_of(p);
    if (p->axes == 0)
        return vt_tensor_f32(out, &t);
    VT_TRY(VT_NEW(&in, (size_t)p->count));
    VT_TRY(vt_tensor_f32(in, &t));
    reorder(out, in, p);
done:
    free(in);
    return st;
}
