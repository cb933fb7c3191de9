/*
 * act.c - the names of activations.
 */
#include "gemm/gemm.h"

static const struct {
    const char *name;
} acts[] = {
    [VT_ACT_NONE] = {"none"},          [VT_ACT_GELU] = {"gelu"},
    [VT_ACT_GELU_TANH] = {"gelutanh"}, [VT_ACT_GELU_QUICK] = {"quickgelu"},
    [VT_ACT_TANH] = {"tanh"},          [VT_ACT_RELU] = {"relu"},
    [VT_ACT_SILU] = {"silu"},
};

const char *vt_act_name(vt_act a)
{
    return acts[a].name;
}
