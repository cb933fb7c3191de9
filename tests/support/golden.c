/*
 * golden.c - a case is a folder with the checkpoint as its library saved it,
 * input.safetensors and expected.safetensors.
 */
#include "support/golden.h"
#include "models/family.h"

#include "support/device.h"
#include "support/near.h"
#include "support/paths.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static vitcl_status start(vt_test_run *r, const char *path, const int dim[4],
                          vt_plan_options o)
{
    vitcl_status st = VITCL_OK;

    memset(r, 0, sizeof *r);
    VT_TRY(vt_model_open(&r->model, path));
    VT_TRY(vt_store_new(&r->store, vt_test_device(), vt_model_read_param,
                        r->model));
    o.dev = vt_test_device();
    o.store = r->store;
    VT_TRY(vt_plan_new(&r->plan, &o));
    r->pixels = vt_input(r->plan, "pixels", VT_F32, 4, dim);
    vt_model_build(r->plan, r->model, r->pixels, NULL, &r->out);
    VT_TRY(vt_plan_finish(r->plan));
done:
    return st;
}

vitcl_status vt_test_start(vt_test_run *r, const char *path, const int dim[4],
                           const char *const *keep)
{
    return start(r, path, dim, (vt_plan_options){.keep = keep});
}

void vt_test_stop(vt_test_run *r)
{
    vt_plan_free(r->plan);
    vt_store_free(r->store);
    vt_model_close(r->model);
}

static float *read_tensor(const vt_tensor *t)
{
    float *data = malloc(t->count * sizeof *data);

    cr_assert_eq(vt_tensor_f32(data, t), VITCL_OK, "%s", vt_message());
    return data;
}

/* A plan has three channels, of which a grey model reads the first. */
static float *read_pixels(int dim[4], const vt_tensor *x)
{
    const size_t picture = (size_t)(x->shape[2] * x->shape[3]);
    const size_t given = (size_t)x->shape[1];
    float *one = read_tensor(x), *all = malloc(x->shape[0] * 3 * picture * 4);

    for (size_t i = 0; i < 4; i++)
        dim[i] = (int)x->shape[i];
    dim[1] = 3;
    for (size_t i = 0; i < 3 * x->shape[0]; i++)
        memcpy(all + i * picture, one + (given == 3 ? i : i / 3) * picture,
               picture * 4);
    free(one);
    return all;
}

static double compare(vt_test_run *r, const vt_tensor *want, const char *folder,
                      double bound)
{
    const vt_val v = vt_plan_find(r->plan, want->name);
    float *e = read_tensor(want), *g;
    double worst = 0, most = 1e-6;
    size_t at = 0;

    cr_assert(v != VT_NONE && vt_value_of(r->plan, v)->keep,
              "%s: the plan keeps no %s", folder, want->name);
    cr_assert_eq(vt_elements(r->plan, v), want->count, "%s: %s has %zu values",
                 folder, want->name, (size_t)vt_elements(r->plan, v));
    g = malloc(want->count * sizeof *g);
    cr_assert_eq(vt_plan_read(r->plan, v, g, want->count), VITCL_OK, "%s",
                 vt_message());
    for (size_t i = 0; i < want->count; i++) {
        const double err = fabs((double)g[i] - e[i]);
        most = fmax(most, fabs(e[i]));
        if (!(err <= worst)) {
            worst = vt_worse(worst, err);
            at = i;
        }
    }
    cr_expect(worst <= bound * most,
              "%s: %s[%zu] is %.7g, not %.7g: %.2e of max", folder, want->name,
              at, g[at], e[at], worst / most);
    free(e);
    free(g);
    return worst / most;
}

static vt_tensors *open_beside(const char *folder, const char *name)
{
    vt_tensors *t = NULL;
    char path[512];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    cr_assert_eq(vt_tensors_open(&t, path), VITCL_OK, "%s", vt_message());
    return t;
}

/* The order in which a plan computes them, so that the first wrong one is
 * reported first. */
static int rank(const char *name, int block)
{
    int i = -1;

    if (strcmp(name, "embed") == 0)
        return block < 0;
    if (sscanf(name, "attention.%d", &i) == 1 ||
        sscanf(name, "block.%d", &i) == 1)
        return i == block;
    return block == 1000;
}

/* Tensors that are not parameters of the model: the mask token of pre-training,
 * those that the classifiers of HF's towers do not read, and BatchNorm's
 * buffers. */
static bool is_idle(const vt_config *c, const char *name)
{
    if (c->classes && strcmp(c->family->name, "siglip") == 0 &&
        strstr(name, "vision_model.head."))
        return true;
    if (c->classes && strcmp(c->family->name, "clip") == 0 &&
        strstr(name, "vision_model.post_layernorm."))
        return true;
    return strstr(name, "mask_token") || strstr(name, ".running_") ||
           strstr(name, "num_batches_tracked");
}

/* The model has as many parameters as the file, without those. */
static void expect_parameters(const vt_test_run *r, const char *path)
{
    vt_tensors *raw = NULL;
    uint64_t sum = 0;

    cr_assert_eq(vt_tensors_open(&raw, path), VITCL_OK, "%s", vt_message());
    for (size_t i = 0; i < vt_tensors_count(raw); i++)
        if (!is_idle(vt_model_config(r->model), vt_tensors_at(raw, i)->name))
            sum += vt_tensors_at(raw, i)->count;
    cr_expect_eq(vt_model_parameters(r->model), sum, "%s: %llu, not %llu", path,
                 (unsigned long long)vt_model_parameters(r->model),
                 (unsigned long long)sum);
    vt_tensors_free(raw);
}

static bool is_kept(const vt_test_run *r, const char *name)
{
    const vt_val v = vt_plan_find(r->plan, name);

    return v != VT_NONE && vt_value_of(r->plan, v)->keep;
}

static void expect_gemm(const vt_plan *p, const char *folder, const char *gemm)
{
    for (int i = 0; i < vt_plan_steps(p); i++) {
        const vt_step *s = vt_plan_step(p, i);

        if (s->gemm)
            cr_expect(strstr(vt_gemm_describe(s->gemm), gemm), "%s: %s, not %s",
                      folder, vt_gemm_describe(s->gemm), gemm);
    }
}

static double run(const char *folder, bool keep_all, vt_plan_options o,
                  double bound, const char *gemm)
{
    static const char *const every[] = {"embed",    "block.*",     "norm",
                                        "features", "attention.*", NULL};
    vt_tensors *in = open_beside(folder, "input.safetensors");
    vt_tensors *expected = open_beside(folder, "expected.safetensors");
    const vt_tensor *x = vt_tensors_get(in, "pixel_values");
    int dim[4];
    float *pixels = read_pixels(dim, x);
    const size_t bytes = 4 * (size_t)dim[0] * 3 * (size_t)(dim[2] * dim[3]);
    double worst = 0;
    int compared = 0;
    char npz[512];
    vt_test_run r;

    snprintf(npz, sizeof npz, "%s/model.npz", folder);
    o.keep = keep_all ? every : NULL;
    cr_assert_eq(start(&r, vt_have(npz) ? npz : folder, dim, o), VITCL_OK,
                 "%s: %s", folder, vt_message());
    expect_parameters(&r, vt_have(npz) ? npz : folder);
    expect_gemm(r.plan, folder, gemm);
    cr_assert_eq(vt_plan_write(r.plan, r.pixels, pixels, bytes), VITCL_OK, "%s",
                 vt_message());
    cr_assert_eq(vt_plan_run(r.plan, 0), VITCL_OK, "%s", vt_message());
    for (int block = -1; block <= 1000; block++)
        for (size_t i = 0; i < vt_tensors_count(expected); i++) {
            const vt_tensor *t = vt_tensors_at(expected, i);
            if (rank(t->name, block) && (keep_all || is_kept(&r, t->name))) {
                worst = fmax(worst, compare(&r, t, folder, bound));
                compared++;
            }
        }
    cr_expect_gt(compared, 0, "%s: nothing is compared", folder);
    vt_test_stop(&r);
    vt_tensors_free(in);
    vt_tensors_free(expected);
    free(pixels);
    return worst;
}

double vt_test_golden(const char *folder, bool keep_all)
{
    return run(folder, keep_all, (vt_plan_options){.keep = NULL}, 1e-4, "");
}

double vt_test_golden_as(const char *folder, vitcl_precision precision,
                         double bound, const char *gemm)
{
    vt_test_class(VT_CLASS_GPU);
    return run(
        folder, true,
        (vt_plan_options){.precision = precision, .device_class = VT_CLASS_GPU},
        bound, gemm);
}
