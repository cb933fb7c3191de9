/*
 * maxpool.cl - the maximum of each window; pixels outside count as -inf.
 *
 * maxpool       out[B,C,Ho,Wo], index[B,C,Ho,Wo] <- x[B,C,H,W]
 * maxpool_grad  dx[B,C,H,W] <- dout[B,C,Ho,Wo], index
 *
 * index (or NULL) is the position, in its plane, of the first largest pixel of
 * the window, row by row. That pixel gets the whole gradient, as in torch.
 *
 * planes = B * C. Window (oy, ox) reads rows oy*stride - top .. + size - 1.
 *
 * Launch    maxpool: global {ceil(Wo / (PER*V)), planes * Ho}
 *           maxpool__lines: for CPUs, global {ceil(Wo / 32), planes * Ho},
 *           where 32 windows span at most SPAN pixels: first reduces the
 *           windows' lines pixel by pixel
 *           maxpool_grad: global {ceil(W / (PER*V)), planes * H}; each pixel
 *           searches the windows that contain it, so no atomics
 *           maxpool_grad__planes: for CPUs, global {planes}: scatters
 * Defines   V, PER (common.cl); maxpool: XT and YT, how x and out are stored.
 *
 * Host      host/ops/maxpool.c        Test  tests/ops/test_maxpool.c
 */
static inline int first_max(global const VT_TYPE(XT) * x, int H, int W, int y0,
                            int x0, int size)
{
    const int u0 = max(x0, 0), u1 = min(x0 + size, W);
    const int y1 = min(y0 + size, H);
    float top = -INFINITY;
    int at = max(y0, 0) * W + u0;

    for (int y = max(y0, 0); y < y1; y++)
        for (int i = y * W + u0; i < y * W + u1; i++) {
            const float v = VT_LOAD(XT, x, i);
            const int more = v > top || v != v; /* NaN wins and stays */
            top = more ? v : top;
            at = more ? i : at;
        }
    return at;
}

kernel void maxpool(global VT_TYPE(YT) *restrict out,
                    global int *restrict index,
                    global const VT_TYPE(XT) *restrict x, int H, int W, int Ho,
                    int Wo, int size, int stride, int top, int left)
{
    const int row = block_row(Wo), oy = row % Ho;
    const int end = block_end(Wo);

    x += (size_t)(row / Ho) * H * W;
    for (int ox = block_begin(Wo); ox < end; ox++) {
        const int at =
            first_max(x, H, W, oy * stride - top, ox * stride - left, size);
        VT_STORE(YT, out, (size_t)row * Wo + ox, VT_LOAD(XT, x, at));
        if (index)
            index[(size_t)row * Wo + ox] = at;
    }
}

#define SPAN 160
/* Is v, the pixel at index i, to replace `top`, that at index `at`? Either may
 * come first. The larger wins, of equals the first in the plane, of NaNs the
 * last. */
#define BETTER(v, i, top, at)                                                  \
    ((v) > (top) || ((v) == (top) && (i) < (at)) ||                            \
     ((v) != (v) && ((top) == (top) || (i) > (at))))
#define BETTERV(v, i, top, at)                                                 \
    (((v) > (top)) | (((v) == (top)) & ((i) < (at))) |                         \
     (((v) != (v)) & (((top) == (top)) | ((i) > (at)))))

/* The windows of line `row` of the output from o0 on. */
static inline OUTLINED void
pool_line(global float *restrict out, global int *restrict index,
          global const float *restrict x, int H, int W, int Ho, int Wo,
          int size, int stride, int top, int left, int o0, int row)
{
    const int oy = row % Ho, o1 = min(o0 + 32, Wo);
    const int y0 = max(oy * stride - top, 0);
    const int y1 = min(oy * stride - top + size, H);
    const int u = o0 * stride - left, n = (o1 - o0 - 1) * stride + size;
    const int i0 = max(-u, 0),
              i1 = min(n, W - u); /* of n: inside the picture */
    float most[SPAN + 3 * V];
    int at[SPAN + 3 * V];
    int i = i0;

    x += (size_t)(row / Ho) * H * W;
    for (int k = 0; k < i0; k++)
        most[k] = -INFINITY, at[k] = INT_MAX;
    for (; i + V <= i1; i += V) {
        floatv m = vloadv(0, x + y0 * W + u + i);
        intv a = (intv)(y0 * W);
        for (int y = y0 + 1; y < y1; y++) {
            const floatv v = vloadv(0, x + y * W + u + i);
            const intv more = (v > m) | (v != v);
            m = select(m, v, more);
            a = select(a, (intv)(y * W), more);
        }
        vstorev(m, 0, most + i);
        vstorev(a, 0, at + i);
    }
    for (int k = i0; k < i; k++)
        at[k] += u + k;
    for (; i < i1; i++) {
        most[i] = x[y0 * W + u + i], at[i] = y0 * W + u + i;
        for (int y = y0 + 1; y < y1; y++) {
            const float v = x[y * W + u + i];
            const int more = v > most[i] || v != v;
            most[i] = more ? v : most[i];
            at[i] = more ? y * W + u + i : at[i];
        }
    }
    for (; i < n + 3 * V && i < SPAN + 3 * V; i++)
        most[i] = -INFINITY, at[i] = INT_MAX;
    out += (size_t)row * Wo;
    if (index)
        index += (size_t)row * Wo;
    int o = o0;
    if (stride <= 2)
        for (; o + V <= o1; o += V) {
            const int k = (o - o0) * stride;
            floatv m;
            intv a;
            for (int j = 0; j < size; j++) {
                floatv v = vloadv(0, most + k + j);
                intv b = vloadv(0, at + k + j);
                if (stride == 2) {
                    v = (floatv)(v.even, vloadv(0, most + k + j + V).even);
                    b = (intv)(b.even, vloadv(0, at + k + j + V).even);
                }
                const intv more = j == 0 ? (intv)(-1) : BETTERV(v, b, m, a);
                m = j == 0 ? v : select(m, v, more);
                a = j == 0 ? b : select(a, b, more);
            }
            vstorev(m, 0, out + o);
            if (index)
                vstorev(a, 0, index + o);
        }
    for (; o < o1; o++) {
        const int k = (o - o0) * stride;
        int best = k;
        for (int j = k + 1; j < k + size; j++)
            best = BETTER(most[j], at[j], most[best], at[best]) ? j : best;
        out[o] = most[best];
        if (index)
            index[o] = at[best];
    }
}

kernel void maxpool__lines(global float *restrict out,
                           global int *restrict index,
                           global const float *restrict x, int H, int W, int Ho,
                           int Wo, int size, int stride, int top, int left)
{
    pool_line(out, index, x, H, W, Ho, Wo, size, stride, top, left,
              get_global_id(0) * 32, get_global_id(1));
}

kernel void maxpool_grad__planes(global float *restrict dx,
                                 global const float *restrict dout,
                                 global const int *restrict index, int H, int W,
                                 int Ho, int Wo, int size, int stride, int top,
                                 int left)
{
    const size_t plane = get_global_id(0);

    dx += plane * H * W;
    dout += plane * Ho * Wo;
    index += plane * Ho * Wo;
    for (int i = 0; i < H * W; i++)
        dx[i] = 0.0f;
    for (int o = 0; o < Ho * Wo; o++)
        dx[index[o]] += dout[o];
}

kernel void maxpool_grad(global float *restrict dx,
                         global const float *restrict dout,
                         global const int *restrict index, int H, int W, int Ho,
                         int Wo, int size, int stride, int top, int left)
{
    const int row = block_row(W), y = row % H;
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
