/*
 * common_units_heads.cl - the tiles of attention on matrix units:
 * attention_mma.cl, attention_grad_mma.cl.
 *
 * Each of WM sub-groups has MI queries of one head, and the work-group goes
 * through its keys, KEYS at a time, in local memory. In the gradients of keys
 * and values it is the other way round: "queries" are then the group's own
 * keys.
 *
 * Scores    SCORES numbers of a lane: element e is of QUERY_OF(e % CW) and key
 *           SCORE_KEY(e); of a sum, SUMS numbers, it is of a number of the head
 *           in the key's place. A lane has PER_LANE queries, OWN(e) is which.
 *             NVIDIA  x = q k^T: two fragments C are one of A;
 *             AMD     x^T = k q^T, out^T = v^T p^T: C's columns are B's, and
 *                     keys stand in v^T in the order in which a lane has them
 *                     (KEY_AT); gfx11 needs those of lane ^ 16, too.
 *           ADD_SCORES(s, own, t)  s += own t^T: own is a fragment of all SPANS
 *                                  of 16 numbers, two chunks of 16 bytes; t has
 *                                  rows of keys.
 *           ADD_SUMS(o, s, t, to_pair)  o += s t, s rounded to 16 bits; t has
 *                                  rows of keys or, on AMD, is transposed
 *                                  (put_pair).
 * Softmax   RAISE_MAXIMUM(): bias and mask of the scores s of keys j0 on; their
 *           running maximum top, and base, which is top as an exponent of 2;
 *           all is multiplied by keep, what the new maximum leaves of the old.
 * Places    PLACE(r, c, n): chunk c of row r of n chunks. A row in local memory
 *           is a chunk longer, so that reads meet all banks.
 * Defines   those of the programs.
 */
#if defined(KIND) && defined(D) && KIND <= 6
#define WI (WM * LANES)
#define QUERIES (WM * MI)
#define SPANS (D / 16)
#define CHUNKS (D / 8)
#define STEPS (8 / KW) /* instructions for a span */
#define QW (AW * STEPS)

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

/* ---- tiles of keys ---- */

#define PLACE(r, c, n) ((r) * ((n) + 1) + (c))
#define ROWS_CHUNKS (KEYS * (CHUNKS + 1))
#define TURNED_CHUNKS (D * (KEYS / 8 + 1))

#define NK (KEYS * CHUNKS / WI) /* chunks of a tensor for each work-item */
#define K_ROW(i) ((lid + (i)*WI) / CHUNKS)
#define K_CHUNK(i) ((lid + (i)*WI) % CHUNKS)
#define K_PLACE(i) PLACE(K_ROW(i), K_CHUNK(i), CHUNKS)
#if KIND > 2
/* Chunk V_CHUNK of two keys, V_KEY(i, 0) and V_KEY(i, 1), neighbours in a
 * transposed row: word V_WORD. */
#define V_WORD(i) ((lid + (i)*WI) % 16 + (lid + (i)*WI) / (16 * CHUNKS) * 16)
#define V_CHUNK(i) ((lid + (i)*WI) / 16 % CHUNKS)
#define V_KEY(i, n) KEY_AT(2 * V_WORD(i) + (n))
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

/* ---- products ---- */

/* c += the product of a span: x of queries, y of keys or numbers. */
#if KIND <= 2
#define PRODUCT(c, x, y) MMA(c, x, y)
#else
#define PRODUCT(c, x, y)                                                       \
    EACH_FRAGMENT(step, STEPS)                                                 \
    MMA(c, ((y) + step * AW), ((x) + step * AW))
#endif

#if KIND <= 2
/* keys 0-7 with the span's chunks, then keys 8-15 */
#define ADD_SCORES(s, own, t)                                                  \
    EACH_FRAGMENT(n, SPANS)                                                    \
    {                                                                          \
        EACH_FRAGMENT(j, KEYS / 16)                                            \
        {                                                                      \
            uint f[4];                                                         \
            LDMATRIX(f, (t) + PLACE(j * 16 + lane % 8 + lane / 16 * 8,         \
                                    n * 2 + lane / 8 % 2, CHUNKS));            \
            PRODUCT((s) + 2 * j * CW, (own)[n], f);                            \
            PRODUCT((s) + (2 * j + 1) * CW, (own)[n], (f + 2));                \
        }                                                                      \
    }
#else
#define ADD_SCORES(s, own, t)                                                  \
    EACH_FRAGMENT(n, SPANS)                                                    \
    {                                                                          \
        EACH_FRAGMENT(j, KEYS / MI)                                            \
        {                                                                      \
            uint f[QW];                                                        \
            LOAD_SPAN(f, (t) + PLACE(j * MI + lane % MI, 2 * n, CHUNKS));      \
            PRODUCT((s) + j * CW, (own)[n], f);                                \
        }                                                                      \
    }
#endif

#if KIND == 3 /* first the lower lanes' keys */
#define BOTH_HALVES(f)                                                         \
    EACH_FRAGMENT(r, 4)                                                        \
    {                                                                          \
        const uint own = f[r], other = as_uint(FROM_LANE(as_float(own), 16));  \
        f[r] = lane < 16 ? own : other;                                        \
        f[4 + r] = lane < 16 ? other : own;                                    \
    }
#else
#define BOTH_HALVES(f)
#endif

#if KIND <= 2
/* numbers 0-7 with the span's keys, then numbers 8-15 */
#define ADD_SPAN(o, fs, n, t)                                                  \
    EACH_FRAGMENT(j, D / 16)                                                   \
    {                                                                          \
        uint f[4];                                                             \
        LDMATRIX_T(                                                            \
            f, (t) + PLACE(n * 16 + lane % 16, j * 2 + lane / 16, CHUNKS));    \
        PRODUCT((o) + 2 * j * CW, fs, f);                                      \
        PRODUCT((o) + (2 * j + 1) * CW, fs, (f + 2));                          \
    }
#else
#define ADD_SPAN(o, fs, n, t)                                                  \
    EACH_FRAGMENT(j, D / MI)                                                   \
    {                                                                          \
        uint f[QW];                                                            \
        LOAD_SPAN(f, (t) + PLACE(j * MI + lane % MI, 2 * n, KEYS / 8));        \
        PRODUCT((o) + j * CW, fs, f);                                          \
    }
#endif

#define ADD_SUMS(o, s, t, to_pair)                                             \
    EACH_FRAGMENT(n, KEYS / 16)                                                \
    {                                                                          \
        uint fs[QW];                                                           \
                                                                               \
        EACH(r, 4)                                                             \
            fs[r] = to_pair((s)[8 * n + 2 * r], (s)[8 * n + 2 * r + 1]);       \
        BOTH_HALVES(fs)                                                        \
        ADD_SPAN(o, fs, n, t)                                                  \
    }

/* ---- softmax ---- */

/* All lanes that have numbers of the same query get `combine` of them. */
#if KIND <= 2
#define FIRST_LANE (lane % 4 == 0)
#define ALL_LANES(v, combine)                                                  \
    do {                                                                       \
        v = combine(v, FROM_LANE(v, 1));                                       \
        v = combine(v, FROM_LANE(v, 2));                                       \
    } while (0)
#else
#define FIRST_LANE (lane < MI)
#define ALL_LANES(v, combine) v = combine(v, FROM_LANE(v, LANES / 2))
#endif

/* bias_row[PER_LANE]: where the bias of a lane's queries begins. */
#ifdef BIAS
#define ADD_BIAS_OF(key)                                                       \
    EACH_FRAGMENT(e, SCORES)                                                   \
    s[e] =                                                                     \
        fma(bias_row[OWN(e)][j0 + (key)], VT_LOG2E, s[e] * (scale * VT_LOG2E))
#define ADD_BIAS()                                                             \
    if (j0 + KEYS > T)                                                         \
        ADD_BIAS_OF(min(SCORE_KEY(e), T - 1 - j0));                            \
    else                                                                       \
        ADD_BIAS_OF(SCORE_KEY(e));
#else
#define ADD_BIAS()
#endif

#define RAISE_MAXIMUM()                                                        \
    ADD_BIAS()                                                                 \
    if (j0 + KEYS > T)                                                         \
        EACH(e, SCORES)                                                        \
            s[e] = j0 + SCORE_KEY(e) < T ? s[e] : -INFINITY;                   \
    EACH_FRAGMENT(n, PER_LANE)                                                 \
    {                                                                          \
        float most = top[n];                                                   \
                                                                               \
        EACH(e, SCORES)                                                        \
            most = OWN(e) == n ? fmax(most, s[e]) : most;                      \
        ALL_LANES(most, fmax);                                                 \
        keep[n] = EXP2((top[n] - most) * FACTOR);                              \
        top[n] = most;                                                         \
        base[n] = most * FACTOR;                                               \
        all[n] *= keep[n];                                                     \
    }
#endif
