/*
 * diff.c - attention that is not in the file as one product: differential
 * attention (Ye et al. 2024, arXiv:2410.05258) and grouped queries (Ainslie et
 * al. 2023, arXiv:2305.13245), with timm's names.
 *
 *   differential: softmax(q1 k1) v - lambda softmax(q2 k2) v, then a norm of
 *   each head, times 1 - lambda_init
 *
 * q1 and q2 are the halves of a head's q, and so for k. With zeros in place of
 * the other half, each map is one of ordinary heads: their logits are divided
 * by the root of the whole head's width, so q is multiplied by that of 2.
 *
 * Easy to get wrong: lambda_init depends on the block's number; the norm of
 * each head is RMS with an epsilon of 1e-5, whatever the model's is.
 *
 * Parameters (derived.c)
 *   attn.qkv.%@groups         k and v repeated for each query of a group
 *   attn.qkv.%@first,@second  one half of each head's q, scaled, and zeros; of
 *                             the second, v times -lambda
 *   attn.sub_norm.weight@init times 1 - lambda_init
 */
#include "base/memory.h"
#include "models/derived.h"
#include "models/model_private.h"
#include "models/vit.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const kinds[] = {"groups", "first", "second", "init"};
enum { GROUPS, FIRST, SECOND, INIT };

static int kind_of(const char *name)
{
    const char *at = strchr(name, '@');

    for (size_t i = 0; at && i < VT_COUNT(kinds); i++)
        if (strcmp(at + 1, kinds[i]) == 0)
            return (int)i;
    return -1;
}

size_t vt_name_attention(const char *name)
{
    return kind_of(name) < 0 ? 0 : strcspn(name, "@");
}

/* ---- the plan ---- */

static vt_val param(vt_plan *p, int i, const char *tail, int n, int k)
{
    char name[80];

    snprintf(name, sizeof name, "blocks.%d.attn.%s", i, tail);
    return vt_param(p, name, k ? 2 : 1, (int[]){n, k});
}

/* qkv[B,T,3C] by derived weights. */
static vt_val project(vt_plan *p, const vt_config *c, int i, vt_val x,
                      const char *kind)
{
    char weight[40], bias[40];

    snprintf(weight, sizeof weight, "qkv.weight@%s", kind);
    snprintf(bias, sizeof bias, "qkv.bias@%s", kind);
    return vt_linear(
        p, x,
        (vt_linear_args){
            .w = param(p, i, weight, 3 * c->width, vt_dim(p, x, -1)),
            .b = c->qkv_bias ? param(p, i, bias, 3 * c->width, 0) : VT_NONE,
            .scale = VT_NONE,
            .residual = VT_NONE});
}

bool vt_diff_grouped(const vt_config *c, int i)
{
    return c->kv_heads && i >= c->kv_first && i < c->kv_last;
}

vt_val vt_diff_groups(vt_plan *p, const vt_config *c, int i, vt_val x)
{
    return project(p, c, i, x, kinds[GROUPS]);
}

vt_val vt_diff_attention(vt_plan *p, const vt_config *c, int i, vt_val x)
{
    const vt_attention_args args = {.heads = c->heads, .bias = VT_NONE};
    const vt_val a = vt_attention(p, project(p, c, i, x, kinds[FIRST]), args);
    const vt_val b = vt_attention(p, project(p, c, i, x, kinds[SECOND]), args);
    const vt_val gamma =
        param(p, i, "sub_norm.weight@init", c->width / c->heads, 0);

    return vt_head_rmsnorm(p, vt_add(p, a, b), c->heads, gamma, 1e-5f);
}

/* ---- its parameters ---- */

static double lambda_init(int block)
{
    return 0.8 - 0.6 * exp(-0.3 * block);
}

/* exp(the scalar product of lambda_q<n> and lambda_k<n>) */
static vitcl_status lambda_part(double *out, const vt_model *m, int block,
                                int n)
{
    const size_t half = (size_t)(m->config.width / m->config.heads / 2);
    vitcl_status st = VITCL_OK;
    float *q = NULL, *k = NULL;
    char name[64];
    double sum = 0;

    snprintf(name, sizeof name, "blocks.%d.attn.lambda_q%d", block, n);
    VT_TRY(vt_stored_weight(&q, m, name, half));
    snprintf(name, sizeof name, "blocks.%d.attn.lambda_k%d", block, n);
    VT_TRY(vt_stored_weight(&k, m, name, half));
    for (size_t i = 0; i < half; i++)
        sum += (double)q[i] * (double)k[i];
    *out = exp(sum);
done:
    free(q);
    free(k);
    return st;
}

static vitcl_status half_of_q(float *out, const vt_model *m, const char *plain,
                              int block, bool second, uint64_t count)
{
    const size_t width = (size_t)m->config.width, rows = 3 * width;
    const size_t head = width / (size_t)m->config.heads, each = count / rows;
    double a = 0, b = 0, lambda;

    if (count % rows || head % 2)
        return vt_fail(VITCL_EINVAL, "%s: another size than the plan's", plain);
    VT_RET(vt_stored_read(out, m, plain, count));
    for (size_t r = 0; r < width; r++)
        for (size_t i = 0; i < each; i++)
            out[r * each + i] *=
                (r % head < head / 2) == second ? 0 : 1.41421356237309505f;
    if (!second)
        return VITCL_OK;
    VT_RET(lambda_part(&a, m, block, 1));
    VT_RET(lambda_part(&b, m, block, 2));
    lambda = a - b + lambda_init(block);
    if (!(fabs(lambda) <= FLT_MAX))
        VT_RET(vt_fail(VITCL_ECORRUPT,
                       "%s: the lambda that blocks.%d.attn.lambda_* give is "
                       "not a finite number",
                       m->path, block));
    for (size_t k = 2 * width * each; k < count; k++)
        out[k] = (float)(out[k] * -lambda);
    return VITCL_OK;
}

static vitcl_status repeat(float *out, const vt_model *m, const char *plain,
                           uint64_t count)
{
    const size_t width = (size_t)m->config.width, rows = 3 * width;
    const size_t heads = (size_t)m->config.heads, head = width / heads;
    const size_t kv = (size_t)m->config.kv_heads, each = count / rows;
    const size_t one = head * each; /* a head's elements */
    vitcl_status st = VITCL_OK;
    float *in = NULL;

    if (count % rows || kv == 0 || heads % kv)
        return vt_fail(VITCL_EINVAL, "%s: another size than the plan's", plain);
    VT_TRY(vt_stored_weight(&in, m, plain, (heads + 2 * kv) * one));
    memcpy(out, in, heads * one * sizeof *out);
    for (size_t part = 0; part < 2; part++)
        for (size_t h = 0; h < heads; h++)
            memcpy(out + ((part + 1) * heads + h) * one,
                   in + (heads + part * kv + h * kv / heads) * one,
                   one * sizeof *out);
done:
    free(in);
    return st;
}

vitcl_status vt_attention_derive(float *out, const vt_model *m,
                                 const char *name, uint64_t count)
{
    const int kind = kind_of(name);
    char plain[VT_NAME];
    int block = 0;

    snprintf(plain, sizeof plain, "%.*s", (int)strcspn(name, "@"), name);
    if (sscanf(plain, "blocks.%6d.", &block) != 1)
        return vt_fail(VITCL_EINVAL, "%s: no block has it", name);
    if (kind == GROUPS)
        return repeat(out, m, plain, count);
    if (kind != INIT)
        return half_of_q(out, m, plain, block, kind == SECOND, count);
    VT_RET(vt_stored_read(out, m, plain, count));
    for (uint64_t i = 0; i < count; i++)
        out[i] = (float)(out[i] * (1 - lambda_init(block)));
    return VITCL_OK;
}
