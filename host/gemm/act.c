/*
 * act.c - the names of activations.
 */
#include "gemm/gemm.h"

static const struct {
    const char *name;
} acts[] = {
    [VT_ACT_NONE] = {"none"},
    [VT_ACT_GELU] = {"gelu"},
    [VT_ACT_GELU_TANH] = {"gelutanh"},
    [VT_ACT_GELU_QUICK] = {"quickgelu"},
    [VT_ACT_TANH] = {"tanh"},
    [VT_ACT_RELU] = {"relu"},
    [VT_ACT_SILU] = {"silu"},
    [VT_ACT_SIGMOID] = {"sigmoid"},
    [VT_ACT_RELU6] = {"relu6"},
    [VT_ACT_RELU2] = {"relu2"},
    [VT_ACT_RELU_LEAKY] = {"leakyrelu"},
    [VT_ACT_ELU] = {"elu"},
    [VT_ACT_SELU] = {"selu"},
    [VT_ACT_MISH] = {"mish"},
    [VT_ACT_SIGMOID_HARD] = {"hardsigmoid"},
    [VT_ACT_SWISH_HARD] = {"hardswish"},
    [VT_ACT_MISH_HARD] = {"hardmish"},
    [VT_ACT_GELU_10] = {"gelu10"},
    [VT_ACT_LAPLACE] = {"laplace"},
};

const char *vt_act_name(vt_act a)
{
    return acts[a].name;
}
