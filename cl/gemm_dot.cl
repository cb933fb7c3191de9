/*
 * gemm_dot.cl - matrix multiplication by a CPU's dot-product instructions.
 *
 *     C[m,n] = residual + scale[n] * act(sum_k A[m,k] B[n,k] + bias[n])
 *
 * gemm_dot        C[M,N] <- words of A, packed B, bias, scale, residual; words
 *                 of bf16 may be A itself
 *                 NORM: norm[M,N] <- layer norm of C, as layernorm.cl
 * gemm_dot_peak   sink[items] <- rounds, value: as peak.cl, with these
 *                 instructions
 *
 * Words of A and of packed B, of KG terms: common_dot.cl.
 *   VPMADDWD     KG 2: s16 by s16; AVX2
 *   VPDPBUSD     KG 4: u8, one zero point per row, by s8; AVX-512 VNNI, or with
 *                V 8 AVX-VNNI, whose encoding differs
 *   VDPBF16PS    KG 2: bf16; AVX-512 BF16, or with V 4 Arm's bfdot
 *   VPMADDUBSW   KG 4: as VPDPBUSD; with vpmaddwd by ones; AVX2
 *   SDOT         KG 4: s8, one zero point per row, by s8; Arm DotProd
 *   SMMLA        as SDOT, two rows by two columns; Arm I8MM
 *   BFMMLA       KG 2: bf16, two rows by two columns; Arm BF16
 *   VFMADD231PH  KG 2: f16, of packed B a row of columns after the other;
 *                AVX512-FP16: common_halves.cl
 * TILES: VPDPBUSD and VDPBF16PS by AMX, tdpbusd and tdpbf16ps: of 16 words of
 * k, 16 rows and 16 columns at once.
 *
 * How       As gemm_rows.cl: a tile is a chunk of rows by a group of panels,
 *           computed in blocks of RA, RB, 4 or 1 rows, `most` words of k at a
 *           time; with TILES (common_tiles.cl), of at most 32 rows.
 * Launch    gemm_dot: vt_kernel_tiles() of ceil(panels / group) * chunks;
 *           _peak: global {items}, local {1}.
 * Defines   V NV RA RB SAVED DOT TILES; ACT BIAS SCALE RESIDUAL; CT, how C is
 *           stored; NORM RMS WG=1, YT, how norm is stored; CHAINS.
 * Numerics  Integer sums are exact: only rounding to words loses bits.
 *           bf16 sums as the instruction does, f16 in part in 16 bits.
 * Surprise  Inline assembly: only built where a probe has found that it
 *           works. TILES need the system's permission: host/units/dots_here.c.
 * Host      host/gemm/dot.c           Test  tests/ops/test_gemm_forms.c,
 *                                           test_gemm_f16.c
 */
#ifndef DOT
#define DOT VPMADDWD
#endif
#ifndef NV
#define NV 2
#endif
#define NW (NV * V)
#ifndef CT
#define CT f32
#endif

#if VT_DOT_BF16 || VT_DOT_F16
#define sumv floatv
#define as_sumv as_floatv
#else
#define sumv intv
#define as_sumv as_intv
#endif
#if defined(RA) || defined(CHAINS)
/* OUTLINED keeps assembly out of the kernel's own body: there PoCL 6 mistakes
 * it for a call of one of its own functions and ends the process
 * (handleLocalMemAllocas in its WorkitemLoops.cc) when it compiles for an
 * unknown local size. */

#ifdef TILES
/* s[height][NV] (+)= rows of words times a panel; n a multiple of 16 */
static inline void block(int height, sumv *s, global const int *restrict a,
                         global const int *restrict b, int ldw, int n,
                         int first, global const int *ahead, int lines)
{
    const bool two = height > 16;
    int *const to = (int *)s;

    TILE_SUMS(to, NW, V, a, 16, ldw * 4, 16 * ldw, b, NW, n, first, two, ahead,
              lines);
}
#elif V == 4
/* Functions name what they need: LLVM takes the processor for a plainer one
 * where it does not know its name. */
#if DOT == VDPBF16PS
#define UNIT __attribute__((target("bf16")))
#define INSTRUCTION "bfdot %0.4s, %1.8h, %2.8h"
#elif DOT == SDOT
#define UNIT __attribute__((target("dotprod")))
#define INSTRUCTION "sdot %0.4s, %1.16b, %2.16b"
#elif DOT == SMMLA
#define UNIT __attribute__((target("i8mm")))
#define INSTRUCTION "smmla %0.4s, %1.16b, %2.16b"
#else
#define UNIT __attribute__((target("bf16")))
#define INSTRUCTION "bfmmla %0.4s, %1.8h, %2.8h"
#endif
static inline UNIT sumv dot_add(sumv s, intv x, intv w)
{
    __asm__(INSTRUCTION : "+w"(s) : "w"(x), "w"(w));
    return s;
}
#elif DOT == VPMADDWD
static inline sumv dot(intv x, intv w)
{
    sumv r;
    __asm__("vpmaddwd %2, %1, %0" : "=x"(r) : "x"(x), "x"(w));
    return r;
}
#define dot_add(s, x, w) ((s) + dot(x, w))
#elif DOT == VPDPBUSD
static inline sumv dot_add(sumv s, intv x, intv w)
{
#if V == 8
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(s) : "x"(x), "x"(w));
#else
    __asm__("vpdpbusd %2, %1, %0" : "+v"(s) : "v"(x), "v"(w));
#endif
    return s;
}
#elif DOT == VPMADDUBSW
static inline sumv dot_add(sumv s, intv x, intv w)
{
    const intv ones = (intv)(0x00010001);
    sumv pairs, r;
    __asm__("vpmaddubsw %2, %1, %0" : "=x"(pairs) : "x"(x), "x"(w));
    __asm__("vpmaddwd %2, %1, %0" : "=x"(r) : "x"(pairs), "x"(ones));
    return s + r;
}
#elif VT_DOT_F16
#define UNIT __attribute__((target("avx512fp16")))
static inline UNIT sumv dot_add(sumv s, intv x, intv w)
{
    __asm__("vfmadd231ph %2, %1, %0" : "+v"(s) : "v"(x), "v"(w));
    return s;
}
#else
static inline sumv dot_add(sumv s, intv x, intv w)
{
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(s) : "v"(x), "v"(w));
    return s;
}
#endif

#ifndef UNIT
#define UNIT
#endif

#if defined(CHAINS) && defined(TILES)
static OUTLINED float links(int rounds, float value)
{
    sumv s[32 * NV];

    EACH(i, 32 * NV)
        s[i] = (sumv)(value);
    tile_shapes(32);
    TILE_LOAD(4, s, NW * 4);
    TILE_LOAD(5, s, NW * 4);
    TILE_LOAD(6, s, NW * 4);
    TILE_LOAD(7, s, NW * 4);
    for (int k = 0; k < rounds; k++) {
        TILE_DOT(0, 4, 6);
        TILE_DOT(1, 4, 7);
        TILE_DOT(2, 5, 6);
        TILE_DOT(3, 5, 7);
    }
    TILE_STORE(s, NW * 4, 0);
    TILE_RELEASE();
    return (float)s[0].s0;
}
#elif defined(CHAINS)
/* A chain multiplies its own value: compilers hoist a product that stays the
 * same. vpmaddwd stands alone, because other units can add at the same time. */
#if DOT == VPMADDWD
#define LINK(s, w) dot(s, w)
#else
#define LINK(s, w) dot_add(s, as_intv(s), w)
#endif
static OUTLINED UNIT float links(int rounds, float value)
{
    const intv w = (intv)(as_int(value));
    sumv a[CHAINS];

    EACH(i, CHAINS)
        a[i] = (sumv)(i + 1);
    for (int k = 0; k < rounds; k++)
        EACH(i, CHAINS)
            a[i] = LINK(a[i], w);
    UNROLL for (int i = 1; i < CHAINS; i++) a[0] += a[i];
    return (float)a[0].s0;
}
#endif

#ifdef CHAINS
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_dot_peak(global float *restrict sink, int rounds, float value)
{
    sink[get_global_id(0)] = links(rounds, value);
}
#elif defined(RA)
#ifndef TILES
/* x[r][v] holds VT_STEP rows from r * VT_STEP on, by V / VT_STEP columns; the
 * row after the last is the last one again. */
#if VT_STEP == 1
#define PART(s, r, v, R) s[(r)*NV + v]
#define RESULT(x, r, v) x[r][v]
#define TERMS(a, r, R) (intv)(a[(r)*ldw + k])
#else
#define ROW(r, R) (2 * (r) + 1 < R ? 2 * (r) + 1 : R - 1)
#define PART(s, r, v, R)                                                       \
    ((v) % 2 ? (sumv)(s[2 * (r)*NV + v / 2].hi, s[ROW(r, R) * NV + v / 2].hi)  \
             : (sumv)(s[2 * (r)*NV + v / 2].lo, s[ROW(r, R) * NV + v / 2].lo))
#define RESULT(x, r, v)                                                        \
    ((r) % 2 ? (sumv)(x[r / 2][2 * v].hi, x[r / 2][2 * v + 1].hi)              \
             : (sumv)(x[r / 2][2 * v].lo, x[r / 2][2 * v + 1].lo))
#define TERMS(a, r, R)                                                         \
    (intv)(vload2(0, a + 2 * (r)*ldw + k), vload2(0, a + ROW(r, R) * ldw + k))
#endif

/* s[R][NV] (+)= rows of words times a panel */
#if VT_DOT_F16
#define BLOCK VT_HALVES_BLOCK
#else
#define BLOCK(NAME, R)                                                         \
    static OUTLINED UNIT void NAME(sumv *s, global const int *restrict a,      \
                                   global const int *restrict b, int ldw,      \
                                   int n, int first)                           \
    {                                                                          \
        sumv x[(R + VT_STEP - 1) / VT_STEP][NV * VT_STEP];                     \
        EACH(r, (R + VT_STEP - 1) / VT_STEP)                                   \
            EACH(v, NV * VT_STEP)                                              \
                x[r][v] = first ? (sumv)(0) : PART(s, r, v, R);                \
        for (int k = 0; LIKELY(k < n); k += VT_STEP) {                         \
            intv w[NV * VT_STEP];                                              \
            EACH(v, NV * VT_STEP)                                              \
                w[v] = vloadv(v, b + k * NW);                                  \
            EACH(r, (R + VT_STEP - 1) / VT_STEP) {                             \
                const intv e = TERMS(a, r, R);                                 \
                EACH(v, NV * VT_STEP)                                          \
                    x[r][v] = dot_add(x[r][v], e, w[v]);                       \
            }                                                                  \
        }                                                                      \
        EACH(r, R)                                                             \
            EACH(v, NV)                                                        \
                s[r * NV + v] = RESULT(x, r, v);                               \
    }
#endif
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

/* `ahead` is only fetched with TILES. */
static inline void block(int height, sumv *s, global const int *restrict a,
                         global const int *restrict b, int ldw, int n,
                         int first, global const int *ahead, int lines)
{
    if (height == RA)
        block_ra(s, a, b, ldw, n, first);
#if RB != RA
    else if (height == RB)
        block_rb(s, a, b, ldw, n, first);
#endif
#if RB > 4
    else if (height == 4)
        block_four(s, a, b, ldw, n, first);
#endif
#if RB > 1
    else
        block_one(s, a, b, ldw, n, first);
#endif
}
#endif

#if VT_DOT_BF16
#define SUMS(x, v, n) (x)[v]
#elif VT_DOT_F16
#define SUMS(x, v, n) ((x)[v] * vloadv(0, columns + (n) + (v)*V) * row)
#else
#define SUMS(x, v, n)                                                          \
    (convert_floatv((x)[v] - zero * vloadv(0, sums + (n) + (v)*V)) *           \
     (row * vloadv(0, columns + (n) + (v)*V)))
#endif

/* One row's columns of a panel, from n and `at` on, up to the last. A whole
 * panel's have no branch for each vector, and with a residual they go into s:
 * where C is written between loads of the residual, these wait for stores with
 * the same address modulo 4096. */
static inline void finish(global VT_TYPE(CT) * c, sumv *s,
                          global const float *columns, global const int *sums,
                          float row, int zero, global const float *bias,
                          global const float *scale,
                          global const float *residual, int n, size_t at,
                          int left)
{
    if (left >= NW) {
        floatv x[NV];

        EACH(v, NV)
            x[v] = vt_epiloguev(SUMS(s, v, n), bias, scale, residual, n + v * V,
                                at + v * V);
#ifdef RESIDUAL
        EACH(v, NV)
            s[v] = as_sumv(x[v]);
#elif defined(PUT_WORDS) && V == 16
        UNROLL for (int v = 0; v < NV; v += 2)
            vt_words_put(c + at + v * V, x[v], x[v + 1]);
#else
        EACH(v, NV)
            VT_STOREV(CT, c, at + v * V, x[v]);
#endif
        return;
    }
    for (int v = 0; v < NV && left > 0; v++, n += V, at += V, left -= V) {
        const floatv x = SUMS(s + v, 0, n);
        float part[V];

        if (left >= V) {
            VT_STOREV(CT, c, at, vt_epiloguev(x, bias, scale, residual, n, at));
            continue;
        }
        vstorev(x, 0, part);
        for (int i = 0; i < left; i++)
            VT_STORE(
                CT, c, at + i,
                vt_epilogue(part[i], bias, scale, residual, n + i, at + i));
    }
}

/* What is fetched ahead of a row: a residual is read first, and is often C. */
#ifdef RESIDUAL
#define OLD residual
#else
#define OLD c
#endif
/* To L1; `far`: to L2, for which more lines can be under way. */
#define FETCH(p, write)                                                        \
    do {                                                                       \
        if (far)                                                               \
            vt_prefetch_all(p, NW, 0, 2);                                      \
        else                                                                   \
            vt_prefetch_all(p, NW, write, 3);                                  \
    } while (0)
#define FIRST_ROW(i) ((i) < big ? (i)*tall : big * tall + ((i)-big) * low)
#ifdef TILES
#define ABOVE(rows) (rows)
#else
#define ABOVE(rows) 0
#endif
#define SCALE_OF(m) (VT_DOT_BF16 ? 1.0f : rows[m])
#define ZERO_OF(m) (VT_KG == 4 ? zeros[m] : 0)

#define ARGS                                                                   \
    global VT_TYPE(CT) * c, global const int *restrict a,                      \
        global const int *restrict b, global const float *restrict bias,       \
        global const float *restrict scale, global const float *residual,      \
        int M, int N, int KW, int ldw, int ldc, int blocks, int big, int tall, \
        int low, int chunks, int group, int most,                              \
        global VT_TYPE(YT) *restrict norm, global const float *restrict gamma, \
        global const float *restrict beta, float eps

static inline OUTLINED void tile(ARGS, int id)
{
    const int chunk = id % chunks;
    const int from = vt_part(chunk, blocks, chunks);
    const int to = vt_part(chunk + 1, blocks, chunks);
    const int lines = (NW + to - from - 1) / (to - from); /* of `ahead` */
    const int first = id / chunks * group;
    const int last = min(first + group, VT_COLUMNS(N) / NW);
    global const float *columns = VT_SCALES(b, N, KW);
    global const int *sums = (global const int *)(columns + VT_COLUMNS(N));
    global const float *rows = (global const float *)(a + (size_t)M * ldw);
    global const int *zeros = (global const int *)(rows + M);
    sumv s[SAVED * RA * NV];

#ifdef TILES
    const bool far = (size_t)M * N * sizeof *c > 4 << 20;

    tile_shapes(tall);
#else
    const bool far = false;
#endif
    for (int k = 0; k < KW; k += most) {
        const int kc = min(most, KW - k);

        for (int panel = first; panel < last; panel++) {
            global const int *w = b + ((size_t)panel * KW + k) * NW;
            const int n = panel * NW;
            /* of B, that the next blocks do not wait for L3 or memory */
            global const int *ahead =
                panel + 1 < last || k + kc >= KW
                    ? w + (size_t)KW * NW
                    : b + ((size_t)first * KW + k + kc) * NW;

            for (int i = from; i < to; i++) {
                const int row = FIRST_ROW(i);
                const int height = i < big ? tall : low;
                const int at =
                    most < KW ? (panel - first) * (to - from) + i - from : 0;
                /* tiles are of `tall` rows: a lower block's begin higher up */
                const int above = ABOVE(tall - height);
                global const int *from_a = a + (size_t)(row - above) * ldw + k;
                sumv *all = s + at * RA * NV, *x = all + above * NV;

                /* the next block, fetched row by row: not all at once */
                const bool below = i + 1 < to;
                const size_t next =
                    (size_t)FIRST_ROW(below ? i + 1 : from) * ldc + n +
                    (below ? 0 : NW);

                for (int r = 0;
                     k + kc >= KW && i == from && panel == first && r < height;
                     r++)
                    vt_prefetch_all(OLD + (size_t)(row + r) * ldc + n, NW, 1,
                                    3);
                block(height + above, all, from_a, w, ldw, kc, !k,
                      ahead + (i - from) * kc * lines, lines);
                if (k + kc < KW)
                    continue;
                for (int r = 0; r < height; r++) {
                    FETCH(OLD + next + (size_t)r * ldc, 1);
#ifdef TIMES
                    FETCH(residual + next + (size_t)r * ldc, 0);
#endif
                    finish(c, x + r * NV, columns, sums, SCALE_OF(row + r),
                           ZERO_OF(row + r), bias, scale, residual, n,
                           (size_t)(row + r) * ldc + n, N - n);
                }
#ifdef RESIDUAL
                for (int r = 0; N - n >= NW && r < height; r++)
                    EACH(v, NV)
                        VT_STOREV(CT, c, (size_t)(row + r) * ldc + n + v * V,
                                  as_floatv(x[r * NV + v]));
#endif
            }
        }
    }
#ifdef NORM /* the group has all columns of its rows */
    for (int row = FIRST_ROW(from); row < FIRST_ROW(to); row++)
        vt_normalise_row(norm, 0, c, gamma, beta, N, 1, 1, eps, RMS, row, 0, 0);
#endif
#ifdef TILES
    TILE_RELEASE();
#endif
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_dot(ARGS, volatile global int *taken, int tiles)
{
    VT_EACH_TILE(id, taken, tiles)
        tile(c, a, b, bias, scale, residual, M, N, KW, ldw, ldc, blocks, big,
             tall, low, chunks, group, most, norm, gamma, beta, eps, id);
}
#endif
#endif
