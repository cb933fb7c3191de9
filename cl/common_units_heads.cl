/*
 * common_units_heads.cl - products and softmax of attention on matrix units:
 * attention_mma.cl, attention_grad_mma.cl. common_units_rows.cl has what they
 * read.
 *
 * Each of WM sub-groups has FQ fragments of QI queries of one head, and the
 * work-group goes through its keys, KEYS at a time, in local memory. In the
 * gradients of keys and values it is the other way round: "queries" are then
 * the group's own keys.
 *
 * Scores    SCORES numbers of a lane and a fragment: element e is of
 *           query OWN(e) of the PER_LANE that a lane has of a fragment,
 *           OWN_QUERY(OWN(e)), and of key SCORE_KEY(e); of a sum, SUMS numbers,
 *           it is of a number of the head in the key's place, if IN_HEAD(e).
 *             NVIDIA  x = q k^T: two fragments C are one of A;
 *             others  x^T = k q^T, out^T = v^T p^T: C's columns are B's, and
 *                     keys stand in v^T in the order in which a lane has them
 *                     (KEY_AT); gfx11 needs those of lane ^ 16, too. On Intel
 *                     a lane has all keys of its query.
 *           Of all fragments, s[FQ][SCORES] and o[FQ][SUMS]:
 *           ADD_SCORES(s, own, t)  s += own t^T; t has rows of keys.
 *           ADD_SUMS(o, s, t)      o += s t, s rounded to 16 bits; t has
 *                                  rows of keys or, but on NVIDIA, is
 *                                  transposed. ADD_SUMS_OF_NUMBERS: no s is
 *                                  NaN. ADD_SPLIT_SUMS: the same in bf16, but s
 *                                  to 16 bits of its fraction.
 * Softmax   RAISE_MAXIMUM(..): of fragment m, bias and mask of the scores s of
 *           keys j0 on; their running maximum top, and base, which is top as an
 *           exponent of 2; all is multiplied by keep, what the new maximum
 *           leaves of the old.
 * Defines   those of the programs.
 */
#if defined(KIND) && defined(D) && defined(KEYS)
#if NVIDIA_MMA
#define QI MI
#else
#define QI NI
#endif
#define WI (WM * LANES)
#define QUERIES (WM * FQ * QI)
#define CHUNKS (D / 8)
#define SPANS ((D + 15) / 16)
#define STEPS (8 / KW) /* instructions for a span */
#define QW (AW * STEPS)

#if NVIDIA_MMA
#define WIDE NI
#define KEY_OF(e) C_COLUMN(lane, e)
#define OWN_QUERY(n) C_ROW(lane, 2 * (n))
#define PER_LANE 2
#define OWN(e) ((e) / 2 % 2)
#else
#define WIDE MI
#define KEY_OF(e) C_ROW(lane, e)
#define OWN_QUERY(n) C_COLUMN(lane, 0)
#define PER_LANE 1
#define OWN(e) 0
#endif
#define SCORE_KEY(e) ((e) / CW * WIDE + KEY_OF((e) % CW))
#define SCORES (KEYS / WIDE * CW) /* of a lane and a fragment of queries */
#define NUMBERS ((D + WIDE - 1) / WIDE * WIDE)
#define SUMS (NUMBERS / WIDE * CW)
#define IN_HEAD(e) (NUMBERS == D || SCORE_KEY(e) < D)

/* A score times FACTOR is an exponent of 2. */
#ifdef BIAS
#define FACTOR 1.0f
#else
#define FACTOR (scale * VT_LOG2E)
#endif

/* ---- products ---- */

/* c += the product of a span: x of queries, y of keys or numbers. */
#if NVIDIA_MMA
#define PRODUCT(c, x, y) MMA(c, x, y)
#else
#define PRODUCT(c, x, y)                                                       \
    EACH_FRAGMENT(step, STEPS)                                                 \
    MMA(c, ((y) + step * AW), ((x) + step * AW))
#endif

#if NVIDIA_MMA
/* keys 0-7 with the span's chunks, then keys 8-15 */
#define ADD_SCORES(s, own, t)                                                  \
    EACH_FRAGMENT(n, SPANS)                                                    \
    {                                                                          \
        EACH_FRAGMENT(j, KEYS / 16)                                            \
        {                                                                      \
            uint f[4];                                                         \
            LDMATRIX(f, (t) + ROW_PLACE(j * 16 + lane % 8 + lane / 16 * 8,     \
                                        n * 2 + lane / 8 % 2));                \
            EACH_FRAGMENT(m, FQ)                                               \
            {                                                                  \
                PRODUCT((s)[m] + 2 * j * CW, (own)[m][n], f);                  \
                PRODUCT((s)[m] + (2 * j + 1) * CW, (own)[m][n], (f + 2));      \
            }                                                                  \
        }                                                                      \
    }
#else
#define ADD_SCORES(s, own, t)                                                  \
    EACH_FRAGMENT(n, SPANS)                                                    \
    {                                                                          \
        BRING_KEPT(own, n)                                                     \
        EACH_FRAGMENT(j, KEYS / MI)                                            \
        {                                                                      \
            uint f[QW];                                                        \
            LOAD_SPAN(f, (t) + ROW_PLACE(j * MI + LINE, 2 * n));               \
            EACH_FRAGMENT(m, FQ)                                               \
            PRODUCT((s)[m] + j * CW, SPAN_OF(own, m, n), f);                   \
        }                                                                      \
    }
#endif

#if KIND == WMMA11 /* first the lower lanes' keys */
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

/* o += a span of s, whose factors are sums of `parts` numbers of 16 bits. */
#if NVIDIA_MMA
/* numbers 0-7 with the span's keys, then numbers 8-15 */
#define ADD_SPAN(o, fs, n, t, parts)                                           \
    EACH_FRAGMENT(j, SPANS)                                                    \
    {                                                                          \
        uint f[4];                                                             \
        LDMATRIX_T(f, (t) + ROW_PLACE(n * 16 + lane % 16, j * 2 + lane / 16)); \
        EACH_FRAGMENT(m, FQ *parts)                                            \
        {                                                                      \
            PRODUCT((o)[m / parts] + 2 * j * CW, fs[m], f);                    \
            if (2 * j + 1 < NUMBERS / WIDE)                                    \
                PRODUCT((o)[m / parts] + (2 * j + 1) * CW, fs[m], (f + 2));    \
        }                                                                      \
    }
#else
#define ADD_SPAN(o, fs, n, t, parts)                                           \
    EACH_FRAGMENT(j, NUMBERS / MI)                                             \
    {                                                                          \
        uint f[QW];                                                            \
        LOAD_SPAN(f, (t) + TURNED_PLACE(j * MI + LINE, 2 * n));                \
        EACH_FRAGMENT(m, FQ *parts)                                            \
        PRODUCT((o)[m / parts] + j * CW, fs[m], f);                            \
    }
#endif

/* Words of a span that a lane has computed. */
#define PAIRS (SCORES / (KEYS / 16) / 2)
#define ADD_PARTS(o, s, t, parts, to_word)                                     \
    EACH_FRAGMENT(n, KEYS / 16)                                                \
    {                                                                          \
        uint fs[FQ * parts][QW];                                               \
                                                                               \
        EACH_FRAGMENT(m, FQ *parts)                                            \
        {                                                                      \
            EACH(r, PAIRS)                                                     \
                fs[m][r] =                                                     \
                    to_word(m % parts, (s)[m / parts][2 * (PAIRS * n + r)],    \
                            (s)[m / parts][2 * (PAIRS * n + r) + 1]);          \
            BOTH_HALVES(fs[m])                                                 \
        }                                                                      \
        ADD_SPAN(o, fs, n, t, parts)                                           \
    }
#define WHOLE_WORD(part, a, b) pair(a, b)
#define WHOLE_NUMBERS(part, a, b) pair_of_numbers(a, b)
#define ADD_SUMS(o, s, t) ADD_PARTS(o, s, t, 1, WHOLE_WORD)
#define ADD_SUMS_OF_NUMBERS(o, s, t) ADD_PARTS(o, s, t, 1, WHOLE_NUMBERS)
/* bf16: the upper half of a number, and what is left of it */
#define LEFT(a) ((a)-as_float(as_uint(a) & 0xffff0000u))
#define SPLIT_WORD(part, a, b)                                                 \
    ((part) ? pair_of_numbers(LEFT(a), LEFT(b))                                \
            : UPPER_HALVES(as_uint(a), as_uint(b)))
#define ADD_SPLIT_SUMS(o, s, t) ADD_PARTS(o, s, t, 2, SPLIT_WORD)

/* ---- softmax ---- */

/* All lanes that have numbers of the same query get `combine` of them. */
#if NVIDIA_MMA
#define FIRST_LANE (lane % 4 == 0)
#define ALL_LANES(v, combine)                                                  \
    do {                                                                       \
        v = combine(v, FROM_LANE(v, 1));                                       \
        v = combine(v, FROM_LANE(v, 2));                                       \
    } while (0)
#elif INTEL_DPAS
#define FIRST_LANE true
#define ALL_LANES(v, combine)
#else
#define FIRST_LANE (lane < MI)
#define ALL_LANES(v, combine) v = combine(v, FROM_LANE(v, LANES / 2))
#endif

/* bias_row[FQ][PER_LANE]: where the bias of a lane's queries begins. */
#ifdef BIAS
#define BIAS_ROWS                                                              \
    global const float *bias_row[FQ][PER_LANE];                                \
    EACH(m, FQ)                                                                \
        EACH(n, PER_LANE)                                                      \
            bias_row[m][n] =                                                   \
                bias + (VT_BIAS_OF(b, h) * Tq +                                \
                        min(i0 + m * QI + OWN_QUERY(n), Tq - 1)) *             \
                           T;
#define ADD_BIAS_OF(s, m, key)                                                 \
    EACH_FRAGMENT(e, SCORES)                                                   \
    s[e] = fma(bias_row[m][OWN(e)][j0 + (key)], VT_LOG2E,                      \
               s[e] * (scale * VT_LOG2E))
#define ADD_BIAS(s, m)                                                         \
    if (j0 + KEYS > T)                                                         \
        ADD_BIAS_OF(s, m, min(SCORE_KEY(e), T - 1 - j0));                      \
    else                                                                       \
        ADD_BIAS_OF(s, m, SCORE_KEY(e));
#else
#define BIAS_ROWS
#define ADD_BIAS(s, m)
#endif

/* of fragment m */
#define RAISE_MAXIMUM(m, s, top, base, all, keep)                              \
    ADD_BIAS(s, m)                                                             \
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
