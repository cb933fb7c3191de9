/*
 * attention_rows.cl - attention.cl on CPU-class devices: the same equations and
 * tensors.
 *
 * attention__rows  out[B,Tq,H*D] <- q, kv, bias
 *
 * Rows      A tile is NV*V queries of a head, transposed once to [D][queries].
 *           In the scores' product the vectors then run over queries, and the
 *           scalars are keys as they lie in memory. Softmax needs no horizontal
 *           sum, and the output is the same product over keys. Keys come in
 *           blocks of JB row blocks of RT or RT1 keys; from the second block on
 *           the output so far is scaled to the new maximum.
 *           Launch: vt_kernel_tiles() of ceil(Tq / (NV*V)) * H * B.
 * WORDS     The same by dot products of bf16 (vdpbf16ps), where V is 16 and a
 *           trial has found them right and fast: host/gemm/dot_choice.c. An
 *           element is then a word of two adjacent d in the first product, and
 *           of two adjacent keys in the second. Keys and values of a block are
 *           copied as such words; if all are in one block, once for tiles of
 *           the same head that follow each other.
 * Defines   D; BIAS if there is one (2: one for each picture); LINES, QT, KVT
 *           as in common_attention.cl; V NV; RT RT1 JB: keys are tb row blocks,
 *           the first tbig of RT and the others of RT1; RD RD1 DBIG: the same
 *           for D, DBIG blocks of RD and then blocks of RD1; WORDS; YT, how out
 *           is stored, bf16 only with YT_WORDS.
 * Numerics  Every sum runs over ascending d or j, so the bits of a query depend
 *           on its own data alone. Exponents are base 2: log2(e) is folded into
 *           q, or with WORDS into the scores. There q, k, v and the
 *           probabilities are rounded to bf16; all else is f32.
 * Paper     Dao et al. 2022, arXiv:2205.14135 (blocks); Milakov, Gimelshein
 *           2018, arXiv:1805.02867 (the running maximum).
 * Host      host/ops/attention.c      Test  tests/ops/test_attention.c
 */
#ifndef RT /* as for V=8, D=64 */
#define NV 2
#define RT 6
#define RT1 5
#define JB 8
#define RD 6
#define RD1 5
#define DBIG 4
#endif
#ifndef D
#define D 64
#endif

#define QN (NV * V)

#ifdef WORDS
typedef int element;
#define elementv intv
#define AS_ELEMENTS(x) as_intv(x)
#define SPACE private
#define DEPTH ((D + 1) / 2)
#define ROW VT_ROW_WORDS(D)
#define MULTIPLY_ADD(x, w, s) vt_word_dot(s, (intv)(x), w)
#define SCALED(x, c) ((x) * (c))
#else
typedef float element;
#define elementv floatv
#define AS_ELEMENTS(x) (x)
#define SPACE global
#define DEPTH D
#define MULTIPLY_ADD(x, w, s) fma((floatv)(x), w, s)
#define SCALED(x, c) (x)
#endif

/* s[R][QN] = c times keys times queries; top: the maximum so far */
#define SCORES(NAME, R)                                                        \
    static inline void NAME(floatv *s, floatv *top, const element *qt,         \
                            SPACE const element *restrict k, int ldk, float c) \
    {                                                                          \
        floatv x[R][NV];                                                       \
        EACH(r, R)                                                             \
            EACH(i, NV)                                                        \
                x[r][i] = (floatv)(0.0f);                                      \
        for (int d = 0; LIKELY(d < DEPTH); d++) {                              \
            elementv w[NV];                                                    \
            EACH(i, NV)                                                        \
                w[i] = vloadv(d * NV + i, qt);                                 \
            EACH(r, R)                                                         \
                EACH(i, NV)                                                    \
                    x[r][i] = MULTIPLY_ADD(k[r * ldk + d], w[i], x[r][i]);     \
        }                                                                      \
        EACH(r, R)                                                             \
            EACH(i, NV) {                                                      \
                const floatv y = SCALED(x[r][i], c);                           \
                s[r * NV + i] = y;                                             \
                top[i] = select(top[i], y, y > top[i]);                        \
            }                                                                  \
    }
/* o[R][QN] = o * keep + values times n weights */
#define VALUES(NAME, R)                                                        \
    static inline void NAME(floatv *o, const floatv *p, const floatv *keep,    \
                            SPACE const element *restrict v, int ldv, int n)   \
    {                                                                          \
        floatv x[R][NV];                                                       \
        EACH(r, R)                                                             \
            EACH(i, NV)                                                        \
                x[r][i] = o[r * NV + i] * keep[i];                             \
        for (int j = 0; LIKELY(j < n); j++) {                                  \
            elementv w[NV];                                                    \
            EACH(i, NV)                                                        \
                w[i] = AS_ELEMENTS(p[j * NV + i]);                             \
            EACH(r, R)                                                         \
                EACH(i, NV)                                                    \
                    x[r][i] = MULTIPLY_ADD(v[r], w[i], x[r][i]);               \
            v += ldv;                                                          \
        }                                                                      \
        EACH(r, R)                                                             \
            EACH(i, NV)                                                        \
                o[r * NV + i] = x[r][i];                                       \
    }
SCORES(scores_rt, RT)
#if RT1 != RT
SCORES(scores_rt1, RT1)
#endif
VALUES(values_rd, RD)
#if RD1 != RD
VALUES(values_rd1, RD1)
#endif

/* to[DEPTH][QN] <- n rows, transposed; zeros beyond n */
static inline void transpose_in(float *to, SPACE const float *from, int ld,
                                int n)
{
    for (int i = 0; i < QN; i += 4)
        for (int d = 0; d < DEPTH; d += 4) {
            SPACE const float *f = from + i * ld + d;
            float *t = to + d * QN + i;

            if (i + 4 <= n && d + 4 <= DEPTH) {
                const float4 r0 = vload4(0, f), r1 = vload4(0, f + ld);
                const float4 r2 = vload4(0, f + 2 * ld);
                const float4 r3 = vload4(0, f + 3 * ld);
                VT_STORE_TRANSPOSED(r0, r1, r2, r3, t, QN);
            } else {
                for (int e = 0; e < min(4, DEPTH - d); e++)
                    for (int r = 0; r < 4; r++)
                        t[e * QN + r] = i + r < n ? f[r * ld + e] : 0.0f;
            }
        }
}

/* n rows of `columns` <- from[columns][QN], transposed */
static inline void transpose_out(global float *to, const float *from, int ld,
                                 int n, int columns)
{
    for (int i = 0; i < n; i += 4)
        for (int d = 0; d < columns; d += 4) {
            const float *f = from + d * QN + i;
            global float *t = to + i * ld + d;

            if (i + 4 <= n && d + 4 <= columns) {
                const float4 r0 = vload4(0, f), r1 = vload4(0, f + QN);
                const float4 r2 = vload4(0, f + 2 * QN);
                const float4 r3 = vload4(0, f + 3 * QN);
                VT_STORE_TRANSPOSED(r0, r1, r2, r3, t, ld);
            } else {
                for (int e = 0; e < min(4, columns - d); e++)
                    for (int r = 0; r < min(4, n - i); r++)
                        t[r * ld + e] = f[e * QN + r];
            }
        }
}

#ifdef WORDS
/* Probabilities in words of two keys, in place. */
static inline void pair_up(floatv *p, int keys)
{
    for (int j = 0; j < keys; j += 2)
        for (int i = 0; i < NV; i++)
            p[j / 2 * NV + i] = as_floatv(
                vt_words_of(p[j * NV + i], j + 1 < keys ? p[(j + 1) * NV + i]
                                                        : (floatv)(0.0f)));
}

/* Keys in words of two d, values in words of two keys. */
static inline void copy_words(int *tok, int *tov, global const VT_TYPE(KVT) * k,
                              global const VT_TYPE(KVT) * v, int ldk, int keys)
{
    int row[2][ROW];

    for (int j = 0; j < keys; j += 2) {
        for (int e = 0; e < 2; e++) {
            const size_t at = (size_t)(j + e) * ldk;
            const int n = j + e < keys ? D : 0;

            for (int d = 0; d < D; d += 32) {
                vt_prefetch(k + at + 6 * (size_t)ldk + d, 0, 3);
                vt_prefetch(v + at + 6 * (size_t)ldk + d, 0, 3);
            }
            if (n > 0)
                vt_words(tok + (j + e) * ROW, k + at, D, ROW);
            vt_words(row[e], v + at, n, ROW);
        }
        for (int d = 0; d < ROW; d += V)
            vt_words_paired(tov + j * ROW + 2 * d, vloadv(0, row[0] + d),
                            vloadv(0, row[1] + d));
    }
}
#endif

/* n rows of D <- o[D][QN] */
static inline void put(global VT_TYPE(YT) * out, floatv *o, int ld, int n)
{
#ifdef YT_WORDS
    for (int d = 0; d < D; d += 2)
        for (int i = 0; i < NV; i++)
            o[d / 2 * NV + i] =
                as_floatv(vt_words_of(o[d * NV + i], o[(d + 1) * NV + i]));
    transpose_out((global float *)out, (const float *)o, ld / 2, n, D / 2);
#else
    transpose_out(out, (const float *)o, ld, n, D);
#endif
}

/* The first key of row block i. */
#define KEY(i) ((i) < tbig ? (i)*RT : tbig * RT + ((i)-tbig) * RT1)
#ifdef WORDS
#define HELD_KEYS (JB * RT + 1)
#define KEYS_AT(key) (held + ((key)-first) * ROW)
#define LDK ROW
#define VALUES_AT(d) (held + HELD_KEYS * ROW + (d))
#define LDV (2 * ROW)
#else
#define KEYS_AT(key) (k + (size_t)(key)*ldk)
#define LDK ldk
#define VALUES_AT(d) (v + (size_t)first * ldk + (d))
#define LDV ldk
#endif

static inline OUTLINED void block_of_rows(global VT_TYPE(YT) *restrict out,
                                          VT_QKV, int tb, int tbig, int *held,
                                          int *held_of, int id)
{
    const int blocks = (Tq + QN - 1) / QN;
    const int i0 = id % blocks * QN, h = id / blocks % H, b = id / blocks / H;
    const int n = min(QN, Tq - i0);
    const float c = scale * VT_LOG2E;
    float qt[D * QN];
    floatv o[D * NV], s[JB * RT * NV], top[NV], all[NV], keep[NV];
    global const VT_TYPE(KVT) *k = kv + VT_KV_AT(b) + koff + h * D;
    global const VT_TYPE(KVT) *v = kv + VT_KV_AT(b) + voff + h * D;

    q += VT_Q_AT(b) + (size_t)i0 * ldq + h * D;
    out += VT_OUT_AT(b, i0) + h * D;
#ifdef WORDS
    const bool fresh = *held_of != id / blocks || tb > JB;
    int queries[QN * ROW];

    *held_of = id / blocks;
    for (int i = 0; i < n; i++) {
        /* the next tile's row is in the same head, or else in the next one */
        global const VT_TYPE(KVT) *next = q + (size_t)i * ldq;

        next += i0 + QN < Tq ? (long)QN * ldq : D - (long)i0 * ldq;
        for (int d = 0; d < D; d += 32)
            vt_prefetch(next + d, 0, 3);
        vt_words(queries + i * ROW, q + (size_t)i * ldq, D, ROW);
    }
    transpose_in(qt, (const float *)queries, ROW, n);
#else
    transpose_in(qt, q, ldq, n);
    for (int i = 0; i < D * NV; i++)
        vstorev(vloadv(i, qt) * c, i, qt);
#endif
    for (int i = 0; i < NV; i++)
        top[i] = (floatv)(-INFINITY), all[i] = (floatv)(0.0f);
    for (int i = 0; i < D * NV; i++)
        o[i] = (floatv)(0.0f);

    for (int j0 = 0; j0 < tb; j0 += JB) {
        const int j1 = min(tb, j0 + JB), first = KEY(j0);
        const int keys = KEY(j1) - first;
        int terms = keys;

#ifdef WORDS
        if (fresh)
            copy_words(held, held + HELD_KEYS * ROW, k + (size_t)first * ldk,
                       v + (size_t)first * ldk, ldk, keys);
#endif
        for (int i = 0; i < NV; i++)
            keep[i] = top[i];
        for (int j = j0; j < j1; j++) {
            const int key = KEY(j);
            if (j < tbig)
                scores_rt(s + (key - first) * NV, top, (const element *)qt,
                          KEYS_AT(key), LDK, c);
#if RT1 != RT
            else
                scores_rt1(s + (key - first) * NV, top, (const element *)qt,
                           KEYS_AT(key), LDK, c);
#endif
        }
#ifdef BIAS
        float lane[QN];

        for (int i = 0; i < NV; i++)
            top[i] = keep[i];
        for (int j = 0; j < keys; j++) {
            global const float *y =
                bias + (VT_BIAS_OF(b, h) * Tq + i0) * T + first + j;
            for (int i = 0; i < QN; i++)
                lane[i] = i < n ? y[(size_t)i * T] : 0.0f;
            for (int i = 0; i < NV; i++) {
                const floatv x =
                    fma(vloadv(i, lane), (floatv)(VT_LOG2E), s[j * NV + i]);
                s[j * NV + i] = x;
                top[i] = select(top[i], x, x > top[i]);
            }
        }
#endif
        for (int i = 0; i < NV; i++) {
            const floatv m = top[i];
            floatv part = (floatv)(0.0f);

            keep[i] = j0 ? vt_exp2_down(keep[i] - m) : (floatv)(0.0f);
            for (int j = 0; j < keys; j++) {
                const floatv p = vt_exp2_down(s[j * NV + i] - m);
                s[j * NV + i] = p;
                part += p;
            }
            all[i] = fma(all[i], keep[i], part);
        }
#ifdef WORDS
        pair_up(s, keys);
        terms = (keys + 1) / 2;
#endif
        for (int d = 0; d < DBIG; d++)
            values_rd(o + d * RD * NV, s, keep, VALUES_AT(d * RD), LDV, terms);
#if RD1 != RD
        for (int d = DBIG * RD; d < D; d += RD1)
            values_rd1(o + d * NV, s, keep, VALUES_AT(d), LDV, terms);
#endif
    }
    for (int i = 0; i < NV; i++)
        all[i] = 1.0f / all[i];
    for (int i = 0; i < D * NV; i++)
        o[i] *= all[i % NV];
    put(out, o, VT_LDO, n);
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
attention__rows(global VT_TYPE(YT) *restrict out, VT_QKV, int tb, int tbig,
                volatile global int *taken, int tiles)
{
#ifdef WORDS
    int held[2 * HELD_KEYS * ROW], held_of = -1;
#else
    int *held = 0, held_of = -1;
#endif

    VT_EACH_TILE(id, taken, tiles)
        block_of_rows(out, q, kv, bias, B, H, Tq, T, qb, ldq, ldk, koff, voff,
                      scale, tb, tbig, held, &held_of, id);
}
