/*
 * common_units_results.cl - how gemm_mma_*.cl leave their results: the epilogue
 * of a tile.
 *
 * STORE_TILE(s, earlier): stores C of the kernel's tile, or with SPLIT its sums
 * (common_units_products.cl). The kernel also has FRAGMENT_ROW(i): where its
 * sub-group's fragment i begins in the tile.
 */
#if defined(KIND) && defined(WN)

/* Stores C[m,n], whose sum is y, or a part of it. */
static inline void
store(global VT_TYPE(CT) * c, source a, global const uint4 *restrict b,
      global const float *restrict bias, global const float *restrict scale,
      global const VT_TYPE(RST) * residual, int m, int n, int M, int N, int ldc,
      int columns, int strips, sum y SUMS)
{
    if (m >= M || n >= N)
        return;
#ifdef SPLIT
    sums[at + (vt_group(2) * (size_t)M + m) * N + n] = y;
#else
    const size_t to = (size_t)m * ldc + n;
    float v = y;

#if TYPE == INT8
    /* a step of a row, and of a column */
    v *= ((global const float *)(a + (size_t)M * strips * 4))[m];
    v *= ((global const float *)(b + (size_t)columns * strips * 4))[n];
#endif
    VT_STORE(CT, c, to, vt_epilogue(v, bias, scale, residual, n, to));
#endif
}
#define STORE_FRAGMENT(s, earlier, i, j)                                       \
    EACH_FRAGMENT(e, CW)                                                       \
    store(c, a, b, bias, scale, residual,                                      \
          m0 + FRAGMENT_ROW(i) + C_ROW(lane, e),                               \
          n0 + wn + (j)*NI + C_COLUMN(lane, e), M, N, ldc, columns, strips,    \
          ALL(s, earlier, i, j, e) SUMS_GIVEN)

/* NVIDIA's fragments have two neighbours of a row in a lane. Four lanes
 * exchange those of four fragments, so that each has eight of a row. */
#if NVIDIA_MMA && defined(WIDE_C) && FN % 4 == 0 && !defined(SPLIT)
static inline float8 wide8_bf16(global const ushort *p, size_t i)
{
    const uint4 w = *(global const uint4 *)(p + i);

    return as_float8((uint8)(w.s0 << 16, w.s0 & 0xffff0000u, w.s1 << 16,
                             w.s1 & 0xffff0000u, w.s2 << 16, w.s2 & 0xffff0000u,
                             w.s3 << 16, w.s3 & 0xffff0000u));
}

static inline float8 wide8_f16(global const ushort *p, size_t i)
{
    const uint4 w = *(global const uint4 *)(p + i);

    return vload_half8(0, (const half *)&w);
}

static inline void put8_f32(global float *p, float8 v)
{
    *(global float4 *)p = v.lo;
    *(global float4 *)(p + 4) = v.hi;
}

static inline void put8_16(global ushort *p, float8 v)
{
    *(global uint4 *)p = (uint4)(pair(v.s0, v.s1), pair(v.s2, v.s3),
                                 pair(v.s4, v.s5), pair(v.s6, v.s7));
}
#define put8_bf16 put8_16
#define put8_f16 put8_16

/* Stores C[m,n] to C[m,n+7]. */
static inline void
store8(global VT_TYPE(CT) * c, source a, global const uint4 *restrict b,
       global const float *restrict bias, global const float *restrict scale,
       global const VT_TYPE(RST) * residual, int m, int n, int M, int N,
       int ldc, int columns, int strips, float8 v)
{
    const size_t at = (size_t)m * ldc + n;
    const int col = n;

    if (m >= M || n >= N)
        return;
#if TYPE == INT8
    v = convert_float8(as_int8(v));
    v *= ((global const float *)(a + (size_t)M * strips * 4))[m];
    v *= wide8_f32((global const float *)(b + (size_t)columns * strips * 4), n);
#endif
    VT_ADD_BIAS(wide8_f32);
    v = vt_act(v, ACT);
    VT_MUL_SCALE(wide8_f32);
    VT_ADD_RESIDUAL(VT_JOIN(wide8_, RST));
    VT_JOIN(put8_, CT)(c + at, v);
}
#if TYPE == INT8
#define SUM_BITS as_float
#else
#define SUM_BITS
#endif
#define STORE_TILE(s, earlier)                                                 \
    EACH_FRAGMENT(i, FM)                                                       \
    EACH_FRAGMENT(e, CW / 2)                                                   \
    EACH_FRAGMENT(j, FN / 4)                                                   \
    {                                                                          \
        float t[4], u[4];                                                      \
                                                                               \
        EACH(q, 4) {                                                           \
            t[q] = SUM_BITS(ALL(s, earlier, i, j * 4 + q, 2 * e));             \
            u[q] = SUM_BITS(ALL(s, earlier, i, j * 4 + q, 2 * e + 1));         \
        }                                                                      \
        TURN4(t);                                                              \
        TURN4(u);                                                              \
        store8(c, a, b, bias, scale, residual,                                 \
               m0 + FRAGMENT_ROW(i) + C_ROW(lane, 2 * e),                      \
               n0 + wn + (j * 4 + lane % 4) * NI, M, N, ldc, columns, strips,  \
               (float8)(t[0], u[0], t[1], u[1], t[2], u[2], t[3], u[3]));      \
    }
#elif defined(EMULATE) || NVIDIA_MMA || AMD_UNIT
#define STORE_TILE(s, earlier)                                                 \
    EACH_FRAGMENT(i, FM)                                                       \
    EACH_FRAGMENT(j, FN)                                                       \
    STORE_FRAGMENT(s, earlier, i, j)
#else
/* Not loops: one compiler would not unroll them, and have s in memory. */
#define STORE_ROWS(s, earlier, i)                                              \
    do {                                                                       \
        STORE_FRAGMENT(s, earlier, i, 0);                                      \
        if (FN > 1)                                                            \
            STORE_FRAGMENT(s, earlier, i, 1 % FN);                             \
        if (FN > 2)                                                            \
            STORE_FRAGMENT(s, earlier, i, 2 % FN);                             \
        if (FN > 3)                                                            \
            STORE_FRAGMENT(s, earlier, i, 3 % FN);                             \
    } while (0)
#define STORE_TILE(s, earlier)                                                 \
    STORE_ROWS(s, earlier, 0);                                                 \
    if (FM > 1)                                                                \
        STORE_ROWS(s, earlier, 1 % FM);                                        \
    if (FM > 2)                                                                \
        STORE_ROWS(s, earlier, 2 % FM);                                        \
    if (FM > 3)                                                                \
        STORE_ROWS(s, earlier, 3 % FM);
#endif
#endif
