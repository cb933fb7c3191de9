/*
 * gemm_mma_turn.cl - an operand of gemm_mma_*.cl in bf16, from a matrix whose
 * terms are outermost: in a training, which packs it at each launch.
 *
 * gemm_mma_turn  out <- x[k*ld + r], of `rows` rows r: as gemm_mma_pack.cl
 *                packs B, for a multiple of 128 rows; with ROWS as rows of
 * whole strips of 32 terms, for A. Rows from N on and terms from K on are
 * zeros.
 *
 * How       A work-group reads 64 terms of 32 rows, and transposes them in
 * local memory as words of two terms. 32 neighbours read 128 bytes; in local
 *           memory each meets another bank; 8 neighbours write 128 bytes, or 4
 *           of them 64 of a strip. With DPAS n neighbours write a word each.
 * Launch    global {128 * ceil(K / 64), ceil(rows / 32)}, local {128, 1}
 * Local     4224 bytes
 * Defines   ROWS; DPAS, as in gemm_mma_pack.cl
 * Numerics  Rounded to nearest even.
 * Host      host/gemm/mma_training.c   Test  tests/ops/test_gemm_training.c
 */
#define ITEMS 128
#define SIDE 32  /* rows of a tile, and words of each */
#define CHUNKS 8 /* of 16 bytes in a row of a tile */
#ifdef ROWS
#define PLACE(r, c) ((size_t)(r)*strips * 4 + (c))
#else
#define PLACE(r, c) (((size_t)((c) / 4) * rows + (r)) * 4 + (c) % 4)
#endif
#define WORD_PLACE(r, w)                                                       \
    (((size_t)((w) / 16) * rows + (r) / DPAS * DPAS) * 16 + (w) % 16 * DPAS +  \
     (r) % DPAS)

static inline uint half_of(global const float *x, bool inside, size_t at)
{
    return inside ? vt_bf16_round(x[at]) : 0;
}

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
gemm_mma_turn(global uint4 *restrict out, global const float *restrict x, int N,
              int K, int ld, int rows)
{
    local uint t[SIDE][SIDE + 1];
    const int lid = (int)get_local_id(0);
    const int w0 = (int)get_group_id(0) * SIDE,
              r0 = (int)get_group_id(1) * SIDE;
    const int strips = (K + 31) / 32, r = r0 + lid % SIDE;

    for (int w = lid / SIDE; w < SIDE; w += ITEMS / SIDE) {
        const int k = 2 * (w0 + w);
        const size_t at = (size_t)k * ld + r;

        t[w][lid % SIDE] = half_of(x, r < N && k < K, at) |
                           half_of(x, r < N && k + 1 < K, at + ld) << 16;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#if DPAS
    for (int i = lid; i < SIDE * SIDE; i += ITEMS) {
        const int row = i % SIDE, w = w0 + i / SIDE, n = r0 + row;

        if (n < rows && w < strips * 16)
            ((global uint *)out)[WORD_PLACE(n, w)] = t[i / SIDE][row];
    }
#else
    for (int i = lid / CHUNKS; i < SIDE; i += ITEMS / CHUNKS) {
        const int c = lid % CHUNKS, chunk = w0 / 4 + c;

        if (r0 + i < rows && chunk < strips * 4)
            out[PLACE(r0 + i, chunk)] =
                (uint4)(t[4 * c][i], t[4 * c + 1][i], t[4 * c + 2][i],
                        t[4 * c + 3][i]);
    }
#endif
}
