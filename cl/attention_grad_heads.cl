/*
 * attention_grad_heads.cl - gradients of attention.cl on CPU-class devices: the
 * equations and the tensors of attention_grad.cl.
 *
 * attention_grad__heads  dq, dk, dv, dbias <- dout, q, kv, bias
 *
 * Heads     A tile is a head; vectors run over NV*V queries. It processes
 *           `pictures` pictures in sequence: 1, or all where dbias sums over
 *           them. With HELD, where the stack has room, the head's keys and
 *           values and the sums of their gradients are copied to contiguous
 *           memory while the queries pass: rows of kv fall into a few sets of
 *           L1. Exponents are base 2.
 * Launch    vt_kernel_tiles() of H * B / pictures.
 * Defines   D; BIAS if there is one (2: one for each picture); LINES as in
 *           common_attention.cl; V NV TMAX (the largest T) HELD.
 * Numerics  Every sum has a fixed order, no atomics: equal bits.
 * Paper     Dao et al. 2022, arXiv:2205.14135, appendix B.2.
 * Host      host/ops/attention_grad.c
 * Test      tests/ops/test_attention_grad.c
 */
#ifndef NV
#define NV 2
#endif
#ifndef TMAX
#define TMAX 64
#endif
#ifndef D
#define D 64
#endif

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
                        VT_QKV, int pictures, int h, int first)
{
    const int ldo = VT_LDO;
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
        global const float *qh = q + VT_Q_AT(b) + h * D;
        global const float *gh = dout + VT_OUT_AT(b, 0) + h * D;
        global float *dqh = dq + VT_Q_AT(b) + h * D;
        const size_t at = VT_KV_AT(b) + h * D;
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
                    lane[i] =
                        i < n ? bias[(VT_BIAS_OF(b, h) * Tq + i0 + i) * T + j]
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
                        const size_t to =
                            (VT_BIAS_OF(b, h) * Tq + i0 + i) * T + j;
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
                      VT_QKV, int pictures, volatile global int *taken,
                      int tiles)
{
    VT_EACH_TILE(id, taken, tiles)
        head(dq, dkv, dbias, dout, q, kv, bias, B, H, Tq, T, qb, ldq, ldk, koff,
             voff, scale, pictures, id % H, id / H * pictures);
}
