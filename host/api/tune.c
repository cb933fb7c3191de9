/*
 * tune.c - a tuner for a model's products, and trials on a device. What they do
 * is in other folders.
 */
#include "api/handles.h"
#include "api/program.h"
#include "base/memory.h"
#include "ocl/precision.h"
#include "product/half_choice.h"
#include "tune/export.h"
#include "units/dots.h"

#include <string.h>

/* ---- a model's products ---- */

/* The products of linear layers over tokens; the classifier's is too small to
 * matter. Of a large batch as many rows as can be measured: parameters are kept
 * for all sizes. */
static int collect(vt_candidate_product *out, const vt_plan *p)
{
    int n = 0;

    for (int i = 0; i < vt_plan_steps(p); i++) {
        vt_candidate_product x = {.count = 1};
        int k = 0;

        if (!vt_linear_product(&x.M, &x.N, &x.K, p, vt_plan_step(p, i)))
            continue;
        x.M = VT_MIN(x.M, VT_CANDIDATE_ELEMENTS / VT_MAX(x.N, x.K));
        while (k < n && (out[k].M != x.M || out[k].N != x.N || out[k].K != x.K))
            k++;
        if (k < n)
            out[k].count++;
        else if (n < VT_CANDIDATE_PRODUCTS)
            out[n++] = x;
    }
    return n;
}

static vitcl_status plan_of(vt_plan **out, vitcl_model *model,
                            const vitcl_session_options *o)
{
    const vt_plan_options options = {.dev = NULL, .precision = o->precision};
    uint32_t height = o->height, width = o->width, batch = o->batch;
    vt_preprocess how;
    vt_written w;

    VT_RET(vt_handle_size(&height, &width, &batch, model));
    vt_preprocess_default(&how, height, width);
    return vt_handle_plan(out, &w, model, &options, batch, height, width, &how);
}

/* The form of the provider that computes this product; "": none. */
static const char *form_of(vt_dev *dev, const char *provider, vt_dtype type,
                           const vt_candidate_product *x)
{
    const vt_gemm_desc d = vt_timed_desc(dev, type, x->M, x->N, x->K);
    vt_product p;

    return vt_product_look(&p, dev, provider, &d) == VITCL_OK && p.own
               ? p.form->name
               : "";
}

vitcl_status vt_tuner_for(vt_tuner **out, vitcl_model *model,
                          const vitcl_session_options *options)
{
    vt_candidate_product products[VT_CANDIDATE_PRODUCTS];
    vitcl_session_options o;
    vt_plan *p = NULL;
    const char *gemm = NULL;
    vitcl_status st;
    int n;

    VT_TRY(vt_sized_options(&o, sizeof o, options, "vitcl_session_options"));
    if (!model->dev)
        return vt_fail(VITCL_EINVAL, "the model was loaded without a device");
    VT_TRY(vt_dev_alive(model->dev));
    VT_TRY(vt_product_provider(&gemm, model->dev, o.gemm));
    if (strcmp(gemm, VT_PRODUCT_MEASURED) == 0)
        gemm = o.precision == VITCL_F32
                   ? vt_product_first(vt_dev_class(model->dev))
                   : "native"; /* CLBlast has f32 only */
    if (o.precision == VITCL_HALF)
        VT_TRY(vt_half_choose(&o.precision, model->dev, gemm));
    VT_TRY(plan_of(&p, model, &o));
    n = collect(products, p);
    if (n == 0)
        VT_TRY(vt_fail(VITCL_EUNSUPPORTED, "the model has nothing to tune"));
    VT_TRY(vt_tuner_new(
        out, model->dev, gemm,
        form_of(model->dev, gemm, vt_precision_type(o.precision), &products[0]),
        vt_precision_type(o.precision), products, n));
done:
    vt_plan_free(p);
    return st;
}

vitcl_status vt_device_export_tuned(double *tuned, double *built_in,
                                    const vitcl_device *device,
                                    const char *path, vitcl_progress progress,
                                    void *context)
{
    VT_RET(vt_dev_alive(device->dev));
    return vt_tuned_export(tuned, built_in, device->dev, path, progress,
                           context);
}

/* ---- trials of instructions ---- */

bool vt_device_untried(const vitcl_device *device, vitcl_precision precision)
{
    return vt_dot_untried(device->dev, vt_precision_type(precision));
}

vitcl_status vt_device_form(char *out, size_t size, const vitcl_device *device,
                            vitcl_precision precision)
{
    if (precision != VITCL_BF16 && precision != VITCL_F16 &&
        precision != VITCL_INT8)
        return vt_fail(VITCL_EINVAL, "precision %d is not bf16, f16 or int8",
                       (int)precision);
    vt_dot_describe(out, size, device->dev, vt_precision_type(precision));
    return VITCL_OK;
}

bool vt_device_refused(char *out, size_t size, vitcl_device *device)
{
    return vt_mma_refused(out, size, device->dev);
}

vitcl_status vt_device_try(vitcl_device *device, vitcl_precision precision)
{
    vitcl_precision half;

    VT_RET(vt_dev_alive(device->dev));
    if (vt_device_untried(device, precision))
        (void)vt_dot_ask(device->dev, vt_precision_type(precision));
    if (precision == VITCL_HALF)
        VT_RET(vt_half_choose(&half, device->dev, NULL));
    return VITCL_OK;
}
