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
 * Launch    _rows: global {M}; _scale: {panels * NW}; _pack: {panels,
 *           ceil(KW/64)}.
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
/* Numbers of a row: a's own with mean 0, rstd 1, no gamma and no beta. */
#define ROWV(k) vt_normalisedv(VT_LOADV(XT, a, k), mean, rstd, gamma, beta, k)
#define ROW(k) vt_normalised(VT_LOAD(XT, a, k), mean, rstd, gamma, beta, k)

static inline OUTLINED void
round_row(global uint *restrict to, global float *restrict scale,
          global int *restrict zero_point, global const VT_TYPE(XT) *restrict a,
          global const float *restrict gamma, global const float *restrict beta,
          int K, bool norm, float eps)
{
    const int KW = VT_WORDS(K);
    const float mean = norm ? wg_row_sum(a, K, 0) / K : 0.0f;
    const float rstd =
        norm ? 1.0f / sqrt(wg_row_square(a, K, mean, 0) / K + eps) : 1.0f;
    floatv low = (floatv)(0.0f), high = low,
           bad = low; /* NaN if any is inf or NaN */
    int k = 0;

    for (; k + V <= K; k += V) {
        const floatv x = ROWV(k);
        low = select(low, x, x < low);
        high = select(high, x, x > high);
        bad += x * 0.0f;
    }
    float least = -vt_hmax(-low), most = vt_hmax(high), wrong = vt_hsum(bad);
    for (; k < K; k++) {
        const float x = ROW(k);
        least = fmin(least, x), most = fmax(most, x);
        wrong += x * 0.0f;
    }
    k = 0;
#if DOT == 1
    most = fmax(most, -least);
    const float step = most / TOP, inverse = most > 0.0f ? TOP / most : 0.0f;
    const int zero = 0;
    for (; k + V <= K; k += V) {
        const floatv t = ROWV(k) * inverse + 12582912.0f;
        STORE_WORDS(TO_SHORTS(as_intv(t) - 0x4b400000), to + k / 2);
    }
    for (; k < KW * VT_KG; k++)
        ((global short *)to)[k] = k < K ? nearest(ROW(k) * inverse) : 0;
#elif VT_DOT_F16
    const float factor = factor_of(fmax(most, -least));
    const float step = inverse_of(factor);
    const int zero = 0;
    global ushort *halves = (global ushort *)to;
    for (; k + V <= K; k += V)
        VT_STOREV(f16, halves, k, ROWV(k) * factor);
    for (; k < KW * VT_KG; k++)
        vt_f16_store(k < K ? ROW(k) * factor : 0.0f, halves, k);
#else
    const float step = (most - least) / 255;
    const float inverse = step > 0.0f ? 1.0f / step : 0.0f;
    const int zero = nearest(-least * inverse);
    for (; k + V <= K; k += V) {
        const floatv t = ROWV(k) * inverse + 12582912.0f;
        const intv n = clamp(as_intv(t) - 0x4b400000 + zero, 0, 255);
        STORE_WORDS(TO_BYTES(n ^ SIGN), to + k / 4);
    }
    for (; k < KW * VT_KG; k++)
        ((global uchar *)to)[k] =
            (k < K ? clamp(nearest(ROW(k) * inverse) + zero, 0, 255) : zero) ^
            SIGN;
#endif
    *scale = step + wrong;
    *zero_point = zero - SIGN;
}
#endif

kernel void gemm_dot_rows(global int *restrict out,
                          global const VT_TYPE(XT) *restrict a,
                          global const float *restrict gamma,
                          global const float *restrict beta, int M, int K,
                          int lda, int ldw, int take, int of, float eps)
{
    const int m = get_global_id(0);
    const int from = take ? m / take * of + m % take : m;
    global uint *to = (global uint *)out + (size_t)m * ldw;

    a += (size_t)from * lda;
#if VT_DOT_BF16
    round_row(to, a, K);
#else
    global float *rows = (global float *)(out + (size_t)M * ldw);

    round_row(to, rows + m, (global int *)(rows + M) + m, a, gamma, beta, K,
              take > 0, eps);
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
