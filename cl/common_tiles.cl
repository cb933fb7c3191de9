/*
 * common_tiles.cl - AMX's tiles: with TILES, which need the system's permission
 * (host/units/dots_here.c).
 *
 * A tile has up to 16 rows of 16 words; tile_shapes(height) says how many rows
 * blocks of up to 32 have. Tiles 0 to 3 are the sums of two by two tiles; 4 and
 * 5 rows; 6 and 7 words of B.
 *
 * TILE_LOAD(t, at, stride), TILE_STORE(at, stride, t): rows are `stride` bytes
 * apart. TILE_DOT(s, x, w): s += rows of x times w; DOT VPDPBUSD, or else bf16.
 *
 * TILE_SUMS(s, lds, second, a, next, stride, lower, b, ldb, n, first, two,
 * ahead, lines): two vectors, the second one `second` further, of s[16 or, if
 * two, 32][lds] = (first ? 0 : s) + n words of rows times b[n][ldb]; n is a
 * multiple of 16. a has the next 16 words `next` further, rows `stride` bytes
 * apart, the lower 16 rows `lower` further. Each 16 words fetch so many lines
 * of `ahead` to L2. A macro: address spaces differ.
 *
 * tile_product(): to[m][lds] = (more ? to : 0) + words of a[m][lda] times
 * panels of 32 columns of b, each [n][ldb], `panel` apart. m is at most 16, or
 * a multiple of 32. To be called by OUTLINED functions: assembly is kept out of
 * a kernel's own body, and theirs are constants.
 */
#ifdef TILES
#define TILE_ZERO(T) __asm__ volatile("tilezero %%tmm" #T ::)
#define TILE_MOVE(WHAT, STRIDE, AT)                                            \
    __asm__ volatile(WHAT ::"r"(AT), "r"((long)(STRIDE)) : "memory")
#define TILE_LOAD(T, AT, STRIDE)                                               \
    TILE_MOVE("tileloadd (%0,%1,1), %%tmm" #T, STRIDE, AT)
#define TILE_STORE(AT, STRIDE, T)                                              \
    TILE_MOVE("tilestored %%tmm" #T ", (%0,%1,1)", STRIDE, AT)
#if DOT == VPDPBUSD
#define TILE_DOT(S, X, W)                                                      \
    __asm__ volatile("tdpbusd %%tmm" #W ", %%tmm" #X ", %%tmm" #S ::)
#else
#define TILE_DOT(S, X, W)                                                      \
    __asm__ volatile("tdpbf16ps %%tmm" #W ", %%tmm" #X ", %%tmm" #S ::)
#endif
#define TILE_RELEASE() __asm__ volatile("tilerelease" ::)

#define TILE_SUMS(S, LDS, SECOND, A, NEXT, STRIDE, LOWER, B, LDB, N, FIRST,    \
                  TWO, AHEAD, LINES)                                           \
    TILE_ZERO(0);                                                              \
    TILE_ZERO(1);                                                              \
    TILE_ZERO(2);                                                              \
    TILE_ZERO(3);                                                              \
    if (!(FIRST)) {                                                            \
        TILE_LOAD(0, S, LDS * 4);                                              \
        TILE_LOAD(1, S + SECOND, LDS * 4);                                     \
        if (TWO) {                                                             \
            TILE_LOAD(2, S + 16 * LDS, LDS * 4);                               \
            TILE_LOAD(3, S + 16 * LDS + SECOND, LDS * 4);                      \
        }                                                                      \
    }                                                                          \
    for (int k = 0; LIKELY(k < (N)); k += 16) {                                \
        for (int line = 0; line < (LINES); line++)                             \
            vt_prefetch(AHEAD + k * (LINES) + line * 16, 0, 2);                \
        TILE_LOAD(6, B + k * LDB, LDB * 4);                                    \
        TILE_LOAD(7, B + k * LDB + SECOND, LDB * 4);                           \
        TILE_LOAD(4, A + k / 16 * (NEXT), STRIDE);                             \
        TILE_DOT(0, 4, 6);                                                     \
        TILE_DOT(1, 4, 7);                                                     \
        if (TWO) {                                                             \
            TILE_LOAD(5, A + k / 16 * (NEXT) + (LOWER), STRIDE);               \
            TILE_DOT(2, 5, 6);                                                 \
            TILE_DOT(3, 5, 7);                                                 \
        }                                                                      \
    }                                                                          \
    TILE_STORE(S, LDS * 4, 0);                                                 \
    TILE_STORE(S + SECOND, LDS * 4, 1);                                        \
    if (TWO) {                                                                 \
        TILE_STORE(S + 16 * LDS, LDS * 4, 2);                                  \
        TILE_STORE(S + 16 * LDS + SECOND, LDS * 4, 3);                         \
    }

static inline void tile_shapes(int height)
{
    const uint one = min(height, 16), two = max(height - 16, 1);
    const uint16 shapes = (uint16)(1, 0, 0, 0, (uint4)(0x00400040), 0, 0, 0, 0,
                                   one * 0x101 | two * 0x1010000,
                                   one | two << 8 | 0x10100000, 0, 0);

    __asm__ volatile("ldtilecfg (%0)" ::"r"(&shapes) : "memory");
}

static inline void tile_product(float *to, int lds, const int *a, int lda,
                                const int *b, int ldb, int panel, int m,
                                int vectors, int n, bool more)
{
    tile_shapes(min(m, 32));
    for (int i = 0; i < m; i += 32)
        for (int j = 0; j < vectors; j += 2) {
            int *const s = (int *)to + i * lds + j * 16;
            const int *const rows = a + i * lda, *const w = b + j / 2 * panel;
            const int second = j + 1 < vectors ? 16 : 0;

            TILE_SUMS(s, lds, second, rows, 16, lda * 4, 16 * lda, w, ldb, n,
                      !more, m > 16, (global int *)0, 0)
        }
    TILE_RELEASE();
}
#endif
