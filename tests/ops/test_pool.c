/*
 * test_pool.c - pool the tokens of a picture to one row.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_pool(p, in[0], (vt_pool_kind)c->arg[0], c->arg[1]);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_pool(out, in[0], d[0], d[1], d[2], c->arg[0], c->arg[1]);
}

Test(pool, all)
{
    for (int kind = VT_POOL_TOKEN; kind <= VT_POOL_MAX; kind++) {
        const vt_case cases[] = {{.name = "one token",
                                  .in = {{.rank = 3, .dim = {1, 1, 1}}},
                                  .arg = {kind, 0}},
                                 {.name = "3x7x19 from 0",
                                  .in = {{.rank = 3, .dim = {3, 7, 19}}},
                                  .arg = {kind, 0}},
                                 {.name = "2x6x33 from 1",
                                  .in = {{.rank = 3, .dim = {2, 6, 33}}},
                                  .arg = {kind, 1}},
                                 {.name = "2x197x193 from 1",
                                  .in = {{.rank = 3, .dim = {2, 197, 193}}},
                                  .arg = {kind, 1}},
                                 {0}};

        vt_check_ops(cases, build, ref);
    }
}

/* Equal maxima share the gradient, as with torch.amax. */
Test(pool, ties)
{
    enum { B = 2, T = 7, C = 37, FIRST = 1 };
    float x[B * T * C], g[B * C], got[B * T * C];

    for (int i = 0; i < B * T * C; i++)
        x[i] = (float)(i * i % 11 % 3);
    for (int i = 0; i < B * C; i++)
        g[i] = (float)(60 + i * 60); /* whole shares of up to six */
    for (vt_class c = VT_CLASS_CPU; c <= VT_CLASS_GPU; c++) {
        vt_fixture f;

        vt_fixture_open(&f, c, true);
        vt_val v = vt_fixture_param(&f, "x", 3, (int[]){B, T, C}, x);
        vt_val y = vt_pool(f.plan, v, VT_POOL_MAX, FIRST);
        vt_val gv = vt_input(f.plan, "g", VT_F32, 2, (int[]){B, C});
        vt_plan_backward(f.plan, vt_seed_gradient(f.plan, y, gv), vt_add);
        vt_check(vt_plan_finish(f.plan));
        vt_check(vt_plan_write(f.plan, gv, g, sizeof g));
        vt_check(vt_plan_run(f.plan, 0));
        vt_check(vt_plan_read(f.plan, vt_grad(f.plan, v), got, B * T * C));
        for (int b = 0; b < B; b++)
            for (int k = 0; k < C; k++) {
                const float *col = x + b * T * C + k;
                float top = col[FIRST * C];
                int equal = 0;

                for (int t = FIRST; t < T; t++)
                    top = col[t * C] > top ? col[t * C] : top;
                for (int t = FIRST; t < T; t++)
                    equal += col[t * C] == top;
                for (int t = 0; t < T; t++)
                    cr_assert_eq(got[(b * T + t) * C + k],
                                 t >= FIRST && col[t * C] == top
                                     ? g[b * C + k] / (float)equal
                                     : 0,
                                 "class %d: %d,%d,%d", (int)c, b, t, k);
            }
        vt_fixture_close(&f);
    }
}
