/*
 * activation.cl - the activations of vt_act in common_math_acts.cl, element by
 * element.
 *
 *     out[n] = act(x[n]);  derivative[n] = act'(x[n])
 *
 * activation  out[n], derivative[n] <- x[n]
 *
 * Most activations run in the epilogue of a matrix multiplication. This kernel
 * is for the others and for training, whose backward pass needs the derivative.
 *
 * Launch    global {ceil(n / (PER*V))}
 * Defines   ACT, a VT_ACT_* of common_math_acts.cl; DERIVATIVE to write it too;
 *           YT, how out is stored; V, PER (common.cl).
 *
 * Paper     Hendrycks, Gimpel 2016, arXiv:1606.08415.
 * Host      host/ops/activation.c     Test  tests/ops/test_activation.c
 */
kernel void activation(global VT_TYPE(YT) *restrict out,
                       global float *restrict derivative,
                       global const float *restrict x, int n)
{
    const int end = block_end(n);
    int i = block_begin(n);

    for (; i + V <= end; i += V) {
        const floatv v = vloadv(0, x + i);

        VT_STOREV(YT, out, i, vt_act(v, ACT));
#ifdef DERIVATIVE
        vstorev(vt_act_grad(v, ACT), 0, derivative + i);
#endif
    }
    for (; i < end; i++) {
        VT_STORE(YT, out, i, vt_act(x[i], ACT));
#ifdef DERIVATIVE
        derivative[i] = vt_act_grad(x[i], ACT);
#endif
    }
}
