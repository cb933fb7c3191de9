/*
 * gemm_plain.cl - C = residual + scale * act(A B^T + bias), readable, any size.
 *
 *     C[m,n] = epilogue(sum_k A(m,k) B(n,k))
 *
 * gemm__dot   CPU, B as torch stores it, B[n*ldb + k]: a work-item computes 3 x
 *             4 elements as dot products of V lanes; the lanes are added last.
 * gemm__axpy  CPU, B[k*ldb + n] (TRANS_B): a work-item computes 6 rows of 2 V
 *             columns, one k after the other; the remaining columns one by one
 *             in the same order.
 * gemm__tile  GPU: T x T work-items compute a tile of 4T x 4T through local
 *             memory.
 * gemm_pack   out[N,K] <- B: the layout "nk"; with KN out[K,N], "kn".
 *
 * Launch    dot: global {ceil(M/3), ceil(N/4)}; axpy: global {ceil(M/6),
 *           ceil(N/2V)}; both local {1, 1}, rows first, so that a block of B
 *           stays in the cache. tile: global {T ceil(M/4T), T ceil(N/4T)},
 *           local {T, T}. pack: global {K, N}, or {N, K} with KN.
 * Local     tile: 2 T (4T+1) floats.
 * Defines   V; T; KN; TRANS_A, TRANS_B: 1 where A is A[k*lda + m], or B is
 *           B[k*ldb + n]; AT, BT, CT: how they are stored (f32, f16, bf16); the
 *           epilogue's.
 * Numerics  Sums are f32 whatever the storage. The order of summation of an
 *           element depends on K and V alone. `residual` may be c: each element
 *           is read and written by one work-item.
 *
 * Host      host/gemm/plain.c         Test  tests/ops/test_gemm.c
 */
#ifndef T
#define T 16
#endif
#ifndef TRANS_A
#define TRANS_A 0
#endif
#ifndef TRANS_B
#define TRANS_B 0
#endif
#ifndef KN
#define KN 0
#endif
#ifndef AT
#define AT f32
#endif
#ifndef BT
#define BT f32
#endif
#ifndef CT
#define CT f32
#endif

#define a_type VT_TYPE(AT)
#define b_type VT_TYPE(BT)
#define c_type VT_TYPE(CT)
#define LANES(t) VT_JOIN(VT_JOIN(load, V), VT_JOIN(_, t))
#define LOAD(t) VT_JOIN(load_, t)
#define STORE VT_JOIN(store_, CT)
#define STORE4 VT_JOIN(store4_, CT)
#define STOREV VT_JOIN(VT_JOIN(store, V), VT_JOIN(_, CT))
#define A_AT(m, k) (TRANS_A ? (size_t)(k)*lda + (m) : (size_t)(m)*lda + (k))
#define B_AT(n, k) (TRANS_B ? (size_t)(k)*ldb + (n) : (size_t)(n)*ldb + (k))

#define ARGUMENTS                                                              \
    global c_type *c, global const a_type *restrict a,                         \
        global const b_type *restrict b, global const float *restrict bias,    \
        global const float *restrict scale,                                    \
        global const VT_TYPE(RST) * residual, int M, int N, int K, int lda,    \
        int ldb, int ldc

static inline void finish(global c_type *c, global const float *bias,
                          global const float *scale,
                          global const VT_TYPE(RST) * residual, int n,
                          size_t at, float v)
{
    STORE(c, at, vt_epilogue(v, bias, scale, residual, n, at));
}

#define FINISH(m, n, v)                                                        \
    finish(c, bias, scale, residual, n, (size_t)(m)*ldc + (n), v)

/* Rows and columns past the end repeat the last one, and are not stored. */
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void gemm__dot(ARGUMENTS)
{
    const int m0 = (int)get_global_id(0) * 3, n0 = (int)get_global_id(1) * 4;
    size_t row[3], col[4];
    floatv acc[3][4];
    float sum[3][4];
    int k = 0;

    EACH(i, 3)
        row[i] = A_AT(min(m0 + i, M - 1), 0);
    EACH(j, 4)
        col[j] = B_AT(min(n0 + j, N - 1), 0);
    EACH(i, 3)
        EACH(j, 4)
            acc[i][j] = (floatv)(0.0f);
    for (; k + V <= K; k += V) {
        floatv x[3];
        EACH(i, 3)
            x[i] = LANES(AT)(a, row[i] + k);
        EACH(j, 4) {
            const floatv y = LANES(BT)(b, col[j] + k);
            EACH(i, 3)
                acc[i][j] = fma(x[i], y, acc[i][j]);
        }
    }
    EACH(i, 3)
        EACH(j, 4) {
            sum[i][j] = vt_hsum(acc[i][j]);
            for (int r = k; r < K; r++)
                sum[i][j] = fma(LOAD(AT)(a, row[i] + r),
                                LOAD(BT)(b, col[j] + r), sum[i][j]);
        }
    if (n0 + 4 <= N) {
        EACH(i, 3)
            if (m0 + i < M) {
                const size_t at = (size_t)(m0 + i) * ldc + n0;
                const float4 v = {sum[i][0], sum[i][1], sum[i][2], sum[i][3]};
                STORE4(c, at, vt_epilogue4(v, bias, scale, residual, n0, at));
            }
        return;
    }
    EACH(i, 3)
        EACH(j, 4)
            if (m0 + i < M && n0 + j < N)
                FINISH(m0 + i, n0 + j, sum[i][j]);
}

static inline void finish_lanes(global c_type *c, global const float *bias,
                                global const float *scale,
                                global const VT_TYPE(RST) * residual, int n,
                                size_t at, floatv v)
{
    STOREV(c, at, vt_epiloguev(v, bias, scale, residual, n, at));
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void gemm__axpy(ARGUMENTS)
{
    const int m0 = (int)get_global_id(0) * 6;
    const int n0 = (int)get_global_id(1) * 2 * V;
    size_t row[6];
    floatv acc[6][2];

    EACH(i, 6) {
        row[i] = A_AT(min(m0 + i, M - 1), 0);
        acc[i][0] = acc[i][1] = (floatv)(0.0f);
    }
    if (n0 + 2 * V > N) {
        for (int m = m0; m < min(m0 + 6, M); m++)
            for (int n = n0; n < N; n++) {
                float v = 0.0f;
                for (int k = 0; k < K; k++)
                    v = fma((float)LOAD(AT)(a, A_AT(m, k)),
                            LOAD(BT)(b, B_AT(n, k)), v);
                FINISH(m, n, v);
            }
        return;
    }
    for (int k = 0; k < K; k++) {
        const size_t at = (size_t)k * ldb + n0, step = TRANS_A ? lda : 1;
        const floatv y0 = LANES(BT)(b, at), y1 = LANES(BT)(b, at + V);
        EACH(i, 6) {
            const floatv x = (floatv)(LOAD(AT)(a, row[i] + k * step));
            acc[i][0] = fma(x, y0, acc[i][0]);
            acc[i][1] = fma(x, y1, acc[i][1]);
        }
    }
    EACH(i, 6)
        if (m0 + i < M) {
            const size_t at = (size_t)(m0 + i) * ldc + n0;
            finish_lanes(c, bias, scale, residual, n0, at, acc[i][0]);
            finish_lanes(c, bias, scale, residual, n0 + V, at + V, acc[i][1]);
        }
}

kernel __attribute__((reqd_work_group_size(T, T, 1))) void gemm__tile(ARGUMENTS)
{
    local float as[T][4 * T + 1], bs[T][4 * T + 1];
    const int tx = (int)get_local_id(0), ty = (int)get_local_id(1);
    const int m0 = vt_group(0) * 4 * T, n0 = vt_group(1) * 4 * T;
    float acc[4][4];

    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            acc[i][j] = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        for (int i = 0; i < 4; i++) {
            /* adjacent tx read adjacent elements */
            const int ak = TRANS_A ? ty : tx, am = (TRANS_A ? tx : ty) + T * i;
            const int bk = TRANS_B ? ty : tx, bn = (TRANS_B ? tx : ty) + T * i;
            as[ak][am] = m0 + am < M && k0 + ak < K
                             ? LOAD(AT)(a, A_AT(m0 + am, k0 + ak))
                             : 0.0f;
            bs[bk][bn] = n0 + bn < N && k0 + bk < K
                             ? LOAD(BT)(b, B_AT(n0 + bn, k0 + bk))
                             : 0.0f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < T; k++) {
            float x[4], y[4];
            for (int i = 0; i < 4; i++) {
                x[i] = as[k][ty + T * i];
                y[i] = bs[k][tx + T * i];
            }
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    acc[i][j] = fma(x[i], y[j], acc[i][j]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            const int m = m0 + ty + T * i, n = n0 + tx + T * j;
            if (m < M && n < N)
                FINISH(m, n, acc[i][j]);
        }
}

kernel void gemm_pack(global c_type *restrict out,
                      global const float *restrict b, int N, int K, int ldb)
{
    const int x = (int)get_global_id(0), y = (int)get_global_id(1);
    const int n = KN ? x : y, k = KN ? y : x;

    STORE(out, (size_t)y * (KN ? N : K) + x, b[B_AT(n, k)]);
}
