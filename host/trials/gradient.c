/*
 * gradient.c - the trial of a training's attention on matrix units: are its
 * forward and the two kernels of its gradients right, and faster than those in
 * tiles of f32?
 */
#include "base/log.h"
#include "base/memory.h"
#include "ops/attention_heads.h"
#include "ops/attention_tiles.h"
#include "trials/forms.h"
#include "trials/trials.h"

#include <math.h>
#include <stdio.h>

/* The gradients of head h in double, by the formulas of attention_grad.cl,
 * without the maximum: the logits are small. want: zeros. y: the output. */
static void head(double *want, float *y, const float *qkv, const float *dy,
                 int h)
{
    double p[TOKENS], dp[TOKENS];

    for (int i = 0; i < TOKENS; i++) {
        const float *q = qkv + i * TOKEN + h * D, *g = dy + i * C + h * D;
        double all = 0, mean = 0, out[D] = {0};

        for (int j = 0; j < TOKENS; j++) {
            const float *k = qkv + j * TOKEN + C + h * D, *v = k + C;

            p[j] = dp[j] = 0;
            for (int d = 0; d < D; d++) {
                p[j] += (double)q[d] * (double)k[d];
                dp[j] += (double)g[d] * (double)v[d];
            }
            all += p[j] = exp(p[j] / 8);
        }
        for (int j = 0; j < TOKENS; j++)
            mean += (p[j] /= all) * dp[j];
        for (int j = 0; j < TOKENS; j++) {
            const int at = j * TOKEN + C + h * D;
            const double x = p[j] * (dp[j] - mean) / 8;

            for (int d = 0; d < D; d++) {
                want[i * TOKEN + h * D + d] += x * (double)qkv[at + d];
                want[at + d] += x * (double)q[d];
                want[at + C + d] += p[j] * (double)g[d];
                out[d] += p[j] * (double)qkv[at + C + d];
            }
        }
        for (int d = 0; d < D; d++)
            y[i * C + h * D + d] = (float)out[d];
    }
}

/* Buffers: q, k and v; dq, dk and dv; y; dy; what belongs to rows. */
enum { X, DX, Y, DY, STAT, BUFFERS };
static const int forward[] = {Y, X, X, -1};

static vitcl_status problem(vt_mma_problem *p, vt_dev *dev, int pictures,
                            int tokens)
{
    enum { F = sizeof(float) };
    static const size_t bytes[BUFFERS] = {TOKEN * F, TOKEN * F, C * F, C * F,
                                          2 * HEADS * F};

    return vt_mma_problem_new(p, dev, pictures, tokens, bytes, BUFFERS, DX);
}

/* dq before dk and dv, for which `each` groups have the same keys. groups: of a
 * head. */
static vitcl_status form(vt_mma_form *f, const vt_mma_problem *p,
                         const char *file, const char *defines, size_t groups,
                         size_t items, size_t each)
{
    static const int args[2][7] = {{DX, STAT, DY, Y, X, X, -1},
                                   {DX, DY, STAT, X, X, -1, -1}};
    const size_t all = groups * HEADS * (size_t)p->pictures * items;

    for (int i = 0; i < 2; i++) {
        vt_kernel *k;
        char name[48];

        snprintf(name, sizeof name, "%s__%s", file, i ? "kv" : "q");
        VT_RET(vt_mma_form_add(&k, f, p, file, name, defines, args[i]));
        vt_kernel_size(k, 2, (size_t[3]){all, i ? each : 1},
                       (size_t[3]){items, 1});
    }
    return VITCL_OK;
}

static vitcl_status on_unit(vt_mma_form *f, const vt_mma_problem *p,
                            vt_mma_choice c)
{
    const vt_mma_heads h = vt_mma_gradient_of(c, D);
    char defines[128];

    VT_RET(vt_mma_form_unit(f, p, c, VT_BF16, VT_F32, forward));
    vt_mma_heads_define(defines, sizeof defines, &h, c, VT_BF16, D);
    return form(f, p, "attention_grad_mma", defines,
                vt_mma_heads_items(&h, p->tokens, 1) / h.items, h.items,
                vt_mma_gradient_groups(c));
}

static vitcl_status in_tiles(vt_mma_form *f, const vt_mma_problem *p)
{
    const vt_gradient_tiles t =
        vt_gradient_tiles_of(vt_queue_dev(p->q), D, true);

    VT_RET(vt_mma_form_tiles(f, p, VT_F32, forward));
    return t.items ? form(f, p, "attention_grad_tiles", t.defines,
                          ((size_t)p->tokens + t.rows - 1) / t.rows, t.items, 1)
                   : vt_fail(VITCL_EUNSUPPORTED, "no tiles to compare with");
}

static bool faster(vt_dev *dev, vt_mma_choice c)
{
    vt_mma_form unit = {.n = 0}, tiles = {.n = 0};
    vt_mma_problem p;
    bool yes = false;
    vitcl_status st;

    VT_TRY(problem(&p, dev, vt_mma_race_pictures(c), VIT_TOKENS));
    VT_TRY(on_unit(&unit, &p, c));
    VT_TRY(in_tiles(&tiles, &p));
    VT_TRY(vt_mma_race(&yes, &unit, &tiles, &p, c, "a training's attention"));
done:
    vt_mma_form_free(&unit);
    vt_mma_form_free(&tiles);
    vt_mma_problem_free(&p);
    return st == VITCL_OK && yes;
}

static vitcl_status compute(float *out, float *y, vt_dev *dev, vt_mma_choice c,
                            const float *qkv, const float *dy)
{
    enum { TOKENS_BYTES = TOKENS * C * sizeof(float) };
    vt_mma_form f = {.n = 0};
    vt_mma_problem p;
    vitcl_status st;

    VT_TRY(problem(&p, dev, 1, TOKENS));
    VT_TRY(vt_buf_write(p.q, p.b[X], 0, qkv, 3 * TOKENS_BYTES));
    VT_TRY(vt_buf_write(p.q, p.b[DY], 0, dy, TOKENS_BYTES));
    VT_TRY(on_unit(&f, &p, c));
    VT_TRY(vt_mma_form_run(&f, &p));
    VT_TRY(vt_buf_read(p.q, p.b[Y], 0, y, TOKENS_BYTES));
    VT_TRY(vt_buf_read(p.q, p.b[DX], 0, out, 3 * TOKENS_BYTES));
done:
    vt_mma_form_free(&f);
    vt_mma_problem_free(&p);
    return st;
}

vitcl_status vt_trial_gradient(const char **verdict, vt_dev *dev,
                               vt_mma_choice c, bool timed)
{
    enum { ALL = TOKENS * TOKEN, SOME = TOKENS * C };
    float *qkv = NULL, *y = NULL, *got = NULL, *dy = NULL, *out = NULL;
    double *want = NULL, most = 0;
    bool right = true;
    vitcl_status st;

    if (c.kind == VT_MMA_NONE || !vt_mma_kinds[c.kind].bf16)
        return vt_fail(VITCL_EINVAL, "gradients have no such instruction");
    VT_TRY(VT_NEW(&qkv, ALL));
    VT_TRY(VT_NEW(&y, SOME));
    VT_TRY(VT_NEW(&got, SOME));
    VT_TRY(VT_NEW(&dy, SOME));
    VT_TRY(VT_NEW(&out, ALL));
    VT_TRY(VT_NEW(&want, ALL));
    for (int i = 0; i < ALL; i++)
        qkv[i] = vt_mma_element(i);
    for (int i = 0; i < SOME; i++)
        dy[i] = vt_mma_element(ALL + i);
    for (int h = 0; h < HEADS; h++)
        head(want, y, qkv, dy, h);
    VT_TRY(compute(out, got, dev, c, qkv, dy));
    for (int i = 0; i < ALL; i++)
        most = fmax(most, fabs(want[i]));
    /* p keeps 16 bits in the forward, and the largest value is 2; in the
     * gradients p and dx are rounded once, by 2^-8 of each at most */
    for (int i = 0; right && i < SOME; i++)
        right = fabs((double)got[i] - (double)y[i]) <= 0x1p-15 + 1e-5;
    for (int i = 0; right && i < ALL; i++)
        right = fabs((double)out[i] - want[i]) <= most * 0x1p-8;
    *verdict = !right ? "wrong" : timed && !faster(dev, c) ? "slower" : "right";
    vt_log("tried a training's attention, %s: %s", vt_mma_kinds[c.kind].name,
           *verdict);
done:
    free(qkv);
    free(y);
    free(got);
    free(dy);
    free(out);
    free(want);
    return st;
}
