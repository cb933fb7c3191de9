/*
 * pool.cl - the tokens of a picture reduced to one row.
 *
 * pool       out[B,F] <- x[B,T,C]; from token `first` on
 * pool_grad  dx[B,T,C] <- dout[B,F], x
 *
 * kind 0: token `first`, F = C; 1: mean, F = C; 2: token 0 and then the mean,
 * F = 2C; 3: maximum, F = C, where NaN wins and equal maxima share the gradient
 * (as in torch.amax).
 *
 * Launch    global {ceil(C / (PER*V)), B}
 * Defines   V, PER (common.cl); pool: XT, how x is stored.
 *
 * Host      host/ops/pool.c           Test  tests/ops/test_pool.c
 */
#define POOL_TOKEN 0
#define POOL_MEAN 1
#define POOL_CLS_MEAN 2
#define POOL_MAX 3

static inline OUTLINED_CPU void pool_block(global float *restrict out,
                                           global const VT_TYPE(XT) *restrict x,
                                           int T, int C, int kind, int first,
                                           size_t b, int i, int end)
{
    const int n = T - first;

    out += b * C * (kind == POOL_CLS_MEAN ? 2 : 1);
    x += b * T * C;
    global const VT_TYPE(XT) *from = x + (size_t)first * C;
    global float *mean = kind == POOL_CLS_MEAN ? out + C : out;
    for (; i + V <= end; i += V) {
        floatv s = VT_LOADV(XT, from, i);
        if (kind == POOL_MAX)
            for (int t = 1; t < n; t++) {
                const floatv v = VT_LOADV(XT, from, (size_t)t * C + i);
                s = select(s, v, v > s || v != v);
            }
        else if (kind != POOL_TOKEN) {
            for (int t = 1; t < n; t++)
                s += VT_LOADV(XT, from, (size_t)t * C + i);
            s /= (float)n;
        }
        vstorev(s, 0, mean + i);
        if (kind == POOL_CLS_MEAN)
            vstorev(VT_LOADV(XT, x, i), 0, out + i);
    }
    for (; i < end; i++) {
        float s = VT_LOAD(XT, from, i);
        if (kind == POOL_MAX)
            for (int t = 1; t < n; t++) {
                const float v = VT_LOAD(XT, from, (size_t)t * C + i);
                s = v > s || v != v ? v : s;
            }
        else if (kind != POOL_TOKEN) {
            for (int t = 1; t < n; t++)
                s += VT_LOAD(XT, from, (size_t)t * C + i);
            s /= (float)n;
        }
        mean[i] = s;
        if (kind == POOL_CLS_MEAN)
            out[i] = VT_LOAD(XT, x, i);
    }
}

kernel void pool(global float *restrict out,
                 global const VT_TYPE(XT) *restrict x, int T, int C, int kind,
                 int first)
{
    pool_block(out, x, T, C, kind, first, block_row(C), block_begin(C),
               block_end(C));
}

kernel void pool_grad(global float *restrict dx,
                      global const float *restrict dout,
                      global const float *restrict x, int T, int C, int kind,
                      int first)
{
    const size_t b = block_row(C);
    const int end = block_end(C), n = T - first;

    dout += b * C * (kind == POOL_CLS_MEAN ? 2 : 1);
    x += b * T * C;
    dx += b * T * C;
    for (int i = block_begin(C); i < end; i++) {
        const float d = dout[kind == POOL_CLS_MEAN ? C + i : i];
        float top = 0.0f, share = kind == POOL_TOKEN ? d : d / n;

        if (kind == POOL_MAX) {
            int equal = 0;
            top = x[(size_t)first * C + i];
            for (int t = first + 1; t < T; t++)
                top = fmax(top, x[(size_t)t * C + i]);
            for (int t = first; t < T; t++)
                equal += x[(size_t)t * C + i] == top;
            share = d / equal;
        }
        for (int t = 0; t < T; t++) {
            float g = t < first ? 0.0f : share;
            if (kind == POOL_TOKEN && t != first)
                g = 0.0f;
            if (kind == POOL_MAX && x[(size_t)t * C + i] != top)
                g = 0.0f;
            if (kind == POOL_CLS_MEAN && t == 0)
                g += dout[i];
            dx[(size_t)t * C + i] = g;
        }
    }
}
