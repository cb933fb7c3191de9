/*
 * gemm_mma_registers.cl - a product (common_units_products.cl) on AMD's matrix
 * units, on NVIDIA's of sm_75, and on GPUs without one: A and B go through
 * registers, one strip ahead.
 *
 * gemm_mma_registers   C[M,N] <- A, B; in parts sums[parts,M,N]
 *
 * Local     128 TM + 128 TN bytes.
 * Bound     WMMA and MFMA are not bound by local memory.
 *
 * Host      host/gemm/mma.c           Test  tests/ops/test_gemm_mma.c
 */
#ifdef KIND /* without it there is no unit in front */
#define FRAGMENT_ROW(i) (wm + (i)*MI)

#define BRING_B(to, strip)                                                     \
    EACH(i, NB)                                                                \
    (to)[i] = b[B_AT(i, strip)]
#define PUT_B(to, from)                                                        \
    EACH(i, NB)                                                                \
    (to)[B_TO(i)] = (from)[i]

kernel __attribute__((reqd_work_group_size(WI, 1, 1))) void
gemm_mma_registers(PRODUCT)
{
    local uint4 ta[2][TM * 4], tb[2][TN * 4];
    EMULATED
    const int lid = get_local_id(0), lane = lid % LANES, own = lid / LANES;
    const int m0 = vt_group(0) * TM, n0 = vt_group(1) * TN;
    const int wm = own / WN * (FM * MI), wn = own % WN * (FN * NI);
    const int strips = (K + TERMS - 1) / TERMS;
    const int from = FROM, end = END;
    sum s[FM][FN][CW] __attribute__((aligned(64)));
#ifdef IN_TURN
    sum earlier[FM][FN][CW];
#endif
    flight ra[NA];
    uint4 rb[NB];

    BEGIN_SUMS(s, earlier);
    BRING_B(rb, from);
    PUT_B(tb[from % 2], rb);
    BRING_A(ra, from, 0, NA);
    PUT_A(ta[from % 2], ra, 0, NA);
    for (int now = from; now < end; now++) {
        END_PART(now, s, earlier);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (now + 1 < end) {
            BRING_B(rb, now + 1);
            BRING_A(ra, now + 1, 0, NA);
        }
        MULTIPLY(s, ta[now % 2], tb[now % 2]);
        if (now + 1 < end) {
            PUT_B(tb[(now + 1) % 2], rb);
            PUT_A(ta[(now + 1) % 2], ra, 0, NA);
        }
    }
    STORE_TILE(s, earlier);
}
#endif
