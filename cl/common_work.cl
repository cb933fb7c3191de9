/*
 * common_work.cl - how work is divided among work-items.
 *
 * Blocks      A work-item of an elementwise kernel has PER * V neighbours
 *             (PER=1 on GPUs, many on CPUs), from block_begin(n) up to, not
 *             including, block_end(n), of row block_row(n).
 * Items       Kernels with a work-item for each of n elements of a row:
 *             item_x(n) of row item_y(n). The last ones have none:
 *             item_x(n) >= n. With FLAT (GPUs) all rows are in dimension 0,
 *             because a CUDA device has at most 65535 work-groups in the
 *             others. A row has whole work-groups of WG, or, if it is short, a
 *             power of 2 of work-items, and a work-group has several rows.
 * Tiles       VT_EACH_TILE(id, taken, tiles): work-groups of one work-item, one
 *             for each core, process tiles 0 to tiles - 1. Each group has a
 *             share of adjacent tiles, takes them one by one, and then helps
 *             with the other shares. So a core that starts late or is slow
 *             delays nobody; it would where a driver assigns half of all groups
 *             at once. taken: a counter for each group, 0 before and after; or
 *             NULL, and there are as many groups as tiles. Launched by
 *             vt_kernel_tiles().
 * Work-group  wg_sum, wg_max, wg_row_sum, wg_row_square over WG work-items;
 *             tmp: WG floats of local memory. Every work-item gets the result.
 *             With WG=1, the form for CPUs, such a kernel is a plain loop over
 *             explicit vectors. vt_normalised, v: what layer norm does then;
 *             vt_normalise_row: all of it, of one row.
 * Columns     column_sum, by work-groups of COLUMNS_WIDE by COLUMNS_HIGH.
 */
#ifdef FLAT
/* The work-items of a row that needs n. */
static inline uint row_items(int n)
{
    const int least = n > 1 ? 1 << (32 - clz(n - 1)) : 1;

    return (uint)(least < WG ? least : (n + WG - 1) / WG * WG);
}
#define block_items(n) row_items((n) / (PER * V) + ((n) % (PER * V) > 0))
#define block_at(n) ((uint)get_global_id(0) % block_items(n))
#define block_row(n) ((uint)get_global_id(0) / block_items(n))
#define item_x(n) ((uint)get_global_id(0) % row_items(n))
#define item_y(n) ((uint)get_global_id(0) / row_items(n))
#else
#define block_at(n) get_global_id(0)
#define block_row(n) get_global_id(1)
#define item_x(n) get_global_id(0)
#define item_y(n) get_global_id(1)
#endif
/* This work-item's range of n elements of its row. */
static inline int block_begin(int n)
{
    const size_t i = block_at(n) * (size_t)(PER * V);

    return i < (size_t)n ? (int)i : n;
}
static inline int block_end(int n)
{
    const size_t i = (block_at(n) + 1) * (size_t)(PER * V);

    return i < (size_t)n ? (int)i : n;
}

/* Of n things in `parts` nearly equal parts: the first one of part i. */
static inline int vt_part(int i, int n, int parts)
{
    return (int)((long)i * n / parts);
}

/* A tile of the share that is `ahead` shares after this group's own; -1: that
 * share is used up. */
static inline int vt_take(volatile global int *taken, int tiles, int ahead)
{
    const int groups = get_num_groups(0);
    const int share = ((int)get_group_id(0) + ahead) % groups;
    const int from = vt_part(share, tiles, groups);
    const int n = vt_part(share + 1, tiles, groups) - from;
    const int i = atomic_inc(taken + share);

    if (i == n + groups - 1) /* every group has seen its end */
        atomic_xchg(taken + share, 0);
    return i < n ? from + i : -1;
}
#define VT_EACH_TILE(id, taken, tiles)                                         \
    for (int ahead = 0, id; ahead < (taken ? (int)get_num_groups(0) : 1);      \
         ahead += !taken || id < 0)                                            \
        if ((id = taken ? vt_take(taken, tiles, ahead)                         \
                        : (int)get_group_id(0)) >= 0)

/* A work-group that sums columns: narrow, so that there are many, of 32 bytes
 * of each row. Smaller where the driver has no room: vt_kernel_groups(). */
#ifndef COLUMNS_WIDE
#define COLUMNS_WIDE 8
#endif
#ifndef COLUMNS_HIGH
#define COLUMNS_HIGH 32
#endif

/* The sum of a column's s, in the work-items of its first row. */
static inline float column_sum(float s, local float (*tmp)[COLUMNS_WIDE])
{
    const int i = get_local_id(0);

    tmp[get_local_id(1)][i] = s;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(1) == 0)
        for (int k = 1; k < COLUMNS_HIGH; k++)
            s += tmp[k][i];
    return s;
}

/* Of a kernel that has groups of WG: its registers must suffice for them. */
#if WG > 1
#define WHOLE_GROUPS __attribute__((reqd_work_group_size(WG, 1, 1)))
#else
#define WHOLE_GROUPS
#endif

/* A tree over the work-group; with one work-item, v itself. */
#if WG > 1
#define VT_REDUCE(name, combine)                                               \
    static inline float name(float v, local float *tmp)                        \
    {                                                                          \
        const int lid = get_local_id(0);                                       \
                                                                               \
        tmp[lid] = v;                                                          \
        barrier(CLK_LOCAL_MEM_FENCE);                                          \
        for (int s = WG / 2; s > 0; s /= 2) {                                  \
            if (lid < s)                                                       \
                tmp[lid] = combine(tmp[lid], tmp[lid + s]);                    \
            barrier(CLK_LOCAL_MEM_FENCE);                                      \
        }                                                                      \
        v = tmp[0];                                                            \
        barrier(CLK_LOCAL_MEM_FENCE);                                          \
        return v;                                                              \
    }
#else
#define VT_REDUCE(name, combine)                                               \
    static inline float name(float v, local float *tmp)                        \
    {                                                                          \
        return v;                                                              \
    }
#endif
#define VT_PLUS(a, b) ((a) + (b))
VT_REDUCE(wg_sum, VT_PLUS)
VT_REDUCE(wg_max, fmax)

/* The sum of x[0..n-1], stored as XT, by the whole work-group. */
static inline float wg_row_sum(global const VT_TYPE(XT) * x, int n,
                               local float *tmp)
{
    const int lid = WG > 1 ? (int)get_local_id(0) : 0;
    floatv a = 0.0f, b = 0.0f;
    float tail = 0.0f;
    int c = lid * V;

    for (; c + WG * V + V <= n; c += 2 * WG * V) {
        a += VT_LOADV(XT, x, c);
        b += VT_LOADV(XT, x, c + WG * V);
    }
    for (; c + V <= n; c += WG * V)
        a += VT_LOADV(XT, x, c);
    for (c = n / V * V + lid; c < n; c += WG)
        tail += VT_LOAD(XT, x, c);
    return wg_sum(vt_hsum(a + b) + tail, tmp);
}

/* The sum of (x - mean)^2. */
static inline float wg_row_square(global const VT_TYPE(XT) * x, int n,
                                  float mean, local float *tmp)
{
    const int lid = WG > 1 ? (int)get_local_id(0) : 0;
    floatv a = 0.0f, b = 0.0f, d, e;
    float tail = 0.0f;
    int c = lid * V;

    for (; c + WG * V + V <= n; c += 2 * WG * V) {
        d = VT_LOADV(XT, x, c) - mean;
        e = VT_LOADV(XT, x, c + WG * V) - mean;
        a = fma(d, d, a);
        b = fma(e, e, b);
    }
    for (; c + V <= n; c += WG * V) {
        d = VT_LOADV(XT, x, c) - mean;
        a = fma(d, d, a);
    }
    for (c = n / V * V + lid; c < n; c += WG)
        tail = fma(VT_LOAD(XT, x, c) - mean, VT_LOAD(XT, x, c) - mean, tail);
    return wg_sum(vt_hsum(a + b) + tail, tmp);
}

/* (x - mean) * rstd * gamma + beta, of column c or from it on; gamma and beta
 * may be NULL. */
#define VT_NORMALISED(F, name, load)                                           \
    static inline F name(F x, float mean, float rstd,                          \
                         global const float *gamma, global const float *beta,  \
                         int c)                                                \
    {                                                                          \
        F y = (x - mean) * rstd;                                               \
                                                                               \
        if (gamma)                                                             \
            y *= load(0, gamma + c);                                           \
        if (beta)                                                              \
            y += load(0, beta + c);                                            \
        return y;                                                              \
    }
#define VT_ONE(i, p) (p)[i]
VT_NORMALISED(float, vt_normalised, VT_ONE)
VT_NORMALISED(floatv, vt_normalisedv, vloadv)

static inline OUTLINED_CPU void
vt_normalise_row(global VT_TYPE(YT) *restrict out, global float *restrict stat,
                 global const VT_TYPE(XT) *restrict x,
                 global const float *restrict gamma,
                 global const float *restrict beta, int C, int take, int of,
                 float eps, bool rms, int row, int lid, local float *tmp)
{
    x += (size_t)(row / take * of + row % take) * C;
    out += (size_t)row * C;

    const float mean = rms ? 0.0f : wg_row_sum(x, C, tmp) / C;
    const float rstd = 1.0f / sqrt(wg_row_square(x, C, mean, tmp) / C + eps);

    for (int c = lid * V; c + V <= C; c += WG * V)
        VT_STOREV(
            YT, out, c,
            vt_normalisedv(VT_LOADV(XT, x, c), mean, rstd, gamma, beta, c));
    for (int c = C / V * V + lid; c < C; c += WG)
        VT_STORE(YT, out, c,
                 vt_normalised(VT_LOAD(XT, x, c), mean, rstd, gamma, beta, c));
    if (stat && lid == 0) {
        stat[2 * row] = mean;
        stat[2 * row + 1] = rstd;
    }
}
