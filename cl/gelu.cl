/*
 * gelu.cl - the activations of vt_act in common.cl, element by element.
 *
 * gelu       out[n] = act(x[n])
 * gelu_grad  dx[n] = dout[n] * act'(x[n])
 *
 * kind: GELU (erf, tanh, quick), tanh, ReLU, SiLU as VT_ACT_* of common.cl.
 * Most activations run in a multiplication's epilogue; these kernels are for
 * the others and for training, which needs x.
 *
 * Launch    global {ceil(n / (PER*V))}
 * Defines   V, PER (common.cl).
 *
 * Paper     Hendrycks, Gimpel 2016, arXiv:1606.08415.
 * Host      host/ops/gelu.c           Test  tests/ops/test_gelu.c
 */
kernel void gelu(global float *restrict out, global const float *restrict x,
                 int n, int kind)
{
    const int end = block_end(n);
    int i = block_begin(n);

    for (; i + V <= end; i += V)
        vstorev(vt_act(vloadv(0, x + i), kind), 0, out + i);
    for (; i < end; i++)
        out[i] = vt_act(x[i], kind);
}

kernel void gelu_grad(global float *restrict dx,
                      global const float *restrict dout,
                      global const float *restrict x, int n, int kind)
{
    const int end = block_end(n);
    int i = block_begin(n);

    for (; i + V <= end; i += V)
        vstorev(vloadv(0, dout + i) * vt_act_grad(vloadv(0, x + i), kind), 0,
                dx + i);
    for (; i < end; i++)
        dx[i] = dout[i] * vt_act_grad(x[i], kind);
}
