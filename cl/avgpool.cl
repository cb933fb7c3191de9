/*
 * avgpool.cl - the mean of each window; windows are adjacent, without overlap.
 *
 *     out[y,x] = mean of in[v,u] over size*y <= v < min(size*(y+1), H),
 *                                    size*x <= u < min(size*(x+1), W)
 *
 * avgpool  out[B,C,Ho,Wo] <- x[B,C,H,W]; Ho = ceil(H / size), Wo likewise
 *
 * A window that extends over the edge averages the pixels inside, as torch's
 * AvgPool2d(size, ceil_mode=True, count_include_pad=False).
 *
 * Launch    global {ceil(Wo / (PER*V)), B*C*Ho}
 * Defines   V, PER (common.cl); XT and YT: how x and out are stored.
 * Numerics  Sums row by row in f32, then divides once.
 *
 * Source    He et al. 2018, arXiv:1812.01187, section 4.2 (ResNet-D).
 * Host      host/ops/avgpool.c        Test  tests/ops/test_avgpool.c
 */
kernel void avgpool(global VT_TYPE(YT) *restrict out,
                    global const VT_TYPE(XT) *restrict x, int H, int W, int Ho,
                    int Wo, int size)
{
    const int row = block_row(Wo), y0 = row % Ho * size;
    const int y1 = min(y0 + size, H), end = block_end(Wo);

    x += (size_t)(row / Ho) * H * W;
    out += (size_t)row * Wo;
    for (int o = block_begin(Wo); o < end; o++) {
        const int u0 = o * size, u1 = min(u0 + size, W);
        float s = 0.0f;

        for (int y = y0; y < y1; y++)
            for (int u = u0; u < u1; u++)
                s += VT_LOAD(XT, x, y * W + u);
        VT_STORE(YT, out, o, s / ((y1 - y0) * (u1 - u0)));
    }
}
