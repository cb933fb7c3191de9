/*
 * rope.cl - rotary positions: pairs of q and k rotated by an angle.
 *
 *     out[a] = x[a] * cos[a] - x[b] * sin[a]
 *     out[b] = x[b] * cos[b] + x[a] * sin[b]
 *
 * rope       out[B,T,3C] <- x[B,T,3C] (thirds q, k, v; heads of D), table
 *            [T-skip,2,D]: sin, then cos; or [H,T-skip,2,D]: each head's own
 * rope_grad  dx <- dout, table: the transpose of that
 *
 * The elements a and b of a head are 2i and 2i+1, as in timm's EVA; or, with
 * `halves`, i and i + D/2, as in DINOv3 (timm: apply_rot_embed_cat). v, and the
 * first `skip` tokens, are copied. D is even. `each`: numbers of a head's own
 * table; 0: all heads have the same.
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
                          int D, int skip, int halves, int each, int back)
{
    const int row = block_row(3 * C / 2), t = row % T - skip;
    const int pairs = 3 * C / 2, end = block_end(pairs);
    const int M = D / 2, H = C / D, apart = halves ? M : 1;

    x += (size_t)row * 3 * C;
    out += (size_t)row * 3 * C;
    table += (size_t)max(t, 0) * 2 * D;
    for (int i = block_begin(pairs); i < end; i++) {
        const int h = i / M, a = halves ? i % M : i % M * 2;
        const int at = h * D + a;
        const float2 v =
            (float2)(VT_LOAD(XT, x, at), VT_LOAD(XT, x, at + apart));
        float2 r = v;

        if (t >= 0 && h < 2 * H) {
            global const float *sine = table + (size_t)(h % H) * each + a;
            const float2 s = (float2)(sine[0], sine[apart]);
            const float2 c = (float2)(sine[D], sine[D + apart]);
            r.x = back ? v.x * c.x + v.y * s.y : v.x * c.x - v.y * s.x;
            r.y = back ? v.y * c.y - v.x * s.x : v.y * c.y + v.x * s.y;
        }
        VT_STORE(YT, out, at, r.x);
        VT_STORE(YT, out, at + apart, r.y);
    }
}

kernel void rope(global VT_TYPE(YT) *restrict out,
                 global const VT_TYPE(XT) *restrict x,
                 global const float *restrict table, int T, int C, int D,
                 int skip, int halves, int each)
{
    rotate(out, x, table, T, C, D, skip, halves, each, 0);
}

kernel void rope_grad(global VT_TYPE(YT) *restrict dx,
                      global const VT_TYPE(XT) *restrict dout,
                      global const float *restrict table, int T, int C, int D,
                      int skip, int halves, int each)
{
    rotate(dx, dout, table, T, C, D, skip, halves, each, 1);
}
