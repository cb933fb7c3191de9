/*
 * dense.c - a linear layer by its name, and what LoRA (train/lora.h) adds.
 */
#include "base/memory.h"
#include "ops/common.h"

#include <stdio.h>
#include <string.h>

static bool adapts(const vt_plan *p, const char *prefix)
{
    static const char *const layers[] = {".attn.qkv", ".attn.proj", ".mlp.fc1",
                                         ".mlp.fc2"};
    int n = 0;

    if (!vt_plan_settings(p)->lora || sscanf(prefix, "blocks.%*u%n", &n) != 0 ||
        n == 0)
        return false;
    for (size_t i = 0; i < VT_COUNT(layers); i++)
        if (strcmp(prefix + n, layers[i]) == 0)
            return true;
    return false;
}

static vt_val bare(vt_plan *p, vt_val x, vt_val w, vt_val b, vt_val residual)
{
    return vt_linear(p, x,
                     (vt_linear_args){.w = w,
                                      .b = b,
                                      .scale = VT_NONE,
                                      .residual = residual,
                                      .act = VT_ACT_NONE});
}

/* y + s B (A x). The factor is applied where there are fewest numbers. */
static vt_val adapted(vt_plan *p, vt_val x, vt_val y, const char *prefix)
{
    const int rank = vt_plan_settings(p)->lora;
    float scale[VT_LORA_MOST];
    char name[96];
    vt_val a, b, u;

    for (int i = 0; i < rank && i < VT_LORA_MOST; i++)
        scale[i] = vt_plan_settings(p)->lora_scale;
    snprintf(name, sizeof name, "%s.lora_A.weight", prefix);
    a = vt_param(p, name, 2, (int[]){rank, vt_dim(p, x, -1)});
    snprintf(name, sizeof name, "%s.lora_B.weight", prefix);
    b = vt_param(p, name, 2, (int[]){vt_dim(p, y, -1), rank});
    u = bare(p, x, a, VT_NONE, VT_NONE);
    u = vt_mul_rows(p, u, vt_const(p, "lora_scale", 1, &rank, scale));
    return bare(p, u, b, VT_NONE, y);
}

vt_val vt_dense(vt_plan *p, vt_val x, const char *prefix, int n, bool bias,
                vt_act act, vt_val scale, vt_val residual)
{
    char name[96];
    vt_linear_args a = {
        .b = VT_NONE, .scale = scale, .residual = residual, .act = act};

    snprintf(name, sizeof name, "%s.weight", prefix);
    a.w = vt_param(p, name, 2, (int[]){n, vt_dim(p, x, -1)});
    if (bias) {
        snprintf(name, sizeof name, "%s.bias", prefix);
        a.b = vt_param(p, name, 1, (int[]){n});
    }
    if (!adapts(p, prefix))
        return vt_linear(p, x, a);
    x = adapted(p, x, bare(p, x, a.w, a.b, VT_NONE), prefix);
    if (act != VT_ACT_NONE)
        x = vt_activation(p, x, act);
    if (scale != VT_NONE)
        x = vt_mul_rows(p, x, scale);
    return residual == VT_NONE ? x : vt_add(p, residual, x);
}
