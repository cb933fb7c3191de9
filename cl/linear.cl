/*
 * linear.cl - a linear layer whose sums are taken in double.
 *
 *     out[m,n] = sum_k x[m,k] * w[n,k]
 *
 * linear_exact  out[M,N] <- x[M,K], w[N,K]
 *
 * For comparing gradients with another library's: where rounding moves a value
 * across a ReLU's kink, gradients change by a percent. Everything else is
 * multiplied by the GEMM providers, and so is the backward pass of this.
 *
 * Launch    global {ceil(N / 4), M}: a work-item has 4 columns of a row.
 * Needs     cl_khr_fp64.
 *
 * Host      host/ops/linear.c         Test  tests/ops/test_conv.c
 */
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

kernel void linear_exact(global float *restrict out,
                         global const float *restrict x,
                         global const float *restrict w, int N, int K)
{
    const int n = (int)item_x((N + 3) / 4) * 4, m = item_y((N + 3) / 4);
    double4 acc[4];
    int k = 0;

    if (n >= N)
        return;
    x += (size_t)m * K;
    out += (size_t)m * N;
    for (int j = 0; j < 4; j++)
        acc[j] = (double4)(0.0);
    for (; k + 4 <= K; k += 4) {
        const double4 a = convert_double4(vload4(0, x + k));
        for (int j = 0; j < 4; j++)
            acc[j] += a * convert_double4(
                              vload4(0, w + (size_t)min(n + j, N - 1) * K + k));
    }
    for (int j = 0; j < 4 && n + j < N; j++) {
        double s = (acc[j].x + acc[j].z) + (acc[j].y + acc[j].w);
        for (int r = k; r < K; r++)
            s += (double)x[r] * (double)w[(size_t)(n + j) * K + r];
        out[n + j] = (float)s;
    }
}
#endif
