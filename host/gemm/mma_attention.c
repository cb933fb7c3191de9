/*
 * mma_attention.c - attention on matrix units (cl/attention_mma.cl): what a
 * work-group computes, and the trial of the kernel: is it right, and faster
 * than that without matrix units? Besides the instruction of the products it
 * needs values of other lanes, transposed reads, and the device's power of 2.
 * Run by the program vitcl-try, because it may crash.
 */
#include "base/half.h"
#include "base/log.h"
#include "base/memory.h"
#include "gemm/attention_tiles.h"
#include "gemm/mma_forms.h"
#include "gemm/params.h"

#include <math.h>
#include <stdio.h>

enum { ITEMS = 128, KEYS = 64, SCRATCH = 4096, LEAST = 16, MOST = 128 };

/* Of common_units_rows.cl: rows are a chunk of 16 bytes longer, or spans of 16
 * numbers a row. */
static size_t places(vt_mma_choice c, int rows, int chunks)
{
    return (size_t)(16 * (c.kind < VT_MMA_INTEL ? rows * (chunks + 1)
                                                : (rows + 1) * chunks));
}

static size_t rows_bytes(vt_mma_choice c, int keys, int d)
{
    return places(c, keys, (d + 15) / 16 * 2);
}

static size_t turned_bytes(vt_mma_choice c, int keys, int d)
{
    const int n = vt_mma_kinds[c.kind].rows;

    return places(c, (d + n - 1) / n * n, keys / 8);
}

size_t vt_mma_tiles_bytes(vt_mma_choice c, int keys, int d, int rows,
                          int turned)
{
    return (size_t)rows * rows_bytes(c, keys, d) +
           (size_t)turned * (c.kind <= 2 ? 0 : turned_bytes(c, keys, d)) +
           (c.emulated ? SCRATCH : 0);
}

size_t vt_mma_kept_bytes(const vt_mma_heads *h, int d)
{
    return h->kept ? (size_t)(h->queries * ((d + 15) / 16) * 32) : 0;
}

bool vt_mma_heads_take(int d)
{
    return d >= LEAST && d <= MOST && d % 8 == 0;
}

/* Keys at a time: what registers allow. */
static int most_keys(vt_mma_choice c, int d, bool bias)
{
    if (c.kind < VT_MMA_INTEL)
        return d > 64 ? KEYS / 2 : KEYS;
    return d <= 32 ? KEYS : d <= (bias ? 72 : 80) ? KEYS / 2 : KEYS / 4;
}

vt_mma_heads vt_mma_heads_of(const vt_dev *dev, vt_mma_choice c, int d,
                             int queries, bool bias)
{
    const vt_mma_kind *k = &vt_mma_kinds[c.kind];
    const int least = c.kind <= 2 || c.kind >= VT_MMA_INTEL ? 16 : 32;
    const int tiles = c.kind == 1 ? 4 : c.kind == 2 ? 2 : 1;
    vt_mma_heads h = {.subgroups = c.emulated ? 2 : ITEMS / k->lanes,
                      .fragments = 1,
                      .kept = c.kind >= VT_MMA_INTEL && d > 64,
                      .keys = most_keys(c, d, bias)};

    while (h.keys > least && vt_mma_tiles_bytes(c, h.keys, d, tiles, 1) >
                                 vt_dev_info(dev)->local_bytes)
        h.keys /= 2;
    h.queries = h.subgroups * (c.kind <= 2 ? k->rows : k->columns);
    /* a bias needs the registers; smaller heads wait for powers of 2 */
    if (d >= 64 && d <= k->twice && !bias && queries > h.queries)
        h.fragments = 2, h.queries *= 2;
    h.items = (size_t)(h.subgroups * k->lanes);
    h.local_bytes =
        vt_mma_tiles_bytes(c, h.keys, d, tiles, 1) + vt_mma_kept_bytes(&h, d);
    return h;
}

size_t vt_mma_heads_items(const vt_mma_heads *h, int rows, int heads)
{
    const size_t n = (size_t)h->queries;

    return ((size_t)rows + n - 1) / n * (size_t)heads * h->items;
}

void vt_mma_heads_define(char *out, size_t size, const vt_mma_heads *h,
                         vt_mma_choice c, vt_dtype type, int d)
{
    snprintf(out, size,
             "-DKIND=%d%s%s -DTYPE=%d -DD=%d -DWM=%d -DFQ=%d -DKEYS=%d", c.kind,
             h->kept ? " -DKEPT" : "", vt_mma_flags(c), vt_type_number(type), d,
             h->subgroups, h->fragments, h->keys);
}

/* ---- the trial ---- */

/* Output c of query i in double, without the maximum: the logits are small. */
static double wanted(const float *qkv, int i, int c)
{
    const float *q = qkv + i * TOKEN + c / D * D;
    double all = 0, sum = 0;

    for (int j = 0; j < TOKENS; j++) {
        const float *k = qkv + j * TOKEN + C;
        double x = 0;

        for (int d = 0; d < D; d++)
            x += (double)q[d] * (double)k[c / D * D + d];
        x = exp(x / 8);
        all += x;
        sum += x * (double)k[C + c];
    }
    return sum / all;
}

/* Buffers: the output; q, k and v. */
enum { Y, X, BUFFERS };
static const int args[] = {Y, X, X, -1};

static vitcl_status problem(vt_mma_problem *p, vt_dev *dev, int pictures,
                            int tokens)
{
    static const size_t bytes[BUFFERS] = {C * sizeof(float),
                                          TOKEN * sizeof(uint16_t)};

    return vt_mma_problem_new(p, dev, pictures, tokens, bytes, BUFFERS, Y);
}

static vitcl_status on_unit(vt_mma_form *f, const vt_mma_problem *p,
                            vt_mma_choice c, vt_dtype type)
{
    const vt_mma_heads h =
        vt_mma_heads_of(vt_queue_dev(p->q), c, D, p->tokens, false);
    char common[96], defines[160];
    vt_kernel *k;
    vitcl_status st;

    vt_mma_heads_define(common, sizeof common, &h, c, type, D);
    snprintf(defines, sizeof defines, "%s -DQT=%s -DKVT=%s", common,
             vt_dtype_name(type), vt_dtype_name(type));
    VT_TRY(vt_mma_form_add(&k, f, p, "attention_mma", "attention_mma", defines,
                           args));
    vt_kernel_size(
        k, 1,
        (size_t[3]){vt_mma_heads_items(&h, p->tokens, HEADS * p->pictures)},
        (size_t[3]){h.items});
done:
    return st;
}

static vitcl_status in_tiles(vt_mma_form *f, const vt_mma_problem *p,
                             vt_dtype type)
{
    const vt_query_tiles t = vt_query_tiles_of(vt_queue_dev(p->q), D);
    const size_t groups = ((size_t)p->tokens + t.items - 1) / t.items;
    char defines[96];
    vt_kernel *k;
    vitcl_status st;

    snprintf(defines, sizeof defines, "%s -DQT=%s -DKVT=%s", t.defines,
             vt_dtype_name(type), vt_dtype_name(type));
    VT_TRY(vt_mma_form_add(&k, f, p, "attention", "attention__tiled", defines,
                           args));
    vt_kernel_size(k, 3,
                   (size_t[3]){groups * t.items, HEADS, (size_t)p->pictures},
                   (size_t[3]){t.items, 1, 1});
done:
    return st;
}

static bool faster(vt_dev *dev, vt_mma_choice c, vt_dtype type)
{
    vt_mma_form unit = {.n = 0}, tiles = {.n = 0};
    vt_mma_problem p;
    bool yes = false;
    vitcl_status st;

    VT_TRY(problem(&p, dev, vt_mma_race_pictures(c), VIT_TOKENS));
    VT_TRY(on_unit(&unit, &p, c, type));
    VT_TRY(in_tiles(&tiles, &p, type));
    VT_TRY(vt_mma_race(&yes, &unit, &tiles, &p, c, "attention"));
done:
    vt_mma_form_free(&unit);
    vt_mma_form_free(&tiles);
    vt_mma_problem_free(&p);
    return st == VITCL_OK && yes;
}

static vitcl_status compute(float *out, vt_dev *dev, vt_mma_choice c,
                            vt_dtype type, const uint16_t *halves)
{
    vt_mma_form f = {.n = 0};
    vt_mma_problem p;
    vitcl_status st;

    VT_TRY(problem(&p, dev, 1, TOKENS));
    VT_TRY(
        vt_buf_write(p.q, p.b[X], 0, halves, TOKENS * TOKEN * sizeof *halves));
    VT_TRY(on_unit(&f, &p, c, type));
    VT_TRY(vt_mma_form_run(&f, &p));
    VT_TRY(vt_buf_read(p.q, p.b[Y], 0, out, TOKENS * C * sizeof *out));
done:
    vt_mma_form_free(&f);
    vt_mma_problem_free(&p);
    return st;
}

vitcl_status vt_mma_try_attention(const char **verdict, vt_dev *dev,
                                  vt_mma_choice c, vt_dtype type, bool timed)
{
    enum { NUMBERS = TOKENS * TOKEN, OUT = TOKENS * C };
    /* a probability is rounded once, and the largest value is 2 */
    const double bound = (type == VT_F16 ? 0x1p-11 : 0x1p-8) * 2 + 1e-5;
    float *qkv = NULL, *out = NULL;
    uint16_t *halves = NULL;
    bool right = true;
    vitcl_status st;

    if (c.kind == VT_MMA_NONE || (type != VT_F16 && type != VT_BF16))
        return vt_fail(VITCL_EINVAL, "attention has no such instruction");
    VT_TRY(VT_NEW(&qkv, NUMBERS));
    VT_TRY(VT_NEW(&halves, NUMBERS));
    VT_TRY(VT_NEW(&out, OUT));
    for (int i = 0; i < NUMBERS; i++) {
        qkv[i] = vt_mma_element(i);
        halves[i] =
            type == VT_F16 ? vt_f32_to_f16(qkv[i]) : vt_f32_to_bf16(qkv[i]);
    }
    VT_TRY(compute(out, dev, c, type, halves));
    for (int i = 0; right && i < OUT; i++)
        right = fabs((double)out[i] - wanted(qkv, i / C, i % C)) <= bound;
    *verdict = !right                           ? "wrong"
               : timed && !faster(dev, c, type) ? "slower"
                                                : "right";
    vt_log("tried attention, %s %s: %s", vt_mma_kinds[c.kind].name,
           vt_dtype_name(type), *verdict);
done:
    free(qkv);
    free(halves);
    free(out);
    return st;
}
