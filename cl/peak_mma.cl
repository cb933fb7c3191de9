/*
 * peak_mma.cl - measures the peak rate of a GPU's matrix units.
 *
 *     s[i][j] += a[i] b[j], an instruction each, rounds times
 *
 * peak_mma   sink[items] <- rounds, value
 *
 * All is in registers; with WGMMA the factors are in local memory, as its
 * instruction wants them. The factors are not zero: a GPU is faster with zeros.
 *
 * Launch    global {items}, local {256}.
 * Defines   KIND TYPE WGMMA (common_units.cl), but no DOT8 nor DOT2; FM FN, of
 *           instructions: FM * FN of them do not depend on each other.
 *
 * Host      host/gemm/mma.c           Test  tests/ops/test_gemm_mma.c
 */
#ifdef KIND
#define WORDS(i) (0x3c003c00u ^ (uint)(lid * 7 + (i)) % 64u * 0x10001u)

kernel __attribute__((reqd_work_group_size(256, 1, 1))) SUBGROUP void
peak_mma(global float *restrict sink, int rounds, float value)
{
#ifdef EMULATE
    local uint x[256 / LANES * SCRATCH] __attribute__((aligned(16)));
#endif
    const int lid = get_local_id(0), lane = lid % LANES, own = lid / LANES;
    sum s[FM][FN][CW] __attribute__((aligned(64))), all = 0;

    EACH(i, FM)
        EACH(j, FN)
            EACH(e, CW)
                s[i][j][e] = value;
#ifdef WGMMA
    local uint4 ta[FM * 256] __attribute__((aligned(1024)));
    local uint4 tb[FN * 32] __attribute__((aligned(1024)));

    for (int i = lid; i < FM * 256; i += 256)
        ta[i] = WORDS(i);
    for (int i = lid; i < FN * 32; i += 256)
        tb[i] = WORDS(i + 5);
    SHOW_COPIES();
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int r = 0; r < rounds; r++)
        WGMMA_STRIP(s, ta, tb);
#else
    uint fa[FM][AW], fb[FN][BW];

    EACH(i, FM)
        EACH(w, AW)
            fa[i][w] = WORDS(i * AW + w);
    EACH(j, FN)
        EACH(w, BW)
            fb[j][w] = WORDS(j * BW + w + 5);
    for (int r = 0; r < rounds; r++)
        EACH_FRAGMENT(i, FM)
    EACH_FRAGMENT(j, FN)
    MMA(s[i][j], fa[i], fb[j]);
#endif
    EACH(i, FM)
        EACH(j, FN)
            EACH(e, CW)
                all += s[i][j][e];
    sink[get_global_id(0)] = all;
}
#endif
