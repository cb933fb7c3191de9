/*
 * run.c - a product by the form that was chosen: checks, packing, binding,
 * launching.
 */
#include "base/log.h"
#include "base/memory.h"
#include "gemm/form.h"

#include <stdio.h>
#include <string.h>

size_t vt_form_temp_bytes(vt_dev *dev, const vt_form *f, const vt_told *t)
{
    return f->temp_bytes ? f->temp_bytes(dev, t) : 0;
}

/* ---- checks ---- */

vitcl_status vt_gemm_check(const vt_gemm_desc *d)
{
    const bool epilogue = d->bias || d->scale || d->residual || d->act;

    if (d->M < 1 || d->N < 1 || d->K < 1 || d->batch < 1 ||
        d->M > INT32_MAX / d->batch || d->lda < (d->trans_a ? d->M : d->K) ||
        (!d->b_packed && d->ldb < (d->trans_b ? d->N : d->K)) || d->ldc < d->N)
        return vt_fail(
            VITCL_EINVAL,
            "invalid matrix product of %d x %d rows, %d columns and %d "
            "terms with strides %d, %d, %d",
            d->batch, d->M, d->N, d->K, d->lda, d->ldb, d->ldc);
    if ((d->accumulate && epilogue) || (d->trans_a && d->batch > 1))
        return vt_fail(VITCL_EINVAL, "a matrix product cannot both %s",
                       d->accumulate ? "accumulate and have an epilogue"
                                     : "transpose A and have a batch");
    return VITCL_OK;
}

/* The elements from the first to the last of `rows` rows. */
static size_t extent(int rows, int ld, int columns)
{
    return (size_t)(rows - 1) * (size_t)ld + (size_t)columns;
}

static size_t b_extent(const vt_gemm_desc *d)
{
    return d->trans_b ? extent(d->K, d->ldb, d->N) : extent(d->N, d->ldb, d->K);
}

static vitcl_status big_enough(const vt_buf *b, size_t elements, vt_dtype type,
                               const char *name)
{
    if (b && vt_buf_size(b) / vt_dtype_size(type) >= elements)
        return VITCL_OK;
    return vt_fail(VITCL_EINVAL,
                   "matrix %s has %zu bytes, too few for %zu elements", name,
                   b ? vt_buf_size(b) : (size_t)0, elements);
}

static vitcl_status check_buffers(const vt_gemm *g)
{
    const vt_gemm_desc *d = &g->t.d;
    const int rows = d->batch * d->M;
    const size_t temp = vt_form_temp_bytes(g->dev, g->form, &g->t);

    VT_RET(big_enough(g->bufs.c, extent(rows, d->ldc, d->N), d->out, "C"));
    VT_RET(big_enough(g->bufs.a,
                      d->trans_a ? extent(d->K, d->lda, d->M)
                                 : extent(rows, d->lda, d->K),
                      d->a, "A"));
    VT_RET(big_enough(g->bufs.b,
                      d->b_packed ? vt_form_b_bytes(g->dev, g->form, &g->t)
                                  : b_extent(d),
                      d->b_packed ? VT_U8 : d->b, "B"));
    if (d->bias || d->sums)
        VT_RET(big_enough(g->bufs.bias, (size_t)(d->sums ? d->M : d->N), VT_F32,
                          "bias"));
    if (d->scale)
        VT_RET(big_enough(g->bufs.scale, (size_t)d->N, VT_F32, "scale"));
    if (d->residual)
        VT_RET(big_enough(g->bufs.residual, extent(rows, d->ldc, d->N), d->res,
                          "residual"));
    if (temp)
        VT_RET(big_enough(g->bufs.temp, temp, VT_U8, "temp"));
    return VITCL_OK;
}

/* ---- B ---- */

size_t vt_form_b_bytes(vt_dev *dev, const vt_form *f, const vt_told *t)
{
    return f->packed_bytes ? f->packed_bytes(dev, t)
                           : b_extent(&t->d) * sizeof(float);
}

vitcl_status vt_form_pack(vt_queue *q, const vt_form *f, const vt_told *t,
                          vt_buf *packed, vt_buf *b)
{
    VT_RET(vt_gemm_check(&t->d));
    VT_RET(big_enough(b, b_extent(&t->d), VT_F32, "B"));
    VT_RET(big_enough(packed, vt_form_b_bytes(vt_queue_dev(q), f, t), VT_U8,
                      "packed B"));
    if (!f->pack)
        return vt_fail(VITCL_EINVAL, "%s does not pack matrices", f->provider);
    return f->pack(q, t, packed, b);
}

/* ---- one multiplication ---- */

static vitcl_status bind(vt_gemm *g)
{
    VT_RET(g->form->bind(g));
    if (g->t.measured)
        snprintf(g->note + strlen(g->note), sizeof g->note - strlen(g->note),
                 ", measured");
    return VITCL_OK;
}

static void drop_kernels(vt_gemm *g)
{
    if (g->form->free)
        g->form->free(g);
    g->state = NULL;
    for (size_t i = 0; i < VT_COUNT(g->kernel); i++) {
        vt_kernel_free(g->kernel[i]);
        g->kernel[i] = NULL;
    }
}

vitcl_status vt_form_bind(vt_gemm **out, vt_dev *dev, const vt_form *f,
                          const vt_told *t, const vt_gemm_bufs *bufs)
{
    vt_gemm *g = NULL;
    vt_buf **b;
    vitcl_status st;

    VT_TRY(vt_gemm_check(&t->d));
    VT_TRY(VT_NEW(&g, 1));
    g->form = f;
    g->dev = vt_dev_ref(dev);
    g->t = *t;
    g->bufs = *bufs;
    if (t->d.accumulate) /* see vt_gemm_defines() */
        g->bufs.residual = bufs->c;
    b = (vt_buf *[]){g->bufs.c,     g->bufs.a,        g->bufs.b,   g->bufs.bias,
                     g->bufs.scale, g->bufs.residual, g->bufs.temp};
    for (int i = 0; i < 7; i++)
        if (b[i])
            vt_buf_ref(b[i]);
    snprintf(g->note, sizeof g->note, "%s", f->provider);
    VT_TRY(check_buffers(g));
    if (t->d.sums && !(f->sums && f->sums(dev, t)))
        VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                       "%s does not compute sums for this product",
                       f->provider));
    VT_TRY(bind(g));
    *out = g, g = NULL;
done:
    vt_gemm_free(g);
    return st;
}

static vitcl_status make_ready(vt_gemm *g, size_t *local)
{
    vitcl_status st = VITCL_OK;

    *local = 0;
    for (size_t i = 0; !st && i < VT_COUNT(g->kernel) && g->kernel[i]; i++) {
        VT_TRY(vt_kernel_ready(g->kernel[i]));
        *local = VT_MAX(*local, vt_kernel_local_bytes(g->kernel[i]));
    }
done:
    return st;
}

vitcl_status vt_gemm_ready(vt_gemm *g)
{
    const size_t room = (size_t)vt_dev_info(g->dev)->local_bytes;
    size_t local;

    VT_RET(make_ready(g, &local));
    if (local <= room || !g->form->shrinks || g->t.small)
        return VITCL_OK;
    vt_log("%s: it needs %zu bytes of local memory, the device has %zu: "
           "smaller tiles",
           g->note, local, room);
    drop_kernels(g);
    g->t.small = true;
    VT_RET(bind(g));
    return make_ready(g, &local);
}

vitcl_status vt_gemm_launch(vt_queue *q, vt_gemm *g)
{
    vitcl_status st = VITCL_OK;

    if (g->form->launch)
        return g->form->launch(q, g);
    for (size_t i = 0; !st && i < VT_COUNT(g->kernel) && g->kernel[i]; i++)
        st = vt_kernel_launch(q, g->kernel[i]);
    return st;
}

unsigned vt_gemm_launches(const vt_gemm *g)
{
    unsigned n = g->form->launch ? 1 : 0; /* CLBlast's own */

    for (size_t i = 0; i < VT_COUNT(g->kernel); i++)
        n += g->kernel[i] ? vt_kernel_launches(g->kernel[i]) : 0;
    return n;
}

bool vt_gemm_norms(const vt_gemm *g)
{
    return g && g->bufs.norm.buf[0];
}

const char *vt_gemm_name(const vt_gemm *g)
{
    return g->form->provider;
}

const char *vt_gemm_describe(const vt_gemm *g)
{
    return g->note;
}

void vt_gemm_bufs_free(const vt_gemm_bufs *b)
{
    vt_buf_free(b->c);
    vt_buf_free(b->a);
    vt_buf_free(b->b);
    vt_buf_free(b->bias);
    vt_buf_free(b->scale);
    vt_buf_free(b->residual);
    vt_buf_free(b->temp);
}

void vt_gemm_free(vt_gemm *g)
{
    if (!g)
        return;
    drop_kernels(g);
    vt_gemm_bufs_free(&g->bufs);
    vt_dev_free(g->dev);
    free(g);
}
