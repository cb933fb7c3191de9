/*
 * swiglu.cl - a gated unit: silu(gate) * value.
 *
 * swiglu       out[N,C] = silu(x[n, gate + c]) * x[n, value + c]
 * swiglu_grad  dx[N,2C] <- dout[N,C], x[N,2C]
 *
 * gate and value are 0 and C, or C and 0: where each half of a row begins.
 *
 * Launch    global {ceil(C / (PER*V)), N}
 * Defines   V, PER (common.cl).
 *
 * Paper     Shazeer 2020, arXiv:2002.05202.
 * Host      host/ops/swiglu.c         Test  tests/ops/test_swiglu.c
 */
kernel void swiglu(global float *restrict out, global const float *restrict x,
                   int C, int gate, int value)
{
    const size_t row = get_global_id(1);
    const int end = block_end(C);
    int i = block_begin(C);

    x += row * 2 * C;
    out += row * C;
    for (; i + V <= end; i += V)
        vstorev(vt_act(vloadv(0, x + gate + i), VT_ACT_SILU) *
                    vloadv(0, x + value + i),
                0, out + i);
    for (; i < end; i++)
        out[i] = vt_act(x[gate + i], VT_ACT_SILU) * x[value + i];
}

kernel void swiglu_grad(global float *restrict dx,
                        global const float *restrict dout,
                        global const float *restrict x, int C, int gate,
                        int value)
{
    const size_t row = get_global_id(1);
    const int end = block_end(C);
    int i = block_begin(C);

    x += row * 2 * C;
    dx += row * 2 * C;
    dout += row * C;
    for (; i + V <= end; i += V) {
        const floatv d = vloadv(0, dout + i), g = vloadv(0, x + gate + i);
        vstorev(d * vloadv(0, x + value + i) * vt_act_grad(g, VT_ACT_SILU), 0,
                dx + gate + i);
        vstorev(d * vt_act(g, VT_ACT_SILU), 0, dx + value + i);
    }
    for (; i < end; i++) {
        const float d = dout[i], g = x[gate + i];
        dx[gate + i] = d * x[value + i] * vt_act_grad(g, VT_ACT_SILU);
        dx[value + i] = d * vt_act(g, VT_ACT_SILU);
    }
}
