/*
 * common_units_rows.cl - rows of heads for attention on matrix units, of
 * common_units_heads.cl: a sub-group's own ones to registers, and those that
 * the work-group goes through to local memory.
 *
 * Own       OWN_ROWS(i0, n): where a work-item is: lid and lane; its group's
 *           head h of picture b, and the first of the group's rows, of n; i0,
 *           the first of its sub-group's.
 *           HOLD(f) declares FQ fragments of all SPANS of 16 numbers, two
 *           chunks of 16 bytes: in registers or, with KEPT, which is for Intel,
 *           in local memory. LOAD_OWN(f, m, from, apart, i0, end): fragment m,
 *           from row i0 on; rows past `end` are the last one. A barrier later,
 *           after BRING_KEPT(f, n), SPAN_OF(f, m, n) is its span n.
 * Tiles     BRING(to, from, apart, j, end): KEYS rows from j on to registers,
 *           and PUT(t, to) from there to local memory. But for NVIDIA:
 *           BRING_PAIRS, those that put_pair transposes.
 * Places    ROW_PLACE(r, c): chunk c of row r of keys; TURNED_PLACE, of a row
 *           of numbers. A row in local memory is a chunk longer, so that reads
 *           meet all banks. On Intel it is in spans, each with all rows, so
 *           that a fragment is one block; a span is a row longer, so that
 *           writes meet all banks. Heads that are not whole spans end with a
 *           chunk of zeros (ZERO_REST).
 * Numbers   Rows in memory are of TYPE or, with FULL_ROWS, f32 (QT), and are
 *           rounded on their way. chunk_read(row, c): chunk c of a row in
 *           memory, 8 numbers; HALVES(x), these as they are in local memory;
 *           word_read(row, w): the two numbers of a word.
 */
#if defined(KIND) && defined(D) && defined(KEYS)

/* ---- numbers of a row ---- */

#define ROWS_f32 F32
#define ROWS_f16 F16
#define ROWS_bf16 BF16
#define FULL_ROWS (VT_JOIN(ROWS_, QT) == F32)
#if FULL_ROWS
typedef float8 chunk;

static inline chunk chunk_read(global const float *row, int c)
{
    global const float4 *v = (global const float4 *)row + 2 * c;
    const float4 a = v[0], b = v[1];

    /* number by number: oclgrind crashes on vectors of vectors */
    return (float8)(a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w);
}

static inline uint4 chunk_round(chunk v)
{
    return (uint4)(pair(v.s0, v.s1), pair(v.s2, v.s3), pair(v.s4, v.s5),
                   pair(v.s6, v.s7));
}

static inline uint word_read(global const float *row, int w)
{
    const float2 two = ((global const float2 *)row)[w];

    return pair(two.x, two.y);
}
#define HALVES(x) chunk_round(x)
#else
typedef uint4 chunk;
#define chunk_read(row, c) (((global const uint4 *)(row))[c])
#define word_read(row, w) (((global const uint *)(row))[w])
#define HALVES(x) (x)
#endif

/* ---- a sub-group's own rows ---- */

#define OWN_ROWS(i0, n)                                                        \
    const int lid = get_local_id(0), lane = lid % LANES;                       \
    const int blocks = ((n) + QUERIES - 1) / QUERIES;                          \
    const int first = vt_group(0) % blocks * QUERIES;                          \
    const int i0 = first + lid / LANES * (FQ * QI);                            \
    const int h = vt_group(0) / blocks % H, b = vt_group(0) / blocks / H

/* Row r of n rows, or the last one. */
#define ROW_OF(from, apart, r, n) ((from) + (size_t)min(r, (n)-1) * (apart))
/* Is the chunk one of the head, and not zeros? */
#define IN_ROW(c) (D % 16 == 0 || (c) < CHUNKS)
#ifdef KEPT
#define HOLD(f)                                                                \
    local uint f[WM * FQ * SPANS * QW * LANES] __attribute__((aligned(16)))
#define KEPT_AT(f, m, n)                                                       \
    ((f) + ((lid / LANES * FQ + (m)) * SPANS + (n)) * (QW * LANES))
#define BRING_KEPT(f, n)                                                       \
    uint kept[FQ][QW];                                                         \
    EACH_FRAGMENT(m, FQ)                                                       \
    LOAD_WORDS(kept[m], KEPT_AT(f, m, n));
#define SPAN_OF(f, m, n) kept[m]
#else
#define HOLD(f) uint f[FQ][SPANS][QW]
#define BRING_KEPT(f, n)
#define SPAN_OF(f, m, n) (f)[m][n]
#endif
#if NVIDIA_MMA
#define LOAD_OWN(f, m, from, apart, i0, end)                                   \
    EACH(n, SPANS)                                                             \
        EACH(r, QW)                                                            \
    f[m][n][r] =                                                               \
        IN_ROW(2 * n + r / 2)                                                  \
            ? word_read(ROW_OF(from, apart, (i0) + A_ROW(lane, r), end),       \
                        n * 8 + A_WORD(lane, r))                               \
            : 0
#else
#if KIND == WMMA11 || INTEL_DPAS /* a lane has both chunks of a span */
#define MY_CHUNK(r) (r)
#else
#define MY_CHUNK(r) (lane / MI)
#endif
#define LOAD_SPAN_OF(w, n, from, apart, i0, end)                               \
    EACH(r, QW / 4)                                                            \
    vstore4(                                                                   \
        IN_ROW(2 * (n) + MY_CHUNK(r))                                          \
            ? HALVES(chunk_read(ROW_OF(from, apart, (i0) + lane % QI, end),    \
                                2 * (n) + MY_CHUNK(r)))                        \
            : (uint4)(0),                                                      \
        r, w)
#ifdef KEPT
#define LOAD_OWN(f, m, from, apart, i0, end)                                   \
    EACH(n, SPANS) {                                                           \
        uint w_[QW];                                                           \
        LOAD_SPAN_OF(w_, n, from, apart, i0, end);                             \
        EACH(r, QW)                                                            \
            KEPT_AT(f, m, n)[r * LANES + lane] = w_[r];                        \
    }
#else
#define LOAD_OWN(f, m, from, apart, i0, end)                                   \
    EACH(n, SPANS)                                                             \
    LOAD_SPAN_OF(f[m][n], n, from, apart, i0, end)
#endif
#endif

/* ---- tiles of keys ---- */

#if !INTEL_DPAS
#define PLACE(r, c, rows, chunks) ((r) * ((chunks) + 1) + (c))
#define PLACES(rows, chunks) ((rows) * ((chunks) + 1))
#else
#define PLACE(r, c, rows, chunks) (((c) / 2 * ((rows) + 1) + (r)) * 2 + (c) % 2)
#define PLACES(rows, chunks) (((rows) + 1) * (chunks))
#endif
#define ROW_PLACE(r, c) PLACE(r, c, KEYS, 2 * SPANS)
#define ROWS_CHUNKS PLACES(KEYS, 2 * SPANS)
#define TURNED_PLACE(r, c) PLACE(r, c, NUMBERS, KEYS / 8)
#define TURNED_CHUNKS PLACES(NUMBERS, KEYS / 8)
#define ZERO_REST(t)                                                           \
    if (D % 16)                                                                \
        for (int r = lid; r < KEYS; r += WI)                                   \
    t[ROW_PLACE(r, CHUNKS)] = (uint4)(0)

/* Of n chunks, or pairs of them, each work-item has so many, the last perhaps
 * not: number i is one of lid + i * WI. */
#define EACH_HAS(n) (((n) + WI - 1) / WI)
#define HAS(i, n) (((i) + 1) * WI <= (n) || lid + (i)*WI < (n))
#define NK EACH_HAS(KEYS *CHUNKS)
#define K_HAS(i) HAS(i, KEYS *CHUNKS)
#define K_ROW(i) ((lid + (i)*WI) / CHUNKS)
#define K_CHUNK(i) ((lid + (i)*WI) % CHUNKS)
#define K_PLACE(i) ROW_PLACE(K_ROW(i), K_CHUNK(i))
#define BRING(to, from, apart, j, end)                                         \
    EACH(i, NK)                                                                \
    to[i] = chunk_read(ROW_OF(from, apart, (j) + K_ROW(i), end), K_CHUNK(i))
#define PUT(t, from)                                                           \
    EACH(i, NK) {                                                              \
        if (K_HAS(i))                                                          \
            t[K_PLACE(i)] = HALVES(from[i]);                                   \
    }
#if !NVIDIA_MMA
/* Chunk V_CHUNK of two keys, V_KEY(i, 0) and V_KEY(i, 1), neighbours in a
 * transposed row: word V_WORD. */
#define NV EACH_HAS(KEYS / 2 * CHUNKS)
#define V_HAS(i) HAS(i, KEYS / 2 * CHUNKS)
#define V_SIDE (KEYS < 32 ? 8 : 16) /* neighbours have words of a row */
#define V_WORD(i)                                                              \
    ((lid + (i)*WI) % V_SIDE + (lid + (i)*WI) / (V_SIDE * CHUNKS) * V_SIDE)
#define V_CHUNK(i) ((lid + (i)*WI) / V_SIDE % CHUNKS)
#define V_KEY(i, n) KEY_AT(2 * V_WORD(i) + (n))
#if KIND == WMMA11
#define KEY_AT(n) ((n) / 16 * 16 + (n) % 8 * 2 + (n) / 8 % 2)
#elif KIND == WMMA12 || INTEL_DPAS
#define KEY_AT(n) (n)
#else
#define KEY_AT(n) ((n) / 16 * 16 + (n) / 4 % 2 * 8 + (n) / 8 % 2 * 4 + (n) % 4)
#endif
#define BRING_PAIRS(to, from, apart, j, end)                                   \
    EACH(i, 2 * NV)                                                            \
    to[i] = chunk_read(ROW_OF(from, apart, (j) + V_KEY(i / 2, i % 2), end),    \
                       V_CHUNK(i / 2))

static inline void put_pair(local uint4 *tv, int word, int chunk, uint4 a,
                            uint4 b)
{
    uint x[4], y[4];

    vstore4(a, 0, x);
    vstore4(b, 0, y);
    EACH(r, 8) {
        const int at = TURNED_PLACE(chunk * 8 + r, word / 4) * 4 + word % 4;

        ((local uint *)tv)[at] = r % 2 ? UPPER_HALVES(x[r / 2], y[r / 2])
                                       : LOWER_HALVES(x[r / 2], y[r / 2]);
    }
}

/* What a lane holds of a span, whose two chunks begin at p, in line LINE of a
 * fragment: that of its half of the lanes, or both; on Intel the fragment
 * begins there. */
#define LINE (INTEL_DPAS ? 0 : lane % MI)
#if INTEL_DPAS
#define LOAD_SPAN(f, p) LOAD_ROWS(f, p)
#elif KIND == WMMA11
#define LOAD_SPAN(f, p)                                                        \
    do {                                                                       \
        vstore4((p)[0], 0, f);                                                 \
        vstore4((p)[1], 1, f);                                                 \
    } while (0)
#else
#define LOAD_SPAN(f, p) vstore4((p)[lane / MI], 0, f)
#endif
#endif
#endif
