/*
 * gemm_dot_pack.cl - B of gemm_dot.cl as words: common_dot.cl.
 *
 * gemm_dot_scale  packed's column scales, and for integers sums, <- B; not for
 *                 bf16, and before gemm_dot_pack
 * gemm_dot_pack   packed <- B[N,K] or B[K,N]
 *
 * Launch    _scale: {panels * NW}; _pack: {panels, ceil(KW/64)}.
 * Defines   V NV DOT TILES TOP; TRANS_B. TOP: the largest magnitude of
 *           integers; TOP * TOP * K < 2^31.
 * Numerics  Rounded to nearest. The scale of a column depends on that column
 *           alone, and is NaN if it has inf or NaN. VPMADDUBSW adds two
 *           products in 16 bits, so a column's scale also keeps the sum of two
 *           adjacent weights within 128: 255 * 128 < 2^15. Scales of f16 are
 *           powers of two: the largest magnitude of a column is then from 8 to
 *           16, so that no number is too large, and common_halves.cl's sums are
 *           not, either.
 * Host      host/gemm/dot.c           Test  tests/ops/test_gemm_forms.c,
 *                                           test_gemm_f16.c
 */
#ifndef DOT
#define DOT VPMADDWD
#endif
#ifndef NV
#define NV 2
#endif
#ifndef TOP
#define TOP 127
#endif
#define NW (NV * V)
#if DOT == VPMADDWD
typedef short integer;
#elif VT_DOT_F16
typedef ushort integer;
#else
typedef char integer;
#endif

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
#if DOT == VPMADDUBSW
        if (k % 2)
            most = max(most, as_uint(fabs(b[AT(n, k - 1)] + b[AT(n, k)])));
#endif
    }
    /* NaN if any is inf or NaN */
#if VT_DOT_F16
    columns[n] =
        most < 0x7f800000u ? vt_inverse_of(vt_factor_of(as_float(most))) : NAN;
#else
    const float top = most < 0x7f800000u ? as_float(most) / TOP : NAN;
    /* as in gemm_dot_pack */
    const float inverse = top > 0.0f ? 1.0f / top : 0.0f;
    int sum = 0;

    columns[n] = top;
    for (int k = 0; n < N && k < K; k++)
        sum += clamp(vt_nearest(b[AT(n, k)] * inverse), -TOP, TOP);
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
        const float inverse = VT_DOT_F16   ? vt_inverse_of(top)
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
            to[at] = (integer)clamp(vt_nearest(x * inverse), -TOP, TOP);
#endif
        }
    }
}
