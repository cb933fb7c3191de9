/*
 * attention_rows.cl - attention.cl on CPU-class devices: the same equations and
 * tensors. In bf16 there is attention_words.cl.
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
 * Defines   D; BIAS if there is one; LINES as in
 *           common_attention.cl; V NV; RT RT1 JB: keys are tb row blocks,
 *           the first tbig of RT and the others of RT1; RD RD1 DBIG: the same
 *           for D, DBIG blocks of RD and then blocks of RD1.
 * Numerics  Every sum runs over ascending d or j, so the bits of a query depend
 *           on its own data alone. Exponents are base 2: log2(e) is folded into
 *           q.
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

/* s[R][QN] = keys times queries; top: the maximum so far */
#define SCORES(NAME, R)                                                        \
    static inline void NAME(floatv *s, floatv *top, const float *qt,           \
                            global const float *restrict k, int ldk)           \
    {                                                                          \
        floatv x[R][NV];                                                       \
        EACH(r, R)                                                             \
            EACH(i, NV)                                                        \
                x[r][i] = (floatv)(0.0f);                                      \
        for (int d = 0; LIKELY(d < D); d++) {                                  \
            floatv w[NV];                                                      \
            EACH(i, NV)                                                        \
                w[i] = vloadv(d * NV + i, qt);                                 \
            EACH(r, R)                                                         \
                EACH(i, NV)                                                    \
                    x[r][i] = fma((floatv)(k[r * ldk + d]), w[i], x[r][i]);    \
        }                                                                      \
        EACH(r, R)                                                             \
            EACH(i, NV) {                                                      \
                const floatv y = x[r][i];                                      \
                s[r * NV + i] = y;                                             \
                top[i] = select(top[i], y, y > top[i]);                        \
            }                                                                  \
    }
/* o[R][QN] = o * keep + values times n weights */
#define VALUES(NAME, R)                                                        \
    static inline void NAME(floatv *o, const floatv *p, const floatv *keep,    \
                            global const float *restrict v, int ldv, int n)    \
    {                                                                          \
        floatv x[R][NV];                                                       \
        EACH(r, R)                                                             \
            EACH(i, NV)                                                        \
                x[r][i] = o[r * NV + i] * keep[i];                             \
        for (int j = 0; LIKELY(j < n); j++) {                                  \
            floatv w[NV];                                                      \
            EACH(i, NV)                                                        \
                w[i] = p[j * NV + i];                                          \
            EACH(r, R)                                                         \
                EACH(i, NV)                                                    \
                    x[r][i] = fma((floatv)(v[r]), w[i], x[r][i]);              \
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

/* to[D][QN] <- n rows, transposed; zeros beyond n */
static inline void transpose_in(float *to, global const float *from, int ld,
                                int n)
{
    for (int i = 0; i < QN; i += 4)
        for (int d = 0; d < D; d += 4) {
            global const float *f = from + i * ld + d;
            float *t = to + d * QN + i;

            if (i + 4 <= n && d + 4 <= D) {
                const float4 r0 = vload4(0, f), r1 = vload4(0, f + ld);
                const float4 r2 = vload4(0, f + 2 * ld);
                const float4 r3 = vload4(0, f + 3 * ld);
                VT_STORE_TRANSPOSED(r0, r1, r2, r3, t, QN);
            } else {
                for (int e = 0; e < min(4, D - d); e++)
                    for (int r = 0; r < 4; r++)
                        t[e * QN + r] = i + r < n ? f[r * ld + e] : 0.0f;
            }
        }
}

/* n rows of D <- from[D][QN], transposed */
static inline void transpose_out(global float *to, const float *from, int ld,
                                 int n)
{
    for (int i = 0; i < n; i += 4)
        for (int d = 0; d < D; d += 4) {
            const float *f = from + d * QN + i;
            global float *t = to + i * ld + d;

            if (i + 4 <= n && d + 4 <= D) {
                const float4 r0 = vload4(0, f), r1 = vload4(0, f + QN);
                const float4 r2 = vload4(0, f + 2 * QN);
                const float4 r3 = vload4(0, f + 3 * QN);
                VT_STORE_TRANSPOSED(r0, r1, r2, r3, t, ld);
            } else {
                for (int e = 0; e < min(4, D - d); e++)
                    for (int r = 0; r < min(4, n - i); r++)
                        t[r * ld + e] = f[e * QN + r];
            }
        }
}

/* The first key of row block i. */
#define KEY(i) ((i) < tbig ? (i)*RT : tbig * RT + ((i)-tbig) * RT1)

static inline OUTLINED void block_of_rows(global float *restrict out, VT_QKV,
                                          int tb, int tbig, int id)
{
    const int blocks = (Tq + QN - 1) / QN;
    const int i0 = id % blocks * QN, h = id / blocks % H, b = id / blocks / H;
    const int n = min(QN, Tq - i0);
    const float c = scale * VT_LOG2E;
    float qt[D * QN];
    floatv o[D * NV], s[JB * RT * NV], top[NV], all[NV], keep[NV];
    global const float *k = kv + VT_KV_AT(b) + koff + h * D;
    global const float *v = kv + VT_KV_AT(b) + voff + h * D;

    q += VT_Q_AT(b) + (size_t)i0 * ldq + h * D;
    out += VT_OUT_AT(b, i0) + h * D;
    transpose_in(qt, q, ldq, n);
    for (int i = 0; i < D * NV; i++)
        vstorev(vloadv(i, qt) * c, i, qt);
    for (int i = 0; i < NV; i++)
        top[i] = (floatv)(-INFINITY), all[i] = (floatv)(0.0f);
    for (int i = 0; i < D * NV; i++)
        o[i] = (floatv)(0.0f);

    for (int j0 = 0; j0 < tb; j0 += JB) {
        const int j1 = min(tb, j0 + JB), first = KEY(j0);
        const int keys = KEY(j1) - first;

        for (int i = 0; i < NV; i++)
            keep[i] = top[i];
        for (int j = j0; j < j1; j++) {
            const int key = KEY(j);
            if (j < tbig)
                scores_rt(s + (key - first) * NV, top, qt,
                          k + (size_t)key * ldk, ldk);
#if RT1 != RT
            else
                scores_rt1(s + (key - first) * NV, top, qt,
                           k + (size_t)key * ldk, ldk);
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
        for (int d = 0; d < DBIG; d++)
            values_rd(o + d * RD * NV, s, keep,
                      v + (size_t)first * ldk + d * RD, ldk, keys);
#if RD1 != RD
        for (int d = DBIG * RD; d < D; d += RD1)
            values_rd1(o + d * NV, s, keep, v + (size_t)first * ldk + d, ldk,
                       keys);
#endif
    }
    for (int i = 0; i < NV; i++)
        all[i] = 1.0f / all[i];
    for (int i = 0; i < D * NV; i++)
        o[i] *= all[i % NV];
    transpose_out(out, (const float *)o, VT_LDO, n);
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
attention__rows(global float *restrict out, VT_QKV, int tb, int tbig,
                volatile global int *taken, int tiles)
{
    VT_EACH_TILE(id, taken, tiles)
        block_of_rows(out, q, kv, bias, B, H, Tq, T, qb, ldq, ldk, koff, voff,
                      scale, tb, tbig, id);
}
