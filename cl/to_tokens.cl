/*
 * to_tokens.cl - planes of a feature map to tokens, and back.
 *
 * to_tokens  out[B,S,R] <- x[B,R,S]: each matrix transposed
 *
 * Backward is the same kernel with R and S exchanged.
 *
 * Launch    to_tokens: global {16 * ceil(S / 16) * ceil(R / 16), 16, B}, local
 *           {16, 16, 1}: all tiles are in dimension 0, because a CUDA device
 *           has at most 65535 work-groups in the others
 *           to_tokens__rows: for CPUs, global {ceil(S / 16), ceil(R / 64), B},
 *           local {1, 1, 1}
 * Local     to_tokens: 272 floats, a tile padded against bank conflicts.
 * Defines   XT and YT: how x and out are stored.
 *
 * Host      host/ops/to_tokens.c      Test  tests/ops/test_to_tokens.c
 */
kernel void to_tokens(global VT_TYPE(YT) *restrict out,
                      global const VT_TYPE(XT) *restrict x, int R, int S)
{
    local float tile[16][17];
    const int i = get_local_id(0), j = get_local_id(1);
    const int tile_id = get_group_id(0), across = (S + 15) / 16;
    const int s = tile_id % across * 16, r = tile_id / across * 16;
    const size_t b = get_group_id(2) * (size_t)R * S;

    if (r + j < R && s + i < S)
        tile[j][i] = VT_LOAD(XT, x, b + (size_t)(r + j) * S + s + i);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (s + j < S && r + i < R)
        VT_STORE(YT, out, b + (size_t)(s + j) * R + r + i, tile[i][j]);
}

/* to[8 rows of ldt] <- from[8 rows of ld], transposed */
static inline void transpose8(global VT_TYPE(YT) *restrict to,
                              global const VT_TYPE(XT) *restrict from, int ldt,
                              int ld)
{
#define LOAD8(i) VT_JOIN(load8_, XT)(from, i)
#define STORE8(i, v) VT_JOIN(store8_, YT)(to, i, v)
    const float8 a = LOAD8(0), b = LOAD8(ld);
    const float8 c = LOAD8(2 * (size_t)ld);
    const float8 d = LOAD8(3 * (size_t)ld);
    const float8 e = LOAD8(4 * (size_t)ld);
    const float8 f = LOAD8(5 * (size_t)ld);
    const float8 g = LOAD8(6 * (size_t)ld);
    const float8 h = LOAD8(7 * (size_t)ld);
    /* interleave pairs of rows, pairs of pairs, then halves */
#define LOW(x, y) (float8)(x.s0, y.s0, x.s1, y.s1, x.s4, y.s4, x.s5, y.s5)
#define HIGH(x, y) (float8)(x.s2, y.s2, x.s3, y.s3, x.s6, y.s6, x.s7, y.s7)
#define EVEN(x, y) (float8)(x.s01, y.s01, x.s45, y.s45)
#define ODD(x, y) (float8)(x.s23, y.s23, x.s67, y.s67)
    const float8 ab = LOW(a, b), AB = HIGH(a, b), cd = LOW(c, d);
    const float8 CD = HIGH(c, d), ef = LOW(e, f), EF = HIGH(e, f);
    const float8 gh = LOW(g, h), GH = HIGH(g, h);
    const float8 p0 = EVEN(ab, cd), p1 = ODD(ab, cd), p2 = EVEN(AB, CD);
    const float8 p3 = ODD(AB, CD), q0 = EVEN(ef, gh), q1 = ODD(ef, gh);
    const float8 q2 = EVEN(EF, GH), q3 = ODD(EF, GH);
    STORE8(0, (float8)(p0.lo, q0.lo));
    STORE8(ldt, (float8)(p1.lo, q1.lo));
    STORE8(2 * (size_t)ldt, (float8)(p2.lo, q2.lo));
    STORE8(3 * (size_t)ldt, (float8)(p3.lo, q3.lo));
    STORE8(4 * (size_t)ldt, (float8)(p0.hi, q0.hi));
    STORE8(5 * (size_t)ldt, (float8)(p1.hi, q1.hi));
    STORE8(6 * (size_t)ldt, (float8)(p2.hi, q2.hi));
    STORE8(7 * (size_t)ldt, (float8)(p3.hi, q3.hi));
}

/* Sixteen of r, then the next eight of s: a line of `out` is written whole
 * before it is evicted from L1, however large the stride. */
static inline OUTLINED void transpose_rows(global VT_TYPE(YT) *restrict out,
                                           global const VT_TYPE(XT) *restrict x,
                                           int R, int S, int s0, int r0)
{
    const int s1 = min(s0 + 16, S), r1 = min(r0 + 64, R);

    for (int r = r0; r < r1; r += 16)
        for (int s = s0; s < s1; s += 8)
            for (int t = r; t < min(r + 16, r1); t += 8) {
                if (t + 8 <= r1 && s + 8 <= s1) {
                    transpose8(out + (size_t)s * R + t, x + (size_t)t * S + s,
                               R, S);
                    continue;
                }
                for (int i = s; i < min(s + 8, s1); i++)
                    for (int j = t; j < min(t + 8, r1); j++)
                        VT_STORE(YT, out, (size_t)i * R + j,
                                 VT_LOAD(XT, x, (size_t)j * S + i));
            }
}

kernel void to_tokens__rows(global VT_TYPE(YT) *restrict out,
                            global const VT_TYPE(XT) *restrict x, int R, int S)
{
    const size_t b = get_global_id(2) * (size_t)R * S;

    transpose_rows(out + b, x + b, R, S, get_global_id(0) * 16,
                   get_global_id(1) * 64);
}
