/*
 * embed.cl - prefix tokens before the patch tokens, and positions added.
 *
 * embed         out[b,R+n] = x[b,n] + pos[Q+n], and the first P tokens
 * embed_prefix  out[b,first+j] = prefix[j] + (first+j < Q ? pos[first+j] : 0)
 * embed_grad    g[at+j] += sum_b dout[b,first+j], j < count  (prefix and pos)
 *
 * out[B,T,C], T = R + N: R prefix tokens (class, registers), of which the
 * first Q have a position. pos[Q+N,C] may be NULL.
 *
 * Launch    global {ceil(C / (PER*V)), rows}; rows: embed B*(P+N),
 *           embed_prefix, for other kinds of tokens, B*count, embed_grad count
 * Defines   V, PER (common.cl); XT and YT: how x and out are stored.
 *
 * Paper     Dosovitskiy et al. 2021, arXiv:2010.11929, equation 1.
 * Host      host/ops/embed.c          Test  tests/ops/test_embed.c
 */
#define ROW_ADD(name, t)                                                       \
    static inline OUTLINED_CPU void name(                                      \
        global VT_TYPE(YT) *restrict out, global const VT_TYPE(t) *restrict x, \
        global const float *restrict y, int i, int end)                        \
    {                                                                          \
        for (; i + V <= end; i += V)                                           \
            VT_STOREV(YT, out, i,                                              \
                      y ? VT_LOADV(t, x, i) + vloadv(0, y + i)                 \
                        : VT_LOADV(t, x, i));                                  \
        for (; i < end; i++)                                                   \
            VT_STORE(YT, out, i,                                               \
                     y ? VT_LOAD(t, x, i) + y[i] : VT_LOAD(t, x, i));          \
    }
ROW_ADD(row_add, XT)
ROW_ADD(prefix_add, f32)

kernel void embed(global VT_TYPE(YT) *restrict out,
                  global const VT_TYPE(XT) *restrict x,
                  global const float *restrict pos,
                  global const float *restrict prefix, int N, int C, int R,
                  int Q, int P)
{
    const int row = block_row(C), b = row / (P + N), n = row % (P + N) - P;
    const int begin = block_begin(C), end = block_end(C);

    out += ((size_t)b * (R + N) + (n < 0 ? n + P : R + n)) * C;
    if (n < 0)
        prefix_add(out, prefix + (size_t)(n + P) * C,
                   pos && n + P < Q ? pos + (size_t)(n + P) * C : 0, begin,
                   end);
    else
        row_add(out, x + ((size_t)b * N + n) * C,
                pos ? pos + (size_t)(Q + n) * C : pos, begin, end);
}

kernel void embed_prefix(global VT_TYPE(YT) *restrict out,
                         global const float *restrict prefix,
                         global const float *restrict pos, int T, int C,
                         int first, int count, int Q)
{
    const int row = block_row(C), b = row / count, j = row % count;

    prefix_add(out + ((size_t)b * T + first + j) * C, prefix + (size_t)j * C,
               pos && first + j < Q ? pos + (size_t)(first + j) * C : 0,
               block_begin(C), block_end(C));
}

kernel void embed_grad(global float *restrict g,
                       global const float *restrict dout, int B, int T, int C,
                       int first, int at)
{
    const int j = block_row(C);
    const int end = block_end(C);
    int i = block_begin(C);

    g += (size_t)(at + j) * C;
    dout += (size_t)(first + j) * C;
    for (; i + V <= end; i += V) {
        floatv s = 0.0f;
        for (int b = 0; b < B; b++)
            s += vloadv(0, dout + (size_t)b * T * C + i);
        vstorev(vloadv(0, g + i) + s, 0, g + i);
    }
    for (; i < end; i++) {
        float s = 0.0f;
        for (int b = 0; b < B; b++)
            s += dout[(size_t)b * T * C + i];
        g[i] += s;
    }
}
