/*
 * halves.c - one op with values in 16 bits, between two copies.
 */
#include "support/halves.h"
#include "support/near.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct numbers {
    float *f[VT_CASE_INS];
    double *d[VT_CASE_INS];
    size_t n[VT_CASE_INS];
} numbers;

static void make(numbers *x, const vt_case *c)
{
    *x = (numbers){.n = {0}};
    for (int i = 0; i < VT_CASE_INS && (c->in[i].rank || c->in[i].none); i++) {
        vt_rng r = {strlen(c->name) * 977 + (size_t)i};

        if (c->in[i].none)
            continue;
        x->n[i] = 1;
        for (int k = 0; k < c->in[i].rank; k++)
            x->n[i] *= (size_t)c->in[i].dim[k];
        x->f[i] = malloc(x->n[i] * sizeof(float));
        x->d[i] = malloc(x->n[i] * sizeof(double));
        for (size_t k = 0; k < x->n[i]; k++) {
            x->d[i][k] = ((int)(vt_rng_bits(&r) % 255) - 127) / 64.0;
            x->f[i][k] = (float)x->d[i][k];
        }
    }
}

static void unmake(numbers *x)
{
    for (int i = 0; i < VT_CASE_INS; i++) {
        free(x->f[i]);
        free(x->d[i]);
    }
}

vt_val vt_halves_copy(vt_plan *p, vt_val x)
{
    const int rank = vt_value_of(p, x)->rank;

    if (rank == 4)
        return vt_pad(p, x, 0, 0, 0, 0);
    return rank == 3 ? vt_embed(p, x, NULL, 0, VT_NONE, 0) : x;
}

static vt_dtype stored(const vt_fixture *f, vt_val v)
{
    return vt_value_of(f->plan, v)->dtype;
}

/* How the op's result is to be stored. */
static vt_dtype result(const vt_fixture *f, const vt_case *c)
{
    return c->f[VT_HALVES_F32] != 0 ? VT_F32 : vt_plan_type(f->plan);
}

/* Twice, with equal bits. The result; *n: its elements. */
static float *run(size_t *n, const vt_case *c, const numbers *x,
                  vitcl_precision precision, vt_case_build build)
{
    vt_val in[VT_CASE_INS], arg[VT_CASE_INS], y, out;
    vt_fixture f;
    float *a, *b;

    vt_fixture_open_as(&f, (vt_plan_options){.device_class = VT_CLASS_GPU,
                                             .precision = precision});
    for (int i = 0; i < VT_CASE_INS; i++) {
        const vt_spec *s = &c->in[i];
        char name[16];

        snprintf(name, sizeof name, "in%d", i);
        in[i] = arg[i] = VT_NONE;
        if (x->n[i] && s->param)
            arg[i] = vt_fixture_param(&f, name, s->rank, s->dim, x->f[i]);
        else if (x->n[i])
            in[i] = arg[i] = vt_input(f.plan, name, VT_F32, s->rank, s->dim);
        if (in[i] != VT_NONE)
            arg[i] = vt_halves_copy(f.plan, in[i]);
    }
    y = build(f.plan, arg, c);
    cr_assert_neq(y, VT_NONE, "%s", c->name);
    out = vt_halves_copy(f.plan, y);
    vt_keep(f.plan, out);
    vt_check(vt_plan_finish(f.plan));
    for (int i = 0; i < VT_CASE_INS; i++) {
        const bool copied = in[i] != arg[i] && in[i] != VT_NONE;
        if (copied)
            cr_expect_eq(stored(&f, arg[i]), vt_plan_type(f.plan), "%s: in[%d]",
                         c->name, i);
        if (in[i] != VT_NONE)
            vt_check(vt_plan_write(f.plan, in[i], x->f[i], x->n[i] * 4));
    }
    cr_expect_eq(stored(&f, out), VT_F32);
    if (out != y)
        cr_expect_eq(stored(&f, y), result(&f, c), "%s", c->name);
    *n = (size_t)vt_elements(f.plan, out);
    a = malloc(*n * sizeof *a), b = malloc(*n * sizeof *b);
    vt_check(vt_plan_run(f.plan, 0));
    vt_check(vt_plan_read(f.plan, out, a, *n));
    if (!vt_test_tiny())
        vt_check(vt_plan_run(f.plan, 0));
    vt_check(vt_plan_read(f.plan, out, b, *n));
    cr_expect_eq(memcmp(a, b, *n * sizeof *a), 0, "%s: other bits in a 2nd run",
                 c->name);
    free(b);
    vt_fixture_close(&f);
    return a;
}

/* The first picture alone: the same bits. */
static void alone(const vt_case *c, const float *want,
                  vitcl_precision precision, vt_case_build build)
{
    vt_case one = *c;
    numbers x;
    float *got;
    size_t n;

    for (int i = 0; i < VT_CASE_INS; i++)
        if (!one.in[i].param && one.in[i].rank)
            one.in[i].dim[0] = 1;
    make(&x, &one);
    got = run(&n, &one, &x, precision, build);
    cr_expect_eq(memcmp(got, want, n * sizeof *got), 0,
                 "%s: other bits in a batch", c->name);
    free(got);
    unmake(&x);
}

void vt_check_halves(const vt_case *cases, vt_case_build build, vt_case_ref ref)
{
    /* A simulator takes seconds for a product: two cases, one run of each. */
    for (const vt_case *c = cases;
         c->name && !(vt_test_tiny() && c - cases == 2); c++)
        for (int k = 0; k < 2; k++) {
            const vitcl_precision precision = k ? VITCL_BF16 : VITCL_F16;
            char what[80];
            double *want;
            numbers x;
            float *got;
            size_t n;

            make(&x, c);
            got = run(&n, c, &x, precision, build);
            want = calloc(n, sizeof *want);
            ref(want, (const double *const *)x.d, c);
            snprintf(what, sizeof what, "%s in %s", c->name,
                     k ? "bf16" : "f16");
            cr_expect(vt_near(what, got, want, n, k ? 0x1p-8 : 0x1p-11,
                              1e-5 * vt_largest(want, n)));
            if (!vt_test_tiny())
                alone(c, got, precision, build);
            free(got);
            free(want);
            unmake(&x);
        }
}
