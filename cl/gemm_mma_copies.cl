/*
 * gemm_mma_copies.cl - a product (common_units_products.cl) on NVIDIA's matrix
 * units from sm_80 on: B by asynchronous copies, two strips ahead, and A, too,
 * where it needs no rounding. Else A goes through registers, one strip ahead.
 *
 * gemm_mma_copies   C[M,N] <- A, B; in parts sums[parts,M,N]
 *
 * WGMMA     On sm_90 groups of four sub-groups multiply 64 rows and 128 columns
 *           as one, and read both operands from local memory, whose exchanged
 *           chunks are the instruction's own layout "64-byte swizzle". WN such
 *           groups side by side, FN 16; each of FM instructions has 64 rows, 16
 *           of each sub-group.
 * Local     192 TN bytes, and for A 192 TM if it is copied, or else 128 TM.
 * Bound     By local memory, at 128 bytes a cycle, no measure of speed. A strip
 *           of 32 halves of a tile of 128 by 128 takes 384 cycles, and its
 *           products 512 on sm_80, 1024 on sm_89, 256 on sm_90: 0.67 of the
 *           peak, or 0.5 if sub-groups had 64 by 32 sums.
 *
 * Host      host/gemm/mma.c           Test  tests/ops/test_gemm_mma.c
 */
#ifdef KIND /* without it there is no unit in front */
#if TYPE == INT8 || defined(SAME_A) && defined(WIDE_A)
#define COPIED 1 /* A */
#else
#define COPIED 0
#endif
#define STAGES 3
#define AHEAD (STAGES - 1)
#define A_STAGES (COPIED ? STAGES : 2)

#ifdef WGMMA
#define ALIGNED __attribute__((aligned(1024)))
#define FRAGMENT_ROW(i) (wm + (i)*64 + own % 4 * 16)
#define OWN_ROW (own / 4 / WN * (FM * 64))
#define OWN_COLUMN (own / 4 % WN * (FN * NI))
#else
#define ALIGNED
#define SHOW_COPIES()
#define FRAGMENT_ROW(i) (wm + (i)*MI)
#define OWN_ROW (own / WN * (FM * MI))
#define OWN_COLUMN (own % WN * (FN * NI))
#endif

#if TYPE == INT8
#define COPY_A(to, i, strip)                                                   \
    COPY16(to, (global const uint4 *)a + A_AT(i, strip))
#else /* zeros from K on */
#define COPY_A(to, i, strip)                                                   \
    COPY16_OF(to, (global const uint4 *)(a + A_AT(i, strip)),                  \
              2 * clamp(K - (strip)*TERMS - A_PART(i) * 8, 0, 8))
#endif
/* A strip's copies, or none behind the last one: their count is the same. */
#define SEND(strip, stage)                                                     \
    do {                                                                       \
        if ((strip) < end) {                                                   \
            EACH(i, COPIED * NA)                                               \
                COPY_A(&ta[stage][A_TO(i)], i, strip);                         \
            EACH(i, NB)                                                        \
                COPY16(&tb[stage][B_TO(i)], b + B_AT(i, strip));               \
        }                                                                      \
        COMMIT();                                                              \
    } while (0)

kernel __attribute__((reqd_work_group_size(WI, 1, 1))) void
gemm_mma_copies(PRODUCT)
{
    local uint4 ta[A_STAGES][TM * 4] ALIGNED, tb[STAGES][TN * 4] ALIGNED;
    EMULATED
    const int lid = get_local_id(0), lane = lid % LANES, own = lid / LANES;
    const int m0 = vt_group(0) * TM, n0 = vt_group(1) * TN;
    const int wm = OWN_ROW, wn = OWN_COLUMN;
    const int strips = (K + TERMS - 1) / TERMS;
    const int from = FROM, end = END;
    sum s[FM][FN][CW] __attribute__((aligned(64)));
#ifdef IN_TURN
    sum earlier[FM][FN][CW];
#endif
#if !COPIED
    flight ra[NA];
#endif

    BEGIN_SUMS(s, earlier);
    EACH(p, AHEAD)
        SEND(from + p, (from + p) % STAGES);
#if !COPIED
    BRING_A(ra, from, 0, NA);
    PUT_A(ta[from % A_STAGES], ra, 0, NA);
#endif
    for (int now = from; now < end; now++) {
        END_PART(now, s, earlier);
        WAIT(1);
        SHOW_COPIES();
        barrier(CLK_LOCAL_MEM_FENCE);
        SEND(now + AHEAD, (now + AHEAD) % STAGES);
#if !COPIED
        if (now + 1 < end)
            BRING_A(ra, now + 1, 0, NA);
#endif
#ifdef WGMMA
        WGMMA_STRIP(s, ta[now % A_STAGES] + wm * 4, tb[now % STAGES] + wn * 4);
#else
        MULTIPLY(s, ta[now % A_STAGES], tb[now % STAGES]);
#endif
#if !COPIED
        if (now + 1 < end)
            PUT_A(ta[(now + 1) % A_STAGES], ra, 0, NA);
#endif
    }
    STORE_TILE(s, earlier);
}
#endif
