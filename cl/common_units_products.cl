/*
 * common_units_products.cl - what the kernels of gemm_mma_*.cl share: a tile of
 * a product, its chunks in memory, its fragments, and its sums.
 *
 *     C[m,n] = residual[m,n] + scale[n] * act(sum_k A(m,k) B(n,k) + bias[n])
 *
 * Each of these files is a way of bringing A and B:
 *
 *   gemm_mma_copies.cl     NVIDIA's from sm_80 on: asynchronous copies
 *   gemm_mma_registers.cl  sm_75, AMD's, and without a unit: registers
 *   gemm_mma_blocks.cl     Intel's: B by block reads of global memory
 *
 * Kernel    C[M,N] <- A[m*lda + k], rounded on the way to f16 or bf16; B, the
 *           weights in f16 or bf16, and for int8 both, as gemm_mma_pack.cl
 *           packs them. PRODUCT are its arguments, and it has these names:
 *           int lid, lane; m0 and n0, where its tile begins; wm and wn, where
 *           its sub-group begins in it; strips, of K; local uint x[]
 *           (EMULATED); sums s, and with IN_TURN those of earlier parts.
 * How       A work-group computes a tile of TM x TN, and each of its WM x WN
 *           sub-groups FM x FN products of MI x NI. Strips of 16 words of k (a
 *           word has 2 halves or 4 bytes) go through local memory, while the
 *           strip before is multiplied. There, chunks of 16 bytes of a row are
 *           exchanged, so that reads of fragments meet all banks.
 * KIND      The instruction, and what a lane holds: common_units.cl.
 * Parts     With PART=n the sums of each n strips of k begin at zero, and are
 *           added in their order: here (IN_TURN) or, with SPLIT, where
 *           dimension 2 is the part, in gemm_sum.cl from
 *           sums[at + part*M*N + m*N + n]. Both have the same bits; whole
 *           numbers of int8 need no PART.
 * Launch    global {WI * ceil(M/TM), ceil(N/TN), parts}, local {WI, 1, 1}; any
 *           sizes.
 * Defines   KIND EMULATE WM WN FM FN; TYPE, of the product: BF16, F16 or
 *           INT8; AT CT, of A and C in memory: f32, f16, bf16; SAME_A: AT is
 *           TYPE; WIDE_A, WIDE_C: rows of A, of C and what is added begin at
 *           multiples of 16 bytes, and N is one of 8; PART and SPLIT; the
 *           epilogue's.
 * Numerics  Sums are f32 (int8: whole numbers), in an order that depends on K,
 *           PART and KIND alone.
 *
 * Host      host/gemm/mma.c           Test  tests/ops/test_gemm_mma.c
 */
#if defined(KIND) && defined(WN)
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

/* A's chunks first to first + n - 1 of a strip to registers, and from there to
 * a strip in local memory. */
#if TYPE == INT8
#define BRING_A(to, strip, first, n)                                           \
    EACH(i, n)                                                                 \
    (to)[i] = a[A_AT((first) + i, strip)]
#else
#define BRING_A(to, strip, first, n)                                           \
    do {                                                                       \
        if (((strip) + 1) * TERMS <= K) {                                      \
            EACH(i, n)                                                         \
                (to)[i] = bring(a, A_AT((first) + i, strip), 0, K, false);     \
        } else {                                                               \
            EACH(i, n)                                                         \
                (to)[i] =                                                      \
                    bring(a, A_AT((first) + i, strip),                         \
                          (strip)*TERMS + A_PART((first) + i) * 8, K, true);   \
        }                                                                      \
    } while (0)
#endif
#define PUT_A(to, from, first, n)                                              \
    EACH(i, n)                                                                 \
    (to)[A_TO((first) + i)] = arrived((from)[i])

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
#define BEGIN_SUMS(s, earlier)                                                 \
    EACH_SUM(i, j, e)                                                          \
    s[i][j][e] = 0;                                                            \
    EACH_SUM(i, j, e)                                                          \
    earlier[i][j][e] = 0
#define END_PART(now, s, earlier)                                              \
    if ((now) > 0 && (now) % PART == 0)                                        \
        EACH_SUM(i, j, e)                                                      \
        {                                                                      \
            earlier[i][j][e] += s[i][j][e];                                    \
            s[i][j][e] = 0;                                                    \
        }
#define ALL(s, earlier, i, j, e) (earlier[i][j][e] + s[i][j][e])
#else
#define BEGIN_SUMS(s, earlier)                                                 \
    EACH_SUM(i, j, e)                                                          \
    s[i][j][e] = 0
#define END_PART(now, s, earlier)
#define ALL(s, earlier, i, j, e) s[i][j][e]
#endif

/* ---- fragments of a strip in local memory, and their products ---- */

#if DOTS /* a chunk of each of the lane's rows, and columns */
#define LOAD_A(fa, pa, kk)                                                     \
    EACH_FRAGMENT(i, FM)                                                       \
    EACH_FRAGMENT(q, AW / KW)                                                  \
    vstore4((pa)[A_PLACE(wm + i * MI + A_ROW(lane, q), kk)], q, fa[i])
#define LOAD_B(fb, pb, kk)                                                     \
    EACH_FRAGMENT(j, FN)                                                       \
    EACH_FRAGMENT(q, BW / KW)                                                  \
    vstore4((pb)[B_PLACE(wn + j * NI + B_COLUMN(lane, q), kk)], q, fb[j])
#elif NVIDIA_MMA
/* rows 0-7 and 8-15 of words 0-3, then of words 4-7 */
#define LOAD_A(fa, pa, kk)                                                     \
    EACH_FRAGMENT(i, FM)                                                       \
    LDMATRIX(fa[i], (pa) + A_PLACE(wm + i * MI + lane % 16, (kk)*2 + lane / 16))
/* columns 0-7 with words 0-3 and 4-7, then columns 8-15 */
#define LOAD_B(fb, pb, kk)                                                     \
    EACH_FRAGMENT(j, FN / 2)                                                   \
    {                                                                          \
        uint t[4];                                                             \
        LDMATRIX(t, (pb) + B_PLACE(wn + j * 16 + lane % 8 + lane / 16 * 8,     \
                                   (kk)*2 + lane / 8 % 2));                    \
        fb[2 * j][0] = t[0], fb[2 * j][1] = t[1];                              \
        fb[2 * j + 1][0] = t[2], fb[2 * j + 1][1] = t[3];                      \
    }
#elif AMD_UNIT
/* For SPAN words of k, a half of the lanes reads a chunk of 4 words and the
 * other half the next one, or on gfx11 all lanes both. The instruction has them
 * in another order; but any will do, if A and B have the same. Rows which are a
 * multiple of 8 apart have the same places in their rows. */
#define OWN_CHUNK(kk, q) ((kk)*2 + (KIND == WMMA11 ? (q) : lane / MI))
#define LOAD_A(fa, pa, kk)                                                     \
    EACH_FRAGMENT(i, FM)                                                       \
    EACH_FRAGMENT(q, AW *SPAN / KW / 4)                                        \
    vstore4((pa)[A_PLACE(wm + lane % MI, OWN_CHUNK(kk, q)) + i * MI * 4], q,   \
            fa[i])
#define LOAD_B(fb, pb, kk)                                                     \
    EACH_FRAGMENT(j, FN)                                                       \
    EACH_FRAGMENT(q, BW *SPAN / KW / 4)                                        \
    vstore4((pb)[B_PLACE(wn + lane % NI, OWN_CHUNK(kk, q)) + j * NI * 4], q,   \
            fb[j])
#endif

/* Unrolled, only half of the waves fit, and without a unit not all sums. */
#if (defined(IN_TURN) && KIND == MFMA942) || DOTS
#define EACH_SPAN(i, n) _Pragma("nounroll") for (int i = 0; i < n; i++)
#else
#define EACH_SPAN EACH_FRAGMENT
#endif
/* Adds the products of a strip of A and one of B. */
#define MULTIPLY(s, ta, tb)                                                    \
    EACH_SPAN(kk, STRIP / SPAN)                                                \
    {                                                                          \
        const local uint4 *pa = ta, *pb = tb;                                  \
        uint fa[FM][AW * SPAN / KW], fb[FN][BW * SPAN / KW];                   \
        LOAD_A(fa, pa, kk);                                                    \
        LOAD_B(fb, pb, kk);                                                    \
        EACH_FRAGMENT(t, SPAN / KW)                                            \
        EACH_FRAGMENT(i, FM)                                                   \
        EACH_FRAGMENT(j, FN)                                                   \
        MMA(s[i][j], (fa[i] + t * AW), (fb[j] + t * BW));                      \
    }

/* ---- the kernel's arguments ---- */

#define PRODUCT                                                                \
    global VT_TYPE(CT) * c, source a, global const uint4 *restrict b,          \
        global const float *restrict bias, global const float *restrict scale, \
        global const VT_TYPE(RST) * residual, int M, int N, int K, int lda,    \
        int ldc, int columns SUMS
/* wgmma needs it to exchange results alone; PoCL refuses one without a use. */
#if defined(EMULATE) && !DOTS && (!defined(WGMMA) || defined(WIDE_C))
#define EMULATED local uint x[WM * WN * SCRATCH] __attribute__((aligned(16)));
#else
#define EMULATED
#endif
#endif
