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
/* n pairs from x to out, a number and the one `apart` from it each, `next`
 * numbers on: plain loops, which compilers turn into vectors. */
static inline void turn(global VT_TYPE(YT) *restrict out,
                        global const VT_TYPE(XT) *restrict x,
                        global const float *restrict sine, int D, int n,
                        int next, int apart, int back)
{
    for (int j = 0; j < n; j++) {
        const int a = j * next, b = a + apart;
        const float v = VT_LOAD(XT, x, a), w = VT_LOAD(XT, x, b);
        const float s = sine[a], t = sine[b];
        const float c = sine[D + a], d = sine[D + b];

        VT_STORE(YT, out, a, back ? v * c + w * t : v * c - w * s);
        VT_STORE(YT, out, b, back ? w * d - v * s : w * d + v * t);
    }
}

static inline void rotate(global VT_TYPE(YT) *restrict out,
                          global const VT_TYPE(XT) *restrict x,
                          global const float *restrict table, int T, int C,
                          int D, int skip, int halves, int each, int back)
{
    const int row = block_row(3 * C / 2), t = row % T - skip;
    const int pairs = 3 * C / 2, end = block_end(pairs);
    const int M = D / 2, H = C / D;

    x += (size_t)row * 3 * C;
    out += (size_t)row * 3 * C;
    table += (size_t)max(t, 0) * 2 * D;
    for (int i = block_begin(pairs), n; i < end; i += n) { /* head by head */
        const int h = i / M, from = i % M;
        const int next = halves ? 1 : 2, at = h * D + from * next;
        global const float *sine = table + (size_t)(h % H) * each + from * next;

        n = min(M - from, end - i);
        if (t < 0 || h >= 2 * H)
            for (int j = 0; j < n; j++) {
                const int a = at + j * next, b = a + (halves ? M : 1);

                VT_STORE(YT, out, a, VT_LOAD(XT, x, a));
                VT_STORE(YT, out, b, VT_LOAD(XT, x, b));
            }
        else if (halves)
            turn(out + at, x + at, sine, D, n, 1, M, back);
        else
            turn(out + at, x + at, sine, D, n, 2, 1, back);
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
