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
 *           has computed (common_units_heads.cl).
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
 * Paper     Dao 2023, arXiv:2307.08691 (sub-groups share keys, not queries).
 * Host      host/ops/attention_mma.c  Test  tests/ops/test_attention_mma.c
 */
#ifdef KIND /* without it there is no unit in front */

#define STAGES (KIND == 1 ? 2 : 1)
#define V_CHUNKS (KIND > 2 ? TURNED_CHUNKS : ROWS_CHUNKS)
#define CHUNK_OF(off, row, c)                                                  \
    ((global const uint4 *)(kv + (size_t)min(row, T - 1) * ldk + (off)) + (c))

kernel __attribute__((reqd_work_group_size(WI, 1, 1))) void
attention_mma(global VT_TYPE(YT) *restrict out, VT_QKV)
{
    local uint4 tk[STAGES][ROWS_CHUNKS], tv[STAGES][V_CHUNKS];
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
    global const float *bias_row[PER_LANE];
    EACH(n, PER_LANE)
        bias_row[n] =
            bias +
            (VT_BIAS_OF(b, h) * Tq + min(i0 + QUERY_OF(2 * n), Tq - 1)) * T;
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
        ADD_SCORES(s, fq, k)
        RAISE_MAXIMUM()
        EACH_FRAGMENT(e, SCORES)
        {
            s[e] = EXP2(fma(s[e], FACTOR, -base[OWN(e)]));
            all[OWN(e)] += s[e];
        }
        EACH(e, SUMS)
            o[e] *= keep[OWN(e)];
        /* where p is NaN, so is their sum */
        ADD_SUMS(o, s, v, pair_of_numbers)
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
