/*
 * test_device.c - devices (list, select, open), buffers, kernels, queues. The
 * kernels are the test's own, read through VITCL_CL_DIR.
 */
#include "support/device.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_message(const char *part)
{
    cr_expect(strstr(vt_message(), part), "\"%s\" is not in \"%s\"", part,
              vt_message());
}

Test(device, list_and_choose)
{
    vitcl_device_info info;
    vt_dev *dev = NULL;
    uint32_t n = 0;
    char name[256];

    while (vt_product_list(&info, n) == VITCL_OK) {
        cr_expect(strchr(info.id, ':'), "%s", info.id);
        if (!info.error[0]) {
            cr_expect(info.name[0] && info.platform[0] && info.driver[0] &&
                      info.version[0] && info.type[0] && info.gemm[0]);
            cr_expect(info.compute_units > 0 && info.memory_bytes > 0 &&
                      info.max_alloc_bytes > 0 && info.local_bytes > 0);
            cr_expect_eq(strncmp(info.opencl_c, "OpenCL C", 8), 0, "%s",
                         info.opencl_c);
        }
        n++;
    }
    cr_assert_gt(n, 0, "%s", vt_message());
    cr_expect_eq(vt_product_list(&info, n), VITCL_ENODEVICE);

    dev = vt_test_device();
    info = *vt_dev_info(dev);
    const vt_class class = vt_dev_class(dev);
    cr_expect(class == VT_CLASS_CPU || class == VT_CLASS_GPU);
    cr_expect_eq(class == VT_CLASS_CPU, strcmp(info.type, "cpu") == 0);
    const int lanes = vt_dev_vector(dev);
    cr_expect(lanes == 4 || lanes == 8 || lanes == 16);
    cr_expect(vt_dev_align(dev) >= 64 &&
              (vt_dev_align(dev) & (vt_dev_align(dev) - 1)) == 0);
    cr_expect(vt_dev_group_max(dev) >= 1);

    /* By id, by type and by the environment. */
    cr_expect_eq(vt_product_open(&dev, info.id), VITCL_OK, "%s", vt_message());
    cr_expect_str_eq(vt_dev_info(dev)->id, info.id);
    vt_dev_free(dev);
    setenv("VITCL_DEVICE", info.id, 1);
    cr_expect_eq(vt_product_open(&dev, NULL), VITCL_OK, "%s", vt_message());
    cr_expect_str_eq(vt_dev_info(dev)->id, info.id);
    vt_dev_free(dev);
    setenv("VITCL_DEVICE", "no such thing", 1);
    cr_expect_eq(vt_product_open(&dev, NULL), VITCL_ENODEVICE);
    unsetenv("VITCL_DEVICE");
    cr_expect_eq(vt_product_open(&dev, info.type), VITCL_OK, "%s",
                 vt_message());
    cr_expect_str_eq(vt_dev_info(dev)->type, info.type);
    vt_dev_free(dev);

    /* By part of the name, whatever its case. */
    snprintf(name, sizeof name, "%s", info.name);
    for (char *c = name; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
    if (vt_product_open(&dev, name) == VITCL_OK) {
        cr_expect_str_eq(vt_dev_info(dev)->name, info.name);
        vt_dev_free(dev);
    } else {
        expect_message("more than one");
    }

    /* The error for an unknown device lists the existing ones. */
    cr_expect_eq(vt_product_open(&dev, "zzz9"), VITCL_ENODEVICE);
    expect_message("zzz9");
    expect_message(info.name);
    cr_expect_eq(vt_product_open(&dev, "97:98"), VITCL_ENODEVICE);
    vt_dev_free(NULL);
}

/* In a separate process, where the OpenCL loader finds no driver. */
Test(device, none, .fini = vt_test_tidy)
{
    vt_dev *dev = NULL;
    vitcl_device_info info;

    setenv("OCL_ICD_VENDORS", vt_test_folder(), 1);
    setenv("OPENCL_VENDOR_PATH", "/nonexistent/", 1);
    cr_expect_eq(vt_product_open(&dev, NULL), VITCL_ENODEVICE);
    expect_message("pocl-opencl-icd");
    cr_expect_eq(vt_product_list(&info, 0), VITCL_ENODEVICE);
    expect_message("pocl-opencl-icd");
}

Test(device, buffers)
{
    vt_dev *dev = vt_test_device();
    vt_queue *q = vt_test_queue();
    vt_buf *b = NULL, *v = NULL, *w = NULL;
    const size_t a = vt_dev_align(dev);
    unsigned char bytes[4096], got[4096];

    cr_assert_leq(3 * a, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 256);
    cr_assert_eq(vt_buf_new(&b, dev, 3 * a - 1), VITCL_OK, "%s", vt_message());
    cr_expect_eq(vt_buf_size(b), 3 * a - 1);
    cr_assert_eq(vt_buf_write(q, b, 0, bytes, 3 * a - 1), VITCL_OK);
    cr_expect_eq(vt_buf_write(q, b, 1, bytes, 3 * a - 1), VITCL_EINVAL);
    cr_expect_eq(vt_buf_write(q, b, 3 * a, bytes, 0), VITCL_EINVAL);
    cr_expect_eq(vt_buf_read(q, b, 0, got, SIZE_MAX), VITCL_EINVAL);

    /* A sub-buffer of a sub-buffer, which outlives both. */
    cr_assert_eq(vt_buf_view(&v, b, a, 2 * a - 1), VITCL_OK, "%s",
                 vt_message());
    cr_assert_eq(vt_buf_view(&w, v, a, a - 1), VITCL_OK, "%s", vt_message());
    cr_expect_eq(vt_buf_view(&v, b, 1, 4), VITCL_EINVAL);
    cr_expect_eq(vt_buf_view(&v, b, 0, 3 * a), VITCL_EINVAL);
    cr_expect_eq(vt_buf_view(&v, w, a, 1), VITCL_EINVAL);
    vt_buf_free(v);
    cr_assert_eq(vt_buf_read(q, w, 0, got, a - 1), VITCL_OK);
    cr_expect_arr_eq(got, bytes + 2 * a, a - 1);
    cr_assert_eq(vt_buf_fill(q, w, 0x04030201u), VITCL_OK);
    cr_assert_eq(vt_buf_read(q, b, 0, got, 3 * a - 1), VITCL_OK);
    cr_expect_arr_eq(got, bytes, 2 * a);
    for (size_t i = 0; i < a - 1; i++)
        cr_expect_eq(got[2 * a + i], i % 4 + 1);
    vt_buf_free(b);
    cr_assert_eq(vt_buf_read(q, w, 0, got, 4), VITCL_OK);
    vt_buf_free(w);
    vt_buf_free(NULL);

    cr_expect_eq(vt_buf_new(&b, dev, SIZE_MAX), VITCL_ENOMEM);
    if (vt_dev_info(dev)->max_alloc_bytes < SIZE_MAX / 2)
        cr_expect_eq(
            vt_buf_new(&b, dev, (size_t)vt_dev_info(dev)->max_alloc_bytes + 4),
            VITCL_ENOMEM);
    expect_message(vt_dev_info(dev)->name);
}

static char folder[256];

static void put_kernels(void)
{
    snprintf(folder, sizeof folder, "%s", vt_test_folder());
    vt_test_kernels(folder, "#define ONE 1.0f\n");
    vt_test_kernel(
        folder, "good",
        "#ifndef ADD\n#define ADD 1\n#endif\n"
        "kernel void good(global float *out, global const float *x,\n"
        "                 float f, int n)\n"
        "{\n    const int i = get_global_id(0);\n"
        "    if (i < n)\n"
        "        out[i] = (x ? x[i] : 0) * f + ADD * ONE;\n}\n");
    vt_test_kernel(folder, "bad",
                   "kernel void bad(global float *out)\n{\n"
                   "    out[0] = no_such_name;\n}\n");
}

static void *make_kernel(void *arg)
{
    vt_kernel *k = NULL;

    if (vt_kernel_new(&k, vt_test_device(), "good", "good", "-DADD=5") !=
        VITCL_OK)
        return arg;
    vt_kernel_free(k);
    return NULL;
}

Test(device, kernels, .fini = vt_test_tidy)
{
    vt_dev *dev = vt_test_device();
    vt_queue *q = NULL;
    vt_kernel *k = NULL, *l = NULL;
    const float x[5] = {0, 1, 2, 3, 4};
    float y[5];
    pthread_t threads[4];

    setenv("VITCL_CACHE", "off", 1);
    put_kernels();
    vt_buf *in = vt_test_floats(x, 5), *out = vt_test_floats(NULL, 5);
    cr_assert_eq(vt_queue_new(&q, dev, VT_TIMES_STEPS), VITCL_OK, "%s",
                 vt_message());
    cr_assert_eq(vt_kernel_new(&k, dev, "good", "good", ""), VITCL_OK, "%s",
                 vt_message());
    cr_assert_eq(vt_kernel_buf(k, 0, out), VITCL_OK);
    cr_assert_eq(vt_kernel_buf(k, 1, in), VITCL_OK);
    cr_assert_eq(vt_kernel_float(k, 2, 10.0f), VITCL_OK);
    cr_assert_eq(vt_kernel_int(k, 3, 4), VITCL_OK);
    cr_expect_eq(vt_kernel_int(k, 4, 4), VITCL_EDEVICE);
    expect_message("CL_INVALID_ARG_INDEX");
    vt_kernel_size(k, 1, (size_t[3]){8}, (size_t[3]){4});
    cr_assert_eq(vt_kernel_launch(q, k), VITCL_OK, "%s", vt_message());
    cr_expect_geq(vt_queue_time_ms(q), 0);
    vt_test_read(y, out, 5);
    for (int i = 0; i < 4; i++)
        cr_expect_eq(y[i], x[i] * 10 + 1);
    cr_expect(isnan(y[4]));

    /* What no GPU can launch is refused, whatever this driver would do. */
    vt_kernel_size(k, 2, (size_t[3]){2, 65536}, (size_t[3]){2, 1});
    cr_expect_eq(vt_kernel_launch(q, k), VITCL_EUNSUPPORTED);
    expect_message("65536 work-groups in dimension 1");
    vt_kernel_size(k, 2, (size_t[3]){65536, 2}, (size_t[3]){1, 2});
    cr_expect_eq(vt_kernel_launch(q, k), VITCL_OK, "%s", vt_message());
    vt_kernel_size(k, 1, (size_t[3]){1 << 20}, (size_t[3]){1 << 20});
    cr_expect_eq(vt_kernel_launch(q, k), VITCL_EDEVICE);
    expect_message("groups of 1048576 work-items");

    /* Kernels of one program have separate arguments; NULL is a valid buffer
     * argument. */
    const vt_counters before = vt_dev_counters(dev);
    cr_assert_eq(vt_kernel_new(&l, dev, "good", "good", ""), VITCL_OK);
    cr_expect_eq(vt_dev_counters(dev).programs_built, before.programs_built);
    cr_expect_eq(vt_dev_counters(dev).kernels_made, before.kernels_made + 1);
    cr_assert_eq(vt_kernel_buf(l, 0, out), VITCL_OK);
    cr_assert_eq(vt_kernel_buf(l, 1, NULL), VITCL_OK);
    cr_assert_eq(vt_kernel_float(l, 2, 0.0f), VITCL_OK);
    cr_assert_eq(vt_kernel_int(l, 3, 5), VITCL_OK);
    vt_kernel_size(l, 1, (size_t[3]){5}, (size_t[3]){0});
    cr_assert_eq(vt_kernel_launch(q, l), VITCL_OK, "%s", vt_message());
    cr_assert_eq(vt_queue_finish(q), VITCL_OK);
    vt_test_read(y, out, 5);
    cr_expect_eq(y[4], 1);

    /* Many threads that need the same program build it once. */
    for (int i = 0; i < 4; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, make_kernel, q), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        cr_expect_null(failed);
    }
    cr_expect_eq(vt_dev_counters(dev).programs_built,
                 before.programs_built + 1);
    vt_kernel_free(k);
    vt_kernel_free(l);
    vt_queue_free(q);
    vt_buf_free(in);
    vt_buf_free(out);

    /* Errors name the file and the call. */
    cr_expect_eq(vt_kernel_new(&k, dev, "bad", "bad", ""), VITCL_EDEVICE);
    expect_message("no_such_name");
    expect_message("cl/bad.cl");
    cr_expect_eq(vt_kernel_new(&k, dev, "good", "missing", ""), VITCL_EDEVICE);
    expect_message("missing");
    cr_expect_eq(vt_kernel_new(&k, dev, "absent", "absent", ""), VITCL_EIO);
    unsetenv("VITCL_CL_DIR");
    cr_expect_eq(vt_kernel_new(&k, dev, "absent", "absent", ""),
                 VITCL_EUNSUPPORTED);
}

/* Large buffers may use our own pages, and kernels may read what the host
 * fills: the bytes are the same. */
Test(device, pages)
{
    enum { N = 3 << 18 }; /* 3 MiB of floats */
    vt_dev *dev = vt_test_device();
    vt_queue *q = vt_test_queue();
    float *data = malloc(N * sizeof *data), *back = malloc(N * sizeof *back);
    vt_buf *b = NULL, *part = NULL;
    vt_slot *slot = NULL;
    void *host;

    cr_assert(data && back);
    for (int i = 0; i < N; i++)
        data[i] = (float)i;
    cr_assert_eq(vt_buf_new(&b, dev, N * sizeof *data), VITCL_OK);
    cr_assert_eq(vt_buf_write(q, b, 0, data, N * sizeof *data), VITCL_OK);
    cr_assert_eq(vt_buf_view(&part, b, N * 2, N * 2), VITCL_OK);
    vt_buf_large_pages(b);
    vt_buf_large_pages(part);
    vt_buf_free(b); /* the window keeps it */
    cr_assert_eq(vt_buf_read(q, part, 0, back, N * 2), VITCL_OK);
    cr_expect_eq(memcmp(back, data + N / 2, N * 2), 0);
    vt_buf_free(part);
    for (int turn = 0; turn < 2 && (slot || vt_slot_new(&slot, q, 4096));
         turn++) {
        cr_assert_eq(vt_slot_fill(&host, slot), VITCL_OK);
        memcpy(host, data + turn, 4096);
        cr_assert_eq(vt_slot_give(slot), VITCL_OK);
        cr_assert_eq(vt_buf_read(q, vt_slot_buf(slot), 0, back, 4096),
                     VITCL_OK);
        cr_expect_eq(memcmp(back, data + turn, 4096), 0);
        cr_assert_eq(vt_slot_back(slot), VITCL_OK);
    }
    vt_slot_free(slot);
    free(data);
    free(back);
}
