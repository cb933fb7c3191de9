/*
 * epilogue.cl - the epilogue after a matrix multiplication that has none.
 *
 *     c = residual + scale * act(c + bias)
 *
 * epilogue  c[M,N] (stride ldc, in place) <- bias[N], scale[N],
 *           residual[M,N] (stride ldc, or c itself)
 *
 * Launch    global {ceil(N/V), M}: a work-item has V columns of a row, the last
 *           one the remainder.
 * Defines   V, and the epilogue's: ACT, BIAS, SCALE, RESIDUAL.
 * Numerics  vt_epilogue of common_storage.cl, the same code as inside other
 *           kernels.
 *
 * Host      host/gemm/clblast.c       Test  tests/ops/test_gemm.c
 */
kernel void epilogue(global float *c, global const float *restrict bias,
                     global const float *restrict scale,
                     global const float *residual, int N, int ldc)
{
    const int n0 = (int)get_global_id(0) * V;
    const size_t row = get_global_id(1) * (size_t)ldc;

    if (n0 + V <= N) {
        const floatv v = vloadv(0, c + row + n0);
        vstorev(vt_epiloguev(v, bias, scale, residual, n0, row + n0), 0,
                c + row + n0);
        return;
    }
    for (int n = n0; n < N; n++)
        c[row + n] = vt_epilogue(c[row + n], bias, scale, residual, n, row + n);
}
