/*
 * pick.cl - one token of each picture or text.
 *
 * pick       out[B,C] <- x[B, token[b], C]
 * pick_grad  dx[B,T,C]: dout[b] at token[b]; 0 elsewhere
 *
 * A number outside 0..T-1 gives zeros, and no gradient.
 *
 * Launch    global {ceil(C / (PER*V)), rows written}
 * Defines   V, PER (common.cl); pick: XT and YT, how x and out are stored.
 *
 * Paper     Radford et al. 2021, arXiv:2103.00020, section 2.4.
 * Host      host/ops/pick.c           Test  tests/ops/test_pick.c
 */
static inline OUTLINED_CPU void pick_block(global VT_TYPE(YT) *restrict out,
                                           global const VT_TYPE(XT) *restrict x,
                                           bool found, int i, int end)
{
    for (; i + V <= end; i += V)
        VT_STOREV(YT, out, i, found ? VT_LOADV(XT, x, i) : (floatv)(0.0f));
    for (; i < end; i++)
        VT_STORE(YT, out, i, found ? VT_LOAD(XT, x, i) : 0.0f);
}

kernel void pick(global VT_TYPE(YT) *restrict out,
                 global const VT_TYPE(XT) *restrict x,
                 global const int *restrict token, int T, int C)
{
    const int b = block_row(C), t = token[b];
    const bool found = (uint)t < (uint)T;

    pick_block(out + (size_t)b * C, x + ((size_t)b * T + (found ? t : 0)) * C,
               found, block_begin(C), block_end(C));
}

kernel void pick_grad(global float *restrict dx,
                      global const float *restrict dout,
                      global const int *restrict token, int T, int C)
{
    const int row = block_row(C), b = row / T;
    const bool found = token[b] == row % T;
    const int end = block_end(C);

    for (int i = block_begin(C); i < end; i++)
        dx[(size_t)row * C + i] = found ? dout[(size_t)b * C + i] : 0.0f;
}
