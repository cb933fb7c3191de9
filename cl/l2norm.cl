/*
 * l2norm.cl - rows divided by their Euclidean length.
 *
 *     out = x / max(|x|, 1e-12)
 *
 * l2norm       out[N,C] <- x[N,C]
 * l2norm_grad  dx = (dout - out * (out . dout)) / |x|
 *
 * Launch    global {N * WG}, local {WG}: one work-group a row; WG=1 on CPUs.
 * Local     WG floats.
 * Defines   WG, V (common.cl).
 *
 * Host      host/ops/l2norm.c         Test  tests/ops/test_l2norm.c
 */
/* NaN stays NaN. */
static inline float length_of(float square)
{
    return square < 1e-24f ? 1e-12f : sqrt(square);
}

kernel void l2norm(global float *restrict out, global const float *restrict x,
                   int C)
{
    local float tmp[WG];
    const size_t row = get_group_id(0);
    const int lid = get_local_id(0);

    x += row * C;
    out += row * C;
    const float length = length_of(wg_row_square(x, C, 0.0f, tmp));
    for (int c = lid; c < C; c += WG)
        out[c] = x[c] / length;
}

kernel void l2norm_grad(global float *restrict dx,
                        global const float *restrict dout,
                        global const float *restrict x, int C)
{
    local float tmp[WG];
    const size_t row = get_group_id(0);
    const int lid = get_local_id(0);
    float s = 0.0f;

    x += row * C;
    dx += row * C;
    dout += row * C;
    const float length = length_of(wg_row_square(x, C, 0.0f, tmp));
    for (int c = lid; c < C; c += WG)
        s = fma(x[c] / length, dout[c], s);
    s = wg_sum(s, tmp);
    for (int c = lid; c < C; c += WG)
        dx[c] = (dout[c] - x[c] / length * s) / length;
}
