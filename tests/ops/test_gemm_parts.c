/*
 * test_gemm_parts.c - the products of GPUs whose terms are divided into parts:
 * each part is one chain of fma() and the parts are added in their order, with
 * a work-group for each part or one for all. So every bit is known.
 * (llvmpipe rounds the products of fma(), which one product tells.)
 */
#include "product/state.h"
#include "ref/ref.h"
#include "support/device.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(x) cr_assert_eq((x), VITCL_OK, "%s", vt_message())

enum { UNITS = 2 }; /* of a device that tile.c takes this one for */

typedef struct product {
    vt_gemm_desc d;
    int parts; /* asked for */
    float *a, *b, *bias, *residual, *c0, *c;
} product;

static uint32_t state = 3;

static float *numbers(size_t n)
{
    float *x = malloc(n * sizeof *x);

    cr_assert(x);
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(int)(state >> 8) * 0x1p-23f - 1;
    }
    return x;
}

static product make(const vt_gemm_desc *d, int parts)
{
    const size_t n = (size_t)d->N, k = (size_t)d->K,
                 rows = (size_t)d->M * (size_t)d->batch;

    return (product){.d = *d,
                     .parts = parts,
                     .a = numbers(rows * k),
                     .b = numbers(n * k),
                     .bias = numbers(n),
                     .residual = numbers(rows * n),
                     .c0 = numbers(rows * n),
                     .c = numbers(rows * n)};
}

static void unmake(product *p)
{
    free(p->a), free(p->b), free(p->bias);
    free(p->residual), free(p->c0), free(p->c);
}

/* Of the first `batch` pictures; into p->c. */
static void multiply(product *p, int batch, const char *kind)
{
    vt_dev *dev = vt_test_device();
    vt_queue *q = vt_test_queue();
    vt_gemm_desc d = p->d;
    const size_t n = (size_t)d.N, k = (size_t)d.K,
                 rows = (size_t)d.M * (size_t)batch;
    vt_gemm_bufs bufs = {.a = vt_test_floats(p->a, rows * k),
                         .b = vt_test_floats(p->b, n * k),
                         .c = vt_test_floats(p->c0, rows * n),
                         .bias = vt_test_floats(p->bias, n),
                         .residual = vt_test_floats(p->residual, rows * n)};
    vt_gemm *g = NULL;

    d.batch = batch;
    vt_product_state_of(dev)->parts = p->parts;
    vt_product_state_of(dev)->units = UNITS;
    const vt_product x = vt_test_product("native", &d);
    if (x.temp_bytes) {
        OK(vt_buf_new(&bufs.temp, dev, x.temp_bytes));
        OK(vt_buf_fill(q, bufs.temp, 0x7fc00000u));
    }
    OK(vt_product_bind(&g, dev, &x, &bufs));
    cr_expect(strstr(vt_gemm_describe(g), kind), "%s: no %s",
              vt_gemm_describe(g), kind);
    OK(vt_gemm_launch(q, g));
    if (!d.accumulate && strstr(kind, "added")) { /* its counts are 0 again */
        OK(vt_buf_fill(q, bufs.c, 0x7fc00000u));
        OK(vt_gemm_launch(q, g));
    }
    vt_test_read(p->c, bufs.c, rows * n);
    vt_gemm_free(g);
    vt_product_state_of(dev)->parts = 0;
    vt_product_state_of(dev)->units = 0;
    vt_buf_free(bufs.a), vt_buf_free(bufs.b), vt_buf_free(bufs.c);
    vt_buf_free(bufs.bias), vt_buf_free(bufs.residual), vt_buf_free(bufs.temp);
}

static bool rounds_twice;

static float expected(const product *p, int terms, int m, int n)
{
    const vt_gemm_desc *d = &p->d;
    const size_t K = (size_t)d->K, N = (size_t)d->N, M = (size_t)d->M;
    const size_t row = (size_t)m, column = (size_t)n, at = row * N + column;
    float all = 0, part = 0;

    for (size_t k = 0; k < K; k++) {
        const float a = p->a[d->trans_a ? k * M + row : row * K + k],
                    b = p->b[d->trans_b ? k * N + column : column * K + k];

        if (rounds_twice) {
            const volatile float rounded = a * b;
            part += rounded;
        } else {
            part = fmaf(a, b, part);
        }
        if ((k + 1) % (size_t)terms == 0 || k + 1 == K) {
            all = k < (size_t)terms ? part : all + part;
            part = 0;
        }
    }
    if (d->accumulate)
        return p->c0[at] + all;
    all += d->bias ? p->bias[column] : 0;
    return d->residual ? p->residual[at] + all : all;
}

static int wrong(const product *p, int terms, int batch)
{
    int bad = 0;

    for (int m = 0; m < batch * p->d.M; m++)
        for (int n = 0; n < p->d.N; n++) {
            const float want = expected(p, terms, m, n),
                        got = p->c[m * p->d.N + n];

            if (memcmp(&want, &got, sizeof got) != 0 && bad++ == 0)
                cr_expect(false, "C[%d,%d] is %.9g, not %.9g", m, n,
                          (double)got, (double)want);
        }
    return bad;
}

/* (1 + x)(1 - x) - 1 is -x*x, or 0 if the product is rounded to 1. */
static void begin(void)
{
    product p = make(&(vt_gemm_desc){.batch = 1,
                                     .M = 1,
                                     .N = 1,
                                     .K = 2,
                                     .type = VT_F32,
                                     .device_class = VT_CLASS_GPU},
                     1);

    vt_test_class(VT_CLASS_GPU);
    p.a[0] = -1, p.b[0] = 1;
    p.a[1] = 1 + 0x1p-13f, p.b[1] = 1 - 0x1p-13f;
    multiply(&p, 1, "tile");
    rounds_twice = p.c[0] == 0;
    unmake(&p);
}

TestSuite(gemm_parts, .init = begin);

/* A picture alone has too few tiles, all pictures together enough; both have
 * the same bits, those of a chain for each part. */
static void check(vt_gemm_desc d, int parts, int terms)
{
    const int pictures = d.trans_a ? 1 : 128 * (UNITS - 1) / d.M + 1;
    char kind[32];
    product p;

    d.device_class = VT_CLASS_GPU;
    d.batch = pictures;
    p = make(&d, parts);
    snprintf(kind, sizeof kind, ", %d parts", (d.K + terms - 1) / terms);
    if (!d.trans_a) {
        multiply(&p, pictures, kind);
        cr_expect_eq(wrong(&p, terms, pictures), 0, "%d pictures", pictures);
    }
    strcat(kind, " at");
    multiply(&p, 1, kind);
    cr_expect_eq(wrong(&p, terms, 1), 0, "%dx%dx%d", d.M, d.N, d.K);
    unmake(&p);
}

Test(gemm_parts, forward)
{
    check((vt_gemm_desc){.M = 50, .N = 17, .K = 70}, 2, 64);
    if (vt_test_tiny())
        return;
    check((vt_gemm_desc){.M = 5, .N = 37, .K = 200}, 4, 64);
    check((vt_gemm_desc){.M = 33, .N = 17, .K = 150, .bias = true}, 3, 64);
    check((vt_gemm_desc){.M = 1, .N = 65, .K = 131, .residual = true}, 2, 128);
}

/* Of trainings in f32 and in bf16, where weights are not packed and so f32. */
Test(gemm_parts, gradients)
{
    if (!vt_test_tiny())
        check((vt_gemm_desc){.M = 7, .N = 44, .K = 140, .trans_b = true}, 2,
              128);
    check((vt_gemm_desc){.type = VT_BF16,
                         .M = 20,
                         .N = 12,
                         .K = 211,
                         .trans_a = true,
                         .trans_b = true,
                         .accumulate = true},
          3, 128);
}

/* Few terms are one part, and so are those of a device with few processors. */
Test(gemm_parts, whole)
{
    static const struct {
        int n, k, parts;
    } all[] = {{20, 64, 8}, {40, 600, 0}};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        product p = make(&(vt_gemm_desc){.batch = 1,
                                         .M = 9,
                                         .N = all[i].n,
                                         .K = all[i].k,
                                         .type = VT_F32,
                                         .device_class = VT_CLASS_GPU},
                         all[i].parts);

        multiply(&p, 1, "tile");
        cr_expect_eq(wrong(&p, all[i].k, 1), 0);
        unmake(&p);
    }
}
