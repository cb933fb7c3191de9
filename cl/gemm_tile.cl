/*
 * gemm_tile.cl - matrix multiplication for GPU-class devices.
 *
 *     C[m,n] = residual[m,n] + scale[n] * act(sum_k A(m,k) B(n,k) + bias[n])
 *
 * gemm_tile  C[M,N] <- A, B, bias, scale, residual
 *            A(m,k) = A[m*lda + k], or A[k*lda + m] with TRANS_A;
 *            B(n,k) = B[n*ldb + k], or B[k*ldb + n] with TRANS_B, or int8 in
 *            panels of PANEL columns as gemm_rows.cl packs them. Numbers of 16
 *            bits become f32 on the way to local memory.
 *
 * How       A work-group of 256 computes a tile of TM x TN elements, and each
 *           work-item RM x RN of them, in vectors of up to 4 neighbours. Strips
 *           of TK of k go through two buffers in local memory: while one is
 *           multiplied, the next strip is on its way into registers, from where
 *           it is stored in the other. Rows and columns outside are read as
 *           copies of others and not written, so that only the last strip needs
 *           checks, of k.
 *           With TERMS, k is divided into parts of so many terms, each with a
 *           chain of its own. With SPLIT each has its own work-group, which
 *           writes to `sums`, [ceil(K/TERMS)][M][N], and gemm_sum.cl adds
 *           them: for products with fewer tiles than there are processors.
 *           Without SPLIT there is a launch for each part, from term k_first
 *           on, and the sum so far is in `sums`, [M][N]. The bits are the same.
 * Launch    global {256 * ceil(M/TM), ceil(N/TN)}, local {256, 1}; any sizes.
 *           SPLIT: {.., .., ceil(K/TERMS)}.
 * Local     2 * TK * (TM + TN + 8) floats.
 * Defines   TM TN (multiples of 16, to 128) TK (of 4); TRANS_A TRANS_B; PANEL;
 *           WIDE_A WIDE_B: four neighbours are aligned, and are all inside or
 *           all outside; the epilogue's ACT BIAS SCALE RESIDUAL; TERMS (a
 *           multiple of TK), with the last arguments sums and k_first; SPLIT;
 *           XT BT YT: how A, B and C are stored (f32, f16, bf16).
 * Numerics  Sums are f32. One chain of fma() over ascending k for each element
 *           and part, from 0, and the parts added in their order: the bits
 *           depend on K and TERMS alone. (Zeros added beyond K change nothing.)
 * Host      host/gemm/tile.c
 * Test      tests/ops/test_gemm.c, test_gemm_parts.c
 */
#ifndef TM
#define TM 64
#define TN 64
#define TK 16
#endif
#define WI 256
#define RM (TM / 16)
#define RN (TN / 16)
/* neighbours of a work-item, and where its element i is in the tile */
#define LANES(r) ((r) % 4 == 0 ? 4 : (r) % 2 == 0 ? 2 : 1)
#define PLACE(x, i, r)                                                         \
    ((i) / LANES(r) * (16 * LANES(r)) + (x)*LANES(r) + (i) % LANES(r))
/* over the k of a strip */
#ifdef XE
#define EACH_TERM(k) ROLLED for (int k = 0; k < TK; k++)
#else
#define EACH_TERM(k) EACH(k, TK)
#endif
#define PA (TM + 4)
#define PB (TN + 4)
/* vectors of 4 that a work-item brings of each strip */
#define NA ((TM * TK / 4 + WI - 1) / WI)
#define NB ((TN * TK / 4 + WI - 1) / WI)
#define COUNTS(i, lid, t) ((t)*TK / 4 % WI == 0 || (lid) + (i)*WI < (t)*TK / 4)

#ifndef PANEL
#define PANEL 0
#endif
#ifndef BT
#define BT f32
#endif
#if PANEL
typedef char element;
#else
typedef VT_TYPE(BT) element;
#endif

/* ---- a strip from global memory ----
 *
 * Vector number v of a strip: four of k of row v / (TK/4); or, if the matrix is
 * transposed, four of m or n of k = v / (T/4). Elements from K on are 0 with
 * `last`. */

#define WIDE_f32(p) (*(global const float4 *)(p))
#define WIDE_f16(p) vloada_half4(0, (global const half *)(p))
#define WIDE_bf16(p)                                                           \
    as_float4(convert_uint4(*(global const ushort4 *)(p)) << 16u)
#define WIDE(t, p) VT_JOIN(WIDE_, t)(p)

#define STRIPS(name, t)                                                        \
    static inline float4 name##_rows(global const VT_TYPE(t) *restrict p,      \
                                     int row, int rows, int k, int K, int ld,  \
                                     bool wide, bool last)                     \
    {                                                                          \
        const size_t at = (size_t)min(row, rows - 1) * ld + k;                 \
                                                                               \
        if (last)                                                              \
            return (float4)(k < K ? VT_LOAD(t, p, at) : 0.0f,                  \
                            k + 1 < K ? VT_LOAD(t, p, at + 1) : 0.0f,          \
                            k + 2 < K ? VT_LOAD(t, p, at + 2) : 0.0f,          \
                            k + 3 < K ? VT_LOAD(t, p, at + 3) : 0.0f);         \
        return wide ? WIDE(t, p + at) : VT_JOIN(load4_, t)(p, at);             \
    }                                                                          \
    static inline float4 name##_columns(global const VT_TYPE(t) *restrict p,   \
                                        int x, int most, int k, int K, int ld, \
                                        bool wide, bool last)                  \
    {                                                                          \
        if (last && k >= K)                                                    \
            return 0.0f;                                                       \
        p += (size_t)k * ld;                                                   \
        if (wide)                                                              \
            return WIDE(t, p + min(x, most - 4));                              \
        return (float4)(VT_LOAD(t, p, min(x, most - 1)),                       \
                        VT_LOAD(t, p, min(x + 1, most - 1)),                   \
                        VT_LOAD(t, p, min(x + 2, most - 1)),                   \
                        VT_LOAD(t, p, min(x + 3, most - 1)));                  \
    }
STRIPS(a, XT)
#if !PANEL
STRIPS(b, BT)
#endif

#ifdef WIDE_A
#define A_WIDE true
#else
#define A_WIDE false
#endif
#ifdef WIDE_B
#define B_WIDE true
#else
#define B_WIDE false
#endif

static inline float4 bring_a(global const VT_TYPE(XT) *restrict a, int v,
                             int m0, int k0, int M, int K, int lda, bool last)
{
#ifdef TRANS_A
    return a_columns(a, m0 + v % (TM / 4) * 4, M, k0 + v / (TM / 4), K, lda,
                     A_WIDE, last);
#else
    return a_rows(a, m0 + v / (TK / 4), M, k0 + v % (TK / 4) * 4, K, lda,
                  A_WIDE, last);
#endif
}

static inline float4 bring_b(global const element *restrict b, int v, int n0,
                             int k0, int N, int K, int ldb, bool last)
{
#if PANEL
    const int n =
        min(n0 + v % (TN / 4) * 4, (N + PANEL - 1) / PANEL * PANEL - 4);
    const int k = k0 + v / (TN / 4);
    const size_t at = ((size_t)(n / PANEL) * K + k) * PANEL + n % PANEL;

    return last && k >= K ? 0.0f : convert_float4(vload4(0, b + at));
#elif defined(TRANS_B)
    return b_columns(b, n0 + v % (TN / 4) * 4, N, k0 + v / (TN / 4), K, ldb,
                     B_WIDE, last);
#else
    return b_rows(b, n0 + v / (TK / 4), N, k0 + v % (TK / 4) * 4, K, ldb,
                  B_WIDE, last);
#endif
}

/* ---- to local memory, as [TK][T + 4] ---- */

static inline void put_rows(local float *t, int v, int pitch, float4 x)
{
    local float *p = t + v % (TK / 4) * 4 * pitch + v / (TK / 4);

    p[0] = x.x, p[pitch] = x.y, p[2 * pitch] = x.z, p[3 * pitch] = x.w;
}

static inline void put_columns(local float *t, int v, int wide, float4 x)
{
    *(local float4 *)(t + v / (wide / 4) * (wide + 4) + v % (wide / 4) * 4) = x;
}

#ifdef TRANS_A
#define PUT_A(t, v, x) put_columns(t, v, TM, x)
#else
#define PUT_A(t, v, x) put_rows(t, v, PA, x)
#endif
#if PANEL || defined(TRANS_B)
#define PUT_B(t, v, x) put_columns(t, v, TN, x)
#else
#define PUT_B(t, v, x) put_rows(t, v, PB, x)
#endif

/* ---- the tile ---- */

/* v[i] = row[PLACE(who, i, R)] for i < R, in vectors */
#define FETCH(R, v, row, who)                                                  \
    EACH(u, (R) / LANES(R))                                                    \
        if (LANES(R) == 4) {                                                   \
            const float4 w =                                                   \
                *(const local float4 *)((row) + PLACE(who, u * LANES(R), R));  \
            (v)[u * 4 % (R)] = w.x, (v)[(u * 4 + 1) % (R)] = w.y;              \
            (v)[(u * 4 + 2) % (R)] = w.z, (v)[(u * 4 + 3) % (R)] = w.w;        \
        } else if (LANES(R) == 2) {                                            \
            const float2 w =                                                   \
                *(const local float2 *)((row) + PLACE(who, u * LANES(R), R));  \
            (v)[u * 2 % (R)] = w.x, (v)[(u * 2 + 1) % (R)] = w.y;              \
        } else                                                                 \
            (v)[u] = (row)[PLACE(who, u, R)]

/* What this work-group computes of k. */
#ifdef SPLIT
#define PART vt_group(2)
#else
#define PART 0
#endif
#ifdef TERMS
#define FROM (PART * TERMS + k_first)
#define END min(K, FROM + TERMS)
#define SUMS , global float *restrict sums, int k_first
#else
#define FROM 0
#define END K
#define SUMS
#endif

/* Stores C[m,n], whose sum over this part of k is v. */
static inline void
store(global VT_TYPE(YT) * c, global const element *restrict b,
      global const float *restrict bias, global const float *restrict scale,
      global const VT_TYPE(RST) * residual, int m, int n, int M, int N, int K,
      int from, int end, int ldc, float v SUMS)
{
#ifndef SPLIT
    const size_t at = (size_t)m * ldc + n;
#endif

    if (m >= M || n >= N)
        return;
#ifdef SPLIT
    sums[((size_t)PART * M + m) * N + n] = v;
#else
#ifdef TERMS
    if (from > 0)
        v = sums[(size_t)m * N + n] + v;
    if (end < K) {
        sums[(size_t)m * N + n] = v;
        return;
    }
#endif
#if PANEL
    v *= ((global const float *)(b + (size_t)(N + PANEL - 1) / PANEL * PANEL *
                                         K))[n];
#endif
    VT_STORE(YT, c, at, vt_epilogue(v, bias, scale, residual, n, at));
#endif
}
#ifdef TERMS
#define SUMS_GIVEN , sums, k_first
#else
#define SUMS_GIVEN
#endif
#define STORE_ROW(i)                                                           \
    if ((i) < RM)                                                              \
        EACH(j, RN)                                                            \
    store(c, b, bias, scale, residual, m0 + PLACE(y, i, RM),                   \
          n0 + PLACE(x, j, RN), M, N, K, from, end, ldc,                       \
          s[(i) % RM][j] SUMS_GIVEN)

kernel SUB_GROUP_16 __attribute__((reqd_work_group_size(WI, 1, 1))) void
gemm_tile(global VT_TYPE(YT) * c, global const VT_TYPE(XT) *restrict a,
          global const element *restrict b, global const float *restrict bias,
          global const float *restrict scale,
          global const VT_TYPE(RST) * residual, int M, int N, int K, int lda,
          int ldb, int ldc SUMS)
{
    const int from = FROM, end = END;
    local float ta[2][TK * PA] __attribute__((aligned(16)));
    local float tb[2][TK * PB] __attribute__((aligned(16)));
    const int lid = get_local_id(0), x = lid % 16, y = lid / 16;
    const int m0 = vt_group(0) * TM, n0 = vt_group(1) * TN;
    float s[RM][RN];
    float4 ra[NA], rb[NB];
    int now = 0;

#define BRING(k0, last)                                                        \
    do {                                                                       \
        EACH(i, NA)                                                            \
            if (COUNTS(i, lid, TM))                                            \
                ra[i] = bring_a(a, lid + i * WI, m0, k0, M, K, lda, last);     \
        EACH(i, NB)                                                            \
            if (COUNTS(i, lid, TN))                                            \
                rb[i] = bring_b(b, lid + i * WI, n0, k0, N, K, ldb, last);     \
    } while (0)
#define PUT(stage)                                                             \
    do {                                                                       \
        EACH(i, NA)                                                            \
            if (COUNTS(i, lid, TM))                                            \
                PUT_A(ta[stage], lid + i * WI, ra[i]);                         \
        EACH(i, NB)                                                            \
            if (COUNTS(i, lid, TN))                                            \
                PUT_B(tb[stage], lid + i * WI, rb[i]);                         \
    } while (0)

    EACH(i, RM)
        EACH(j, RN)
            s[i][j] = 0.0f;

    if (end - from >= TK)
        BRING(from, false);
    else
        BRING(from, true);
    PUT(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k0 = from; k0 < end; k0 += TK, now ^= 1) {
        if (k0 + 2 * TK <= end)
            BRING(k0 + TK, false);
        else if (k0 + TK < end)
            BRING(k0 + TK, true);
        EACH_TERM(k)
        {
            float p[RM], q[RN];
            FETCH(RM, p, ta[now] + k * PA, y);
            FETCH(RN, q, tb[now] + k * PB, x);
            EACH(i, RM)
                EACH(j, RN)
                    s[i][j] = fma(p[i], q[j], s[i][j]);
        }
        if (k0 + TK < end)
            PUT(now ^ 1);
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    /* Not a loop: with an activation one compiler would not unroll it, and have
     * s in memory. */
    STORE_ROW(0);
    STORE_ROW(1);
    STORE_ROW(2);
    STORE_ROW(3);
    STORE_ROW(4);
    STORE_ROW(5);
    STORE_ROW(6);
    STORE_ROW(7);
}
