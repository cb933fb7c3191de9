/*
 * mma_gradient.c - attention's gradients on matrix units
 * (cl/attention_grad_mma.cl): what a work-group computes, and the trial of the
 * two kernels. Run by the program vitcl-try, because they may crash.
 */
#include "base/log.h"
#include "base/memory.h"
#include "gemm/mma.h"

#include <math.h>
#include <stdio.h>

enum { ITEMS = 128 };
enum { HEADS = 2, TOKENS = 77, D = 64, C = HEADS * D }; /* of the trial */

bool vt_mma_gradient_takes(vt_mma_choice c, int d)
{
    return c.kind != VT_MMA_NONE && vt_mma_heads_take(d) &&
           d <= vt_mma_kinds[c.kind].gradients;
}

vt_mma_heads vt_mma_gradient_of(vt_mma_choice c, int d)
{
    const vt_mma_kind *k = &vt_mma_kinds[c.kind];
    /* AMD's pairs need 32; with them, NVIDIA's registers would not last */
    const int least = c.kind <= 2 ? 16 : 32;
    vt_mma_heads h = {.keys = d > 64   ? least
                              : d > 32 ? 32
                                       : 64,
                      .fragments = 1,
                      .subgroups = c.emulated ? 2 : ITEMS / k->lanes};

    h.queries = h.subgroups * k->rows;
    h.items = (size_t)(h.subgroups * k->lanes);
    /* two tensors, on AMD their transposes, and what belongs to rows */
    h.local_bytes = vt_mma_tiles_bytes(c, h.keys, d, 2, 2) + 8 * ITEMS;
    return h;
}

/* ---- the trial ---- */

/* A multiple of 1/16 below 2, which bf16 holds. */
static float element(int i)
{
    return (float)((unsigned)i * 2654435761u >> 26) / 16 - 2;
}

/* q, k and v of a token, then the gradient of its output. */
enum { TOKEN = 3 * C };

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

static vitcl_status launch(vt_queue *q, const char *name, const char *defines,
                           vt_buf *const *bufs, size_t n, size_t global,
                           size_t items)
{
    static const int v[] = {1,     HEADS, TOKENS, TOKENS, TOKENS * TOKEN,
                            TOKEN, TOKEN, C,      2 * C};
    vt_kernel *k = NULL;
    unsigned at = 0;
    vitcl_status st;

    VT_TRY(vt_kernel_new(&k, vt_queue_dev(q), "attention_grad_mma", name,
                         defines));
    while (at < n) {
        VT_TRY(vt_kernel_buf(k, at, bufs[at]));
        at++;
    }
    VT_TRY(vt_kernel_buf(k, at++, NULL));
    for (size_t i = 0; i < VT_COUNT(v); i++)
        VT_TRY(vt_kernel_int(k, at++, v[i]));
    VT_TRY(vt_kernel_float(k, at, 0.125f));
    vt_kernel_size(k, 1, (size_t[3]){global}, (size_t[3]){items});
    VT_TRY(vt_kernel_launch(q, k));
done:
    vt_kernel_free(k);
    return st;
}

static vitcl_status compute(float *out, vt_dev *dev, vt_mma_choice c,
                            const float *qkv, const float *y, const float *dy)
{
    enum { TOKENS_BYTES = TOKENS * C * sizeof(float) };
    const vt_mma_heads h = vt_mma_gradient_of(c, D);
    const size_t global = vt_mma_heads_items(&h, TOKENS, HEADS);
    char defines[128];
    vt_queue *q = NULL;
    vt_buf *b[5] = {NULL}; /* q, k and v; dq, dk and dv; y; dy; stat */
    enum { X, DX, Y, DY, STAT };
    vitcl_status st;

    vt_mma_heads_define(defines, sizeof defines, &h, c, VT_BF16, D);
    VT_TRY(vt_queue_new(&q, dev, false));
    for (int i = X; i <= DX; i++)
        VT_TRY(vt_buf_new(&b[i], dev, 3 * TOKENS_BYTES));
    for (int i = Y; i <= DY; i++)
        VT_TRY(vt_buf_new(&b[i], dev, TOKENS_BYTES));
    VT_TRY(vt_buf_new(&b[STAT], dev, TOKENS * HEADS * 2 * sizeof(float)));
    VT_TRY(vt_buf_write(q, b[X], 0, qkv, 3 * TOKENS_BYTES));
    VT_TRY(vt_buf_write(q, b[Y], 0, y, TOKENS_BYTES));
    VT_TRY(vt_buf_write(q, b[DY], 0, dy, TOKENS_BYTES));
    VT_TRY(vt_buf_fill(q, b[DX], 0x7fc00000u));
    VT_TRY(launch(q, "attention_grad_mma__q", defines,
                  (vt_buf *[]){b[DX], b[STAT], b[DY], b[Y], b[X], b[X]}, 6,
                  global, h.items));
    VT_TRY(launch(q, "attention_grad_mma__kv", defines,
                  (vt_buf *[]){b[DX], b[DY], b[STAT], b[X], b[X]}, 5, global,
                  h.items));
    VT_TRY(vt_buf_read(q, b[DX], 0, out, 3 * TOKENS_BYTES));
done:
    for (size_t i = 0; i < VT_COUNT(b); i++)
        vt_buf_free(b[i]);
    vt_queue_free(q);
    return st;
}

vitcl_status vt_mma_try_gradient(const char **verdict, vt_dev *dev,
                                 vt_mma_choice c)
{
    enum { ALL = TOKENS * TOKEN, SOME = TOKENS * C };
    float *qkv = NULL, *y = NULL, *dy = NULL, *out = NULL;
    double *want = NULL, most = 0;
    bool right = true;
    vitcl_status st;

    if (c.kind == VT_MMA_NONE || c.kind >= VT_MMA_INTEL ||
        !vt_mma_kinds[c.kind].bf16)
        return vt_fail(VITCL_EINVAL, "gradients have no such instruction");
    VT_TRY(VT_NEW(&qkv, ALL));
    VT_TRY(VT_NEW(&y, SOME));
    VT_TRY(VT_NEW(&dy, SOME));
    VT_TRY(VT_NEW(&out, ALL));
    VT_TRY(VT_NEW(&want, ALL));
    for (int i = 0; i < ALL; i++)
        qkv[i] = element(i);
    for (int i = 0; i < SOME; i++)
        dy[i] = element(ALL + i);
    for (int h = 0; h < HEADS; h++)
        head(want, y, qkv, dy, h);
    VT_TRY(compute(out, dev, c, qkv, y, dy));
    for (int i = 0; i < ALL; i++)
        most = fmax(most, fabs(want[i]));
    /* p and dx are rounded once, by 2^-8 of each at most */
    for (int i = 0; right && i < ALL; i++)
        right = fabs((double)out[i] - want[i]) <= most * 0x1p-8;
    *verdict = right ? "right" : "wrong";
    vt_log("tried attention's gradients, %s: %s", vt_mma_kinds[c.kind].name,
           *verdict);
done:
    free(qkv);
    free(y);
    free(dy);
    free(out);
    free(want);
    return st;
}
