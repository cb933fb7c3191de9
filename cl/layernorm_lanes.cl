/*
 * layernorm_lanes.cl - layernorm.cl's forward pass by a sub-group a row, for
 * rows stored in 16 bits, of a multiple of 256 columns up to 2048.
 *
 * layernorm_lanes  out[N,C] <- x, gamma[C], beta[C]  as layernorm.cl's; with
 *                  ROWS as its layernorm_rows: whole numbers, then all steps
 *
 * How       A lane has V neighbours of every LANES * V in registers, so x is
 *           read once, 16 bytes at a time where V is 8; sums go from lane to
 *           lane. There is no barrier, and no local memory.
 * Launch    global {ceil(N / WM) * WM * LANES}, local {WM * LANES}: WM rows.
 * Defines   KIND TYPE EMULATE (common_units.cl): sub-groups of 32 or 64 lanes;
 *           x is stored as TYPE. V, 256 / LANES; COLUMNS, C; WM; YT, f32 or of
 *           TYPE; ROWS; RMS. Rows, gamma and beta begin at multiples of 16
 *           bytes.
 * Numerics  Two passes, as layernorm.cl, in another order of sums, which is the
 *           same for all rows.
 * Source    Ba, Kiros, Hinton 2016, arXiv:1607.06450.
 * Host      host/ops/layernorm.c      Test  tests/ops/test_layernorm_lanes.c
 */
#if defined(KIND) && defined(COLUMNS)   /* else there is no unit in front */
#define NUMBERS (COLUMNS / (LANES * V)) /* vectors of a lane */
#define EACH_VECTOR(i) _Pragma("unroll") for (int i = 0; i < NUMBERS; i++)
#define WORDS VT_JOIN(uint, VT_JOIN(HALF_OF_, V))
#define FLOATS VT_JOIN(as_float, VT_JOIN(HALF_OF_, V))
#define HALF_OF_8 4
#define HALF_OF_4 2

#if AMD_UNIT && !defined(EMULATE)
#define OTHER(v, mask)                                                         \
    as_float(__builtin_amdgcn_ds_bpermute((lane ^ (mask)) * 4, as_int(v)))
#else
#define OTHER(v, mask) FROM_LANE(v, mask)
#endif
#define ADD_LANES(v)                                                           \
    _Pragma("unroll") for (int mask = LANES / 2; mask > 0; mask /= 2) v +=     \
        OTHER(v, mask)

#define LARGER(a, b) as_float(max(as_uint(a), as_uint(b)))

static inline floatv widened(WORDS w)
{
    floatv v;

#if TYPE == BF16
    v.even = FLOATS(w << 16u);
    v.odd = FLOATS(w & 0xffff0000u);
#else
    v = VT_JOIN(vload_half, V)(0, (const half *)&w);
#endif
    return v;
}

static inline WORDS narrowed(floatv v)
{
    WORDS w;

    EACH(i, V / 2)
        ((uint *)&w)[i] = pair(((float *)&v)[2 * i], ((float *)&v)[2 * i + 1]);
    return w;
}

#ifdef ROWS
#define RESULT char
#else
#define RESULT VT_TYPE(YT)
#endif
kernel __attribute__((reqd_work_group_size(WM * LANES, 1, 1))) SUBGROUP void
layernorm_lanes(global RESULT *restrict out, global const ushort *restrict from,
                global const floatv *restrict gamma,
                global const floatv *restrict beta, int N, int take, int of,
                float eps)
{
    SCRATCHES
    const int lid = get_local_id(0), lane = lid % LANES;
    const int row = get_group_id(0) * WM + lid / LANES;
    const int own = min(row, N - 1); /* all lanes come to each sum */
    floatv v[NUMBERS], all = 0.0f;
    float mean = 0.0f, rstd;

    from += (size_t)(own / take * of + own % take) * COLUMNS;
    EACH_VECTOR(i)
    {
        v[i] = widened(((global const WORDS *)from)[i * LANES + lane]);
        all += v[i];
    }
#ifndef RMS
    mean = vt_hsum(all);
    ADD_LANES(mean);
    mean /= COLUMNS;
#endif
    all = 0.0f;
    EACH_VECTOR(i)
    all = fma(v[i] - mean, v[i] - mean, all);
    rstd = vt_hsum(all);
    ADD_LANES(rstd);
    rstd = 1.0f / sqrt(rstd / COLUMNS + eps);
    EACH_VECTOR(i)
    {
        v[i] = (v[i] - mean) * rstd;
        if (gamma)
            v[i] *= gamma[i * LANES + lane];
        if (beta)
            v[i] += beta[i * LANES + lane];
    }
#ifdef ROWS
    float most = 0.0f; /* or what is not finite, whose bits are the largest */

    EACH_VECTOR(i)
    EACH(n, V)
        most = LARGER(most, fabs(((float *)&v[i])[n]));
    _Pragma("unroll") for (int mask = LANES / 2; mask > 0; mask /= 2) most =
        LARGER(most, OTHER(most, mask));
    const float step = vt_step_of(as_uint(most));
    if (row < N && lane == 0)
        ((global float *)(out + (size_t)N * COLUMNS))[row] = step;
#endif
    if (row >= N)
        return;
    out += (size_t)row * COLUMNS;
    EACH_VECTOR(i)
    {
        const int c = i * LANES + lane;

#ifdef ROWS
        VT_JOIN(vstore, V)
        (step > 0.0f ? VT_BYTESV(v[i] / step) : (VT_JOIN(char, V))(0), c, out);
#else
        if (sizeof *out == sizeof(ushort))
            ((global WORDS *)out)[c] = narrowed(v[i]);
        else
            ((global floatv *)out)[c] = v[i];
#endif
    }
}
#endif
