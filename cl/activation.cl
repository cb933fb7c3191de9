/*
 * activation.cl - the activations of vt_act in common.cl, element by element.
 *
 *     out[n] = act(x[n]);  slope[n] = act'(x[n])
 *
 * Most activations run in a multiplication's epilogue; this kernel is for the
 * others and for training, whose backward needs the slope.
 *
 * Launch    global {ceil(n / (PER*V))}
 * Defines   KIND, a VT_ACT_* of common.cl: GELU (erf, tanh, quick), tanh, ReLU,
 *           SiLU; SLOPE where it is wanted; V, PER (common.cl).
 *
 * Paper     Hendrycks, Gimpel 2016, arXiv:1606.08415.
 * Host      host/ops/activation.c           Test  tests/ops/test_activation.c
 */
#ifndef KIND
#define KIND VT_ACT_GELU
#endif

kernel void activation(global float *restrict out, global float *restrict slope,
                 global const float *restrict x, int n)
{
    const int end = block_end(n);
    int i = block_begin(n);

    for (; i + V <= end; i += V) {
        const floatv v = vloadv(0, x + i);

        vstorev(vt_act(v, KIND), 0, out + i);
#ifdef SLOPE
        vstorev(vt_act_grad(v, KIND), 0, slope + i);
#endif
    }
    for (; i < end; i++) {
        out[i] = vt_act(x[i], KIND);
#ifdef SLOPE
        slope[i] = vt_act_grad(x[i], KIND);
#endif
    }
}
