/*
 * test_finetune.c - as timm and peft fine-tune: tools/golden_finetune.py.
 */
#include "base/memory.h"
#include "models/model.h"
#include "ops/ops.h"
#include "support/device.h"
#include "support/oneplan.h"
#include "support/pictures.h"
#include "train/checkpoint.h"
#include "train/update.h"
#include "weights/weights.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- layers ---- */

typedef struct row {
    char model[64], name[64];
    double scale;
} row;

static row rows[256];
static size_t row_count;

static void read_rows(void)
{
    FILE *f = fopen(VT_DATA "/train/layers.tsv", "r");

    cr_assert_not_null(f);
    while (row_count < VT_COUNT(rows) &&
           fscanf(f, "%63s %63s %lf", rows[row_count].model,
                  rows[row_count].name, &rows[row_count].scale) == 3)
        row_count++;
    fclose(f);
}

/* NAN: timm has no such parameter. */
static double expected(const char *model, const char *name)
{
    for (size_t i = 0; i < row_count; i++) {
        const size_t n = strlen(rows[i].name);

        if (strcmp(rows[i].model, model) == 0 &&
            strncmp(rows[i].name, name, n) == 0 &&
            (!name[n] || name[n] == '.' || name[n] == '@'))
            return rows[i].scale;
    }
    return (double)NAN;
}

static void check_layers(const char *name)
{
    char path[600];
    vt_model *m = NULL;
    vt_plan *p = NULL;
    vt_outputs out = {VT_NONE, VT_NONE, VT_NONE};
    const vt_config *c;
    double *scale;
    int seen = 0;

    snprintf(path, sizeof path, VT_DATA "/models/%s", name);
    vt_check(vt_model_open(&m, path));
    c = vt_model_config(m);
    vt_check(vt_plan_new(&p, &(vt_plan_options){.train = true}));
    vt_model_build(p, m,
                   vt_input(p, "pixel_values", VT_F32, 4,
                            (int[]){1, 3, c->height, c->width_px}),
                   NULL, &out);
    vt_check(vt_plan_status(p));
    scale = calloc((size_t)vt_plan_values(p), sizeof *scale);
    vt_layer_scales(scale, p, 0.65);
    for (vt_val v = 0; v < vt_plan_values(p); v++) {
        const vt_value *x = vt_value_of(p, v);
        const double want = expected(name, x->name);

        if (x->kind != VT_PARAM)
            continue;
        cr_expect(fabs(scale[v] - want) < 1e-8, "%s: %s has %g, timm %g", name,
                  x->name, scale[v], want);
        seen++;
    }
    cr_expect_gt(seen, 15, "%s: %d parameters", name, seen);
    free(scale);
    vt_plan_free(p);
    vt_model_close(m);
}

Test(finetune, layers)
{
    read_rows();
    cr_assert_gt(row_count, 100);
    for (size_t i = 0; i < row_count; i++)
        if (i == 0 || strcmp(rows[i].model, rows[i - 1].model) != 0)
            check_layers(rows[i].model);
}

/* ---- LoRA ---- */

#define LORA VT_DATA "/train/lora"

static vt_tensors *expects;

static float *tensor(uint64_t *n, const vt_tensors *t, const char *format,
                     const char *name)
{
    char full[200];
    const vt_tensor *x;
    float *data;

    snprintf(full, sizeof full, format, name);
    x = vt_tensors_get(t, full);
    cr_assert_not_null(x, "no %s", full);
    data = calloc(x->count + 1, sizeof *data);
    vt_check(vt_tensor_f32(data, x));
    *n = x->count;
    return data;
}

/* Relative to the tensor's largest number. */
static void same(const float *got, const char *format, const char *name,
                 double bound)
{
    uint64_t n;
    float *want = tensor(&n, expects, format, name);
    double top = 0, error = 0;

    for (uint64_t i = 0; i < n; i++) {
        top = fmax(top, fabs((double)want[i]));
        error = fmax(error, fabs((double)want[i] - (double)got[i]));
    }
    cr_expect(error <= bound * fmax(top, 1e-6), "%s: %g of %g", name, error,
              top);
    free(want);
}

static float *read_parameter(vt_trainer *t, size_t i, const char *kind)
{
    float *data = calloc(vt_trainer_elements(t, i), sizeof *data);

    vt_check(vt_trainer_read(data, t, i, kind));
    return data;
}

static vt_trainer *lora_trainer(vt_model *m, const vt_optimizer_config *o)
{
    vt_trainer *t = NULL;

    vt_check(vt_trainer_new(&t, m, o,
                            &(vt_trainer_options){.dev = vt_test_device(),
                                                  .batch = 2,
                                                  .height = 24,
                                                  .width = 24,
                                                  .random_state = 7,
                                                  .exact = true}));
    return t;
}

/* A is uniform within 1 / sqrt(columns), B is zero; A becomes peft's. */
static void start_as_peft(vt_trainer *t)
{
    size_t elements = 0;

    for (size_t i = 0; i < vt_trainer_parameters(t); i++) {
        const vt_value *v = vt_trainer_parameter(t, i);
        const uint64_t n = vt_trainer_elements(t, i);
        float *data = read_parameter(t, i, ""), *a;
        const bool is_a = strstr(v->name, ".lora_A.") != NULL;
        const double bound = 1 / sqrt(v->dim[v->rank - 1]);
        double top = 0;
        uint64_t count;

        elements += n;
        cr_expect(is_a || strstr(v->name, ".lora_B.") ||
                      strncmp(v->name, "head.", 5) == 0,
                  "%s trains", v->name);
        for (uint64_t k = 0; k < n; k++)
            top = fmax(top, fabs((double)data[k]));
        if (is_a) {
            cr_expect(top <= bound && top > 0.8 * bound, "%s: %g of %g",
                      v->name, top, bound);
            a = tensor(&count, expects, "start.%s", v->name);
            cr_assert_eq(count, n);
            vt_check(vt_trainer_write(t, i, "", a));
            free(a);
        } else if (strstr(v->name, ".lora_B.")) {
            cr_expect_eq(top, 0, "%s", v->name);
        }
        free(data);
    }
    cr_expect_eq(vt_trainer_parameters(t), 2 * 4 * 2 + 2);
    /* gradient and two moments of what trains, and parts of norms */
    cr_expect_eq(vt_trainer_memory(t).states,
                 sizeof(float) *
                     (3 * elements + 64 * vt_trainer_parameters(t)));
}

static void check_model(const char *folder)
{
    char path[600];
    vt_tensors *got = NULL;

    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    vt_check(vt_tensors_open(&got, path));
    cr_expect_eq(vt_tensors_count(got), 2 * 12 + 8);
    for (size_t i = 0; i < vt_tensors_count(got); i++) {
        const char *name = vt_tensors_at(got, i)->name;
        uint64_t n;
        float *data = tensor(&n, got, "%s", name);

        same(data, "merged.%s", name, 2e-5);
        free(data);
    }
    vt_tensors_free(got);
}

/* What another trainer loads has the same bits, moments too. */
static void check_state(vt_checkpoint c)
{
    static const char *const kinds[] = {"", "adam.m", "adam.v"};
    vt_trainer *before = c.trainer;
    long step = 0;

    c.trainer = lora_trainer(c.model, c.optimizer);
    vt_check(vt_checkpoint_load(&step, &c));
    cr_expect_eq(step, 5);
    for (size_t i = 0; i < vt_trainer_parameters(before); i++)
        for (size_t k = 0; k < VT_COUNT(kinds); k++) {
            float *a = read_parameter(before, i, kinds[k]);
            float *b = read_parameter(c.trainer, i, kinds[k]);

            cr_expect_arr_eq(a, b, vt_trainer_elements(before, i) * sizeof *a);
            free(a), free(b);
        }
    vt_trainer_free(c.trainer);
}

/* Five steps as peft takes them, and what is saved. */
Test(finetune, lora)
{
    static const double lr[] = {1e-2, 2e-2, 3e-2, 2e-2, 1e-2};
    const vt_optimizer_config o = {.optimizer = VT_ADAMW,
                                   .beta1 = 0.9,
                                   .beta2 = 0.999,
                                   .eps = 1e-8,
                                   .weight_decay = 0.05,
                                   .clip_norm = 1,
                                   .lora = 3,
                                   .lora_alpha = 6};
    vt_notes notes = {0};
    vt_unscored unscored = {0};
    vt_checkpoint c = {.optimizer = &o, .notes = &notes, .unscored = &unscored};
    vt_tensors *batch = NULL;
    float losses[5], norms[5], targets[10] = {0}, *pixels;
    char *folder = vt_test_folder();
    uint64_t n;

    vt_check(vt_tensors_open(&expects, LORA "/expected.safetensors"));
    vt_check(vt_tensors_open(&batch, LORA "/batch.safetensors"));
    pixels = tensor(&n, batch, "%s", "pixel_values");
    vt_check(vt_model_open(&c.model, VT_DATA "/models/timm_vit"));
    c.folder = folder;
    c.trainer = lora_trainer(c.model, &o);
    start_as_peft(c.trainer);
    vt_targets(targets, (int64_t[]){1, 4}, 2, 5, 0);
    for (long i = 0; i < 5; i++) {
        double loss, norm;

        vt_check(vt_trainer_batch(&loss, c.trainer, pixels, targets));
        vt_check(vt_trainer_update(c.trainer, lr[i], i));
        vt_check(vt_trainer_grad_norm(&norm, c.trainer));
        losses[i] = (float)loss, norms[i] = (float)norm;
    }
    same(losses, "%s", "losses", 1e-5);
    same(norms, "%s", "grad_norms", 1e-4);
    for (size_t i = 0; i < vt_trainer_parameters(c.trainer); i++) {
        float *data = read_parameter(c.trainer, i, "");

        same(data, "after.%s", vt_trainer_parameter(c.trainer, i)->name, 1e-4);
        free(data);
    }
    vt_check(vt_checkpoint_save(&c, 5));
    check_model(folder);
    check_state(c);
    vt_trainer_free(c.trainer);
    vt_model_close(c.model);
    vt_tensors_free(batch);
    vt_tensors_free(expects);
    free(pixels);
    vt_test_remove(folder);
}
