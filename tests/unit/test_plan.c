/*
 * test_plan.c - the executor with the test's own ops: memory placement, sticky
 * errors, names, gradients.
 */
#include "base/memory.h"
#include "ocl/objects.h"
#include "plan/plan.h"
#include "support/device.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* An op that writes i[0] elements and reads whatever it is given. */
static vitcl_status any_shape(vt_plan *p, vt_step *s)
{
    if (s->i[0] < 0)
        return vt_fail(VITCL_EINVAL, "made to fail");
    s->out[0] = vt_result(p, VT_F32, 1, (int[]){s->i[0]});
    return VITCL_OK;
}

static vitcl_status any_prepare(vt_plan *p, vt_step *s)
{
    (void)p, (void)s;
    return VITCL_OK;
}

static void any_grad(vt_plan *p, const vt_step *s);
static const vt_op any = {.name = "any",
                          .shape = any_shape,
                          .prepare = any_prepare,
                          .grad = any_grad};
static const vt_op dead = {
    .name = "dead", .shape = any_shape, .prepare = any_prepare};

static vt_val step(vt_plan *p, const vt_op *op, int n, vt_val a, vt_val b)
{
    vt_step *s = vt_step_new(p, op);

    if (!s)
        return VT_NONE;
    s->i[0] = n, s->in[0] = a, s->in[1] = b;
    return vt_step_add(p, s);
}

static int sums;

static vt_val sum(vt_plan *p, vt_val a, vt_val b)
{
    sums++;
    return step(p, &any, vt_dim(p, a, 0), a, b);
}

static void any_grad(vt_plan *p, const vt_step *s)
{
    vt_val g = vt_grad(p, s->out[0]);

    for (int k = 0; k < 2; k++) {
        if (!vt_grad_wanted(p, s->in[k]))
            continue;
        if (vt_value_of(p, s->in[k])->kind == VT_PARAM)
            vt_grad_param(p, s->in[k]);
        else
            vt_grad_give(p, s->in[k],
                         step(p, &any, vt_dim(p, s->in[k], 0), g, VT_NONE));
    }
}

static vt_plan *fresh(const char *const *keep, const char *const *freeze)
{
    vt_plan_options o = {
        .dev = vt_test_device(), .keep = keep, .freeze = freeze};
    vt_plan *p = NULL;

    cr_assert_eq(vt_plan_new(&p, &o), VITCL_OK, "%s", vt_message());
    return p;
}

/* In random graphs, values that are live at the same time must not overlap in
 * memory, and the arena must not exceed the sum of all values. In every other
 * one it has several buffers, of the size of a few values. */
Test(plan, placement)
{
    uint32_t r = 1;

    for (int round = 0; round < 20; round++) {
        const size_t limit = round % 2 ? 40000 : 0;
        vt_plan *p = NULL;
        vt_val v[60];
        size_t all = 0;

        cr_assert_eq(
            vt_plan_new(
                &p, &(vt_plan_options){.dev = vt_test_device(),
                                       .keep = (const char *[]){"kept", NULL},
                                       .segment = limit}),
            VITCL_OK, "%s", vt_message());
        v[0] = vt_input(p, "in", VT_F32, 1, (int[]){100});
        for (int i = 1; i < 60; i++) {
            r = r * 1664525u + 1013904223u;
            v[i] = step(p, &any, 1 + (int)(r >> 8) % 5000,
                        v[(r >> 4) % (unsigned)i], v[i - 1]);
            if (i == 7)
                vt_name(p, v[i], "kept");
        }
        cr_assert_eq(vt_plan_finish(p), VITCL_OK, "%s", vt_message());
        for (int i = 0; i < 60; i++) {
            const vt_value *a = vt_value_of(p, v[i]);

            all += a->bytes + 4096;
            for (int j = 0; j < i; j++) {
                const vt_value *b = vt_value_of(p, v[j]);
                bool forever = b->keep || b->kind == VT_INPUT;
                bool together = a->first <= (forever ? 99 : b->last) &&
                                (a->keep || a->last >= b->first);
                bool apart = a->segment != b->segment ||
                             a->offset + a->bytes <= b->offset ||
                             b->offset + b->bytes <= a->offset;
                cr_expect(!together || apart, "values %d and %d overlap", i, j);
            }
        }
        vt_plan_memory m = vt_plan_memory_of(p);
        cr_expect(m.arena >= m.largest_step && m.arena < all);
        cr_expect(limit ? m.segment <= limit && m.segment < m.arena
                        : m.segment == m.arena,
                  "%zu of %zu bytes in one buffer", m.segment, m.arena);
        vt_plan_free(p);
    }
}

Test(plan, first_error_sticks)
{
    vt_plan *p = fresh(NULL, NULL);
    vt_val a = vt_input(p, "in", VT_F32, 1, (int[]){4});

    cr_expect_eq(step(p, &any, -1, a, VT_NONE), VT_NONE);
    cr_expect_eq(step(p, &any, 5, a, VT_NONE), VT_NONE);
    cr_expect_eq(vt_input(p, "zero", VT_F32, 1, (int[]){0}), VT_NONE);
    cr_expect_eq(vt_plan_finish(p), VITCL_EINVAL);
    cr_expect(strstr(vt_message(), "step 0 any: made to fail"), "%s",
              vt_message());
    vt_plan_free(p);
    p = fresh(NULL, NULL);
    vt_input(p, "huge", VT_F32, 3, (int[]){1 << 20, 1 << 20, 64});
    cr_expect_eq(vt_plan_finish(p), VITCL_EUNSUPPORTED);
    vt_plan_free(p);
}

/* Of a driver that does not say how large a buffer may be, any may be made. */
Test(plan, unknown_limit)
{
    vt_plan *p;

    vt_test_device()->info.max_alloc_bytes = 0;
    p = fresh(NULL, NULL);
    step(p, &any, 5, vt_input(p, "in", VT_F32, 1, (int[]){4}), VT_NONE);
    cr_expect_eq(vt_plan_finish(p), VITCL_OK, "%s", vt_message());
    vt_plan_free(p);
}

Test(plan, write_and_read)
{
    vt_plan *p = fresh((const char *[]){"block.*", NULL}, NULL);
    vt_val a = vt_input(p, "in", VT_F32, 2, (int[]){3, 5}), b, c;
    float x[15], y[15] = {0};

    b = step(p, &any, 5, a, VT_NONE);
    vt_name(p, b, "block.%d", 3);
    c = step(p, &any, 5, b, VT_NONE);
    vt_name(p, c, "other");
    cr_expect(vt_wanted(p, "block.%d", 12) && !vt_wanted(p, "norm"));
    cr_assert_eq(vt_plan_finish(p), VITCL_OK, "%s", vt_message());
    cr_expect_eq(vt_plan_kept(p, 0), b);
    cr_expect_eq(vt_plan_kept(p, 1), VT_NONE);
    cr_expect_eq(vt_plan_find(p, "other"), c);
    for (int i = 0; i < 15; i++)
        x[i] = (float)i;
    cr_assert_eq(vt_plan_write(p, a, x, sizeof x), VITCL_OK);
    cr_assert_eq(vt_plan_read(p, a, y, 11), VITCL_OK);
    cr_expect_arr_eq(x, y, 11 * sizeof *x);
    cr_expect_eq(y[11], 0);
    cr_expect_eq(vt_plan_read(p, a, y, 16), VITCL_EINVAL);
    cr_expect_eq(vt_plan_write(p, a, x, sizeof x + 1), VITCL_EINVAL);
    cr_expect_eq(vt_plan_finish(p), VITCL_EINVAL);
    vt_plan_free(p);
}

Test(plan, gradients)
{
    vt_plan *p = fresh(NULL, (const char *[]){"frozen*", NULL});
    vt_val x = vt_input(p, "in", VT_F32, 1, (int[]){4});
    vt_val w = vt_param(p, "w", 1, (int[]){4});
    vt_val f = vt_param(p, "frozen.w", 1, (int[]){4});
    vt_val h = step(p, &any, 4, x, w), a, b, loss;

    cr_expect_eq(vt_param(p, "w", 1, (int[]){4}), w);
    step(p, &dead, 4, x, f); /* not on the path to the loss: ignored */
    a = step(p, &any, 4, h, f);
    b = step(p, &any, 4, h, a); /* h has two consumers */
    loss = step(p, &any, 1, b, VT_NONE);
    sums = 0;
    vt_plan_backward(p, loss, sum);
    cr_assert_eq(vt_plan_status(p), VITCL_OK, "%s", vt_message());
    cr_expect_eq(sums, 1);
    cr_expect_neq(vt_grad(p, w), VT_NONE);
    cr_expect_str_eq(vt_value_of(p, vt_grad(p, w))->name, "grad.w");
    cr_expect_eq(vt_grad(p, f), VT_NONE);
    cr_expect_eq(vt_grad(p, x), VT_NONE);
    vt_plan_free(p);
    p = fresh(NULL, NULL);
    x = vt_input(p, "in", VT_F32, 1, (int[]){4});
    loss = step(p, &dead, 1, x, vt_param(p, "w", 1, (int[]){4}));
    vt_plan_backward(p, loss, sum);
    cr_expect_eq(vt_plan_status(p), VITCL_EUNSUPPORTED);
    vt_plan_free(p);
}

/* Parameters that differ only in the last character have gradients that do,
 * too. Names that are too long are refused, not truncated. */
Test(plan, long_names_are_refused)
{
    static const char *const none[] = {NULL};
    char name[2][130], want[300];
    vt_plan *p = fresh(none, none);
    vt_val x = vt_input(p, "in", VT_F32, 1, (int[]){4}), w[2], h = x;

    for (int i = 0; i < 2; i++) {
        memset(name[i], 'n', 95);
        name[i][94] = (char)('a' + i), name[i][95] = 0;
        w[i] = vt_param(p, name[i], 1, (int[]){4});
        h = step(p, &any, i ? 1 : 4, h, w[i]);
    }
    vt_plan_backward(p, h, sum);
    cr_assert_eq(vt_plan_status(p), VITCL_OK, "%s", vt_message());
    for (int i = 0; i < 2; i++) {
        snprintf(want, sizeof want, "grad.%s", name[i]);
        cr_expect_str_eq(vt_value_of(p, vt_grad(p, w[i]))->name, want);
        cr_expect_eq(vt_plan_find(p, want), vt_grad(p, w[i]));
        snprintf(want, sizeof want, "adam.m.%s", name[i]);
        cr_expect_eq(vt_plan_find(p, want), VT_NONE);
        cr_expect_eq(vt_state(p, want, VT_F32, 1, (int[]){4}),
                     vt_plan_find(p, want));
    }
    vt_name(p, h, "out.%s", name[0]);
    cr_expect_eq(vt_plan_status(p), VITCL_OK, "%s", vt_message());
    memset(name[0], 'n', 129), name[0][129] = 0;
    vt_name(p, h, "%s", name[0]);
    cr_expect_eq(vt_plan_status(p), VITCL_EUNSUPPORTED);
    vt_plan_free(p);
    p = fresh(NULL, NULL);
    name[0][96] = 0;
    cr_expect_eq(vt_param(p, name[0], 1, (int[]){4}), VT_NONE);
    cr_expect_eq(vt_plan_status(p), VITCL_EUNSUPPORTED);
    vt_plan_free(p);
}

/* Else one of the two would be written or shown for the other. */
Test(plan, names_are_of_one_value)
{
    static const char *const keep[] = {"one", NULL};
    vt_plan *p = fresh(NULL, NULL);
    vt_val x = vt_input(p, "in", VT_F32, 1, (int[]){4});

    vt_name(p, step(p, &any, 1, x, VT_NONE), "in");
    cr_expect_eq(vt_plan_status(p), VITCL_EINVAL);
    vt_plan_free(p);
    p = fresh(keep, NULL);
    x = step(p, &any, 1, vt_input(p, "in", VT_F32, 1, (int[]){4}), VT_NONE);
    vt_name(p, x, "two");
    vt_name(p, x, "one"); /* nobody asked for the other */
    cr_expect_eq(vt_plan_status(p), VITCL_OK, "%s", vt_message());
    vt_name(p, x, "two");
    cr_expect_eq(vt_plan_status(p), VITCL_EINVAL);
    vt_plan_free(p);
}
