/*
 * attention_grad_heads.cl - gradients of attention.cl on CPU-class devices: the
 * equations and the tensors of attention_grad.cl.
 *
 * attention_grad__heads  dq, dk, dv, dbias <- dout, q, kv, bias
 *
 * Heads     A tile is a head; vectors run over NV*V queries. It processes
 *           `pictures` pictures in sequence: 1, or all where dbias sums over
 *           them. The head's keys and values, a block of queries and the sums
 *           of the gradients are in contiguous rows of WIDE, whole vectors:
 *           rows of kv fall into a few sets of L1, and a D such as 12 is no
 *           loop of scalars. Exponents are base 2.
 * WORDS     The five products by dot products of bf16 pairs, as in
 *           attention_words.cl, where D is even. Of keys and queries
 *           there are words of two adjacent d, whose products are the scores,
 *           and pairs, words of the same d of two rows, whose products with
 *           such words of two keys or two queries are the gradients. With TILES
 *           those of common_tiles.cl multiply, and zeros are behind the last
 *           key and the last word.
 * Launch    vt_kernel_tiles() of H * B / pictures.
 * Defines   D; BIAS if there is one; LINES as in
 *           common_attention.cl; V NV TMAX (the largest T); WORDS, TILES, with
 *           V 16 and NV 2; with WORDS QT, KVT, GT (dq and dkv), OT
 *           (dout), f32 or bf16.
 * Numerics  Every sum has a fixed order, no atomics: equal bits. With WORDS, q,
 *           k, v, dout, the probabilities and the gradients of the scores are
 *           rounded to bf16; all else is f32.
 * Paper     Dao et al. 2022, arXiv:2205.14135, appendix B.2.
 * Host      host/ops/attention_grad.c
 * Test      tests/ops/test_attention_grad.c, tests/ops/test_words.c
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
#ifndef GT
#define GT f32
#endif
#ifndef OT
#define OT f32
#endif

#define QN (NV * V)

#define WIDE ((D + V - 1) / V * V)
#define WHOLE(rows) (((rows) + 31) / 32 * 32)
#define KEYS WHOLE(TMAX + 1)
/* Whole cache lines. */
#define ALIGNED __attribute__((aligned(64)))

#ifdef WORDS
typedef int element;
#define elementv intv
#define DEPTH (D / 2)
#define ROW VT_ROW_WORDS(D)
#define MULTIPLY_ADD(x, w, s) vt_word_dot(s, (intv)(x), w)
#define EXP2 vt_words_exp2

/* n rows in words of two d, and zeros up to row `all`; pairs of them, if
 * wanted. */
#define COPY_WORDS(T)                                                          \
    static inline void __attribute__((overloadable)) copy_words(               \
        int *rows, int *pairs, global const T *from, int ld, int n, int all)   \
    {                                                                          \
        for (int j = 0; j < all; j += 2) {                                     \
            int *low = rows + j * ROW, *high = low + ROW;                      \
                                                                               \
            for (int d = 0; d < D; d += 64 / (int)sizeof(T)) {                 \
                vt_prefetch(from + (size_t)(j + 6) * ld + d, 0, 3);            \
                vt_prefetch(from + (size_t)(j + 7) * ld + d, 0, 3);            \
            }                                                                  \
            vt_words(low, from + (size_t)j * ld, j < n ? D : 0, ROW);          \
            vt_words(high, from + (size_t)(j + 1) * ld, j + 1 < n ? D : 0,     \
                     ROW);                                                     \
            for (int d = 0; pairs && d < ROW; d += V)                          \
                vt_words_paired(pairs + j * ROW + 2 * d, vloadv(0, low + d),   \
                                vloadv(0, high + d));                          \
        }                                                                      \
    }
COPY_WORDS(float)
COPY_WORDS(ushort)

/* to[ROW][QN] <- QN rows, transposed */
static inline void transpose_words(int *to, const int *rows)
{
    for (int i = 0; i < QN; i += 4)
        for (int d = 0; d < ROW; d += 4) {
            const float *f = (const float *)rows + i * ROW + d;
            float *t = (float *)to + d * QN + i;
            const float4 r0 = vload4(0, f), r1 = vload4(0, f + ROW);
            const float4 r2 = vload4(0, f + 2 * ROW);
            const float4 r3 = vload4(0, f + 3 * ROW);

            VT_STORE_TRANSPOSED(r0, r1, r2, r3, t, QN);
        }
}
#else
typedef float element;
#define elementv floatv
#define DEPTH D
#define ROW WIDE
#define MULTIPLY_ADD(x, w, s) fma((floatv)(x), w, s)
#define EXP2 vt_exp2_down

/* n rows, and zeros beyond them and beyond D */
static inline void hold(float *to, global const float *from, int ld, int n,
                        int all)
{
    for (int j = 0; j < all; j++)
        for (int d = 0; d < WIDE; d++)
            to[j * WIDE + d] = j < n && d < D ? from[(size_t)j * ld + d] : 0.0f;
}

/* to[D][QN] <- QN rows, transposed */
static inline void transpose_floats(float *to, const float *rows)
{
    for (int d = 0; d < D; d++)
        for (int i = 0; i < QN; i++)
            to[d * QN + i] = rows[i * ROW + d];
}
#endif

#ifdef TILES
#define DX2 KEYS / 2, 1

static inline OUTLINED void scores(floatv *s, const element *t,
                                   const element *rows, int n, float c)
{
    tile_product((float *)s, QN, rows, ROW, t, QN, 0, WHOLE(n), NV, ROW, false);
    for (int j = 0; j < n * NV; j++)
        s[j] *= c;
}

static inline OUTLINED void gather(float *to, const element *s, int sj, int si,
                                   const element *rows, int ld, int n, int m,
                                   int more)
{
    tile_product(to, WIDE, s, sj, rows, ld, 2 * V, WHOLE(m), WIDE / V,
                 (n + 15) / 16 * 16, more);
}
#else
#define DX2 1, QN

/* s[j][QN] = c * sum_d rows[j][d] * t[d][QN], R rows at a time */
#define SCORES(NAME, R)                                                        \
    static inline void NAME(floatv *s, const element *t, const element *rows,  \
                            float c)                                           \
    {                                                                          \
        floatv x[R][NV];                                                       \
        EACH(r, R)                                                             \
            EACH(i, NV)                                                        \
                x[r][i] = (floatv)(0.0f);                                      \
        for (int d = 0; d < DEPTH; d++)                                        \
            EACH(r, R)                                                         \
                EACH(i, NV)                                                    \
                    x[r][i] = MULTIPLY_ADD(rows[r * ROW + d],                  \
                                           vloadv(d * NV + i, t), x[r][i]);    \
        EACH(r, R)                                                             \
            EACH(i, NV)                                                        \
                s[r * NV + i] = x[r][i] * c;                                   \
    }
SCORES(scores6, 6)
SCORES(scores1, 1)

static inline void scores(floatv *s, const element *t, const element *rows,
                          int n, float c)
{
    int j = 0;

    for (; j + 6 <= n; j += 6)
        scores6(s + j * NV, t, rows + j * ROW, c);
    for (; j < n; j++)
        scores1(s + j * NV, t, rows + j * ROW, c);
}

/* to[j][c] (+)= sum_i s[j * sj + i * si] * rows[i][c], i < n; R rows of N
 * vectors */
#define GATHER(R, N)                                                           \
    static inline void gather##R##N(float *to, const element *s, int sj,       \
                                    int si, const element *rows, int ld,       \
                                    int n, int more)                           \
    {                                                                          \
        floatv x[R][N];                                                        \
        EACH(r, R)                                                             \
            EACH(c, N)                                                         \
                x[r][c] = more ? vloadv(c, to + r * WIDE) : (floatv)(0.0f);    \
        for (int i = 0; i < n; i++)                                            \
            EACH(c, N) {                                                       \
                const elementv a = vloadv(c, rows + i * ld);                   \
                EACH(r, R)                                                     \
                    x[r][c] = MULTIPLY_ADD(s[r * sj + i * si], a, x[r][c]);    \
            }                                                                  \
        EACH(r, R)                                                             \
            EACH(c, N)                                                         \
                vstorev(x[r][c], c, to + r * WIDE);                            \
    }
GATHER(4, 2)
GATHER(8, 1)
GATHER(1, 1)

/* The same for m rows of WIDE. */
static inline void gather(float *to, const element *s, int sj, int si,
                          const element *rows, int ld, int n, int m, int more)
{
    for (int c = 0; c < WIDE;) {
        const int two = c + 2 * V <= WIDE;
        int j = 0;

        for (; two && j + 4 <= m; j += 4)
            gather42(to + j * WIDE + c, s + j * sj, sj, si, rows + c, ld, n,
                     more);
        for (; !two && j + 8 <= m; j += 8)
            gather81(to + j * WIDE + c, s + j * sj, sj, si, rows + c, ld, n,
                     more);
        for (; j < m; j++)
            for (int i = 0; i < (two ? 2 : 1); i++)
                gather11(to + j * WIDE + c + i * V, s + j * sj, sj, si,
                         rows + c + i * V, ld, n, more);
        c += two ? 2 * V : V;
    }
}

#endif

static inline void release(global VT_TYPE(GT) * to, int ld, const float *from,
                           int n)
{
    for (int j = 0; j < n; j++)
        for (int d = 0; d < D; d++)
            VT_STORE(GT, to, (size_t)j * ld + d, from[j * WIDE + d]);
}

#ifdef WORDS
/* Words of two queries, [T][V], in place of p and dx. Returns dx in words of
 * two keys, [ceil(T / 2)][QN], with TILES [QN][KEYS / 2], behind those of p. */
static inline const int *pair_up(floatv *p, floatv *dx, int T)
{
    floatv *keys = p + KEYS;

    for (int j = 0; j < T; j++)
        p[j] = as_floatv(vt_words_rounded(p[2 * j], p[2 * j + 1]));
#ifdef TILES
    for (int j = T * NV; j < WHOLE(T) * NV; j++)
        dx[j] = 0.0f;
    for (int j = 0; j < T; j += 32)
        for (int i = 0; i < NV; i++) {
            intv x[16];

            EACH(r, 16)
                x[r] = vt_words_of(dx[(j + 2 * r) * NV + i],
                                   dx[(j + 2 * r + 1) * NV + i]);
            vt_words_transpose(x);
            EACH(r, 16)
                vstorev(x[r], 0,
                        (int *)keys + (i * V + r) * (KEYS / 2) + j / 2);
        }
#else
    for (int j = 0; j < T; j += 2)
        for (int i = 0; i < NV; i++)
            keys[j + i] = as_floatv(
                vt_words_of(dx[j * NV + i],
                            j + 1 < T ? dx[(j + 1) * NV + i] : (floatv)(0.0f)));
#endif
    for (int j = 0; j < T; j++)
        dx[j] = as_floatv(vt_words_rounded(dx[2 * j], dx[2 * j + 1]));
    return (const int *)keys;
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
            const floatv e = EXP2(p[j * NV + i] - top);
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
static inline OUTLINED void head(global VT_TYPE(GT) * dq,
                                 global VT_TYPE(GT) * dkv,
                                 global float *restrict dbias,
                                 global const VT_TYPE(OT) * dout, VT_QKV,
                                 int pictures, int h, int first)
{
    const int ldo = VT_LDO;
    floatv p[KEYS * NV], dx[KEYS * NV];
    element qt[ROW * QN], gt[ROW * QN];
    element k[KEYS * ROW] ALIGNED, v[KEYS * ROW] ALIGNED;
    float lane[QN], of[QN * WIDE] ALIGNED;
    float dk[KEYS * WIDE] ALIGNED, dv[KEYS * WIDE] ALIGNED;
#ifdef WORDS
    int k2[KEYS * ROW] ALIGNED, rows[QN * ROW], q2[QN * ROW], g2[QN * ROW];
#else
    float q1[QN * ROW] ALIGNED, g1[QN * ROW] ALIGNED;
#endif

    for (int b = first; b < first + pictures; b++) {
        global const VT_TYPE(QT) *qh = q + VT_Q_AT(b) + h * D;
        global const VT_TYPE(OT) *gh = dout + VT_OUT_AT(b, 0) + h * D;
        global VT_TYPE(GT) *dqh = dq + VT_Q_AT(b) + h * D;
        const size_t at = VT_KV_AT(b) + h * D;
#ifdef WORDS
        copy_words(k, k2, kv + at + koff, ldk, T, WHOLE(T));
        copy_words(v, 0, kv + at + voff, ldk, T, WHOLE(T));
#else
        hold(k, kv + at + koff, ldk, T, T);
        hold(v, kv + at + voff, ldk, T, T);
#endif

        for (int i0 = 0; i0 < Tq; i0 += QN) {
            const int n = min(QN, Tq - i0);

#ifdef WORDS
            copy_words(rows, q2, qh + (size_t)i0 * ldq, ldq, n, QN);
            transpose_words(qt, rows);
            copy_words(rows, g2, gh + (size_t)i0 * ldo, ldo, n, QN);
            transpose_words(gt, rows);
#else
            hold(q1, qh + (size_t)i0 * ldq, ldq, n, QN);
            transpose_floats(qt, q1);
            hold(g1, gh + (size_t)i0 * ldo, ldo, n, QN);
            transpose_floats(gt, g1);
#endif
            scores(p, qt, k, T, scale * VT_LOG2E);
            scores(dx, gt, v, T, 1.0f);
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
#ifdef WORDS
            const int *dx2 = pair_up(p, dx, T);

            gather(of, dx2, DX2, k2, 2 * ROW, (T + 1) / 2, n, 0);
            gather(dk, (const int *)dx, V, 1, q2, 2 * ROW, (n + 1) / 2, T,
                   i0 > 0);
            gather(dv, (const int *)p, V, 1, g2, 2 * ROW, (n + 1) / 2, T,
                   i0 > 0);
#else
            gather(of, (const float *)dx, 1, QN, k, WIDE, T, n, 0);
            gather(dk, (const float *)dx, QN, 1, q1, WIDE, n, T, i0 > 0);
            gather(dv, (const float *)p, QN, 1, g1, WIDE, n, T, i0 > 0);
#endif
            release(dqh + (size_t)i0 * ldq, ldq, of, n);
        }
        release(dkv + at + koff, ldk, dk, T);
        release(dkv + at + voff, ldk, dv, T);
    }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
attention_grad__heads(global VT_TYPE(GT) * dq, global VT_TYPE(GT) * dkv,
                      global float *restrict dbias,
                      global const VT_TYPE(OT) * dout, VT_QKV, int pictures,
                      volatile global int *taken, int tiles)
{
    VT_EACH_TILE(id, taken, tiles)
        head(dq, dkv, dbias, dout, q, kv, bias, B, H, Tq, T, qb, ldq, ldk, koff,
             voff, scale, pictures, id % H, id / H * pictures);
}
