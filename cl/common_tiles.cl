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

static inline void tile_shapes(int height)
{
    const uint one = min(height, 16), two = max(height - 16, 1);
    const uint16 shapes = (uint16)(1, 0, 0, 0, (uint4)(0x00400040), 0, 0, 0, 0,
                                   one * 0x101 | two * 0x1010000,
                                   one | two << 8 | 0x10100000, 0, 0);

    __asm__ volatile("ldtilecfg (%0)" ::"r"(&shapes) : "memory");
}
#endif
