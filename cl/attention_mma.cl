/*
 * attention_mma.cl - attention.cl's equation on the matrix units of GPUs, for
 * queries, keys and values stored in f16 or bf16.
 *
 * attention_mma  out[B,Tq,H*D] <- q, kv, bias        sizes as in attention.cl
 *
 * How       Each of WM sub-groups has a fragment of queries of one head in
 *           registers. The work-group goes through the keys and values, KEYS at
 *           a time, in local memory. Scores, the running maximum and the sums
 *           of out are in registers, too, and so are the probabilities p, in 16
 *           bits, the factor of the second product: a lane needs those that it
 *           has computed, because
 *             NVIDIA  x = q k^T: two fragments C are one of A;
 *             AMD     x^T = k q^T, out^T = v^T p^T: C's columns are B's, and
 *                     keys stand in v^T in the order in which a lane has them
 *                     (KEY_AT); gfx11 needs those of lane ^ 16, too.
 *           Sums go over spans of 16 numbers, two chunks of 16 bytes. A row in
 *           local memory is a chunk longer, so that reads meet all banks.
 * Launch    global {WI * ceil(Tq/QUERIES), H, B}, local {WI, 1, 1}.
 * Local     16 * KEYS * (D/8 + 1) bytes for k, as much for v, or for v^T on AMD
 *           16 * D * (KEYS/8 + 1); KIND 1: twice that.
 * Defines   KIND TYPE EMULATE (common_units.cl; KINDs 1 to 6); D: 32, 64, 128;
 *           BIAS LINES QT KVT YT as in attention.cl; WM; KEYS, a multiple of 16
 *           or, on AMD, of 32. q and kv are of TYPE, and rows of theirs begin
 *           at multiples of 16 bytes.
 * Numerics  Sums are f32, in an order that depends on D, T, KEYS and KIND
 *           alone. p is rounded to 16 bits, but not in the sum by which out is
 *           divided. Keys past the end are the last one, with p = 0.
 *
 * Longer than most: the fragments of two vendors have different layouts.
 *
 * Paper     Dao 2023, arXiv:2307.08691 (sub-groups share keys, not queries).
 * Host      host/ops/attention_mma.c  Test  tests/ops/test_attention_mma.c
 */
#ifdef KIND /* without it there is no unit in front */
#ifndef D
#define D 64
#endif
#ifndef WM
#define WM 2
#define KEYS 64
#endif

#define WI (WM * LANES)
#define QUERIES (WM * MI)
#define SPANS (D / 16)
#define CHUNKS (D / 8)
#define STEPS (8 / KW) /* instructions for a span */
#define QW (AW * STEPS)
#define STAGES (KIND == 1 ? 2 : 1)

/* A fragment of scores has QUERY_OF by KEY_OF; of out, a number in the key's
 * place. A lane has PER_LANE queries of each. */
#if KIND <= 2
#define WIDE NI
#define KEY_OF(e) C_COLUMN(lane, e)
#define QUERY_OF(e) C_ROW(lane, e)
#define PER_LANE 2
#define OWN(e) ((e) / 2 % 2)
#else
#define WIDE MI
#define KEY_OF(e) C_ROW(lane, e)
#define QUERY_OF(e) C_COLUMN(lane, e)
#define PER_LANE 1
#define OWN(e) 0
#endif
#define SCORE_KEY(e) ((e) / CW * WIDE + KEY_OF((e) % CW))
#define SCORES (KEYS / WIDE * CW) /* of a lane and a fragment of queries */
#define SUMS (D / WIDE * CW)

/* A score times FACTOR is an exponent of 2. */
#ifdef BIAS
#define FACTOR 1.0f
#else
#define FACTOR (scale * VT_LOG2E)
#endif

/* Chunk c of row r of n chunks in local memory. */
#define PLACE(r, c, n) ((r) * ((n) + 1) + (c))
#define K_CHUNKS (KEYS * (CHUNKS + 1))
#define V_CHUNKS (KIND > 2 ? D * (KEYS / 8 + 1) : K_CHUNKS)

/* ---- tiles of keys and values ---- */

#define NK (KEYS * CHUNKS / WI) /* chunks of a tensor for each work-item */
#define K_ROW(i) ((lid + (i)*WI) / CHUNKS)
#define K_CHUNK(i) ((lid + (i)*WI) % CHUNKS)
#define K_PLACE(i) PLACE(K_ROW(i), K_CHUNK(i), CHUNKS)
#define CHUNK_OF(off, row, c)                                                  \
    ((global const uint4 *)(kv + (size_t)min(row, T - 1) * ldk + (off)) + (c))
#if KIND > 2
/* Chunk V_CHUNK of two keys, neighbours in a row of v^T: word V_WORD. */
#define V_WORD(i) ((lid + (i)*WI) % 16 + (lid + (i)*WI) / (16 * CHUNKS) * 16)
#define V_CHUNK(i) ((lid + (i)*WI) / 16 % CHUNKS)
#if KIND == 3
#define KEY_AT(n) ((n) / 16 * 16 + (n) % 8 * 2 + (n) / 8 % 2)
#elif KIND == 4
#define KEY_AT(n) (n)
#else
#define KEY_AT(n) ((n) / 16 * 16 + (n) / 4 % 2 * 8 + (n) / 8 % 2 * 4 + (n) % 4)
#endif

static inline void put_pair(local uint4 *tv, int word, int chunk, uint4 a,
                            uint4 b)
{
    uint x[4], y[4];

    vstore4(a, 0, x);
    vstore4(b, 0, y);
    EACH(r, 8) {
        const int at = PLACE(chunk * 8 + r, word / 4, KEYS / 8) * 4 + word % 4;
        const uint low = r % 2 ? x[r / 2] >> 16 : x[r / 2] & 0xffffu;
        const uint high = r % 2 ? y[r / 2] & 0xffff0000u : y[r / 2] << 16;

        ((local uint *)tv)[at] = low | high;
    }
}

/* What a lane holds of a span, whose two chunks begin at p: that of its half of
 * the lanes, or both. */
#if KIND == 3
#define LOAD_SPAN(f, p)                                                        \
    do {                                                                       \
        vstore4((p)[0], 0, f);                                                 \
        vstore4((p)[1], 1, f);                                                 \
    } while (0)
#else
#define LOAD_SPAN(f, p) vstore4((p)[lane / MI], 0, f)
#endif
#endif

/* c += the product of a span: x of queries, y of keys or numbers. */
#if KIND <= 2
#define PRODUCT(c, x, y) MMA(c, x, y)
#else
#define PRODUCT(c, x, y)                                                       \
    EACH_FRAGMENT(step, STEPS)                                                 \
    MMA(c, ((y) + step * AW), ((x) + step * AW))
#endif

/* All lanes that have numbers of the same query get `combine` of them. */
#if KIND <= 2
#define ALL_LANES(v, combine)                                                  \
    do {                                                                       \
        v = combine(v, FROM_LANE(v, 1));                                       \
        v = combine(v, FROM_LANE(v, 2));                                       \
    } while (0)
#else
#define ALL_LANES(v, combine) v = combine(v, FROM_LANE(v, LANES / 2))
#endif

kernel __attribute__((reqd_work_group_size(WI, 1, 1))) void
attention_mma(global VT_TYPE(YT) *restrict out, VT_QKV)
{
    local uint4 tk[STAGES][K_CHUNKS], tv[STAGES][V_CHUNKS];
#ifdef EMULATE
    local uint x[WM * SCRATCH] __attribute__((aligned(16)));
#endif
    const int lid = get_local_id(0), lane = lid % LANES;
    const int i0 = get_group_id(0) * QUERIES + lid / LANES * MI;
    const int h = get_group_id(1), b = get_group_id(2);
    uint fq[SPANS][QW];
    float s[SCORES] __attribute__((aligned(64)));
    float o[SUMS] __attribute__((aligned(64)));
    float top[PER_LANE], all[PER_LANE];
#if KIND > 1
    uint4 rk[NK], rv[NK];
#endif

    q += VT_Q_AT(b) + h * D;
    kv += VT_KV_AT(b) + h * D;
#ifdef BIAS
    global const float *row[PER_LANE];
    EACH(n, PER_LANE)
        row[n] =
            bias +
            (VT_BIAS_OF(b, h) * Tq + min(i0 + QUERY_OF(2 * n), Tq - 1)) * T;
#define ADD_BIAS(j)                                                            \
    EACH_FRAGMENT(e, SCORES)                                                   \
    s[e] = fma(row[OWN(e)][j0 + (j)], VT_LOG2E, s[e] * (scale * VT_LOG2E))
#endif
/* where query r of the fragment begins */
#define Q_AT(r) ((size_t)min(i0 + (r), Tq - 1) * ldq)
#if KIND == 1
/* The tile from key j on into local memory by asynchronous copies. */
#define SEND(j)                                                                \
    do {                                                                       \
        EACH(i, NK) {                                                          \
            COPY16(&tk[(j) / KEYS % STAGES][K_PLACE(i)],                       \
                   CHUNK_OF(koff, (j) + K_ROW(i), K_CHUNK(i)));                \
            COPY16(&tv[(j) / KEYS % STAGES][K_PLACE(i)],                       \
                   CHUNK_OF(voff, (j) + K_ROW(i), K_CHUNK(i)));                \
        }                                                                      \
        COMMIT();                                                              \
    } while (0)
#elif KIND == 2
#define BRING(j)                                                               \
    EACH(i, NK) {                                                              \
        rk[i] = *CHUNK_OF(koff, (j) + K_ROW(i), K_CHUNK(i));                   \
        rv[i] = *CHUNK_OF(voff, (j) + K_ROW(i), K_CHUNK(i));                   \
    }
#define PUT()                                                                  \
    EACH(i, NK)                                                                \
    tk[0][K_PLACE(i)] = rk[i], tv[0][K_PLACE(i)] = rv[i]
#else
#define V_KEY(i, n) KEY_AT(2 * V_WORD(i) + (n))
#define BRING(j)                                                               \
    do {                                                                       \
        EACH(i, NK)                                                            \
            rk[i] = *CHUNK_OF(koff, (j) + K_ROW(i), K_CHUNK(i));               \
        EACH(i, NK / 2) {                                                      \
            rv[2 * i] = *CHUNK_OF(voff, (j) + V_KEY(i, 0), V_CHUNK(i));        \
            rv[2 * i + 1] = *CHUNK_OF(voff, (j) + V_KEY(i, 1), V_CHUNK(i));    \
        }                                                                      \
    } while (0)
#define PUT()                                                                  \
    do {                                                                       \
        EACH(i, NK)                                                            \
            tk[0][K_PLACE(i)] = rk[i];                                         \
        EACH(i, NK / 2)                                                        \
            put_pair(tv[0], V_WORD(i), V_CHUNK(i), rv[2 * i], rv[2 * i + 1]);  \
    } while (0)
#endif

#if KIND <= 2
    EACH(r, QW) {
        global const uint *row =
            (global const uint *)(q + Q_AT(A_ROW(lane, r)));
        EACH(n, SPANS)
            fq[n][r] = row[n * 8 + A_WORD(lane, r)];
    }
#else
    EACH(n, SPANS)
        LOAD_SPAN(fq[n], (global const uint4 *)(q + Q_AT(lane % MI)) + 2 * n);
#endif
    EACH(e, SUMS)
        o[e] = 0.0f;
    EACH(n, PER_LANE) {
        top[n] = -FLT_MAX; /* not -INFINITY: the bias may have that */
        all[n] = 0.0f;
    }
#if KIND == 1
    SEND(0);
#else
    BRING(0);
#endif
    for (int j0 = 0; j0 < T; j0 += KEYS) {
        const local uint4 *k = tk[j0 / KEYS % STAGES],
                          *v = tv[j0 / KEYS % STAGES];
        float base[PER_LANE], keep[PER_LANE];

#if KIND == 1
        WAIT(0);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (j0 + KEYS < T)
            SEND(j0 + KEYS);
#else
        if (j0 > 0)
            barrier(CLK_LOCAL_MEM_FENCE);
        PUT();
        barrier(CLK_LOCAL_MEM_FENCE);
        if (j0 + KEYS < T)
            BRING(j0 + KEYS);
#endif
        EACH(e, SCORES)
            s[e] = 0.0f;
        EACH_FRAGMENT(n, SPANS)
        {
#if KIND <= 2
            /* keys 0-7 with the span's chunks, then keys 8-15 */
            EACH_FRAGMENT(j, KEYS / 16)
            {
                uint f[4];
                LDMATRIX(f, k + PLACE(j * 16 + lane % 8 + lane / 16 * 8,
                                      n * 2 + lane / 8 % 2, CHUNKS));
                PRODUCT(s + 2 * j * CW, fq[n], f);
                PRODUCT(s + (2 * j + 1) * CW, fq[n], (f + 2));
            }
#else
            EACH_FRAGMENT(j, KEYS / MI)
            {
                uint f[QW];
                LOAD_SPAN(f, k + PLACE(j * MI + lane % MI, 2 * n, CHUNKS));
                PRODUCT(s + j * CW, fq[n], f);
            }
#endif
        }
#ifdef BIAS
        if (j0 + KEYS > T)
            ADD_BIAS(min(SCORE_KEY(e), T - 1 - j0));
        else
            ADD_BIAS(SCORE_KEY(e));
#endif
        if (j0 + KEYS > T)
            EACH(e, SCORES)
                s[e] = j0 + SCORE_KEY(e) < T ? s[e] : -INFINITY;
        EACH_FRAGMENT(n, PER_LANE)
        {
            float most = top[n];

            EACH(e, SCORES)
                most = OWN(e) == n ? fmax(most, s[e]) : most;
            ALL_LANES(most, fmax);
            keep[n] = EXP2((top[n] - most) * FACTOR);
            top[n] = most;
            base[n] = most * FACTOR;
            all[n] *= keep[n];
        }
        EACH_FRAGMENT(e, SCORES)
        {
            s[e] = EXP2(fma(s[e], FACTOR, -base[OWN(e)]));
            all[OWN(e)] += s[e];
        }
        EACH(e, SUMS)
            o[e] *= keep[OWN(e)];
        EACH_FRAGMENT(n, KEYS / 16)
        {
            uint fp[QW];

            /* where p is NaN, so is their sum */
            EACH(r, 4)
                fp[r] = pair_of_numbers(s[8 * n + 2 * r], s[8 * n + 2 * r + 1]);
#if KIND == 3
            /* first the lower lanes' keys */
            EACH_FRAGMENT(r, 4)
            {
                const uint own = fp[r],
                           other = as_uint(FROM_LANE(as_float(own), 16));
                fp[r] = lane < 16 ? own : other;
                fp[4 + r] = lane < 16 ? other : own;
            }
#endif
#if KIND <= 2
            /* numbers 0-7 with the span's keys, then numbers 8-15 */
            EACH_FRAGMENT(j, D / 16)
            {
                uint f[4];
                LDMATRIX_T(f, v + PLACE(n * 16 + lane % 16, j * 2 + lane / 16,
                                        CHUNKS));
                PRODUCT(o + 2 * j * CW, fp, f);
                PRODUCT(o + (2 * j + 1) * CW, fp, (f + 2));
            }
#else
            EACH_FRAGMENT(j, D / MI)
            {
                uint f[QW];
                LOAD_SPAN(f, v + PLACE(j * MI + lane % MI, 2 * n, KEYS / 8));
                PRODUCT(o + j * CW, fp, f);
            }
#endif
        }
    }
    EACH_FRAGMENT(n, PER_LANE)
    {
        ALL_LANES(all[n], VT_PLUS);
        all[n] = 1.0f / all[n];
    }
    EACH(n, PER_LANE) {
        const int row = i0 + QUERY_OF(2 * n);

        if (row < Tq)
            EACH(e, SUMS)
                if (OWN(e) == n)
                    VT_STORE(YT, out, VT_OUT_AT(b, row) + h * D + SCORE_KEY(e),
                             o[e] * all[n]);
    }
}
#endif
