/*
 * tune.c - the functions of vitcl_tune.h. What they do is in other folders; the
 * products to tune are a model's.
 */
#include "api/handles.h"
#include "base/memory.h"
#include "ocl/precision.h"
#include "product/half_choice.h"
#include "tune/export.h"
#include "tune/tuner.h"
#include "units/dots.h"

#include <vitcl_tune.h>

#include <string.h>

struct vitcl_tuner {
    vt_tuner *tuner;
};

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
    vitcl_status st;

    VT_TRY(vt_handle_size(&height, &width, &batch, model));
    vt_preprocess_default(&how, height, width);
    VT_TRY(
        vt_handle_plan(out, &w, model, &options, batch, height, width, &how));
done:
    return st;
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

vitcl_status vitcl_tuner_new(vitcl_tuner **out, vitcl_model *model,
                             const vitcl_session_options *options)
{
    vt_candidate_product products[VT_CANDIDATE_PRODUCTS];
    vitcl_session_options o;
    vitcl_tuner *t = NULL;
    vt_plan *p = NULL;
    const char *gemm = NULL;
    vitcl_status st;
    int n;

    VT_GIVEN(out);
    VT_GIVEN(model);
    VT_TRY(vt_sized_options(&o, sizeof o, options, "vitcl_session_options"));
    VT_TRY(vt_precision_known(o.precision));
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
    VT_TRY(VT_NEW(&t, 1));
    VT_TRY(vt_tuner_new(
        &t->tuner, model->dev, gemm,
        form_of(model->dev, gemm, vt_precision_type(o.precision), &products[0]),
        vt_precision_type(o.precision), products, n));
    *out = t, t = NULL;
done:
    vitcl_tuner_free(t);
    vt_plan_free(p);
    return st;
}

void vitcl_tuner_free(vitcl_tuner *tuner)
{
    if (!tuner)
        return;
    vt_tuner_free(tuner->tuner);
    free(tuner);
}

const char *vitcl_tuner_next(vitcl_tuner *tuner)
{
    return tuner ? vt_tuner_next(tuner->tuner) : NULL;
}

void vitcl_tuner_tell(vitcl_tuner *tuner, double ratio)
{
    if (tuner)
        vt_tuner_tell(tuner->tuner, ratio);
}

const char *vitcl_tuner_best(const vitcl_tuner *tuner)
{
    return tuner ? vt_tuner_best(tuner->tuner) : NULL;
}

double vitcl_tuner_gain(const vitcl_tuner *tuner)
{
    return tuner ? vt_tuner_gain(tuner->tuner) : 1;
}

vitcl_status vitcl_tuner_save(const char **path, vitcl_tuner *tuner)
{
    VT_GIVEN(path);
    VT_GIVEN(tuner);
    return vt_tuner_save(path, tuner->tuner);
}

vitcl_status vitcl_candidate_measure(double *ratio, const char *select,
                                     const char *candidate, double seconds,
                                     vitcl_progress progress, void *context)
{
    VT_GIVEN(ratio);
    VT_GIVEN(candidate);
    return vt_candidate_try(ratio, select, candidate, seconds, progress,
                            context);
}

vitcl_status vitcl_tuned_export(double *tuned, double *built_in,
                                const vitcl_device *device, const char *path,
                                vitcl_progress progress, void *context)
{
    vitcl_status st;

    VT_GIVEN(tuned);
    VT_GIVEN(built_in);
    VT_GIVEN(device);
    VT_GIVEN(path);
    VT_TRY(vt_dev_alive(device->dev));
    VT_TRY(
        vt_tuned_export(tuned, built_in, device->dev, path, progress, context));
done:
    return st;
}

/* ---- trials of instructions ---- */

static int untried(vt_dev *dev, vitcl_precision precision)
{
    return dev && vt_dot_untried(dev, vt_precision_type(precision));
}

int vitcl_device_untried(const vitcl_device *device, vitcl_precision precision)
{
    return device && untried(device->dev, precision);
}

int vitcl_model_untried(const vitcl_model *model, vitcl_precision precision)
{
    return model && untried(model->dev, precision);
}

vitcl_status vitcl_device_form(char *out, size_t size,
                               const vitcl_device *device,
                               vitcl_precision precision)
{
    VT_GIVEN(out);
    VT_GIVEN(device);
    if (precision != VITCL_BF16 && precision != VITCL_F16 &&
        precision != VITCL_INT8)
        return vt_fail(VITCL_EINVAL, "precision %d is not bf16, f16 or int8",
                       (int)precision);
    vt_dot_describe(out, size, device->dev, vt_precision_type(precision));
    return VITCL_OK;
}

vitcl_status vitcl_device_try(vitcl_device *device, vitcl_precision precision)
{
    vitcl_precision half;
    vitcl_status st;

    VT_GIVEN(device);
    VT_TRY(vt_precision_known(precision));
    VT_TRY(vt_dev_alive(device->dev));
    if (untried(device->dev, precision))
        (void)vt_dot_ask(device->dev, vt_precision_type(precision));
    if (precision == VITCL_HALF)
        VT_TRY(vt_half_choose(&half, device->dev, NULL));
done:
    return st;
}
