/*
 * swiglu.cl - a gated unit: silu(gate) * value.
 *
 * swiglu       out[N,C] = silu(x[n, c]) * x[n, C + c]
 * swiglu_grad  dx[N,2C] <- dout[N,C], x[N,2C]
 *
 * Launch    global {ceil(C / (PER*V)), N}
 * Defines   V, PER (common.cl); swiglu: XT and YT, how x and out are stored.
 *
 * Paper     Shazeer 2020, arXiv:2002.05202.
 * Host      host/ops/swiglu.c         Test  tests/ops/test_swiglu.c
 */
kernel void swiglu(global VT_TYPE(YT) *restrict out,
                   global const VT_TYPE(XT) *restrict x, int C)
{
    const size_t row = block_row(C);
    const int end = block_end(C);
    int i = block_begin(C);

    x += row * 2 * C;
    out += row * C;
    for (; i + V <= end; i += V)
        VT_STOREV(YT, out, i,
                  vt_act(VT_LOADV(XT, x, i), VT_ACT_SILU) *
                      VT_LOADV(XT, x, C + i));
    for (; i < end; i++)
        VT_STORE(YT, out, i,
                 vt_act(VT_LOAD(XT, x, i), VT_ACT_SILU) *
                     VT_LOAD(XT, x, C + i));
}

kernel void swiglu_grad(global float *restrict dx,
                        global const float *restrict dout,
                        global const float *restrict x, int C)
{
    const size_t row = block_row(C);
    const int end = block_end(C);
    int i = block_begin(C);

    x += row * 2 * C;
    dx += row * 2 * C;
    dout += row * C;
    for (; i + V <= end; i += V) {
        const floatv d = vloadv(0, dout + i), g = vloadv(0, x + i);
        vstorev(d * vloadv(0, x + C + i) * vt_act_grad(g, VT_ACT_SILU), 0,
                dx + i);
        vstorev(d * vt_act(g, VT_ACT_SILU), 0, dx + C + i);
    }
    for (; i < end; i++) {
        const float d = dout[i], g = x[i];
        dx[i] = d * x[C + i] * vt_act_grad(g, VT_ACT_SILU);
        dx[C + i] = d * vt_act(g, VT_ACT_SILU);
    }
}
