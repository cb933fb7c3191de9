/*
 * test_relpos.c - relative position bias.
 */
#include "ref/ref.h"
#include "support/device.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

static int *indices(const vt_case *c)
{
    int pairs = c->arg[1] * c->arg[2],
        *index = malloc(sizeof(int) * (unsigned)pairs);

    for (int i = 0; i < pairs; i++) /* some rows many times, some never */
        index[i] = (i * 7 + i / 3) % c->in[0].dim[0] / 2 * 2;
    return index;
}

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    int *index = indices(c);
    vt_val v = vt_relpos_bias(p, in[0], c->arg[0], c->arg[1], c->arg[2], index);

    free(index);
    return v;
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    int *index = indices(c);

    ref_relpos(out, in[0], index, c->arg[0], c->arg[1] * c->arg[2]);
    free(index);
}

Test(relpos, all)
{
    static const vt_case cases[] = {
        {.name = "one pair",
         .in = {{.rank = 2, .dim = {1, 1}, .param = true}},
         .arg = {1, 1, 1}},
        {.name = "5x7, 3 heads",
         .in = {{.rank = 2, .dim = {12, 3}, .param = true}},
         .arg = {3, 5, 7}},
        {.name = "50x50, 12 heads",
         .in = {{.rank = 2, .dim = {172, 12}, .param = true}},
         .no_grad = true,
         .arg = {12, 50, 50}},
        {0}};
    vt_fixture f;
    int outside = 12;

    vt_check_ops(cases, build, ref);
    vt_fixture_open(&f, VT_CLASS_CPU, false);
    vt_val t = vt_input(f.plan, "t", VT_F32, 2, (int[]){12, 1});
    cr_expect_eq(vt_relpos_bias(f.plan, t, 1, 1, 1, &outside), VT_NONE);
    cr_expect_eq(vt_plan_status(f.plan), VITCL_EINVAL);
    vt_fixture_close(&f);
}

/* Rows of a table beyond 2^24, where floats no longer tell odd from even. */
Test(relpos, many_rows)
{
    enum { ROWS = (1 << 24) + 8 };
    const vt_plan_options o = {.dev = vt_test_device()};
    const int last[4] = {ROWS - 1, ROWS - 2, ROWS - 3, 1};
    float *table, out[4];
    vt_plan *p = NULL;
    vt_val t, y;

    if (vt_test_tiny())
        return;
    table = malloc(ROWS * sizeof *table);
    for (int i = 0; i < ROWS; i++)
        table[i] = (float)(i % 1000);
    vt_check(vt_plan_new(&p, &o));
    t = vt_input(p, "t", VT_F32, 2, (int[]){ROWS, 1});
    y = vt_relpos_bias(p, t, 1, 2, 2, last);
    vt_keep(p, y);
    vt_check(vt_plan_finish(p));
    vt_check(vt_plan_write(p, t, table, ROWS * sizeof *table));
    vt_check(vt_plan_run(p, 0));
    vt_check(vt_plan_read(p, y, out, 4));
    for (int i = 0; i < 4; i++)
        cr_expect_eq(out[i], table[last[i]], "%d: %g", i, (double)out[i]);
    vt_plan_free(p);
    /* too many pairs are refused */
    p = NULL;
    vt_check(vt_plan_new(&p, &o));
    t = vt_input(p, "t", VT_F32, 2, (int[]){1, 1});
    cr_expect_eq(vt_relpos_bias(p, t, 1, 50000, 50000, last), VT_NONE);
    cr_expect(strstr(vt_message(), "more pairs of tokens"), "%s", vt_message());
    vt_plan_free(p);
    free(table);
}
