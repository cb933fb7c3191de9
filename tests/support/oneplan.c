/*
 * oneplan.c - run one op as a plan, forward and backward, against a reference.
 */
#include "support/oneplan.h"

#include "plan/plan_private.h"
#include "support/device.h"
#include "support/near.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD 64

bool vt_test_tiny(void)
{
    const char *s = getenv("VITCL_TEST_TINY");

    return s && *s && strcmp(s, "0") != 0;
}

/* ---- fixture ---- */

static vitcl_status read_param(float *out, void *context, const char *name,
                               uint64_t count)
{
    const vt_fixture *f = context;

    for (int i = 0; i < f->params; i++)
        if (strcmp(f->param[i].name, name) == 0 && f->param[i].count == count) {
            memcpy(out, f->param[i].data, count * sizeof *out);
            return VITCL_OK;
        }
    return vt_fail(VITCL_EINVAL, "the test has no %s", name);
}

void vt_fixture_open_as(vt_fixture *f, vt_plan_options o)
{
    *f = (vt_fixture){.params = 0};
    vt_test_class(o.device_class);
    o.dev = vt_test_device();
    vt_check(vt_store_new(&f->store, o.dev, read_param, f));
    o.store = f->store;
    vt_check(vt_plan_new(&f->plan, &o));
}

void vt_fixture_open(vt_fixture *f, vt_class c, bool backward)
{
    vt_fixture_open_as(f, (vt_plan_options){.device_class = c,
                                            .gemm = "plain",
                                            .backward = backward,
                                            .train = backward});
}

vt_val vt_fixture_param(vt_fixture *f, const char *name, int rank,
                        const int *dim, const float *data)
{
    vt_val v = vt_param(f->plan, name, rank, dim);

    cr_assert(f->params < 16 && v != VT_NONE);
    snprintf(f->param[f->params].name, sizeof f->param->name, "%s", name);
    f->param[f->params].data = data;
    f->param[f->params++].count = vt_elements(f->plan, v);
    return v;
}

void vt_fixture_close(vt_fixture *f)
{
    vt_plan_free(f->plan);
    vt_store_free(f->store);
}

void vt_check_stray(vt_plan *p)
{
    const size_t n = vt_buf_size(p->arena[0]) / 4;
    uint32_t *words = malloc(n * 4);
    bool *owned = calloc(n, 1);
    size_t stray = 0;

    cr_assert_eq(vt_buf_read(p->queue, p->arena[0], 0, words, n * 4), VITCL_OK);
    for (size_t v = 0; v < p->values; v++)
        if (p->value[v]->buf)
            for (size_t i = 0; i < (p->value[v]->bytes + 3) / 4; i++)
                owned[p->value[v]->offset / 4 + i] = true;
    for (size_t i = 0; i < n; i++)
        stray += !owned[i] && words[i] != VT_STRAY;
    cr_expect_eq(stray, 0, "%zu words outside the values are written", stray);
    free(words);
    free(owned);
}

/* ---- a step that stands in for the rest of a model ---- */

static vitcl_status seed_shape(vt_plan *p, vt_step *s)
{
    s->out[0] = vt_result(p, VT_F32, 1, (int[]){1});
    return vt_plan_status(p);
}

static vitcl_status seed_prepare(vt_plan *p, vt_step *s)
{
    (void)p, (void)s;
    return VITCL_OK;
}

static void seed_grad(vt_plan *p, const vt_step *s)
{
    vt_grad_give(p, s->in[0], s->in[1]);
}

static const vt_op seed = {.name = "seed",
                           .shape = seed_shape,
                           .prepare = seed_prepare,
                           .grad = seed_grad};

vt_val vt_seed_gradient(vt_plan *p, vt_val x, vt_val g)
{
    vt_step *s = vt_step_new(p, &seed);

    if (!s)
        return VT_NONE;
    s->in[0] = x, s->in[1] = g;
    return vt_step_add(p, s);
}

/* ---- cases ---- */

typedef struct numbers {
    float *f[VT_CASE_INS];
    double *d[VT_CASE_INS];
    uint8_t *u[VT_CASE_INS];
    int32_t *w[VT_CASE_INS];
    size_t n[VT_CASE_INS];
    int ins;
} numbers;

static void make(numbers *x, const vt_case *c)
{
    vt_rng r = {strlen(c->name) * 977 + 13};

    *x = (numbers){.ins = 0};
    for (int i = 0; i < VT_CASE_INS && (c->in[i].rank || c->in[i].none); i++) {
        const vt_spec *s = &c->in[i];
        size_t n = 1;

        x->ins = i + 1;
        if (s->none)
            continue;
        for (int k = 0; k < s->rank; k++)
            n *= (size_t)s->dim[k];
        x->n[i] = n;
        x->f[i] = malloc(n * sizeof(float));
        x->d[i] = malloc(n * sizeof(double));
        x->u[i] = malloc(n);
        x->w[i] = malloc(n * sizeof(int32_t));
        vt_rng_fill(&r, x->f[i], n, s->scale != 0 ? s->scale : 1, s->shift);
        for (size_t k = 0; k < n; k++) {
            if (s->same)
                x->f[i][k] = (float)s->shift;
            if (s->data)
                x->f[i][k] = s->data[k];
            x->u[i][k] = (uint8_t)vt_rng_bits(&r);
            x->w[i][k] = s->i32 ? (int32_t)x->f[i][k] : 0;
            x->d[i][k] = s->u8 ? (double)x->u[i][k] : (double)x->f[i][k];
        }
    }
}

static void unmake(numbers *x)
{
    for (int i = 0; i < x->ins; i++) {
        free(x->f[i]);
        free(x->d[i]);
        free(x->u[i]);
        free(x->w[i]);
    }
}

static vt_val declare(vt_fixture *f, const vt_case *c, const numbers *x, int i,
                      bool param)
{
    const vt_spec *s = &c->in[i];
    char name[16];

    snprintf(name, sizeof name, "in%d", i);
    if (s->none)
        return VT_NONE;
    if (param)
        return vt_fixture_param(f, name, s->rank, s->dim, x->f[i]);
    return vt_input(f->plan, name,
                    s->u8    ? VT_U8
                    : s->i32 ? VT_I32
                             : VT_F32,
                    s->rank, s->dim);
}

static size_t input_bytes(const vt_case *c, const numbers *x, int i)
{
    return x->n[i] * (c->in[i].u8 ? 1 : sizeof(float));
}

static const void *input_data(const vt_case *c, const numbers *x, int i)
{
    return c->in[i].u8    ? (const void *)x->u[i]
           : c->in[i].i32 ? (const void *)x->w[i]
                          : x->f[i];
}

static const char *title(char out[128], const vt_case *c, vt_class k,
                         const char *what)
{
    snprintf(out, 128, "%s, %s class, %s", c->name,
             k == VT_CLASS_CPU ? "CPU" : "GPU", what);
    return out;
}

/* ---- memory that belongs to no value ---- */

#define NOBODYS 0x5a

/* Marks the whole arena, before anything is written to it. */
static void fill_arena(vt_fixture *f)
{
    const size_t n = vt_buf_size(f->plan->arena[0]);
    unsigned char *all = malloc(n);

    memset(all, NOBODYS, n);
    vt_check(vt_buf_write(f->plan->queue, f->plan->arena[0], 0, all, n));
    free(all);
}

/* Values begin at aligned addresses. No kernel may write to the gap between the
 * end of one and the next, not even for a moment. */
static void check_arena(vt_fixture *f, const char *name)
{
    const vt_plan *p = f->plan;
    const size_t n = vt_buf_size(p->arena[0]);
    unsigned char *all = malloc(n);
    size_t changed = 0;

    vt_check(vt_buf_read(p->queue, p->arena[0], 0, all, n));
    for (size_t i = 0; i < p->values; i++) {
        const vt_value *v = p->value[i];

        if (v->kind == VT_INPUT || (v->kind == VT_RESULT && v->first >= 0))
            memset(all + v->offset, NOBODYS, v->bytes);
    }
    for (size_t i = 0; i < n; i++)
        changed += all[i] != NOBODYS;
    cr_expect_eq(changed, 0, "%s: %zu bytes beyond a value's end changed", name,
                 changed);
    free(all);
}

static void run_from_nan(vt_fixture *f, vt_val out, float *got, size_t n)
{
    vt_check(vt_buf_fill(vt_plan_queue(f->plan), vt_value_of(f->plan, out)->buf,
                         0x7fc00000u));
    vt_check(vt_plan_run(f->plan, 0));
    vt_check(vt_plan_read(f->plan, out, got, n));
}

static void check_unchanged(vt_fixture *f, const vt_case *c, const numbers *x,
                            const vt_val *in, vt_val guard, const char *name)
{
    float words[GUARD], want[GUARD];

    memset(want, 0x5a, sizeof want);
    vt_check(vt_plan_read(f->plan, guard, words, GUARD));
    cr_expect(memcmp(words, want, sizeof want) == 0, "%s: guard words changed",
              name);
    for (int i = 0; i < x->ins; i++) {
        size_t bytes = input_bytes(c, x, i);
        void *back = malloc(bytes + 1);

        if (in[i] != VT_NONE && vt_value_of(f->plan, in[i])->kind == VT_INPUT) {
            vt_check(vt_buf_read(vt_plan_queue(f->plan),
                                 vt_value_of(f->plan, in[i])->buf, 0, back,
                                 bytes));
            cr_expect(memcmp(back, input_data(c, x, i), bytes) == 0,
                      "%s: input %d changed", name, i);
        }
        free(back);
    }
}

static void forward(const vt_case *c, vt_class class, vt_case_build build,
                    vt_case_ref ref, numbers *x)
{
    vt_fixture f;
    vt_val in[VT_CASE_INS] = {0}, out, guard;
    char t[128];
    float words[GUARD];

    vt_fixture_open(&f, class, false);
    for (int i = 0; i < x->ins; i++)
        in[i] = declare(&f, c, x, i, c->in[i].param);
    guard = vt_input(f.plan, "guard", VT_F32, 1, (int[]){GUARD});
    out = build(f.plan, in, c);
    vt_keep(f.plan, out);
    vt_check(vt_plan_finish(f.plan));
    fill_arena(&f);
    memset(words, 0x5a, sizeof words);
    vt_check(vt_plan_write(f.plan, guard, words, sizeof words));
    for (int i = 0; i < x->ins; i++)
        if (in[i] != VT_NONE && vt_value_of(f.plan, in[i])->kind == VT_INPUT)
            vt_check(vt_plan_write(f.plan, in[i], input_data(c, x, i),
                                   input_bytes(c, x, i)));

    size_t n = (size_t)vt_elements(f.plan, out);
    float *got = malloc(n * sizeof *got), *again = malloc(n * sizeof *again);
    double *want = malloc(n * sizeof *want);
    run_from_nan(&f, out, got, n);
    ref(want, (const double *const *)x->d, c);
    cr_expect(
        vt_near(title(t, c, class, "forward"), got, want, n,
                c->rtol > 0 ? c->rtol : 1e-5,
                c->atol > 0 ? c->atol : 1e-6 * vt_largest(want, n) + 1e-9),
        "%s", t);
    if (!vt_test_tiny()) {
        vt_test_divide(true); /* the same bits, in several launches */
        run_from_nan(&f, out, again, n);
        vt_test_divide(false);
        cr_expect(memcmp(got, again, n * sizeof *got) == 0, "%s: bits differ",
                  t);
    }
    check_unchanged(&f, c, x, in, guard, t);
    check_arena(&f, t);
    free(got), free(again), free(want);
    vt_fixture_close(&f);
}

/* sum of out * g, by the reference */
static double weighed(const vt_case *c, vt_case_ref ref, numbers *x,
                      const float *g, double *tmp, size_t n)
{
    double s = 0;

    ref(tmp, (const double *const *)x->d, c);
    for (size_t i = 0; i < n; i++)
        s += tmp[i] * (double)g[i];
    return s;
}

/* Derivatives of the reference with respect to every element of input i. */
static void differences(double *want, const vt_case *c, vt_case_ref ref,
                        numbers *x, int i, const float *g, size_t n)
{
    double *tmp = malloc(n * sizeof *tmp);

    for (size_t k = 0; k < x->n[i]; k++) {
        double at = x->d[i][k], h = 1e-5 * fmax(1, fabs(at)), up, down;

        x->d[i][k] = at + h;
        up = weighed(c, ref, x, g, tmp, n);
        x->d[i][k] = at - h;
        down = weighed(c, ref, x, g, tmp, n);
        x->d[i][k] = at;
        want[k] = (up - down) / (2 * h);
    }
    free(tmp);
}

static void check_gradient(vt_fixture *f, const vt_case *c, vt_class class,
                           vt_case_ref ref, numbers *x, int i, const float *g,
                           size_t n)
{
    char t[128], name[32];
    float *got = malloc(x->n[i] * sizeof *got);
    double *want = malloc(x->n[i] * sizeof *want);

    snprintf(name, sizeof name, "grad.in%d", i);
    vt_val v = vt_plan_find(f->plan, name);
    title(t, c, class, name);
    cr_expect_neq(v, VT_NONE, "%s: is not there", t);
    if (v != VT_NONE) {
        differences(want, c, ref, x, i, g, n);
        vt_check(vt_plan_read(f->plan, v, got, x->n[i]));
        cr_expect(vt_near(t, got, want, x->n[i], 0,
                          (c->grad_tol > 0 ? c->grad_tol : 1e-4) *
                              (vt_largest(want, x->n[i]) + 1e-4)),
                  "%s", t);
    }
    if (v != VT_NONE && !vt_test_tiny()) {
        vt_check(vt_plan_run(f->plan, 0));
        for (size_t k = 0; k < x->n[i]; k++)
            want[k] = 2 * (double)got[k];
        vt_check(vt_plan_read(f->plan, v, got, x->n[i]));
        cr_expect(vt_near("added again", got, want, x->n[i], 1e-5,
                          1e-6 * vt_largest(want, x->n[i])),
                  "%s", t);
        vt_check(vt_buf_fill(vt_plan_queue(f->plan),
                             vt_value_of(f->plan, v)->buf, 0));
    }
    free(got), free(want);
}

static void backward(const vt_case *c, vt_class class, vt_case_build build,
                     vt_case_ref ref, numbers *x)
{
    vt_fixture f;
    vt_val in[VT_CASE_INS], out, g;
    vt_rng r = {99};

    vt_fixture_open(&f, class, true);
    for (int i = 0; i < x->ins; i++) {
        in[i] = declare(&f, c, x, i, !c->in[i].fixed);
        /* Tensors that are not parameters of a model are not parameters here
         * either: their gradients are written, not added. */
        if (!c->in[i].fixed && !c->in[i].param && in[i] != VT_NONE)
            in[i] = vt_scale(f.plan, in[i], 1.0f);
    }
    out = build(f.plan, in, c);
    vt_check(vt_plan_status(f.plan));
    size_t n = (size_t)vt_elements(f.plan, out);
    const vt_value *v = vt_value_of(f.plan, out);
    int rank = v->rank, dim[4];
    memcpy(dim, v->dim, sizeof dim);
    g = vt_input(f.plan, "gradient", VT_F32, rank, dim);
    vt_plan_backward(f.plan, vt_seed_gradient(f.plan, out, g), vt_add);
    vt_check(vt_plan_finish(f.plan));

    float *gradient = malloc(n * sizeof *gradient);
    vt_rng_fill(&r, gradient, n, 1, 0);
    fill_arena(&f);
    vt_check(vt_plan_write(f.plan, g, gradient, n * sizeof *gradient));
    for (int i = 0; i < x->ins; i++)
        if (in[i] != VT_NONE && c->in[i].fixed)
            vt_check(vt_plan_write(f.plan, in[i], input_data(c, x, i),
                                   input_bytes(c, x, i)));
    vt_test_divide(true);
    vt_check(vt_plan_run(f.plan, 0));
    vt_test_divide(false);
    for (int i = 0; i < x->ins; i++) {
        if (c->in[i].none || c->in[i].fixed)
            continue;
        check_gradient(&f, c, class, ref, x, i, gradient, n);
        if (vt_test_tiny())
            continue;                      /* one run for all inputs */
        for (int k = 0; k < x->ins; k++) { /* the others added again, too */
            char name[32];
            snprintf(name, sizeof name, "grad.in%d", k);
            vt_val other = vt_plan_find(f.plan, name);
            if (other != VT_NONE)
                vt_check(vt_buf_fill(vt_plan_queue(f.plan),
                                     vt_value_of(f.plan, other)->buf, 0));
        }
        vt_check(vt_plan_run(f.plan, 0));
    }
    check_arena(&f, c->name);
    free(gradient);
    vt_fixture_close(&f);
}

void vt_check_op(const vt_case *c, vt_case_build build, vt_case_ref ref)
{
    static const vt_class classes[] = {VT_CLASS_CPU, VT_CLASS_GPU};
    numbers x;
    size_t total = 0;

    make(&x, c);
    for (int i = 0; i < x.ins; i++)
        total += x.n[i];
    for (size_t k = 0; k < 2 && (!vt_test_tiny() || total <= 600); k++) {
        forward(c, classes[k], build, ref, &x);
        /* Differences for every element cost total^2. */
        if (!c->no_grad && total <= 2500)
            backward(c, classes[k], build, ref, &x);
    }
    unmake(&x);
}

void vt_check_ops(const vt_case *c, vt_case_build build, vt_case_ref ref)
{
    for (; c->name; c++)
        vt_check_op(c, build, ref);
}
