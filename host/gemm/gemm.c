/*
 * gemm.c - the providers of matrix multiplication, and the choice of one.
 *
 * A provider is requested by name or is the device's default. A multiplication
 * that it does not support goes to the next provider in the device's order that
 * does (plain supports all but int8). vt_gemm_describe() names the result.
 */
#include "gemm/provider.h"

#include "base/memory.h"
#include "gemm/device.h"
#include "gemm/rows.h"

#include <stdio.h>
#include <string.h>

static const vt_provider *const providers[] = {
    &vt_gemm_native, &vt_gemm_clblast, &vt_gemm_plain};

/* Best first. */
static const char *const orders[][VT_PROVIDERS] = {
    [VT_CLASS_CPU] = {"native", "clblast", "plain"},
    [VT_CLASS_GPU] = {"clblast", "native", "plain"},
};

static const struct {
    const char *name;
} acts[] = {
    [VT_ACT_NONE] = {"none"},          [VT_ACT_GELU] = {"gelu"},
    [VT_ACT_GELU_TANH] = {"gelutanh"}, [VT_ACT_GELU_QUICK] = {"quickgelu"},
    [VT_ACT_TANH] = {"tanh"},          [VT_ACT_RELU] = {"relu"},
    [VT_ACT_SILU] = {"silu"},
};

const char *vt_act_name(vt_act a)
{
    return acts[a].name;
}

static const vt_provider *by_name(const char *name)
{
    for (size_t i = 0; name && i < VT_COUNT(providers); i++)
        if (strcmp(providers[i]->name, name) == 0)
            return providers[i];
    return NULL;
}

const char *vt_gemm_usual(vt_class class)
{
    for (int i = 0; i < VT_PROVIDERS && orders[class][i]; i++)
        if (by_name(orders[class][i]))
            return orders[class][i];
    return vt_gemm_plain.name;
}

/* Checked once per device and cached, because it may build programs. */
static bool usable(vt_dev *dev, const vt_provider *p)
{
    vt_gemm_device *g = vt_gemm_device_of(dev);
    size_t i = 0;
    bool yes;

    if (!p->usable)
        return true;
    while (providers[i] != p) /* NOLINT: it is one of them */
        i++;
    pthread_mutex_lock(&g->lock);
    if (!g->usable[i])
        g->usable[i] = p->usable(dev) ? 1 : -1;
    yes = g->usable[i] > 0;
    pthread_mutex_unlock(&g->lock);
    return yes;
}

vitcl_status vt_gemm_provider(const char **out, vt_dev *dev, const char *wanted)
{
    const char *const *order = orders[vt_dev_class(dev)];
    const vt_provider *p = by_name(wanted);
    char names[64] = "";

    if (p && usable(dev, p)) {
        *out = p->name;
        return VITCL_OK;
    }
    for (int i = 0; i < VT_PROVIDERS && order[i]; i++)
        if ((p = by_name(order[i])) && usable(dev, p)) {
            if (!wanted) {
                *out = p->name;
                return VITCL_OK;
            }
            snprintf(names + strlen(names), sizeof names - strlen(names),
                     "%s%s", *names ? ", " : "", p->name);
        }
    return vt_fail(VITCL_EINVAL,
                   "no matrix multiplication \"%.40s\" on %.60s; available: %s",
                   wanted ? wanted : "", vt_dev_info(dev)->name, names);
}

/* ---- descriptions ---- */

/* Fills in the defaults of a description. */
static vt_gemm_desc filled(const vt_dev *dev, const vt_gemm_desc *d)
{
    vt_gemm_desc f = *d;

    if (f.batch == 0)
        f.batch = 1;
    if (f.lda == 0)
        f.lda = f.trans_a ? f.M : f.K;
    if (f.ldb == 0)
        f.ldb = f.trans_b ? f.N : f.K;
    if (f.ldc == 0)
        f.ldc = f.N;
    if (f.device_class == VT_CLASS_AUTO)
        f.device_class = vt_dev_class(dev);
    return f;
}

static vitcl_status check(const vt_gemm_desc *d)
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
    const vt_gemm_desc *d = &g->d;
    const int rows = d->batch * d->M;
    vitcl_status st;

    VT_TRY(big_enough(g->bufs.c, extent(rows, d->ldc, d->N), d->out, "C"));
    VT_TRY(big_enough(g->bufs.a,
                      d->trans_a ? extent(d->K, d->lda, d->M)
                                 : extent(rows, d->lda, d->K),
                      d->a, "A"));
    VT_TRY(big_enough(g->bufs.b,
                      d->b_packed
                          ? vt_gemm_packed_bytes(g->dev, g->provider->name, d)
                      : d->trans_b ? extent(d->K, d->ldb, d->N)
                                   : extent(d->N, d->ldb, d->K),
                      d->b_packed ? VT_U8 : VT_F32, "B"));
    if (d->bias || d->sums)
        VT_TRY(big_enough(g->bufs.bias, (size_t)(d->sums ? d->M : d->N), VT_F32,
                          "bias"));
    if (d->scale)
        VT_TRY(big_enough(g->bufs.scale, (size_t)d->N, VT_F32, "scale"));
    if (d->residual)
        VT_TRY(big_enough(g->bufs.residual, extent(rows, d->ldc, d->N), VT_F32,
                          "residual"));
    if (g->provider->temp_bytes && g->provider->temp_bytes(g->dev, d))
        VT_TRY(big_enough(g->bufs.temp, g->provider->temp_bytes(g->dev, d),
                          VT_U8, "temp"));
done:
    return st;
}

/* The provider of this multiplication: `name` if it can. d is filled in. */
static vitcl_status pick(const vt_provider **out, vt_dev *dev, const char *name,
                         const vt_gemm_desc *d)
{
    const char *const *order = orders[vt_dev_class(dev)];
    const vt_provider *p = by_name(name);

    for (int i = -1; i < VT_PROVIDERS && (i < 0 || order[i]); i++) {
        if (i >= 0)
            p = by_name(order[i]);
        if (p && usable(dev, p) && (!p->takes || p->takes(dev, d))) {
            *out = p;
            return VITCL_OK;
        }
    }
    return vt_fail(VITCL_EUNSUPPORTED, "%.60s cannot multiply matrices in %s",
                   vt_dev_info(dev)->name, vt_dtype_name(d->type));
}

bool vt_gemm_multiplies(const char **instead, vt_dev *dev, const char *provider,
                        vt_dtype type, vt_class class)
{
    const vt_gemm_desc d = {.M = 16,
                            .N = 16,
                            .K = 16,
                            .type = type,
                            .b_packed = true,
                            .device_class = class};
    const vt_gemm_desc f = filled(dev, &d);
    const vt_provider *p;

    *instead = "no provider";
    if (pick(&p, dev, provider, &f) == VITCL_OK)
        *instead = p->name;
    return strcmp(*instead, provider) == 0;
}

const char *vt_gemm_layout(vt_dev *dev, const char *provider,
                           const vt_gemm_desc *d)
{
    const vt_gemm_desc f = filled(dev, d);
    const vt_provider *p;

    if (pick(&p, dev, provider, &f) != VITCL_OK || !p->layout)
        return "";
    return p->layout(dev, &f);
}

size_t vt_gemm_packed_bytes(vt_dev *dev, const char *provider,
                            const vt_gemm_desc *d)
{
    const vt_gemm_desc f = filled(dev, d);
    const vt_provider *p;

    if (pick(&p, dev, provider, &f) != VITCL_OK)
        return 0;
    if (!p->packed_bytes)
        return (f.trans_b ? extent(f.K, f.ldb, f.N) : extent(f.N, f.ldb, f.K)) *
               sizeof(float);
    return p->packed_bytes(dev, &f);
}

vitcl_status vt_gemm_pack(vt_queue *q, const char *provider,
                          const vt_gemm_desc *d, vt_buf *packed, vt_buf *b)
{
    const vt_gemm_desc f = filled(vt_queue_dev(q), d);
    const vt_provider *p;
    vitcl_status st;

    VT_TRY(check(&f));
    VT_TRY(pick(&p, vt_queue_dev(q), provider, &f));
    VT_TRY(big_enough(
        b, f.trans_b ? extent(f.K, f.ldb, f.N) : extent(f.N, f.ldb, f.K),
        VT_F32, "B"));
    VT_TRY(big_enough(packed,
                      vt_gemm_packed_bytes(vt_queue_dev(q), provider, &f),
                      VT_U8, "packed B"));
    if (!p->pack)
        return vt_fail(VITCL_EINVAL, "%s does not pack matrices", p->name);
    VT_TRY(p->pack(q, &f, packed, b));
done:
    return st;
}

static bool sums(const vt_provider *p, vt_dev *dev, const vt_gemm_desc *d)
{
    return p->sums && p->sums(dev, d);
}

bool vt_gemm_sums(vt_dev *dev, const char *provider, const vt_gemm_desc *d)
{
    const vt_gemm_desc f = filled(dev, d);
    const vt_provider *p;

    return pick(&p, dev, provider, &f) == VITCL_OK && sums(p, dev, &f);
}

size_t vt_gemm_temp_bytes(vt_dev *dev, const char *provider,
                          const vt_gemm_desc *d)
{
    const vt_gemm_desc f = filled(dev, d);
    const vt_provider *p;

    if (pick(&p, dev, provider, &f) != VITCL_OK || !p->temp_bytes)
        return 0;
    return p->temp_bytes(dev, &f);
}

/* ---- one multiplication ---- */

vitcl_status vt_gemm_new(vt_gemm **out, vt_dev *dev, const char *provider,
                         const vt_gemm_desc *d, const vt_gemm_bufs *bufs)
{
    vt_gemm *g = NULL;
    vt_buf **b;
    vitcl_status st;

    VT_TRY(VT_NEW(&g, 1));
    g->dev = vt_dev_ref(dev);
    g->d = filled(dev, d);
    g->bufs = *bufs;
    b = (vt_buf *[]){bufs->c,     bufs->a,        bufs->b,   bufs->bias,
                     bufs->scale, bufs->residual, bufs->temp};
    for (int i = 0; i < 7; i++)
        if (b[i])
            vt_buf_ref(b[i]);
    VT_TRY(check(&g->d));
    VT_TRY(pick(&g->provider, dev, provider, &g->d));
    snprintf(g->note, sizeof g->note, "%s", g->provider->name);
    VT_TRY(check_buffers(g));
    if (g->d.sums && !sums(g->provider, dev, &g->d)) {
        st = vt_fail(VITCL_EUNSUPPORTED,
                     "%s does not compute sums for this product",
                     g->provider->name);
        goto done;
    }
    VT_TRY(g->provider->bind(g));
    *out = g, g = NULL;
done:
    vt_gemm_free(g);
    return st;
}

vitcl_status vt_gemm_ready(vt_gemm *g)
{
    vitcl_status st = VITCL_OK;

    for (size_t i = 0; i < VT_COUNT(g->kernel) && g->kernel[i]; i++)
        VT_TRY(vt_kernel_ready(g->kernel[i]));
done:
    return st;
}

vitcl_status vt_gemm_launch(vt_queue *q, vt_gemm *g)
{
    vitcl_status st = VITCL_OK;

    if (g->provider->launch)
        return g->provider->launch(q, g);
    for (size_t i = 0; i < VT_COUNT(g->kernel) && g->kernel[i]; i++)
        VT_TRY(vt_kernel_launch(q, g->kernel[i]));
done:
    return st;
}

bool vt_gemm_untried(vt_dev *dev, vt_dtype type)
{
    return vt_dot_untried(dev, type);
}

void vt_gemm_form(char *out, size_t size, vt_dev *dev, vt_dtype type)
{
    vt_dot_form(out, size, dev, type);
}

vitcl_status vt_gemm_try_form(const char **verdict, vt_dev *dev,
                              const char *instruction)
{
    return vt_dot_try_named(verdict, dev, instruction);
}

vitcl_status vt_gemm_peak(vt_kernel **out, double *flops, vt_dev *dev,
                          vt_dtype type)
{
    return vt_dot_peak(out, flops, dev, type);
}

const char *vt_gemm_name(const vt_gemm *g)
{
    return g->provider->name;
}

const char *vt_gemm_describe(const vt_gemm *g)
{
    return g->note;
}

void vt_gemm_free(vt_gemm *g)
{
    if (!g)
        return;
    if (g->provider && g->provider->free)
        g->provider->free(g);
    for (size_t i = 0; i < VT_COUNT(g->kernel); i++)
        vt_kernel_free(g->kernel[i]);
    vt_buf_free(g->bufs.c);
    vt_buf_free(g->bufs.a);
    vt_buf_free(g->bufs.b);
    vt_buf_free(g->bufs.bias);
    vt_buf_free(g->bufs.scale);
    vt_buf_free(g->bufs.residual);
    vt_buf_free(g->bufs.temp);
    vt_dev_free(g->dev);
    free(g);
}

const char *vt_gemm_defines(char out[96], const vt_gemm_desc *d)
{
    if (d->accumulate)
        snprintf(out, 96, "-DACCUMULATE");
    else
        snprintf(out, 96, "-DACT=%d%s%s%s", (int)d->act,
                 d->bias ? " -DBIAS" : "", d->scale ? " -DSCALE" : "",
                 !d->residual ? ""
                 : d->times   ? " -DTIMES"
                              : " -DRESIDUAL");
    return out;
}
