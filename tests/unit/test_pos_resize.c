/*
 * test_pos_resize.c - resizing of positions against torch, timm and scipy
 * (tests/data/positions.safetensors, made by tools/golden_tiny.py).
 */
#include "models/pos_resize.h"
#include "weights/weights.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float *read_tensor(const vt_tensors *t, const char *name, size_t *n)
{
    const vt_tensor *x = vt_tensors_get(t, name);
    float *data;

    cr_assert_not_null(x, "%s", name);
    data = malloc(x->count * sizeof *data);
    cr_assert_eq(vt_tensor_f32(data, x), VITCL_OK);
    *n = x->count;
    return data;
}

static void expect_near(const float *got, const float *want, size_t n,
                        const char *name)
{
    for (size_t i = 0; i < n; i++)
        cr_assert(fabs((double)got[i] - want[i]) <= 2e-5, "%s[%zu]: %g not %g",
                  name, i, got[i], want[i]);
}

Test(pos_resize, grids)
{
    static const char *const rules[] = {"timm", "hf", "dinov2", "google"};
    static const vt_pos_rule rule[] = {VT_POS_TIMM, VT_POS_HF, VT_POS_DINOV2,
                                       VT_POS_GOOGLE};
    vt_tensors *t = NULL;
    int cases = 0;

    cr_assert_eq(vt_tensors_open(&t, VT_DATA "/positions.safetensors"),
                 VITCL_OK, "%s", vt_message());
    for (size_t i = 0; i < vt_tensors_count(t); i++) {
        int h, w, to_h, to_w;
        const char *name = vt_tensors_at(t, i)->name;
        if (sscanf(name, "in.%dx%d.%dx%d", &h, &w, &to_h, &to_w) != 4)
            continue;
        for (int k = 0; k < 4; k++, cases++) {
            char key[64];
            size_t n, m;
            snprintf(key, sizeof key, "%s%s", rules[k], name + 2);
            float *in = read_tensor(t, name, &n);
            float *want = read_tensor(t, key, &m);
            float *got = malloc(m * sizeof *got);
            cr_assert_eq(m, (size_t)(to_h * to_w * 3));
            cr_assert_eq(vt_pos_resize(got, in, h, w, to_h, to_w, 3, rule[k]),
                         VITCL_OK);
            expect_near(got, want, m, key);
            free(in), free(want), free(got);
        }
    }
    cr_expect_geq(cases, 16);
    vt_tensors_free(t);
}

Test(pos_resize, tables)
{
    vt_tensors *t = NULL;
    int cases = 0;

    cr_assert_eq(vt_tensors_open(&t, VT_DATA "/positions.safetensors"),
                 VITCL_OK, "%s", vt_message());
    for (size_t i = 0; i < vt_tensors_count(t); i++) {
        int h, w, to_h, to_w;
        const char *name = vt_tensors_at(t, i)->name;
        if (sscanf(name, "table.%dx%d.%dx%d", &h, &w, &to_h, &to_w) != 4)
            continue;
        for (int k = 0; k < 2; k++, cases++) {
            char key[64];
            size_t n, m;
            snprintf(key, sizeof key, "%s%s", k ? "geometric" : "bilinear",
                     name + 5);
            float *in = read_tensor(t, name, &n);
            float *want = read_tensor(t, key, &m);
            float *got = malloc(m * sizeof *got);
            cr_assert_eq(vt_table_resize(got, in, h, w, to_h, to_w, 3, 2, k),
                         VITCL_OK);
            expect_near(got, want, m, key);
            free(in), free(want), free(got);
        }
    }
    cr_expect_geq(cases, 6);
    vt_tensors_free(t);
}

/* By hand, 1 x 2 patches and a class token: offsets -1, 0, 1 are rows 0..2. */
Test(pos_resize, index)
{
    static const int want[9] = {5, 3, 3, 4, 1, 0, 4, 2, 1};
    int index[9];

    vt_table_index(index, 1, 2, 3);
    cr_expect_eq(memcmp(index, want, sizeof want), 0);
}
