/*
 * mask_patches.cl - patches replaced by others, or by a mask embedding.
 *
 *     out[b,n] = 0 <= source[b,n] < N ? x[b, source[b,n]] : mask
 *
 * mask_patches            out[B,N,C] <- x[B,N,C], source[B,N], mask[C]
 * mask_patches_grad_x     dx[b,m] = sum of dout[b,n] over n with
 *                         source[b,n] == m
 * mask_patches_grad_mask  dmask[C] += sum of dout[b,n] over b and n that have
 *                         no source
 *
 * An unchanged patch is its own source. A patch that is no source gets a zero
 * gradient.
 *
 * Launch    mask_patches, _grad_x: global {ceil(C / (PER*V)), B*N}
 *           _grad_mask: global {ceil(C / (PER*V))}
 * Defines   V, PER (common.cl).
 * Numerics  Sums run in the order of b and n: equal inputs give equal bits.
 *
 * Paper     Dosovitskiy et al. 2021, arXiv:2010.11929, appendix B.1.2.
 * Host      host/ops/mask_patches.c   Test  tests/ops/test_mask_patches.c
 */
kernel void mask_patches(global float *restrict out, global const float *x,
                         global const int *restrict source,
                         global const float *mask, int N, int C)
{
    const int row = block_row(C), from = source[row];
    const int end = block_end(C);
    int i = block_begin(C);

    if ((uint)from < (uint)N)
        x += ((size_t)(row / N) * N + from) * C;
    else
        x = mask;
    out += (size_t)row * C;
    for (; i + V <= end; i += V)
        vstorev(vloadv(0, x + i), 0, out + i);
    for (; i < end; i++)
        out[i] = x[i];
}

kernel void mask_patches_grad_x(global float *restrict dx,
                                global const float *restrict dout,
                                global const int *restrict source, int N, int C)
{
    const int row = block_row(C), m = row % N;
    const int end = block_end(C);
    int i = block_begin(C);

    source += row - m;
    dout += (size_t)(row - m) * C;
    dx += (size_t)row * C;
    for (; i + V <= end; i += V) {
        floatv s = 0.0f;
        for (int n = 0; n < N; n++)
            if (source[n] == m)
                s += vloadv(0, dout + (size_t)n * C + i);
        vstorev(s, 0, dx + i);
    }
    for (; i < end; i++) {
        float s = 0.0f;
        for (int n = 0; n < N; n++)
            if (source[n] == m)
                s += dout[(size_t)n * C + i];
        dx[i] = s;
    }
}

kernel void mask_patches_grad_mask(global float *restrict dmask,
                                   global const float *restrict dout,
                                   global const int *restrict source, int rows,
                                   int N, int C)
{
    const int end = block_end(C);
    int i = block_begin(C);

    for (; i + V <= end; i += V) {
        floatv s = 0.0f;
        for (int n = 0; n < rows; n++)
            if ((uint)source[n] >= (uint)N)
                s += vloadv(0, dout + (size_t)n * C + i);
        vstorev(vloadv(0, dmask + i) + s, 0, dmask + i);
    }
    for (; i < end; i++) {
        float s = 0.0f;
        for (int n = 0; n < rows; n++)
            if ((uint)source[n] >= (uint)N)
                s += dout[(size_t)n * C + i];
        dmask[i] += s;
    }
}
