/*
 * gemm_tile_sum.cl - the sums of parts that gemm_tile.cl left with SPLIT.
 *
 * gemm_tile_sum  C[M,N] <- sums[ceil(K/TERMS)][M][N], bias, scale, residual
 *
 * How       The parts of an element are added in their order.
 * Launch    global at least {M*N}, any local size.
 * Defines   TERMS; the epilogue's ACT BIAS SCALE RESIDUAL; ACCUMULATE; YT,
 *           how C is stored.
 * Host      host/gemm/tile.c          Test  tests/ops/test_gemm_parts.c
 */
#ifndef TERMS
#define TERMS 64
#endif
kernel void gemm_tile_sum(global VT_TYPE(YT) * c,
                          global const float *restrict sums,
                          global const float *restrict bias,
                          global const float *restrict scale,
                          global const VT_TYPE(RST) * residual, int M, int N,
                          int K, int ldc)
{
    const size_t all = (size_t)M * N, i = get_global_id(0);

    if (i < all) {
        const int m = i / N, n = i % N;
        const size_t at = (size_t)m * ldc + n;
        float v = sums[i];

        for (int part = 1; part * TERMS < K; part++)
            v += sums[part * all + i];
#ifdef ACCUMULATE
        c[at] += v;
#else
        VT_STORE(YT, c, at, vt_epilogue(v, bias, scale, residual, n, at));
#endif
    }
}
