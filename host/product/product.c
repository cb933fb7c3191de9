/*
 * product.c - which form multiplies a product.
 *
 * A provider is requested by name or is the device's default. A multiplication
 * that it does not support goes to the first one in the device's order that
 * does (plain supports all but int8). Of a provider's forms, the first one in
 * vt_forms[] that supports it is used. vt_gemm_describe() names the result.
 *
 * The default of a GPU, and in f32 of a processor that is not known, is the
 * fastest (fastest.c), where that can be kept.
 */
#include "product/product.h"

#include "base/memory.h"
#include "product/fastest.h"
#include "product/told.h"
#include "units/dots.h"

#include <stdio.h>
#include <string.h>

/* ---- providers ---- */

/* The names, best first, ended by NULL. */
static const char *const orders[][VT_FORMS] = {
    [VT_CLASS_CPU] = {"native", "clblast", "plain"},
#ifdef VT_WITH_CLBLAST
    [VT_CLASS_GPU] = {"clblast", "native", "plain"},
#else
    [VT_CLASS_GPU] = {"native", "plain"},
#endif
};

const char *vt_product_first(vt_class class)
{
    return orders[class][0];
}

/* The name of a usable provider, as it stands in the table; NULL: none. */
static const char *usable(vt_dev *dev, const char *name)
{
    for (size_t i = 0; name && vt_forms[i]; i++)
        if (strcmp(vt_forms[i]->provider, name) == 0 &&
            vt_product_usable(dev, i))
            return vt_forms[i]->provider;
    return NULL;
}

vitcl_status vt_product_provider(const char **out, vt_dev *dev,
                                 const char *wanted)
{
    const char *const *order = orders[vt_dev_class(dev)];
    const char *name = usable(dev, wanted);
    char names[64] = "";

    if (name)
        return *out = name, VITCL_OK;
    if (!wanted && vt_fastest_possible(vt_dev_class(dev))) {
        *out = VT_PRODUCT_MEASURED;
        return VITCL_OK;
    }
    for (; *order; order++)
        if ((name = usable(dev, *order))) {
            if (!wanted)
                return *out = name, VITCL_OK;
            snprintf(names + strlen(names), sizeof names - strlen(names),
                     "%s%s", *names ? ", " : "", name);
        }
    return vt_fail(VITCL_EINVAL,
                   "no matrix multiplication \"%.40s\" on %.60s; available: %s",
                   wanted ? wanted : "", vt_dev_info(dev)->name, names);
}

static bool measured(const char *provider)
{
    return strcmp(provider, VT_PRODUCT_MEASURED) == 0;
}

/* The provider of what is not timed on processors. */
static const char *named(const char *provider, vt_class class)
{
    return measured(provider) && class == VT_CLASS_CPU ? orders[class][0]
                                                       : provider;
}

/* On processors only native multiplies in other types than f32. Whether the
 * sums come with a product must be known before it is timed, or a training's
 * bits would change when the answer is kept. */
static bool timed(const char *provider, const vt_gemm_desc *d)
{
    return measured(provider) &&
           (d->device_class == VT_CLASS_GPU || (d->type == VT_F32 && !d->sums));
}

/* ---- the form of a product; d is filled in ---- */

/* The first form of this provider that takes d, and what it is told; NULL:
 * none. */
static const vt_form *form_of(vt_told *t, vt_dev *dev, const char *provider,
                              const vt_gemm_desc *d)
{
    for (size_t i = 0; vt_forms[i]; i++)
        if (strcmp(vt_forms[i]->provider, provider) == 0 &&
            vt_product_tell(t, dev, vt_forms[i], d) &&
            vt_product_usable(dev, i))
            return vt_forms[i];
    return NULL;
}

/* Does another form of this provider compute it on a processor? */
static bool preceded(const vt_form *f, const vt_form *const *forms, int n,
                     const vt_gemm_desc *d)
{
    return n && d->device_class == VT_CLASS_CPU &&
           strcmp(forms[n - 1]->provider, f->provider) == 0;
}

/* The forms to choose from: plain ones only in 16 bits, where there may be no
 * other; none beside a matrix unit, which has several times the rate, or one
 * that VITCL_MMA emulates, whose times say nothing of the device. temp: the
 * most that one needs. */
static int rivals(const vt_form *forms[VT_FORMS], size_t *temp, vt_dev *dev,
                  const vt_gemm_desc *d)
{
    const bool half = d->type == VT_F16 || d->type == VT_BF16;
    int n = 0;

    *temp = 0;
    for (size_t i = 0; vt_forms[i]; i++) {
        const vt_form *f = vt_forms[i];
        vt_told t;

        if ((f->plain && !half) || preceded(f, forms, n, d) ||
            !vt_product_tell(&t, dev, f, d) || !vt_product_usable(dev, i))
            continue;
        if (f->asks == VT_ASKS_UNIT &&
            (vt_mma_is_unit(t.unit) || t.unit.emulated)) {
            forms[0] = f;
            *temp = vt_form_temp_bytes(dev, f, &t);
            return 1;
        }
        forms[n++] = f;
        *temp = VT_MAX(*temp, vt_form_temp_bytes(dev, f, &t));
    }
    return n;
}

/* The fastest form, and what it is told; NULL: it is not known. */
static vitcl_status fastest(const vt_form **out, vt_told *t, size_t *temp,
                            vt_dev *dev, const vt_gemm_desc *d, bool time)
{
    const vt_form *forms[VT_FORMS], *best = NULL;
    const int n = rivals(forms, temp, dev, d);

    if (n > 1)
        best = vt_fastest_form(dev, d, forms, n, time);
    else if (n == 1)
        best = forms[0];
    if (best && !vt_product_tell(t, dev, best, d)) /* plain, in int8 */
        return vt_fail(VITCL_EDEVICE,
                       "every kernel for int8 computes a wrong product "
                       "%dx%dx%d on %.60s: use another precision",
                       d->M, d->N, d->K, vt_dev_info(dev)->name);
    t->measured = n > 1;
    *out = best;
    return VITCL_OK;
}

/* The facts about a product by this form. */
static void complete(vt_product *p, vt_dev *dev, const char *provider)
{
    const vt_form *f = p->form;

    p->own = strcmp(f->provider, named(provider, p->told.d.device_class)) == 0;
    p->layout = f->layout && p->told.d.b_packed ? f->layout(dev, &p->told) : "";
    p->packed_bytes = vt_form_b_bytes(dev, f, &p->told);
    p->temp_bytes = vt_form_temp_bytes(dev, f, &p->told);
    p->sums = f->sums && f->sums(dev, &p->told);
}

static vitcl_status resolve(vt_product *out, vt_dev *dev, const char *provider,
                            const vt_gemm_desc *d, bool time)
{
    const vt_gemm_desc f = vt_product_filled(dev, d);
    const char *const *order = orders[vt_dev_class(dev)];

    *out = (vt_product){.layout = ""};
    VT_RET(vt_gemm_check(&f));
    if (timed(provider, &f)) {
        VT_RET(
            fastest(&out->form, &out->told, &out->temp_bytes, dev, &f, time));
        if (!out->form && !time) {
            out->told.d = f;
            return VITCL_OK;
        }
    } else {
        out->form =
            form_of(&out->told, dev, named(provider, f.device_class), &f);
    }
    for (; !out->form && *order; order++)
        out->form = form_of(&out->told, dev, *order, &f);
    if (!out->form)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%.60s cannot multiply matrices in %s",
                       vt_dev_info(dev)->name, vt_dtype_name(d->type));
    complete(out, dev, provider);
    return VITCL_OK;
}

vitcl_status vt_product_of(vt_product *out, vt_dev *dev, const char *provider,
                           const vt_gemm_desc *d)
{
    return resolve(out, dev, provider, d, true);
}

vitcl_status vt_product_look(vt_product *out, vt_dev *dev, const char *provider,
                             const vt_gemm_desc *d)
{
    return resolve(out, dev, provider, d, false);
}

/* On CPUs it accumulates: no instruction is tried for the answer. Matrix units
 * multiply packed weights. */
vitcl_status vt_product_any(vt_product *out, vt_dev *dev, const char *provider,
                            vt_dtype type, vt_class class)
{
    const vt_gemm_desc some = {1,  16,           16,
                               16, .type = type, .device_class = class};
    vt_gemm_desc d = vt_product_filled(dev, &some);

    d.b_packed = d.device_class == VT_CLASS_GPU;
    d.accumulate = !d.b_packed;
    return vt_product_look(out, dev, provider, &d);
}

/* ---- by the form ---- */

vitcl_status vt_product_pack(vt_queue *q, const vt_product *p, vt_buf *packed,
                             vt_buf *b)
{
    return vt_form_pack(q, p->form, &p->told, packed, b);
}

vitcl_status vt_product_bind(vt_gemm **out, vt_dev *dev, const vt_product *p,
                             const vt_gemm_bufs *bufs)
{
    return vt_form_bind(out, dev, p->form, &p->told, bufs);
}

vitcl_status vt_product_timed(vt_timed *t, vt_dev *dev, const char *provider,
                              const vt_gemm_desc *d, const float *a,
                              const float *b)
{
    vt_product p;

    *t = (vt_timed){.q = NULL};
    if (!provider)
        VT_RET(vt_product_provider(&provider, dev, NULL));
    VT_RET(vt_product_of(&p, dev, provider, d));
    return vt_timed_new(t, dev, p.form, &p.told, a, b);
}

/* ---- about a provider ---- */

bool vt_product_plain(const char *provider)
{
    for (size_t i = 0; vt_forms[i]; i++)
        if (strcmp(vt_forms[i]->provider, provider) == 0 && vt_forms[i]->plain)
            return true;
    return false;
}

int vt_product_dots(vt_dev *dev, const char *provider)
{
    int kind = VT_DOT_NONE;

    provider = named(provider, vt_dev_class(dev));
    for (size_t i = 0; vt_forms[i]; i++)
        if (strcmp(vt_forms[i]->provider, provider) == 0 &&
            vt_forms[i]->asks == VT_ASKS_DOT &&
            /* attention's kernels have the device's vectors */
            vt_dev_class(dev) == VT_CLASS_CPU &&
            vt_dev_vector(dev) == vt_dot_kinds[VT_DOT_BF16].lanes)
            kind = vt_dot_ask(dev, VT_BF16);
    return kind >= VT_DOT_BF16 ? kind : VT_DOT_NONE;
}

vt_dtype vt_product_attention(vt_dev *dev, const char *provider)
{
    static const vt_dtype types[] = {VT_BF16, VT_F16};

    for (size_t i = 0; i < VT_COUNT(types) && !vt_product_plain(provider); i++)
        if (vt_mma_ask_attention(dev, types[i]).kind != VT_MMA_NONE)
            return types[i];
    return VT_F32;
}

bool vt_product_int_rows(vt_int_rows *out, vt_dev *dev, const char *provider,
                         int rows, int K)
{
    const vt_gemm_desc d = {.batch = 1,
                            .M = rows,
                            .N = 1,
                            .K = K,
                            .type = VT_I8,
                            .a = VT_I8,
                            .b_packed = true,
                            .device_class = VT_CLASS_CPU};
    const vt_gemm_desc f = vt_product_filled(dev, &d);
    const vt_form *form = NULL;
    size_t temp;
    vt_told t;

    if (!timed(provider, &f))
        form = form_of(&t, dev, named(provider, f.device_class), &f);
    else if (fastest(&form, &t, &temp, dev, &f, false))
        return false;
    if (!form || !form->int_rows)
        return false;
    form->int_rows(out, dev, &t);
    return true;
}

vitcl_status vt_product_peak(vt_kernel **out, double *flops, vt_dev *dev,
                             vt_dtype type)
{
    const vt_gemm_desc d = {
        .M = 1, .N = 1, .K = 1, .type = type, .b_packed = true};
    const vt_gemm_desc f = vt_product_filled(dev, &d);
    vt_told t;

    *out = NULL;
    for (size_t i = 0; vt_forms[i]; i++)
        if (vt_forms[i]->peak && vt_product_tell(&t, dev, vt_forms[i], &f))
            return vt_forms[i]->peak(out, flops, dev, &t);
    return VITCL_OK;
}
