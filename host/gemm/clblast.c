/*
 * clblast.c - multiplication by CLBlast, then one kernel for the epilogue.
 *
 * Called as column-major with exchanged operands, C^T = B A^T, so that C is
 * written and a packed B ("kn") is read without a copy; CLBlast only copies A,
 * transposed and padded, into the temporary memory that we pass.
 *
 * Surprising:
 * - Calls are serialised by one lock: up to 1.6.0 its cache is not thread-safe.
 * - Parameters are ours, not its database's, which has nothing for PoCL (3 to
 *   5 % of the peak) and may choose GEMMK=1, wrong up to 1.6.2.
 * - The choice of its "direct" kernel by M * N * K would make a picture's bits
 *   depend on the batch: the indirect one is forced.
 * - It offers no way to keep programs on disk; drivers that do not cache build
 *   them again in every process.
 */
#include "gemm/common.h"
#include "ocl/objects.h"

#include "base/clock.h"
#include "base/memory.h"

#include <clblast_c.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { GROUP = 64 }; /* of the epilogue */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* OpenCL's codes pass through; CLBlast's own are below -1000. q may be NULL. */
static vitcl_status fail(vt_dev *dev, vt_queue *q, CLBlastStatusCode code,
                         const char *what)
{
    if (code > -1000)
        return q ? vt_queue_fail(q, code, "CLBlast %s", what)
                 : vt_cl_fail(dev, code, "CLBlast %s", what);
    return vt_fail(VITCL_EDEVICE, "CLBlast %s: CLBlast error %d (%.60s)", what,
                   (int)code, dev->info.name);
}

static vitcl_status override(vt_dev *dev, const vt_number *numbers)
{
    const char *name[VT_NUMBERS];
    size_t value[VT_NUMBERS], n = 0, always = 0;
    CLBlastStatusCode e;

    for (; n < VT_NUMBERS && numbers[n].name; n++) {
        name[n] = numbers[n].name;
        value[n] = (size_t)numbers[n].value;
    }
    e = CLBlastOverrideParameters(dev->id, "Xgemm", CLBlastPrecisionSingle, n,
                                  name, value);
    if (e == CLBlastSuccess)
        e = CLBlastOverrideParameters(
            dev->id, "GemmRoutine", CLBlastPrecisionSingle, 1,
            (const char *[]){"XGEMM_MIN_INDIRECT_SIZE"}, &always);
    return e == CLBlastSuccess ? VITCL_OK : fail(dev, NULL, e, "parameters");
}

static bool could(vt_dev *dev, const vt_gemm_desc *d)
{
    (void)dev;
    return d->type == VT_F32 && d->a == VT_F32 && d->out == VT_F32 &&
           d->res == VT_F32;
}

static const char *layout(vt_dev *dev, const vt_told *t)
{
    (void)dev, (void)t;
    return "kn.f32";
}

static size_t packed_bytes(vt_dev *dev, const vt_told *t)
{
    (void)dev;
    return (size_t)t->d.K * (size_t)t->d.N * sizeof(float);
}

static vitcl_status pack(vt_queue *q, const vt_told *t, vt_buf *packed,
                         vt_buf *b)
{
    return vt_gemm_reorder(q, &t->d, packed, b, true);
}

/* The exchanged operands in CLBlast's order. */
typedef struct call {
    CLBlastTranspose ta, tb;
    size_t m, n, k, lda, ldb, ldc;
} call;

static call exchanged(const vt_gemm_desc *d)
{
    const bool kn = d->trans_b || d->b_packed;

    return (call){.ta = kn ? CLBlastTransposeNo : CLBlastTransposeYes,
                  .tb = d->trans_a ? CLBlastTransposeYes : CLBlastTransposeNo,
                  .m = (size_t)d->N,
                  .n = (size_t)d->batch * (size_t)d->M,
                  .k = (size_t)d->K,
                  .lda = (size_t)(d->b_packed ? d->N : d->ldb),
                  .ldb = (size_t)d->lda,
                  .ldc = (size_t)d->ldc};
}

/* Where this row of A begins. */
static size_t first_of_a(const vt_gemm_desc *d, size_t row)
{
    return row * (d->trans_a ? 1 : (size_t)d->lda);
}

/* The launches of a product, each of some rows. */
static size_t launches(const vt_dev *dev, const vt_gemm_desc *d)
{
    const size_t rows = exchanged(d).n;

    return vt_launch_parts(dev, (double)rows * d->N * d->K, rows);
}

/* CLBlast copies matrices that do not begin where their buffer does, so the
 * launch of later rows needs more. */
static size_t call_bytes(vt_dev *dev, const vt_gemm_desc *d)
{
    const call x = exchanged(d);
    const size_t n = launches(dev, d);
    vt_queue *q = NULL;
    size_t most = 0;

    if (vt_queue_new(&q, dev, VT_TIMES_NONE) != VITCL_OK)
        return 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n; i++) {
        const size_t first = x.n * i / n, end = x.n * (i + 1) / n;
        size_t bytes = 0;

        if (CLBlastSGemmTempBufferSize(
                CLBlastLayoutColMajor, x.ta, x.tb, x.m, end - first, x.k, 0,
                x.lda, first_of_a(d, first), x.ldb, first * x.ldc, x.ldc,
                &q->queue, &bytes) == CLBlastSuccess)
            most = VT_MAX(most, bytes);
    }
    pthread_mutex_unlock(&lock);
    vt_queue_free(q);
    return most;
}

static size_t temp_bytes(vt_dev *dev, const vt_told *t)
{
    return call_bytes(dev, &t->d);
}

static CLBlastStatusCode multiply_rows(vt_queue *q, const vt_gemm_desc *d,
                                       cl_mem c, cl_mem a, cl_mem b,
                                       cl_mem temp, size_t first, size_t end)
{
    const call x = exchanged(d);

    return CLBlastSgemmWithTempBuffer(
        CLBlastLayoutColMajor, x.ta, x.tb, x.m, end - first, x.k, 1.0f, b, 0,
        x.lda, a, first_of_a(d, first), x.ldb, d->accumulate ? 1.0f : 0.0f, c,
        first * x.ldc, x.ldc, &q->queue, NULL, temp);
}

static vitcl_status multiply(vt_queue *q, const vt_gemm_desc *d, cl_mem c,
                             cl_mem a, cl_mem b, cl_mem temp)
{
    const size_t rows = exchanged(d).n;
    const size_t n = launches(q->dev, d);
    CLBlastStatusCode e = CLBlastSuccess;
    double from = 0;
    bool alone;

    VT_RET(vt_dev_alive(q->dev));
    if (q->times == VT_TIMES_STEPS) {
        VT_RET(vt_queue_finish(q));
        from = vt_now_ms();
    }
    pthread_mutex_lock(&lock);
    alone = vt_alone_begin(q, true); /* its kernels are not known */
    for (size_t i = 0; i < n && e == CLBlastSuccess; i++)
        e = multiply_rows(q, d, c, a, b, temp, rows * i / n,
                          rows * (i + 1) / n);
    vt_alone_end(q, alone);
    pthread_mutex_unlock(&lock);
    if (e != CLBlastSuccess)
        return fail(q->dev, q, e, "Sgemm");
    if (q->times ==
        VT_TIMES_STEPS) { /* its event covers only its last kernel */
        VT_RET(vt_queue_finish(q));
        q->host_ms += vt_now_ms() - from;
    }
    return VITCL_OK;
}

static vitcl_status bind(vt_gemm *g)
{
    const vt_gemm_desc *d = &g->t.d;
    const int v = vt_dev_vector(g->dev);
    const size_t items =
        (size_t)d->batch * (size_t)d->M * (size_t)vt_divide_up(d->N, v);
    vt_buf *const bufs[] = {g->bufs.c, g->bufs.bias, g->bufs.scale,
                            g->bufs.residual};
    const char *tuned = g->t.tuned ? ", tuned" : "";
    char defines[128], epilogue[96];
    vt_kernel *k;

    snprintf(g->note, sizeof g->note, "clblast Xgemm%s", tuned);
    if (!d->bias && !d->scale && !d->residual && d->act == VT_ACT_NONE)
        return VITCL_OK;
    snprintf(defines, sizeof defines, "-DV=%d %s", v,
             vt_gemm_defines(epilogue, d));
    VT_RET(
        vt_kernel_new(&g->kernel[0], g->dev, "epilogue", "epilogue", defines));
    k = g->kernel[0];
    VT_RET(vt_gemm_arguments(k, bufs, VT_COUNT(bufs),
                             (int[]){d->batch * d->M, d->N, d->ldc}, 3));
    vt_kernel_size(k, 1, (size_t[3]){(items + GROUP - 1) / GROUP * GROUP},
                   (size_t[3]){GROUP});
    snprintf(g->note, sizeof g->note, "clblast Xgemm, epilogue%s", tuned);
    return VITCL_OK;
}

static vitcl_status launch(vt_queue *q, vt_gemm *g)
{
    VT_RET(multiply(q, &g->t.d, g->bufs.c->mem, g->bufs.a->mem, g->bufs.b->mem,
                    g->bufs.temp ? g->bufs.temp->mem : NULL));
    if (g->kernel[0])
        VT_RET(vt_kernel_launch(q, g->kernel[0]));
    return VITCL_OK;
}

/* ---- self test ---- */

enum { TM = 37, TN = 65, TK = 70 };

static float sample(int i)
{
    return (float)((i * 37 + 11) % 64 - 32) / 32.0f;
}

static bool right(const float *c)
{
    for (int m = 0; m < TM; m++)
        for (int n = 0; n < TN; n++) {
            double sum = 0;
            for (int k = 0; k < TK; k++)
                sum += (double)sample(m * TK + k) * (double)sample(n * TK + k);
            if (!(fabs(sum - (double)c[m * TN + n]) <= 1e-4))
                return false;
        }
    return true;
}

/* Some drivers and old versions compute wrong products: check one. */
static vitcl_status probe(bool *ok, vt_dev *dev, const vt_number *numbers)
{
    const vt_gemm_desc d = {
        .batch = 1, .M = TM, .N = TN, .K = TK, .lda = TK, .ldb = TK, .ldc = TN};
    vt_buf *a = NULL, *b = NULL, *c = NULL, *temp = NULL;
    vt_queue *q = NULL;
    float *host = NULL;
    size_t bytes;
    vitcl_status st;

    pthread_mutex_lock(&lock);
    st = override(dev, numbers);
    pthread_mutex_unlock(&lock);
    VT_TRY(st);
    VT_TRY(VT_NEW(&host, TN * TK));
    for (int i = 0; i < TN * TK; i++)
        host[i] = sample(i);
    VT_TRY(vt_queue_new(&q, dev, VT_TIMES_NONE));
    VT_TRY(vt_buf_new(&a, dev, TM * TK * sizeof(float)));
    VT_TRY(vt_buf_new(&b, dev, TN * TK * sizeof(float)));
    VT_TRY(vt_buf_new(&c, dev, TM * TN * sizeof(float)));
    bytes = call_bytes(dev, &d);
    if (bytes)
        VT_TRY(vt_buf_new(&temp, dev, bytes));
    VT_TRY(vt_buf_write(q, a, 0, host, TM * TK * sizeof(float)));
    VT_TRY(vt_buf_write(q, b, 0, host, TN * TK * sizeof(float)));
    VT_TRY(multiply(q, &d, c->mem, a->mem, b->mem, temp ? temp->mem : NULL));
    VT_TRY(vt_buf_read(q, c, 0, host, TM * TN * sizeof(float)));
    *ok = right(host);
done:
    vt_queue_free(q);
    vt_buf_free(a);
    vt_buf_free(b);
    vt_buf_free(c);
    vt_buf_free(temp);
    free(host);
    return st;
}

static bool usable(vt_dev *dev, const vt_number *numbers)
{
    bool ok = false;

    return probe(&ok, dev, numbers) == VITCL_OK && ok;
}

/* ---- a time ---- */

/* Operands that Xgemm takes as they are. */
static vitcl_status square(vt_queue *q, cl_mem c, cl_mem a, cl_mem b)
{
    enum { S = VT_CLBLAST_SIDE };
    CLBlastStatusCode e;
    bool alone;

    pthread_mutex_lock(&lock);
    alone = vt_alone_begin(q, true); /* its kernel is not known */
    e = CLBlastSgemm(CLBlastLayoutColMajor, CLBlastTransposeNo,
                     CLBlastTransposeYes, S, S, S, 2.0f, a, 0, S, b, 0, S, 2.0f,
                     c, 0, S, &q->queue, NULL);
    vt_alone_end(q, alone);
    pthread_mutex_unlock(&lock);
    return e == CLBlastSuccess ? vt_queue_finish(q)
                               : fail(q->dev, q, e, "Sgemm");
}

vitcl_status vt_clblast_time(double *ms, vt_dev *dev, const vt_number *numbers)
{
    enum { S = VT_CLBLAST_SIDE, RUNS = 10 };
    const size_t bytes = (size_t)S * S * sizeof(float);
    vt_buf *a = NULL, *b = NULL, *c = NULL;
    vt_queue *q = NULL;
    float *host = NULL;
    double best = INFINITY;
    vitcl_status st;

    if (!usable(dev, numbers))
        return vt_fail(VITCL_EDEVICE,
                       "CLBlast multiplies wrongly with these parameters");
    VT_TRY(VT_NEW(&host, (size_t)S * S));
    VT_TRY(vt_queue_new(&q, dev, VT_TIMES_NONE));
    VT_TRY(vt_buf_new(&a, dev, bytes));
    VT_TRY(vt_buf_new(&b, dev, bytes));
    VT_TRY(vt_buf_new(&c, dev, bytes));
    VT_TRY(vt_buf_fill(q, a, 0x3f800000u /* 1 */));
    VT_TRY(vt_buf_fill(q, b, 0x3f000000u /* 0.5 */));
    VT_TRY(vt_buf_fill(q, c, 0));
    VT_TRY(square(q, c->mem, a->mem, b->mem)); /* also builds */
    VT_TRY(vt_buf_read(q, c, 0, host, bytes));
    for (size_t i = 0; i < (size_t)S * S; i++)
        if (host[i] != (float)S)
            VT_TRY(vt_fail(VITCL_EDEVICE, "CLBlast's product is wrong"));
    VT_TRY(vt_buf_fill(q, c, 0xc4800000u /* -S, which stays as it is */));
    VT_TRY(vt_queue_finish(q));
    for (int i = 0; i < RUNS; i++) {
        const double from = vt_now_ms();

        VT_TRY(square(q, c->mem, a->mem, b->mem));
        best = VT_MIN(best, vt_now_ms() - from);
    }
    *ms = best;
done:
    vt_queue_free(q);
    vt_buf_free(a);
    vt_buf_free(b);
    vt_buf_free(c);
    free(host);
    return st;
}

const vt_form vt_form_clblast = {.provider = "clblast",
                                 .name = "clblast",
                                 .usable = usable,
                                 .could = could,
                                 .layout = layout,
                                 .packed_bytes = packed_bytes,
                                 .pack = pack,
                                 .temp_bytes = temp_bytes,
                                 .bind = bind,
                                 .launch = launch};
