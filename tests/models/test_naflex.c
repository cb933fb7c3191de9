/*
 * test_naflex.c - a session of pictures of any aspect ratio: each gets what it
 * gets alone, whatever else is in its batch, and more grids than are kept are
 * no error.
 */
#include "api/handles.h"
#include "api/program.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <vitcl.h>

enum { SHAPES = 30, COUNT = 64, FEATURES = 16 };

static vitcl_device *device;
static vitcl_model *model;

static void need(vitcl_status st)
{
    cr_assert_eq(st, VITCL_OK, "%s", vitcl_last_error());
}

static void open_all(void)
{
    need(vitcl_device_open(&device, NULL));
    need(vitcl_model_load(&model, device, VT_DATA "/models/hf_naflex"));
}

static void close_all(void)
{
    vitcl_model_free(model);
    vitcl_device_free(device);
}

static vitcl_session *session_of(uint32_t batch)
{
    const vitcl_session_options o = {.size = sizeof o, .batch = batch};
    vitcl_session *s = NULL;

    need(vitcl_session_new(&s, model, &o));
    return s;
}

static vitcl_image picture(uint32_t width, uint32_t height, unsigned seed)
{
    vitcl_image p = {width, height, malloc((size_t)width * height * 3)};

    for (size_t i = 0; i < (size_t)width * height * 3; i++)
        p.rgb[i] = (uint8_t)((i + seed) * 2654435761u >> 13);
    return p;
}

Test(naflex, batches, .init = open_all, .fini = close_all)
{
    vitcl_session *one = session_of(1), *many = session_of(7);
    vitcl_image image[COUNT];
    static float want[COUNT][FEATURES], got[COUNT][FEATURES];

    cr_assert_eq(vt_model_most_patches(model), 40);
    cr_assert_eq(vitcl_session_features(one), FEATURES);
    for (unsigned i = 0; i < COUNT; i++) {
        const uint32_t k = i * i % SHAPES;

        image[i] = picture(20 + 9 * k, 120, i);
        need(vitcl_embed(want[i], one, &image[i], 1));
    }
    need(vitcl_embed(got[0], many, image, COUNT));
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < FEATURES; k++)
            cr_assert(fabs((double)(got[i][k] - want[i][k])) < 1e-4,
                      "picture %d: %g not %g", i, (double)got[i][k],
                      (double)want[i][k]);
    cr_expect(memcmp(want[0], want[1], sizeof want[0]) != 0);
    for (unsigned i = 0; i < COUNT; i++)
        vitcl_image_free(&image[i]);
    vitcl_session_free(one);
    vitcl_session_free(many);
}

static void count_plans(void *context, const char *line)
{
    if (strncmp(line, "plan: ", 6) == 0)
        ++*(int *)context;
}

/* How many plans it makes for a picture of shape k, each with a grid of its
 * own. */
static int plans_for(vitcl_session *s, unsigned k)
{
    static const uint32_t widths[] = {30, 40, 80, 180, 260, 400, 900};
    static float out[FEATURES];
    vitcl_image image = picture(widths[k], 120, k);
    int made = 0;

    vitcl_log_set(count_plans, &made);
    need(vitcl_embed(out, s, &image, 1));
    vitcl_log_set(NULL, NULL);
    vitcl_image_free(&image);
    return made;
}

/* Plans are kept while they fit the device's memory. */
Test(naflex, memory, .init = open_all, .fini = close_all)
{
    vitcl_session *s = session_of(1);
    uint64_t *memory =
        (uint64_t *)(uintptr_t)&vt_dev_info(model->dev)->memory_bytes;
    const uint64_t own = vt_plan_memory_of(s->plan).arena,
                   weights = vt_model_parameters(model->model) * sizeof(float);

    for (unsigned k = 0; k < 5; k++)
        cr_expect_eq(plans_for(s, k), 1, "shape %u", k);
    cr_expect_eq(plans_for(s, 0), 0);
    *memory = weights + 4 * own; /* two or three beside the session's own */
    cr_expect_eq(plans_for(s, 5), 1);
    cr_expect_eq(plans_for(s, 5), 0);
    cr_expect_eq(plans_for(s, 0), 0, "the last one before");
    cr_expect_eq(plans_for(s, 1), 1, "one that was not used for longest");
    *memory = 0;
    cr_expect_eq(plans_for(s, 6), 1);
    cr_expect_eq(plans_for(s, 6), 0);
    cr_expect_eq(plans_for(s, 1), 1);
    vitcl_session_free(s);
}

/* The size is that of a buffer; what was not prepared is refused. */
Test(naflex, wrong_use, .init = open_all, .fini = close_all)
{
    static const char *const keep[] = {"block.0", NULL};
    const vitcl_session_options kept = {.size = sizeof kept, .keep = keep};
    vitcl_session *s = session_of(2), *no = NULL;
    vitcl_image image = picture(50, 20, 1), ready = {0, 0, NULL};
    uint32_t height = 0, width = 0;
    static float pixels[3 * 48 * 48], out[FEATURES];
    uint8_t *zeros;

    vitcl_session_size(&height, &width, s);
    need(vitcl_image_prepare(&ready, s, &image));
    cr_expect(ready.height == height && ready.width == width);
    need(vitcl_session_run_rgb(s, ready.rgb, 1));
    need(vitcl_session_read(out, FEATURES, s, "features", 1));
    cr_expect_eq(vt_session_check(s, "features", 0), VITCL_OK);
    cr_expect_eq(vitcl_session_read(out, FEATURES - 1, s, "features", 1),
                 VITCL_EINVAL);
    zeros = calloc((size_t)height * width, 3);
    cr_expect_eq(vitcl_session_run_rgb(s, zeros, 1), VITCL_EINVAL);
    cr_expect(strstr(vitcl_last_error(), "vitcl_image_prepare"), "%s",
              vitcl_last_error());
    cr_expect_eq(vitcl_session_run_values(s, pixels, 1), VITCL_EINVAL);
    cr_expect_eq(vitcl_session_new(&no, model, &kept), VITCL_EUNSUPPORTED);
    cr_expect_null(no);
    cr_expect_eq(vt_model_set_most_patches(model, 0), VITCL_EINVAL);
    cr_expect_eq(vt_model_set_most_patches(model, 99999), VITCL_EINVAL);
    need(vt_model_set_most_patches(model, 9));
    cr_expect_eq(vt_model_most_patches(model), 9);
    free(zeros);
    vitcl_image_free(&image);
    vitcl_image_free(&ready);
    vitcl_session_free(s);
}
