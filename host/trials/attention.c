/*
 * attention.c - the trial of attention on matrix units: is it right, and
 * faster than that without? Besides the instruction of the products it needs
 * values of other lanes, transposed reads, and the device's power of 2.
 */
#include "base/half.h"
#include "base/log.h"
#include "base/memory.h"
#include "ops/attention_heads.h"
#include "ops/attention_tiles.h"
#include "trials/forms.h"
#include "trials/trials.h"

#include <math.h>
#include <stdio.h>

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

vitcl_status vt_trial_attention(const char **verdict, vt_dev *dev,
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
