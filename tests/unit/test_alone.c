/*
 * test_alone.c - with PoCL, a kernel's first launch with a size runs alone,
 * later ones beside those of other queues.
 */
#include "ocl/objects.h"
#include "support/device.h"
#include "support/oneplan.h"
#include "support/pictures.h"
#include "support/skip.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONG = 1 << 26, LARGE = 8 };

typedef struct lane {
    vt_queue *q;
    vt_kernel *k;
    vt_buf *b;
} lane;

static void open_lane(lane *l, vt_dev *dev)
{
    vt_check(vt_queue_new(&l->q, dev, VT_TIMES_STEPS));
    vt_check(vt_buf_new(&l->b, dev, LARGE * sizeof(float)));
    vt_check(vt_kernel_new(&l->k, dev, "k", "k", ""));
    vt_check(vt_kernel_buf(l->k, 0, l->b));
}

static void launch(lane *l, int rounds, size_t items)
{
    const size_t one[3] = {1, 1, 1};

    vt_check(vt_kernel_int(l->k, 1, rounds));
    if (items)
        vt_kernel_size(l->k, 1, (size_t[3]){items, 1, 1}, one);
    vt_check(vt_kernel_launch(l->q, l->k));
    vt_check(vt_queue_flush(l->q));
}

static bool done(const lane *l)
{
    cl_int status = CL_QUEUED;

    cr_assert_gt(l->q->n_events, 0);
    clGetEventInfo(l->q->events[l->q->n_events - 1],
                   CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                   NULL);
    return status == CL_COMPLETE;
}

static void close_lane(lane *l)
{
    vt_kernel_free(l->k);
    vt_buf_free(l->b);
    vt_queue_free(l->q);
}

Test(alone, first_launches)
{
    const char *folder = vt_test_folder();
    vt_dev *dev = NULL;
    lane a = {.q = NULL}, b = {.q = NULL};

    vt_test_kernels(folder, "");
    vt_test_kernel(folder, "k",
                   "kernel void k(global float *out, int rounds)\n{\n"
                   "    float x = 1 + get_global_id(0);\n"
                   "    for (int i = 0; i < rounds; i++)\n"
                   "        x = 1 / (1 + x);\n"
                   "    out[get_global_id(0)] = x;\n}\n");
    vt_check(vt_product_open(&dev, vt_dev_info(vt_test_device())->id));
    if (!vt_dev_pocl(dev)) {
        vt_dev_free(dev);
        vt_skip("not PoCL");
    }
    open_lane(&a, dev);
    launch(&a, LONG, 1);
    cr_expect(!done(&a), "a single queue does not wait");
    open_lane(&b, dev);
    launch(&b, 1, 1);
    cr_expect(done(&a), "the first launch waits for other queues");
    cr_expect(done(&b), "other queues wait for the first launch");

    launch(&a, LONG, 0);
    launch(&b, 1, 0);
    cr_expect(!done(&a), "later launches wait for nobody");
    launch(&b, 1, LARGE);
    cr_expect(done(&a), "another size is a first launch");
    cr_expect(done(&b));
    close_lane(&a);
    launch(&b, LONG, 1);
    cr_expect(!done(&b), "a queue that was freed is waited for");
    close_lane(&b);
    vt_dev_free(dev);
    vt_test_tidy();
}

/* Another thread's turn never ends in a forked process. */
Test(alone, a_fork_can_free, .timeout = 60)
{
    vt_dev *dev = NULL;
    vt_queue *q = NULL;
    int status = 0;
    bool alone;
    pid_t pid;

    vt_check(vt_product_open(&dev, vt_dev_info(vt_test_device())->id));
    vt_check(vt_queue_new(&q, dev, VT_TIMES_NONE));
    alone = vt_alone_begin(q, false);
    pid = fork();
    if (pid == 0) {
        vt_queue_free(q);
        _exit(0);
    }
    vt_alone_end(q, alone);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_expect_eq(status, 0);
    vt_queue_free(q);
    vt_dev_free(dev);
}
