/*
 * qknorm.cl - layer norm over each head's D, of the q and k thirds of qkv; or
 * of a single part.
 *
 * qknorm         out[N,3C], stat[N,2H,2] <- qkv[N,3C], gammas and betas [D]
 * qknorm_grad_x  dx[N,3C] <- dout, qkv, stat, gammas
 * qknorm_grad_w  dgamma[D], dbeta[D] of one part (0: q, 1: k) of `parts`
 *                (adds: +=)
 *
 * C = H * D. The v third is copied, and so is its gradient. stat holds
 * (mean, rstd) of each head, q before k; NULL at inference. Gammas and betas
 * may be NULL.
 *
 * Launch    qknorm, _grad_x: global {PARTS H, N}: an item has a head of a part
 *           _grad_w: global {8 * ceil(D / 8), 32}, local {8, 32}
 *           _grad_w__cols: for CPUs, global {any}: every so many channels
 * Local     512 floats in _grad_w.
 * Defines   qknorm: XT and YT, how qkv and out are stored. PARTS: 1 where there
 *           is one part, "q", in place of three. RMS: the mean is 0.
 * Numerics  Two passes, as layernorm.cl.
 *
 * Paper     Dehghani et al. 2023, arXiv:2302.05442, section 2.
 * Host      host/ops/qknorm.c         Test  tests/ops/test_qknorm.c
 */
#ifndef PARTS
#define PARTS 3
#endif
#ifdef RMS
#define MEAN(mean) 0.0f
#else
#define MEAN(mean) (mean)
#endif

kernel void
qknorm(global VT_TYPE(YT) *restrict out, global float *restrict stat,
       global const VT_TYPE(XT) *restrict qkv, global const float *restrict qg,
       global const float *restrict qb, global const float *restrict kg,
       global const float *restrict kb, int H, int D, float eps)
{
    const int head = item_x(PARTS * H), row = item_y(PARTS * H);
    const int part = head / H; /* 0: q, 1: k, 2: v */
    const size_t at = ((size_t)row * PARTS * H + head) * D;
    global const float *g = part == 0 ? qg : kg, *b = part == 0 ? qb : kb;
    float mean = 0.0f, var = 0.0f;

    if (head >= PARTS * H)
        return;
    if (part == 2) {
        for (int d = 0; d < D; d++)
            VT_STORE(YT, out, at + d, VT_LOAD(XT, qkv, at + d));
        return;
    }
    for (int d = 0; d < D; d++)
        mean += VT_LOAD(XT, qkv, at + d);
    mean = MEAN(mean / D);
    for (int d = 0; d < D; d++) {
        const float v = VT_LOAD(XT, qkv, at + d) - mean;
        var = fma(v, v, var);
    }
    const float rstd = 1.0f / sqrt(var / D + eps);
    for (int d = 0; d < D; d++)
        VT_STORE(YT, out, at + d,
                 (VT_LOAD(XT, qkv, at + d) - mean) * rstd * (g ? g[d] : 1.0f) +
                     (b ? b[d] : 0.0f));
    if (stat) {
        stat += ((size_t)row * 2 * H + head) * 2;
        stat[0] = mean;
        stat[1] = rstd;
    }
}

kernel void qknorm_grad_x(global float *restrict dx,
                          global const float *restrict dout,
                          global const float *restrict qkv,
                          global const float *restrict stat,
                          global const float *restrict qg,
                          global const float *restrict kg, int H, int D)
{
    const int head = item_x(PARTS * H), row = item_y(PARTS * H);
    const int part = head / H;
    const size_t at = ((size_t)row * PARTS * H + head) * D;
    global const float *gamma = part == 0 ? qg : kg;
    float s = 0.0f, t = 0.0f;

    if (head >= PARTS * H)
        return;
    if (part == 2) {
        for (int d = 0; d < D; d++)
            dx[at + d] = dout[at + d];
        return;
    }
    stat += ((size_t)row * 2 * H + head) * 2;
    const float mean = stat[0], rstd = stat[1];
    for (int d = 0; d < D; d++) {
        const float g = dout[at + d] * (gamma ? gamma[d] : 1.0f);
        s += g;
        t = fma(g, (qkv[at + d] - mean) * rstd, t);
    }
    s = MEAN(s / D);
    t /= D;
    for (int d = 0; d < D; d++) {
        const float g = dout[at + d] * (gamma ? gamma[d] : 1.0f);
        dx[at + d] = (g - s - (qkv[at + d] - mean) * rstd * t) * rstd;
    }
}

/* What channel d gets from heads `from`, from + step, ..: (dgamma, dbeta). */
static inline float2 share_of(global const float *restrict dout,
                              global const float *restrict qkv,
                              global const float *restrict stat, int N, int H,
                              int D, int part, int parts, int d, int from,
                              int step)
{
    float s = 0.0f, t = 0.0f;

    for (int i = from; i < N * H; i += step) {
        const size_t n = i / H, h = i % H;
        const size_t at = ((n * parts + part) * H + h) * D + d;
        const size_t m = ((n * 2 + part) * H + h) * 2;
        s = fma(dout[at], (qkv[at] - stat[m]) * stat[m + 1], s);
        t += dout[at];
    }
    return (float2)(s, t);
}

kernel void qknorm_grad_w(global float *restrict dgamma,
                          global float *restrict dbeta,
                          global const float *restrict dout,
                          global const float *restrict qkv,
                          global const float *restrict stat, int N, int H,
                          int D, int part, int parts)
{
    local float a[COLUMNS_HIGH][COLUMNS_WIDE], b[COLUMNS_HIGH][COLUMNS_WIDE];
    const int d = get_global_id(0), j = get_local_id(1);
    float2 s = 0.0f;

    if (d < D)
        s = share_of(dout, qkv, stat, N, H, D, part, parts, d, j, COLUMNS_HIGH);
    s = (float2)(column_sum(s.x, a), column_sum(s.y, b));
    if (j > 0 || d >= D)
        return;
    if (dgamma)
        dgamma[d] += s.x;
    if (dbeta)
        dbeta[d] += s.y;
}

kernel void qknorm_grad_w__cols(global float *restrict dgamma,
                                global float *restrict dbeta,
                                global const float *restrict dout,
                                global const float *restrict qkv,
                                global const float *restrict stat, int N, int H,
                                int D, int part, int parts)
{
    for (int d = get_global_id(0); d < D; d += get_global_size(0)) {
        const float2 s =
            share_of(dout, qkv, stat, N, H, D, part, parts, d, 0, 1);

        if (dgamma)
            dgamma[d] += s.x;
        if (dbeta)
            dbeta[d] += s.y;
    }
}
