/*
 * relkeys.cl - attention bias from learned keys of relative positions.
 *
 *     bias[b,h,i,j] = scale * sum_d q[b,i,h,d] keys[l(i,j),h,d]
 *     dq[b,i,h,d]   = scale * sum_j dbias[b,h,i,j] keys[l(i,j),h,d]
 *     dkeys[l,h,d] += scale * sum over b and l(i,j) = l of dbias q[b,i,h,d]
 *
 * l(i,j) = i - j + N - 1 for two of the N patches, in row-major order, that
 * follow R prefix tokens; 2N-1 for a prefix token's query and a patch's key, 2N
 * for a patch's query and a prefix token's key, 2N+1 between prefix tokens.
 *
 * relkeys         bias[B,H,T,T] <- qkv[B,T,3C], keys[L,C]     C = H * D
 * relkeys_grad_q  dqkv[B,T,3C]  <- dbias, keys          zeros for keys, values
 * relkeys_grad_w  dkeys[L,C]    <- dbias, qkv                      (adds: +=)
 *
 * Launch    relkeys, relkeys_grad_q: global {T, B*H}
 *           relkeys_grad_w: global {L, H}
 * Defines   V (common.cl); relkeys: XT, how qkv is stored.
 * Memory    T x T for each head and picture, unlike attention itself.
 * Numerics  No atomics: equal inputs give equal bits.
 *
 * Paper     Dosovitskiy et al. 2021, arXiv:2010.11929, appendix D.4, which does
 *           not mention the class token; after Shaw et al. 2018,
 *           arXiv:1803.02155.
 * Host      host/ops/relkeys.c        Test  tests/ops/test_relkeys.c
 */
static inline int place(int i, int j, int R, int N)
{
    if (i < R)
        return j < R ? 2 * N + 1 : 2 * N - 1;
    return j < R ? 2 * N : i - j + N - 1;
}

/* No restrict here: oclgrind does not understand what inlining makes of it. */
static inline float dot_of(global const VT_TYPE(XT) * a, global const float *b,
                           int D)
{
    floatv s = 0.0f;
    float lane[V], sum = 0.0f;
    int d = 0;

    for (; d + V <= D; d += V)
        s = fma(VT_LOADV(XT, a, d), vloadv(0, b + d), s);
    vstorev(s, 0, lane);
    for (int k = 0; k < V; k++)
        sum += lane[k];
    for (; d < D; d++)
        sum = fma(VT_LOAD(XT, a, d), b[d], sum);
    return sum;
}

kernel void relkeys(global float *restrict bias,
                    global const VT_TYPE(XT) *restrict qkv,
                    global const float *restrict keys, int H, int D, int T,
                    int R, float scale)
{
    const int i = item_x(T), row = item_y(T), h = row % H;
    const size_t b = row / H;

    if (i >= T)
        return;
    bias += ((size_t)row * T + i) * T;
    qkv += (b * T + i) * (3 * H * D) + h * D;
    keys += h * D;
    for (int j = 0; j < T; j++)
        bias[j] = scale *
                  dot_of(qkv, keys + (size_t)place(i, j, R, T - R) * H * D, D);
}

kernel void relkeys_grad_q(global float *restrict dqkv,
                           global const float *restrict dbias,
                           global const float *restrict keys, int H, int D,
                           int T, int R, float scale)
{
    const int i = item_x(T), row = item_y(T), h = row % H;
    const size_t b = row / H;
    const int C = H * D;
    int d = 0;

    if (i >= T)
        return;
    dbias += ((size_t)row * T + i) * T;
    dqkv += (b * T + i) * (3 * C) + h * D;
    keys += h * D;
    for (; d + V <= D; d += V) {
        floatv s = 0.0f;
        for (int j = 0; j < T; j++)
            s = fma((floatv)(dbias[j]),
                    vloadv(0, keys + (size_t)place(i, j, R, T - R) * C + d), s);
        vstorev(s * scale, 0, dqkv + d);
    }
    for (; d < D; d++) {
        float s = 0.0f;
        for (int j = 0; j < T; j++)
            s = fma(dbias[j], keys[(size_t)place(i, j, R, T - R) * C + d], s);
        dqkv[d] = s * scale;
    }
    for (d = 0; d < D; d++)
        dqkv[C + d] = dqkv[2 * C + d] = 0.0f;
}

/* The keys j0..j1-1 whose relative position to query i is l. */
static inline int2 seen(int i, int l, int R, int N)
{
    const int j = i - l + N - 1;

    if (l < 2 * N - 1)
        return i >= R && j >= R && j < R + N ? (int2)(j, j + 1) : (int2)(0, 0);
    if ((l == 2 * N) == (i < R))
        return (int2)(0, 0);
    return l == 2 * N - 1 ? (int2)(R, R + N) : (int2)(0, R);
}

/* The sum of query i's gradients over these keys. */
static inline float share(global const float *dbias, int i, int l, int T, int R)
{
    const int2 j = seen(i, l, R, T - R);
    float s = 0.0f;

    for (int k = j.x; k < j.y; k++)
        s += dbias[(size_t)i * T + k];
    return s;
}

kernel void relkeys_grad_w(global float *restrict dkeys,
                           global const float *restrict dbias,
                           global const float *restrict qkv, int B, int H,
                           int D, int T, int R, float scale)
{
    const int L = 2 * (T - R) + (R > 0 ? 2 : -1);
    const int l = item_x(L), h = item_y(L), C = H * D;
    int d = 0;

    if (l >= L)
        return;
    dkeys += (size_t)l * C + h * D;
    qkv += h * D;
    for (; d + V <= D; d += V) {
        floatv s = 0.0f;
        for (int b = 0; b < B; b++)
            for (int i = 0; i < T; i++) {
                const float g =
                    share(dbias + ((size_t)b * H + h) * T * T, i, l, T, R);
                if (g != 0.0f)
                    s = fma((floatv)(g),
                            vloadv(0, qkv + ((size_t)b * T + i) * 3 * C + d),
                            s);
            }
        vstorev(vloadv(0, dkeys + d) + s * scale, 0, dkeys + d);
    }
    for (; d < D; d++) {
        float s = 0.0f;
        for (int b = 0; b < B; b++)
            for (int i = 0; i < T; i++)
                s = fma(share(dbias + ((size_t)b * H + h) * T * T, i, l, T, R),
                        qkv[((size_t)b * T + i) * 3 * C + d], s);
        dkeys[d] += s * scale;
    }
}
