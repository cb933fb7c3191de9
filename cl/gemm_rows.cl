/*
 * gemm_rows.cl - matrix multiplication for CPU-class devices.
 *
 *     C[m,n] = residual[m,n] + scale[n] * act(sum_k A[m,k] B[n,k] + bias[n])
 *
 * gemm_rows            C[M,N] <- A[M,K], packed B, bias, scale, residual
 * gemm_rows_pack       packed <- B[N,K] or B[K,N]
 * gemm_rows_scale      packed's scales <- B: max_k |B[n,k]| / 127; before
 *                      gemm_rows_pack
 * gemm_rows_transpose  AT[M,ldt] <- A[K,lda], where A comes transposed
 *
 * Packed B is panels of NW = NV*V columns: [ceil(N/NW)][K][NW], zeros beyond N.
 * TYPE is F32, BF16, F16 or INT8 with one scale per column, as floats after the
 * panels. Values are converted to float as they are read.
 *
 * How       A tile is a chunk of rows by a group of panels. It is computed in
 *           blocks of RA or RB < RA rows, or of 4 and 1 where there are few:
 *           NV*RA accumulators in registers, one element of A broadcast, no
 *           local memory, no barrier. It advances by `most` of K at a time, so
 *           that the chunk's part of A stays in L2 for the whole group, and a
 *           panel's part in L1 for the whole chunk; the accumulators are saved
 *           in between. Successive tiles share their panels or, where `across`
 *           is not 0 but the number of groups, their rows. A block's output and
 *           residual are prefetched before it is multiplied, and meanwhile its
 *           share of the next panel, to L2. With HELD, where A's rows share few
 *           sets of the L1 cache, a chunk's part is copied to rows that do not.
 * Launch    gemm_rows: vt_kernel_tiles() of ceil(panels / group) * chunks;
 *           there are `blocks` row blocks, the first `big` of `tall` rows, the
 *           others of `low`.
 *           _pack: global {ceil(K/64), panels}
 *           _transpose: global {ceil(M/16), ceil(K/64)}
 *           _scale: global {panels * NW}
 * Defines   V NV RA RB TYPE; SAVED: the most blocks that a tile saves; HELD:
 *           the most rows that it copies, `most` is then at most 512; ACT BIAS
 *           SCALE RESIDUAL TIMES, or CHOICE, with which `form` says what
 *           follows the sum: 0 the bias, 1 bias and residual, 2 bias and GELU,
 *           3 nothing (one program to compile instead of four); TRANS_B
 *           (_pack, _scale). Without RA: the kernels other than gemm_rows.
 * Numerics  Each element is one chain of fma() over ascending k that starts at
 *           0: its bits depend on K alone, not on M, block or chunk.
 *
 * Longer than most: one file packs the panels and reads them.
 *
 * Host      host/gemm/rows.c          Test  tests/ops/test_gemm.c
 */
#ifndef NV
#define NV 2
#endif
#define NW (NV * V)

#ifndef TYPE
#define TYPE F32
#endif
#if TYPE == F32
typedef float packed;
#define LOAD_B(i, p) vloadv(i, p)
#define STORE_B(x, i, p) ((p)[i] = (x))
#elif TYPE == INT8
typedef char packed;
#define LOAD_B(i, p) convert_floatv(vloadv(i, p))
#define STORE_B(x, i, p) ((p)[i] = convert_char_sat_rte(x))
#define SCALES(b, N, K)                                                        \
    ((global float *)((b) + (size_t)(((N) + NW - 1) / NW) * NW * (K)))
#else
typedef ushort packed;
#if TYPE == BF16
#define LOAD_B(i, p)                                                           \
    as_floatv(VT_JOIN(VT_JOIN(convert_, uint), V)(vloadv(i, p)) << 16)
#define STORE_B(x, i, p) vt_bf16_store(x, p, i)
#else
#define LOAD_B(i, p) VT_JOIN(vload_half, V)(i, (global const half *)(p))
#define STORE_B(x, i, p) vt_f16_store(x, p, i)
#endif
#endif

#ifdef HELD
#define SPACE private
#define LDH (512 + 16)
#else
#define SPACE global
#endif

/* s[R][NV] (+)= R rows of A times a panel, kc steps of k */
#define BLOCK(NAME, R)                                                         \
    static inline void NAME(floatv *s, SPACE const float *restrict a,          \
                            global const packed *restrict b, int lda, int kc,  \
                            int first, global const packed *ahead, int step)   \
    {                                                                          \
        floatv x[R][NV];                                                       \
        EACH(r, R)                                                             \
            EACH(v, NV)                                                        \
                x[r][v] = first ? (floatv)(0.0f) : s[r * NV + v];              \
        for (int k = 0; LIKELY(k < kc); k++) {                                 \
            floatv w[NV];                                                      \
            vt_prefetch(ahead + k * step, 0, 2);                               \
            EACH(v, NV)                                                        \
                w[v] = LOAD_B(v, b + k * NW);                                  \
            EACH(r, R) {                                                       \
                const floatv e = (floatv)(a[r * lda + k]);                     \
                EACH(v, NV)                                                    \
                    x[r][v] = fma(e, w[v], x[r][v]);                           \
            }                                                                  \
        }                                                                      \
        EACH(r, R)                                                             \
            EACH(v, NV)                                                        \
                s[r * NV + v] = x[r][v];                                       \
    }

#ifdef RA
BLOCK(block_ra, RA)
#if RB != RA
BLOCK(block_rb, RB)
#endif
#if RB > 4
BLOCK(block_four, 4)
#endif
#if RB > 1
BLOCK(block_one, 1)
#endif

#ifdef HELD
static inline void hold(float *to, global const float *from, int n)
{
    int i = 0;

    for (; i + V <= n; i += V)
        vstorev(vloadv(0, from + i), 0, to + i);
    for (; i < n; i++)
        to[i] = from[i];
}
#endif

/* The epilogue of a vector and of one sum. */
#ifdef CHOICE
static inline floatv finishedv(floatv x, global const float *bias,
                               global const float *scale,
                               global const float *residual, int n, size_t at,
                               int form)
{
    if (form != 3)
        x += vloadv(0, bias + n);
    if (form == 1)
        x += vloadv(0, residual + at);
    return form == 2 ? vt_act(x, VT_ACT_GELU) : x;
}
static inline float finished(float x, global const float *bias,
                             global const float *scale,
                             global const float *residual, int n, size_t at,
                             int form)
{
    if (form != 3)
        x += bias[n];
    if (form == 1)
        x += residual[at];
    return form == 2 ? vt_act(x, VT_ACT_GELU) : x;
}
#else
#define finishedv(x, bias, scale, residual, n, at, form)                       \
    vt_epiloguev(x, bias, scale, residual, n, at)
#define finished(x, bias, scale, residual, n, at, form)                        \
    vt_epilogue(x, bias, scale, residual, n, at)
#endif

/* Finishes and writes one vector of sums. */
static inline void put(global float *c, floatv x, global const float *columns,
                       global const float *bias, global const float *scale,
                       global const float *residual, int n, size_t at, int form)
{
#if TYPE == INT8
    x *= vloadv(0, columns + n);
#endif
    vstorev(finishedv(x, bias, scale, residual, n, at, form), 0, c + at);
}

/* A panel's columns in one row, from n and `at` on; `left` of them exist. */
static inline void finish(global float *c, const floatv *s,
                          global const float *columns, global const float *bias,
                          global const float *scale,
                          global const float *residual, int n, size_t at,
                          int left, int form)
{
    for (int v = 0; v < NV && left > 0; v++, n += V, at += V, left -= V) {
        if (left >= V) {
            put(c, s[v], columns, bias, scale, residual, n, at, form);
        } else {
            float part[V];
            vstorev(s[v], 0, part);
            for (int i = 0; i < left; i++) {
                float x = part[i];
#if TYPE == INT8
                x *= columns[n + i];
#endif
                c[at + i] =
                    finished(x, bias, scale, residual, n + i, at + i, form);
            }
        }
    }
}

#define ARGS                                                                   \
    global float *c, global const float *restrict a,                           \
        global const packed *restrict b, global const float *restrict bias,    \
        global const float *restrict scale, global const float *residual,      \
        int N, int K, int lda, int ldc, int blocks, int big, int tall,         \
        int low, int chunks, int group, int most, int across, int form

#ifdef CHOICE /* rolled up: four of them are compiled */
#define ROWS _Pragma("unroll 1") for (int r = 0; r < RA; r++)
#else
#define ROWS EACH(r, RA)
#endif
#define PUT_BLOCK(form)                                                        \
    ROWS EACH(v, NV) put(c, x[r * NV + v], columns, bias, scale, residual,     \
                         n + v * V, (row + r) * ldc + n + v * V, form)

/* The first row of block i. */
#define ROW(i)                                                                 \
    ((i) < big ? (size_t)(i)*tall : (size_t)big * tall + ((i)-big) * low)
#ifdef HELD
#define A_AT(row) (held + ((row)-ROW(from)) * LDH)
#define LDA LDH
#else
#define A_AT(row) (a + (row)*lda + k)
#define LDA lda
#endif

static inline OUTLINED void tile(ARGS, int id)
{
    const int chunk = across ? id / across : id % chunks;
    const int from = vt_part(chunk, blocks, chunks);
    const int to = vt_part(chunk + 1, blocks, chunks);
    const int first = (across ? id % across : id / chunks) * group;
    const int last = min(first + group, (N + NW - 1) / NW);
    const int step = (NW + to - from - 1) / (to - from); /* of `ahead` */
    floatv s[SAVED * RA * NV];
#if TYPE == INT8
    global const float *columns = SCALES(b, N, K);
#else
    global const float *columns = 0;
#endif

    for (int k = 0; k < K; k += most) {
        const int kc = min(most, K - k);
#ifdef HELD
        float held[HELD * LDH] __attribute__((aligned(64)));

        for (size_t row = ROW(from); row < ROW(to); row++)
            hold(A_AT(row), a + row * lda + k, kc);
#endif

        for (int panel = first; panel < last; panel++) {
            global const packed *w = b + ((size_t)panel * K + k) * NW;
            const int n = panel * NW;
            global const packed *next =
                panel + 1 < last || k + kc >= K
                    ? w + (size_t)K * NW
                    : b + ((size_t)first * K + k + kc) * NW;

            for (int i = from; i < to; i++) {
                const size_t row = ROW(i);
                const int rows = i < big ? tall : low;
                const int at =
                    most < K ? (panel - first) * (to - from) + i - from : 0;
                floatv *x = s + at * RA * NV;
                global const packed *ahead = next + (i - from) * kc * step;

                for (int r = 0; k + kc >= K && r < rows; r++) {
                    vt_prefetch_all(c + (row + r) * ldc + n, NW, 1, 3);
#if defined(RESIDUAL) || defined(TIMES)
                    vt_prefetch_all(residual + (row + r) * ldc + n, NW, 0, 3);
#elif defined(CHOICE)
                    if (form == 1)
                        vt_prefetch_all(residual + (row + r) * ldc + n, NW, 0,
                                        3);
#endif
                }
                if (rows == RA)
                    block_ra(x, A_AT(row), w, LDA, kc, !k, ahead, step);
#if RB != RA
                else if (rows == RB)
                    block_rb(x, A_AT(row), w, LDA, kc, !k, ahead, step);
#endif
#if RB > 4
                else if (rows == 4)
                    block_four(x, A_AT(row), w, LDA, kc, !k, ahead, step);
#endif
#if RB > 1
                else
                    block_one(x, A_AT(row), w, LDA, kc, !k, ahead, step);
#endif
                if (k + kc < K)
                    continue;
                if (N - n >= NW && rows == RA) {
#ifdef CHOICE
                    if (form == 1)
                        PUT_BLOCK(1);
                    else if (form == 2)
                        PUT_BLOCK(2);
                    else if (form == 3)
                        PUT_BLOCK(3);
                    else
#endif
                        PUT_BLOCK(0);
                    continue;
                }
                for (int r = 0; r < rows; r++)
                    finish(c, x + r * NV, columns, bias, scale, residual, n,
                           (row + r) * ldc + n, N - n, form);
            }
        }
    }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_rows(ARGS, volatile global int *taken, int tiles)
{
    VT_EACH_TILE(id, taken, tiles)
        tile(c, a, b, bias, scale, residual, N, K, lda, ldc, blocks, big, tall,
             low, chunks, group, most, across, form, id);
}
#else

/* to[R rows of ldt] <- from[C rows of ld], transposed; four by four, so that
 * each line of `from` is fetched once: strides may be multiples of 4096. */
static inline void transpose(global float *restrict to,
                             global const float *restrict from, int R, int C,
                             int ldt, int ld)
{
    for (int c = 0; c < C; c += 4)
        for (int r = 0; r < R; r += 4) {
            global const float *f = from + (size_t)c * ld + r;
            global float *t = to + (size_t)r * ldt + c;

            if (r + 4 <= R && c + 4 <= C) {
                const float4 a = vload4(0, f), b = vload4(0, f + ld);
                const float4 d = vload4(0, f + 2 * (size_t)ld);
                const float4 e = vload4(0, f + 3 * (size_t)ld);
                VT_STORE_TRANSPOSED(a, b, d, e, t, (size_t)ldt);
            } else {
                for (int i = 0; i < min(4, C - c); i++)
                    for (int j = 0; j < min(4, R - r); j++)
                        t[(size_t)j * ldt + i] = f[(size_t)i * ld + j];
            }
        }
}

#ifdef TRANS_B
#define AT(n, k) ((size_t)(k)*ldb + (n))
#else
#define AT(n, k) ((size_t)(n)*ldb + (k))
#endif

static inline OUTLINED void pack(global packed *restrict out,
                                 global const float *restrict b, int N, int K,
                                 int ldb, int n0, int k0)
{
    const int n1 = min(N - n0, NW), k1 = min(K - k0, 64);
    global packed *to = out + (size_t)n0 * K + (size_t)k0 * NW;

#if TYPE == F32
    if (n1 == NW) {
#ifdef TRANS_B
        for (int k = 0; k < k1; k++)
            for (int n = 0; n < NW; n += V)
                vstorev(vloadv(0, b + AT(n0 + n, k0 + k)), 0, to + k * NW + n);
#else
        transpose(to, b + AT(n0, k0), k1, NW, NW, ldb);
#endif
        return;
    }
#endif
    for (int n = 0; n < NW; n++) {
        float inverse = 1.0f;
#if TYPE == INT8
        const float scale = SCALES(out, N, K)[n0 + n];
        inverse = scale > 0.0f ? 1.0f / scale : 0.0f;
#endif
        for (int k = 0; k < k1; k++)
            STORE_B(n < n1 ? b[AT(n0 + n, k0 + k)] * inverse : 0.0f, k * NW + n,
                    to);
    }
}

kernel void gemm_rows_pack(global packed *restrict out,
                           global const float *restrict b, int N, int K,
                           int ldb)
{
    pack(out, b, N, K, ldb, get_global_id(1) * NW, get_global_id(0) * 64);
}

#if TYPE == INT8
kernel void gemm_rows_scale(global packed *restrict out,
                            global const float *restrict b, int N, int K,
                            int ldb)
{
    const int n = get_global_id(0);
    global float *scales = SCALES(out, N, K);
    uint top = 0; /* the bits of non-negative floats, in their order */

    for (int k = 0; n < N && k < K; k++)
        top = max(top, as_uint(fabs(b[AT(n, k)])));
    /* NaN if any is inf or NaN */
    scales[n] = top < 0x7f800000u ? as_float(top) / 127.0f : NAN;
}
#endif

kernel void gemm_rows_transpose(global float *restrict out,
                                global const float *restrict a, int M, int K,
                                int lda, int ldt)
{
    const int m0 = get_global_id(0) * 16, k0 = get_global_id(1) * 64;

    transpose(out + (size_t)m0 * ldt + k0, a + (size_t)k0 * lda + m0,
              min(M - m0, 16), min(K - k0, 64), ldt, lda);
}
#endif
