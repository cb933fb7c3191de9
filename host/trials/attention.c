/*
 * attention.c - the trial of attention on matrix units: is it right, and
 * faster than that without? Besides the instruction of the products it needs
 * values of other lanes, transposed reads, and the device's power of 2.
 */
#include "base/half.h"
#include "base/log.h"
#include "base/memory.h"
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

static bool faster(vt_dev *dev, vt_mma_choice c, vt_dtype type)
{
    vt_mma_form unit = {.n = 0}, tiles = {.n = 0};
    vt_mma_problem p;
    bool yes = false;
    vitcl_status st;

    VT_TRY(problem(&p, dev, vt_mma_race_pictures(c), VIT_TOKENS));
    VT_TRY(vt_mma_form_unit(&unit, &p, c, type, type, args));
    VT_TRY(vt_mma_form_tiles(&tiles, &p, type, args));
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
    VT_TRY(vt_mma_form_unit(&f, &p, c, type, type, args));
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
