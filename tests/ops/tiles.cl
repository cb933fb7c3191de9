/*
 * tiles.cl - AMX's tiles in C, for the tests of processors without them:
 * support/words.h puts this in place of the instructions of common_tiles.cl.
 * `height` and `tmm` are the caller's.
 */
#define TILE_ROWS(T)                                                           \
    ((T) > 5                            ? 16                                   \
     : (T) == 2 || (T) == 3 || (T) == 5 ? height - 16                          \
                                        : min(height, 16))
#define TILE_EACH(T) for (int i = 0; i < 16 * TILE_ROWS(T); i++)
#define TILE_ZERO(T)                                                           \
    TILE_EACH(T)                                                               \
    tmm[T][i] = 0
#define TILE_LOAD(T, AT, STRIDE)                                               \
    TILE_EACH(T)                                                               \
    tmm[T][i] = (AT)[i / 16 * (STRIDE) / 4 + i % 16]
#define TILE_STORE(AT, STRIDE, T)                                              \
    TILE_EACH(T)                                                               \
    (AT)[i / 16 * (STRIDE) / 4 + i % 16] = tmm[T][i]
#define TILE_DOT(S, X, W)                                                      \
    TILE_EACH(S)                                                               \
    for (int k = 0; k < 16; k++)                                               \
    tmm[S][i] =                                                                \
        tile_sum(tmm[S][i], tmm[X][i / 16 * 16 + k], tmm[W][16 * k + i % 16])
#define TILE_RELEASE()

static inline int tile_sum(int s, int x, int w)
{
#if DOT == VPDPBUSD
    for (int i = 0; i < 4; i++)
        s += ((uchar *)&x)[i] * ((char *)&w)[i];
    return s;
#else
    return as_int(as_float(s) + as_float(x << 16) * as_float(w << 16) +
                  as_float(x & 0xffff0000) * as_float(w & 0xffff0000));
#endif
}
