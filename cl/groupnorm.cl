/*
 * groupnorm.cl - normalise groups of channels; then scale, shift, add, ReLU.
 *
 *     h   = (x - mean) * rstd                 over C/G channels and all pixels
 *     out = relu(h * gamma[c] + beta[c] + residual)
 *
 * groupnorm         out[B,C,S], stat[B,G,2] <- x[B,C,S], gamma[C], beta[C],
 *                   residual[B,C,S] or NULL; relu 0 or 1
 * groupnorm_grad_x  dx, dresidual (or NULL) <- dout, out, x, stat, gamma
 * groupnorm_grad_w  dgamma[C], dbeta[C] <- dout, out, x, stat   (adds: +=)
 *
 * S = H * W. stat (or NULL) holds (mean, rstd) for the backward kernels. These
 * pass a gradient through ReLU where out is positive.
 *
 * Launch    groupnorm, _grad_x: global {B * G * WG}, local {WG}: one work-group
 *           per group
 *           _grad_w: global {C * WG}, local {WG}; WG=1 on CPUs
 * Local     WG floats.
 * Defines   WG, V (common.cl); groupnorm: XT (x), RST (residual) and YT (out),
 *           how they are stored.
 * Numerics  Two passes, as layernorm.cl.
 *
 * Paper     Wu, He 2018, arXiv:1803.08494.
 * Host      host/ops/groupnorm.c      Test  tests/ops/test_groupnorm.c
 */
static inline OUTLINED_CPU void
normalise_group(global VT_TYPE(YT) *restrict out, global float *restrict stat,
                global const VT_TYPE(XT) *restrict x,
                global const float *restrict gamma,
                global const float *restrict beta,
                global const VT_TYPE(RST) * residual, int C, int S, int G,
                float eps, int relu, int group, int lid, local float *tmp)
{
    const int n = C / G, first = group % G * n;
    const size_t at = (size_t)group * n * S;

    x += at;
    out += at;
    const float mean = wg_row_sum(x, n * S, tmp) / (n * S);
    const float var = wg_row_square(x, n * S, mean, tmp) / (n * S);
    const float rstd = 1.0f / sqrt(var + eps);

    for (int c = 0; c < n; c++) {
        const float a = gamma[first + c] * rstd, b = beta[first + c];
        const size_t row = (size_t)c * S;

        for (int i = lid * V; i + V <= S; i += WG * V) {
            floatv y =
                fma(VT_LOADV(XT, x, row + i) - mean, (floatv)a, (floatv)b);
            if (residual)
                y += VT_LOADV(RST, residual, at + row + i);
            if (relu)
                y = vt_act(y, VT_ACT_RELU);
            VT_STOREV(YT, out, row + i, y);
        }
        for (int i = S / V * V + lid; i < S; i += WG) {
            float y = fma(VT_LOAD(XT, x, row + i) - mean, a, b);
            if (residual)
                y += VT_LOAD(RST, residual, at + row + i);
            VT_STORE(YT, out, row + i, relu ? vt_act(y, VT_ACT_RELU) : y);
        }
    }
    if (stat && lid == 0) {
        stat[2 * group] = mean;
        stat[2 * group + 1] = rstd;
    }
}

kernel WHOLE_GROUPS void groupnorm(global VT_TYPE(YT) *restrict out,
                                   global float *restrict stat,
                                   global const VT_TYPE(XT) *restrict x,
                                   global const float *restrict gamma,
                                   global const float *restrict beta,
                                   global const VT_TYPE(RST) * residual, int C,
                                   int S, int G, float eps, int relu)
{
    local float tmp[WG];

    normalise_group(out, stat, x, gamma, beta, residual, C, S, G, eps, relu,
                    get_group_id(0), get_local_id(0), tmp);
}

/* The gradient before ReLU; 1 element or V. */
static inline float relu_grad(float g, float out, int relu)
{
    return relu && !(out > 0.0f) ? 0.0f : g;
}
static inline floatv relu_gradv(floatv g, floatv out, int relu)
{
    return relu ? select((floatv)(0.0f), g, out > (floatv)(0.0f)) : g;
}

/* Sums of g and g * h over this work-item's share of a plane. */
static inline float2 plane_sums(global const float *restrict dout,
                                global const float *restrict out,
                                global const float *restrict x, int S,
                                float mean, float rstd, int relu)
{
    const int lid = WG > 1 ? (int)get_local_id(0) : 0;
    floatv sv = 0.0f, tv = 0.0f;
    float s = 0.0f, t = 0.0f;

    for (int i = lid * V; i + V <= S; i += WG * V) {
        const floatv g =
            relu_gradv(vloadv(0, dout + i), vloadv(0, out + i), relu);
        sv += g;
        tv = fma(g, (vloadv(0, x + i) - mean) * rstd, tv);
    }
    for (int i = S / V * V + lid; i < S; i += WG) {
        const float g = relu_grad(dout[i], out[i], relu);
        s += g;
        t = fma(g, (x[i] - mean) * rstd, t);
    }
    return (float2)(vt_hsum(sv) + s, vt_hsum(tv) + t);
}

kernel WHOLE_GROUPS void groupnorm_grad_x(
    global float *restrict dx, global float *restrict dresidual,
    global const float *restrict dout, global const float *restrict out,
    global const float *restrict x, global const float *restrict stat,
    global const float *restrict gamma, int C, int S, int G, int relu)
{
    local float tmp[WG];
    const int group = get_group_id(0), lid = get_local_id(0);
    const int n = C / G, first = group % G * n;
    const float mean = stat[2 * group], rstd = stat[2 * group + 1];
    float s = 0.0f, t = 0.0f;

    for (int c = 0; c < n; c++) {
        const size_t k = ((size_t)group * n + c) * S;
        const float2 sum =
            plane_sums(dout + k, out + k, x + k, S, mean, rstd, relu);
        s = fma(sum.x, gamma[first + c], s);
        t = fma(sum.y, gamma[first + c], t);
    }
    s = wg_sum(s, tmp) / (n * S);
    t = wg_sum(t, tmp) / (n * S);
    for (int c = 0; c < n; c++) {
        const size_t k = ((size_t)group * n + c) * S;
        const float a = gamma[first + c];

        for (int i = lid * V; i + V <= S; i += WG * V) {
            const floatv g = relu_gradv(vloadv(0, dout + k + i),
                                        vloadv(0, out + k + i), relu);
            const floatv h = (vloadv(0, x + k + i) - mean) * rstd;
            vstorev((g * a - s - h * t) * rstd, 0, dx + k + i);
            if (dresidual)
                vstorev(g, 0, dresidual + k + i);
        }
        for (int i = S / V * V + lid; i < S; i += WG) {
            const float g = relu_grad(dout[k + i], out[k + i], relu);
            const float h = (x[k + i] - mean) * rstd;
            dx[k + i] = (g * a - s - h * t) * rstd;
            if (dresidual)
                dresidual[k + i] = g;
        }
    }
}

kernel WHOLE_GROUPS void groupnorm_grad_w(global float *restrict dgamma,
                                          global float *restrict dbeta,
                                          global const float *restrict dout,
                                          global const float *restrict out,
                                          global const float *restrict x,
                                          global const float *restrict stat,
                                          int B, int C, int S, int G, int relu)
{
    local float tmp[WG];
    const int c = get_group_id(0), lid = get_local_id(0);
    float s = 0.0f, t = 0.0f;

    for (int b = 0; b < B; b++) {
        const int group = b * G + c / (C / G);
        const size_t k = ((size_t)b * C + c) * S;
        const float2 sum =
            plane_sums(dout + k, out + k, x + k, S, stat[2 * group],
                       stat[2 * group + 1], relu);
        s += sum.y;
        t += sum.x;
    }
    s = wg_sum(s, tmp);
    t = wg_sum(t, tmp);
    if (lid == 0 && dgamma)
        dgamma[c] += s;
    if (lid == 0 && dbeta)
        dbeta[c] += t;
}
