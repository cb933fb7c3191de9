/*
 * test_mask_patches.c - replaced patches, and their gradients: to the patch
 * that was read, as often as it was read, and to the mask.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    (void)c;
    return vt_mask_patches(p, in[0], in[1], in[2]);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_mask_patches(out, in[0], in[1], in[2], d[0], d[1], d[2]);
}

#define X(b, n, c)                                                             \
    {                                                                          \
        .rank = 3, .dim = { b, n, c }                                          \
    }
#define SOURCE(b, n, ...)                                                      \
    {                                                                          \
        .rank = 2, .dim = {b, n}, .i32 = true, .fixed = true,                  \
        .data = (const float[])                                                \
        {                                                                      \
            __VA_ARGS__                                                        \
        }                                                                      \
    }
#define MASK(c)                                                                \
    {                                                                          \
        .rank = 3, .dim = {1, 1, c}, .param = true                             \
    }

Test(mask_patches, all)
{
    static float many[2 * 37];
    const vt_case cases[] = {
        {.name = "one patch, masked",
         .in = {X(1, 1, 1), SOURCE(1, 1, -1), MASK(1)}},
        {.name = "one patch, kept",
         .in = {X(1, 1, 3), SOURCE(1, 1, 0), MASK(3)}},
        {.name = "two pictures of three",
         .in = {X(2, 3, 5), SOURCE(2, 3, 0, -1, 0, 2, 2, -1), MASK(5)}},
        {.name = "one read by all",
         .in = {X(3, 5, 7),
                SOURCE(3, 5, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, 4, 3, 2, 1, 0),
                MASK(7)}},
        {.name = "2x37x29",
         .in = {X(2, 37, 29),
                {.rank = 2,
                 .dim = {2, 37},
                 .i32 = true,
                 .fixed = true,
                 .data = many},
                MASK(29)}},
        {0}};

    for (int i = 0; i < 2 * 37; i++)
        many[i] = (float)(i % 3 == 0 ? -1 : i % 3 == 1 ? i % 37 : i * 5 % 37);
    vt_check_ops(cases, build, ref);
}
