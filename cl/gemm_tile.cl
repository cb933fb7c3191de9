/*
 * gemm_tile.cl - matrix multiplication for GPU-class devices.
 *
 *     C[m,n] = residual[m,n] + scale[n] * act(sum_k A(m,k) B(n,k) + bias[n])
 *
 * gemm_tile  C[M,N] <- A, B, bias, scale, residual
 *            A(m,k) = A[m*lda + k], or A[k*lda + m] with TRANS_A;
 *            B(n,k) = B[n*ldb + k], or B[k*ldb + n] with TRANS_B, or int8 in
 *            panels of PANEL columns as gemm_rows.cl packs them
 *
 * How       A work-group of 16 x 16 computes a tile of TM x TN elements. Each
 *           work-item has TM/16 x TN/16 of them, 16 apart, so that adjacent
 *           work-items write adjacent elements. Strips of TK of k go through
 *           local memory, A as [TK][TM + 1] and B as [TK][TN + 1].
 * Launch    global {16 * ceil(N/TN), 16 * ceil(M/TM)}, local {16, 16}; any
 *           sizes: elements outside are read as 0 and not written.
 * Local     TK * (TM + TN + 2) floats.
 * Defines   TM TN (multiples of 16) TK; TRANS_A TRANS_B; PANEL or 0; the
 *           epilogue's ACT BIAS SCALE RESIDUAL; ACCUMULATE.
 * Numerics  One chain of fma() over ascending k for each element, from 0: its
 *           bits depend on K alone. (Zeros added beyond K change nothing.)
 * Host      host/gemm/tile.c          Test  tests/ops/test_gemm.c
 */
#ifndef TM
#define TM 64
#define TN 64
#define TK 16
#endif
#define WI 16
#define RM (TM / WI)
#define RN (TN / WI)

#ifndef PANEL
#define PANEL 0
#endif
#if PANEL
typedef char element;
#else
typedef float element;
#endif

static inline void load_a(local float (*restrict ta)[TM + 1],
                          global const float *restrict a, int m0, int k0, int M,
                          int K, int lda, int lid)
{
    for (int i = lid; i < TM * TK; i += WI * WI) {
#ifdef TRANS_A
        const int m = i % TM, k = i / TM;
        const size_t at = (size_t)(k0 + k) * lda + m0 + m;
#else
        const int m = i / TK, k = i % TK;
        const size_t at = (size_t)(m0 + m) * lda + k0 + k;
#endif
        ta[k][m] = m0 + m < M && k0 + k < K ? a[at] : 0.0f;
    }
}

static inline void load_b(local float (*restrict tb)[TN + 1],
                          global const element *restrict b, int n0, int k0,
                          int N, int K, int ldb, int lid)
{
    for (int i = lid; i < TN * TK; i += WI * WI) {
#if PANEL
        const int n = i % TN, k = i / TN;
        const size_t panel = (n0 + n) / PANEL;
        const size_t at = (panel * K + k0 + k) * PANEL + (n0 + n) % PANEL;
#elif defined(TRANS_B)
        const int n = i % TN, k = i / TN;
        const size_t at = (size_t)(k0 + k) * ldb + n0 + n;
#else
        const int n = i / TK, k = i % TK;
        const size_t at = (size_t)(n0 + n) * ldb + k0 + k;
#endif
        tb[k][n] = n0 + n < N && k0 + k < K ? b[at] : 0.0f;
    }
}

kernel __attribute__((reqd_work_group_size(WI, WI, 1))) void
gemm_tile(global float *c, global const float *restrict a,
          global const element *restrict b, global const float *restrict bias,
          global const float *restrict scale, global const float *residual,
          int M, int N, int K, int lda, int ldb, int ldc)
{
    local float ta[TK][TM + 1], tb[TK][TN + 1];
    const int x = get_local_id(0), y = get_local_id(1), lid = y * WI + x;
    const int n0 = get_group_id(0) * TN, m0 = get_group_id(1) * TM;
    float s[RM][RN];

    EACH(i, RM)
        EACH(j, RN)
            s[i][j] = 0.0f;

    for (int k0 = 0; k0 < K; k0 += TK) {
        load_a(ta, a, m0, k0, M, K, lda, lid);
        load_b(tb, b, n0, k0, N, K, ldb, lid);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TK; k++) {
            float p[RM], q[RN];
            EACH(i, RM)
                p[i] = ta[k][y + i * WI];
            EACH(j, RN)
                q[j] = tb[k][x + j * WI];
            EACH(i, RM)
                EACH(j, RN)
                    s[i][j] = fma(p[i], q[j], s[i][j]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    EACH(i, RM)
        EACH(j, RN) {
            const int m = m0 + y + i * WI, n = n0 + x + j * WI;
            const size_t at = (size_t)m * ldc + n;
            float v = s[i][j];

            if (m < M && n < N) {
#if PANEL
                v *= ((global const float *)(b + (size_t)(N + PANEL - 1) /
                                                     PANEL * PANEL * K))[n];
#endif
#ifdef ACCUMULATE
                v = c[at] + v;
#endif
                c[at] = vt_epilogue(v, bias, scale, residual, n, at);
            }
        }
}
