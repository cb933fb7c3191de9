/*
 * tokens.cl - planes of a feature map to tokens, and back.
 *
 * tokens  out[B,S,R] <- x[B,R,S]: each matrix transposed
 *
 * Backward is the same kernel with R and S exchanged.
 *
 * Launch    tokens: global {16 * ceil(S / 16), 16 * ceil(R / 16), B}, local
 *           {16, 16, 1}
 *           tokens__rows: the CPU's, global {ceil(S / 16), ceil(R / 64), B}
 * Local     272 floats: a tile, padded against bank conflicts.
 *
 * Host      host/ops/tokens.c         Test  tests/ops/test_tokens.c
 */
kernel void tokens(global float *restrict out, global const float *restrict x,
                   int R, int S)
{
    local float tile[16][17];
    const int i = get_local_id(0), j = get_local_id(1);
    const int s = get_group_id(0) * 16, r = get_group_id(1) * 16;
    const size_t b = get_group_id(2) * (size_t)R * S;

    if (r + j < R && s + i < S)
        tile[j][i] = x[b + (size_t)(r + j) * S + s + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (s + j < S && r + i < R)
        out[b + (size_t)(s + j) * R + r + i] = tile[i][j];
}

kernel void tokens__rows(global float *restrict out,
                         global const float *restrict x, int R, int S)
{
    const int s0 = get_global_id(0) * 16, s1 = min(s0 + 16, S);
    const int r0 = get_global_id(1) * 64, r1 = min(r0 + 64, R);
    const size_t b = get_global_id(2) * (size_t)R * S;

    int r = r0;
    x += b;
    out += b;
    for (; r + 4 <= r1; r += 4) {
        int s = s0;
        for (; s + 4 <= s1; s += 4) {
            global const float *f = x + (size_t)r * S + s;
            global float *t = out + (size_t)s * R + r;
            const float4 a = vload4(0, f), c = vload4(0, f + S);
            const float4 d = vload4(0, f + 2 * S), e = vload4(0, f + 3 * S);
            vstore4((float4)(a.x, c.x, d.x, e.x), 0, t);
            vstore4((float4)(a.y, c.y, d.y, e.y), 0, t + R);
            vstore4((float4)(a.z, c.z, d.z, e.z), 0, t + 2 * R);
            vstore4((float4)(a.w, c.w, d.w, e.w), 0, t + 3 * R);
        }
        for (; s < s1; s++)
            for (int i = r; i < r + 4; i++)
                out[(size_t)s * R + i] = x[(size_t)i * S + s];
    }
    for (; r < r1; r++)
        for (int s = s0; s < s1; s++)
            out[(size_t)s * R + r] = x[(size_t)r * S + s];
}
