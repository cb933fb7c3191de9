/*
 * conv.cl - im2col: the rows that make a convolution a matrix multiplication
 * (on CPUs conv_direct.cl computes most convolutions without them).
 *
 * conv       out[B,Ho*Wo,K] <- x[B,C,H,W]; K = C*kh*kw in the order (c, y, x);
 *            pixels outside count as 0
 * conv_grad  dx[B,C,H,W] <- dout[B,Ho*Wo,K]: each pixel gathers its shares, so
 *            no atomics
 *
 * Output pixel (oy, ox) reads rows oy*stride - top .. + kh - 1, columns
 * ox*stride - left .. + kw - 1.
 *
 * Launch    conv: global {ceil(K / (PER*V)), B*Ho*Wo}
 *           conv__pixels: for CPUs, global {ceil(Wo / 16), B*Ho}: a work-item
 *           has 16 pixels, whose rows stay in L1 while k advances
 *           conv_grad: global {ceil(W / (PER*V)), B*C*H}
 *           conv_grad__pixels: for CPUs, global {ceil(W / 16), B*H}
 * Defines   V, PER (common.cl); conv: XT and YT, how x and out are stored.
 *
 * Source    Chellapilla, Puri, Simard 2006 (im2col).
 * Host      host/ops/conv.c           Test  tests/ops/test_conv.c
 */
kernel void conv(global VT_TYPE(YT) *restrict out,
                 global const VT_TYPE(XT) *restrict x, int C, int H, int W,
                 int Ho, int Wo, int kh, int kw, int stride, int top, int left)
{
    const int row = block_row(C * kh * kw);
    const int ox = row % Wo, oy = row / Wo % Ho, b = row / Wo / Ho;
    const int K = C * kh * kw, end = block_end(K);

    x += (size_t)b * C * H * W;
    out += (size_t)row * K;
    for (int k = block_begin(K); k < end; k++) {
        const int c = k / (kh * kw);
        const int y = oy * stride - top + k / kw % kh;
        const int u = ox * stride - left + k % kw;
        float v = 0.0f;
        if (y >= 0 && y < H && u >= 0 && u < W)
            v = VT_LOAD(XT, x, ((size_t)c * H + y) * W + u);
        VT_STORE(YT, out, k, v);
    }
}

/* The row of a window that extends over the edge. */
static inline void gather_edge(global float *restrict to,
                               global const float *restrict x, int C, int H,
                               int W, int kh, int kw, int y0, int u0)
{
    const int j0 = min(max(-u0, 0), kw), j1 = max(min(kw, W - u0), j0);

    for (int c = 0; c < C; c++)
        for (int i = 0; i < kh; i++, to += kw) {
            const int y = y0 + i, in = y >= 0 && y < H;
            global const float *from = x + ((size_t)c * H + y) * W + u0;

            if (kw == 3) {
                vstore3((float3)(in && j0 == 0 && j1 > 0 ? from[0] : 0.0f,
                                 in && j0 <= 1 && j1 > 1 ? from[1] : 0.0f,
                                 in && j0 <= 2 && j1 > 2 ? from[2] : 0.0f),
                        0, to);
                continue;
            }
            for (int j = 0; j < kw; j++)
                to[j] = in && j >= j0 && j < j1 ? from[j] : 0.0f;
        }
}

/* Pixels o0 to o1 - 1 of a row of the output. */
static inline OUTLINED_CPU void gather_pixels(global float *restrict out,
                                              global const float *restrict x,
                                              int C, int H, int W, int kh,
                                              int kw, int stride, int y0,
                                              int left, int o0, int o1)
{
    const int K = C * kh * kw;

    for (int o = o0; o < o1; o++) {
        const int u0 = o * stride - left;
        global float *to = out + (size_t)o * K;

        if (y0 < 0 || y0 + kh > H || u0 < 0 || u0 + kw > W) {
            gather_edge(to, x, C, H, W, kh, kw, y0, u0);
            continue;
        }
        for (int c = 0; c < C; c++) {
            global const float *from = x + ((size_t)c * H + y0) * W + u0;

            for (int i = 0; i < kh; i++, from += W, to += kw) {
                if (kw == 3)
                    vstore3(vload3(0, from), 0, to);
                else
                    for (int j = 0; j < kw; j++)
                        to[j] = from[j];
            }
        }
    }
}

kernel void conv__pixels(global float *restrict out,
                         global const float *restrict x, int C, int H, int W,
                         int Ho, int Wo, int kh, int kw, int stride, int top,
                         int left)
{
    const int o0 = get_global_id(0) * 16;
    const int oy = get_global_id(1) % Ho, b = get_global_id(1) / Ho;

    gather_pixels(out + (size_t)get_global_id(1) * Wo * C * kh * kw,
                  x + (size_t)b * C * H * W, C, H, W, kh, kw, stride,
                  oy * stride - top, left, o0, min(o0 + 16, Wo));
}

kernel void conv_grad(global float *restrict dx,
                      global const float *restrict dout, int C, int H, int W,
                      int Ho, int Wo, int kh, int kw, int stride, int top,
                      int left)
{
    const int row = block_row(W);
    const int y = row % H, c = row / H % C, b = row / H / C;
    const int K = C * kh * kw, end = block_end(W);

    dx += (size_t)row * W;
    dout += (size_t)b * Ho * Wo * K + (size_t)c * kh * kw;
    for (int u = block_begin(W); u < end; u++) {
        float s = 0.0f;
        for (int i = 0; i < kh; i++) {
            const int oy = (y + top - i) / stride;
            if (y + top < i || (y + top - i) % stride || oy >= Ho)
                continue;
            for (int j = 0; j < kw; j++) {
                const int ox = (u + left - j) / stride;
                if (u + left < j || (u + left - j) % stride || ox >= Wo)
                    continue;
                s += dout[((size_t)oy * Wo + ox) * K + i * kw + j];
            }
        }
        dx[u] = s;
    }
}

kernel void conv_grad__pixels(global float *restrict dx,
                              global const float *restrict dout, int C, int H,
                              int W, int Ho, int Wo, int kh, int kw, int stride,
                              int top, int left)
{
    const int u0 = get_global_id(0) * 16, u1 = min(u0 + 16, W);
    const int y = get_global_id(1) % H, b = get_global_id(1) / H;
    const int K = C * kh * kw, taps = kh * kw;

    dout += (size_t)b * Ho * Wo * K;
    dx += ((size_t)b * C * H + y) * W;
    for (int c = 0; c < C; c++) {
        float s[16];

        for (int u = 0; u < 16; u++)
            s[u] = 0.0f;
        for (int i = 0; i < kh; i++) {
            const int oy = (y + top - i) / stride;
            if (y + top < i || (y + top - i) % stride || oy >= Ho)
                continue;
            global const float *from =
                dout + (size_t)oy * Wo * K + c * taps + i * kw;

            for (int j = 0; j < kw; j++) {
                /* the windows whose column j is one of u0 .. u1 - 1 */
                const int first = u0 + left - j, end = u1 + left - j;
                const int o0 = first > 0 ? (first + stride - 1) / stride : 0;
                const int o1 =
                    end > 0 ? min((end + stride - 1) / stride, Wo) : 0;
                float *to = s + (o0 * stride - first);

                for (int o = o0; o < o1; o++, to += stride)
                    *to += from[(size_t)o * K + j];
            }
        }
        for (int u = u0; u < u1; u++)
            dx[(size_t)c * H * W + u] = s[u - u0];
    }
}
