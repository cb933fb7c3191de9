/*
 * row_max.cl - the largest number of each row.
 *
 *     out[r] = max over c of x[r, c]
 *
 * row_max  out[rows] <- x[rows, n]
 *
 * So that of a tile of scores, only the rows that have a hit are copied to the
 * host.
 *
 * Launch    global {rows * WG}, local {WG}; WG=1 on CPUs
 * Local     WG floats.
 * Defines   WG, V (common.cl).
 *
 * Host      host/index/tiles.c        Test  tests/unit/test_pairs.c
 */
kernel WHOLE_GROUPS void row_max(global float *restrict out,
                                 global const float *restrict x, int n)
{
    local float tmp[WG];
    const int lid = get_local_id(0);
    const size_t row = get_group_id(0);
    global const float *restrict a = x + row * (size_t)n;
    floatv m = -INFINITY, k = -INFINITY;
    float tail = -INFINITY;
    int c = lid * V;

    for (; c + WG * V + V <= n; c += 2 * WG * V) {
        m = fmax(m, vloadv(0, a + c));
        k = fmax(k, vloadv(0, a + c + WG * V));
    }
    for (; c + V <= n; c += WG * V)
        m = fmax(m, vloadv(0, a + c));
    for (c = n / V * V + lid; c < n; c += WG)
        tail = fmax(tail, a[c]);
    tail = wg_max(fmax(vt_hmax(fmax(m, k)), tail), tmp);
    if (lid == 0)
        out[row] = tail;
}
