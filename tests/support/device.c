/*
 * device.c - the device that tests run on.
 */
#include "support/device.h"

#include <criterion/criterion.h>
#include <stdlib.h>

vt_dev *vt_test_device(void)
{
    static vt_dev *dev;
    const char *select = getenv("VITCL_TEST_DEVICE");

    if (!dev)
        cr_assert_eq(vt_gemm_dev_open(&dev, select && *select ? select : "any"),
                     VITCL_OK, "%s", vt_message());
    return dev;
}

vt_queue *vt_test_queue(void)
{
    static vt_queue *q;

    if (!q)
        cr_assert_eq(vt_queue_new(&q, vt_test_device(), false), VITCL_OK, "%s",
                     vt_message());
    return q;
}

vt_buf *vt_test_floats(const float *data, size_t n)
{
    vt_buf *b = NULL;

    cr_assert_eq(vt_buf_new(&b, vt_test_device(), n * sizeof(float)), VITCL_OK,
                 "%s", vt_message());
    cr_assert_eq(
        data ? vt_buf_write(vt_test_queue(), b, 0, data, n * sizeof(float))
             : vt_buf_fill(vt_test_queue(), b, 0x7fc00000u),
        VITCL_OK, "%s", vt_message());
    /* Other queues may use it at once. */
    cr_assert_eq(vt_queue_finish(vt_test_queue()), VITCL_OK, "%s",
                 vt_message());
    return b;
}

void vt_test_read(float *out, vt_buf *b, size_t n)
{
    cr_assert_eq(vt_buf_read(vt_test_queue(), b, 0, out, n * sizeof(float)),
                 VITCL_OK, "%s", vt_message());
}
