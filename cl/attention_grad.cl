/*
 * attention_grad.cl - gradients of attention.cl, probabilities recomputed.
 *
 *     x[i,j]  = scale * sum_d q[i,d] k[j,d] + bias[h,i,j];  p = softmax_j x
 *     dp[i,j] = sum_d dout[i,d] v[j,d]
 *     dx[i,j] = p[i,j] * (dp[i,j] - sum_j p[i,j] dp[i,j])
 *     dq = scale * dx k;  dk = scale * dx^T q;  dv = p^T dout;
 *     dbias = sum_b dx, or dx where each picture has its own bias
 *
 * attention_grad__heads  dq, dk, dv, dbias <- dout, q, kv, bias         CPU
 * attention_grad__q      dq, stat          <- dout, out, q, kv, bias    GPU
 * attention_grad__kv     dk, dv            <- dout, stat, q, kv, bias   GPU
 * attention_grad__bias   dbias             <- dout, stat, q, kv, bias   GPU
 *
 * Tensors lie as in attention.cl: dq as q, dk and dv as kv (one buffer or two);
 * dout and out are [B,Tq,H*D], bias and dbias [H,Tq,T] or, with BIAS=2,
 * [B,H,Tq,T]. stat[B,H,Tq,2]: (log sum exp x, sum p dp).
 * Memory grows with T, not T x T; only dbias is as large as bias.
 * Longer than most: one contract with two forms, of which a build has one.
 *
 * Heads     A tile is a head; vectors run over NV*V queries. It processes
 *           `pictures` pictures in sequence: 1, or all where dbias sums over
 *           them. With HELD, where the stack has room, the head's keys and
 *           values and the sums of their gradients are copied to contiguous
 *           memory while the queries pass: rows of kv fall into a few sets of
 *           L1. Exponents are base 2.
 *           Launch: vt_kernel_tiles() of H * B / pictures.
 * q, kv     A work-item has one query, or one key.
 *           Launch: global {ceil(Tq/WG)*WG or the same of T, H, B}, local
 *           {WG, 1, 1}.
 * bias      Launch: global {T, Tq, H}, or {T, Tq, B*H} with BIAS=2.
 * Defines   D; BIAS if there is one (2: one for each picture). Heads: V NV TMAX
 *           (the largest T) HELD. The others: WG.
 * Numerics  Every sum has a fixed order, no atomics: equal bits.
 * Paper     Dao et al. 2022, arXiv:2205.14135, appendix B.2.
 * Host      host/ops/attention_grad.c
 * Test      tests/ops/test_attention_grad.c
 */
#ifndef D
#define D 64
#endif
#if BIAS == 2
#define BIAS_OF(b, h) ((size_t)(b)*H + (h))
#else
#define BIAS_OF(b, h) ((size_t)(h))
#endif
#define QKV                                                                    \
    global const float *q, global const float *kv,                             \
        global const float *restrict bias, int B, int H, int Tq, int T,        \
        int qb, int ldq, int ldk, int koff, int voff, float scale

#ifdef TMAX
#define QN (NV * V)

/* to[D][QN] <- n rows of D, times c, transposed; zeros beyond n */
static inline void transpose_in(float *to, global const float *from, int ld,
                                int n, float c)
{
    for (int d = 0; d < D; d++)
        for (int i = 0; i < QN; i++)
            to[d * QN + i] = i < n ? from[(size_t)i * ld + d] * c : 0.0f;
}

/* The address space of keys, values and their gradients. */
#ifdef HELD
#define SPACE private
#else
#define SPACE global
#endif

/* s[j][QN] = sum_d rows[j][d] * t[d][QN], R rows at a time */
#define SCORES(NAME, R)                                                        \
    static inline void NAME(floatv *s, const float *t,                         \
                            SPACE const float *rows, int ld)                   \
    {                                                                          \
        floatv x[R][NV];                                                       \
        EACH(r, R)                                                             \
            EACH(i, NV)                                                        \
                x[r][i] = (floatv)(0.0f);                                      \
        for (int d = 0; d < D; d++)                                            \
            EACH(r, R)                                                         \
                EACH(i, NV)                                                    \
                    x[r][i] = fma((floatv)(rows[(size_t)r * ld + d]),          \
                                  vloadv(d * NV + i, t), x[r][i]);             \
        EACH(r, R)                                                             \
            EACH(i, NV)                                                        \
                s[r * NV + i] = x[r][i];                                       \
    }
SCORES(scores6, 6)
SCORES(scores1, 1)

static inline void scores(floatv *s, const float *t, SPACE const float *rows,
                          int ld, int n)
{
    int j = 0;

    for (; j + 6 <= n; j += 6)
        scores6(s + j * NV, t, rows + (size_t)j * ld, ld);
    for (; j < n; j++)
        scores1(s + j * NV, t, rows + (size_t)j * ld, ld);
}

/* to[j][c] (+)= sum_i s[j * sj + i * si] * rows[i][c], i < n; R rows of N
 * vectors */
#define GATHER(R, N, TO, FROM)                                                 \
    static inline void __attribute__((overloadable))                           \
    gather##R##N(TO float *to, int ldt, const float *s, int sj, int si,        \
                 FROM const float *rows, int ld, int n, int more)              \
    {                                                                          \
        floatv x[R][N];                                                        \
        EACH(r, R)                                                             \
            EACH(c, N)                                                         \
                x[r][c] =                                                      \
                    more ? vloadv(c, to + (size_t)r * ldt) : (floatv)(0.0f);   \
        for (int i = 0; i < n; i++)                                            \
            EACH(c, N) {                                                       \
                const floatv a = vloadv(c, rows + (size_t)i * ld);             \
                EACH(r, R)                                                     \
                    x[r][c] = fma((floatv)(s[r * sj + i * si]), a, x[r][c]);   \
            }                                                                  \
        EACH(r, R)                                                             \
            EACH(c, N)                                                         \
                vstorev(x[r][c], c, to + (size_t)r * ldt);                     \
    }
/* The same for m rows of D. */
#define GATHERS(TO, FROM)                                                      \
    GATHER(4, 2, TO, FROM)                                                     \
    GATHER(4, 1, TO, FROM)                                                     \
    GATHER(1, 1, TO, FROM)                                                     \
    static inline void __attribute__((overloadable))                           \
    gather(TO float *to, int ldt, const float *s, int sj, int si,              \
           FROM const float *rows, int ld, int n, int m, int more)             \
    {                                                                          \
        int c = 0;                                                             \
                                                                               \
        for (; c + V <= D;) {                                                  \
            const int two = c + 2 * V <= D;                                    \
            int j = 0;                                                         \
                                                                               \
            for (; two && j + 4 <= m; j += 4)                                  \
                gather42(to + (size_t)j * ldt + c, ldt, s + j * sj, sj, si,    \
                         rows + c, ld, n, more);                               \
            for (; !two && j + 4 <= m; j += 4)                                 \
                gather41(to + (size_t)j * ldt + c, ldt, s + j * sj, sj, si,    \
                         rows + c, ld, n, more);                               \
            for (; j < m; j++)                                                 \
                for (int i = 0; i < (two ? 2 : 1); i++)                        \
                    gather11(to + (size_t)j * ldt + c + i * V, ldt,            \
                             s + j * sj, sj, si, rows + c + i * V, ld, n,      \
                             more);                                            \
            c += two ? 2 * V : V;                                              \
        }                                                                      \
        for (; c < D; c++)                                                     \
            for (int j = 0; j < m; j++) {                                      \
                float x = more ? to[(size_t)j * ldt + c] : 0.0f;               \
                for (int i = 0; i < n; i++)                                    \
                    x = fma(s[j * sj + i * si], rows[(size_t)i * ld + c], x);  \
                to[(size_t)j * ldt + c] = x;                                   \
            }                                                                  \
    }
GATHERS(SPACE, global)
#ifdef HELD
GATHERS(global, private)

static inline void hold(float *to, global const float *from, int ld, int n)
{
    for (int j = 0; j < n; j++)
        for (int d = 0; d < D; d++)
            to[j * D + d] = from[(size_t)j * ld + d];
}

static inline void release(global float *to, int ld, const float *from, int n)
{
    for (int j = 0; j < n; j++)
        for (int d = 0; d < D; d++)
            to[(size_t)j * ld + d] = from[j * D + d];
}
#endif

/* p: scores of T keys, base 2, become probabilities; dx: dp becomes dx * c. */
static inline void probabilities(floatv *p, floatv *dx, int T, float c)
{
    for (int i = 0; i < NV; i++) {
        floatv top = p[i], all = 0.0f, sum = 0.0f;

        for (int j = 1; j < T; j++)
            top = select(top, p[j * NV + i], p[j * NV + i] > top);
        for (int j = 0; j < T; j++) {
            const floatv e = vt_exp2_down(p[j * NV + i] - top);
            p[j * NV + i] = e;
            all += e;
            sum = fma(e, dx[j * NV + i], sum);
        }
        all = 1.0f / all;
        sum *= all;
        for (int j = 0; j < T; j++) {
            const floatv e = p[j * NV + i] * all;
            p[j * NV + i] = e;
            dx[j * NV + i] = e * (dx[j * NV + i] - sum) * c;
        }
    }
}

/* Head h of `pictures` pictures, beginning with `first`. */
static inline void head(global float *dq, global float *dkv,
                        global float *restrict dbias, global const float *dout,
                        QKV, int pictures, int h, int first)
{
    const int ldo = H * D;
    floatv p[TMAX * NV], dx[TMAX * NV];
    float qt[D * QN], gt[D * QN], lane[QN];
#ifdef HELD
    const int ld = D;
    float k[TMAX * D] __attribute__((aligned(64)));
    float v[TMAX * D] __attribute__((aligned(64)));
    float dk[TMAX * D] __attribute__((aligned(64)));
    float dv[TMAX * D] __attribute__((aligned(64)));
#else
    const int ld = ldk;
#endif

    for (int b = first; b < first + pictures; b++) {
        global const float *qh = q + (size_t)b * qb + h * D;
        global const float *gh = dout + (size_t)b * Tq * ldo + h * D;
        global float *dqh = dq + (size_t)b * qb + h * D;
        const size_t at = (size_t)b * T * ldk + h * D;
#ifdef HELD
        hold(k, kv + at + koff, ldk, T);
        hold(v, kv + at + voff, ldk, T);
#else
        global const float *k = kv + at + koff, *v = kv + at + voff;
        global float *dk = dkv + at + koff, *dv = dkv + at + voff;
#endif

        for (int i0 = 0; i0 < Tq; i0 += QN) {
            const int n = min(QN, Tq - i0);

            transpose_in(qt, qh + (size_t)i0 * ldq, ldq, n, scale * VT_LOG2E);
            transpose_in(gt, gh + (size_t)i0 * ldo, ldo, n, 1.0f);
            scores(p, qt, k, ld, T);
            scores(dx, gt, v, ld, T);
#ifdef BIAS
            for (int j = 0; j < T; j++) {
                for (int i = 0; i < QN; i++)
                    lane[i] = i < n
                                  ? bias[(BIAS_OF(b, h) * Tq + i0 + i) * T + j]
                                  : 0.0f;
                for (int i = 0; i < NV; i++)
                    p[j * NV + i] =
                        fma(vloadv(i, lane), (floatv)(VT_LOG2E), p[j * NV + i]);
            }
#endif
            probabilities(p, dx, T, dbias ? 1.0f : scale);
            if (dbias)
                for (int j = 0; j < T; j++) {
                    for (int i = 0; i < NV; i++) {
                        vstorev(dx[j * NV + i], i, lane);
                        dx[j * NV + i] *= scale;
                    }
                    for (int i = 0; i < n; i++) {
                        const size_t to = (BIAS_OF(b, h) * Tq + i0 + i) * T + j;
                        dbias[to] = b > first ? dbias[to] + lane[i] : lane[i];
                    }
                }
            gather(dqh + (size_t)i0 * ldq, ldq, (const float *)dx, 1, QN, k, ld,
                   T, n, 0);
            gather(dk, ld, (const float *)dx, QN, 1, qh + (size_t)i0 * ldq, ldq,
                   n, T, i0 > 0);
            gather(dv, ld, (const float *)p, QN, 1, gh + (size_t)i0 * ldo, ldo,
                   n, T, i0 > 0);
        }
#ifdef HELD
        release(dkv + at + koff, ldk, dk, T);
        release(dkv + at + voff, ldk, dv, T);
#endif
    }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
attention_grad__heads(global float *dq, global float *dkv,
                      global float *restrict dbias, global const float *dout,
                      QKV, int pictures, volatile global int *taken, int tiles)
{
    VT_EACH_TILE(id, taken, tiles)
        head(dq, dkv, dbias, dout, q, kv, bias, B, H, Tq, T, qb, ldq, ldk, koff,
             voff, scale, pictures, id % H, id / H * pictures);
}
#else

/* scale * q . k + bias, and dout . v */
static inline float2 pair(const float *x, const float *g, global const float *k,
                          global const float *v)
{
    float2 s = (float2)(0.0f);

    for (int d = 0; d < D; d++) {
        s.x = fma(x[d], k[d], s.x);
        s.y = fma(g[d], v[d], s.y);
    }
    return s;
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void
attention_grad__q(global float *dq, global float *restrict stat,
                  global const float *dout, global const float *out, QKV)
{
    const int i = get_global_id(0), h = get_group_id(1), b = get_group_id(2);
    float x[D], g[D], o[D], top = -INFINITY, all = 0.0f, delta = 0.0f;

    if (i >= Tq)
        return;
    q += (size_t)b * qb + (size_t)i * ldq + h * D;
    dq += (size_t)b * qb + (size_t)i * ldq + h * D;
    dout += ((size_t)b * Tq + i) * (H * D) + h * D;
    out += ((size_t)b * Tq + i) * (H * D) + h * D;
    kv += (size_t)b * T * ldk + h * D;
    for (int d = 0; d < D; d++) {
        x[d] = q[d] * scale;
        g[d] = dout[d];
        o[d] = 0.0f;
        delta = fma(g[d], out[d], delta);
    }
#ifdef BIAS
    bias += (BIAS_OF(b, h) * Tq + i) * T;
#endif
    for (int j = 0; j < T; j++) {
        float y = 0.0f;
        for (int d = 0; d < D; d++)
            y = fma(x[d], kv[(size_t)j * ldk + koff + d], y);
#ifdef BIAS
        y += bias[j];
#endif
        const float m = fmax(top, y);
        all = all * vt_exp(top - m) + vt_exp(y - m);
        top = m;
    }
    const float lse = top + log(all);
    for (int j = 0; j < T; j++) {
        global const float *k = kv + (size_t)j * ldk + koff;
        float2 s = pair(x, g, k, k - koff + voff);
#ifdef BIAS
        s.x += bias[j];
#endif
        const float w = vt_exp(s.x - lse) * (s.y - delta) * scale;
        for (int d = 0; d < D; d++)
            o[d] = fma(w, k[d], o[d]);
    }
    for (int d = 0; d < D; d++)
        dq[d] = o[d];
    stat += (((size_t)b * H + h) * Tq + i) * 2;
    stat[0] = lse;
    stat[1] = delta;
}

kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void
attention_grad__kv(global float *dkv, global const float *dout,
                   global const float *restrict stat, QKV)
{
    const int j = get_global_id(0), h = get_group_id(1), b = get_group_id(2);
    float k[D], v[D], dk[D], dv[D];

    if (j >= T)
        return;
    q += (size_t)b * qb + h * D;
    dout += (size_t)b * Tq * (H * D) + h * D;
    stat += ((size_t)b * H + h) * Tq * 2;
    kv += ((size_t)b * T + j) * ldk + h * D;
    dkv += ((size_t)b * T + j) * ldk + h * D;
    for (int d = 0; d < D; d++) {
        k[d] = kv[koff + d] * scale;
        v[d] = kv[voff + d];
        dk[d] = dv[d] = 0.0f;
    }
    for (int i = 0; i < Tq; i++) {
        global const float *x = q + (size_t)i * ldq;
        global const float *g = dout + (size_t)i * (H * D);
        float2 s = pair(k, v, x, g);
#ifdef BIAS
        s.x += bias[(BIAS_OF(b, h) * Tq + i) * T + j];
#endif
        const float p = vt_exp(s.x - stat[2 * i]);
        const float w = p * (s.y - stat[2 * i + 1]) * scale;
        for (int d = 0; d < D; d++) {
            dk[d] = fma(w, x[d], dk[d]);
            dv[d] = fma(p, g[d], dv[d]);
        }
    }
    for (int d = 0; d < D; d++) {
        dkv[koff + d] = dk[d];
        dkv[voff + d] = dv[d];
    }
}

kernel void attention_grad__bias(global float *restrict dbias,
                                 global const float *dout,
                                 global const float *restrict stat, QKV)
{
    const int j = get_global_id(0), i = get_global_id(1);
    const int h = get_global_id(2) % H, first = get_global_id(2) / H;
    const size_t at = ((size_t)get_global_id(2) * Tq + i) * T + j;
#if BIAS == 2
    const int end = first + 1;
#else
    const int end = B;
#endif
    float sum = 0.0f;

    for (int b = first; b < end; b++) {
        global const float *x = q + (size_t)b * qb + (size_t)i * ldq + h * D;
        global const float *g = dout + ((size_t)b * Tq + i) * (H * D) + h * D;
        global const float *k = kv + ((size_t)b * T + j) * ldk + h * D;
        global const float *s = stat + (((size_t)b * H + h) * Tq + i) * 2;
        float y = 0.0f, dp = 0.0f;

        for (int d = 0; d < D; d++) {
            y = fma(x[d] * scale, k[koff + d], y);
            dp = fma(g[d], k[voff + d], dp);
        }
#ifdef BIAS
        y += bias[at];
#endif
        sum += vt_exp(y - s[0]) * (dp - s[1]);
    }
    dbias[at] = sum;
}
#endif
