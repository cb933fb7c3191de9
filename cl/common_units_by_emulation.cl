/*
 * common_units_by_emulation.cl - every vendor's matrix instruction in plain
 * OpenCL C, for any device: what the other common_units_by_*.cl have.
 *
 * The kernel has int lid, int lane, and local uint x[]: SCRATCH words for each
 * sub-group (SCRATCHES: of WM of them). All its work-items come to each macro.
 * With WGMMA, int own: the number of the sub-group.
 */
#if defined(KIND) && defined(TYPE) && !DOTS && defined(EMULATE)
#define SCRATCH (MI * KW + NI * KW + 4 * LANES) /* words of a sub-group */
#define SCRATCHES local uint x[WM * SCRATCH] __attribute__((aligned(16)));

static inline sum add_word(uint a, uint b, sum c)
{
#if TYPE == INT8
    const int4 p = convert_int4(as_char4(a)) * convert_int4(as_char4(b));
    return c + p.x + p.y + p.z + p.w;
#elif TYPE == BF16
    c = fma(as_float(a << 16), as_float(b << 16), c);
    return fma(as_float(a & 0xffff0000u), as_float(b & 0xffff0000u), c);
#else
    c = fma(vload_half(0, (const half *)&a), vload_half(0, (const half *)&b),
            c);
    return fma(vload_half(1, (const half *)&a), vload_half(1, (const half *)&b),
               c);
#endif
}

/* Word w of row r of wgmma's layout "64-byte swizzle". */
static inline uint swizzled_word(const local uint4 *p, int r, int w)
{
    return ((const local uint *)p)[r * 16 + (w / 4 ^ (r >> 1 & 3)) * 4 + w % 4];
}

/* The lanes write what they hold where their layout says, and multiply. */
static inline void mma_emulated(sum *c, const uint *a, const uint *b,
                                local uint *x, int lane)
{
    local uint *y = x + MI * KW;

    for (int r = 0; r < AW; r++)
#if KIND == DPAS16
        ((local ushort *)x)[r * 16 + lane] = a[r];
#else
        if (KIND != WMMA11 || lane < 16) /* the other half holds the same */
            x[A_ROW(lane, r) * KW + A_WORD(lane, r)] = a[r];
#endif
    for (int r = 0; r < BW; r++)
        if (KIND != WMMA11 || lane < 16)
            y[B_COLUMN(lane) * KW + B_WORD(lane, r)] = b[r];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < CW; i++)
        for (int w = 0; w < KW; w++)
            c[i] = add_word(x[C_ROW(lane, i) * KW + w],
                            y[C_COLUMN(lane, i) * KW + w], c[i]);
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Four 8x8 matrices of halves: lane l names row l % 8 of matrix l / 8, and gets
 * word l % 4 of row l / 4 of each. */
static inline void ldmatrix_emulated(uint *r, const local uint4 *row,
                                     local uint *x, int lane)
{
    vstore4(*row, lane, x);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 4; i++)
        r[i] = x[(i * 8 + lane / 4) * 4 + lane % 4];
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Transposed: of column l / 4 of each the rows 2 * (l % 4) and the next. */
static inline void ldmatrix_t_emulated(uint *r, const local uint4 *row,
                                       local uint *x, int lane)
{
    const local ushort *h = (const local ushort *)x + lane % 4 * 16 + lane / 4;

    vstore4(*row, lane, x);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 4; i++)
        r[i] = h[i * 64] | (uint)h[i * 64 + 8] << 16;
    barrier(CLK_LOCAL_MEM_FENCE);
}

static inline float from_lane_emulated(float v, int mask, local uint *x,
                                       int lane)
{
    x[lane] = as_uint(v);
    barrier(CLK_LOCAL_MEM_FENCE);
    v = as_float(x[lane ^ mask]);
    barrier(CLK_LOCAL_MEM_FENCE);
    return v;
}
#define MMA(c, a, b) mma_emulated(c, a, b, x + lid / LANES * SCRATCH, lane)
#define LDMATRIX(r, p) ldmatrix_emulated(r, p, x + lid / LANES * SCRATCH, lane)
#define LDMATRIX_T(r, p)                                                       \
    ldmatrix_t_emulated(r, p, x + lid / LANES * SCRATCH, lane)
#define FROM_LANE(v, mask)                                                     \
    from_lane_emulated(v, mask, x + lid / LANES * SCRATCH, lane)
#define EXP2(x) vt_exp2_down(x)
#define COPY16(l, g) (*(l) = *(g))
#define COPY16_OF(l, g, bytes)                                                 \
    EACH(b_, 8)                                                                \
    ((local ushort *)(l))[b_] =                                                \
        b_ * 2 < (bytes) ? ((global const ushort *)(g))[b_] : 0
#define SHOW_COPIES()
#define WGMMA_STRIP(c, a, b)                                                   \
    EACH_FRAGMENT(i_, FM)                                                      \
    EACH_FRAGMENT(j_, FN)                                                      \
    EACH_FRAGMENT(e_, CW)                                                      \
    for (int w_ = 0; w_ < 16; w_++)                                            \
    c[i_][j_][e_] = add_word(                                                  \
        swizzled_word(a, i_ * 64 + own % 4 * 16 + C_ROW(lane, e_), w_),        \
        swizzled_word(b, j_ * NI + C_COLUMN(lane, e_), w_), c[i_][j_][e_])
#define COMMIT()
#define WAIT(n)
#define EACH_FRAGMENT(i, n) _Pragma("nounroll") for (int i = 0; i < n; i++)
#define SUBGROUP
#define LOAD_ROWS(r, p)                                                        \
    EACH(i_, 8)                                                                \
    (r)[i_] = KIND == DPAS16 ? ((const local ushort *)(p))[i_ * 16 + lane]     \
                             : ((const local uint *)(p))[i_ * 8 + lane]
#define LOAD_WORDS(r, p)                                                       \
    EACH(i_, 8)                                                                \
    (r)[i_] = ((const local uint *)(p))[i_ * LANES + lane]
#define LOAD_FAR_WORDS(r, p)                                                   \
    EACH(i_, 8)                                                                \
    (r)[i_] = ((const global uint *)(p))[i_ * LANES + lane]
#endif
