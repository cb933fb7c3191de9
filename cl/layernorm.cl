/*
 * layernorm.cl - normalise each row, then scale and shift it.
 *
 *     mean = sum_c x[n,c] / C
 *     rstd = 1 / sqrt(sum_c (x[n,c] - mean)^2 / C + eps)
 *     out  = (x - mean) * rstd * gamma + beta
 *
 * layernorm         out[N,C], stat[N,2] <- x, gamma[C], beta[C]
 * layernorm_grad_x  dx <- dout[N,C], x, stat, gamma
 * layernorm_grad_w  dgamma[C], dbeta[C] <- dout, x, stat        (adds: +=)
 *
 * Of every `of` rows of x the first `take` are normalised (1 of 1: all); dx of
 * the others is 0. gamma, beta, stat may be NULL. stat holds (mean, rstd) of
 * each row for the backward kernels.
 *
 * With RMS defined the mean is 0: root mean square norm.
 *
 * Launch    layernorm, _grad_x: global {N * WG}, local {WG}: one group
 *           per row; WG=1 on CPUs
 *           _grad_w: global {8 * ceil(C / 8), 32}, local {8, 32}
 *           _grad_w__cols: for CPUs, global {ceil(C / 4V)}
 * Local     WG floats; 512 floats in _grad_w.
 * Defines   WG, V (common.cl); layernorm: XT and YT, how x and out are stored;
 *           WHOLE (common_storage.cl), where C is a multiple of V; RMS.
 * Numerics  Two passes: E[x^2] - mean^2 cancels when |mean| >> std. No atomics:
 *           equal inputs give equal bits.
 *
 * Paper     Ba, Kiros, Hinton 2016, arXiv:1607.06450; Zhang, Sennrich 2019,
 *           arXiv:1910.07467.
 * Host      host/ops/layernorm.c      Test  tests/ops/test_layernorm.c
 */
#ifndef RMS
#define RMS 0
#endif
#define MEAN(mean) (RMS ? 0.0f : (mean))

kernel WHOLE_GROUPS void layernorm(global VT_TYPE(YT) *restrict out,
                                   global float *restrict stat,
                                   global const VT_TYPE(XT) *restrict x,
                                   global const float *restrict gamma,
                                   global const float *restrict beta, int C,
                                   int take, int of, float eps)
{
    local float tmp[WG];

    vt_normalise_row(out, stat, x, gamma, beta, C, take, of, eps, RMS,
                     get_group_id(0), get_local_id(0), tmp);
}

/* With g = dout * gamma and h = (x - mean) * rstd:
 * dx = rstd * (g - sum(g) / C - h * sum(g * h) / C), without the first sum if
 * the mean is not that of x */
kernel WHOLE_GROUPS void layernorm_grad_x(global float *restrict dx,
                                          global const float *restrict dout,
                                          global const float *restrict x,
                                          global const float *restrict stat,
                                          global const float *restrict gamma,
                                          int C, int take, int of)
{
    local float tmp[WG];
    const int row = get_group_id(0);
    const int lid = get_local_id(0);
    float s = 0.0f, t = 0.0f;

    x += (size_t)(row / take * of + row % take) * C;
    dx += (size_t)(row / take * of) * C;
    if (row % take == 0) /* zeros for the rows that were not normalised */
        for (int c = take * C + lid; c < of * C; c += WG)
            dx[c] = 0.0f;
    dx += (size_t)(row % take) * C;
    dout += (size_t)row * C;

    const float mean = stat[2 * row], rstd = stat[2 * row + 1];
    floatv sv = 0.0f, tv = 0.0f;
    for (int c = lid * V; c + V <= C; c += WG * V) {
        floatv g = vloadv(0, dout + c);
        if (gamma)
            g *= vloadv(0, gamma + c);
        sv += g;
        tv = fma(g, (vloadv(0, x + c) - mean) * rstd, tv);
    }
    for (int c = C / V * V + lid; c < C; c += WG) {
        const float g = gamma ? dout[c] * gamma[c] : dout[c];
        s += g;
        t = fma(g, (x[c] - mean) * rstd, t);
    }
    s = MEAN(wg_sum(vt_hsum(sv) + s, tmp) / C);
    t = wg_sum(vt_hsum(tv) + t, tmp) / C;
    for (int c = lid * V; c + V <= C; c += WG * V) {
        floatv g = vloadv(0, dout + c);
        if (gamma)
            g *= vloadv(0, gamma + c);
        const floatv h = (vloadv(0, x + c) - mean) * rstd;
        vstorev((g - s - h * t) * rstd, 0, dx + c);
    }
    for (int c = C / V * V + lid; c < C; c += WG) {
        const float g = gamma ? dout[c] * gamma[c] : dout[c];
        dx[c] = (g - s - (x[c] - mean) * rstd * t) * rstd;
    }
}

kernel void layernorm_grad_w(global float *restrict dgamma,
                             global float *restrict dbeta,
                             global const float *restrict dout,
                             global const float *restrict x,
                             global const float *restrict stat, int N, int C,
                             int take, int of)
{
    local float a[COLUMNS_HIGH][COLUMNS_WIDE], b[COLUMNS_HIGH][COLUMNS_WIDE];
    const int c = get_global_id(0), j = get_local_id(1);
    float s = 0.0f, t = 0.0f;

    if (c < C)
        for (int n = j; n < N; n += COLUMNS_HIGH) {
            const size_t at = (size_t)(n / take * of + n % take) * C + c;
            const float g = dout[(size_t)n * C + c];
            s = fma(g, (x[at] - stat[2 * n]) * stat[2 * n + 1], s);
            t += g;
        }
    s = column_sum(s, a);
    t = column_sum(t, b);
    if (j > 0 || c >= C)
        return;
    if (dgamma)
        dgamma[c] += s;
    if (dbeta)
        dbeta[c] += t;
}

/* K vectors of columns, or single ones, from c on */
#define SUM_COLUMNS(K, T, LOAD, STORE)                                         \
    {                                                                          \
        T s[K], t[K];                                                          \
        EACH(k, K)                                                             \
            s[k] = t[k] = 0.0f;                                                \
        for (int n = 0; n < N; n++) {                                          \
            const size_t at = (size_t)(n / take * of + n % take) * C + c;      \
            const float mean = stat[2 * n], rstd = stat[2 * n + 1];            \
            EACH(k, K) {                                                       \
                const T g = LOAD(k, dout + (size_t)n * C + c);                 \
                s[k] = fma(g, (LOAD(k, x + at) - mean) * rstd, s[k]);          \
                t[k] += g;                                                     \
            }                                                                  \
        }                                                                      \
        EACH(k, K) {                                                           \
            if (dgamma)                                                        \
                STORE(LOAD(k, dgamma + c) + s[k], k, dgamma + c);              \
            if (dbeta)                                                         \
                STORE(LOAD(k, dbeta + c) + t[k], k, dbeta + c);                \
        }                                                                      \
    }
#define LOAD_1(k, from) (from)[k]
#define STORE_1(x, k, to) (to)[k] = (x)

kernel void layernorm_grad_w__cols(global float *restrict dgamma,
                                   global float *restrict dbeta,
                                   global const float *restrict dout,
                                   global const float *restrict x,
                                   global const float *restrict stat, int N,
                                   int C, int take, int of)
{
    int c = get_global_id(0) * 4 * V;
    const int end = min(c + 4 * V, C);

    for (; c + 4 * V <= end; c += 4 * V)
        SUM_COLUMNS(4, floatv, vloadv, vstorev)
    for (; c + V <= end; c += V)
        SUM_COLUMNS(1, floatv, vloadv, vstorev)
    for (; c < end; c++)
        SUM_COLUMNS(1, float, LOAD_1, STORE_1)
}
