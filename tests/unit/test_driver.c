/*
 * test_driver.c - drivers that fail once, fail permanently, have no clock or
 * print a lot.
 */
#include "api/program.h"
#include "support/driver.h"

#include "base/clock.h"
#include "ocl/objects.h"
#include "ops/ops.h"
#include "plan/plan_private.h"
#include "support/device.h"
#include "support/oneplan.h"
#include "support/skip.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static vt_plan *plan_of(vt_dev *dev, const char *gemm, bool profile, int n)
{
    static const char *const none[] = {NULL};
    const vt_plan_options o = {.dev = dev,
                               .gemm = gemm,
                               .times =
                                   profile ? VT_TIMES_STEPS : VT_TIMES_NONE,
                               .keep = none};
    vt_plan *p = NULL;
    vt_val x, w;
    float *data = calloc((size_t)(n * n), 4);

    vt_check(vt_plan_new(&p, &o));
    x = vt_input(p, "x", VT_F32, 2, (int[]){n, n});
    w = vt_input(p, "w", VT_F32, 2, (int[]){n, n});
    vt_keep(p, vt_linear(p, x,
                         (vt_linear_args){.w = w,
                                          .b = VT_NONE,
                                          .scale = VT_NONE,
                                          .residual = VT_NONE}));
    vt_check(vt_plan_finish(p));
    vt_check(vt_plan_write(p, x, data, (size_t)(n * n) * 4));
    vt_check(vt_plan_write(p, w, data, (size_t)(n * n) * 4));
    free(data);
    return p;
}

/* That launch fails; the next one succeeds. */
Test(driver, out_of_resources_once_is_a_failed_launch)
{
    vt_dev *dev = NULL;
    vt_plan *p;

    vt_check(vt_product_open(&dev, vt_dev_info(vt_test_device())->id));
    p = plan_of(dev, NULL, false, 8);
    vt_driver.launch = CL_OUT_OF_RESOURCES;
    cr_expect_eq(vt_plan_run(p, 0), VITCL_EDEVICE);
    cr_expect(strstr(vt_message(), "CL_OUT_OF_RESOURCES"), "%s", vt_message());
    vt_check(vt_plan_run(p, 0));
    vt_driver.finish = CL_OUT_OF_RESOURCES, vt_driver.finishes = 1;
    cr_expect_eq(vt_plan_run(p, 0), VITCL_EDEVICE);
    vt_check(vt_plan_run(p, 0));
    vt_plan_free(p);
    vt_dev_free(dev);
}

Test(driver, a_device_that_cannot_finish_is_lost)
{
    for (int in_launch = 0; in_launch < 2; in_launch++) {
        vt_dev *dev = NULL;
        vt_plan *p;
        vt_buf *b = NULL;

        vt_check(vt_product_open(&dev, vt_dev_info(vt_test_device())->id));
        p = plan_of(dev, NULL, false, 8);
        vt_driver.launch = in_launch ? CL_OUT_OF_RESOURCES : 0;
        vt_driver.finish = CL_OUT_OF_RESOURCES;
        vt_driver.finishes = in_launch ? 1 : 2;
        cr_expect_eq(vt_plan_run(p, 0), VITCL_EDEVICE);
        cr_expect_eq(vt_driver.finishes, 0);
        cr_expect_eq(vt_plan_run(p, 0), VITCL_EDEVICE);
        cr_expect(strstr(vt_message(), "open it again"), "%s", vt_message());
        cr_expect_eq(vt_buf_new(&b, dev, 64), VITCL_EDEVICE);
        vt_plan_free(p);
        vt_dev_free(dev);
    }
}

/* Tiles that a failed kernel had claimed are computed again. */
Test(driver, tiles_of_a_failed_kernel)
{
    enum { N = 64 };
    vt_dev *dev = NULL;
    float *out = malloc(N * N * sizeof *out);
    int with_shares = 0;
    vt_plan *p;
    vt_val y;

    vt_check(vt_product_open(&dev, vt_dev_info(vt_test_device())->id));
    p = plan_of(dev, "native", false, N);
    y = vt_plan_step(p, 0)->out[0];
    vt_driver.finish = CL_OUT_OF_RESOURCES, vt_driver.finishes = 1;
    cr_expect_eq(vt_plan_run(p, 0), VITCL_EDEVICE);
    for (int i = 0; i < 4; i++) {
        const vt_kernel *k = vt_plan_step(p, 0)->gemm->kernel[i];
        const cl_int taken = 1 << 20;

        if (!k || !k->taken)
            continue;
        cr_assert_eq(
            clEnqueueFillBuffer(p->queue->queue, k->taken, &taken, sizeof taken,
                                0, k->shares * sizeof taken, 0, NULL, NULL),
            CL_SUCCESS);
        with_shares++;
    }
    cr_expect(with_shares || !vt_dev_long_items(dev));
    vt_check(vt_buf_fill(p->queue, vt_value_of(p, y)->buf, 0x7fc00000));
    vt_check(vt_plan_run(p, 0));
    vt_check(vt_plan_read(p, y, out, N * N));
    for (int i = 0; i < N * N; i++)
        cr_assert_eq(out[i], 0, "%d: %g", i, (double)out[i]);
    vt_plan_free(p);
    vt_dev_free(dev);
    free(out);
}

/* A product that needs a program which cannot be built is not made. */
Test(driver, a_product_without_a_program)
{
    static const struct {
        const char *provider;
        vt_class class;
    } forms[] = {{"native", VT_CLASS_GPU}, {"plain", VT_CLASS_AUTO}};
    const vt_gemm_desc d = {.M = 37, .N = 65, .K = 70};
    vt_gemm_bufs bufs = {.a = vt_test_floats(NULL, 37 * 70),
                         .b = vt_test_floats(NULL, 65 * 70),
                         .c = vt_test_floats(NULL, 37 * 65)};

    setenv("VITCL_CACHE", "off", 1);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        vt_gemm_desc f = d;
        vt_gemm *g = NULL;
        vt_product x;

        f.device_class = forms[i].class;
        x = vt_test_product(forms[i].provider, &f);
        vt_driver.build = CL_OUT_OF_RESOURCES;
        cr_expect_eq(vt_product_bind(&g, vt_test_device(), &x, &bufs),
                     VITCL_EDEVICE, "%s", x.form->name);
        cr_expect_eq(vt_driver.build, 0, "%s: no program was built",
                     x.form->name);
        vt_gemm_free(g);
    }
    vt_buf_free(bufs.a);
    vt_buf_free(bufs.b);
    vt_buf_free(bufs.c);
}

/* CLBlast returns the event of its last kernel only, so the host's clock
 * measures all of them. */
Test(driver, clblast_is_timed_whole)
{
    const vt_gemm_desc d = {.M = 37, .N = 65, .K = 70};
    vt_dev *dev = vt_test_device();
    vt_queue *q = NULL;
    vt_gemm *g = NULL;
    const char *name;
    vt_gemm_bufs bufs = {.a = NULL};
    vt_product x;

    if (vt_product_provider(&name, dev, "clblast") != VITCL_OK)
        vt_skip("no CLBlast here");
    bufs.a = vt_test_floats(NULL, 37 * 70);
    bufs.b = vt_test_floats(NULL, 65 * 70);
    bufs.c = vt_test_floats(NULL, 37 * 65);
    vt_check(vt_queue_new(&q, dev, VT_TIMES_STEPS));
    x = vt_test_product("clblast", &d);
    if (x.temp_bytes)
        vt_check(vt_buf_new(&bufs.temp, dev, x.temp_bytes));
    vt_check(vt_product_bind(&g, dev, &x, &bufs));
    vt_driver.no_clock = true;
    for (int i = 0; i < 2; i++) { /* a second time: the clock starts anew */
        const double from = vt_now_ms();
        double ms;

        vt_check(vt_gemm_launch(q, g));
        ms = vt_queue_time_ms(q);
        cr_expect_gt(ms, 0.001);
        cr_expect_leq(ms, vt_now_ms() - from);
        cr_expect_eq(vt_queue_time_ms(q), 0);
    }
    vt_driver.no_clock = false;
    vt_gemm_free(g);
    vt_queue_free(q);
    vt_buf_free(bufs.a);
    vt_buf_free(bufs.b);
    vt_buf_free(bufs.c);
    vt_buf_free(bufs.temp);
}

/* A driver that reports 1 ns for every event: the host's clock is used. */
Test(driver, impossible_times_are_not_shown)
{
    vt_plan *p = plan_of(vt_test_device(), "plain", true, 64);
    double sum = 0, from, wall;

    for (int fake = 0; fake < 2; fake++) {
        vt_driver.no_clock = fake;
        from = vt_now_ms();
        vt_check(vt_plan_run(p, 0));
        wall = vt_now_ms() - from;
        sum = 0;
        for (int i = 0; i < vt_plan_steps(p); i++)
            sum += vt_plan_step(p, i)->time_ms;
        cr_expect_gt(sum, 0);
        cr_expect_leq(sum, 1.1 * wall);
        if (fake)
            cr_expect_gt(sum, 0.01 * wall);
    }
    vt_driver.no_clock = false;
    vt_plan_free(p);
}

/* Device strings of maximum length are not truncated. */
Test(driver, strings_are_not_truncated)
{
    vitcl_device_info info;
    char text[256] = "OpenCL 3.0 ";

    memset(text + 11, 'x', 240);
    vt_driver.version = text;
    vt_check(vt_product_list(&info, 0));
    cr_expect_str_eq(info.version, text);
    vt_driver.version = NULL;
}

/* After a failed run nothing can be read as an answer. */
Test(driver, a_failed_run_has_no_answer)
{
    const vitcl_session_options o = {
        .size = sizeof o, .height = 32, .width = 32};
    static uint8_t rgb[32 * 32 * 3];
    static float first[1000], again[1000];
    vitcl_device *device = NULL;
    vitcl_model *model = NULL;
    vitcl_session *s = NULL;

    vt_check(vitcl_device_open(&device, getenv("VITCL_TEST_DEVICE")));
    vt_check(vitcl_model_new(&model, device, "vit-ti/16", 0));
    vt_check(vitcl_session_new(&s, model, &o));
    vt_check(vitcl_session_run_rgb(s, rgb, 1));
    vt_check(vitcl_session_read(first, 1000, s, "logits", 1));
    vt_driver.launch = CL_OUT_OF_RESOURCES;
    cr_expect_eq(vitcl_session_run_rgb(s, rgb, 1), VITCL_EDEVICE);
    cr_expect_eq(vitcl_session_read(again, 1000, s, "logits", 1), VITCL_EINVAL);
    cr_expect_eq(vt_session_check(s, "logits", 0), VITCL_EINVAL);
    vt_check(vitcl_session_run_rgb(s, rgb, 1));
    vt_check(vitcl_session_read(again, 1000, s, "logits", 1));
    cr_expect_eq(memcmp(first, again, sizeof first), 0);
    vitcl_session_free(s);
    vitcl_model_free(model);
    vitcl_device_free(device);
}
