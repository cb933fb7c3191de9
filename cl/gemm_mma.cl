/*
 * gemm_mma.cl - matrix multiplication on the matrix units of GPUs.
 *
 *     C[m,n] = residual[m,n] + scale[n] * act(sum_k A(m,k) B(n,k) + bias[n])
 *
 * gemm_mma  C[M,N] <- A[m*lda + k], rounded on the way to f16 or bf16; B, the
 *           weights in f16 or bf16, and for int8 both, as gemm_mma_pack.cl
 *           packs them.
 *
 * How       A work-group computes a tile of TM x TN, and each of its WM x WN
 *           sub-groups FM x FN products of MI x NI. Strips of 16 words of k (a
 *           word has 2 halves or 4 bytes) go through buffers in local memory,
 *           while the strip before is multiplied. There, chunks of 16 bytes of
 *           a row are exchanged, so that reads of fragments meet all banks.
 *           MMA16 has asynchronous copies, of A where it needs no rounding;
 *           others bring a strip through registers. With WGMMA four sub-groups
 *           multiply 64 rows and 128 columns as one, from local memory. Intel's
 *           B goes to registers alone: it is packed in fragments, which a
 *           sub-group reads through the cache.
 * KIND      The instruction, and what a lane holds: common_units.cl.
 * Parts     With PART=n the sums of each n strips of k begin at zero, and are
 *           added in their order: here or, with SPLIT, where dimension 2 is
 *           the part, in gemm_sum.cl from sums[at + part*M*N + m*N + n].
 *           Both have the same bits; whole numbers of int8 need no PART.
 * Launch    global {WI * ceil(M/TM), ceil(N/TN), parts}, local {WI, 1, 1}; any
 *           sizes.
 * Local     128 TM + 128 TN bytes; MMA16: 64 TN more, and 64 TM if A is copied;
 *           Intel: 128 TM.
 * Defines   KIND EMULATE WM WN FM FN; TYPE, of the product: BF16, F16 or
 *           INT8; AT CT, of A and C in memory: f32, f16, bf16; SAME_A: AT is
 *           TYPE; WIDE_A, WIDE_C: rows of A, of C and what is added begin at
 *           multiples of 16 bytes, and N is one of 8; WGMMA: WN groups of four
 *           sub-groups side by side, FN 16; PART and SPLIT; the epilogue's.
 * Numerics  Sums are f32 (int8: whole numbers), in an order that depends on K,
 *           PART and KIND alone.
 * Bound     By local memory, at 128 bytes a cycle, no measure of speed. A strip
 *           of 32 halves of a tile of 128 by 128 takes MMA16 384 cycles, and
 *           its products 512 on sm_80, 1024 on sm_89, 256 on sm_90: 0.67 of the
 *           peak, or 0.5 if sub-groups had 64 by 32 sums. DPAS8 can reach 0.89,
 *           with parts in turn 0.62, in small tiles 0.44. WMMA, MFMA and DPAS16
 *           are not bound so. With B in local memory, fragments read earlier,
 *           or addresses computed in each lane, DPAS8 spills.
 *
 * Longer than most: three ways from strip to strip, for each type and storage.
 *
 * Host      host/gemm/mma.c           Test  tests/ops/test_gemm_mma.c
 */
#ifdef KIND /* without it there is no unit in front */
#ifndef WM
#define WM 1
#define WN 2
#define FM 2
#define FN 2
#endif
#ifndef AT
#define AT f32
#endif
#ifndef CT
#define CT f32
#endif

#define TM (WM * FM * MI)
#define TN (WN * FN * NI)
#define WI (WM * WN * LANES)
#define STRIP 16                               /* words of k in a strip */
#define TERMS (STRIP * (TYPE == INT8 ? 4 : 2)) /* of k */
#define SPAN (AMD_UNIT ? 8 : KW)               /* words read at a time */
#define NA (TM * 4 / WI) /* chunks of a strip for each work-item */
#define NB (TN * 4 / WI)

/* ---- A in global memory ---- */

#if TYPE == INT8
typedef global const uint4 *source;
#else
typedef global const VT_TYPE(AT) * source;
#endif

/* Two vectors, each at a multiple of 16 bytes. */
static inline float8 wide8_f32(global const float *p, size_t i)
{
    const float4 a = *(global const float4 *)(p + i);
    const float4 b = *(global const float4 *)(p + i + 4);

    /* one by one: Oclgrind 21.10 crashes where vectors are joined */
    return (float8)(a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w);
}

#if TYPE == INT8 || defined(SAME_A)
typedef uint4 flight; /* between global and local memory */

static inline uint4 arrived(uint4 v)
{
    return v;
}
#else
typedef float8 flight;

static inline uint4 arrived(float8 v)
{
    return (uint4)(pair_of_terms(v.s0, v.s1), pair_of_terms(v.s2, v.s3),
                   pair_of_terms(v.s4, v.s5), pair_of_terms(v.s6, v.s7));
}
#endif

#if TYPE != INT8
/* Eight of a row; zeros from K on with `last`. */
static inline flight bring(source p, size_t at, int k, int K, bool last)
{
#ifdef SAME_A
    if (!last)
#ifdef WIDE_A
        return *(global const uint4 *)(p + at);
#else
        return as_uint4(vload8(0, p + at));
#endif
        /* not an array, which one compiler keeps in memory */
#define INSIDE(i) (ushort)(k + (i) < K ? p[at + (i)] : 0)
    return as_uint4((ushort8)(INSIDE(0), INSIDE(1), INSIDE(2), INSIDE(3),
                              INSIDE(4), INSIDE(5), INSIDE(6), INSIDE(7)));
#else
    float t[8];

    if (!last)
#ifdef WIDE_A
        return wide8_f32(p, at);
#else
        return VT_JOIN(load8_, AT)(p, at);
#endif
    EACH(i, 8)
        t[i] = k + i < K ? VT_JOIN(load_, AT)(p, at + i) : 0.0f;
    return vload8(0, t);
#endif
}
#endif

/* ---- a strip's chunks ---- */

/* A_PLACE, B_PLACE: chunk c of row r of a strip in local memory. LINE_OF,
 * PART_OF: row and chunk of it that a work-item brings as number q. */
#if !INTEL_DPAS
#define A_PLACE(r, c) ((r)*4 + ((c) ^ (((r) >> 1) & 3)))
#define B_PLACE A_PLACE
#define LINE_OF(q) ((q) / 4)
#define PART_OF(q) ((q) % 4)
#else /* fragment after fragment, of A 8 rows of 8 words */
#define A_PLACE(r, c) (((c) / 2 * TM + (r)) * 2 + (c) % 2)
#define LINE_OF(q) ((q) / 16 * 4 + (q) / 2 % 4)
#define PART_OF(q) ((q) / 8 % 2 * 2 + (q) % 2)
#endif

/* Of a work-item's chunk i: row and chunk of A; where they are in global memory
 * and in local memory. */
#define A_LINE(i) LINE_OF(lid + (i)*WI)
#define A_PART(i) PART_OF(lid + (i)*WI)
#define A_AT(i, strip)                                                         \
    (TYPE == INT8                                                              \
         ? ((size_t)min(m0 + A_LINE(i), M - 1) * strips + (strip)) * 4 +       \
               A_PART(i)                                                       \
         : (size_t)min(m0 + A_LINE(i), M - 1) * lda + (strip)*TERMS +          \
               A_PART(i) * 8)
#define B_AT(i, strip) (((size_t)(strip)*columns + n0) * 4 + lid + (i)*WI)
#define A_TO(i) A_PLACE(A_LINE(i), A_PART(i))
#define B_TO(i) B_PLACE((lid + (i)*WI) / 4, (lid + (i)*WI) % 4)

/* Chunks first to first + n - 1 of A into registers, and from there into local
 * memory. */
#if TYPE == INT8
#define BRING_A(strip, first, n)                                               \
    EACH(i, n)                                                                 \
    ra[i] = a[A_AT((first) + i, strip)]
#else
#define BRING_A(strip, first, n)                                               \
    do {                                                                       \
        if (((strip) + 1) * TERMS <= K) {                                      \
            EACH(i, n)                                                         \
                ra[i] = bring(a, A_AT((first) + i, strip), 0, K, false);       \
        } else {                                                               \
            EACH(i, n)                                                         \
                ra[i] =                                                        \
                    bring(a, A_AT((first) + i, strip),                         \
                          (strip)*TERMS + A_PART((first) + i) * 8, K, true);   \
        }                                                                      \
    } while (0)
#endif
#define PUT_A(strip, first, n)                                                 \
    EACH(i, n)                                                                 \
    ta[(strip) % A_STAGES][A_TO((first) + i)] = arrived(ra[i])

/* ---- sums, and parts of k ---- */

#define EACH_SUM(i, j, e)                                                      \
    EACH(i, FM)                                                                \
        EACH(j, FN)                                                            \
            EACH(e, CW)

#ifdef SPLIT
#define FROM (vt_group(2) * PART)
#define END min(strips, FROM + PART)
#define SUMS , global sum *sums, int at
#define SUMS_GIVEN , sums, at
#else
#define FROM 0
#define END strips
#define SUMS
#define SUMS_GIVEN
#endif

/* Are there earlier parts, whose sums are kept? */
#if defined(PART) && !defined(SPLIT) && TYPE != INT8
#define IN_TURN
#define EARLIER sum earlier[FM][FN][CW];
#define BEGIN_EARLIER                                                          \
    EACH_SUM(i, j, e)                                                          \
    earlier[i][j][e] = 0;
#define END_PART                                                               \
    if (now > 0 && now % PART == 0)                                            \
        EACH_SUM(i, j, e)                                                      \
        {                                                                      \
            earlier[i][j][e] += s[i][j][e];                                    \
            s[i][j][e] = 0;                                                    \
        }
#define SUM(i, j, e) (earlier[i][j][e] + s[i][j][e])
#else
#define EARLIER
#define BEGIN_EARLIER
#define END_PART
#define SUM(i, j, e) s[i][j][e]
#endif

/* ---- from strip to strip ----
 *
 * Each of the three ways below says what it needs: BUFFERS in local memory and
 * REGISTERS; and its steps. BEGIN brings the first strip. BRING_STRIP waits
 * until all work-items have brought strip `now`, and begins with later ones;
 * MULTIPLY_STRIP adds its products to s; PUT_STRIP stores what has arrived in
 * registers. */

/* A through registers, but Intel's. */
#if KIND == MMA16 && (TYPE == INT8 || defined(SAME_A) && defined(WIDE_A))
#define A_COPIES NA /* copied, as B is */
#define A_STAGES 3
#define A_REGISTERS
#define BEGIN_A
#define BRING_NEXT_A
#define PUT_NEXT_A
#else
#define A_COPIES 0
#define A_STAGES 2
#define A_REGISTERS flight ra[NA];
#define BEGIN_A                                                                \
    BRING_A(from, 0, NA);                                                      \
    PUT_A(from, 0, NA);
#define BRING_NEXT_A                                                           \
    if (now + 1 < end)                                                         \
        BRING_A(now + 1, 0, NA);
#define PUT_NEXT_A                                                             \
    if (now + 1 < end)                                                         \
        PUT_A(now + 1, 0, NA);
#endif

/* ---- NVIDIA from sm_80 on: asynchronous copies, two strips ahead ---- */

#if KIND == MMA16
#if TYPE == INT8
#define COPY_A(to, i, strip)                                                   \
    COPY16(to, (global const uint4 *)a + A_AT(i, strip))
#else /* zeros from K on */
#define COPY_A(to, i, strip)                                                   \
    COPY16_OF(to, (global const uint4 *)(a + A_AT(i, strip)),                  \
              2 * clamp(K - (strip)*TERMS - A_PART(i) * 8, 0, 8))
#endif
#define B_STAGES 3
#define AHEAD (B_STAGES - 1)
#define REGISTERS A_REGISTERS
#define SEND(strip)                                                            \
    do {                                                                       \
        if ((strip) < end) {                                                   \
            EACH(i, A_COPIES)                                                  \
                COPY_A(&ta[(strip) % A_STAGES][A_TO(i)], i, strip);            \
            EACH(i, NB)                                                        \
                COPY16(&tb[(strip) % B_STAGES][B_TO(i)], b + B_AT(i, strip));  \
        }                                                                      \
        COMMIT();                                                              \
    } while (0)
#define BEGIN                                                                  \
    EACH(p, AHEAD)                                                             \
        SEND(from + p);                                                        \
    BEGIN_A
#define BRING_STRIP                                                            \
    WAIT(1);                                                                   \
    SHOW();                                                                    \
    barrier(CLK_LOCAL_MEM_FENCE);                                              \
    SEND(now + AHEAD);                                                         \
    BRING_NEXT_A
#define PUT_STRIP PUT_NEXT_A
#endif

/* ---- AMD, sm_75, and without a unit: registers, one strip ahead ---- */

#if KIND != MMA16 && !INTEL_DPAS
#define B_STAGES 2
#define REGISTERS                                                              \
    A_REGISTERS                                                                \
    uint4 rb[NB];
#define BRING_B(strip)                                                         \
    EACH(i, NB)                                                                \
    rb[i] = b[B_AT(i, strip)]
#define PUT_B(strip)                                                           \
    EACH(i, NB)                                                                \
    tb[(strip) % B_STAGES][B_TO(i)] = rb[i]
#define BEGIN                                                                  \
    BRING_B(from);                                                             \
    PUT_B(from);                                                               \
    BEGIN_A
#define BRING_STRIP                                                            \
    barrier(CLK_LOCAL_MEM_FENCE);                                              \
    if (now + 1 < end)                                                         \
        BRING_B(now + 1);                                                      \
    BRING_NEXT_A
#define PUT_STRIP                                                              \
    if (now + 1 < end)                                                         \
        PUT_B(now + 1);                                                        \
    PUT_NEXT_A
#endif

/* ---- products of both ---- */

#if DOTS /* a chunk of each of the lane's rows, and columns */
#define LOAD_A(kk)                                                             \
    EACH_FRAGMENT(i, FM)                                                       \
    EACH_FRAGMENT(q, AW / KW)                                                  \
    vstore4(pa[A_PLACE(wm + i * MI + A_ROW(lane, q), kk)], q, fa[i])
#define LOAD_B(kk)                                                             \
    EACH_FRAGMENT(j, FN)                                                       \
    EACH_FRAGMENT(q, BW / KW)                                                  \
    vstore4(pb[B_PLACE(wn + j * NI + B_COLUMN(lane, q), kk)], q, fb[j])
#elif NVIDIA_MMA
/* rows 0-7 and 8-15 of words 0-3, then of words 4-7 */
#define LOAD_A(kk)                                                             \
    EACH_FRAGMENT(i, FM)                                                       \
    LDMATRIX(fa[i], pa + A_PLACE(wm + i * MI + lane % 16, (kk)*2 + lane / 16))
/* columns 0-7 with words 0-3 and 4-7, then columns 8-15 */
#define LOAD_B(kk)                                                             \
    EACH_FRAGMENT(j, FN / 2)                                                   \
    {                                                                          \
        uint t[4];                                                             \
        LDMATRIX(t, pb + B_PLACE(wn + j * 16 + lane % 8 + lane / 16 * 8,       \
                                 (kk)*2 + lane / 8 % 2));                      \
        fb[2 * j][0] = t[0], fb[2 * j][1] = t[1];                              \
        fb[2 * j + 1][0] = t[2], fb[2 * j + 1][1] = t[3];                      \
    }
#elif AMD_UNIT
/* For SPAN words of k, a half of the lanes reads a chunk of 4 words and the
 * other half the next one, or on gfx11 all lanes both. The instruction has them
 * in another order; but any will do, if A and B have the same. Rows which are a
 * multiple of 8 apart have the same places in their rows. */
#define OWN_CHUNK(kk, q) ((kk)*2 + (KIND == WMMA11 ? (q) : lane / MI))
#define LOAD_A(kk)                                                             \
    EACH_FRAGMENT(i, FM)                                                       \
    EACH_FRAGMENT(q, AW *SPAN / KW / 4)                                        \
    vstore4(pa[A_PLACE(wm + lane % MI, OWN_CHUNK(kk, q)) + i * MI * 4], q,     \
            fa[i])
#define LOAD_B(kk)                                                             \
    EACH_FRAGMENT(j, FN)                                                       \
    EACH_FRAGMENT(q, BW *SPAN / KW / 4)                                        \
    vstore4(pb[B_PLACE(wn + lane % NI, OWN_CHUNK(kk, q)) + j * NI * 4], q,     \
            fb[j])
#endif

/* ---- products of NVIDIA's sm_90: groups of four sub-groups ----
 *
 * wgmma reads both operands from local memory, whose exchanged chunks are its
 * own layout "64-byte swizzle". Each of FM instructions has 64 rows, 16 of each
 * sub-group. */

#ifdef WGMMA
#define MULTIPLY_STRIP                                                         \
    WGMMA_STRIP(s, ta[now % A_STAGES] + wm * 4, tb[now % B_STAGES] + wn * 4);
#define SHOW() SHOW_COPIES()
#define FRAGMENT_ROW(i) (wm + (i)*64 + own % 4 * 16)
#define OWN_ROW (own / 4 / WN * (FM * 64))
#define OWN_COLUMN (own / 4 % WN * (FN * NI))
#else
#define SHOW()
#define FRAGMENT_ROW(i) (wm + (i)*MI)
#define OWN_ROW (own / WN * (FM * MI))
#define OWN_COLUMN (own % WN * (FN * NI))
#endif

#if !INTEL_DPAS
/* Unrolled, only half of the waves fit, and without a unit not all sums. */
#if (defined(IN_TURN) && KIND == MFMA942) || DOTS
#define EACH_SPAN(i, n) _Pragma("nounroll") for (int i = 0; i < n; i++)
#else
#define EACH_SPAN EACH_FRAGMENT
#endif
#define BUFFERS                                                                \
    local uint4 ta[A_STAGES][TM * 4] ALIGNED, tb[B_STAGES][TN * 4] ALIGNED;
#ifdef WGMMA
#define ALIGNED __attribute__((aligned(1024)))
#else
#define ALIGNED
#define MULTIPLY_STRIP                                                         \
    EACH_SPAN(kk, STRIP / SPAN)                                                \
    {                                                                          \
        const local uint4 *pa = ta[now % A_STAGES], *pb = tb[now % B_STAGES];  \
        uint fa[FM][AW * SPAN / KW], fb[FN][BW * SPAN / KW];                   \
        LOAD_A(kk);                                                            \
        LOAD_B(kk);                                                            \
        EACH_FRAGMENT(t, SPAN / KW)                                            \
        EACH_FRAGMENT(i, FM)                                                   \
        EACH_FRAGMENT(j, FN)                                                   \
        MMA(s[i][j], (fa[i] + t * AW), (fb[j] + t * BW));                      \
    }
#endif
#endif

/* ---- Intel ----
 *
 * Fragments of B come from global memory. A strip is multiplied in STEPS, each
 * with one of them; it is read SLOTS / 2 steps before, because that takes long.
 * A's chunks are brought in two parts, each while a half of the strip before is
 * multiplied, to have fewer in flight. */

#if INTEL_DPAS
#define BUFFERS local uint4 ta[A_STAGES][TM * 4];
#define STEPS (STRIP / KW * FN)
#define SLOTS (FN > 1 ? 4 : 2)
#define HALF ((NA + 1) / 2)
#define IN_HALF(kk) ((kk) ? NA - HALF : HALF)
#define REGISTERS                                                              \
    flight ra[HALF];                                                           \
    const global uint4 *pb = b + ((size_t)from * columns + n0 + wn) * 4;       \
    uint fb[SLOTS][BW];
#define LOAD_A(kk)                                                             \
    EACH_FRAGMENT(i, FM)                                                       \
    LOAD_ROWS(fa[i], pa + A_PLACE(wm + i * MI, (kk)*2))
#define LOAD_B(t, p)                                                           \
    LOAD_FAR_WORDS(fb[(t) % SLOTS], (p) + (t) % FN * NI * 4 + (t) / FN * NI * 2)
#define BEGIN                                                                  \
    EACH_FRAGMENT(t, SLOTS / 2)                                                \
    LOAD_B(t, pb);                                                             \
    BRING_A(from, 0, HALF);                                                    \
    PUT_A(from, 0, HALF);                                                      \
    BRING_A(from, HALF, NA - HALF);                                            \
    PUT_A(from, HALF, NA - HALF);
#define BRING_STRIP barrier(CLK_LOCAL_MEM_FENCE);
#define MULTIPLY_HALF(kk)                                                      \
    do {                                                                       \
        const local uint4 *pa = ta[now % A_STAGES];                            \
        uint fa[FM][AW];                                                       \
                                                                               \
        if (now + 1 < end)                                                     \
            BRING_A(now + 1, (kk)*HALF, IN_HALF(kk));                          \
        LOAD_A(kk);                                                            \
        EACH_FRAGMENT(j, FN)                                                   \
        {                                                                      \
            const int t = (kk)*FN + j, ahead = t + SLOTS / 2;                  \
                                                                               \
            if (ahead < STEPS)                                                 \
                LOAD_B(ahead, pb);                                             \
            else                                                               \
                LOAD_B(ahead - STEPS, next);                                   \
            EACH_FRAGMENT(i, FM)                                               \
            MMA(s[i][j], fa[i], fb[t % SLOTS]);                                \
        }                                                                      \
        if (now + 1 < end)                                                     \
            PUT_A(now + 1, (kk)*HALF, IN_HALF(kk));                            \
    } while (0)
#define MULTIPLY_STRIP /* no loop: see STORE_TILE */                           \
    const global uint4 *next = now + 1 < end ? pb + columns * 4 : pb;          \
                                                                               \
    MULTIPLY_HALF(0);                                                          \
    MULTIPLY_HALF(1);                                                          \
    pb = next;
#define PUT_STRIP
#endif

/* ---- the epilogue ---- */

/* Stores C[m,n], whose sum is y. */
static inline void
store(global VT_TYPE(CT) * c, source a, global const uint4 *restrict b,
      global const float *restrict bias, global const float *restrict scale,
      global const VT_TYPE(RST) * residual, int m, int n, int M, int N, int ldc,
      int columns, int strips, sum y SUMS)
{
#ifdef SPLIT
    if (m < M && n < N)
        sums[at + (vt_group(2) * (size_t)M + m) * N + n] = y;
#else
    const size_t to = (size_t)m * ldc + n;
    float v = y;

    if (m >= M || n >= N)
        return;
#if TYPE == INT8
    /* a step of a row, and of a column */
    v *= ((global const float *)(a + (size_t)M * strips * 4))[m];
    v *= ((global const float *)(b + (size_t)columns * strips * 4))[n];
#endif
    VT_STORE(CT, c, to, vt_epilogue(v, bias, scale, residual, n, to));
#endif
}
#define STORE_FRAGMENT(i, j)                                                   \
    EACH_FRAGMENT(e, CW)                                                       \
    store(c, a, b, bias, scale, residual,                                      \
          m0 + FRAGMENT_ROW(i) + C_ROW(lane, e),                               \
          n0 + wn + (j)*NI + C_COLUMN(lane, e), M, N, ldc, columns, strips,    \
          SUM(i, j, e) SUMS_GIVEN)

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
#define STORE_TILE                                                             \
    EACH_FRAGMENT(i, FM)                                                       \
    EACH_FRAGMENT(e, CW / 2)                                                   \
    EACH_FRAGMENT(j, FN / 4)                                                   \
    {                                                                          \
        float t[4], u[4];                                                      \
                                                                               \
        EACH(q, 4) {                                                           \
            t[q] = SUM_BITS(SUM(i, j * 4 + q, 2 * e));                         \
            u[q] = SUM_BITS(SUM(i, j * 4 + q, 2 * e + 1));                     \
        }                                                                      \
        TURN4(t);                                                              \
        TURN4(u);                                                              \
        store8(c, a, b, bias, scale, residual,                                 \
               m0 + FRAGMENT_ROW(i) + C_ROW(lane, 2 * e),                      \
               n0 + wn + (j * 4 + lane % 4) * NI, M, N, ldc, columns, strips,  \
               (float8)(t[0], u[0], t[1], u[1], t[2], u[2], t[3], u[3]));      \
    }
#elif defined(EMULATE) || NVIDIA_MMA || AMD_UNIT
#define STORE_TILE                                                             \
    EACH_FRAGMENT(i, FM)                                                       \
    EACH_FRAGMENT(j, FN)                                                       \
    STORE_FRAGMENT(i, j);
#else
/* Not loops: one compiler would not unroll them, and have s in memory. */
#define STORE_ROWS(i)                                                          \
    do {                                                                       \
        STORE_FRAGMENT(i, 0);                                                  \
        if (FN > 1)                                                            \
            STORE_FRAGMENT(i, 1 % FN);                                         \
        if (FN > 2)                                                            \
            STORE_FRAGMENT(i, 2 % FN);                                         \
        if (FN > 3)                                                            \
            STORE_FRAGMENT(i, 3 % FN);                                         \
    } while (0)
#define STORE_TILE                                                             \
    STORE_ROWS(0);                                                             \
    if (FM > 1)                                                                \
        STORE_ROWS(1 % FM);                                                    \
    if (FM > 2)                                                                \
        STORE_ROWS(2 % FM);                                                    \
    if (FM > 3)                                                                \
        STORE_ROWS(3 % FM);
#endif

/* ---- the kernel ---- */

#if defined(EMULATE) && !DOTS
#define EMULATED local uint x[WM * WN * SCRATCH] __attribute__((aligned(16)));
#else
#define EMULATED
#endif

kernel __attribute__((reqd_work_group_size(WI, 1, 1))) SUBGROUP void
gemm_mma(global VT_TYPE(CT) * c, source a, global const uint4 *restrict b,
         global const float *restrict bias, global const float *restrict scale,
         global const VT_TYPE(RST) * residual, int M, int N, int K, int lda,
         int ldc, int columns SUMS)
{
    BUFFERS
    EMULATED
    const int lid = get_local_id(0), lane = lid % LANES;
    const int m0 = vt_group(0) * TM, n0 = vt_group(1) * TN;
    const int own = ALL_LANES_HAVE(lid / LANES);
    const int wm = OWN_ROW, wn = OWN_COLUMN;
    const int strips = (K + TERMS - 1) / TERMS;
    const int from = FROM, end = END;
    sum s[FM][FN][CW] __attribute__((aligned(64)));
    EARLIER
    REGISTERS

    EACH_SUM(i, j, e)
    s[i][j][e] = 0;
    BEGIN_EARLIER
    BEGIN
    for (int now = from; now < end; now++) {
        END_PART
        BRING_STRIP
        MULTIPLY_STRIP
        PUT_STRIP
    }
    STORE_TILE
}
#endif
