/*
 * test_normalise.c - 8-bit pictures to floats.
 */
#include "ref/ref.h"
#include "support/device.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>

static const float mean[] = {0.485f, 0.456f, 0.406f},
                   std[] = {0.229f, 0.224f, 0.225f};

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    (void)c;
    return vt_normalise(p, in[0], 1.0f / 255, mean, std);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;
    double m[3], s[3];

    for (int i = 0; i < 3; i++)
        m[i] = (double)mean[i], s[i] = (double)std[i];
    ref_normalise(out, in[0], d[0], d[1], d[2], 1.0 / 255, m, s);
}

Test(normalise, all)
{
    static const vt_case cases[] = {
        {.name = "1x1",
         .in = {{.rank = 4, .dim = {1, 1, 1, 3}, .u8 = true, .fixed = true}},
         .no_grad = true},
        {.name = "2 of 7x13",
         .in = {{.rank = 4, .dim = {2, 7, 13, 3}, .u8 = true, .fixed = true}},
         .no_grad = true},
        {.name = "224x225",
         .in =
             {{.rank = 4, .dim = {1, 224, 225, 3}, .u8 = true, .fixed = true}},
         .no_grad = true},
        {0}};

    vt_check_ops(cases, build, ref);
}

/* More rows than a CUDA device launches work-groups in dimension 1, a limit
 * that vt_kernel_launch() checks on all. */
Test(normalise, many_rows)
{
    static const vt_case cases[] = {
        {.name = "300 of 224x5",
         .in =
             {{.rank = 4, .dim = {300, 224, 5, 3}, .u8 = true, .fixed = true}},
         .no_grad = true},
        {0}};

    if (!vt_test_tiny())
        vt_check_ops(cases, build, ref);
}
