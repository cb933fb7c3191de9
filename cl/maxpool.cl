/*
 * maxpool.cl - the largest of each window; pixels outside count as -inf.
 *
 * maxpool       out[B,C,Ho,Wo], index[B,C,Ho,Wo] <- x[B,C,H,W]
 * maxpool_grad  dx[B,C,H,W] <- dout[B,C,Ho,Wo], index
 *
 * index (or NULL) is where in its plane the first largest pixel of a window is,
 * row by row; it has the window's whole gradient, as in torch.
 *
 * Planes = B * C. Window (oy, ox) reads rows oy*stride - top .. + size - 1.
 *
 * Launch    maxpool: global {ceil(Wo / (PER*V)), planes * Ho}
 *           maxpool_grad: global {ceil(W / (PER*V)), planes * H}; each pixel
 *           asks the windows that see it, so no atomics
 * Defines   V, PER (common.cl).
 *
 * Host      host/ops/maxpool.c        Test  tests/ops/test_maxpool.c
 */
static inline int first_max(global const float *x, int H, int W, int y0, int x0,
                            int size)
{
    const int u0 = max(x0, 0), u1 = min(x0 + size, W);
    const int y1 = min(y0 + size, H);
    float top = -INFINITY;
    int at = max(y0, 0) * W + u0;

    for (int y = max(y0, 0); y < y1; y++)
        for (int i = y * W + u0; i < y * W + u1; i++) {
            const float v = x[i];
            const int more = v > top || v != v; /* NaN wins, and stays */
            top = more ? v : top;
            at = more ? i : at;
        }
    return at;
}

kernel void maxpool(global float *restrict out, global int *restrict index,
                    global const float *restrict x, int H, int W, int Ho,
                    int Wo, int size, int stride, int top, int left)
{
    const int row = get_global_id(1), oy = row % Ho;
    const int end = block_end(Wo);

    x += (size_t)(row / Ho) * H * W;
    for (int ox = block_begin(Wo); ox < end; ox++) {
        const int at =
            first_max(x, H, W, oy * stride - top, ox * stride - left, size);
        out[(size_t)row * Wo + ox] = x[at];
        if (index)
            index[(size_t)row * Wo + ox] = at;
    }
}

kernel void maxpool_grad(global float *restrict dx,
                         global const float *restrict dout,
                         global const int *restrict index, int H, int W, int Ho,
                         int Wo, int size, int stride, int top, int left)
{
    const int row = get_global_id(1), y = row % H;
    const int end = block_end(W);
    const int oy0 = max(y + top - size + stride, 0) / stride;
    const int oy1 = min((y + top) / stride, Ho - 1);

    index += (size_t)(row / H) * Ho * Wo;
    dout += (size_t)(row / H) * Ho * Wo;
    for (int u = block_begin(W); u < end; u++) {
        const int ox0 = max(u + left - size + stride, 0) / stride;
        const int ox1 = min((u + left) / stride, Wo - 1);
        float s = 0.0f;
        for (int oy = oy0; oy <= oy1; oy++)
            for (int ox = ox0; ox <= ox1; ox++)
                if (index[oy * Wo + ox] == y * W + u)
                    s += dout[oy * Wo + ox];
        dx[(size_t)row * W + u] = s;
    }
}
