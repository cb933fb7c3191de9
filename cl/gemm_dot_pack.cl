/*
 * gemm_dot_pack.cl - the operands of gemm_dot.cl as words: common_dot.cl.
 *
 * gemm_dot_rows   words of A[M,K]: bf16 pairs; or integers or f16, with one
 *                 scale per row. take > 0: of layer norm of the first `take` of
 *                 every `of` rows, as layernorm.cl computes it, never stored
 * gemm_dot_scale  packed's column scales, and for integers sums, <- B; not for
 *                 bf16, and before gemm_dot_pack
 * gemm_dot_pack   packed <- B[N,K] or B[K,N]
 *
 * Launch    _rows: global {ceil(M/BLOCK_ROWS)}; _scale: {panels * NW};
 *           _pack: {panels, ceil(KW/64)}.
 * Defines   V NV DOT TILES TOP; TRANS_B; XT, how A is stored; _rows: WG=1, and
 *           V of layernorm.cl. TOP: the largest magnitude of integers;
 *           TOP * TOP * K < 2^31.
 * Numerics  Rounded to nearest, a row the same with any V. The scale of a row
 *           depends on that row alone, and is NaN if it has inf or NaN. DOT 4
 *           adds two products in 16
 *           bits, so a column's scale also keeps the sum of two adjacent
 *           weights within 128: 255 * 128 < 2^15. Scales of f16 are powers of
 *           two: the largest magnitude of a row or column is then from 8 to 16,
 *           so that no number is too large, and common_halves.cl's sums are
 *           not, either.
 * Host      host/gemm/dot.c           Test  tests/ops/test_gemm_forms.c,
 *                                           test_gemm_f16.c
 */
#ifndef DOT
#define DOT 1
#endif
#ifndef NV
#define NV 2
#endif
#ifndef TOP
#define TOP 127
#endif
#define NW (NV * V)
/* Bytes of A are unsigned; with this bit turned they are 128 less and signed.
 */
#define SIGN (DOT == 5 || DOT == 6 ? 128 : 0)

#if DOT == 1
typedef short integer;
#elif VT_DOT_F16
typedef ushort integer;
#else
typedef char integer;
#endif

/* V bytes or, with DOT 1, shorts are stored as words: PoCL stores bytes and
 * shorts one by one. */
#if V == 4 && DOT != 1
#define STORE_WORDS(x, to) *(to) = as_uint(x)
#elif V == 16 && DOT == 1
#define STORE_WORDS(x, to) vstore8(as_uint8(x), 0, to)
#elif V == 16 || (V == 8 && DOT == 1)
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

/* The power of two by which `most` is 8 to 16. */
static inline float factor_of(float most)
{
    return as_float((257 - max(as_int(most) >> 23, 4)) << 23);
}
/* Of a power of two. */
static inline float inverse_of(float x)
{
    return as_float((254 << 23) - as_int(x));
}

/* Rounds to nearest; |x| < 2^22. */
static inline int nearest(float x)
{
    return as_int(x + 12582912.0f) - 0x4b400000;
}

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

#define ROW_ARGS                                                               \
    global int *restrict out, global const VT_TYPE(XT) *restrict a,            \
        global const float *restrict gamma, global const float *restrict beta, \
        int M, int K, int lda, int ldw, int take, int of, float eps, int m0

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

/* Each step is done for a block of rows, because it waits for the one before.
 */
static inline INLINED void round_rows(ROW_ARGS, const bool norm)
{
    const int KW = VT_WORDS(K), rows = min(M - m0, BLOCK_ROWS);
    global float *steps = (global float *)(out + (size_t)M * ldw) + m0;
    global int *zeros = (global int *)(steps + M);
    float mean[BLOCK_ROWS], rstd[BLOCK_ROWS], least[BLOCK_ROWS],
        most[BLOCK_ROWS], wrong[BLOCK_ROWS];

    for (int r = 0; norm && r < rows; r++)
        mean[r] = wg_row_sum(FROM(r), K, 0) / K;
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

#if DOT == 1
        const float top = fmax(most[r], -least[r]);
        const float step = top / TOP, inverse = top > 0.0f ? TOP / top : 0.0f;
        const int zero = 0;
        for (; k + V <= K; k += V) {
            const floatv t = ROWV(k) * inverse + 12582912.0f;
            STORE_WORDS(TO_SHORTS(as_intv(t) - 0x4b400000), to + k / 2);
        }
        for (; k < KW * VT_KG; k++)
            ((global short *)to)[k] = k < K ? nearest(ROW(k) * inverse) : 0;
#elif VT_DOT_F16
        const float factor = factor_of(fmax(most[r], -least[r]));
        const float step = inverse_of(factor);
        const int zero = 0;
        global ushort *halves = (global ushort *)to;
        for (; k + V <= K; k += V)
            VT_STOREV(f16, halves, k, ROWV(k) * factor);
        for (; k < KW * VT_KG; k++)
            vt_f16_store(k < K ? ROW(k) * factor : 0.0f, halves, k);
#else
        const float step = (most[r] - least[r]) / 255;
        const float inverse = step > 0.0f ? 1.0f / step : 0.0f;
        const int zero = nearest(-least[r] * inverse);
        for (; k + V <= K; k += V) {
            const floatv t = ROWV(k) * inverse + 12582912.0f;
            const intv n = clamp(as_intv(t) - 0x4b400000 + zero, 0, 255);
            STORE_WORDS(TO_BYTES(n ^ SIGN), to + k / 4);
        }
        for (; k < KW * VT_KG; k++)
            ((global uchar *)to)[k] =
                (k < K ? clamp(nearest(ROW(k) * inverse) + zero, 0, 255)
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

#ifdef TRANS_B
#define AT(n, k) ((size_t)(k)*ldb + (n))
#else
#define AT(n, k) ((size_t)(n)*ldb + (k))
#endif

#if !VT_DOT_BF16
kernel void gemm_dot_scale(global int *restrict out,
                           global const float *restrict b, int N, int K,
                           int ldb)
{
    const int n = get_global_id(0), KW = VT_WORDS(K);
    global float *columns = VT_SCALES(out, N, KW);
    uint most = 0; /* the bits of non-negative floats, in their order */

    for (int k = 0; n < N && k < K; k++) {
        most = max(most, as_uint(fabs(b[AT(n, k)])));
#if DOT == 4
        if (k % 2)
            most = max(most, as_uint(fabs(b[AT(n, k - 1)] + b[AT(n, k)])));
#endif
    }
    /* NaN if any is inf or NaN */
#if VT_DOT_F16
    columns[n] =
        most < 0x7f800000u ? inverse_of(factor_of(as_float(most))) : NAN;
#else
    const float top = most < 0x7f800000u ? as_float(most) / TOP : NAN;
    /* as in gemm_dot_pack */
    const float inverse = top > 0.0f ? 1.0f / top : 0.0f;
    int sum = 0;

    columns[n] = top;
    for (int k = 0; n < N && k < K; k++)
        sum += clamp(nearest(b[AT(n, k)] * inverse), -TOP, TOP);
    ((global int *)(columns + VT_COLUMNS(N)))[n] = sum;
#endif
}
#endif

#if VT_DOT_BF16 && VT_STEP == 1
/* Words w0 to w1 - 1 of a whole panel: B's lines are read once, in order. */
static inline void pack_panel(global int *restrict to,
                              global const float *restrict b, int ldb, int w0,
                              int w1)
{
#ifdef TRANS_B
    for (int w = w0; w < w1; w++) {
        global const float *low = b + AT(0, 2 * w), *high = low + ldb;

        EACH(v, NV)
            vstorev(vt_bf16_wordsv(vloadv(v, low), vloadv(v, high)), v,
                    to + w * NW);
    }
#else
    for (int n = 0; n < NW; n += 4) {
        int w = w0;

        for (; w + 4 <= w1; w += 4) {
            float4 x[4];

            EACH(i, 4) {
                const float8 k = vload8(0, b + AT(n + i, 2 * w));
                x[i] = as_float4(vt_bf16_words4(k.even, k.odd));
            }
            VT_STORE_TRANSPOSED(x[0], x[1], x[2], x[3],
                                (global float *)to + w * NW + n, NW);
        }
        for (; w < w1; w++)
            EACH(i, 4)
                to[w * NW + n + i] =
                    vt_bf16_words(b[AT(n + i, 2 * w)], b[AT(n + i, 2 * w + 1)]);
    }
#endif
}
#endif

kernel void gemm_dot_pack(global int *restrict out,
                          global const float *restrict b, int N, int K, int ldb)
{
    const int n0 = get_global_id(0) * NW, w0 = get_global_id(1) * 64;
    const int KW = VT_WORDS(K), w1 = min(KW, w0 + 64);
    const int G = VT_DOT_F16 ? 1 : VT_KG * VT_STEP;

#if VT_DOT_BF16 && VT_STEP == 1
    if (n0 + NW <= N && 2 * w1 <= K) {
        pack_panel(out + (size_t)n0 * KW, b + AT(n0, 0), ldb, w0, w1);
        return;
    }
#endif
    for (int n = n0; n < n0 + NW; n++) {
#if VT_DOT_BF16
        global ushort *to = (global ushort *)(out + (size_t)n0 * KW);
#else
        global integer *to = (global integer *)(out + (size_t)n0 * KW);
        const float top = VT_SCALES(out, N, KW)[n];
        const float inverse = VT_DOT_F16   ? inverse_of(top)
                              : top > 0.0f ? 1.0f / top
                                           : 0.0f;
#endif
        for (int k = w0 * VT_KG; k < w1 * VT_KG; k++) {
            const float x = n < N && k < K ? b[AT(n, k)] : 0.0f;
            const size_t at = ((size_t)(k / G) * NW + n - n0) * G + k % G;
#if VT_DOT_BF16
            to[at] = vt_bf16_round(x);
#elif VT_DOT_F16
            vt_f16_store(x * inverse, to, at);
#else
            to[at] = (integer)clamp(nearest(x * inverse), -TOP, TOP);
#endif
        }
    }
}
