/*
 * gemm_sum.cl - the sums of parts that gemm_mma_*.cl and gemm_tile.cl left with
 * SPLIT.
 *
 * gemm_sum  C[M,N] <- sums[at + part*M*N + m*N + n], bias, scale, residual; for
 *           int8 the steps of A's rows and B's columns too
 *
 * How       The parts of an element are added in their order.
 * Launch    global at least {M*N}, any local size.
 * Defines   TYPE CT as in gemm_mma_*.cl; the epilogue's ACT BIAS SCALE
 *           RESIDUAL; QUICK: GELU has gemm_mma_*.cl's bits (common_math.cl).
 * Host      host/gemm/common.c
 * Test      tests/ops/test_gemm_mma.c, test_gemm_parts.c
 */
#ifndef CT
#define CT f32
#endif
#if TYPE == INT8
typedef int sum;
#else
typedef float sum;
#endif
kernel void gemm_sum(global VT_TYPE(CT) * c, global const uint4 *a,
                     global const uint4 *restrict b,
                     global const float *restrict bias,
                     global const float *restrict scale,
                     global const VT_TYPE(RST) * residual, int M, int N,
                     int parts, int strips, int ldc, int columns, int at,
                     global const sum *sums)
{
    const size_t all = (size_t)M * N, i = get_global_id(0);
    sum s = 0;

    if (i >= all)
        return;
    sums += at;
    for (int part = 0; part < parts; part++)
        s += sums[part * all + i];

    const int m = i / N, n = i % N;
    const size_t to = (size_t)m * ldc + n;
    float v = s;
#if TYPE == INT8
    v *= ((global const float *)(a + (size_t)M * strips * 4))[m];
    v *= ((global const float *)(b + (size_t)columns * strips * 4))[n];
#endif
    VT_STORE(CT, c, to, vt_epilogue(v, bias, scale, residual, n, to));
}
