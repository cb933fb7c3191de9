/*
 * common.c - helpers of ops: shapes, launch sizes, steps of two tensors.
 */
#include "ops/common.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

vitcl_status(vt_op_need)(bool ok, const char *what)
{
    return ok ? VITCL_OK : vt_fail(VITCL_EINVAL, "%s", what);
}

vitcl_status vt_op_out(vt_plan *p, vt_step *s, int slot, int rank,
                       const int *dim)
{
    s->out[slot] = vt_result(p, VT_F32, rank, dim);
    return vt_plan_status(p);
}

vitcl_status vt_op_like(vt_plan *p, vt_step *s, int slot, vt_val x)
{
    const vt_value *v = vt_value_of(p, x);
    int dim[4];

    if (!v)
        return vt_fail(VITCL_EINVAL, "an input is missing");
    for (int i = 0; i < v->rank; i++)
        dim[i] = v->dim[i];
    return vt_op_out(p, s, slot, v->rank, dim);
}

bool vt_op_same(const vt_plan *p, vt_val a, vt_val b)
{
    const vt_value *x = vt_value_of(p, a), *y = vt_value_of(p, b);

    if (!x || !y || x->rank != y->rank)
        return false;
    for (int i = 0; i < x->rank; i++)
        if (x->dim[i] != y->dim[i])
            return false;
    return true;
}

int vt_op_count(const vt_plan *p, vt_val v)
{
    return (int)vt_elements(p, v); /* the plan limits it to INT32_MAX */
}

int vt_op_rows(const vt_plan *p, vt_val v)
{
    return vt_op_count(p, v) / vt_dim(p, v, -1);
}

/* ---- launching ---- */

bool vt_op_cpu(const vt_plan *p)
{
    return vt_plan_class(p) == VT_CLASS_CPU;
}

int vt_op_dots(const vt_plan *p)
{
    const vt_dtype t = vt_plan_type(p);

    if (!vt_plan_settings(p)->dev || !vt_op_cpu(p) ||
        (t != VT_BF16 && t != VT_I8))
        return VT_DOT_NONE;
    return vt_product_dots(vt_plan_settings(p)->dev, vt_plan_gemm(p));
}

static int lanes(const vt_plan *p)
{
    return vt_op_cpu(p) ? vt_dev_vector(vt_plan_settings(p)->dev) : VT_OP_LANES;
}

static int group(const vt_plan *p)
{
    size_t most = vt_dev_group_max(vt_plan_settings(p)->dev);
    int wg = 128;

    while (wg > 1 && (size_t)wg > most)
        wg /= 2;
    return vt_op_cpu(p) ? 1 : wg;
}

static int per(const vt_plan *p)
{
    return vt_op_cpu(p) ? VT_CPU_BLOCK / lanes(p) : 1;
}

const char *vt_op_stored(vt_op_define out, const vt_plan *p, const char *name,
                         vt_val v)
{
    const vt_value *x = vt_value_of(p, v);

    out[0] = '\0';
    if (x && (x->dtype == VT_F16 || x->dtype == VT_BF16))
        snprintf(out, sizeof(vt_op_define), " -D%s=%s", name,
                 vt_dtype_name(x->dtype));
    return out;
}

/* The input beside the first that may be stored in 16 bits. */
static vt_val second(const vt_step *s)
{
    int i = VT_INS - 1;

    while (i > 0 && !(s->op->half_in >> i & 1u))
        i--;
    return i > 0 ? s->in[i] : VT_NONE;
}

vitcl_status vt_op_kernel_with(vt_kernel **out, vt_plan *p, vt_step *s,
                               const char *file, const char *name,
                               const char *more)
{
    vt_op_define xt, yt, rst;
    char defines[360];

    snprintf(defines, sizeof defines, "-DV=%d -DPER=%d -DWG=%d%s%s%s%s%s",
             lanes(p), per(p), group(p), vt_op_cpu(p) ? "" : " -DFLAT", more,
             vt_op_stored(xt, p, "XT", s->in[0]),
             vt_op_stored(yt, p, "YT", s->out[0]),
             vt_op_stored(rst, p, "RST", second(s)));
    return vt_step_kernel(out, p, s, file, name, defines);
}

vitcl_status vt_op_kernel(vt_kernel **out, vt_plan *p, vt_step *s,
                          const char *file, const char *name)
{
    return vt_op_kernel_with(out, p, s, file, name, "");
}

static size_t ceil_to(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* The largest divisor of n up to `most`. */
static size_t divisor(size_t n, size_t most)
{
    for (size_t l = VT_MIN(n, most); l > 1; l--)
        if (n % l == 0)
            return l;
    return 1;
}

/* On a GPU: as row_items() of common_work.cl. */
static void flat(vt_kernel *k, const vt_plan *p, size_t items, size_t rows)
{
    const size_t wg = (size_t)group(p);
    size_t row = 1, local = wg;

    while (row < items && row < wg)
        row *= 2;
    if (row < wg)
        local = row * divisor(rows, wg / row);
    else
        row = ceil_to(items, wg);
    vt_kernel_size(k, 1, (size_t[3]){row * rows, 1, 1},
                   (size_t[3]){local, 1, 1});
    vt_kernel_groups(k, VT_GROUPS_ANY);
}

void vt_op_items(vt_kernel *k, const vt_plan *p, int n, int rows)
{
    if (vt_op_cpu(p))
        vt_kernel_size(k, 2, (size_t[3]){(size_t)n, (size_t)rows, 1},
                       (size_t[3]){1, 1, 1});
    else
        flat(k, p, (size_t)n, (size_t)rows);
}

int vt_op_block_count(const vt_plan *p, int n)
{
    const int each = lanes(p) * per(p);

    return n / each + (n % each > 0);
}

void vt_op_blocks(vt_kernel *k, const vt_plan *p, int n, int rows)
{
    vt_op_items(k, p, vt_op_block_count(p, n), rows);
}

vitcl_status vt_op_launch_items(vt_plan *p, vt_step *s, const char *file,
                                const char *name, int n, int rows,
                                const char *format, ...)
{
    vitcl_status st;
    vt_kernel *k;
    va_list args;

    va_start(args, format);
    VT_TRY(vt_op_kernel(&k, p, s, file, name));
    VT_TRY(vt_args_of(p, k, format, args));
    vt_op_items(k, p, n, rows);
done:
    va_end(args);
    return st;
}

void vt_op_groups(vt_kernel *k, const vt_plan *p, int n)
{
    size_t wg = (size_t)group(p);

    vt_kernel_size(k, 1, (size_t[3]){(size_t)n * wg, 1, 1},
                   (size_t[3]){wg, 1, 1});
    vt_kernel_groups(k, VT_GROUPS_WG);
}

/* as in cl/common_work.cl */
enum { WIDE = 8, HIGH = 32 };

bool vt_op_aligned(vt_plan *p, vt_val v)
{
    vt_buf *b;

    return vt_bind(&b, p, v) == VITCL_OK && vt_buf_aligned(b, 16);
}

vitcl_status vt_op_columns(vt_kernel **out, vt_plan *p, vt_step *s,
                           const char *file, const char *name, int columns)
{
    const bool cpu = vt_op_cpu(p);
    size_t each = (size_t)(4 * lanes(p)), n = (size_t)columns;
    char full[48];

    snprintf(full, sizeof full, "%s%s", name, cpu ? "__cols" : "");
    VT_RET(vt_op_kernel(out, p, s, file, full));
    if (cpu) {
        vt_kernel_size(*out, 1, (size_t[3]){(n + each - 1) / each, 1, 1},
                       (size_t[3]){1, 1, 1});
    } else {
        vt_kernel_size(*out, 2, (size_t[3]){ceil_to(n, WIDE), HIGH, 1},
                       (size_t[3]){WIDE, HIGH, 1});
        vt_kernel_groups(*out, VT_GROUPS_COLUMNS);
    }
    return VITCL_OK;
}

/* ---- appending ---- */

vt_val vt_op_append(vt_plan *p, const vt_op *op, int n, const vt_val *in,
                    int ints, const int *i)
{
    vt_step *s = vt_step_new(p, op);

    if (!s)
        return VT_NONE;
    for (int k = 0; k < n; k++)
        s->in[k] = in[k];
    for (int k = 0; k < ints; k++)
        s->i[k] = i[k];
    return vt_step_add(p, s);
}

/* ---- sums and products of two tensors ---- */

vitcl_status vt_op_pair_shape(vt_plan *p, vt_step *s)
{
    const vt_val a = s->in[VT_PAIR_A], b = s->in[VT_PAIR_B];

    VT_RET(vt_op_need(a != VT_NONE && vt_op_count(p, a) == vt_op_count(p, b),
                      "the two tensors differ in size"));
    return vt_op_like(p, s, VT_PAIR_OUT, a);
}

vitcl_status vt_op_pair(vt_plan *p, vt_step *s, const char *file,
                        const char *kernel)
{
    const vt_val a = s->in[VT_PAIR_A];
    const int n = vt_op_count(p, a);
    return vt_op_launch_blocks(p, s, file, kernel, n, 1, "vvvi",
                               s->out[VT_PAIR_OUT], a, s->in[VT_PAIR_B], n);
}

vitcl_status vt_op_rows_pair_shape(vt_plan *p, vt_step *s)
{
    const vt_val a = s->in[VT_PAIR_A], b = s->in[VT_PAIR_B];
    const int x = vt_op_count(p, a), y = vt_op_count(p, b);

    VT_RET(vt_op_need(x > 0 && y > 0 && x % y == 0 &&
                          vt_dim(p, a, -1) == vt_dim(p, b, -1),
                      "the rows do not fit the tensor that they are for"));
    return vt_op_like(p, s, VT_PAIR_OUT, a);
}

vitcl_status vt_op_rows_pair(vt_plan *p, vt_step *s, const char *file,
                             const char *kernel)
{
    const vt_val a = s->in[VT_PAIR_A], b = s->in[VT_PAIR_B];
    const int r = vt_op_count(p, b);
    return vt_op_launch_blocks(p, s, file, kernel, r, vt_op_count(p, a) / r,
                               "vvvi", s->out[VT_PAIR_OUT], a, b, r);
}

vt_val vt_op_append_pair(vt_plan *p, const vt_op *op, vt_val a, vt_val b)
{
    return vt_op_append(p, op, 2, (vt_val[]){[VT_PAIR_A] = a, [VT_PAIR_B] = b},
                        0, NULL);
}
