/*
 * timed.c - time products: one, or several in turns.
 */
#include "product/timed.h"

#include "base/clock.h"
#include "base/half.h"
#include "base/memory.h"

vt_gemm_desc vt_timed_desc(const vt_dev *dev, vt_dtype type, int M, int N,
                           int K)
{
    return (vt_gemm_desc){.batch = 1,
                          .M = M,
                          .N = N,
                          .K = K,
                          .lda = K,
                          .ldb = K,
                          .ldc = N,
                          .type = type,
                          .out = VT_F32,
                          .b_packed = true,
                          .device_class = vt_dev_class(dev)};
}

/* A buffer of n numbers; x NULL: all are the one with these bits. */
static vitcl_status numbers(vt_buf **out, vt_queue *q, int rows, int columns,
                            const float *x, uint32_t bits)
{
    const size_t bytes = (size_t)rows * (size_t)columns * sizeof *x;

    VT_RET(vt_buf_new(out, vt_queue_dev(q), bytes));
    return x ? vt_buf_write(q, *out, 0, x, bytes) : vt_buf_fill(q, *out, bits);
}

/* A as the product reads it, into the buffer that has room for floats. */
static vitcl_status store(const vt_timed *t, const float *a)
{
    const vt_gemm_desc *d = &t->told.d;
    const size_t n = (size_t)d->M * (size_t)d->K;
    uint16_t *halves = NULL;
    vitcl_status st;

    VT_TRY(VT_NEW(&halves, n));
    for (size_t i = 0; i < n; i++)
        halves[i] =
            d->a == VT_BF16 ? vt_f32_to_bf16(a[i]) : vt_f32_to_f16(a[i]);
    st = vt_buf_write(t->q, t->bufs.a, 0, halves, n * sizeof *halves);
done:
    free(halves);
    return st;
}

vitcl_status vt_timed_pack(vt_timed *t)
{
    return t->bufs.b == t->rows
               ? VITCL_OK
               : vt_form_pack(t->q, t->form, &t->told, t->bufs.b, t->rows);
}

vitcl_status vt_timed_new(vt_timed *t, vt_dev *dev, const vt_form *form,
                          const vt_told *told, const float *a, const float *b)
{
    const vt_gemm_desc *d = &told->d;
    const size_t temp = vt_form_temp_bytes(dev, form, told);

    *t = (vt_timed){.form = form, .told = *told, .best = 1e30, .second = 1e30};
    VT_RET(vt_queue_new(&t->q, dev, VT_TIMES_NONE));
    VT_RET(numbers(&t->bufs.a, t->q, d->M, d->K, a, 0x3f800000u /* 1 */));
    if (a && (d->a == VT_F16 || d->a == VT_BF16))
        VT_RET(store(t, a));
    VT_RET(numbers(&t->rows, t->q, d->N, d->K, b, 0x3f000000u /* 0.5 */));
    VT_RET(numbers(&t->bufs.c, t->q, d->M, d->N, NULL,
                   d->accumulate ? 0 : 0x7fc00000u /* NaN */));
    if (temp)
        VT_RET(vt_buf_new(&t->bufs.temp, dev, temp));
    if (d->bias)
        VT_RET(numbers(&t->bufs.bias, t->q, 1, d->N, NULL, 0x3f000000u));
    if (d->scale)
        VT_RET(numbers(&t->bufs.scale, t->q, 1, d->N, NULL, 0x3f000000u));
    if (d->residual)
        VT_RET(numbers(&t->bufs.residual, t->q, d->M, d->N, NULL, 0x3f000000u));
    if (d->b_packed && form->layout)
        VT_RET(vt_buf_new(&t->bufs.b, dev, vt_form_b_bytes(dev, form, told)));
    else
        t->bufs.b = vt_buf_ref(t->rows);
    VT_RET(vt_timed_pack(t));
    VT_RET(vt_form_bind(&t->g, dev, form, told, &t->bufs));
    return vt_gemm_ready(t->g);
}

vitcl_status vt_timed_run(vt_timed *t)
{
    const double from = vt_now_ms();
    double ms;

    VT_RET(vt_gemm_launch(t->q, t->g));
    VT_RET(vt_queue_finish(t->q));
    ms = vt_now_ms() - from;
    t->second = VT_MIN(t->second, VT_MAX(ms, t->best));
    t->best = VT_MIN(t->best, ms);
    return VITCL_OK;
}

vitcl_status vt_timed_read(float *c, vt_timed *t)
{
    const vt_gemm_desc *d = &t->told.d;
    const size_t n = (size_t)d->M * (size_t)d->N;
    uint16_t *halves = NULL;
    vitcl_status st;

    if (d->out == VT_F32)
        return vt_buf_read(t->q, t->bufs.c, 0, c, n * sizeof *c);
    VT_TRY(VT_NEW(&halves, n));
    VT_TRY(vt_buf_read(t->q, t->bufs.c, 0, halves, n * sizeof *halves));
    for (size_t i = 0; i < n; i++)
        c[i] = d->out == VT_BF16 ? vt_bf16_to_f32(halves[i])
                                 : vt_f16_to_f32(halves[i]);
done:
    free(halves);
    return st;
}

void vt_timed_free(vt_timed *t)
{
    vt_gemm_free(t->g);
    vt_gemm_bufs_free(&t->bufs);
    vt_buf_free(t->rows);
    vt_queue_free(t->q);
    *t = (vt_timed){.q = NULL};
}

static bool repeated(vt_timed *const *t, int n, double almost)
{
    for (int i = 0; i < n; i++)
        if (!(t[i]->second < t[i]->best * almost))
            return false;
    return true;
}

vitcl_status vt_measure(vt_timed *const *t, int n, const vt_rounds *r)
{
    const double end = vt_now_ms() + r->ms;

    for (int i = 0; i < n; i++)
        t[i]->best = t[i]->second = 1e30;
    for (int round = 0;
         round < r->least ||
         (round < r->most && vt_now_ms() < end && !repeated(t, n, r->almost));
         round++)
        for (int i = 0; i < n; i++)
            VT_RET(vt_timed_run(t[i]));
    return VITCL_OK;
}
