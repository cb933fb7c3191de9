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

/* From size[0] x size[1] to size[2] x size[3], 3 channels, by rule k. */
typedef vitcl_status (*resize)(float *out, const float *in, const int size[4],
                               int k);

static vitcl_status resize_grid(float *out, const float *in, const int size[4],
                                int k)
{
    static const vt_pos_rule rules[] = {
        VT_POS_TIMM,   VT_POS_HF,     VT_POS_OFFSET, VT_POS_GOOGLE,
        VT_POS_LINEAR, VT_POS_SMOOTH, VT_POS_TIMM /* of a square */};

    return vt_pos_resize(out, in, size[0], size[1], size[2], size[3], 3,
                         rules[k], k == 6);
}

static vitcl_status resize_table(float *out, const float *in, const int size[4],
                                 int k)
{
    return vt_table_resize(out, in, size[0], size[1], size[2], size[3], 3, 2,
                           k);
}

/* Tensors "<kind>.<size>" are inputs, "<rule>.<size>" expected results. Returns
 * the number of comparisons. */
static int check_all(const char *kind, const char *const *rules, resize f)
{
    vt_tensors *t = NULL;
    int cases = 0;

    cr_assert_eq(vt_tensors_open(&t, VT_DATA "/positions.safetensors"),
                 VITCL_OK, "%s", vt_message());
    for (size_t i = 0; i < vt_tensors_count(t); i++) {
        const char *name = vt_tensors_at(t, i)->name;
        const char *sizes = name + strlen(kind);
        int size[4];

        if (strncmp(name, kind, strlen(kind)) != 0 ||
            sscanf(sizes, ".%dx%d.%dx%d", &size[0], &size[1], &size[2],
                   &size[3]) != 4)
            continue;
        for (int k = 0; rules[k]; k++, cases++) {
            char key[64];
            size_t n, m;

            snprintf(key, sizeof key, "%s%s", rules[k], sizes);
            float *in = read_tensor(t, name, &n);
            float *want = read_tensor(t, key, &m);
            float *got = malloc(m * sizeof *got);
            cr_assert_eq(f(got, in, size, k), VITCL_OK);
            expect_near(got, want, m, key);
            free(in), free(want), free(got);
        }
    }
    vt_tensors_free(t);
    return cases;
}

Test(pos_resize, grids)
{
    static const char *const rules[] = {"timm",   "hf",     "dinov2", "google",
                                        "linear", "smooth", "square", NULL};

    cr_expect_geq(check_all("in", rules, resize_grid), 28);
}

Test(pos_resize, tables)
{
    static const char *const rules[] = {"bilinear", "geometric", NULL};

    cr_expect_geq(check_all("table", rules, resize_table), 6);
}

/* By hand, 1 x 2 patches and a class token: offsets -1, 0, 1 are rows 0..2. */
Test(pos_resize, index)
{
    static const int want[9] = {5, 3, 3, 4, 1, 0, 4, 2, 1};
    int index[9];

    vt_table_index(index, 1, 2, 3);
    cr_expect_eq(memcmp(index, want, sizeof want), 0);
}
