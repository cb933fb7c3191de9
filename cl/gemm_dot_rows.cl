/*
 * gemm_dot_rows.cl - A of gemm_dot.cl as words: common_dot.cl.
 *
 * gemm_dot_rows   words <- A[M,K]: bf16 pairs; or integers or f16, with one
 *                 scale per row. take > 0: <- layer norm of the first `take` of
 *                 every `of` rows of A, as layernorm.cl computes it,
 *                 with or without RMS
 *
 * Launch    global {ceil(M/BLOCK_ROWS)}, local {1}
 * Defines   V and RMS, those of layernorm.cl; WG=1; DOT TILES TOP, those of
 *           gemm_dot_pack.cl; XT, how A is stored.
 * Numerics  As gemm_dot_pack.cl: the scale of a row depends on that row alone,
 *           and is NaN if it has inf or NaN. Words are the same with any V, and
 *           those of layer norm are those of its result in f32.
 * Host      host/gemm/dot.c, host/ops/layernorm.c
 * Test      tests/ops/test_gemm_forms.c, test_gemm_f16.c, test_layernorm.c
 */
#ifndef RMS
#define RMS 0
#endif
#ifndef DOT
#define DOT VPMADDWD
#endif
#ifndef TOP
#define TOP 127
#endif
/* Bytes of A are unsigned; with this bit turned they are signed, 128 less. */
#define SIGN (DOT == SDOT || DOT == SMMLA ? 128 : 0)

/* V bytes or, with VPMADDWD, shorts are stored as words: PoCL stores bytes and
 * shorts one by one. */
#if V == 4 && DOT != VPMADDWD
#define STORE_WORDS(x, to) *(to) = as_uint(x)
#elif V == 16 && DOT == VPMADDWD
#define STORE_WORDS(x, to) vstore8(as_uint8(x), 0, to)
#elif V == 16 || (V == 8 && DOT == VPMADDWD)
#define STORE_WORDS(x, to) vstore4(as_uint4(x), 0, to)
#else
#define STORE_WORDS(x, to) vstore2(as_uint2(x), 0, to)
#endif
#if V == 16 /* there is no short32 */
#define TO_SHORTS convert_short16
#elif V == 8
#define TO_SHORTS(x) as_short16(x).even
#else
#define TO_SHORTS(x) as_short8(x).even
#endif
#define TO_BYTES VT_JOIN(convert_uchar, V)

#define BLOCK_ROWS 4 /* also in host/gemm/dot.c */
#if VT_DOT_BF16
static inline OUTLINED void
round_row(global uint *restrict to, global const VT_TYPE(XT) *restrict a, int K)
{
    const int KW = VT_WORDS(K);
    int w = 0;

    for (; 2 * (w + V) <= K; w += V) {
        const floatv x = vloadv(0, a + 2 * w), y = vloadv(1, a + 2 * w);
        vstorev(
            vt_bf16_wordsv((floatv)(x.even, y.even), (floatv)(x.odd, y.odd)), 0,
            (global int *)to + w);
    }
    for (; w < KW; w++) {
        const uint hi = 2 * w + 1 < K ? vt_bf16_round(a[2 * w + 1]) : 0;
        to[w] = hi << 16 | (2 * w < K ? vt_bf16_round(a[2 * w]) : 0);
    }
}
#else
/* The larger ones, none of which is NaN. */
#define LARGER(a, b) select(b, a, a > b)
static inline float largest(floatv v)
{
    float4 x;
#if V == 16
    const float8 h = LARGER(v.lo, v.hi);
    x = LARGER(h.lo, h.hi);
#elif V == 8
    x = LARGER(v.lo, v.hi);
#else
    x = v;
#endif
    const float2 y = LARGER(x.lo, x.hi);
    return y.x > y.y ? y.x : y.y;
}

/* Without restrict, which oclgrind does not know in INLINED functions. */
#define ROW_ARGS                                                               \
    global int *out, global const VT_TYPE(XT) * a, global const float *gamma,  \
        global const float *beta, int M, int K, int lda, int ldw, int take,    \
        int of, float eps, int m0

/* Row r of a block: its numbers, and layer norm of them. */
#define FROM(r)                                                                \
    (a +                                                                       \
     (size_t)(norm ? (m0 + (r)) / take * of + (m0 + (r)) % take : m0 + (r)) *  \
         lda)
#define ROWV(k)                                                                \
    (norm ? vt_normalisedv(VT_LOADV(XT, x, k), mean[r], rstd[r], gamma, beta,  \
                           k)                                                  \
          : VT_LOADV(XT, x, k))
#define ROW(k)                                                                 \
    (norm ? vt_normalised(VT_LOAD(XT, x, k), mean[r], rstd[r], gamma, beta, k) \
          : VT_LOAD(XT, x, k))

/* Each step is done for a block of rows, as it waits for the one before. */
static inline INLINED void round_rows(ROW_ARGS, const bool norm)
{
    const int KW = VT_WORDS(K), rows = min(M - m0, BLOCK_ROWS);
    global float *steps = (global float *)(out + (size_t)M * ldw) + m0;
    global int *zeros = (global int *)(steps + M);
    float mean[BLOCK_ROWS], rstd[BLOCK_ROWS], least[BLOCK_ROWS],
        most[BLOCK_ROWS], wrong[BLOCK_ROWS];

    for (int r = 0; norm && r < rows; r++)
        mean[r] = RMS ? 0.0f : wg_row_sum(FROM(r), K, 0) / K;
    for (int r = 0; norm && r < rows; r++)
        rstd[r] = 1.0f / sqrt(wg_row_square(FROM(r), K, mean[r], 0) / K + eps);
    for (int r = 0; r < rows; r++) {
        global const VT_TYPE(XT) *x = FROM(r);
        /* bad: NaN if any is inf or NaN */
        floatv low[2], high[2], bad[2];
        int k = 0;

        EACH(i, 2)
            low[i] = high[i] = bad[i] = (floatv)(0.0f);
        for (; k + 2 * V <= K; k += 2 * V)
            EACH(i, 2) {
                const floatv y = ROWV(k + i * V);
                low[i] = select(low[i], y, y < low[i]);
                high[i] = select(high[i], y, y > high[i]);
                bad[i] += y * 0.0f;
            }
        for (; k + V <= K; k += V) {
            const floatv y = ROWV(k);
            low[0] = select(low[0], y, y < low[0]);
            high[0] = select(high[0], y, y > high[0]);
            bad[0] += y * 0.0f;
        }
        least[r] = -largest(LARGER(-low[0], -low[1]));
        most[r] = largest(LARGER(high[0], high[1]));
        wrong[r] = vt_hsum(bad[0] + bad[1]);
        for (; k < K; k++) {
            const float y = ROW(k);
            least[r] = fmin(least[r], y), most[r] = fmax(most[r], y);
            wrong[r] += y * 0.0f;
        }
    }
    for (int r = 0; r < rows; r++) {
        global const VT_TYPE(XT) *x = FROM(r);
        global uint *to = (global uint *)out + (size_t)(m0 + r) * ldw;
        int k = 0;

#if DOT == VPMADDWD
        const float top = fmax(most[r], -least[r]);
        const float step = top / TOP, inverse = top > 0.0f ? TOP / top : 0.0f;
        const int zero = 0;
        for (; k + V <= K; k += V) {
            const floatv t = ROWV(k) * inverse + 12582912.0f;
            STORE_WORDS(TO_SHORTS(as_intv(t) - 0x4b400000), to + k / 2);
        }
        for (; k < KW * VT_KG; k++)
            ((global short *)to)[k] = k < K ? vt_nearest(ROW(k) * inverse) : 0;
#elif VT_DOT_F16
        const float factor = vt_factor_of(fmax(most[r], -least[r]));
        const float step = vt_inverse_of(factor);
        const int zero = 0;
        global ushort *halves = (global ushort *)to;
        for (; k + V <= K; k += V)
            VT_STOREV(f16, halves, k, ROWV(k) * factor);
        for (; k < KW * VT_KG; k++)
            vt_f16_store(k < K ? ROW(k) * factor : 0.0f, halves, k);
#else
        const float step = (most[r] - least[r]) / 255;
        const float inverse = step > 0.0f ? 1.0f / step : 0.0f;
        const int zero = vt_nearest(-least[r] * inverse);
        for (; k + V <= K; k += V) {
            const floatv t = ROWV(k) * inverse + 12582912.0f;
            const intv n = clamp(as_intv(t) - 0x4b400000 + zero, 0, 255);
            STORE_WORDS(TO_BYTES(n ^ SIGN), to + k / 4);
        }
        for (; k < KW * VT_KG; k++)
            ((global uchar *)to)[k] =
                (k < K ? clamp(vt_nearest(ROW(k) * inverse) + zero, 0, 255)
                       : zero) ^
                SIGN;
#endif
        steps[r] = step + wrong[r];
        zeros[r] = zero - SIGN;
    }
}

static inline OUTLINED void round_plain(ROW_ARGS)
{
    round_rows(out, a, gamma, beta, M, K, lda, ldw, take, of, eps, m0, false);
}
static inline OUTLINED void round_norm(ROW_ARGS)
{
    round_rows(out, a, gamma, beta, M, K, lda, ldw, take, of, eps, m0, true);
}
#endif

kernel void gemm_dot_rows(global int *restrict out,
                          global const VT_TYPE(XT) *restrict a,
                          global const float *restrict gamma,
                          global const float *restrict beta, int M, int K,
                          int lda, int ldw, int take, int of, float eps)
{
    const int m0 = get_global_id(0) * BLOCK_ROWS;

#if VT_DOT_BF16
    for (int m = m0; m < min(m0 + BLOCK_ROWS, M); m++)
        round_row((global uint *)out + (size_t)m * ldw, a + (size_t)m * lda, K);
#else
    if (take)
        round_norm(out, a, gamma, beta, M, K, lda, ldw, take, of, eps, m0);
    else
        round_plain(out, a, gamma, beta, M, K, lda, ldw, take, of, eps, m0);
#endif
}
