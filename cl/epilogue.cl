/*
 * epilogue.cl - the epilogue after a matrix multiplication that has none.
 *
 *     c = residual + scale * act(c + bias)
 *
 * epilogue  c[M,N] (stride ldc, in place) <- bias[N], scale[N],
 *           residual[M,N] (stride ldc, or c itself)
 *
 * Launch    global {64 * ceil(M * ceil(N/V) / 64)}, local {64}: a work-item has
 *           V columns of a row, its last one the remainder.
 * Defines   V, and the epilogue's: ACT, BIAS, SCALE, RESIDUAL.
 * Numerics  vt_epilogue of common_storage.cl, the same code as inside other
 *           kernels.
 *
 * Host      host/gemm/clblast.c       Test  tests/ops/test_gemm.c
 */
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
epilogue(global float *c, global const float *restrict bias,
         global const float *restrict scale, global const float *residual,
         int M, int N, int ldc)
{
    const uint at = get_global_id(0), across = (uint)(N / V + (N % V > 0));
    const int n0 = (int)(at % across) * V;
    const size_t row = (size_t)(at / across) * (size_t)ldc;

    if (at / across >= (uint)M)
        return;
    if (n0 + V <= N) {
        const floatv v = vloadv(0, c + row + n0);
        vstorev(vt_epiloguev(v, bias, scale, residual, n0, row + n0), 0,
                c + row + n0);
        return;
    }
    for (int n = n0; n < N; n++)
        c[row + n] = vt_epilogue(c[row + n], bias, scale, residual, n, row + n);
}
