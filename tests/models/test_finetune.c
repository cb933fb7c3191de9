/*
 * test_finetune.c - fine-tuning as timm does it: tools/golden_finetune.py.
 */
#include "base/memory.h"
#include "models/model.h"
#include "ops/ops.h"
#include "support/oneplan.h"
#include "train/update.h"

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
