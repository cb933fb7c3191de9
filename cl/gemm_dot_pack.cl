/*
 * gemm_dot_pack.cl - B of gemm_dot.cl as words: common_dot.cl.
 *
 * gemm_dot_scale  packed's column scales, and for integers sums, <- B; not for
 *                 bf16, and before gemm_dot_pack
 * gemm_dot_pack   packed <- B[N,K] or B[K,N]
 *
 * How       A group reads long runs of B's lines: with TRANS_B, of PANELS
 *           panels. AVX-512 transposes 16 columns of 16 words of bf16 at a time
 *           in registers.
 * Launch    _scale: {panels * NW}; _pack: {ceil(panels/PANELS),
 *           ceil(KW/WORDS)}.
 * Defines   V NV DOT TILES TOP PANELS WORDS; TRANS_B. TOP: the largest
 *           magnitude of integers; TOP * TOP * K < 2^31.
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
#ifndef PANELS
#define PANELS 8
#define WORDS 32
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

#if VT_DOT_BF16 && VT_STEP == 1 && defined(__AVX512F__) && V == 16
#define WORDSV vt_words_of
#else
#define WORDSV vt_bf16_wordsv
#endif

#if VT_DOT_BF16 && VT_STEP == 1
/* Words w0 to w1 - 1 of n whole panels. Assembly is kept out of the kernel's
 * own body, see cl/gemm_dot.cl. */
static OUTLINED void pack_panels(global int *restrict to,
                                 global const float *restrict b, int ldb,
                                 int KW, int n, int w0, int w1)
{
#ifdef TRANS_B
    for (int w = w0; w < w1; w++) {
        global const float *low = b + AT(0, 2 * w), *high = low + ldb;

        for (int p = 0; p < n; p++)
            EACH(v, NV)
                vstorev(
                    WORDSV(vloadv(p * NV + v, low), vloadv(p * NV + v, high)),
                    v, to + ((size_t)p * KW + w) * NW);
    }
#else
    for (int p = 0; p < n; p++, to += (size_t)KW * NW, b += AT(NW, 0)) {
        int w = w0;

#if defined(__AVX512F__) && V == 16
        for (; w + V <= w1; w += V)
            EACH(v, NV) {
                int16 x[V];

                EACH(i, V)
                    x[i] = vt_words_32(b + AT(v * V + i, 2 * w));
                vt_words_transpose(x);
                EACH(i, V)
                    vstorev(x[i], v, to + (w + i) * NW);
            }
#endif
        for (; w < w1; w++)
            for (int i = 0; i < NW; i++)
                to[w * NW + i] =
                    vt_bf16_words(b[AT(i, 2 * w)], b[AT(i, 2 * w + 1)]);
    }
#endif
}
#endif

kernel void gemm_dot_pack(global int *restrict out,
                          global const float *restrict b, int N, int K, int ldb)
{
    const int w0 = get_global_id(1) * WORDS, KW = VT_WORDS(K);
    const int w1 = min(KW, w0 + WORDS), G = VT_DOT_F16 ? 1 : VT_KG * VT_STEP;
    int n0 = get_global_id(0) * PANELS * NW;
    const int end = min(n0 + PANELS * NW, VT_COLUMNS(N));

#if VT_DOT_BF16 && VT_STEP == 1
    if (2 * w1 <= K) {
        const int whole = (min(end, N) - n0) / NW;

        pack_panels(out + (size_t)n0 * KW, b + AT(n0, 0), ldb, KW, whole, w0,
                    w1);
        n0 += whole * NW;
    }
#endif
    for (int n = n0; n < end; n++) {
        const int panel = n / NW * NW;
#if VT_DOT_BF16
        global ushort *to = (global ushort *)(out + (size_t)panel * KW);
#else
        global integer *to = (global integer *)(out + (size_t)panel * KW);
        const float top = VT_SCALES(out, N, KW)[n];
        const float inverse = VT_DOT_F16   ? vt_inverse_of(top)
                              : top > 0.0f ? 1.0f / top
                                           : 0.0f;
#endif
        for (int k = w0 * VT_KG; k < w1 * VT_KG; k++) {
            const float x = n < N && k < K ? b[AT(n, k)] : 0.0f;
            const size_t at = ((size_t)(k / G) * NW + n - panel) * G + k % G;
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
