/*
 * gemm_mma_blocks.cl - a product (common_units_products.cl) on Intel's matrix
 * units.
 *
 * gemm_mma_blocks   C[M,N] <- A, B; in parts sums[parts,M,N]
 *
 * How       B goes to registers alone: it is packed in fragments, which a
 *           sub-group reads through the cache. A strip is multiplied in STEPS,
 *           each with one of them; it is read SLOTS / 2 steps before, because
 *           that takes long. A's chunks are brought in two parts, each while a
 *           half of the strip before is multiplied, to have fewer in flight.
 * Local     128 TM bytes.
 * Bound     By local memory DPAS8 can reach 0.89 of the peak, with parts in
 *           turn 0.62, in small tiles 0.44; DPAS16 is not bound so. With B in
 *           local memory, fragments read earlier, or addresses computed in each
 *           lane, DPAS8 spills.
 *
 * Host      host/gemm/mma.c           Test  tests/ops/test_gemm_mma.c
 */
#ifdef KIND /* without it there is no unit in front */
#define FRAGMENT_ROW(i) (wm + (i)*MI)
#define STEPS (STRIP / KW * FN)
#define SLOTS (FN > 1 ? 4 : 2)
#define HALF_A ((NA + 1) / 2)
#define IN_HALF(kk) ((kk) ? NA - HALF_A : HALF_A)

/* Fragment t of a strip of B. */
#define LOAD_STEP(t, p)                                                        \
    LOAD_FAR_WORDS(fb[(t) % SLOTS], (p) + (t) % FN * NI * 4 + (t) / FN * NI * 2)
#define MULTIPLY_COLUMNS(kk, fa)                                               \
    EACH_FRAGMENT(j, FN)                                                       \
    {                                                                          \
        const int t = (kk)*FN + j, ahead = t + SLOTS / 2;                      \
                                                                               \
        if (ahead < STEPS)                                                     \
            LOAD_STEP(ahead, pb);                                              \
        else                                                                   \
            LOAD_STEP(ahead - STEPS, next);                                    \
        EACH_FRAGMENT(i, FM)                                                   \
        MMA(s[i][j], (fa)[i], fb[t % SLOTS]);                                  \
    }
/* Multiplies a half of strip `now`, and brings that of the next one's A. */
#define MULTIPLY_HALF(kk)                                                      \
    do {                                                                       \
        const local uint4 *pa = ta[now % 2];                                   \
        uint fa[FM][AW];                                                       \
                                                                               \
        if (now + 1 < end)                                                     \
            BRING_A(ra, now + 1, (kk)*HALF_A, IN_HALF(kk));                    \
        EACH_FRAGMENT(i, FM)                                                   \
        LOAD_ROWS(fa[i], pa + A_PLACE(wm + i * MI, (kk)*2));                   \
        MULTIPLY_COLUMNS(kk, fa)                                               \
        if (now + 1 < end)                                                     \
            PUT_A(ta[(now + 1) % 2], ra, (kk)*HALF_A, IN_HALF(kk));            \
    } while (0)

kernel __attribute__((reqd_work_group_size(WI, 1, 1))) SUBGROUP void
gemm_mma_blocks(PRODUCT)
{
    local uint4 ta[2][TM * 4];
    EMULATED
    const int lid = get_local_id(0), lane = lid % LANES;
    const int m0 = vt_group(0) * TM, n0 = vt_group(1) * TN;
    const int own = ALL_LANES_HAVE(lid / LANES);
    const int wm = own / WN * (FM * MI), wn = own % WN * (FN * NI);
    const int strips = (K + TERMS - 1) / TERMS;
    const int from = FROM, end = END;
    sum s[FM][FN][CW] __attribute__((aligned(64)));
#ifdef IN_TURN
    sum earlier[FM][FN][CW];
#endif
    flight ra[HALF_A];
    const global uint4 *pb = b + ((size_t)from * columns + n0 + wn) * 4;
    uint fb[SLOTS][BW];

    BEGIN_SUMS(s, earlier);
    EACH_FRAGMENT(t, SLOTS / 2)
    LOAD_STEP(t, pb);
    BRING_A(ra, from, 0, HALF_A);
    PUT_A(ta[from % 2], ra, 0, HALF_A);
    BRING_A(ra, from, HALF_A, NA - HALF_A);
    PUT_A(ta[from % 2], ra, HALF_A, NA - HALF_A);
    for (int now = from; now < end; now++) {
        const global uint4 *next = now + 1 < end ? pb + columns * 4 : pb;

        END_PART(now, s, earlier);
        barrier(CLK_LOCAL_MEM_FENCE);
        MULTIPLY_HALF(0);
        MULTIPLY_HALF(1);
        pb = next;
    }
    STORE_TILE(s, earlier);
}
#endif
