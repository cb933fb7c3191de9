/*
 * gemm_mma_pack.cl - the operands of gemm_mma_*.cl in its order.
 *
 * A strip is 64 bytes of k: 32 halves or 64 bytes. Strip after strip, the rows
 * of a matrix stand one below the other, padded with zeros; for int8 the steps
 * (floats) of all rows stand behind.
 *
 * With DPAS=n, not 0, those of n columns at a time are exchanged, for Intel's
 * units: the 8 first words of their strip are fragments of 8 x n words, and the
 * other 8 follow.
 *
 * gemm_mma_pack   out <- B[n*ldb + k], or B[k*ldb + n] with TRANS_B, of
 *                 `columns` rows, a multiple of 128; int8: after gemm_mma_scale
 * gemm_mma_scale  int8: the steps of B's columns: largest magnitude / 127
 * gemm_mma_rows   int8: out <- A[m*lda + k], row by row (the strips of a row
 *                 are neighbours), and its steps
 *
 * Launch    pack: global {4 * strips, columns}; scale: {columns}; rows:
 *           {64 * M}, local {64}
 * Local     rows: 64 floats
 * Defines   TYPE: BF16, F16 or INT8; TRANS_B; AT: of A; DPAS
 * Numerics  Rounded to nearest even. A row with inf or NaN has NaN as its step.
 * Host      host/gemm/mma.c           Test  tests/ops/test_gemm_mma.c
 */
#ifndef TYPE
#define TYPE F16
#endif
#ifndef AT
#define AT f32
#endif
#define PER_CHUNK (TYPE == INT8 ? 16 : 8)
#define PER_WORD (TYPE == INT8 ? 4 : 2)
#define STRIPS(K) (((K) + 4 * PER_CHUNK - 1) / (4 * PER_CHUNK))
#ifdef TRANS_B
#define B_AT(n, k) ((size_t)(k)*ldb + (n))
#else
#define B_AT(n, k) ((size_t)(n)*ldb + (k))
#endif

/* Element i of a chunk of column n. */
#if DPAS
#define WORDS(n, c) (((n) / DPAS * 16 + (c)*4) * DPAS + (n) % DPAS)
#define TO(n, c, i)                                                            \
    ((WORDS(n, c) + (i) / PER_WORD * DPAS) * PER_WORD + (i) % PER_WORD)
#else
#define TO(n, c, i) (((n)*4 + (c)) * PER_CHUNK + (i))
#endif

/* The step of a row of int8 numbers, whose largest magnitude has these bits. */
static inline float step_of(uint most)
{
    return most < 0x7f800000u ? as_float(most) / 127.0f : NAN;
}

static inline int whole(float x, float step)
{
    return step > 0.0f ? clamp(convert_int_rte(x / step), -127, 127) : 0;
}

kernel void gemm_mma_scale(global uchar *restrict out,
                           global const float *restrict b, int N, int K,
                           int ldb, int columns)
{
    const int n = (int)get_global_id(0);
    uint most = 0; /* the bits of non-negative floats, in their order */

    for (int k = 0; n < N && k < K; k++)
        most = max(most, as_uint(fabs(b[B_AT(n, k)])));
    ((global float *)(out + (size_t)columns * STRIPS(K) * 64))[n] =
        step_of(most);
}

kernel void gemm_mma_pack(global uchar *restrict out,
                          global const float *restrict b, int N, int K, int ldb,
                          int columns)
{
    const int chunk = (int)get_global_id(0), n = (int)get_global_id(1);
#if TYPE == INT8
    const float step =
        ((global const float *)(out + (size_t)columns * STRIPS(K) * 64))[n];
#endif

    for (int i = 0; i < PER_CHUNK; i++) {
        const int k = chunk * PER_CHUNK + i;
        const float v = n < N && k < K ? b[B_AT(n, k)] : 0.0f;
        const size_t to =
            (size_t)(chunk / 4) * columns * 4 * PER_CHUNK + TO(n, chunk % 4, i);
#if TYPE == INT8
        ((global char *)out)[to] = (char)whole(v, step);
#elif TYPE == BF16
        vt_bf16_store(v, (global ushort *)out, to);
#else
        vt_f16_store(v, (global ushort *)out, to);
#endif
    }
}

#if TYPE == INT8
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
gemm_mma_rows(global uchar *restrict out, global const VT_TYPE(AT) *restrict a,
              int M, int K, int lda)
{
    local uint tops[64];
    const int m = (int)get_group_id(0), lid = (int)get_local_id(0);
    const size_t row = (size_t)m * lda;
    global char *to = (global char *)out + (size_t)m * STRIPS(K) * 64;
    uint most = 0;
    float step;

    for (int k = lid; k < K; k += 64)
        most = max(most, as_uint(fabs(VT_JOIN(load_, AT)(a, row + k))));
    tops[lid] = most;
    for (int span = 32; span > 0; span /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < span)
            tops[lid] = max(tops[lid], tops[lid + span]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    step = step_of(tops[0]);
    if (lid == 0)
        ((global float *)(out + (size_t)M * STRIPS(K) * 64))[m] = step;
    for (int k = lid; k < STRIPS(K) * 64; k += 64)
        to[k] = k < K ? (char)whole(VT_JOIN(load_, AT)(a, row + k), step) : 0;
}
#endif
