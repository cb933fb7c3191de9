/*
 * attention_grad_mma.cl - attention_grad.cl's dq, dk and dv on the matrix units
 * of GPUs, for trainings in bf16.
 *
 * attention_grad_mma__q   dq, stat <- dout, out, q, kv, bias
 * attention_grad_mma__kv  dk, dv   <- dout, stat, q, kv, bias
 *
 * How       As in attention_mma.cl: each of WM sub-groups has a fragment of
 *           queries (q) or keys (kv) in registers, and of dout or values. The
 *           work-group goes through the others, KEYS at a time, whose two
 *           tensors it rounds to bf16 on their way to local memory. With own
 *           rows a, b and others c, d, as the scores of common_units_heads.cl:
 *             x = a c^T    dp = b d^T    dx = p * (dp - delta)
 *             dq or dk += dx c;  in kv also dv += p d
 *           The sum of exp(x) is not known in q until its end, so dq is scaled
 *           by a running maximum. delta = sum p dp = dout . out.
 * Launch    global {groups * WI}, local {WI}; groups: ceil(Tq/QUERIES) * H * B
 *           in q, ceil(T/QUERIES) * H * B in kv, there on Intel by 2 for dk and
 *           dv. One long dimension: CUDA's others end at 65535.
 * Local     Tiles as in attention_mma.cl: two in rows, but on NVIDIA another in
 *           rows of numbers in q, and two in kv; 4 * WI in q, 8 * KEYS in kv;
 *           with KEPT 4 * D * QUERIES.
 * Defines   KIND TYPE EMULATE (common_units.cl; TYPE BF16); KEPT
 *           (common_units_rows.cl); D, a multiple of 8; BIAS LINES as in
 *           attention_grad.cl; WM; FQ: 1; KEYS, a multiple of 16 or, on AMD, of
 *           32. Tensors are f32 and begin at multiples of 16 bytes.
 * Numerics  The factors of the five products are rounded to bf16, whose range
 *           is that of f32, so that small gradients are not lost. The rest is
 *           f32, and so are the sums, whose order depends on D, T, Tq, KEYS and
 *           KIND alone. Others past the end are the last one, with p = 0.
 * Bound     By local memory heads of 64 can reach 0.86 of the peak on sm_80,
 *           0.43 on sm_90 and 0.36 on dg2 in q; 0.89, 0.44 and 0.29 in kv. Two
 *           fragments do not fit into the registers.
 *
 * Paper     Dao 2023, arXiv:2307.08691.
 * Host      host/ops/attention_grad.c
 * Test      tests/ops/test_attention_grad_mma.c
 */
#ifdef KIND /* without it there is no unit in front */

/* Is the next tile read while this one is computed? gfx11 has its own rows in
 * both halves of the lanes, and no registers left; Intel has none, either. */
#define AHEAD (KIND != WMMA11 && !INTEL_DPAS)
/* Work-items that share the chunks of a query. */
#define SHARE (WI / QUERIES)

/* Two tensors' tiles from row j on. TURNED: a tensor by whose rows sums go,
 * too. */
#if NVIDIA_MMA
#define PARTS NK
#define BRING_ROWS BRING
#define TURNED(t) /* ldmatrix transposes */
#define PUT_TURNED(t, from) PUT(t, from)
#define BY_KEYS(t) t
#define PUT_ROWS(t, from) PUT(t, from)
#else
#define PARTS (2 * NV)
#define BRING_ROWS BRING_PAIRS
#define TURNED(t) local uint4 t##_turned[TURNED_CHUNKS];
#define PUT_ROWS(t, from)                                                      \
    EACH(i, PARTS) {                                                           \
        if (V_HAS(i / 2))                                                      \
            t[ROW_PLACE(V_KEY(i / 2, i % 2), V_CHUNK(i / 2))] =                \
                HALVES(from[i]);                                               \
    }
#define PUT_TURNED(t, from)                                                    \
    EACH(i, NV) {                                                              \
        const uint4 u = HALVES(from[2 * i]), w = HALVES(from[2 * i + 1]);      \
        if (V_HAS(i)) {                                                        \
            t[ROW_PLACE(V_KEY(i, 0), V_CHUNK(i))] = u;                         \
            t[ROW_PLACE(V_KEY(i, 1), V_CHUNK(i))] = w;                         \
            put_pair(t##_turned, V_WORD(i), V_CHUNK(i), u, w);                 \
        }                                                                      \
    }
#define BY_KEYS(t) t##_turned
#endif

kernel __attribute__((reqd_work_group_size(WI, 1, 1))) SUBGROUP void
attention_grad_mma__q(global float *dq, global float *restrict stat,
                      global const float *dout, global const float *out, VT_QKV)
{
    local uint4 tk[ROWS_CHUNKS], tv[ROWS_CHUNKS];
    TURNED(tk)
    local float part[WI];
    SCRATCHES
    OWN_ROWS(i0, Tq);
    HOLD(fq);
    HOLD(fg);
    float s[SCORES] __attribute__((aligned(64)));
    float g[SCORES] __attribute__((aligned(64)));
    float o[SUMS] __attribute__((aligned(64)));
    float top[PER_LANE], all[PER_LANE], delta[PER_LANE];
    chunk rk[PARTS], rv[PARTS];

    q += VT_Q_AT(b) + h * D;
    dq += VT_Q_AT(b) + h * D;
    dout += VT_OUT_AT(b, 0) + h * D;
    out += VT_OUT_AT(b, 0) + h * D;
    kv += VT_KV_AT(b) + h * D;
    stat += ((size_t)b * H + h) * Tq * 2;
    BIAS_ROWS
    {
        /* two work-items have every other chunk of a query each; Intel: one */
        const size_t at = (size_t)min(first + lid / SHARE, Tq - 1) * VT_LDO;
        float y = 0.0f;

        for (int c = lid % SHARE; c < CHUNKS; c += SHARE) {
            const float8 p = chunk_read(dout + at, c) * chunk_read(out + at, c);
            y += (p.s0 + p.s1 + (p.s2 + p.s3)) + (p.s4 + p.s5 + (p.s6 + p.s7));
        }
        part[lid] = y;
    }
    ZERO_REST(tk);
    ZERO_REST(tv);
    LOAD_OWN(fq, 0, q, ldq, i0, Tq);
    LOAD_OWN(fg, 0, dout, VT_LDO, i0, Tq);
    if (AHEAD) {
        BRING_ROWS(rk, kv + koff, ldk, 0, T);
        BRING_ROWS(rv, kv + voff, ldk, 0, T);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    EACH(n, PER_LANE) {
        const int at = SHARE * (i0 - first + OWN_QUERY(n));

        top[n] = -FLT_MAX; /* not -INFINITY: the bias may have that */
        all[n] = 0.0f;
        delta[n] = part[at] + (SHARE > 1 ? part[at + SHARE - 1] : 0.0f);
    }
    EACH(e, SUMS)
        o[e] = 0.0f;
    for (int j0 = 0; j0 < T; j0 += KEYS) {
        float base[PER_LANE], keep[PER_LANE];

        if (j0 > 0)
            barrier(CLK_LOCAL_MEM_FENCE);
        if (!AHEAD) {
            BRING_ROWS(rk, kv + koff, ldk, j0, T);
            BRING_ROWS(rv, kv + voff, ldk, j0, T);
        }
        PUT_TURNED(tk, rk);
        PUT_ROWS(tv, rv);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (AHEAD && j0 + KEYS < T) {
            BRING_ROWS(rk, kv + koff, ldk, j0 + KEYS, T);
            BRING_ROWS(rv, kv + voff, ldk, j0 + KEYS, T);
        }
        EACH(e, SCORES)
            s[e] = g[e] = 0.0f;
        ADD_SCORES(&s, fq, tk)
        ADD_SCORES(&g, fg, tv)
        RAISE_MAXIMUM(0, s, top, base, all, keep)
        EACH_FRAGMENT(e, SCORES)
        {
            s[e] = EXP2(fma(s[e], FACTOR, -base[OWN(e)]));
            all[OWN(e)] += s[e];
            s[e] *= g[e] - delta[OWN(e)];
        }
        EACH(e, SUMS)
            o[e] *= keep[OWN(e)];
        ADD_SUMS(&o, &s, BY_KEYS(tk))
    }
    EACH_FRAGMENT(n, PER_LANE)
    ALL_LANES(all[n], VT_PLUS);
    EACH(n, PER_LANE) {
        const int i = i0 + OWN_QUERY(n);

        if (i < Tq && FIRST_LANE) {
            stat[2 * i] = fma(top[n], FACTOR * 0.693147181f, log(all[n]));
            stat[2 * i + 1] = delta[n];
        }
        if (i < Tq)
            EACH(e, SUMS)
                if (OWN(e) == n && IN_HEAD(e))
                    dq[(size_t)i * ldq + SCORE_KEY(e)] =
                        o[e] * (scale / all[n]);
    }
}

/* In kv, Intel has registers for the sums of one of both: in dimension 1, group
 * 0 computes dk, and group 1 dv, in dk's place. */
#if !INTEL_DPAS
#define OF_KEYS true
#define OF_VALUES true
#define BOTH_TURNED                                                            \
    TURNED(tq)                                                                 \
    TURNED(tg)
#define SUMS_OF_DV float dv[SUMS] __attribute__((aligned(64)));
#define DV(e) dv[e]
/* s <- p, g <- dx = p times the difference */
#define TO_FACTORS(e, p, difference)                                           \
    s[e] = p;                                                                  \
    g[e] = s[e] * (difference)
#define ADD_BOTH_SUMS                                                          \
    ADD_SUMS(&dv, &s, BY_KEYS(tg))                                             \
    ADD_SUMS(&dk, &g, BY_KEYS(tq))
#else
#define OF_KEYS (vt_group(1) == 0)
#define OF_VALUES (!OF_KEYS)
#define BOTH_TURNED local uint4 turned[2][TURNED_CHUNKS];
#define tq_turned turned[0]
#define tg_turned turned[1]
#define SUMS_OF_DV
#define DV(e) dk[e]
/* s <- p or dx. Of s and g, when both have theirs, one compiler would choose
 * in memory. */
#define TO_FACTORS(e, p, difference)                                           \
    const float p_ = p, dx_ = p_ * (difference);                               \
    s[e] = OF_KEYS ? dx_ : p_
#define ADD_BOTH_SUMS ADD_SUMS(&dk, &s, turned[vt_group(1)])
#endif

kernel __attribute__((reqd_work_group_size(WI, 1, 1))) SUBGROUP void
attention_grad_mma__kv(global float *dkv, global const float *dout,
                       global const float *restrict stat, VT_QKV)
{
    local uint4 tq[ROWS_CHUNKS], tg[ROWS_CHUNKS];
    BOTH_TURNED
    local float sums[KEYS], deltas[KEYS];
    SCRATCHES
    OWN_ROWS(j0, T);
    HOLD(fk);
    HOLD(fv);
    float s[SCORES] __attribute__((aligned(64)));
    float g[SCORES] __attribute__((aligned(64)));
    float dk[SUMS] __attribute__((aligned(64)));
    SUMS_OF_DV
    chunk rq[PARTS], rg[PARTS];

    q += VT_Q_AT(b) + h * D;
    dout += VT_OUT_AT(b, 0) + h * D;
    kv += VT_KV_AT(b) + h * D;
    dkv += VT_KV_AT(b) + h * D;
    stat += ((size_t)b * H + h) * Tq * 2;
#ifdef BIAS
    bias += VT_BIAS_OF(b, h) * Tq * T;
#endif
    ZERO_REST(tq);
    ZERO_REST(tg);
    LOAD_OWN(fk, 0, kv + koff, ldk, j0, T);
    LOAD_OWN(fv, 0, kv + voff, ldk, j0, T);
    if (AHEAD) {
        BRING_ROWS(rq, q, ldq, 0, Tq);
        BRING_ROWS(rg, dout, VT_LDO, 0, Tq);
    }
    EACH(e, SUMS)
        dk[e] = DV(e) = 0.0f;
    for (int i0 = 0; i0 < Tq; i0 += KEYS) {
        if (i0 > 0)
            barrier(CLK_LOCAL_MEM_FENCE);
        if (!AHEAD) {
            BRING_ROWS(rq, q, ldq, i0, Tq);
            BRING_ROWS(rg, dout, VT_LDO, i0, Tq);
        }
        PUT_TURNED(tq, rq);
        PUT_TURNED(tg, rg);
        EACH(n, EACH_HAS(KEYS)) {
            const int at = lid + n * WI, i = min(i0 + at, Tq - 1);

            if (HAS(n, KEYS)) {
                sums[at] = i0 + at < Tq ? stat[2 * i] * VT_LOG2E : INFINITY;
                deltas[at] = stat[2 * i + 1];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (AHEAD && i0 + KEYS < Tq) {
            BRING_ROWS(rq, q, ldq, i0 + KEYS, Tq);
            BRING_ROWS(rg, dout, VT_LDO, i0 + KEYS, Tq);
        }
        EACH(e, SCORES)
            s[e] = g[e] = 0.0f;
        ADD_SCORES(&s, fk, tq)
        if (OF_KEYS)
            ADD_SCORES(&g, fv, tg)
#ifdef BIAS
        EACH_FRAGMENT(e, SCORES)
        s[e] = fma(bias[(size_t)min(i0 + SCORE_KEY(e), Tq - 1) * T +
                        min(j0 + OWN_QUERY(OWN(e)), T - 1)],
                   VT_LOG2E, s[e] * (scale * VT_LOG2E));
#endif
        EACH_FRAGMENT(e, SCORES)
        {
            const float y = fma(s[e], FACTOR, -sums[SCORE_KEY(e)]);

            /* rounding may leave more than 0 */
            TO_FACTORS(e, EXP2(y > 0.0f ? 0.0f : y),
                       g[e] - deltas[SCORE_KEY(e)]);
        }
        ADD_BOTH_SUMS
    }
    EACH(n, PER_LANE) {
        const int j = j0 + OWN_QUERY(n);
        global float *to = dkv + (size_t)j * ldk;

        if (j < T)
            EACH(e, SUMS)
                if (OWN(e) == n && IN_HEAD(e)) {
                    if (OF_KEYS)
                        to[koff + SCORE_KEY(e)] = dk[e] * scale;
                    if (OF_VALUES)
                        to[voff + SCORE_KEY(e)] = DV(e);
                }
    }
}
#endif
