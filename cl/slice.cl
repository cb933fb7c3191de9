/*
 * slice.cl - a range of each picture's tokens.
 *
 * slice       out[B,count,C] <- x[B,T,C], tokens first..first+count-1
 * slice_grad  dx[B,T,C]      <- dout[B,count,C]; 0 elsewhere
 *
 * Launch    global {ceil(C / (PER*V)), rows written}
 * Defines   V, PER (common.cl); slice: XT and YT, how x and out are stored.
 *
 * Host      host/ops/slice.c          Test  tests/ops/test_slice.c
 */
static inline OUTLINED_CPU void copy_block(global VT_TYPE(YT) *restrict out,
                                           global const VT_TYPE(XT) *restrict x,
                                           int T, int C, int first, int count,
                                           int row, int i, int end)
{
    x += (size_t)(row / count * T + first + row % count) * C;
    out += (size_t)row * C;
    for (; i + V <= end; i += V)
        VT_STOREV(YT, out, i, VT_LOADV(XT, x, i));
    for (; i < end; i++)
        VT_STORE(YT, out, i, VT_LOAD(XT, x, i));
}

kernel void slice(global VT_TYPE(YT) *restrict out,
                  global const VT_TYPE(XT) *restrict x, int T, int C, int first,
                  int count)
{
    copy_block(out, x, T, C, first, count, block_row(C), block_begin(C),
               block_end(C));
}

kernel void slice_grad(global float *restrict dx,
                       global const float *restrict dout, int T, int C,
                       int first, int count)
{
    const int row = block_row(C);
    const int t = row % T - first;
    const int end = block_end(C);
    int i = block_begin(C);

    dx += (size_t)row * C;
    if (t < 0 || t >= count) {
        for (; i < end; i++)
            dx[i] = 0.0f;
        return;
    }
    dout += (size_t)(row / T * count + t) * C;
    for (; i + V <= end; i += V)
        vstorev(vloadv(0, dout + i), 0, dx + i);
    for (; i < end; i++)
        dx[i] = dout[i];
}
