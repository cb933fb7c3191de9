/*
 * gemm.c - the providers of matrix multiplication, and the choice of one.
 *
 * A provider is requested by name or is the device's default. A multiplication
 * that it does not support goes to the next provider in the device's order that
 * does (plain supports all but int8). Of a provider's forms, the first one in
 * providers[] that supports it is used. vt_gemm_describe() names the result.
 *
 * The default of a GPU is the fastest (fastest.c), where that can be kept.
 */
#include "gemm/provider.h"

#include "base/memory.h"
#include "gemm/device.h"
#include "gemm/fastest.h"

#include <stdio.h>
#include <string.h>

static const vt_provider *const providers[] = {
    &vt_gemm_dot,  &vt_gemm_outer,   &vt_gemm_rows, &vt_gemm_mma,
    &vt_gemm_tile, &vt_gemm_clblast, &vt_gemm_plain};
_Static_assert(VT_COUNT(providers) <= VT_PROVIDERS, "room in vt_gemm_device");

/* The names, best first. */
static const char *const orders[][4] = {
    [VT_CLASS_CPU] = {"native", "clblast", "plain"},
#ifdef VT_WITH_CLBLAST
    [VT_CLASS_GPU] = {"clblast", "native", "plain"},
#else
    [VT_CLASS_GPU] = {"native", "plain"},
#endif
};

const char *vt_gemm_first(vt_class class)
{
    return orders[class][0];
}

/* Checked once per device and cached, because it may build programs. */
static bool usable(vt_dev *dev, size_t row)
{
    vt_gemm_device *g = vt_gemm_device_of(dev);
    bool yes;

    if (!providers[row]->usable)
        return true;
    pthread_mutex_lock(&g->lock);
    if (!g->usable[row])
        g->usable[row] = providers[row]->usable(dev) ? 1 : -1;
    yes = g->usable[row] > 0;
    pthread_mutex_unlock(&g->lock);
    return yes;
}

static bool takes(vt_dev *dev, const vt_provider *p, const vt_gemm_desc *d)
{
    return (p->class == VT_CLASS_AUTO || p->class == d->device_class) &&
           (!p->takes || p->takes(dev, d));
}

/* The first usable row with this name that takes d; NULL: any d. With d, it may
 * also be a form's name. NULL: none. */
static const vt_provider *find(vt_dev *dev, const char *name,
                               const vt_gemm_desc *d)
{
    for (size_t i = 0; name && i < VT_COUNT(providers); i++)
        if ((strcmp(providers[i]->name, name) == 0 ||
             (d && strcmp(providers[i]->form, name) == 0)) &&
            (!d || takes(dev, providers[i], d)) && usable(dev, i))
            return providers[i];
    return NULL;
}

vitcl_status vt_gemm_provider(const char **out, vt_dev *dev, const char *wanted)
{
    const char *const *order = orders[vt_dev_class(dev)];
    const vt_provider *p = find(dev, wanted, NULL);
    char names[64] = "";

    if (p)
        return *out = p->name, VITCL_OK;
    if (!wanted && vt_fastest_possible(vt_dev_class(dev))) {
        *out = VT_GEMM_MEASURED;
        return VITCL_OK;
    }
    for (; *order; order++)
        if ((p = find(dev, *order, NULL))) {
            if (!wanted)
                return *out = p->name, VITCL_OK;
            snprintf(names + strlen(names), sizeof names - strlen(names),
                     "%s%s", *names ? ", " : "", p->name);
        }
    return vt_fail(VITCL_EINVAL,
                   "no matrix multiplication \"%.40s\" on %.60s; available: %s",
                   wanted ? wanted : "", vt_dev_info(dev)->name, names);
}

/* ---- the fastest ---- */

static bool measured(const char *name)
{
    return name && strcmp(name, VT_GEMM_MEASURED) == 0;
}

/* The rows to choose from: plain only in 16 bits, where no other may be. */
static int rivals(const vt_provider *rows[VT_RIVALS], vt_dev *dev,
                  const vt_gemm_desc *d)
{
    const bool half = d->type == VT_F16 || d->type == VT_BF16;
    int n = 0;

    for (size_t i = 0; i < VT_COUNT(providers) && n < VT_RIVALS; i++)
        if ((half || providers[i] != &vt_gemm_plain) &&
            takes(dev, providers[i], d) && usable(dev, i))
            rows[n++] = providers[i];
    return n;
}

/* NULL: unknown, or there is no choice. */
static const vt_provider *fastest(vt_dev *dev, const vt_gemm_desc *d, bool time)
{
    const vt_provider *rows[VT_RIVALS];
    const int n = rivals(rows, dev, d);

    return n > 1 ? vt_fastest_row(dev, d, rows, n, time) : NULL;
}

uint32_t vt_gemm_timed(const vt_dev *dev)
{
    return atomic_load(&vt_gemm_device_of(dev)->fastest.timed);
}

const char *vt_gemm_form_name(const char *form)
{
    for (size_t i = 0; i < VT_COUNT(providers); i++)
        if (strcmp(providers[i]->form, form) == 0)
            return providers[i]->name;
    return NULL;
}

/* Of this multiplication: a row with the name, if one can. d is filled in. */
static vitcl_status pick(const vt_provider **out, vt_dev *dev, const char *name,
                         const vt_gemm_desc *d)
{
    const char *const *order = orders[vt_dev_class(dev)];
    const vt_provider *p =
        measured(name) ? fastest(dev, d, true) : find(dev, name, d);

    for (; !p && *order; order++)
        p = find(dev, *order, d);
    *out = p;
    if (!p)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%.60s cannot multiply matrices in %s",
                       vt_dev_info(dev)->name, vt_dtype_name(d->type));
    return VITCL_OK;
}

vt_class vt_gemm_form_class(const char *form)
{
    for (size_t i = 0; i < VT_COUNT(providers); i++)
        if (strcmp(providers[i]->form, form) == 0)
            return providers[i]->class;
    return VT_CLASS_AUTO;
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
                          ? vt_gemm_packed_bytes(g->dev, g->provider->form, d)
                      : d->trans_b ? extent(d->K, d->ldb, d->N)
                                   : extent(d->N, d->ldb, d->K),
                      d->b_packed ? VT_U8 : VT_F32, "B"));
    if (d->bias || d->sums)
        VT_TRY(big_enough(g->bufs.bias, (size_t)(d->sums ? d->M : d->N), VT_F32,
                          "bias"));
    if (d->scale)
        VT_TRY(big_enough(g->bufs.scale, (size_t)d->N, VT_F32, "scale"));
    if (d->residual)
        VT_TRY(big_enough(g->bufs.residual, extent(rows, d->ldc, d->N), d->res,
                          "residual"));
    if (g->provider->temp_bytes && g->provider->temp_bytes(g->dev, d))
        VT_TRY(big_enough(g->bufs.temp, g->provider->temp_bytes(g->dev, d),
                          VT_U8, "temp"));
done:
    return st;
}

/* Any product of this type, to ask about all. On CPUs it accumulates: no
 * instruction is tried for the answer. Matrix units multiply packed weights. */
static vt_gemm_desc some(const vt_dev *dev, vt_dtype type, vt_class class)
{
    const vt_gemm_desc d = {1, 16, 16, 16, .type = type, .device_class = class};
    vt_gemm_desc f = filled(dev, &d);

    f.b_packed = f.device_class == VT_CLASS_GPU;
    f.accumulate = !f.b_packed;
    return f;
}

bool vt_gemm_multiplies(const char **instead, vt_dev *dev, const char *provider,
                        vt_dtype type, vt_class class)
{
    const vt_gemm_desc f = some(dev, type, class);
    const vt_provider *p;

    *instead = "no provider";
    if (pick(&p, dev, provider, &f) == VITCL_OK)
        *instead = p->name;
    return strcmp(*instead, provider) == 0;
}

bool vt_gemm_streams(vt_dev *dev, const char *provider, vt_dtype type,
                     vt_class class)
{
    const vt_gemm_desc f = some(dev, type, class);
    const vt_provider *p = find(dev, provider, &f);

    return p && p->streams;
}

const char *vt_gemm_form_of(vt_dev *dev, const char *provider,
                            const vt_gemm_desc *d)
{
    const vt_gemm_desc f = filled(dev, d);
    const vt_provider *p;

    if (pick(&p, dev, provider, &f) != VITCL_OK ||
        strcmp(p->name, provider) != 0)
        return "";
    return p->form;
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

    return !measured(provider) && pick(&p, dev, provider, &f) == VITCL_OK &&
           sums(p, dev, &f);
}

/* Before it is known which row will multiply: the most that one needs. */
static size_t most_temp(vt_dev *dev, const vt_gemm_desc *d)
{
    const vt_provider *rows[VT_RIVALS];
    const int n = rivals(rows, dev, d);
    size_t most = 0;

    for (int i = 0; i < n; i++)
        if (rows[i]->temp_bytes)
            most = VT_MAX(most, rows[i]->temp_bytes(dev, d));
    return most;
}

size_t vt_gemm_temp_bytes(vt_dev *dev, const char *provider,
                          const vt_gemm_desc *d)
{
    const vt_gemm_desc f = filled(dev, d);
    const vt_provider *p;

    if (measured(provider) && !fastest(dev, &f, false))
        return most_temp(dev, &f);
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
    if (measured(provider) && fastest(dev, &g->d, false))
        snprintf(g->note + strlen(g->note), sizeof g->note - strlen(g->note),
                 ", measured");
    *out = g, g = NULL;
done:
    vt_gemm_free(g);
    return st;
}

vitcl_status vt_gemm_ready(vt_gemm *g)
{
    vitcl_status st = VITCL_OK;

    for (size_t i = 0; !st && i < VT_COUNT(g->kernel) && g->kernel[i]; i++)
        st = vt_kernel_ready(g->kernel[i]);
    return st;
}

vitcl_status vt_gemm_launch(vt_queue *q, vt_gemm *g)
{
    vitcl_status st = VITCL_OK;

    if (g->provider->launch)
        return g->provider->launch(q, g);
    for (size_t i = 0; !st && i < VT_COUNT(g->kernel) && g->kernel[i]; i++)
        st = vt_kernel_launch(q, g->kernel[i]);
    return st;
}

unsigned vt_gemm_launches(const vt_gemm *g)
{
    unsigned n = g->provider->launch ? 1 : 0; /* CLBlast's own */

    for (size_t i = 0; i < VT_COUNT(g->kernel); i++)
        n += g->kernel[i] ? vt_kernel_launches(g->kernel[i]) : 0;
    return n;
}

vitcl_status vt_gemm_peak(vt_kernel **out, double *flops, vt_dev *dev,
                          vt_dtype type)
{
    const vt_gemm_desc d = {
        .M = 1, .N = 1, .K = 1, .type = type, .b_packed = true};
    const vt_gemm_desc f = filled(dev, &d);

    *out = NULL;
    for (size_t i = 0; i < VT_COUNT(providers); i++)
        if (providers[i]->peak && takes(dev, providers[i], &f))
            return providers[i]->peak(out, flops, dev, type);
    return VITCL_OK;
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
