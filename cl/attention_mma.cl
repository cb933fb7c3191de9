/*
 * attention_mma.cl - attention.cl's equation on the matrix units of GPUs, for
 * queries, keys and values stored in f16 or bf16, or, in a training, in f32.
 *
 * attention_mma  out[B,Tq,H*D] <- q, kv, bias        sizes as in attention.cl
 *
 * How       Each of WM sub-groups has FQ fragments of queries of one head in
 *           registers. The work-group goes through the keys and values, KEYS at
 *           a time, in local memory. Scores, the running maximum and the sums
 *           of out are in registers, too, and so are the probabilities p, in 16
 *           bits, the factor of the second product: a lane needs those that it
 *           has computed (common_units_heads.cl).
 * Launch    global {groups * WI}, local {WI}; groups: ceil(Tq/QUERIES) * H * B.
 *           One dimension: CUDA's others end at 65535.
 * Local     NVIDIA: 16 * KEYS * (D/8 + 1) bytes for k, as much for v; copied,
 *           twice that. AMD: for v^T 16 * D * (KEYS/8 + 1). Intel: 2 * D *
 *           (KEYS + 1) for k, 2 * KEYS * (D + 1) for v^T, with KEPT 2 * D *
 *           QUERIES more. D is that of whole spans or fragments.
 * Defines   KIND TYPE EMULATE (common_units.cl); KEPT (common_units_rows.cl);
 *           D, a multiple of 8; BIAS LINES QT KVT YT as in attention.cl; WM,
 *           FQ; KEYS, a multiple of 16 or, on AMD, of 32. q and kv are of TYPE
 *           or both f32, and rows of theirs begin at multiples of 16 bytes.
 *           WIDE_Y: so do those of out, which is of TYPE.
 * Numerics  q and kv of f32 are rounded to TYPE. Sums are f32, in an order that
 *           depends on D, T, KEYS and KIND alone. p is rounded to 16 bits, but
 *           not in the sum by which out is divided. With q and kv of f32 it is
 *           the sum of two numbers of 16 bits, because the gradients compare
 *           out with what they compute of p. Keys past the end are the last
 *           one, with p = 0.
 * Bound     By local memory heads of 64 can reach 0.8 of the peak on sm_80 and
 *           0.4 on sm_90 with FQ 1, 1.0 and 0.79 with FQ 2, and on dg2, where
 *           FQ 2 spills, 0.47. By powers of 2 heads of 32 can reach 0.47, and
 *           by the instructions that it issues gfx942 0.6.
 *
 * Paper     Dao 2023, arXiv:2307.08691 (sub-groups share keys, not queries).
 * Host      host/ops/attention_mma.c  Test  tests/ops/test_attention_mma.c
 */
#ifdef KIND /* without it there is no unit in front */

/* Are tiles copied, and not brought through registers? */
#define COPIES (KIND == MMA16 && !FULL_ROWS)
#define STAGES (COPIES ? 2 : 1)
#define V_CHUNKS (NVIDIA_MMA ? ROWS_CHUNKS : TURNED_CHUNKS)
/* Is the next tile read while this one is computed? */
#if defined(KEPT) || FULL_ROWS && (KIND == WMMA11 || INTEL_DPAS)
#define AHEAD 0
#else
#define AHEAD 1
#endif

/* The tile from key j on into local memory, by asynchronous copies; or to
 * registers (BRING_TILE), and from there (PUT_TILE). */
#define SEND(t, off, j)                                                        \
    EACH(i, NK) {                                                              \
        if (K_HAS(i))                                                          \
            COPY16(&t[(j) / KEYS % STAGES][K_PLACE(i)],                        \
                   (global const uint4 *)ROW_OF(kv + (off), ldk,               \
                                                (j) + K_ROW(i), T) +           \
                       K_CHUNK(i));                                            \
    }
#define SEND_TILE(j)                                                           \
    do {                                                                       \
        SEND(tk, koff, j);                                                     \
        SEND(tv, voff, j);                                                     \
        COMMIT();                                                              \
    } while (0)
#if NVIDIA_MMA
#define VALUES NK
#define BRING_VALUES BRING
#define PUT_VALUES(t, from) PUT(t, from)
#else
#define VALUES (2 * NV)
#define BRING_VALUES BRING_PAIRS
#define PUT_VALUES(t, from)                                                    \
    EACH(i, NV) {                                                              \
        if (V_HAS(i))                                                          \
            put_pair(t, V_WORD(i), V_CHUNK(i), HALVES(from[2 * i]),            \
                     HALVES(from[2 * i + 1]));                                 \
    }
#endif
#define BRING_TILE(j)                                                          \
    do {                                                                       \
        BRING(rk, kv + koff, ldk, j, T);                                       \
        BRING_VALUES(rv, kv + voff, ldk, j, T);                                \
    } while (0)
#define PUT_TILE()                                                             \
    do {                                                                       \
        PUT(tk[0], rk);                                                        \
        PUT_VALUES(tv[0], rv);                                                 \
    } while (0)

/* exp(score - maximum). With FULL_ROWS that of the maximum is 1, so that the
 * output of one key is its value. */
#if FULL_ROWS
#define POWER(x, m, n) EXP2(((x)-top[m][n]) * FACTOR)
#else
#define POWER(x, m, n) EXP2(fma(x, FACTOR, -base[n]))
#endif

/* What a tile gives to the sums; where p is NaN, so is the sum of all p. */
#if FULL_ROWS
#define ADD_VALUES ADD_SPLIT_SUMS(o, s, v)
#else
#define ADD_VALUES ADD_SUMS_OF_NUMBERS(o, s, v)
#endif

/* Of row n of fragment m. Four lanes have two neighbours each of every eight
 * numbers: they exchange those of four times eight, and store 16 bytes each. */
#if NVIDIA_MMA && defined(WIDE_Y)
#define FOURS (SUMS / (4 * CW))
#define STORE_FOURS(m, n, row)                                                 \
    EACH_FRAGMENT(j, FOURS)                                                    \
    {                                                                          \
        float w[4];                                                            \
                                                                               \
        EACH(r, 4) {                                                           \
            const int e = (j * 4 + r) * CW + 2 * (n);                          \
                                                                               \
            w[r] =                                                             \
                as_float(pair(o[m][e] * all[m][n], o[m][e + 1] * all[m][n]));  \
        }                                                                      \
        TURN4(w);                                                              \
        if ((row) < Tq)                                                        \
            *(global uint4 *)(out + VT_OUT_AT(b, row) + h * D +                \
                              (j * 4 + lane % 4) * NI) =                       \
                (uint4)(as_uint(w[0]), as_uint(w[1]), as_uint(w[2]),           \
                        as_uint(w[3]));                                        \
    }
#else
#define FOURS 0
#define STORE_FOURS(m, n, row)
#endif

kernel __attribute__((reqd_work_group_size(WI, 1, 1))) SUBGROUP void
attention_mma(global VT_TYPE(YT) *restrict out, VT_QKV)
{
    local uint4 tk[STAGES][ROWS_CHUNKS], tv[STAGES][V_CHUNKS];
    SCRATCHES
    OWN_ROWS(i0, Tq);
    HOLD(fq);
    float s[FQ][SCORES] __attribute__((aligned(64)));
    float o[FQ][SUMS] __attribute__((aligned(64)));
    float top[FQ][PER_LANE], all[FQ][PER_LANE];
#if !COPIES
    chunk rk[NK], rv[VALUES];
#endif

    q += VT_Q_AT(b) + h * D;
    kv += VT_KV_AT(b) + h * D;
    BIAS_ROWS
    EACH(m, FQ) {
        LOAD_OWN(fq, m, q, ldq, i0 + m * QI, Tq);
        EACH(e, SUMS)
            o[m][e] = 0.0f;
        EACH(n, PER_LANE) {
            top[m][n] = -FLT_MAX; /* not -INFINITY: the bias may have that */
            all[m][n] = 0.0f;
        }
    }
    EACH(i, STAGES)
        ZERO_REST(tk[i]);
#if COPIES
    SEND_TILE(0);
#else
    if (AHEAD)
        BRING_TILE(0);
#endif
    for (int j0 = 0; j0 < T; j0 += KEYS) {
        const local uint4 *k = tk[j0 / KEYS % STAGES],
                          *v = tv[j0 / KEYS % STAGES];

#if COPIES
        WAIT(0);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (j0 + KEYS < T)
            SEND_TILE(j0 + KEYS);
#else
        if (j0 > 0)
            barrier(CLK_LOCAL_MEM_FENCE);
        if (!AHEAD)
            BRING_TILE(j0);
        PUT_TILE();
        barrier(CLK_LOCAL_MEM_FENCE);
        if (AHEAD && j0 + KEYS < T)
            BRING_TILE(j0 + KEYS);
#endif
        EACH(m, FQ)
            EACH(e, SCORES)
                s[m][e] = 0.0f;
        ADD_SCORES(s, fq, k)
        EACH_FRAGMENT(m, FQ)
        {
            float base[PER_LANE], keep[PER_LANE];

            RAISE_MAXIMUM(m, s[m], top[m], base, all[m], keep)
            EACH_FRAGMENT(e, SCORES)
            {
                s[m][e] = POWER(s[m][e], m, OWN(e));
                all[m][OWN(e)] += s[m][e];
            }
            EACH(e, SUMS)
                o[m][e] *= keep[OWN(e)];
        }
        ADD_VALUES
    }
    EACH_FRAGMENT(m, FQ)
    {
        EACH_FRAGMENT(n, PER_LANE)
        {
            const int row = i0 + m * QI + OWN_QUERY(n);

            ALL_LANES(all[m][n], VT_PLUS);
            all[m][n] = 1.0f / all[m][n];
            STORE_FOURS(m, n, row)
            if (row < Tq)
                EACH(e, SUMS)
                    if (e >= FOURS * 4 * CW && OWN(e) == n && IN_HEAD(e))
                        VT_STORE(YT, out,
                                 VT_OUT_AT(b, row) + h * D + SCORE_KEY(e),
                                 o[m][e] * all[m][n]);
        }
    }
}
#endif
