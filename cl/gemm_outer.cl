/*
 * gemm_outer.cl - a sum of outer products for CPU-class devices, as in the
 * gradient of a weight: few rows and columns, but very many terms.
 *
 *     C[m,n] (+)= sum_k A[k,m] B[k,n];  sums[m] += sum_k A[k,m]
 *
 * gemm_outer      out[slices,M,N] or C[M,N] <- A[K,lda], B[K,ldb]
 * gemm_outer_sum  C[M,N] <- part[slices,M,N], added in ascending order
 *
 * `sums`, the gradient of a bias, comes from rows of A that are in the cache
 * anyway. A slice's sums lie after the parts of all slices: [slices,M].
 *
 * How       A work-item multiplies a tile of at most BLOCKS * RA rows by PANELS
 *           * NW columns over one slice of K, KC terms at a time. Those of A
 *           and of a panel of B are copied in the order of use, without a
 *           transpose: k is outermost in both operands. A's copy stays in L2,
 *           the panel's in L1, and the accumulators of a block of RA by NW in
 *           registers. Slices give every core work where C is small. While a
 *           block is multiplied, a share of the next panel is prefetched, and
 *           in the end its part of C, which is then written at once. Copies are
 *           aligned, because vectors of A and B may cross cache lines.
 *           With DOT, copies are words of two adjacent k in bf16, which the
 *           instruction of common_words.cl multiplies; with TILES, and RA 32,
 *           those of common_tiles.cl, and A's are of 16 k by 32 rows,
 *           transposed, with zeros behind the last k.
 * Launch    gemm_outer: vt_kernel_tiles() of wide * high * slices
 *           gemm_outer_sum: global {M}
 * Local     BLOCKS * (RA * (KC + PANELS * NW) + 16) floats. The copy of B is
 *           private: LLVM would put the address of a local array into block(),
 *           where PoCL, which moves such arrays, overlooks it.
 * Defines   V NV RA KC BLOCKS PANELS; TYPE: F32, or BF16: B rounded to it; DOT:
 *           VDPBF16PS, with V 16: A, too, and KC counts words; TILES; AT, BT,
 *           how A and B are stored: f32, or with DOT bf16; ACCUMULATE: C is
 *           added to; SLICED: out is the slices' parts, which gemm_outer_sum
 *           adds up; SUMS: with ACCUMULATE, and of A as it is stored.
 * Numerics  An element of a slice is one chain over ascending k of fma(), or of
 *           dot products of two k. Slices depend on M, N and K, never on the
 *           device: same bits everywhere with the same instruction.
 * Host      host/gemm/outer.c         Test  tests/ops/test_gemm.c
 */
#ifndef RA
#define RA 6
#define NV 2
#define KC 256
#define BLOCKS 16
#define PANELS 16
#define TYPE F32
#endif
#ifndef AT
#define AT f32
#endif
#ifndef BT
#define BT f32
#endif
#ifdef DOT
#define KG 2 /* values of k in an element of a copy */
typedef int copied;
#define copiedv intv
#define multiply_add vt_word_dot
#define BLOCK OUTLINED
#else
#define KG 1
typedef float copied;
#define copiedv floatv
#define multiply_add(s, x, w) fma(x, w, s)
#define BLOCK inline
#endif
#define NW (NV * V)
#define ROWS (BLOCKS * RA)
#define STRIP                                                                  \
    (KC * RA + 16) /* no power of two: strips are written in parallel */
#ifdef TILES
#define WHOLE(kc) (((kc) + 31) / 32 * 32)
#else
#define WHOLE(kc) (kc)
#endif

/* What is copied of A and B: a vector, one number. With DOT, of the row at p
 * and of the next, which is 0 if it does not exist. */
#ifdef DOT
static inline intv __attribute__((overloadable))
words_of(global const float *p, int ld, bool next)
{
    return vt_words_of(vloadv(0, p), next ? vloadv(0, p + ld) : 0.0f);
}
static inline intv __attribute__((overloadable))
words_of(global const ushort *p, int ld, bool next)
{
    const uint16 w = convert_uint16(vloadv(0, p));

    return as_int16(next ? w | convert_uint16(vloadv(0, p + ld)) << 16 : w);
}
static inline int __attribute__((overloadable))
word_of(global const float *p, int ld, bool next)
{
    return vt_bf16_words(p[0], next ? p[ld] : 0.0f);
}
static inline int __attribute__((overloadable))
word_of(global const ushort *p, int ld, bool next)
{
    return (int)(next ? p[0] | (uint)p[ld] << 16 : p[0]);
}
#define OF_BV words_of
#define OF_B word_of
#define OF_A word_of
#else
#if TYPE == BF16
#define OF_BV(p, ld, next)                                                     \
    ((void)next, as_floatv(vt_bf16_bitsv(vloadv(0, p)) & 0xffff0000u))
#define OF_B(p, ld, next) as_float((uint)vt_bf16_round((p)[0]) << 16)
#else
#define OF_BV(p, ld, next) ((void)next, vloadv(0, p))
#define OF_B(p, ld, next) ((p)[0])
#endif
#define OF_A(p, ld, next) ((void)next, (p)[0])
#endif

/* Rows of A are prefetched so long before they are copied. */
#define AHEAD 16

/* Prefetches rows from..to-1 of p, to be copied soon, to L2. */
#define PREFETCH_ROWS(p, ld, from, to, columns)                                \
    for (int k_ = from; k_ < (to); k_++)                                       \
        for (int i_ = 0; i_ < (columns); i_ += 64 / (int)sizeof *(p))          \
    vt_prefetch((p) + (size_t)k_ * (ld) + i_, 0, 2)

#ifdef DOT
/* Words of a row of A. Here and in copy_b() assembly is kept out of the
 * kernel's own body, see cl/gemm_dot.cl. */
static OUTLINED void row_words(copied *to, global const VT_TYPE(AT) *restrict a,
                               int lda, int rows, bool next)
{
    int m = 0;

    for (; m + V <= rows; m += V)
        vstorev(OF_BV(a + m, lda, next), 0, to + m);
    for (; m < rows; m++)
        to[m] = OF_A(a + m, lda, next);
}
#endif

#ifdef TILES
/* Assembly is kept out of the kernel's own body here, too. */
static OUTLINED void tiles_begin(void)
{
    tile_shapes(RA);
}

static OUTLINED void tiles_end(void)
{
    TILE_RELEASE();
}

/* to[KC / 16][RA][16 k] for each block, STRIP apart; 0 beyond M and K. */
static inline void copy_a(local copied *restrict to,
                          global const VT_TYPE(AT) *restrict a, int lda, int kc,
                          int rows)
{
    copied row[16][ROWS] __attribute__((aligned(64)));

    for (int k = 0; k < kc; k += 32) {
        PREFETCH_ROWS(a + (size_t)k * lda, lda, 32, 64, rows);
        for (int i = 0; i < 16; i++) {
            const int at = k + 2 * i;

            for (int m = at < kc ? rows : 0; m < (rows + 15) / 16 * 16; m++)
                row[i][m] = 0;
            if (at < kc)
                row_words(row[i], a + (size_t)at * lda, lda, rows, at + 1 < kc);
        }
        for (int m = 0; m < rows; m += 16) {
            local copied *t = to + m / RA * STRIP + k / 2 * RA + m % RA * 16;
            copiedv x[16];

            EACH(i, 16)
                x[i] = vloadv(0, row[i] + m);
            vt_words_transpose(x);
            EACH(i, 16)
                vstore16(as_float16(x[i]), i, (local float *)t);
        }
    }
}
#else
/* to[KC][RA] for each block, STRIP apart; rows beyond M are 0. */
static inline void copy_a(local copied *restrict to,
                          global const VT_TYPE(AT) *restrict a, int lda, int kc,
                          int rows)
{
    for (int k = 0; k < kc; k += KG, a += KG * (size_t)lda) {
        local copied *t = to + k / KG * RA;
        const bool next = k + 1 < kc;
        int m = 0;

        PREFETCH_ROWS(a, lda, AHEAD, AHEAD + KG, rows);

#ifdef DOT /* RA <= V: the next k overwrites what is too much */
        copied row[ROWS + V];

        row_words(row, a, lda, rows, next);
        for (; m + RA <= rows; m += RA, t += STRIP)
            vstorev(vloadv(0, row + m), 0, t);
#define AT_A(m) row[m]
#else
        for (; m + RA <= rows; m += RA, t += STRIP)
            EACH(r, RA)
                t[r] = OF_A(a + m + r, lda, next);
#define AT_A(m) OF_A(a + (m), lda, next)
#endif
        if (m < rows)
            for (int r = 0; r < RA; r++)
                t[r] = m + r < rows ? AT_A(m + r) : 0;
    }
}

#endif

/* to[rows] (+)= the sum of kc rows of a */
static inline void add_up(float *to, global const VT_TYPE(AT) *restrict a,
                          int lda, int kc, int rows, int first)
{
    int m = 0;

    for (; m + 4 * V <= rows; m += 4 * V) {
        floatv x[4];

        EACH(i, 4)
            x[i] = first ? (floatv)(0.0f) : vloadv(i, to + m);
        for (int k = 0; k < kc; k++)
            EACH(i, 4)
                x[i] += VT_LOADV(AT, a, (size_t)k * lda + m + i * V);
        EACH(i, 4)
            vstorev(x[i], i, to + m);
    }
    for (; m < rows; m++) {
        float x = first ? 0.0f : to[m];

        for (int k = 0; k < kc; k++)
            x += VT_LOAD(AT, a, (size_t)k * lda + m);
        to[m] = x;
    }
}

/* to[KC][NW]; columns beyond N are 0 */
static BLOCK void copy_b(copied *restrict to,
                         global const VT_TYPE(BT) *restrict b, int ldb, int kc,
                         int columns)
{
    for (int k = 0; k < WHOLE(kc); k += KG, b += KG * (size_t)ldb, to += NW) {
        const bool next = k + 1 < kc;

        if (k >= kc)
            EACH(v, NV)
                vstorev((copiedv)(0), v, to);
        else if (columns >= NW)
            EACH(v, NV)
                vstorev(OF_BV(b + v * V, ldb, next), v, to);
        else
            for (int i = 0; i < NW; i++)
                to[i] = i < columns ? OF_B(b + i, ldb, next) : 0;
    }
}

#if defined(ACCUMULATE) && !defined(SLICED)
#define BEFORE(c) (c) +
#else
#define BEFORE(c)
#endif

/* s[RA][NW] (+)= a[kc][RA], transposed, times b[kc][NW]; `whole`: the last part
 * of a block that is wholly in C, where it is written. */
static BLOCK void block(local float *restrict s, local const copied *restrict a,
                        const copied *restrict b, int kc, int first,
                        global float *restrict c, int ldc, int whole)
{
#ifdef TILES
    local int *const s0 = (local int *)s;

    TILE_SUMS(s0, NW, V, a, 16 * RA, 64, 256, b, NW, kc, first, true,
              (global int *)0, 0);
    for (int r = 0; whole && r < RA; r++, c += ldc)
        EACH(v, NV)
            vstorev(BEFORE(vloadv(v, c)) vloadv(r * NV + v, s), v, c);
#else
    floatv x[RA][NV];

    EACH(r, RA)
        EACH(v, NV)
            x[r][v] = first ? (floatv)(0.0f) : vloadv(r * NV + v, s);
    for (int k = 0; k < kc; k++) {
        copiedv w[NV];
        EACH(v, NV)
            w[v] = vloadv(v, b + k * NW);
        EACH(r, RA) {
            const copiedv e = (copiedv)(a[k * RA + r]);
            EACH(v, NV)
                x[r][v] = multiply_add(x[r][v], e, w[v]);
        }
    }
    if (whole)
        EACH(r, RA)
            EACH(v, NV)
                vstorev(BEFORE(vloadv(v, c + (size_t)r * ldc)) x[r][v], v,
                        c + (size_t)r * ldc);
    else
        EACH(r, RA)
            EACH(v, NV)
                vstorev(x[r][v], r * NV + v, s);
#endif
}

#define ARGS                                                                   \
    global float *restrict out, global const VT_TYPE(AT) *restrict a,          \
        global const VT_TYPE(BT) *restrict b, global float *restrict sums,     \
        int M, int N, int K, int lda, int ldb, int ldc, int wide, int high,    \
        int slices

static inline void tile(ARGS, int id, local copied *restrict ta,
                        local float *restrict sum)
{
    copied tb[KC * NW] __attribute__((aligned(64)));
    const int blocks = (M + RA - 1) / RA, panels = (N + NW - 1) / NW;
    const int x = id % wide, y = id / wide % high, slice = id / wide / high;
    const int i0 = vt_part(y, blocks, high);
    const int i1 = vt_part(y + 1, blocks, high);
    const int p0 = vt_part(x, panels, wide);
    const int p1 = vt_part(x + 1, panels, wide);
    const int pairs = (K + KG - 1) / KG; /* slices and parts split none */
    const int k0 = vt_part(slice, pairs, slices) * KG;
    const int k1 = min(vt_part(slice + 1, pairs, slices) * KG, K);
    const int rows = min(i1 * RA, M) - i0 * RA;

    const int parts = (k1 - k0 + KC * KG - 1) / (KC * KG);
    const int most = (k1 - k0 + parts * KG - 1) / (parts * KG) *
                     KG; /* equal but for the remainder */

#ifdef SUMS
    float total[ROWS];
#endif
#ifdef SLICED
    global float *c = out + (size_t)slice * M * ldc;
#else
    global float *c = out;
#endif

    for (int k = k0; k < k1; k += most) {
        const int kc = min(most, k1 - k);

        copy_a(ta, a + (size_t)k * lda + i0 * RA, lda, kc, rows);
#ifdef SUMS
        if (x == 0)
            add_up(total, a + (size_t)k * lda + i0 * RA, lda, kc, rows,
                   k == k0);
#endif
        for (int p = p0; p < p1; p++) {
            local float *s = sum + (p - p0) * ROWS * NW;
            const int last = p + 1 == p1, ahead = last ? k + most : k;
            const int kn = max(0, min(most, k1 - ahead));
            global const VT_TYPE(BT) *bn =
                b + (size_t)ahead * ldb + (last ? p0 : p + 1) * NW;
            const int columns = min(NW, N - p * NW);

            copy_b(tb, b + (size_t)k * ldb + p * NW, ldb, kc, columns);
            for (int i = i0; i < i1; i++) {
                const int j = i - i0, n = i1 - i0;
                const int ready = k + most < k1 ? 0 : min(RA, M - i * RA);
                const bool whole = ready == RA && columns == NW;
                local float *part = s + j * RA * NW;
                global float *to = c + (size_t)i * RA * ldc + p * NW;

                PREFETCH_ROWS(bn, ldb, j * kn / n, (j + 1) * kn / n, NW);
                for (int r = 0; r < ready; r++)
                    EACH(v, NV)
                        vt_prefetch(to + (size_t)r * ldc + v * V, 1, 3);
                block(part, ta + j * STRIP, tb, (kc + KG - 1) / KG, k == k0, to,
                      ldc, whole);
                for (int r = 0; r < ready && !whole; r++)
                    for (int c = 0; c < columns; c++)
                        to[(size_t)r * ldc + c] =
                            BEFORE(to[(size_t)r * ldc + c]) part[r * NW + c];
            }
        }
    }
#ifdef SUMS
    for (int r = 0; x == 0 && r < rows; r++)
#ifdef SLICED
        out[((size_t)slices * N + slice) * M + i0 * RA + r] = total[r];
#else
        sums[i0 * RA + r] += total[r];
#endif
#endif
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_outer(ARGS, volatile global int *taken, int tiles)
{
    local copied ta[BLOCKS * STRIP] __attribute__((aligned(64)));
    local float sum[PANELS * ROWS * NW] __attribute__((aligned(64)));

#ifdef TILES
    tiles_begin();
#endif
    VT_EACH_TILE(id, taken, tiles)
        tile(out, a, b, sums, M, N, K, lda, ldb, ldc, wide, high, slices, id,
             ta, sum);
#ifdef TILES
    tiles_end();
#endif
}

kernel void gemm_outer_sum(global float *restrict c,
                           global const float *restrict part,
                           global float *restrict sums, int M, int N, int ldc,
                           int slices)
{
    const size_t m = get_global_id(0), each = (size_t)M * N;
    int n = 0;

#ifdef SUMS
    float total = part[slices * each + m];
    for (int s = 1; s < slices; s++)
        total += part[slices * each + (size_t)s * M + m];
    sums[m] += total;
#endif
    c += m * ldc;
    part += m * N;
    for (; n + V <= N; n += V) {
        floatv x = vloadv(0, part + n);
        for (int s = 1; s < slices; s++)
            x += vloadv(0, part + s * each + n);
#ifdef ACCUMULATE
        x = vloadv(0, c + n) + x;
#endif
        vstorev(x, 0, c + n);
    }
    for (; n < N; n++) {
        float x = part[n];
        for (int s = 1; s < slices; s++)
            x += part[s * each + n];
#ifdef ACCUMULATE
        x = c[n] + x;
#endif
        c[n] = x;
    }
}
