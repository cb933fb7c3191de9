/*
 * words.h - bf16 by AVX-512's dot products, and AMX's tiles, on any processor.
 */
#ifndef VT_TESTS_WORDS_H
#define VT_TESTS_WORDS_H

/* From now on this process compiles a copy of cl/ in `folder`, in which the
 * instructions of bf16 are written in C. */
void vt_test_words_in_c(const char *folder);
/* The same with AMX's tiles. */
void vt_test_tiles_in_c(const char *folder);
/* The edit of cl/ that writes tiles in C, if $t is tests/ops. */
#define VT_TEST_TILES                                                          \
    "sed -i -e \"/^#define TILE_ZERO/r $t/tiles.cl\" "                         \
    "-e '/^#define TILE_ZERO/,/^#define TILE_RELEASE/d' "                      \
    "-e 's/__asm__ volatile(\"ldtilecfg.*/(void)shapes;/' common_tiles.cl && " \
    "sed -i 's/const bool two = .*/&\\n    int tmm[8][256];/' gemm_dot.cl && " \
    "sed -i 's/^    tile_shapes(min(m, 32));/    const int height = "          \
    "min(m, 32);\\n    int tmm[8][256];/' common_tiles.cl && "                 \
    "sed -i 's/^    local int \\*const s0.*/&\\n"                              \
    "    const int height = RA;\\n    int tmm[8][256];/' gemm_outer.cl"

#endif
