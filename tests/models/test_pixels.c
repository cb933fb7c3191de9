/*
 * test_pixels.c - a model's input as f32 gives the answers of the pictures that
 * it was made of, also where a GPU's plan stores other values in 16 bits.
 */
#include "support/device.h"
#include "support/near.h"
#include "support/paths.h"

#include <vitcl.h>

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 24, PLANE = SIDE * SIDE, PICTURE = 3 * PLANE, CLASSES = 5 };

static void need(vitcl_status st)
{
    cr_assert_eq(st, VITCL_OK, "%s", vitcl_last_error());
}

/* The model's pixels are (v / 255 - 0.5) / 0.5. */
static void compare(const char *class, vitcl_precision precision,
                    double tolerance)
{
    const vitcl_session_options o = {.size = sizeof o,
                                     .batch = 2,
                                     .height = SIDE,
                                     .width = SIDE,
                                     .gemm = "native",
                                     .precision = precision};
    static uint8_t rgb[2 * PICTURE];
    static float pixels[2 * PICTURE], a[2 * CLASSES], b[2 * CLASSES];
    vitcl_device *device = NULL;
    vitcl_model *model = NULL;
    vitcl_session *s = NULL;
    double most = 0, off = 0;

    setenv("VITCL_DEVICE_CLASS", class, 1);
    vt_test_class(strcmp(class, "gpu") == 0 ? VT_CLASS_GPU : VT_CLASS_CPU);
    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = (uint8_t)((i + 1) * 2654435761u >> 13);
    for (size_t n = 0; n < 2; n++)
        for (size_t i = 0; i < PLANE; i++)
            for (size_t c = 0; c < 3; c++)
                pixels[n * PICTURE + c * PLANE + i] =
                    (float)(rgb[n * PICTURE + i * 3 + c] / 255.0 - 0.5) * 2;
    need(vitcl_device_open(&device, NULL));
    need(vitcl_model_load(&model, device, VT_DATA "/models/timm_vit"));
    need(vitcl_session_new(&s, model, &o));
    need(vitcl_session_run_rgb(s, rgb, 2));
    need(vitcl_session_read(a, 2 * CLASSES, s, "logits", 2));
    need(vitcl_session_run_values(s, pixels, 2));
    need(vitcl_session_read(b, 2 * CLASSES, s, "logits", 2));
    for (size_t i = 0; i < 2 * CLASSES; i++) {
        most = fmax(most, fabs((double)a[i]));
        off = vt_worse(off, fabs((double)a[i] - (double)b[i]));
    }
    cr_expect_gt(most, 0);
    cr_expect_lt(off, tolerance * most);
    vitcl_session_free(s);
    vitcl_model_free(model);
    vitcl_device_free(device);
}

Test(pixels, are_rgb_normalised)
{
    compare("cpu", VITCL_F32, 1e-4);
}

/* A last bit of f32 may round a value in 16 bits otherwise. */
Test(pixels, beside_halves)
{
    compare("gpu", VITCL_F16, 0.01);
    compare("gpu", VITCL_BF16, 0.03);
}
