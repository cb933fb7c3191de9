/*
 * rope.cl - rotary positions: pairs of q and k rotated by an angle.
 *
 *     out[2i]   = x[2i]   * cos[2i]   - x[2i+1] * sin[2i]
 *     out[2i+1] = x[2i+1] * cos[2i+1] + x[2i]   * sin[2i+1]
 *
 * rope       out[B,T,3C] <- x[B,T,3C] (thirds q, k, v; heads of D), table
 *            [T-skip,2,D]: sin, then cos
 * rope_grad  dx <- dout, table: the transpose of that
 *
 * v, and the first `skip` tokens, are copied. D is even; pairs are interleaved,
 * as in timm's EVA (apply_rot_embed_cat).
 *
 * Launch    global {ceil(3C / 2 / (PER*V)), B*T}; elements are pairs
 * Defines   V, PER (common.cl); XT and YT: how x and out are stored.
 *
 * Paper     Su et al. 2021, arXiv:2104.09864; Fang et al. 2023,
 *           arXiv:2303.11331.
 * Host      host/ops/rope.c           Test  tests/ops/test_rope.c
 */
static inline void rotate(global VT_TYPE(YT) *restrict out,
                          global const VT_TYPE(XT) *restrict x,
                          global const float *restrict table, int T, int C,
                          int D, int skip, int back)
{
    const int row = block_row(3 * C / 2), t = row % T - skip;
    const int pairs = 3 * C / 2, end = block_end(pairs);

    x += (size_t)row * 3 * C;
    out += (size_t)row * 3 * C;
    table += (size_t)max(t, 0) * 2 * D;
    for (int i = block_begin(pairs); i < end; i++) {
        const float2 v =
            (float2)(VT_LOAD(XT, x, 2 * i), VT_LOAD(XT, x, 2 * i + 1));
        float2 r = v;

        if (t >= 0 && 2 * i < 2 * C) {
            const int d = 2 * i % D;
            const float2 s = vload2(0, table + d);
            const float2 c = vload2(0, table + D + d);
            r.x = back ? v.x * c.x + v.y * s.y : v.x * c.x - v.y * s.x;
            r.y = back ? v.y * c.y - v.x * s.x : v.y * c.y + v.x * s.y;
        }
        VT_STORE(YT, out, 2 * i, r.x);
        VT_STORE(YT, out, 2 * i + 1, r.y);
    }
}

kernel void rope(global VT_TYPE(YT) *restrict out,
                 global const VT_TYPE(XT) *restrict x,
                 global const float *restrict table, int T, int C, int D,
                 int skip)
{
    rotate(out, x, table, T, C, D, skip, 0);
}

kernel void rope_grad(global VT_TYPE(YT) *restrict dx,
                      global const VT_TYPE(XT) *restrict dout,
                      global const float *restrict table, int T, int C, int D,
                      int skip)
{
    rotate(dx, dout, table, T, C, D, skip, 1);
}
