/*
 * attention_words.cl - attention.cl on CPU-class devices by dot products of
 * bf16 (vdpbf16ps; with TILES AMX's: common_tiles.cl), V 16, where a trial has
 * found them right and fast: host/units/dots.c.
 *
 * attention__words  out[B,Tq,H*D] <- q, kv, bias
 *
 * Rows      A tile is R or R1 queries of a head. Vectors run over keys in the
 *           first product and over d in the second; the scalars are words of
 *           queries, and then of probabilities. Both products are the same
 *           function. An element is a word: two adjacent d in the first
 *           product, two adjacent keys in the second.
 *           Launch: vt_kernel_tiles() of blocks * H * B.
 * Keys      come in blocks of KV vectors, the last perhaps less. Keys and
 *           values of a block are copied to panels of 32 columns of words:
 *           [ROW][32 keys] and [pairs of keys][32 d]; if HELD blocks are all,
 *           once for tiles of the same head that follow each other.
 *           From the second block on the output is scaled to the new maximum.
 * Defines   D; BIAS if there is one; TILES; LINES, QT, KVT as in
 *           common_attention.cl; R R1, with TILES at most 16: queries are
 *           `blocks` blocks, the first `big` of R and the others of R1; KV,
 *           even with TILES or several blocks, and HELD; YT, how out is stored.
 * Numerics  q, k, v and probabilities are rounded to bf16; all else is f32.
 * Sums are of ascending d or j, softmax's of 16 lanes that end in a tree, so
 *           the bits of a query depend on its own data alone. Exponents are
 *           base 2, scores times log2(e).
 * Paper     Dao et al. 2022, arXiv:2205.14135 (blocks); Milakov, Gimelshein
 *           2018, arXiv:1805.02867 (the running maximum).
 * Host      host/ops/attention.c      Test  tests/ops/test_words.c
 */
#if defined(__AVX512F__) && V == 16
#ifndef R
#define R 14
#define R1 13
#define KV 13
#define HELD 1
#endif
#ifndef D
#define D 64
#endif

#define DEPTH WHOLE((D + 1) / 2)
#define ROW VT_ROW_WORDS(D)
#define KEYS (KV * V)
#ifdef TILES /* products take whole tiles: zeros are behind the last word */
#define WHOLE(words) (((words) + 15) / 16 * 16)
#else
#define WHOLE(words) (words)
#endif
#define DV ((D + V - 1) / V)
/* A query's row: words of q; the output; scores, then probabilities. Rows begin
 * in different sets of a cache. */
#define OUTPUT ROW
#define SCORES (3 * ROW)
#define LD ((SCORES + KEYS + V) / 32 * 32 + V)

#define PANEL 32
#ifdef TILES
#define multiply(c, a, b, n, vectors, panel, depth, add)                       \
    tile_product(c, LD, a, LD, b, PANEL, panel, min(n, 16), vectors, depth, add)
#else
/* c[n rows][N vectors] = (add ? c : 0) + words of a times a panel of b */
#define PRODUCT(NAME, n, N)                                                    \
    static OUTLINED void NAME(float *c, const int *restrict a,                 \
                              const int *restrict b, int depth, bool add)      \
    {                                                                          \
        floatv x[n][N];                                                        \
        EACH(r, n)                                                             \
            EACH(i, N)                                                         \
                x[r][i] = add ? vloadv(i, c + r * LD) : (floatv)(0.0f);        \
        for (int k = 0; LIKELY(k < depth); k++) {                              \
            intv w[N];                                                         \
            EACH(i, N)                                                         \
                w[i] = vloadv(k * (PANEL / V) + i, b);                         \
            EACH(r, n)                                                         \
                EACH(i, N)                                                     \
                    x[r][i] =                                                  \
                        vt_word_dot(x[r][i], (intv)(a[r * LD + k]), w[i]);     \
        }                                                                      \
        EACH(r, n)                                                             \
            EACH(i, N)                                                         \
                vstorev(x[r][i], i, c + r * LD);                               \
    }
PRODUCT(product_2, R, 2)
PRODUCT(product_1, R, 1)
#if R1 != R
PRODUCT(product_low_2, R1, 2)
PRODUCT(product_low_1, R1, 1)
#endif

/* Of n rows; vectors: columns of c. A panel of b has panel words. */
static inline void multiply(float *c, const int *a, const int *b, int n,
                            int vectors, int panel, int depth, bool add)
{
    for (int i = 0; i < vectors; i += 2, b += panel) {
        if (n == R && i + 2 <= vectors)
            product_2(c + i * V, a, b, depth, add);
        else if (n == R)
            product_1(c + i * V, a, b, depth, add);
#if R1 != R
        else if (i + 2 <= vectors)
            product_low_2(c + i * V, a, b, depth, add);
        else
            product_low_1(c + i * V, a, b, depth, add);
#endif
    }
}

#endif

#ifdef BIAS
/* s[n rows][keys] = s * c + bias * log2(e) */
static inline void add_bias(float *s, global const float *bias, int ld, int n,
                            int keys, float c)
{
    for (; n > 0; n--, s += LD, bias += ld) {
        int j = 0;

        for (; j + V <= keys; j += V)
            vstorev(fma(vloadv(0, bias + j), (floatv)(VT_LOG2E),
                        vloadv(0, s + j) * c),
                    0, s + j);
        for (; j < keys; j++)
            s[j] = fma(bias[j], VT_LOG2E, s[j] * c);
    }
}
#endif

#define LANES (intv)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)

/* The maximum of m and of a row's scores times c. */
static inline floatv row_top(floatv m, const float *s, int keys, float c)
{
    const int last = (keys - 1) / V;
    floatv n = select((floatv)(-INFINITY), vloadv(last, s) * c,
                      LANES < (intv)(keys - last * V));

    n = vt_words_larger(m, n);
    for (int i = 0; i + 1 < last; i += 2) {
        m = vt_words_larger(m, vloadv(i, s) * c);
        n = vt_words_larger(n, vloadv(i + 1, s) * c);
    }
    if (last % 2)
        m = vt_words_larger(m, vloadv(last - 1, s) * c);
    return vt_words_largest(vt_words_larger(m, n));
}

/* A row's scores, times c, become probabilities in words of two keys, in place.
 * Returns their sums. */
static inline floatv row_words(float *s, int keys, float c, floatv top)
{
    floatv sum[2] = {0.0f, 0.0f}, p[2];

    for (int i = 0; i * V < keys; i += 2) {
        EACH(e, 2)
            p[e] = vt_words_exp2(fma(vloadv(i + e, s), (floatv)(c), -top));
        if ((i + 2) * V > keys)
            EACH(e, 2)
                p[e] = select((floatv)(0.0f), p[e],
                              LANES < (intv)(keys - (i + e) * V));
        EACH(e, 2)
            sum[e] += p[e];
        vstorev(vt_words_rounded(p[0], p[1]), i / 2, (int *)s);
    }
    return sum[0] + sum[1];
}

/* Words of n <= V rows, in columns; zeros beyond n */
static inline void copy_keys(int *to, global const VT_TYPE(KVT) * from, int ld,
                             int n)
{
    int row[V * ROW] __attribute__((aligned(64)));

    for (int i = 0; i < V; i++)
        for (int d = 0; d < ROW / V; d++)
            vstorev(vt_words_at(from + (i < n ? (size_t)i * ld : 0), d,
                                i < n ? D : 0),
                    d, row + i * ROW);
    for (int d = 0; d < DEPTH; d += 4)
        for (int i = 0; i < V; i += 4) {
            const float *f = (const float *)row + i * ROW + d;
            float *t = (float *)to + d * PANEL + i;
            const float4 r0 = vload4(0, f), r1 = vload4(0, f + ROW);
            const float4 r2 = vload4(0, f + 2 * ROW);
            const float4 r3 = vload4(0, f + 3 * ROW);
            VT_STORE_TRANSPOSED(r0, r1, r2, r3, t, PANEL);
        }
}

static inline void copy_values(int *to, global const VT_TYPE(KVT) * from,
                               int ld, int n)
{
    for (int j = 0; j < n; j += 2, to += PANEL) {
        global const VT_TYPE(KVT) *next = j + 1 < n ? from + ld : from;

        for (int d = 0; d < ROW / V; d++)
            vt_words_paired(to + d * (KEYS / 2 * PANEL),
                            vt_words_at(from, d, D),
                            vt_words_at(next, d, j + 1 < n ? D : 0));
        from += 2 * (size_t)ld;
    }
    for (int j = (n + 1) / 2; j < WHOLE(j); j++, to += PANEL)
        EACH(i, 2 * ROW / V)
            vstorev((intv)(0), i % 2, to + i / 2 * (KEYS / 2 * PANEL));
}

static inline OUTLINED void block_of_queries(global VT_TYPE(YT) *restrict out,
                                             VT_QKV, int blocks, int big,
                                             int *held_k, int *held_v,
                                             bool fresh, int id)
{
    const int block = id % blocks, h = id / blocks % H, b = id / blocks / H;
    const int n = block < big ? R : R1;
    const int i0 = block < big ? block * R : big * R + (block - big) * R1;
#ifdef BIAS
    const float by = 1.0f;
#else
    const float by = scale * VT_LOG2E;
#endif
    float work[R * LD] __attribute__((aligned(64)));
    floatv top[R], all[R], keep[R];
    global const VT_TYPE(KVT) *k = kv + VT_KV_AT(b) + koff + h * D;
    global const VT_TYPE(KVT) *v = kv + VT_KV_AT(b) + voff + h * D;
    /* how far away the next head is */
    const long next = h + 1 < H ? D : (long)T * ldk - (long)h * D;

    q += VT_Q_AT(b) + (size_t)i0 * ldq + h * D;
    out += VT_OUT_AT(b, i0) + h * D;
    for (int i = 0; i < n; i++) {
        for (int d = 0; d < ROW / V; d++)
            vstorev(vt_words_at(q + (size_t)i * ldq, d, D), d,
                    (int *)work + i * LD);
        top[i] = (floatv)(-INFINITY), all[i] = (floatv)(0.0f);
    }
    for (int j0 = 0; j0 < T; j0 += KEYS) {
        const int keys = min(KEYS, T - j0), vectors = (keys + V - 1) / V;
        const int at = j0 % (HELD * KEYS) * ROW;
        if (fresh || T > HELD * KEYS) {
            for (int i = 0; i < vectors; i++)
                copy_keys(held_k + at + i / 2 * (ROW * PANEL) + i % 2 * V,
                          k + (size_t)(j0 + i * V) * ldk, ldk, keys - i * V);
            copy_values(held_v + at, v + (size_t)j0 * ldk, ldk, keys);
        }
        multiply(work + SCORES, (const int *)work, held_k + at, n, vectors,
                 ROW * PANEL, DEPTH, false);
#ifdef BIAS
        add_bias(work + SCORES, bias + (VT_BIAS_OF(b, h) * Tq + i0) * T + j0, T,
                 n, keys, scale * VT_LOG2E);
#endif
        for (int i = 0; i < n; i++) {
            const floatv m = row_top(top[i], work + SCORES + i * LD, keys, by);

            keep[i] = vt_words_exp2(top[i] - m);
            top[i] = m;
        }
        for (int i = 0; i < n; i++) {
            float *x = work + i * LD;

            for (int d = 0; j0 == 0 && d < D; d += 64 / (int)sizeof *k) {
                const long at = (long)min(i0 + i, T - 1) * ldk + d + next;

                vt_prefetch(out + (size_t)i * VT_LDO + d, 1, 2);
                vt_prefetch(q + (long)i * ldq + d + next, 0, 2);
                vt_prefetch(k + at, 0, 2);
                vt_prefetch(v + at, 0, 2);
            }
            all[i] =
                fma(all[i], keep[i], row_words(x + SCORES, keys, by, top[i]));
            for (int d = 0; j0 > 0 && d < DV; d++)
                vstorev(vloadv(d, x + OUTPUT) * keep[i], d, x + OUTPUT);
        }
        multiply(work + OUTPUT, (const int *)work + SCORES, held_v + at, n, DV,
                 KEYS / 2 * PANEL, WHOLE((keys + 1) / 2), j0 > 0);
    }
    for (int i = 0; i < n; i++, out += VT_LDO) {
        const float by_sum = 1.0f / vt_hsum(all[i]);
        const float *x = work + i * LD + OUTPUT;
        int d = 0;

        for (; d + 2 * V <= D; d += 2 * V)
            vt_words_put(out + d, vloadv(0, x + d) * by_sum,
                         vloadv(1, x + d) * by_sum);
        for (; d < D; d++)
            VT_STORE(YT, out, d, x[d] * by_sum);
    }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
attention__words(global VT_TYPE(YT) *restrict out, VT_QKV, int blocks, int big,
                 volatile global int *taken, int tiles)
{
    int held_k[(HELD * KEYS + V) * ROW] __attribute__((aligned(64)));
    int held_v[HELD * KEYS * ROW] __attribute__((aligned(64)));
    int held_of = -1;

    VT_EACH_TILE(id, taken, tiles) {
        block_of_queries(out, q, kv, bias, B, H, Tq, T, qb, ldq, ldk, koff,
                         voff, scale, blocks, big, held_k, held_v,
                         held_of != id / blocks, id);
        held_of = id / blocks;
    }
}
#endif
