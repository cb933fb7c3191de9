/*
 * attention_grad_tiles.cl - attention_grad.cl's dq, dk and dv as products of
 * tiles, on GPU-class devices.
 *
 * attention_grad_tiles__q   dq, stat <- dout, out, q, kv, bias
 * attention_grad_tiles__kv  dk, dv   <- dout, stat, q, kv, bias
 *
 * A work-group owns N queries (q) or N keys (kv) and goes through all keys or
 * queries, M at a time. These others, rows of two tensors (k and v, or q and
 * dout), are in local memory whole. The group's own rows pass through it in
 * strips of STRIP vectors, where the probabilities p and dx come next:
 *
 *     x, dp         4 own rows by M/8 others a work-item, in registers
 *     dq += dx k;  dk += dx^T q;  dv += p^T dout
 *                   4 own rows by a vector of columns, ROOM times a work-item
 *
 * The sum of exp(x) is not known in q until its end, so dq is scaled by a
 * running maximum, as in the forward pass. delta = sum p dp = dout . out.
 *
 * Launch    global {groups * WG}, local {WG}; groups: ceil(Tq/N) * H * B in q,
 *           ceil(T/N) * H * B in kv. One dimension: CUDA's others end at 65535.
 * Defines   D, BIAS, LINES as in attention_grad.cl; N and M, multiples of 8; WG
 *           >= 2 * N. WIDE: D is a multiple of 4, tensors begin at multiples of
 *           16 bytes.
 * Local     16 * (2 * M * (D/4 | 1) + 2 * max(M * (N/4 + 1), N * (STRIP | 1)))
 *           bytes and 44 * N; with XE up to 32 KiB more, for the sums.
 * Numerics  Every sum has a fixed order, no atomics: equal bits.
 * Paper     Dao et al. 2022, arXiv:2205.14135, appendix B.2.
 * Host      host/ops/attention_grad.c
 * Test      tests/ops/test_attention_grad.c
 */
#ifndef D
#define D 64
#endif
#ifndef N
#define N 32
#endif
#ifndef M
#define M 32
#endif
#define VECTORS ((D + 3) / 4) /* of a row */
#define LDX (VECTORS | 1)     /* odd, so that neighbours are in other banks */
#define STRIP (M >= 16 ? M / 4 : 4)
#define LDW (STRIP | 1)
#define LDP (N / 4 + 1)
#define OWN (N * LDW) /* vectors of a strip of one tensor */
#define WORK (2 * (OWN > M * LDP ? OWN : M * LDP))
#define COLS (M / 8) /* others whose scores a work-item has */
#define BLOCKS (N / 4 * VECTORS)
#define ROOM ((BLOCKS + WG - 1) / WG)

/* XE: with fewer registers the two tensors of scores come one after the
 * other. */
#ifdef XE
#define APART true
#define DELTA(r) deltas[4 * ty + r]
#else
#define APART false
#define DELTA(r) delta[r]
#endif
/* Four rows of sums t of a work-item. Where registers do not hold them beside
 * the scores, they are in local memory. */
#if defined(XE) && D <= 128
#define SUMS(name) local float4 name[ROOM][4][WG]
#define SUM(name, t, r) name[t][r][lid]
#else
#define SUMS(name) float4 name[ROOM][4]
#define SUM(name, t, r) name[t][r]
#endif

/* Vector v of a row; zeros fill the last. */
static inline float4 row_load(global const float *row, int v)
{
#ifdef WIDE
    return ((global const float4 *)row)[v];
#elif D % 4 == 0
    return vload4(v, row);
#else
    float4 x = (float4)(0.0f);

    if (v < D / 4)
        return vload4(v, row);
    x.x = row[4 * v];
    if (D % 4 > 1)
        x.y = row[4 * v + 1];
    if (D % 4 > 2)
        x.z = row[4 * v + 2];
    return x;
#endif
}

static inline void row_store(float4 x, global float *row, int v)
{
#ifdef WIDE
    ((global float4 *)row)[v] = x;
#else
    if (D % 4 == 0 || v < D / 4) {
        vstore4(x, v, row);
        return;
    }
    row[4 * v] = x.x;
    if (D % 4 > 1)
        row[4 * v + 1] = x.y;
    if (D % 4 > 2)
        row[4 * v + 2] = x.z;
#endif
}

/* rows x n vectors from vector v0 of row `first` on; zeros outside. */
static inline void fetch(local float4 *to, int ld, global const float *from,
                         size_t apart, int first, int rows, int end, int v0,
                         int n)
{
    ROLLED for (int e = get_local_id(0); e < rows * n; e += WG)
    {
        const int r = first + e / n, v = v0 + e % n;
        float4 x = (float4)(0.0f);

        if (r < end && v < VECTORS)
            x = row_load(from + r * apart, v);
        to[e / n * ld + e % n] = x;
    }
}

static inline float dot_on(float4 a, float4 b, float sum)
{
    sum = fma(a.x, b.x, sum);
    sum = fma(a.y, b.y, sum);
    sum = fma(a.z, b.z, sum);
    return fma(a.w, b.w, sum);
}

/* s[c][r] += four numbers of own row r . those of other row 8 * c */
static inline void products(float (*s)[4], local const float4 *own,
                            local const float4 *others)
{
    float4 p[4];

    EACH(r, 4)
        p[r] = own[r * LDW];
    EACH(c, COLS) {
        const float4 k = others[8 * c * LDX];
        EACH(r, 4)
            s[c][r] = dot_on(p[r], k, s[c][r]);
    }
}

/* s[c][r] = own row 4 * ty + r of a, times other row tx + 8 * c of x; g the
 * same of b and y. Afterwards the group may write to own and to the others. */
static inline void scores(float (*s)[4], float (*g)[4], local float4 *own,
                          global const float *a, size_t lda,
                          global const float *b, size_t ldb, int first, int end,
                          local const float4 *x, local const float4 *y,
                          bool apart)
{
    const int lid = get_local_id(0), ty = lid / 8, tx = lid % 8;

    EACH(c, COLS)
        EACH(r, 4)
            s[c][r] = g[c][r] = 0.0f;
    ROLLED for (int v0 = 0; v0 < VECTORS; v0 += STRIP)
    {
        const int n = min(STRIP, VECTORS - v0);

        fetch(own, LDW, a, lda, first, N, end, v0, STRIP);
        fetch(own + OWN, LDW, b, ldb, first, N, end, v0, STRIP);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int v = 0; v < n && lid < 2 * N; v++) {
            float4 p[4], q[4];
            if (apart) {
                products(s, own + 4 * ty * LDW + v, x + tx * LDX + v0 + v);
                products(g, own + OWN + 4 * ty * LDW + v,
                         y + tx * LDX + v0 + v);
                continue;
            }
            EACH(r, 4) {
                p[r] = own[(4 * ty + r) * LDW + v];
                q[r] = own[OWN + (4 * ty + r) * LDW + v];
            }
            EACH(c, COLS) {
                const int at = (tx + 8 * c) * LDX + v0 + v;
                const float4 k = x[at], u = y[at];
                EACH(r, 4) {
                    s[c][r] = dot_on(p[r], k, s[c][r]);
                    g[c][r] = dot_on(q[r], u, g[c][r]);
                }
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* sum[r] += w[r] * x, of the M others; x is theirs, w[other][own row] */
static inline void gather(float4 *sum, local const float4 *w,
                          local const float4 *x)
{
    _Pragma("unroll 4") for (int c = 0; c < M; c++)
    {
        const float4 a = w[c * LDP], k = x[c * LDX];

        sum[0] = fma((float4)(a.x), k, sum[0]);
        sum[1] = fma((float4)(a.y), k, sum[1]);
        sum[2] = fma((float4)(a.z), k, sum[2]);
        sum[3] = fma((float4)(a.w), k, sum[3]);
    }
}
/* The same for sums t, which first are multiplied by keep. */
#define GATHER(name, t, keep, w, x)                                            \
    do {                                                                       \
        float4 sum_[4];                                                        \
        EACH(r, 4)                                                             \
            sum_[r] = SUM(name, t, r) keep;                                    \
        gather(sum_, w, x);                                                    \
        EACH(r, 4)                                                             \
            SUM(name, t, r) = sum_[r];                                         \
    } while (0)

kernel SUB_GROUP_16 __attribute__((reqd_work_group_size(WG, 1, 1))) void
attention_grad_tiles__q(global float *dq, global float *restrict stat,
                        global const float *dout, global const float *out,
                        VT_QKV)
{
    local float4 tk[M * LDX], tv[M * LDX], work[WORK];
    local float part[N][8], keeps[N], deltas[N], sums[N];
    const int lid = get_local_id(0), ty = lid / 8, tx = lid % 8;
    const int blocks = (Tq + N - 1) / N, i0 = vt_group(0) % blocks * N;
    const int h = vt_group(0) / blocks % H, b = vt_group(0) / blocks / H;
    SUMS(sum);
    float top[4], all[4], delta[4];

    q += VT_Q_AT(b) + h * D;
    dq += VT_Q_AT(b) + h * D;
    dout += VT_OUT_AT(b, 0) + h * D;
    out += VT_OUT_AT(b, 0) + h * D;
    kv += VT_KV_AT(b) + h * D;
    stat += ((size_t)b * H + h) * Tq * 2;
#ifdef BIAS
    bias += VT_BIAS_OF(b, h) * Tq * T;
#endif
    if (lid < N) {
        const size_t at = (size_t)min(i0 + lid, Tq - 1) * VT_LDO;
        float y = 0.0f;

        ROLLED for (int v = 0; v < VECTORS; v++) y =
            dot_on(row_load(dout + at, v), row_load(out + at, v), y);
        deltas[lid] = y;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    EACH(r, 4) {
        top[r] = -FLT_MAX; /* not -INFINITY: the bias may have that */
        all[r] = 0.0f;
        delta[r] = deltas[lid < 2 * N ? 4 * ty + r : 0];
    }
    EACH(t, ROOM)
        EACH(r, 4)
            SUM(sum, t, r) = (float4)(0.0f);
    for (int j0 = 0; j0 < T; j0 += M) {
        float s[COLS][4], g[COLS][4];

        fetch(tk, LDX, kv + koff, ldk, j0, M, T, 0, VECTORS);
        fetch(tv, LDX, kv + voff, ldk, j0, M, T, 0, VECTORS);
        scores(s, g, work, q, ldq, dout, VT_LDO, i0, Tq, tk, tv, APART);
        if (lid < 2 * N) {
            EACH(r, 4) {
                float m = -FLT_MAX;
                EACH(c, COLS) {
                    const int j = j0 + tx + 8 * c;
#ifdef BIAS
                    const size_t i = min(i0 + 4 * ty + r, Tq - 1);
                    s[c][r] = fma(s[c][r], scale, bias[i * T + min(j, T - 1)]);
#else
                    s[c][r] *= scale;
#endif
                    s[c][r] = j < T ? s[c][r] : -INFINITY;
                    m = fmax(m, s[c][r]);
                }
                part[4 * ty + r][tx] = m;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < 2 * N) {
            EACH(r, 4) {
                float m = top[r];
                EACH(e, 8)
                    m = fmax(m, part[4 * ty + r][e]);
                const float keep = vt_exp(top[r] - m);
                top[r] = m;
                all[r] *= keep;
                if (tx == 0)
                    keeps[4 * ty + r] = keep;
            }
            EACH(c, COLS) {
                EACH(r, 4) {
                    const float p = vt_exp(s[c][r] - top[r]);
                    all[r] += p;
                    s[c][r] = p * (g[c][r] - DELTA(r));
                }
                work[(tx + 8 * c) * LDP + ty] =
                    (float4)(s[c][0], s[c][1], s[c][2], s[c][3]);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        EACH(t, ROOM) {
            const int e = min(lid + WG * t, BLOCKS - 1);
            GATHER(sum, t, *keeps[e / VECTORS * 4 + r], work + e / VECTORS,
                   tk + e % VECTORS);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid < 2 * N)
        EACH(r, 4)
            part[4 * ty + r][tx] = all[r];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid < 2 * N && tx == 0) {
        EACH(r, 4) {
            const int i = i0 + 4 * ty + r;
            float y = 0.0f;
            EACH(e, 8)
                y += part[4 * ty + r][e];
            sums[4 * ty + r] = y;
            if (i < Tq) {
                stat[2 * i] = top[r] + log(y);
                stat[2 * i + 1] = DELTA(r);
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    EACH(t, ROOM) {
        const int e = lid + WG * t, row = e / VECTORS * 4;
        EACH(r, 4)
            if (e < BLOCKS && i0 + row + r < Tq)
                row_store(SUM(sum, t, r) * (scale / sums[row + r]),
                          dq + (size_t)(i0 + row + r) * ldq, e % VECTORS);
    }
}

kernel SUB_GROUP_16 __attribute__((reqd_work_group_size(WG, 1, 1))) void
attention_grad_tiles__kv(global float *dkv, global const float *dout,
                         global const float *restrict stat, VT_QKV)
{
    local float4 tq[M * LDX], tg[M * LDX], work[WORK];
    const int lid = get_local_id(0), ty = lid / 8, tx = lid % 8;
    const int blocks = (T + N - 1) / N, j0 = vt_group(0) % blocks * N;
    const int h = vt_group(0) / blocks % H, b = vt_group(0) / blocks / H;
    SUMS(dk);
    SUMS(dv);

    q += VT_Q_AT(b) + h * D;
    dout += VT_OUT_AT(b, 0) + h * D;
    kv += VT_KV_AT(b) + h * D;
    dkv += VT_KV_AT(b) + h * D;
    stat += ((size_t)b * H + h) * Tq * 2;
#ifdef BIAS
    bias += VT_BIAS_OF(b, h) * Tq * T;
#endif
    EACH(t, ROOM)
        EACH(r, 4)
            SUM(dk, t, r) = SUM(dv, t, r) = (float4)(0.0f);
    for (int i0 = 0; i0 < Tq; i0 += M) {
        float s[COLS][4], g[COLS][4];

        fetch(tq, LDX, q, ldq, i0, M, Tq, 0, VECTORS);
        fetch(tg, LDX, dout, VT_LDO, i0, M, Tq, 0, VECTORS);
        scores(s, g, work, kv + koff, ldk, kv + voff, ldk, j0, T, tq, tg, true);
        if (lid < 2 * N) {
            EACH(c, COLS) {
                const int i = min(i0 + tx + 8 * c, Tq - 1);
                const float lse = stat[2 * i], delta = stat[2 * i + 1];
                const bool inside = i0 + tx + 8 * c < Tq;
                EACH(r, 4) {
#ifdef BIAS
                    const int j = min(j0 + 4 * ty + r, T - 1);
                    const float x =
                        fma(s[c][r], scale, bias[(size_t)i * T + j]);
#else
                    const float x = s[c][r] * scale;
#endif
                    const float p = inside ? vt_exp(x - lse) : 0.0f;
                    s[c][r] = p;
                    g[c][r] = p * (g[c][r] - delta);
                }
                work[(tx + 8 * c) * LDP + ty] =
                    (float4)(s[c][0], s[c][1], s[c][2], s[c][3]);
                work[(M + tx + 8 * c) * LDP + ty] =
                    (float4)(g[c][0], g[c][1], g[c][2], g[c][3]);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        EACH(t, ROOM) {
            const int e = min(lid + WG * t, BLOCKS - 1);
            GATHER(dv, t, , work + e / VECTORS, tg + e % VECTORS);
            GATHER(dk, t, , work + M * LDP + e / VECTORS, tq + e % VECTORS);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    EACH(t, ROOM) {
        const int e = lid + WG * t, row = j0 + e / VECTORS * 4;
        EACH(r, 4) {
            if (e < BLOCKS && row + r < T) {
                global float *to = dkv + (size_t)(row + r) * ldk;
                row_store(SUM(dk, t, r) * scale, to + koff, e % VECTORS);
                row_store(SUM(dv, t, r), to + voff, e % VECTORS);
            }
        }
    }
}
