/*
 * weight_standardise.cl - give each filter mean 0 and variance 1.
 *
 *     out = (w - mean) * r,  r = 1 / sqrt(var + eps)
 *
 * weight_standardise       out[O,K] <- w[O,K]
 * weight_standardise_grad  dw[O,K] <- dout[O,K], w
 *
 * Launch    global {O * WG}, local {WG}: one work-group a filter; WG=1 on CPUs.
 * Local     WG floats.
 * Defines   WG, V (common.cl).
 * Numerics  Two passes, as layernorm.cl; K of variance 0 gives 0 (eps > 0).
 *
 * Paper     Qiao et al. 2019, arXiv:1903.10520; Kolesnikov et al. 2020,
 *           arXiv:1912.11370.
 * Host      host/ops/weight_standardise.c
 * Test      tests/ops/test_weight_standardise.c
 */
kernel WHOLE_GROUPS void weight_standardise(global float *restrict out,
                                            global const float *restrict w,
                                            int K, float eps)
{
    local float tmp[WG];
    const size_t row = get_group_id(0);
    const int lid = get_local_id(0);

    w += row * K;
    out += row * K;
    const float mean = wg_row_sum(w, K, tmp) / K;
    const float var = wg_row_square(w, K, mean, tmp) / K;
    const float r = 1.0f / sqrt(var + eps);
    for (int k = lid; k < K; k += WG)
        out[k] = (w[k] - mean) * r;
}

/* With u = w - mean, g = dout:
 * dw = r * (g - sum(g) / K) + u * sum(g * u) * (dr/dvar) * 2 / K */
kernel WHOLE_GROUPS void
weight_standardise_grad(global float *restrict dw,
                        global const float *restrict dout,
                        global const float *restrict w, int K, float eps)
{
    local float tmp[WG];
    const size_t row = get_group_id(0);
    const int lid = get_local_id(0);
    float s = 0.0f, t = 0.0f;

    w += row * K;
    dw += row * K;
    dout += row * K;
    const float mean = wg_row_sum(w, K, tmp) / K;
    const float var = wg_row_square(w, K, mean, tmp) / K;
    const float r = 1.0f / sqrt(var + eps);
    for (int k = lid; k < K; k += WG) {
        s += dout[k];
        t = fma(dout[k], w[k] - mean, t);
    }
    s = wg_sum(s, tmp) / K;
    t = wg_sum(t, tmp) / K;
    /* 2 dr/dvar; a constant filter has u = 0, so any finite number will do. */
    const float slope = -r * r * r;
    for (int k = lid; k < K; k += WG)
        dw[k] = (dout[k] - s) * r + (w[k] - mean) * t * slope;
}
